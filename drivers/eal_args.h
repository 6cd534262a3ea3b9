/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Builds the arguments of EAL. Pure.
 */
#ifndef WEIR_DRIVERS_EAL_ARGS_H
#define WEIR_DRIVERS_EAL_ARGS_H

#include <stdbool.h>

#include "policy/config.h"

/* Fixed arguments, and two for each port. */
#define EAL_ARGS_MAX (8 + CONFIG_EAL_ARGS + 2 * CONFIG_PORTS_MAX)

struct eal_args {
	char *arg[EAL_ARGS_MAX + 1];
	int n;
	bool failed; /* out of memory, or too many */
};

void eal_args_add(struct eal_args *args, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
void eal_args_add_lcores(struct eal_args *args, const struct config *config);
void eal_args_add_port(struct eal_args *args, const struct port_config *port);

/* Adds all arguments of a configuration. args: all zero before. */
void eal_args_build(struct eal_args *args, const struct config *config);
void eal_args_free(struct eal_args *args);

/* Returns whether an argument of the operator begins with `beginning`, for example `--no-huge`. */
bool eal_has_argument(const struct config *config, const char *beginning);

/* Writes EAL's name of a port's device. */
void eal_device_name(const struct port_config *port, char name[CONFIG_DEVICE_MAX]);

/*
 * Returns whether a device is a software device of DPDK, like those of "xdp:", not on the PCI bus.
 */
bool device_is_vdev(const char *device);

#endif
