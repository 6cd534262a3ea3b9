/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Predicts the waits of a placement before a trial, from the rates and bursts of the sources. It
 * models two queues in a row, as if they were independent:
 *
 * - Tokens. The units that a part of the bucket lacks are the work of a queue whose jobs are the
 *   bursts of whole groups. Asymptotically its tail is C exp(-decay x) (Cramér and Lundberg;
 *   formula (1) of "Impact of Distributed Rate Limiting ..." is that for bursts of one unit). With
 *   periodic sources it is a bridge, with a factor exp(-2 x^2 / n) for n bursts per period.
 * - Service. The work of a broker follows Pollaczek and Khinchine's formula, by Panjer's recursion
 *   over a grid. Bursts of few groups are too large, compared with the objective, for an asymptote.
 *
 * The backlog of the whole bucket can be measured. The backlog of a part is its share of that, plus
 * a random deviation where bursts are not split like the rates. This is a random walk for as long
 * as the backlog took.
 *
 * If all sources have a period, they repeat. If they were also recorded, the record is played
 * through exact buckets and servers with the brokers' speeds, and random load of others. This needs
 * no model of arrivals. Random arrivals will not repeat, so for them the model is better than a
 * record.
 *
 * Pure, no memory. Some 100,000 multiplications, or a pass over the record. Control threads.
 */
#ifndef WEIR_PLACE_PREDICT_H
#define WEIR_PLACE_PREDICT_H

#include "place/place.h"

#define PLACE_HEADROOM 0.95 /* part of the objective; slower predictions are not tried */

struct place_delay {
	double access_p99; /* wait for tokens only */
	double p50, p99;   /* total, including the constant; HUGE_VAL: overloaded */
	/*
	 * Upper bound of p99, with chance and model errors. HUGE_VAL if the value of the burst was
	 * not measured, or if the broker has other load, of which only the rate is available.
	 */
	double most;
};

/* Predicts the waits of the units of one broker, which has sources. */
void place_predict(const struct placer *placer, const struct placement *placement, unsigned broker,
	struct place_delay *delay);

/* Returns the largest p99 of all brokers with sources; 0 without any. */
double place_predict_worst(const struct placer *placer, const struct placement *placement);

/*
 * Returns a lower bound of the predictions for all placements, in seconds, for independent random
 * sources with batches of one size. 0: unknown, for others. An uneven split needs fewer tokens, but
 * the largest part must be served. It is a prediction from the tails' asymptotes, not a proof. It
 * ignores brokers' room, so the best possible delay can be far above it.
 */
double place_bound(const struct placer *placer);

#endif
