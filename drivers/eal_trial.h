/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Tries whether EAL accepts a configuration, in a process that ends immediately. It touches nothing
 * that remains: no PCI device, no new interface, and files only in its own directory. Software
 * devices are started only if they are just memory or a socket. For others it only checks that DPDK
 * has the driver. Main thread, before EAL is up.
 */
#ifndef WEIR_DRIVERS_EAL_TRIAL_H
#define WEIR_DRIVERS_EAL_TRIAL_H

#include <stdbool.h>
#include <stdio.h>

#include "policy/config.h"

/*
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

#endif
