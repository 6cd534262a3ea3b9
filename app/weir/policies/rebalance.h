/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Where the buckets of one placed policy are wanted: on the fewest workers that keep its objective,
 * as found by lib/control/place's online fitting from what a round of packets was measured at.
 *
 * All begin on one worker. They spread when the objective is missed by a worker's doing, or when
 * its load is beyond what it has room for; and come back together when fewer workers have had room
 * with some to spare, for some rounds. Who came back in vain waits twice as long the next time.
 *
 * Workers of a box draw from one bucket, so that packets wait for tokens as long wherever they are
 * decided: that part of the delay is nobody's doing, and no reason to spread. What a worker adds is
 * the time until it has seen a packet, and by how much it is late to let one go.
 *
 * Pure, but for the memory that a fit takes. Control.
 */
#ifndef WEIR_APP_REBALANCE_H
#define WEIR_APP_REBALANCE_H

#include <stdbool.h>
#include <stdint.h>

#include "place/fit.h"
#include "policy/config.h"
#include "reta.h"

/* A round should have so many packets: of few, no percentile says anything. */
#define REBALANCE_PACKETS 1000

enum rebalance_state {
	REBALANCE_QUIET,   /* too few packets to say anything */
	REBALANCE_SETTLED, /* the objective is kept */
	REBALANCE_TRYING,  /* a trial is under way */
	REBALANCE_TOKENS,  /* missed, as packets wait for their tokens: placing cannot help */
	REBALANCE_FULL,    /* missed, and no other placing is better */
};

struct rebalance_params {
	unsigned n_workers, principles; /* PLACE_CONCENTRATE and so on */
	bool grouped;                   /* neighbouring buckets burst together */
	double slo;                     /* seconds */
};

/* What one worker did in a round. Times in seconds. */
struct rebalance_worker {
	uint64_t packets; /* of this policy, that left */
	double p99;       /* of what they waited in all */
	double added;     /* of what the worker itself made them wait */
	double cost;      /* of its time, for a unit of this policy; 0: not known */
	double others;    /* units of this one's kind a second that others' packets are worth */
	double handing;   /* the part of its time that it hands out what it does not decide */
};

struct rebalance_seen {
	double rates[RETA_SIZE]; /* units a second */
	double batch;            /* units of a packet */
	struct rebalance_worker workers[CONFIG_WORKERS_MAX];
};

struct rebalance {
	struct rebalance_params params;
	enum rebalance_state state;
	uint8_t wanted[RETA_SIZE];
	unsigned used;        /* workers that have buckets */
	unsigned home;        /* worker that is chosen of equals */
	uint64_t rounds;      /* measured */
	uint64_t trials;      /* placings that were tried */
	uint64_t changes;     /* times that buckets were wanted elsewhere */
	unsigned calm;        /* rounds in which fewer workers had room */
	unsigned patience;    /* of these, so many are enough */
	unsigned resting;     /* rounds until another try after one that came to nothing */
	bool gathering;       /* the trial is on fewer workers than before */
	unsigned used_before; /* the trial */

	/* of a trial */
	struct place_source sources[RETA_SIZE];
	struct place_broker brokers[CONFIG_WORKERS_MAX];
	struct place_problem problem;
	struct placer placer;
	struct place_fit fit;
};

/*
 * All buckets on `first`, which is also chosen of equals later; or, if they are not to be
 * concentrated, on all workers.
 */
void rebalance_init(
	struct rebalance *rebalance, const struct rebalance_params *params, unsigned first);
void rebalance_free(struct rebalance *rebalance);

/* Other switches, or another objective; the next round begins with them. */
void rebalance_change(struct rebalance *rebalance, const struct rebalance_params *params);

/*
 * A round in which every bucket was where it is wanted. Returns whether some are wanted elsewhere
 * now; out of memory, nothing is.
 */
bool rebalance_round(struct rebalance *rebalance, const struct rebalance_seen *seen);

const char *rebalance_state_name(enum rebalance_state state);

#endif
