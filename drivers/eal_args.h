/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * What EAL is called with. Pure.
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
	bool failed; /* out of memory, or they are too many */
};

void eal_args_add(struct eal_args *args, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
void eal_args_add_lcores(struct eal_args *args, const struct config *config);
void eal_args_add_port(struct eal_args *args, const struct port_config *port);

/* All that a configuration asks for, to arguments that are all zero. */
void eal_args_build(struct eal_args *args, const struct config *config);
void eal_args_free(struct eal_args *args);

/* Whether one of the operator's own arguments begins like that: `--no-huge`, `--huge-unlink`. */
bool eal_is_told(const struct config *config, const char *beginning);

/* How EAL calls it. */
void eal_device_name(const struct port_config *port, char name[CONFIG_DEVICE_MAX]);

/* Whether it is one of DPDK's software devices, as those of "xdp:" are, and none of the PCI bus. */
bool device_is_vdev(const char *device);

#endif
