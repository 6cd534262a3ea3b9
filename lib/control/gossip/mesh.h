/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Everybody talks to everybody in turn: each tick to `branching` peers drawn at random, but to each
 * once a round, so that the longest silence is bounded. Memory grows with the roster. One thread.
 */
#ifndef WEIR_GOSSIP_MESH_H
#define WEIR_GOSSIP_MESH_H

#include "gossip/estimator.h"

struct mesh {
	struct peer *peers; /* n; our own is not used */
	unsigned *order;    /* n - 1 peers, shuffled for each round */
	unsigned at;        /* the next of them */
	unsigned to_send;   /* of this tick, still */
	unsigned alive;     /* peers that count, as of the last tick */
};

/* Returns 0 or -ENOMEM; mesh_destroy() in either case. */
int mesh_create(struct mesh *mesh, const struct gossip *g, uint64_t now_ns);
void mesh_destroy(struct mesh *mesh);

/* Decides again which peers count, and chooses those of this tick. True: others than before. */
bool mesh_tick(struct mesh *mesh, struct gossip *g, uint64_t now_ns);

/* Index of the next peer of this tick, or n. */
unsigned mesh_next(struct mesh *mesh, const struct gossip *g);

/* Peers that do not count, of all that there are. */
unsigned mesh_silent(const struct mesh *mesh, const struct gossip *g);

/* The configured timeout for each tick of a round, nanoseconds. */
uint64_t mesh_silence(const struct gossip *g);

#endif
