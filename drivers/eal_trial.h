/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Whether EAL takes a configuration, tried in a process that ends at once. Nothing of the machine
 * is touched that outlives it: no PCI device, no interface that would be made, no file but below a
 * directory of its own. Of software devices those come up that are no more than memory or a socket;
 * of others it is only asked whether DPDK has the driver. Main thread, before EAL is up.
 */
#ifndef WEIR_DRIVERS_EAL_TRIAL_H
#define WEIR_DRIVERS_EAL_TRIAL_H

#include <stdbool.h>
#include <stdio.h>

#include "policy/config.h"

/*
 * 0, or a negative errno with what EAL and the devices said in err: -ENOTSUP if it cannot be tried,
 * as arguments ask for memory that stays.
 */
int eal_trial(const struct config *config, FILE *err);

/*
 * Whether a limiter of this name runs already, so that EAL would refuse a second one; as far as
 * this user's and this service's directory tells.
 */
bool eal_runs_already(const struct config *config);

/* The argument that EAL refuses, as an index of config->eal, or n_eal if it is none of them. */
unsigned eal_trial_refused(const struct config *config);

#endif
