/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Who places sources how, and what it comes to. Pure.
 */
#ifndef WEIR_SIM_BROKER_RUN_H
#define WEIR_SIM_BROKER_RUN_H

#include "broker_world.h"
#include "place/fit.h"

/*
 * The paper's contenders, each on the fewest brokers that keep the objective by measurement, if any
 * do, else on as many as come nearest; and what lib/control/place comes to by prediction.
 */
enum broker_method {
	BROKER_LB,      /* all brokers, equal loads */
	BROKER_CONC,    /* the fewest, equal loads with what they have */
	BROKER_MAX_MIN, /* the fewest, the smallest part as large as can be */
	BROKER_SRTM,    /* the same, with groups apart */
	BROKER_WEIR,    /* the same, predicted before it is tried */
	BROKER_METHODS
};

struct broker_outcome {
	struct broker_measured measured;
	unsigned k;      /* brokers */
	unsigned rounds; /* of measurement */
	bool met;        /* the objective, by every broker, and all sources have a place */
	bool untried;    /* it was placed without a round, as it was sure */
	bool mistaken;   /* which it should not have been */
};

/* Returns 0 or -ENOMEM. */
int broker_run(struct broker_world *world, enum broker_method method, struct broker_outcome *out);

/* Runs with a number of brokers that is given, whatever their capacity. */
int broker_run_on(struct broker_world *world, enum broker_method method, unsigned k,
	struct broker_outcome *out);

/*
 * How a procedure settles. Returns 0, and *fit is to be freed, of which the counts are of use; or
 * -ENOMEM.
 */
int broker_fit(struct broker_world *world, enum place_way way, struct place_fit *fit,
	struct broker_outcome *out);

#endif
