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
#ifndef WEIR_APP_FITTING_H
#define WEIR_APP_FITTING_H

#include <stdbool.h>
#include <stdint.h>

#include "place/fit.h"
#include "policy/config.h"
#include "seats.h"

/* A round should have so many packets: of few, no percentile says anything. */
#define FITTING_PACKETS 1000

enum fitting_state {
	FITTING_QUIET,   /* too few packets to say anything */
	FITTING_SETTLED, /* the objective is kept */
	FITTING_TRYING,  /* a trial is under way */
	FITTING_TOKENS,  /* missed, as packets wait for their tokens: placing cannot help */
	FITTING_FULL,    /* missed, and no other placing is better */
};

struct fitting_params {
	unsigned n_workers, principles; /* PLACE_CONCENTRATE and so on */
	bool grouped;                   /* neighbouring buckets burst together */
	double slo;                     /* seconds */
};

/* What one worker did in a round. Times in seconds. */
struct fitting_worker {
	uint64_t packets; /* of this policy, that left */
	double p99;       /* of what they waited in all */
	double added;     /* of what the worker itself made them wait */
	double cost;      /* of its time, for a unit of this policy; 0: not known */
	double others;    /* units of this one's kind a second that others' packets are worth */
	double handing;   /* the part of its time that it hands out what it does not decide */
};

struct fitting_seen {
	double rates[SEATS]; /* units a second */
	double batch;        /* units of a packet */
	struct fitting_worker workers[CONFIG_WORKERS_MAX];
};

struct fitting {
	struct fitting_params params;
	enum fitting_state state;
	uint8_t wanted[SEATS];
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
	struct place_source sources[SEATS];
	struct place_broker brokers[CONFIG_WORKERS_MAX];
	struct place_problem problem;
	struct placer placer;
	struct place_fit fit;
};

/*
 * All buckets on `first`, which is also chosen of equals later; or, if they are not to be
 * concentrated, on all workers.
 */
void fitting_init(struct fitting *fitting, const struct fitting_params *params, unsigned first);
void fitting_free(struct fitting *fitting);

/* Other switches, or another objective; the next round begins with them. */
void fitting_change(struct fitting *fitting, const struct fitting_params *params);

/*
 * A round in which every bucket was where it is wanted. Returns whether some are wanted elsewhere
 * now; out of memory, nothing is.
 */
bool fitting_round(struct fitting *fitting, const struct fitting_seen *seen);

const char *fitting_state_name(enum fitting_state state);

#endif
