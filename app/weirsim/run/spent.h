/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * What packets have used up of policies with a total, at all limiters; and whether that is ever
 * more than there is, which fails the run.
 */
#ifndef WEIR_SIM_SPENT_H
#define WEIR_SIM_SPENT_H

#include <stdbool.h>
#include <stdint.h>

#include "sim.h"

/* One policy's, in the units that it counts. */
struct spent {
	uint64_t *by_limiter; /* n_limiters */
	uint64_t all;
	uint64_t first;      /* number of the period in which the run begins */
	uint64_t *by_period; /* n_periods from that on: of the units of a period, within it */
	bool *begun;         /* likewise: some limiter has been in it */
	unsigned n_periods, n_begun;
};

/* Returns 0 or -ENOMEM; spent_free() is due in either case. */
int spent_create(struct sim *sim);
void spent_free(struct sim *sim);

/* A limiter is in that period. */
void spent_begins(struct sim *sim, unsigned policy, uint64_t period);

/* Units that a packet has used, so many of them of an earlier period than the limiter is in. */
void spent_add(struct sim *sim, unsigned policy, unsigned limiter, uint64_t period, uint64_t units,
	uint64_t earlier);

/* What was used, as a part of all the totals of the periods that have begun. */
double spent_ratio(const struct sim *sim, unsigned policy);
double spent_ratio_of(const struct sim *sim, unsigned policy, unsigned limiter);

#endif
