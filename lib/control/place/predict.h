/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * What units of a placement will wait, before anybody has tried: from what is counted anyway, rates
 * and bursts of the sources. Two queues in a row, as if they were independent:
 *
 * - Tokens. What a part of the bucket lacks of being full is the work of a queue whose jobs are
 *   the bursts of whole groups; far out its tail is C exp(-decay x) (Cramér and Lundberg; formula
 *   (1) of "Impact of Distributed Rate Limiting ..." is that of bursts of one unit). Periodic
 *   sources make a bridge of it, which takes exp(-2 x^2 / n) of n bursts a period.
 * - Service. The work before a broker by Pollaczek and Khinchine's formula, by Panjer's recursion
 *   over a grid: bursts of few groups are too large against the objective for an asymptote.
 *
 * The whole bucket's backlog may be known, as it was counted. A part's is its share of it, and what
 * chance adds where bursts are not split as the rates are: a walk for as long as the backlog took.
 *
 * Sources that all have a period repeat themselves. If they were recorded, the record is played
 * through exact buckets and servers of the brokers' speeds, with others' load at random, and there
 * is no model of the arrivals at all. What comes at random will not come again as it did, and a
 * record of that says less than its law.
 *
 * Pure, no memory; some 100,000 multiplications, or a pass over the record. Control threads.
 */
#ifndef WEIR_PLACE_PREDICT_H
#define WEIR_PLACE_PREDICT_H

#include "place/place.h"

#define PLACE_HEADROOM 0.95 /* of the objective: what is predicted above is not tried */

struct place_delay {
	double access_p99; /* waiting for tokens alone */
	double p50, p99;   /* in all, the constant included; HUGE_VAL: overloaded */
	/*
	 * What p99 is not above as far as can be told, by chance or as a model is not the world.
	 * HUGE_VAL where nobody has counted what the burst is worth, and where a broker has a load
	 * of others', of which no more than the rate is known.
	 */
	double most;
};

/* Predicts the waits of the units of one broker, which has sources. */
void place_predict(const struct placer *placer, const struct placement *placement, unsigned broker,
	struct place_delay *delay);

/* The largest p99 of all brokers that have sources; 0 without any. */
double place_predict_worst(const struct placer *placer, const struct placement *placement);

/*
 * What no placing is predicted to do better than, of sources that send by themselves and at random,
 * batches of one size: seconds; 0, not known, of others. A split needs the fewer tokens the less
 * even it is; but the largest part has to be served. A prediction, from the tails' asymptotes, and
 * no proof: brokers' room is not asked for, and what is far above it may be possible nevertheless.
 */
double place_bound(const struct placer *placer);

#endif
