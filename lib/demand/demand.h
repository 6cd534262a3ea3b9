/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Interval counts → smoothed rates (section 3.1 of Raghavan et al., SIGCOMM 2007): the average
 * arrival rate of each estimate interval, filtered by an EWMA. Pure. Control thread or simulator.
 */
#ifndef WEIR_DEMAND_DEMAND_H
#define WEIR_DEMAND_DEMAND_H

#include <stdbool.h>
#include <stdint.h>

#include "flow/flow_sample.h"

/*
 * The paper's "1-second EWMA parameter" p is the share of an old value that is still kept after one
 * second, whatever the interval: over T seconds p^T is kept. p = 0 keeps nothing (no filter).
 */
double demand_keep(double keep_per_second, double interval_s);

/* A smoothed rate. Zeroed before use. Bytes per second. */
struct demand {
	double rate;
	double seen; /* share of the filter's memory that is filled, 0 to 1 */
	double sum;  /* filter's state: rate × seen */
};

/*
 * Adds an interval with the average rate `rate` (bytes per second). The filter starts from its
 * first samples alone, not from an invented zero.
 */
void demand_add(struct demand *demand, double rate, double keep);

/*
 * The same filter, started from zero: for rates that are only compared with each other. A flow that
 * is new to a sample, or whose slot was lent to another, then counts for little until it has shown
 * itself.
 */
static inline void demand_follow(double *rate, double sample, double keep)
{
	*rate = *rate * keep + sample * (1 - keep);
}

/* The smoothed rates of the flows in one sample, by demand_follow(). Zeroed before use. */
struct flow_rates {
	uint64_t seen[FLOW_SLOTS]; /* slots as last read */
	double rate[FLOW_SLOTS];
};

/*
 * Reads the sample at the end of an interval. A slot that changed hands starts anew; bytes are
 * those since it was claimed. Returns how many flows are sampled now and writes their smoothed
 * rates.
 */
unsigned flow_rates_add(struct flow_rates *rates, const uint64_t slots[FLOW_SLOTS],
	double interval_s, double keep, double out[FLOW_SLOTS]);

#endif
