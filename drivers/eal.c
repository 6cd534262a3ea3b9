/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "eal.h"

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <unistd.h>

#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_ethdev.h>

/* Fixed arguments, and two for each port. */
#define ARGS_MAX (8 + CONFIG_EAL_ARGS + 2 * CONFIG_PORTS_MAX)

/* What af_packet adds to a frame in its ring: TPACKET2_HDRLEN, rounded up. */
#define AF_PACKET_HEADER 64

/* Ethernet header and two VLAN tags. */
#define L2_OVERHEAD 22

struct args {
	char *arg[ARGS_MAX + 1];
	int n;
	bool failed;
};

static void __attribute__((format(printf, 2, 3)))
args_add(struct args *args, const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	if (args->n == ARGS_MAX || vasprintf(&args->arg[args->n], format, ap) < 0)
		args->failed = true;
	else
		args->n++;
	va_end(ap);
}

static void args_free(struct args *args)
{
	for (int i = 0; i < args->n; i++)
		free(args->arg[i]);
}

static bool device_is_vdev(const char *device)
{
	return strncmp(device, "net_", 4) == 0;
}

/*
 * af_packet's default frame of 2048 bytes cannot hold a jumbo frame, and its block must hold one.
 */
static unsigned af_packet_frame(const struct port_config *port)
{
	unsigned frame = 2048;

	if (strncmp(port->device, "net_af_packet", 13) != 0 || strstr(port->device, "framesz="))
		return 0;
	while (frame < (unsigned)port->mtu + L2_OVERHEAD + AF_PACKET_HEADER)
		frame *= 2;
	return frame > 2048 ? frame : 0;
}

static void add_port(struct args *args, const struct port_config *port)
{
	unsigned frame = af_packet_frame(port);

	if (!device_is_vdev(port->device))
		args_add(args, "--allow=%s", port->device);
	else if (frame)
		args_add(args, "--vdev=%s,framesz=%u,blocksz=%u", port->device, frame,
			frame > 4096 ? frame : 4096);
	else
		args_add(args, "--vdev=%s", port->device);
}

static void add_lcores(struct args *args, const struct config *config)
{
	char lcores[24 * (CONFIG_WORKERS_MAX + 1)];
	int at = snprintf(lcores, sizeof(lcores), "0@%u", config->control_cpu);

	for (unsigned i = 0; i < config->n_workers; i++)
		at += snprintf(lcores + at, sizeof(lcores) - (size_t)at, ",%u@%u", i + 1,
			config->workers[i]);
	args_add(args, "--lcores=%s", lcores);
}

static void build_args(struct args *args, const struct config *config)
{
	bool pci = false;

	args_add(args, "weir");
	add_lcores(args, config);
	/*
	 * One request crashes the stock server of 22.11; lib/io/telemetry speaks its protocol
	 * instead.
	 */
	args_add(args, "--no-telemetry");
	args_add(args, "--file-prefix=weir-%s", config->limiter);
	for (unsigned i = 0; i < config->n_ports; i++) {
		add_port(args, &config->ports[i]);
		pci |= !device_is_vdev(config->ports[i].device);
	}
	if (!pci)
		args_add(args, "--no-pci");
	for (unsigned i = 0; i < config->n_eal; i++)
		args_add(args, "%s", config->eal[i]);
}

/* As EAL looks for them, which answers by its usage, in which the reason drowns. */
static bool has_cpu(unsigned cpu)
{
	char path[64];

	snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu%u/topology/core_id", cpu);
	return access(path, F_OK) == 0;
}

static int check_cpus(const struct config *config)
{
	int ret = 0;

	if (!has_cpu(config->control_cpu)) {
		fprintf(stderr, "weir: control.cpu: this machine has no CPU %u\n",
			config->control_cpu);
		ret = -ENODEV;
	}
	for (unsigned i = 0; i < config->n_workers; i++) {
		if (has_cpu(config->workers[i]))
			continue;
		fprintf(stderr, "weir: workers[%u]: this machine has no CPU %u\n", i,
			config->workers[i]);
		ret = -ENODEV;
	}
	return ret;
}

/* EAL's own words are on stderr, but not what to do. */
static void complain_eal(const struct config *config, int error)
{
	if (error == EACCES)
		fputs("weir: EAL did not start: if it got no hugepages reserve some (sysctl "
		      "vm.nr_hugepages=1024), or do without: \"eal\": [\"--no-huge\", \"-m\", "
		      "\"640\"]\n",
			stderr);
	else if (error == 0)
		fprintf(stderr, "weir: EAL did not start: does another weir named %s run here?\n",
			config->limiter);
	else
		fprintf(stderr, "weir: EAL did not start: %s\n", rte_strerror(error));
}

int eal_start(const struct config *config)
{
	struct args args = {0};
	char *argv[ARGS_MAX + 1];
	int ret = check_cpus(config);

	if (ret)
		return ret;
	build_args(&args, config);
	if (args.failed) {
		args_free(&args);
		return -ENOMEM;
	}
	/* EAL permutes its argv, so it gets an array of its own; the strings stay ours. */
	memcpy(argv, args.arg, sizeof(argv));
	ret = rte_eal_init(args.n, argv);
	args_free(&args);
	if (ret < 0) {
		complain_eal(config, rte_errno);
		return rte_errno ? -rte_errno : -EINVAL;
	}
	return 0;
}

int eal_describe(const struct config *config, FILE *out)
{
	struct args args = {0};

	build_args(&args, config);
	fputs("EAL:", out);
	for (int i = 1; i < args.n; i++)
		fprintf(out, " %s", args.arg[i]);
	fputc('\n', out);
	args_free(&args);
	return args.failed ? -ENOMEM : 0;
}

int eal_find_ports(const struct config *config, uint16_t ids[CONFIG_PORTS_MAX])
{
	int ret = 0;

	for (unsigned i = 0; i < config->n_ports; i++) {
		const struct port_config *port = &config->ports[i];
		char name[CONFIG_DEVICE_MAX];

		/* EAL names a vdev by what stands before its first argument. */
		snprintf(name, sizeof(name), "%.*s", (int)strcspn(port->device, ","), port->device);
		if (rte_eth_dev_get_port_by_name(name, &ids[i]) == 0)
			continue;
		fprintf(stderr, "weir: ports.%s: device %s did not come up\n", port->name,
			port->device);
		ret = -ENODEV;
	}
	return ret;
}

void eal_stop(void)
{
	rte_eal_cleanup();
}
