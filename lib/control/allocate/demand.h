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
 * The filter of demand, started from zero: for rates that are only compared with each other. A flow
 * that is new to a sample, or whose slot was borrowed to another, then counts for little until it
 * has shown itself.
 */
static inline void demand_follow(double *rate, double sample, double keep)
{
	*rate = *rate * keep + sample * (1 - keep);
}

/*
 * A rate that is remembered for long, and yet follows a change at once: through two such filters,
 * where the slow one takes the quick one's value when they differ by more than RATE_CHANGED. That
 * is more than TCP's sawtooth makes, and less than a flow does that starts, ends or finds another
 * bottleneck. Zeroed before use.
 */
struct steady_rate {
	double quick, slow;
};

#define RATE_CHANGED 2.0

static inline double demand_steady(
	struct steady_rate *rate, double sample, double keep, double keep_slow)
{
	demand_follow(&rate->quick, sample, keep);
	demand_follow(&rate->slow, sample, keep_slow);
	if (rate->quick > RATE_CHANGED * rate->slow || rate->slow > RATE_CHANGED * rate->quick)
		rate->slow = rate->quick;
	return rate->slow;
}

/* The smoothed rates of the flows in one sample, by demand_steady(). Zeroed before use. */
struct flow_rates {
	uint64_t seen[FLOW_SLOTS]; /* slots as last read */
	struct steady_rate rate[FLOW_SLOTS];
	double silent_s[FLOW_SLOTS]; /* time since its last byte */
};

/* A flow that is silent for so long is no evidence of anything, though it still has its slot. */
#define FLOW_SILENT_S 1.0

/*
 * Reads the sample at the end of an interval. A slot that changed hands starts anew; bytes are
 * those since it was claimed. Returns how many flows are sampled now, without the silent ones, and
 * writes their smoothed rates.
 */
unsigned flow_rates_add(struct flow_rates *rates, const uint64_t slots[FLOW_SLOTS],
	double interval_s, double keep, double keep_slow, double out[FLOW_SLOTS]);

#endif
