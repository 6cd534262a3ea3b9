/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * A topic, its publishers and the brokers of "Impact of Distributed Rate Limiting on Load
 * Distribution in a Latency-sensitive Messaging Service", in virtual time: it measures placements
 * of lib/control/place. Messages wait at their broker for tokens of its part of the topic's bucket,
 * first come first served. Then they wait for one of its two cores, after the broker's other work.
 *
 * The brokers are calibrated once, for all figures. An otherwise idle one saturates at 61,000
 * messages a second in batches of one (figure 4: slightly above 60,000), and at 94,000 a second in
 * batches of ten. For that, note 11 states that it handles more. In table I, bursts of 50 messages
 * are within a millisecond, and bursts of 75 are not. Pure.
 */
#ifndef WEIR_SIM_BROKER_WORLD_H
#define WEIR_SIM_BROKER_WORLD_H

#include "broker_trace.h"
#include "penalty_queue.h"
#include "penalty_run.h"
#include "place/place.h"

#define BROKERS           6
#define BROKER_CORES      2
#define BROKER_MESSAGE_NS 20000 /* time on a core for a message */
#define BROKER_BATCH_NS   12800 /* additional time for each batch */
#define BROKER_NETWORK_NS 50000 /* round trip of every message, independent of brokers */
#define BROKER_SLO_NS     1000000
#define BROKER_LOAD_BATCH 10     /* messages in a batch of other topics */
#define BROKER_ABOVE      1.1    /* the topic's limit, relative to its rate */
#define BROKER_MARGIN     1.1    /* its burst, relative to the smallest sufficient one: note 1 */
#define BROKER_RECORD     65536U /* batches of a profile, plus the number of publishers */

struct broker_case {
	struct broker_traffic traffic;
	double loads[BROKERS]; /* messages a second of other topics */
};

/* Times of messages, in ns; only of brokers with messages. */
struct broker_measured {
	double p50, p95, p99, access_p99;
	double p99s[BROKERS];
	double worst; /* largest of p99s */
};

struct broker_line; /* State of a broker. */

struct broker_world {
	const struct broker_case *c;
	uint64_t seed;
	struct broker_trace trace;
	struct place_source *sources;
	struct place_broker brokers[BROKERS];
	struct place_problem problem; /* with all principles */
	struct place_arrival *seen;   /* arrivals before the trace: the profile of section VI */
	struct place_record record;
	struct penalty_row *rows; /* one for each broker, all together, and their access */
	struct broker_line *lines;
};

/*
 * Creates a world. capacity: messages a second, in batches of that size, that an idle broker serves
 * within the objective. Returns 0 or -ENOMEM; the caller frees it in either case.
 */
int broker_world_init(
	struct broker_world *world, const struct broker_case *c, double capacity, uint64_t seed);
void broker_world_free(struct broker_world *world);

/* Plays the trace; sources without a broker send nothing. */
void broker_world_measure(struct broker_world *world, const struct placement *placement,
	struct broker_measured *measured);

/* Finds an idle broker's capacity by trials. Negative: -ENOMEM. */
double broker_capacity(unsigned batch);

#endif
