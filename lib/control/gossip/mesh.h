/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Every limiter sends to every other in turn: each tick to up to `branching` peers, the next in a
 * random order. All have one turn per round; then the order is shuffled again. So the longest
 * silence is bounded. Used by the estimator `state`, and by push-sum of weirsim. Memory grows with
 * the roster. One thread.
 */
#ifndef WEIR_GOSSIP_MESH_H
#define WEIR_GOSSIP_MESH_H

#include "gossip/estimator.h"

struct mesh {
	struct peer *peers; /* n; our own is not used */
	unsigned *order;    /* n - 1 peers, shuffled for each round */
	unsigned at;        /* index of the next of them */
	unsigned to_send;   /* peers left in this tick */
	unsigned n_active;  /* active peers at the last tick */
};

/* Returns 0 or -ENOMEM; mesh_destroy() in either case. */
int mesh_create(struct mesh *mesh, const struct gossip *g, uint64_t now_ns);
void mesh_destroy(struct mesh *mesh);

/*
 * Makes a mesh of another roster from one that stays as it is. Its peers that stay keep their place
 * in this round; new ones have the last turns. Returns 0 or -ENOMEM; mesh_destroy() in either case.
 */
int mesh_regroup(struct mesh *mesh, const struct mesh *before, const struct gossip *g,
	const struct regroup *map);

/*
 * Decides which peers are active, and chooses the receivers of this tick. Returns true if a peer
 * became active or lost.
 */
bool mesh_tick(struct mesh *mesh, struct gossip *g, uint64_t now_ns);

/* Returns the index of the next peer of this tick, or n. */
unsigned mesh_next(struct mesh *mesh, const struct gossip *g);

/* Returns the number of peers that are not active. */
unsigned mesh_n_silent(const struct mesh *mesh, const struct gossip *g);

/* Returns the configured timeout times the ticks of a round, nanoseconds. */
uint64_t mesh_timeout_ns(const struct gossip *g);

#endif
