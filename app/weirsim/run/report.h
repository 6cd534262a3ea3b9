/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Computes the numbers of the paper from a record: rates over time, shares, fairness. The summary
 * has the keys of tools/demo's JSON, for comparison of a live run with a simulated one.
 */
#ifndef WEIR_SIM_REPORT_H
#define WEIR_SIM_REPORT_H

#include <stdbool.h>
#include <stdio.h>

#include <jansson.h>

#include "sim.h"

struct flow_record;

/*
 * Returns a new reference, or NULL when out of memory. Covers the time from the warm-up to the end.
 */
json_t *report_summary(const struct sim *sim);

/*
 * Reports violated invariants, and bounds of the scenario that do not hold; returns true if there
 * are none.
 */
bool report_verdict(const struct sim *sim, const json_t *summary, FILE *err);

/* Writes the summary for people. */
void report_text(const struct sim *sim, const json_t *summary, FILE *out);

/* Writes one row an interval, CSV; returns 0 or a negative errno. */
int report_series(const struct sim *sim, FILE *out);

/* Sums and means over a record's intervals: rates.c. */

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
