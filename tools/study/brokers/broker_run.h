/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Methods to place sources, and their results. Pure.
 */
#ifndef WEIR_SIM_BROKER_RUN_H
#define WEIR_SIM_BROKER_RUN_H

#include "broker_world.h"
#include "place/fit.h"

/*
 * The paper's contenders each use the fewest brokers that meet the objective by measurement, or as
 * many as come nearest if none do. Weir uses the prediction of lib/control/place.
 */
enum broker_method {
	BROKER_LB,      /* all brokers, equal loads */
	BROKER_CONC,    /* the fewest, with equal loads including other topics */
	BROKER_MAX_MIN, /* the fewest, with the smallest part maximised */
	BROKER_SRTM,    /* like MAX_MIN, with groups separated */
	BROKER_WEIR,    /* like SRTM, predicted before it is tried */
	BROKER_METHODS
};

struct broker_outcome {
	struct broker_measured measured;
	unsigned k;      /* brokers */
	unsigned rounds; /* rounds of measurement */
	bool met;        /* every broker met the objective, and all sources have a place */
	bool untried;    /* placed without a round, because the prediction was certain */
	bool mistaken;   /* untried, and wrongly placed */
};

/* Places the sources by a method. Returns 0 or -ENOMEM. */
int broker_run(struct broker_world *world, enum broker_method method, struct broker_outcome *out);

/* Runs with a given number of brokers, regardless of their capacity. */
int broker_run_on(struct broker_world *world, enum broker_method method, unsigned k,
	struct broker_outcome *out);

/*
 * Runs a procedure until it settles. Returns 0, and *fit, whose counts are of use and which the
 * caller frees; or -ENOMEM.
 */
int broker_fit(struct broker_world *world, enum place_way way, struct place_fit *fit,
	struct broker_outcome *out);

#endif
