/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Starts EAL with a configuration.
 */
#include "eal.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <dirent.h>
#include <unistd.h>

#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_ethdev.h>

#include "eal_args.h"
#include "kernel_port.h"
#include "kernel_sockets.h"
#include "pci_card.h"

/* Checks as EAL does. EAL's own error is its whole usage text, which hides the reason. */
bool eal_has_cpu(unsigned cpu)
{
	char path[64];

	snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu%u/topology/core_id", cpu);
	return access(path, F_OK) == 0;
}

static int check_cpus(const struct config *config)
{
	int ret = 0;

	if (!eal_has_cpu(config->control_cpu)) {
		fprintf(stderr, "weir: control.cpu: this machine has no CPU %u\n",
			config->control_cpu);
		ret = -ENODEV;
	}
	for (unsigned i = 0; i < config->n_workers; i++) {
		if (eal_has_cpu(config->workers[i]))
			continue;
		fprintf(stderr, "weir: workers[%u]: this machine has no CPU %u\n", i,
			config->workers[i]);
		ret = -ENODEV;
	}
	return ret;
}

/* Refuses two ports on one device: each frame would be received twice and sent back. */
static int refuse_twins(const struct config *config)
{
	int ret = 0;

	for (unsigned i = 0; i < config->n_ports; i++) {
		unsigned twin = port_twin(config, i);

		if (twin == i)
			continue;
		fprintf(stderr,
			"weir: ports.%s (%s): same device as ports.%s: each port needs its own\n",
			config->ports[i].name, config->ports[i].device, config->ports[twin].name);
		ret = -EEXIST;
	}
	return ret;
}

/* Refuses an interface of another limiter: each would send every frame, past all limits. */
static int claim_interfaces(const struct config *config)
{
	int ret = 0;

	for (unsigned i = 0; i < config->n_ports; i++) {
		char name[IFNAMSIZ], who[OWNER_WORDS];
		unsigned index = kernel_interface(&config->ports[i], name) ? if_nametoindex(name)
									   : 0;

		if (index == 0 || owner_claim(index, who) != -EBUSY)
			continue;
		fprintf(stderr,
			"weir: ports.%s (%s): %s has this interface: stop that weir, or use "
			"another interface\n",
			config->ports[i].name, config->ports[i].device, who);
		ret = -EBUSY;
	}
	return ret;
}

int eal_start(const struct config *config)
{
	struct eal_args args = {0};
	char *argv[EAL_ARGS_MAX + 1];
	int ret = check_cpus(config);

	if (ret == 0)
		ret = refuse_twins(config);
	if (ret == 0)
		ret = rights_check(config);
	if (ret == 0)
		ret = claim_interfaces(config);
	if (ret)
		return ret;
	eal_args_build(&args, config);
	if (args.failed) {
		eal_args_free(&args);
		return -ENOMEM;
	}
	/* EAL permutes its argv, so it gets a copy of the array. The strings stay ours. */
	memcpy(argv, args.arg, sizeof(argv));
	ret = rte_eal_init(args.n, argv);
	eal_args_free(&args);
	if (ret < 0) {
		/* EAL's own messages on stderr propose no remedy. */
		if (rte_errno == 0)
			fprintf(stderr,
				"weir: EAL did not start: does another weir named %s run here?\n",
				config->limiter);
		else
			fprintf(stderr, "weir: EAL did not start: %s\n", rte_strerror(rte_errno));
		return rte_errno ? -rte_errno : -EINVAL;
	}
	return 0;
}

int eal_describe(const struct config *config, FILE *out)
{
	struct eal_args args = {0};

	eal_args_build(&args, config);
	fputs("EAL:", out);
	for (int i = 1; i < args.n; i++)
		fprintf(out, " %s", args.arg[i]);
	fputc('\n', out);
	eal_args_free(&args);
	return args.failed ? -ENOMEM : 0;
}

int eal_find_port(const struct port_config *port, uint16_t *id)
{
	char name[CONFIG_DEVICE_MAX];

	eal_device_name(port, name);
	if (rte_eth_dev_get_port_by_name(name, id) == 0)
		return 0;
	fprintf(stderr, "weir: ports.%s: device %s did not come up", port->name, port->device);
	pci_card_advise("", port->device, stderr);
	fputc('\n', stderr);
	return -ENODEV;
}

int eal_find_ports(const struct config *config, uint16_t ids[CONFIG_PORTS_MAX])
{
	int ret = 0;

	for (unsigned i = 0; i < config->n_ports; i++)
		if (eal_find_port(&config->ports[i], &ids[i]))
			ret = -ENODEV;
	if (ret == 0 && fanout_defragments()) {
		fputs("weir: af_packet ports: the kernel would reassemble IPv4 fragments, because "
		      "DPDK's driver does not call Weir's setsockopt()\n",
			stderr);
		ret = -ENOTSUP;
	}
	return ret;
}

/* Removes files that EAL leaves in its directory; the next start needs none of them. */
static void remove_left_files(const char *path)
{
	static const char *const left[] = {"config", "fbarray_", "hugepage_info", "mp_socket"};
	DIR *directory = opendir(path);
	const struct dirent *entry;

	while (directory && (entry = readdir(directory)))
		for (size_t i = 0; i < RTE_DIM(left); i++)
			if (strncmp(entry->d_name, left[i], strlen(left[i])) == 0)
				unlinkat(dirfd(directory), entry->d_name, 0);
	if (directory)
		closedir(directory);
	rmdir(path);
}

void eal_stop(void)
{
	char *path = strdup(rte_eal_get_runtime_dir());

	rte_eal_cleanup();
	if (path)
		remove_left_files(path);
	free(path);
}
