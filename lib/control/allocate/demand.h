/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Interval counts → smoothed rates (section 3.1 of Raghavan et al., SIGCOMM 2007): the average
 * arrival rate of each estimate interval, filtered by an EWMA. Pure. Control thread or simulator.
 */
#ifndef WEIR_ALLOCATE_DEMAND_H
#define WEIR_ALLOCATE_DEMAND_H

#include <stdbool.h>
#include <stdint.h>

#include "flow/flow_sample.h"

/*
 * The paper's "1-second EWMA parameter" p is the share of an old value that is still kept after one
 * second. For any interval of T seconds p^T is kept. p = 0 keeps nothing (no filter).
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
 * The filter of demand, started from zero: a flow that is new to a sample counts for little in its
 * first intervals.
 */
static inline void demand_follow(double *rate, double sample, double keep)
{
	*rate = *rate * keep + sample * (1 - keep);
}

/* The memory of a steady rate over an interval. */
struct steady_memory {
	double keep; /* share of the quick rate's old value that is kept */
	double slow; /* share of the slow rate's old value that is kept */
	/* Bytes per second from which the quick rate has enough packets for a comparison. */
	double comparable_from;
};

/*
 * A rate with a long memory that still follows a change immediately. The slow rate is a mean over
 * its memory, or over the time since it began. It restarts at the quick rate if the two differ
 * by more than RATE_CHANGED. That is more than TCP's sawtooth makes, and less than a flow does that
 * starts, ends or finds another bottleneck. A flow of a few packets a second differs as much by
 * chance, so the slow rate has to be at least `comparable_from`. Zeroed before use.
 */
struct steady_rate {
	double quick; /* bytes per second, from zero */
	double begun; /* part of the quick rate's memory that is filled, 0 to 1 */
	double sum;   /* the slow rate × seen */
	double seen;  /* part of the slow rate's memory that is filled, 0 to 1 */
	double rate;  /* the answer: the slow rate × begun */
};

#define RATE_CHANGED 2.0

static inline double demand_steady(
	struct steady_rate *rate, double sample, const struct steady_memory *memory)
{
	demand_follow(&rate->quick, sample, memory->keep);
	demand_follow(&rate->begun, 1, memory->keep);
	demand_follow(&rate->sum, sample, memory->slow);
	demand_follow(&rate->seen, 1, memory->slow);
	rate->rate = rate->seen > 0 ? rate->sum / rate->seen * rate->begun : 0;
	if (rate->rate >= memory->comparable_from &&
		(rate->quick > RATE_CHANGED * rate->rate ||
			rate->rate > RATE_CHANGED * rate->quick)) {
		/* The quick rate counts by the length of its memory. */
		rate->seen = (1 - memory->slow) / (1 - memory->keep);
		rate->sum = rate->quick * rate->seen;
		rate->rate = rate->quick;
	}
	return rate->rate;
}

/* The smoothed rates of the flows in one sample, by demand_steady(). Zeroed before use. */
struct flow_rates {
	uint64_t seen[FLOW_SLOTS]; /* slots as last read */
	struct steady_rate rate[FLOW_SLOTS];
	double silent_s[FLOW_SLOTS]; /* time since its last byte */
	double age_s[FLOW_SLOTS];    /* time since it got the slot */
	double old_rate;             /* sum of the rates of old flows, as last read */
};

/* Seconds. A flow that is silent for so long is not counted, though it still has its slot. */
#define FLOW_SILENT_S 1.0

/* Age in seconds from which a flow is old: most requests of the Web have ended by then. */
#define FLOW_OLD_S 2.0

/* Treats each flow as a new one from its next byte on. */
void flow_rates_forget(struct flow_rates *rates);

/*
 * Reads the sample at the end of an interval. A slot with another flow starts again; its bytes are
 * those since it was claimed. Returns how many flows are sampled now, without the silent ones, and
 * writes their smoothed rates.
 */
unsigned flow_rates_add(struct flow_rates *rates, const uint64_t slots[FLOW_SLOTS],
	double interval_s, const struct steady_memory *memory, double out[FLOW_SLOTS]);

#endif
