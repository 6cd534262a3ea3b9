/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * A topic, its publishers and the brokers of "Impact of Distributed Rate Limiting on Load
 * Distribution in a Latency-sensitive Messaging Service", in virtual time: what a placement of
 * lib/control/place comes to. Messages wait at their broker for tokens of its part of the topic's
 * bucket, first come first served, and then for one of its two cores, behind whatever else the
 * broker does.
 *
 * The brokers are calibrated once, for all figures. One that has nothing else to do saturates at
 * 61,000 messages a second of a batch each (figure 4: a bit above 60,000), and at 94,000 a second
 * in batches of ten (note 11: it handles more; and what table I makes of bursts: 50 messages at
 * once are within a millisecond, 75 are not). Pure.
 */
#ifndef WEIR_SIM_BROKER_WORLD_H
#define WEIR_SIM_BROKER_WORLD_H

#include "broker_trace.h"
#include "penalty_queue.h"
#include "penalty_run.h"
#include "place/place.h"

#define BROKERS           6
#define BROKER_CORES      2
#define BROKER_MESSAGE_NS 20000 /* of a core, for a message */
#define BROKER_BATCH_NS   12800 /* and for each batch */
#define BROKER_NETWORK_NS 50000 /* there and back: of every message, and nobody's doing */
#define BROKER_SLO_NS     1000000
#define BROKER_LOAD_BATCH 10     /* messages at once of other topics */
#define BROKER_ABOVE      1.1    /* the topic's limit, of its rate */
#define BROKER_MARGIN     1.1    /* and its burst, of the smallest that would do: note 1 */
#define BROKER_RECORD     65536U /* batches of a profile, and as many as there are publishers */

struct broker_case {
	struct broker_traffic traffic;
	double loads[BROKERS]; /* messages a second of other topics */
};

/* What messages took, in ns; of the brokers that have any. */
struct broker_measured {
	double p50, p95, p99, access_p99;
	double p99s[BROKERS];
	double worst; /* of p99s */
};

struct broker_line; /* what a broker is doing */

struct broker_world {
	const struct broker_case *c;
	uint64_t seed;
	struct broker_trace trace;
	struct place_source *sources;
	struct place_broker brokers[BROKERS];
	struct place_problem problem; /* with all principles */
	struct place_arrival *seen;   /* before the trace: the profile of section VI */
	struct place_record record;
	struct penalty_row *rows; /* of each broker, of all, of their access */
	struct broker_line *lines;
};

/*
 * capacity: messages a second of batches of that size that an idle broker serves within the
 * objective. Returns 0 or -ENOMEM; to be freed either way.
 */
int broker_world_init(
	struct broker_world *world, const struct broker_case *c, double capacity, uint64_t seed);
void broker_world_free(struct broker_world *world);

/* Plays the trace; sources that are placed nowhere send nothing. */
void broker_world_measure(struct broker_world *world, const struct placement *placement,
	struct broker_measured *measured);

/* An idle broker's, found by trying. Negative: -ENOMEM. */
double broker_capacity(unsigned batch);

#endif
