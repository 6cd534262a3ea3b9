/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Private to lib/place.
 */
#ifndef WEIR_PLACE_PRIVATE_H
#define WEIR_PLACE_PRIVATE_H

#include "place/place.h"
#include "place/predict.h"

/* The sources in the order that the principles ask for. */
const uint32_t *place_order(const struct placer *placer);

/* The fewest brokers with room for a rate, those with most room first; they are in chosen[]. */
unsigned place_choose(const struct place_broker *brokers, unsigned n, double rate,
	unsigned chosen[PLACE_BROKERS]);

/* What each of the k chosen brokers is to get of a rate, in quotas[]; 0 for all others. */
void place_quotas(const struct place_problem *problem, double rate, const unsigned *chosen,
	unsigned k, double quotas[PLACE_BROKERS]);

/*
 * Deals n sources out to brokers in proportion to their quotas, as far as they have room. Each goes
 * to whoever is furthest behind: of any run of the order, all get their proportion.
 */
void place_deal(const struct place_problem *problem, const uint32_t *order, uint32_t n,
	const double quotas[PLACE_BROKERS], uint32_t *at);

/* Bursts as a queue sees them: sizes and how many a second. Those of one size are one. */
#define MIX_SIZES 32

struct mix {
	unsigned n;
	double sizes[MIX_SIZES], rates[MIX_SIZES];
	double load;   /* units a second */
	double period; /* of the sources that have one, by load */
	double steady; /* units a second that come in periods */
};

void mix_add(struct mix *mix, double size, double rate);

/*
 * The sources of one broker; of all brokers with PLACE_NOWHERE. A queue that serves `speed` units a
 * second meanwhile sees less of a burst that is spread over a time; 0: none of that.
 */
void mix_of(struct mix *mix, const struct placer *placer, const uint32_t *at, uint32_t broker,
	double speed);

/* The second moment of sizes, a second. */
double mix_square(const struct mix *mix);

/* The tail of what a part of the bucket lacks, as a unit finds it that has come. */
struct backlog {
	double constant, decay; /* C exp(-decay x); no decay: without end */
	double bridge;          /* of exp(-bridge x^2) */
};

#define PLACE_TAIL  0.01 /* of units that may be above the objective */
#define PLACE_DOUBT 1.1  /* what is measured of a delay that is predicted right */

void backlog_of(struct backlog *backlog, const struct mix *mix, double limit);
double backlog_tail(const struct backlog *backlog, double x);

/* The x that a share of units exceeds. */
double backlog_level(const struct backlog *backlog, double share);

/*
 * What a share of PLACE_TAIL of a broker's recorded units exceeds, of what its part lacks; of all
 * brokers' with PLACE_NOWHERE.
 */
double replay_level(const struct placer *placer, const uint32_t *at, uint32_t broker, double limit);

/* What its recorded units would have taken. False: none are recorded, or it has no part. */
bool replay(const struct placer *placer, const struct placement *placement, unsigned broker,
	struct place_delay *delay);

/*
 * The variance, a second, of what a broker's units are more or less than a share of all units: 0
 * where it gets just that share of every burst.
 */
double mix_deviation(
	const struct placer *placer, const uint32_t *at, uint32_t broker, double share);

/* Units of the model, or of the record, that a unit of the burst is worth. */
double place_worth(const struct placer *placer, const struct placement *placement);

/*
 * What limit and burst of each part should be in proportion to: that all parts' units wait equally
 * long. False: there is nothing beyond the rates to be divided.
 */
bool place_balance(const struct placer *placer, const struct placement *placement,
	double limits[PLACE_BROKERS], double bursts[PLACE_BROKERS]);

#endif
