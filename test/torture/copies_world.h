/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Limiters of which one has a copy: another machine with the same name. Both send, and messages to
 * the name reach one of the two.
 */
#ifndef WEIR_TORTURE_COPIES_WORLD_H
#define WEIR_TORTURE_COPIES_WORLD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/prng.h"
#include "flow/flow_sample.h"
#include "limiter/limiter.h"

#define COPIES_MOST  5 /* names; the copy of limiter 0 has the next index */
#define COPIES_TICK  UINT64_C(50000000)
#define COPIES_LIMIT UINT64_C(8000000) /* bit/s */
#define COPIES_KINDS 2                 /* policies at most, one of each kind of records */

/* Ticks in a second. */
#define COPIES_SECOND (1000000000 / COPIES_TICK)

struct copies_store {
	uint64_t starts; /* with this store */
	bool lost;       /* a start with it recovers */
	struct copies_record {
		uint64_t id;
		size_t len;
		uint8_t at[2048];
	} records[COPIES_KINDS + 1]; /* by enum limiter_record_kind */
};

struct copies_node {
	struct limiter *l; /* NULL: down */
	struct copies_store store;
	uint64_t arrived; /* bytes */
};

struct copies_world {
	struct prng prng;
	struct roster *roster;
	unsigned n, copy; /* names; index of the copy */
	unsigned n_policies;
	struct limiter_policy policies[COPIES_KINDS];
	struct copies_node nodes[COPIES_MOST + 1];
	uint64_t now;
	unsigned turn, loaded; /* loaded: the node that has traffic */
	unsigned loss;         /* in 100 */
	bool to_copy;          /* messages to limiter 0 reach the copy */
	uint64_t slots[FLOW_SLOTS];
};

/* A policy of a hard limit. */
struct limiter_policy copies_rates(void);

/* Starts n limiters with these policies. Ends the program if that fails. */
void copies_begin(struct copies_world *w, uint64_t seed, unsigned n,
	const struct limiter_policy *policies, unsigned n_policies);
void copies_end(struct copies_world *w);

/* Starts a node with its store; stops it. */
void copies_start(struct copies_world *w, unsigned i);
void copies_stop(struct copies_world *w, unsigned i);

/* A tick of all nodes, their commits and messages. */
void copies_step(struct copies_world *w);

/* Local limits in bytes per second. */
double copies_limit(const struct copies_world *w, unsigned i);
double copies_sum(const struct copies_world *w);

/* True if a closure stops the node; if node i reports that two limiters use the name. */
bool copies_closed(const struct copies_world *w, unsigned i);
bool copies_reported(const struct copies_world *w, unsigned i);

#endif
