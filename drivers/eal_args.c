/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Builds the arguments of EAL.
 */
#include "eal_args.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernel_port.h"

void eal_args_add(struct eal_args *args, const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	if (args->n == EAL_ARGS_MAX || vasprintf(&args->arg[args->n], format, ap) < 0)
		args->failed = true;
	else
		args->n++;
	va_end(ap);
}

void eal_args_free(struct eal_args *args)
{
	for (int i = 0; i < args->n; i++)
		free(args->arg[i]);
}

bool device_is_vdev(const char *device)
{
	return strncmp(device, "net_", 4) == 0 || strncmp(device, "xdp:", 4) == 0;
}

void eal_device_name(const struct port_config *port, char name[CONFIG_DEVICE_MAX])
{
	if (port_is_xdp(port))
		snprintf(name, CONFIG_DEVICE_MAX, "net_af_xdp_%s", port->device + strlen("xdp:"));
	else
		snprintf(name, CONFIG_DEVICE_MAX, "%.*s", (int)strcspn(port->device, ","),
			port->device);
}

/*
 * Adds an XDP port with all its queues, because packets that the kernel does not decide can come on
 * any queue.
 */
static void add_xdp_port(struct eal_args *args, const struct port_config *port)
{
	char name[CONFIG_DEVICE_MAX], interface[IFNAMSIZ];

	eal_device_name(port, name);
	kernel_interface(port, interface);
	eal_args_add(args, "--vdev=%s,iface=%s,queue_count=%u", name, interface,
		kernel_queues(interface).pairs);
}

void eal_args_add_port(struct eal_args *args, const struct port_config *port)
{
	bool sized = port_is_af_packet(port) && !strstr(port->device, "framesz=");
	unsigned frame = sized ? af_packet_frame(port) : AF_PACKET_FRAME;

	if (port_is_xdp(port))
		add_xdp_port(args, port);
	else if (!device_is_vdev(port->device))
		eal_args_add(args, "--allow=%s", port->device);
	else if (frame > AF_PACKET_FRAME)
		eal_args_add(args, "--vdev=%s,framesz=%u,blocksz=%u", port->device, frame,
			frame > 4096 ? frame : 4096);
	else
		eal_args_add(args, "--vdev=%s", port->device);
}

void eal_args_add_lcores(struct eal_args *args, const struct config *config)
{
	char lcores[24 * (CONFIG_WORKERS_MAX + 1)];
	int at = snprintf(lcores, sizeof(lcores), "0@%u", config->control_cpu);

	for (unsigned i = 0; i < config->n_workers; i++)
		at += snprintf(lcores + at, sizeof(lcores) - (size_t)at, ",%u@%u", i + 1,
			config->workers[i]);
	eal_args_add(args, "--lcores=%s", lcores);
}

bool eal_has_argument(const struct config *config, const char *beginning)
{
	bool is_given = false;

	for (unsigned i = 0; i < config->n_eal; i++)
		is_given |= strncmp(config->eal[i], beginning, strlen(beginning)) == 0;
	return is_given;
}

void eal_args_build(struct eal_args *args, const struct config *config)
{
	static const char *const others[] = {
		"--no-huge", "--in-memory", "--huge-unlink", "--single-file-segments"};
	bool pci = false, given = false;

	eal_args_add(args, "weir");
	eal_args_add_lcores(args, config);
	/*
	 * One request crashes the stock server of 22.11; lib/io/telemetry implements its protocol
	 * instead.
	 */
	eal_args_add(args, "--no-telemetry");
	eal_args_add(args, "--file-prefix=weir-%s", config->limiter);
	for (unsigned i = 0; i < config->n_ports; i++) {
		eal_args_add_port(args, &config->ports[i]);
		pci |= !device_is_vdev(config->ports[i].device);
	}
	if (!pci)
		eal_args_add(args, "--no-pci");
	/*
	 * Removes the files of hugepages as soon as they are mapped. However the process ends, it
	 * then leaves no files, and the kernel gets the pages back. A secondary DPDK process would
	 * need the files. The operator can keep them with --huge-unlink, or with an option that
	 * excludes it.
	 */
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		given |= eal_has_argument(config, others[i]);
	if (!given)
		eal_args_add(args, "--huge-unlink=always");
	for (unsigned i = 0; i < config->n_eal; i++)
		eal_args_add(args, "%s", config->eal[i]);
}
