/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Starts EAL with a configuration, tries whether EAL accepts one, and checks the rights that it
 * needs. Main thread; eal_start() once per process. Any thread for the rights.
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

/*
 * Tries whether EAL accepts a configuration, in a process that ends immediately. It touches nothing
 * that remains: no PCI device, no new interface, and files only in its own directory. Software
 * devices are started only if they are just memory or a socket. For others it only checks that DPDK
 * has the driver. Before EAL is up.
 *
 * Returns 0, or a negative errno with the messages of EAL and the devices in err. -ENOTSUP: it
 * cannot be tried, because arguments make devices or use memory that remains.
 */
int eal_trial(const struct config *config, FILE *err);

/*
 * Returns whether a limiter of this name is running, so that EAL would refuse another. It checks
 * the directory of this user or service only.
 */
bool eal_runs_already(const struct config *config);

/* Returns the index in config->eal of the argument that EAL refuses, or n_eal if there is none. */
unsigned eal_trial_refused(const struct config *config);

/* Rights of a process that the ports and wires of a configuration need. */

#define RIGHTS_REMEDY      "start weir with systemd (weir@.service) or sudo"
#define RIGHTS_LOCK_REMEDY "ulimit -l unlimited; in a systemd unit: LimitMEMLOCK=infinity"

/* A right that a port needs: any bit of `any` grants it. */
struct right {
	bool (*needed)(const struct port_config *port); /* NULL: for wires with XDP programs */
	uint64_t any;
	const char *name, *why;
};

/* Ends with an entry without a name. */
extern const struct right rights[];

bool right_is_needed(const struct config *config, const struct right *right);

/* Returns true if these capabilities permit to lock the memory of all ports that need it. */
bool rights_lock(const struct config *config, uint64_t effective);

/* 0, or -EPERM and a line on stderr for each right that this process lacks. */
int rights_check(const struct config *config);

#endif
