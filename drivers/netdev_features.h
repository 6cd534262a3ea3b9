/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Features of a kernel interface that change packets, by their names in `ethtool -k`. Every call
 * makes one or more ioctls, which wait while another process changes interfaces. So the control
 * loop never calls these once packets flow. Any thread.
 */
#ifndef WEIR_DRIVERS_NETDEV_FEATURES_H
#define WEIR_DRIVERS_NETDEV_FEATURES_H

#include <stdbool.h>
#include <stdint.h>

#include <linux/ethtool.h>

#define FEATURES_MAX    128 /* Linux has 64 */
#define FEATURES_BLOCKS (FEATURES_MAX / 32)

struct features {
	unsigned n;
	char names[FEATURES_MAX][ETH_GSTRING_LEN];
	struct ethtool_get_features_block blocks[FEATURES_BLOCKS];
};

/* Reads all features of an interface. Returns 0 or a negative errno: -ENODEV if it is missing. */
int features_read(const char *interface, struct features *out);

/* Returns whether a feature is on; false if this kernel does not have it. */
bool features_on(const struct features *features, const char *name);

/* Returns whether ethtool can switch a feature: false if it is fixed or missing. */
bool features_changeable(const struct features *features, const char *name);

/*
 * Switches a feature. 0: the kernel has recorded the request, but the feature can still be off
 * because of others that it needs. Or a negative errno: -EPERM without CAP_NET_ADMIN, -EOPNOTSUPP
 * if it is fixed or missing.
 */
int features_switch(
	const char *interface, const struct features *features, const char *name, bool on);

#endif
