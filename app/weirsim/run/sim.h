/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * One run: the scenario's world at one instant of virtual time. Shared state of its parts; the
 * functions of each part are in its header. One thread.
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

/* Streams of random numbers, so that a change in one part does not affect the others. */
enum random_stream { STREAM_NETWORK, STREAM_TRAFFIC, STREAM_JITTER, STREAM_NODES, STREAMS };

/* Enforced limit of one meter, or the sum over all limiters. */
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

/* The last sums of the local limits of a policy, and their comparison with the overshoot meter. */
#define TRUTHS 4096
struct truth {
	uint64_t n, at_ns[TRUTHS];
	double sum[TRUTHS];        /* from a time on */
	uint64_t bounds, complete; /* complete: all peers reported; the sums are of these */
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
	struct node *nodes;                 /* n_limiters */
	struct enforced *enforced;          /* n_policies: sums over all limiters */
	struct in_force *in_force;          /* n_policies */
	struct policy_totals *tried;        /* n_policies: by trials of crashed limiters */
	struct loan_totals *loans;          /* n_policies: by crashed limiters */
	struct loan_counters loan_messages; /* by crashed limiters */
	struct truth *truth;                /* n_policies */
	struct roster *roster;
	struct simnet net;
	const struct network *network; /* present network: the scenario's, or a fault's */
	struct flows *flows;
	event_fn released; /* for a node and a worker: waiting packets can leave */
	struct record *record;
	struct spent *spent; /* n_policies */
	uint64_t ticks;      /* ticks of all limiters */
	uint64_t looks;      /* reads of peers by crashed limiters */
	char problem[256];   /* violated invariant; "": none */
};

/* Called regularly with the completed part of the run, 0 to 1. */
typedef void (*sim_progress)(void *context, double done);

/*
 * Builds the world, runs it to its end and leaves the record for report.h. Returns 0 or a negative
 * errno. sim_free() is due in any case.
 */
int sim_run(struct sim *sim, const struct scenario *scenario, uint64_t seed, sim_progress progress,
	void *context);
void sim_free(struct sim *sim);

/*
 * Traffic: flows of every kind on their way from a sender through a limiter to a receiver, and
 * back. The path of a packet: sender, jitter, upstream bottleneck, a quarter of the round-trip
 * time, limiter, another quarter, receiver. Answers take half of the round-trip time, and pass no
 * limiter.
 */

/* Plans all traffic of the scenario. Returns 0 or -ENOMEM. */
int flows_create(struct sim *sim);
void flows_free(struct sim *sim);

#endif
