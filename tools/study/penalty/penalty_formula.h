/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The access delay of a token bucket under Poisson arrivals, by formula: "Impact of Distributed
 * Rate Limiting on Load Distribution in a Latency-sensitive Messaging Service", section II. What
 * a bucket lacks of being full is the unfinished work U of an M/D/1 queue that serves a packet in
 * the time of its tokens; a packet waits for what U exceeds the bucket's depth by, less its own.
 *
 * Units: packets, and packets a second. Pure.
 */
#ifndef WEIR_SIM_PENALTY_FORMULA_H
#define WEIR_SIM_PENALTY_FORMULA_H

struct penalty_bucket {
	double load;    /* of the rate, above 0 and below 1 */
	double rate;    /* packets a second that it has tokens for */
	double depth;   /* packets, at least 1 */
	unsigned batch; /* packets that arrive at once */
};

/* P(U > x) in an M/D/1 queue of this load; U in service times. */
double penalty_md1_tail(double load, double x);

/* The mean of what U exceeds x by, and 0 where it does not. */
double penalty_md1_excess(double load, double x);

/* The paper's formula (1), in seconds; batches scale rate and depth down (section VI-B). */
double penalty_formula_paper(const struct penalty_bucket *bucket);

/* The mean over all packets of the batches, in seconds; exact. */
double penalty_formula_exact(const struct penalty_bucket *bucket);

#endif
