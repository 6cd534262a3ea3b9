/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * What packets wait for tokens, of one bucket and of its parts. Pure.
 */
#ifndef WEIR_SIM_PENALTY_RUN_H
#define WEIR_SIM_PENALTY_RUN_H

#include <stdbool.h>

#include "penalty_formula.h"
#include "penalty_traffic.h"

/* Each power of two of delays has so many bins: a quantile is off by at most 1 in 512. */
#define PENALTY_BINS_SHIFT 8
#define PENALTY_BINS       ((64 - PENALTY_BINS_SHIFT + 1) << PENALTY_BINS_SHIFT)

/* Parts of one size, over all seeds. */
struct penalty_row {
	unsigned parts;
	unsigned seeds;
	double mean, squares; /* ticks: of the seeds' means, and of their distances from it */
	uint64_t n;           /* packets measured */
	uint64_t bins[PENALTY_BINS];
};

/*
 * One run of rate/parts and burst/parts each; adds to the row. *total: ticks that all packets have
 * waited, the first ones too. Returns 0, -ENOMEM, or -ERANGE for rates that lib/datapath/meter does
 * not do.
 */
int penalty_run(struct penalty_row *row, const struct penalty_case *c, uint64_t seed,
	unsigned __int128 *total);

/*
 * Ticks that a run takes at least. A part is late by as much per part, at most: less than 2^58 of
 * them can be counted.
 */
double penalty_ticks(const struct penalty_case *c);

/* Parts that a packet still fits into the burst of, at most PENALTY_PARTS; 0: none. */
unsigned penalty_parts(const struct penalty_case *c);

/* Delay in ticks that a share of the packets does not exceed, 0 < share < 1. */
double penalty_quantile(const struct penalty_row *row, double share);

/* Counts a delay, in ticks. */
void penalty_count(struct penalty_row *row, uint64_t delay);

/* Standard error of the mean, in ticks; 0 for one seed. */
double penalty_error(const struct penalty_row *row);

/* What the formulas take of a part. False: they do not apply to the arrivals at it. */
bool penalty_part(const struct penalty_case *c, unsigned parts, struct penalty_bucket *bucket);

#endif
