/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Units that packets have spent of quotas, at all limiters. A run fails if they ever exceed the
 * quota.
 */
#ifndef WEIR_SIM_SPENT_H
#define WEIR_SIM_SPENT_H

#include <stdbool.h>
#include <stdint.h>

#include "sim.h"

/* State of one policy, in the units that it counts. */
struct spent {
	uint64_t *by_limiter; /* n_limiters */
	uint64_t all;
	uint64_t first;      /* number of the period in which the run begins */
	uint64_t *by_period; /* n_periods from `first` on: units of a period spent within it */
	bool *begun;         /* n_periods from `first` on: some limiter has been in it */
	unsigned n_periods, n_begun;
};

/* Returns 0 or -ENOMEM; spent_free() is due in either case. */
int spent_create(struct sim *sim);
void spent_free(struct sim *sim);

/* Notes that a limiter is in a period. */
void spent_begins(struct sim *sim, unsigned policy, uint64_t period);

/*
 * Adds the units that a packet has spent; `earlier` of them belong to an earlier period than the
 * limiter's.
 */
void spent_add(struct sim *sim, unsigned policy, unsigned limiter, uint64_t period, uint64_t units,
	uint64_t earlier);

/* Return the spent units as a ratio of the quotas of all periods that have begun. */
double spent_ratio(const struct sim *sim, unsigned policy);
double spent_ratio_of(const struct sim *sim, unsigned policy, unsigned limiter);

#endif
