/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Starts EAL with a configuration. Main thread only, once per process.
 */
#ifndef WEIR_DRIVERS_EAL_H
#define WEIR_DRIVERS_EAL_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "policy/config.h"

/*
 * Starts EAL with the devices of the configured ports and one lcore for control (0) and for each
 * worker (1 and up). Several can share a CPU. Returns 0 or a negative errno, with the cause on
 * stderr.
 */
int eal_start(const struct config *config);

/*
 * Finds the DPDK port of every configured port. EAL continues without a device that failed, but a
 * limiter must not. Returns 0, or -ENODEV after a line on stderr for each missing port.
 */
int eal_find_ports(const struct config *config, uint16_t ids[CONFIG_PORTS_MAX]);

/* Finds the DPDK port of one configured port. Returns 0, or -ENODEV after a line on stderr. */
int eal_find_port(const struct port_config *port, uint16_t *id);

/* Returns whether this machine has a CPU with this number, as EAL checks it. */
bool eal_has_cpu(unsigned cpu);

/* Writes the EAL command line to out (`weir --check`). Returns 0 or -ENOMEM. */
int eal_describe(const struct config *config, FILE *out);

void eal_stop(void);

#endif
