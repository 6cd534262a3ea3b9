/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Sums and means over a record's intervals.
 */
#ifndef WEIR_SIM_RATES_H
#define WEIR_SIM_RATES_H

#include <stdbool.h>

#include "record.h"

/* Intervals [from, to). */
struct rate_window {
	unsigned from, to;
};

/* From the warm-up to the end. */
struct rate_window rates_measured(const struct sim *sim);

/* Returns bit/s that a limiter forwarded, on average over a window. */
double rates_limiter(
	const struct sim *sim, unsigned policy, unsigned limiter, struct rate_window w);

/* Returns bit/s of all limiters. */
double rates_aggregate(const struct sim *sim, unsigned policy, struct rate_window w);

/* Returns bit/s that the limit allowed on average over a window: see record.h. */
double rates_in_force(const struct sim *sim, unsigned policy, struct rate_window w);

/* Returns bit/s that a flow delivered while it lived within a window; its seconds in *lived. */
double rates_flow(
	const struct sim *sim, const struct flow_record *flow, struct rate_window w, double *lived);

/*
 * Returns Jain's index of a policy's elastic flows that lived at least so many seconds of the
 * window; 0: none.
 */
double rates_jain(const struct sim *sim, unsigned policy, struct rate_window w, double lived);

/* Returns its mean over whole seconds. */
double rates_jain_1s(const struct sim *sim, unsigned policy, struct rate_window w);

/* Returns the intervals of a second. */
unsigned rates_bins_1s(const struct sim *sim);

#endif
