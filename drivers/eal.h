/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * From a configuration to a running EAL. Main thread only, once a process.
 */
#ifndef WEIR_DRIVERS_EAL_H
#define WEIR_DRIVERS_EAL_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "policy/config.h"

/*
 * Starts EAL with the devices of the configured ports and one lcore for control (0) and for each
 * worker (1 and up); several may share a CPU. Returns 0 or a negative errno, with the cause on
 * stderr.
 */
int eal_start(const struct config *config);

/*
 * Finds the DPDK port of every configured port. EAL goes on without a device that failed; we do
 * not: returns -ENODEV, having named each missing port on stderr.
 */
int eal_find_ports(const struct config *config, uint16_t ids[CONFIG_PORTS_MAX]);

/* One of them: 0, or -ENODEV after a line on stderr. */
int eal_find_port(const struct port_config *port, uint16_t *id);

/* Whether this machine has a CPU of that number, as EAL looks for it. */
bool eal_has_cpu(unsigned cpu);

/* Writes the EAL command line to out (`weir --check`). Returns 0 or -ENOMEM. */
int eal_describe(const struct config *config, FILE *out);

void eal_stop(void);

#endif
