/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Private to lib/control/place.
 */
#ifndef WEIR_PLACE_PRIVATE_H
#define WEIR_PLACE_PRIVATE_H

#include "place/place.h"

/* Returns the sources in the order that the principles require. */
const uint32_t *place_order(const struct placer *placer);

/*
 * Finds the fewest brokers with room for a rate, in chosen[], most room first. Returns their
 * number.
 */
unsigned place_choose(const struct place_broker *brokers, unsigned n, double rate,
	unsigned chosen[PLACE_BROKERS]);

/* Sets quotas[] to the parts of a rate for the k chosen brokers, and to 0 for all others. */
void place_quotas(const struct place_problem *problem, double rate, const unsigned *chosen,
	unsigned k, double quotas[PLACE_BROKERS]);

/*
 * Assigns n sources to brokers in proportion to their quotas, as far as they have room. Each source
 * goes to the broker that is furthest below its proportion. So every run of the order is divided in
 * proportion.
 */
void place_deal(const struct place_problem *problem, const uint32_t *order, uint32_t n,
	const double quotas[PLACE_BROKERS], uint32_t *at);

/* Bursts by size: sizes and their number per second. Equal sizes are merged. */
#define MIX_SIZES 32

struct mix {
	unsigned n;
	double sizes[MIX_SIZES], rates[MIX_SIZES];
	double load;   /* units per second */
	double period; /* mean period of periodic sources, weighted by load */
	double steady; /* units per second of periodic sources */
};

void mix_add(struct mix *mix, double size, double rate);

/*
 * Sums the sources of one broker, or of all with PLACE_NOWHERE. If a burst is spread over time, a
 * queue that serves `speed` units per second meanwhile has less of it. speed 0: ignores the spread.
 */
void mix_of(struct mix *mix, const struct placer *placer, const uint32_t *at, uint32_t broker,
	double speed);

/* Returns the second moment of sizes, per second. */
double mix_square(const struct mix *mix);

/* Tail of the units that a part of the bucket lacks when a unit has arrived. */
struct backlog {
	double constant, decay; /* C exp(-decay x); decay 0: the queue grows without bound */
	double bridge;          /* factor in exp(-bridge x^2) */
};

#define PLACE_TAIL  0.01 /* part of the units that can exceed the objective */
#define PLACE_DOUBT 1.1  /* highest ratio of measured to predicted delay for a correct prediction */

void backlog_of(struct backlog *backlog, const struct mix *mix, double limit);
double backlog_tail(const struct backlog *backlog, double x);

/* Returns the x that a share of units exceeds. */
double backlog_level(const struct backlog *backlog, double share);

/*
 * Returns the backlog that PLACE_TAIL of a broker's recorded units exceed, at a limit.
 * PLACE_NOWHERE: of all brokers' units.
 */
double replay_level(const struct placer *placer, const uint32_t *at, uint32_t broker, double limit);

/*
 * Calculates the delays of a broker's recorded units. Returns false if there are none, or if it has
 * no part.
 */
bool replay(const struct placer *placer, const struct placement *placement, unsigned broker,
	struct place_delay *delay);

/*
 * Returns the variance per second of a broker's units around its share of all units. It is 0 if the
 * broker gets exactly that share of every burst.
 */
double mix_deviation(
	const struct placer *placer, const uint32_t *at, uint32_t broker, double share);

/* Returns the units of the model, or of the record, that correspond to one unit of the burst. */
double place_worth(const struct placer *placer, const struct placement *placement);

/*
 * Sets weights for the limit and burst of each part, such that units of all parts wait equally
 * long. Returns false if the limit leaves nothing to divide above the rates.
 */
bool place_balance(const struct placer *placer, const struct placement *placement,
	double limits[PLACE_BROKERS], double bursts[PLACE_BROKERS]);

#endif
