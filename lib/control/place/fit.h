/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Placing sources by trying. Somebody applies trial.at, with the parts' limits and bursts, measures
 * every broker's 99th percentile, and says so; until it is settled.
 *
 * PLACE_SEARCH is the procedure of section IV-B of "Impact of Distributed Rate Limiting on Load
 * Distribution in a Latency-sensitive Messaging Service": a broker that misses the objective finds
 * by bisection how many of its sources it can keep, within a fifth below the objective; then it is
 * full, and the others are placed again, on more brokers.
 *
 * PLACE_PREDICT tries what is predicted to work on the fewest brokers: of what all the principles
 * make of these, and any part of them, whatever is predicted to be quickest. If it does not work,
 * what was measured corrects the predictions; then the same brokers share otherwise, or more of
 * them do.
 * What there is no doubt of is not tried: it is settled at once. Who measures it later, finding it
 * too slow, says so as of a trial, and goes on from there.
 *
 * Pure; memory is taken by place_fit_init() alone. Control threads.
 */
#ifndef WEIR_PLACE_FIT_H
#define WEIR_PLACE_FIT_H

#include "place/place.h"

#define PLACE_NEAR       0.8 /* of the objective: near enough to end a search */
#define PLACE_ITERATIONS 64  /* that are counted apart */

enum place_way { PLACE_SEARCH, PLACE_PREDICT };

enum place_fit_state {
	PLACE_MEASURE, /* apply the trial and measure it */
	PLACE_SETTLED, /* the trial is the placement, and it keeps the objective, or surely will */
	PLACE_EXHAUSTED, /* so it is, and it does not, or not all sources have a place */
};

/* What is known of a broker during a search. */
struct place_search {
	bool on, done;      /* the objective was missed; and what can be kept is known */
	uint32_t given;     /* sources that it was given */
	uint32_t keep;      /* of which it keeps so many in the trial */
	uint32_t low, high; /* so many are all right, and so many are too many */
};

struct place_fit {
	enum place_way way;
	const struct placer *placer;
	struct placer view;           /* the same sources, and the room that is left */
	struct place_problem problem; /* of the view */
	struct place_broker brokers[PLACE_BROKERS];
	struct place_search searches[PLACE_BROKERS];
	struct placement trial;
	uint32_t *home;                    /* broker that each source was given to */
	uint32_t *best;                    /* PLACE_PREDICT: the trial that came nearest */
	uint32_t *chosen;                  /* likewise: the trial */
	double nearest;                    /* its worst p99 */
	double corrections[PLACE_BROKERS]; /* measured of predicted */
	double predicted[PLACE_BROKERS];
	unsigned k, again; /* brokers of the trial; trials of as many before it */
	unsigned principles, best_principles; /* by which chosen[] and best[] were made */
	unsigned iterations;
	unsigned rounds[PLACE_ITERATIONS]; /* measured, of each iteration */
	unsigned measured;                 /* rounds in all */
	bool sure;                         /* the trial needs no round */
};

/*
 * The first trial. *state is as in place_fit_measured(); PLACE_EXHAUSTED if a prediction finds no
 * room for all, and then the trial is of those that have room. Returns 0 or -ENOMEM; to be freed
 * if 0.
 */
int place_fit_init(struct place_fit *fit, const struct placer *placer, enum place_way way,
	enum place_fit_state *state);
void place_fit_free(struct place_fit *fit);

/* What the trial came to: seconds, of each broker that has sources. */
enum place_fit_state place_fit_measured(struct place_fit *fit, const double *p99);

#endif
