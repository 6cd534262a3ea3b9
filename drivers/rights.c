/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Rights of a process that the ports and wires of a configuration need.
 */
#include "eal.h"

#include <errno.h>
#include <stdio.h>

#include <linux/capability.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "eal_args.h"
#include "kernel_port.h"
#include "port.h"

#define BIT(capability) (UINT64_C(1) << (capability))

static bool of_the_kernel(const struct port_config *port)
{
	char interface[IFNAMSIZ];

	return kernel_interface(port, interface);
}

const struct right rights[] = {
	{of_the_kernel, BIT(CAP_NET_RAW), "CAP_NET_RAW", "open packet sockets"},
	{of_the_kernel, BIT(CAP_NET_ADMIN), "CAP_NET_ADMIN",
		"make interfaces promiscuous and turn offloads off"},
	{port_is_af_xdp, BIT(CAP_SYS_ADMIN), "CAP_SYS_ADMIN", "find its AF_XDP program"},
	{NULL, BIT(CAP_BPF) | BIT(CAP_SYS_ADMIN), "CAP_BPF", "load the XDP programs of wires"},
	{NULL, BIT(CAP_PERFMON) | BIT(CAP_SYS_ADMIN), "CAP_PERFMON",
		"load the XDP programs of wires"},
	{0},
};

bool right_is_needed(const struct config *config, const struct right *right)
{
	bool found = false;

	if (!right->needed)
		return config_has_programs(config);
	for (unsigned i = 0; i < config->n_ports; i++)
		found |= right->needed(&config->ports[i]);
	return found;
}

bool rights_lock(const struct config *config, uint64_t effective)
{
	struct rlimit limit;
	uint64_t bytes = 0;

	for (unsigned i = 0; i < config->n_ports; i++)
		if (!device_is_vdev(config->ports[i].device) || port_is_af_xdp(&config->ports[i]))
			bytes += port_pool_bytes(&config->ports[i], 1, 0, 0);
	return bytes == 0 || effective & BIT(CAP_IPC_LOCK) || getrlimit(RLIMIT_MEMLOCK, &limit) ||
	       limit.rlim_cur >= bytes;
}

static int complain_of_right(const char *lacks, const char *why, const char *remedy)
{
	fprintf(stderr, "weir: ports: user %u lacks %s, needed to %s: %s\n", (unsigned)geteuid(),
		lacks, why, remedy);
	return -EPERM;
}

int rights_check(const struct config *config)
{
	struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct sets[_LINUX_CAPABILITY_U32S_3];
	uint64_t effective;
	int ret = 0;

	if (syscall(SYS_capget, &head, sets))
		return 0; /* a step that lacks a right reports it */
	effective = (uint64_t)sets[1].effective << 32 | sets[0].effective;
	for (const struct right *right = rights; right->name; right++)
		if (!(effective & right->any) && right_is_needed(config, right))
			ret = complain_of_right(right->name, right->why, RIGHTS_REMEDY);
	if (!rights_lock(config, effective))
		ret = complain_of_right(
			"CAP_IPC_LOCK", "lock the packet buffers", RIGHTS_LOCK_REMEDY);
	return ret;
}
