/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The access delay of a token bucket under Poisson arrivals, by formula: "Impact of Distributed
 * Rate Limiting on Load Distribution in a Latency-sensitive Messaging Service", section II. The
 * missing tokens of a bucket are the unfinished work U of an M/D/1 queue whose service time is that
 * of a packet's tokens. A packet waits for the excess of U over the bucket's depth, less its own
 * tokens.
 *
 * Units: packets, and packets a second. Pure.
 */
#ifndef WEIR_SIM_PENALTY_FORMULA_H
#define WEIR_SIM_PENALTY_FORMULA_H

struct penalty_bucket {
	double load;    /* relative to the rate, above 0 and below 1 */
	double rate;    /* packets a second */
	double depth;   /* packets, at least 1 */
	unsigned batch; /* packets in one batch */
};

/* Returns P(U > x) in an M/D/1 queue of this load; U in service times. */
double penalty_md1_tail(double load, double x);

/* Returns the mean excess of U over x, which counts as 0 while U is below x. */
double penalty_md1_excess(double load, double x);

/* Returns the paper's formula (1), in seconds; batches scale rate and depth down (section VI-B). */
double penalty_formula_paper(const struct penalty_bucket *bucket);

/* Returns the exact mean over all packets of the batches, in seconds. */
double penalty_formula_exact(const struct penalty_bucket *bucket);

#endif
