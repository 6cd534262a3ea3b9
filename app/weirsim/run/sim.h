/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * One run: the scenario's world at one instant of virtual time. What its parts share; each part's
 * own functions are in its header. One thread.
 */
#ifndef WEIR_SIM_SIM_H
#define WEIR_SIM_SIM_H

#include <stdbool.h>
#include <stdint.h>

#include "base/prng.h"
#include "world/events.h"
#include "world/simnet.h"
#include "gossip/datagram.h"
#include "loan/loan.h"
#include "scenario.h"

#define ETHERNET_HEADER 14 /* bytes of a frame before its IP packet */

/* Streams of random numbers, so that a change in one part leaves the others as they were. */
enum random_stream { STREAM_NETWORK, STREAM_TRAFFIC, STREAM_JITTER, STREAM_NODES, STREAMS };

/* By a meter, or by those of all limiters. */
struct enforced {
	double rate;    /* units in the time of the limit */
	double limit;   /* units a second: the local limit */
	uint64_t burst; /* bytes */
	uint8_t ending; /* part of both that ends with a lease, see base/expiry.h */
};

/* Limits and bursts of a policy in the files of the limiters. */
struct in_force {
	double most, most_ever;   /* bytes per second: the largest limit now, and in the run */
	uint64_t least_bps;       /* the smallest one */
	uint64_t most_bps, burst; /* the largest since all debts of a lower limit were paid */
};

/* The last sums of the local limits of a policy, and how they compare with the overshoot meter. */
#define TRUTHS 4096
struct truth {
	uint64_t n, at_ns[TRUTHS];
	double sum[TRUTHS];        /* from a time on */
	uint64_t bounds, complete; /* complete: without unheard peers; the sums are of these */
	double sum_of_bounds, sum_of_sums;
};

struct node;
struct policy_totals;
struct roster;
struct flows;
struct record;
struct spent;

struct sim {
	const struct scenario *scenario;
	uint64_t seed;
	struct events events;
	struct prng prng[STREAMS];
	struct node *nodes;          /* n_limiters */
	struct enforced *enforced;   /* n_policies: of all limiters */
	struct in_force *in_force;   /* n_policies */
	struct policy_totals *tried; /* n_policies: by trials of limiters that have crashed */
	struct loan_totals *loans;   /* n_policies: of limiters that have crashed */
	struct loan_counters loan_messages; /* by limiters that have crashed */
	struct truth *truth;                /* n_policies */
	struct roster *roster;
	struct simnet net;
	const struct network *network; /* as it is now: the scenario's, or a fault's */
	struct flows *flows;
	event_fn released; /* of a node and a worker: packets that waited there may leave */
	struct record *record;
	struct spent *spent; /* n_policies */
	uint64_t ticks;      /* of all limiters */
	uint64_t looks;      /* at peers, by limiters that have crashed */
	char problem[256];   /* what should never be and was; "" nothing */
};

/* Called now and then with the part of the run that is done, 0 to 1. */
typedef void (*sim_progress)(void *context, double done);

/*
 * Builds the world, runs it to its end and leaves the record for report.h. Returns 0 or a negative
 * errno. sim_free() in any case.
 */
int sim_run(struct sim *sim, const struct scenario *scenario, uint64_t seed, sim_progress progress,
	void *context);
void sim_free(struct sim *sim);

#endif
