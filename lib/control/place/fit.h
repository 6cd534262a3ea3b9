/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Places sources by trial. The caller applies trial.at with the parts' limits and bursts, measures
 * every broker's 99th percentile, and passes it to place_fit_measured(), until the state is
 * settled.
 *
 * PLACE_SEARCH is the procedure of section IV-B of "Impact of Distributed Rate Limiting on Load
 * Distribution in a Latency-sensitive Messaging Service". For a broker that misses the objective,
 * bisection finds the number of its sources that it can keep, within a fifth below the objective.
 * Then the broker is full, and the other sources are placed again, on more brokers.
 *
 * PLACE_PREDICT tries the fewest brokers that are predicted to meet the objective. All principles
 * and their subsets make placements on these brokers, and it takes the one with the lowest
 * prediction. If the trial fails, the measurement corrects the predictions. Then the same brokers
 * get other parts, or more brokers get sources. A placement without doubt needs no trial and is
 * settled immediately. A caller that later measures it as too slow reports that like a trial, and
 * continues.
 *
 * Pure; only place_fit_init() allocates memory. Control threads.
 */
#ifndef WEIR_PLACE_FIT_H
#define WEIR_PLACE_FIT_H

#include "place/place.h"

#define PLACE_NEAR       0.8 /* part of the objective that is near enough to end a search */
#define PLACE_ITERATIONS 64  /* iterations that are counted separately */

enum place_way { PLACE_SEARCH, PLACE_PREDICT };

enum place_fit_state {
	PLACE_MEASURE,   /* apply the trial and measure it */
	PLACE_SETTLED,   /* the trial is the placement, and meets the objective, or surely will */
	PLACE_EXHAUSTED, /* same, but misses the objective, or sources have no room */
};

/* State of a broker during a search. */
struct place_search {
	bool on, done;      /* missed the objective; number of sources is determined */
	uint32_t given;     /* sources assigned to it */
	uint32_t keep;      /* number of these in the trial */
	uint32_t low, high; /* highest number that meets the objective, and lowest that does not */
};

struct place_fit {
	enum place_way way;
	const struct placer *placer;
	struct placer view;           /* the same sources, and the remaining room */
	struct place_problem problem; /* problem of the view */
	struct place_broker brokers[PLACE_BROKERS];
	struct place_search searches[PLACE_BROKERS];
	struct placement trial;
	uint32_t *home;                    /* broker to which each source is assigned */
	uint32_t *best;                    /* PLACE_PREDICT: trial nearest to the objective */
	uint32_t *chosen;                  /* PLACE_PREDICT: current trial */
	double nearest;                    /* worst p99 of that */
	double corrections[PLACE_BROKERS]; /* ratio of measured to predicted delay */
	double predicted[PLACE_BROKERS];
	unsigned k, again; /* brokers of the trial; earlier trials with as many */
	unsigned principles, best_principles; /* principles that made chosen[] and best[] */
	unsigned iterations;
	unsigned rounds[PLACE_ITERATIONS]; /* measured, by iteration */
	unsigned measured;                 /* rounds in total */
	bool sure;                         /* the trial needs no measurement */
};

/*
 * Makes the first trial. *state is as in place_fit_measured(). PLACE_EXHAUSTED means that no
 * predicted placement has room for all sources; the trial then contains those with room. Returns 0
 * or -ENOMEM. Call place_fit_free() if it is 0.
 */
int place_fit_init(struct place_fit *fit, const struct placer *placer, enum place_way way,
	enum place_fit_state *state);
void place_fit_free(struct place_fit *fit);

/* Evaluates the trial. p99 is in seconds, for each broker with sources. */
enum place_fit_state place_fit_measured(struct place_fit *fit, const double *p99);

/* --- the best of all proposals ---------------------------------------------------------------- */

/*
 * Proposes a placement if no trials will follow. It is the best prediction over all principles of
 * place.h and their subsets.
 *
 * Pure, except for its own memory. Control threads.
 */

/*
 * Makes a plan for each subset of the problem's principles. A plan has the fewest brokers that are
 * predicted to meet the objective (PLACE_HEADROOM), otherwise the number that comes nearest. The
 * best plan places most sources and, among these, has the least place_predict_worst(). Ties: the
 * fewest brokers, then the most principles. So switching off a principle cannot improve the
 * prediction, except for PLACE_CONCENTRATE, which is in all plans if the problem has it.
 *
 * placement->at is memory of the caller. Returns 0, -ERANGE from place_on(), or -ENOMEM.
 */
int place_plan(const struct placer *placer, struct placement *placement);

#endif
