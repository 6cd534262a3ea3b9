/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Delays of packets that wait for tokens, with one bucket and with its parts. Pure.
 */
#ifndef WEIR_SIM_PENALTY_RUN_H
#define WEIR_SIM_PENALTY_RUN_H

#include <stdbool.h>

#include "penalty_formula.h"
#include "penalty_traffic.h"

/*
 * Number of bins for each power of two of delays, as a shift: a quantile is off by at most 1 in
 * 512.
 */
#define PENALTY_BINS_SHIFT 8
#define PENALTY_BINS       ((64 - PENALTY_BINS_SHIFT + 1) << PENALTY_BINS_SHIFT)

/* Parts of one size, over all seeds. */
struct penalty_row {
	unsigned parts;
	unsigned seeds;
	double mean, squares; /* ticks: mean of the seeds' means; sum of squared deviations */
	uint64_t n;           /* packets measured */
	uint64_t bins[PENALTY_BINS];
};

/*
 * Does one run with rate/parts and burst/parts each; adds to the row. *total: sum of all packets'
 * delays in ticks, with the first ones. Returns 0, -ENOMEM, or -ERANGE for rates that
 * lib/datapath/meter does not support.
 */
int penalty_run(struct penalty_row *row, const struct penalty_case *c, uint64_t seed,
	unsigned __int128 *total);

/*
 * Returns the least number of ticks of a run. Each part adds at most as much delay, and delays must
 * stay below 2^58 ticks.
 */
double penalty_ticks(const struct penalty_case *c);

/* Returns the most parts whose burst still holds a packet, at most PENALTY_PARTS; 0: none. */
unsigned penalty_parts(const struct penalty_case *c);

/* Returns the delay in ticks that a share of the packets does not exceed, 0 < share < 1. */
double penalty_quantile(const struct penalty_row *row, double share);

/* Counts a delay, in ticks. */
void penalty_count(struct penalty_row *row, uint64_t delay);

/* Returns the standard error of the mean, in ticks; 0 for one seed. */
double penalty_error(const struct penalty_row *row);

/* Sets the formulas' parameters of a part. Returns false if they do not apply to its arrivals. */
bool penalty_part(const struct penalty_case *c, unsigned parts, struct penalty_bucket *bucket);

#endif
