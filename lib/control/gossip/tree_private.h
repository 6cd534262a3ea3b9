/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * One limiter's part of the tree, for the files of the estimator: tree.c has its links, tree_sums.c
 * the sums over them, tree_send.c decides when each neighbour gets which sums.
 */
#ifndef WEIR_GOSSIP_TREE_PRIVATE_H
#define WEIR_GOSSIP_TREE_PRIVATE_H

#include "gossip/estimator.h"
#include "gossip/tree_table.h"

/* Position of a neighbour that is not in the roster any more, while its sums are held. */
#define TREE_REMOVED UINT_MAX

/* A peer's roster can have so many more limiters than ours while a group changes. */
#define TREE_ROSTERS_APART 16

struct tree {
	uint32_t id; /* ours */
	struct tree_table table;
	struct part *own; /* n_policies; a count of 1 if we have the policy */
	float *limits;    /* n_policies, see gossip_set_limit() */
	uint64_t *dirty;  /* bits: policies whose sums can have changed since the last tick */
	bool all_dirty;   /* the links have changed */
	uint64_t now_ns;  /* time of the last tick */
	unsigned position, b, depth;
	unsigned n_candidates;
	unsigned candidates[TREE_CANDIDATES + 1]; /* with a parent of an earlier roster */
	unsigned parent, target; /* positions, or n; the target is to become the parent */
	uint32_t target_tick;    /* since when it is the target */
	unsigned probe;          /* position to probe in this tick, or n */
	unsigned probe_at;       /* candidate whose turn it is */
	uint64_t probe_ns;       /* time of the last probe */
	unsigned send_at;        /* neighbour with which gossip_send() continues */
	unsigned removed;        /* limiters of earlier rosters that sums can have */
	uint64_t removed_until_ns;
};

/* Sums of one policy over all links, without our own record. */
struct link_sums {
	double demand, weight;
	unsigned count;
};

/* Positions are in the order of ids in every roster, so this never changes. */
static inline bool is_child(const struct tree *t, const struct neighbour *e)
{
	return e->peer.id > t->id;
}

/* Returns the most limiters that sums of all others are of. */
static inline unsigned tree_others(const struct gossip *g)
{
	const struct tree *t = g->own;

	return g->roster->n - 1 + t->removed;
}

/* Returns true if the neighbour's sums are part of ours. */
static inline bool link_is_counted(const struct tree *t, const struct neighbour *e)
{
	return e->received_sums &&
	       (e->held_until_ns ||
		       (e->peer.alive && (is_child(t, e) || e->position == t->parent)));
}

/* Holds the sums received from a neighbour until then; with 0 they are live again. */
void tree_hold(struct gossip *g, struct neighbour *e, uint64_t until_ns);

/* Returns true if the sums for a neighbour have parts that are held. */
bool tree_holds(const struct gossip *g, const struct neighbour *except);

/* Drops the sums received from a neighbour. */
void tree_drop_sums(struct gossip *g, struct neighbour *e);

/* Returns the sums over the links, without the effects of lost and moving links. */
struct link_sums tree_link_sums(const struct gossip *g, unsigned policy);

/* Marks the changed sums in the outboxes of all neighbours. */
void tree_mark_changes(struct gossip *g);

/* Takes the sums of a datagram from a neighbour. */
void tree_take_sums(
	struct gossip *g, struct cursor cursor, unsigned n, struct neighbour *e, unsigned from);

/* Returns the nanoseconds between two datagrams to a neighbour without news. */
uint64_t tree_heartbeat_ns(const struct gossip *g);

/* Returns true if the neighbour might be lost: it gets more datagrams, which need answers. */
bool tree_suspects(const struct gossip *g, const struct neighbour *e);

/* Decides if a neighbour gets datagrams in this tick. */
void tree_pace(struct gossip *g, struct neighbour *e);

/* The longest time that news waits at one limiter, in ns, if no datagram is lost. */
uint64_t tree_wait_ns(const struct gossip *g);

/* Returns true if it is the neighbour's turn for another datagram in this tick. */
bool tree_turn(struct neighbour *e);

/* Writes sums for a neighbour that has a link; returns how many. */
uint16_t tree_write_sums(struct gossip *g, struct cursor *cursor, struct neighbour *e);

#endif
