/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Features of a kernel interface that change packets, by their names in `ethtool -k`.
 */
#include "netdev_features.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <linux/sockios.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

static int ask_ethtool(const char *interface, void *command)
{
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0), ret;
	struct ifreq request = {.ifr_data = command};

	if (fd < 0)
		return -errno;
	snprintf(request.ifr_name, sizeof(request.ifr_name), "%s", interface);
	ret = ioctl(fd, SIOCETHTOOL, &request);
	ret = ret < 0 ? -errno : ret;
	close(fd);
	return ret;
}

/* Reads the number of this kernel's features. */
static int read_count(const char *interface, unsigned *n)
{
	_Alignas(struct ethtool_sset_info) char
		bytes[sizeof(struct ethtool_sset_info) + sizeof(uint32_t)] = {0};
	struct ethtool_sset_info *ask = (struct ethtool_sset_info *)bytes;
	int ret;

	ask->cmd = ETHTOOL_GSSET_INFO;
	ask->sset_mask = 1 << ETH_SS_FEATURES;
	ret = ask_ethtool(interface, ask);
	if (ret < 0)
		return ret;
	*n = ask->sset_mask ? ask->data[0] : 0;
	return 0;
}

/* Reads the names. The kernel always writes all of them. */
static int read_names(const char *interface, unsigned n, struct features *out)
{
	struct ethtool_gstrings *ask = calloc(1, sizeof(*ask) + (size_t)n * ETH_GSTRING_LEN);
	int ret;

	if (!ask)
		return -ENOMEM;
	ask->cmd = ETHTOOL_GSTRINGS;
	ask->string_set = ETH_SS_FEATURES;
	ask->len = n;
	ret = ask_ethtool(interface, ask);
	out->n = n < FEATURES_MAX ? n : FEATURES_MAX;
	if (ret >= 0)
		memcpy(out->names, ask->data, (size_t)out->n * ETH_GSTRING_LEN);
	free(ask);
	return ret < 0 ? ret : 0;
}

int features_read(const char *interface, struct features *out)
{
	_Alignas(struct ethtool_gfeatures) char
		bytes[sizeof(struct ethtool_gfeatures) + sizeof(out->blocks)] = {0};
	struct ethtool_gfeatures *ask = (struct ethtool_gfeatures *)bytes;
	unsigned n = 0;
	int ret = read_count(interface, &n);

	ask->cmd = ETHTOOL_GFEATURES;
	ask->size = FEATURES_BLOCKS;
	*out = (struct features){0};
	if (ret == 0)
		ret = read_names(interface, n, out);
	if (ret == 0)
		ret = ask_ethtool(interface, ask);
	if (ret < 0)
		return ret;
	memcpy(out->blocks, bytes + sizeof(*ask), sizeof(out->blocks));
	return 0;
}

/* Returns FEATURES_MAX if this kernel has no such feature. */
static unsigned find_feature(const struct features *features, const char *name)
{
	for (unsigned i = 0; i < features->n; i++)
		if (strncmp(features->names[i], name, ETH_GSTRING_LEN) == 0)
			return i;
	return FEATURES_MAX;
}

bool features_on(const struct features *features, const char *name)
{
	unsigned i = find_feature(features, name);

	return i < FEATURES_MAX && features->blocks[i / 32].active >> i % 32 & 1;
}

bool features_changeable(const struct features *features, const char *name)
{
	unsigned i = find_feature(features, name);

	return i < FEATURES_MAX && features->blocks[i / 32].available >> i % 32 & 1 &&
	       !(features->blocks[i / 32].never_changed >> i % 32 & 1);
}

int features_switch(
	const char *interface, const struct features *features, const char *name, bool on)
{
	_Alignas(struct ethtool_sfeatures) char
		bytes[sizeof(struct ethtool_sfeatures) +
			FEATURES_BLOCKS * sizeof(struct ethtool_set_features_block)] = {0};
	struct ethtool_sfeatures *ask = (struct ethtool_sfeatures *)bytes;
	unsigned i = find_feature(features, name);
	int ret;

	if (!features_changeable(features, name))
		return -EOPNOTSUPP;
	ask->cmd = ETHTOOL_SFEATURES;
	ask->size = (features->n + 31) / 32;
	ask->features[i / 32].valid = UINT32_C(1) << i % 32;
	ask->features[i / 32].requested = (uint32_t)on << i % 32;
	ret = ask_ethtool(interface, ask);
	return ret < 0 ? ret : 0;
}
