/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The gossip of a group in virtual time. The network delays, loses, repeats and reorders datagrams,
 * and can be cut; limiters crash and restart. A step is a millisecond. One seed is one run. Shared
 * by unit tests and benchmarks; calls abort() if memory runs out.
 */
#ifndef WEIR_TEST_GOSSIP_WORLD_H
#define WEIR_TEST_GOSSIP_WORLD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/prng.h"
#include "gossip/gossip.h"
#include "world/simnet.h"

#define MS         UINT64_C(1000000)
#define WORLD_STEP MS

struct world_params {
	uint64_t seed;
	unsigned n, n_policies, branching;
	enum gossip_estimator estimator;
	const struct estimator *study; /* see gossip_params */
	bool sealed;
	bool enforces; /* limiters report local limits: their weights */
	uint64_t tick_ns, timeout_ns;
	uint64_t delay_ns, jitter_ns; /* one way */
	double loss, repeat;          /* probabilities per datagram */
	double demand_max;            /* see gossip_params */
};

struct world_node {
	struct gossip *gossip; /* NULL while crashed */
	struct keyring *keyring;
	const struct roster *roster; /* its group; borrowed */
	uint64_t next_ns;            /* its next tick */
	uint64_t pauses_ns;          /* until then it handles nothing */
	unsigned starts;
	unsigned side; /* its side of a partition */
};

struct world {
	struct world_params params;
	uint64_t now_ns;
	struct prng prng;
	struct roster *roster;
	uint64_t *policies;
	struct world_node *nodes;
	double *weights; /* n rows of n_policies; a demand is 1,000 times its weight */
	bool (*cut)(const struct world *world, unsigned from, unsigned to); /* NULL: only sides */
	unsigned cut_from, cut_to;                                          /* for cut() */
	/* Observers on the path, of sent datagrams and of their verdicts; either may be NULL. */
	void (*sees_sent)(
		struct world *world, unsigned from, unsigned to, const uint8_t *buf, size_t len);
	void (*sees_taken)(struct world *world, unsigned from, unsigned to, const uint8_t *buf,
		enum gossip_verdict verdict);
	void *sees;                /* context for both */
	uint64_t sent, sent_bytes; /* datagrams, and their bytes with IPv4 and UDP headers */
	struct events events;      /* events of a step, newest first */
	struct simnet net;
};

/* Starts all limiters; none has sent anything yet. */
void world_create(struct world *world, const struct world_params *params);
void world_destroy(struct world *world);

void world_start(struct world *world, unsigned i);

/* Continues with another roster, which outlives its use; its limiters are among all n. */
void world_regroup(struct world *world, unsigned i, const struct roster *roster);

void world_crash(struct world *world, unsigned i);

/* Stops limiter i for so long: datagrams to it wait, and its next tick too. */
void world_pause(struct world *world, unsigned i, uint64_t ns);

/* Delivers a datagram to limiter `to`, which must run; buf is opened in place. */
enum gossip_verdict world_deliver(
	struct world *world, unsigned from, unsigned to, uint8_t *buf, size_t len);

/* Sets the weight of limiter i, which must run. */
void world_set(struct world *world, unsigned i, unsigned policy, double weight);

/* Runs the world for so many nanoseconds. */
void world_run(struct world *world, uint64_t ns);

/* Index of the limiter at a position of the tree. */
unsigned world_at(const struct world *world, unsigned position);

/* Sum of the weights of the other running limiters on limiter i's side; sets their number. */
double world_truth(const struct world *world, unsigned i, unsigned policy, unsigned *peers);

#endif
