/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The owner of a receive queue as he sends placed policies' packets to their buckets. He classifies
 * his burst to know whose they are, where the hash of the flow would do for others; a queue that
 * no placed policy's packets can come in by has none of that.
 *
 * When the classifier changes, and with it whose packets are placed, packets change their worker in
 * ways that no table of buckets knows. So then the owner takes nothing in until all that he has
 * handed out is through and every worker goes by the new one: some turns of theirs, in which
 * packets stay in the device's queue.
 */
#ifndef WEIR_APP_STEERING_H
#define WEIR_APP_STEERING_H

#include <stdbool.h>
#include <stdint.h>

#include "migration.h"
#include "reta.h"

struct fragments;
struct path;
struct rte_mbuf;
struct worker;

/* Policies that can wait to be looked at; those that find no room are asked for again. */
#define STEERING_ASKS 256

enum steering_drain { DRAIN_NONE, DRAIN_MOVE, DRAIN_RING, DRAIN_TURN, DRAIN_BACK };

/* A placed policy's, by its slot. Control writes. */
struct steering_entry {
	struct reta *reta;    /* set before a classifier leads the owner there; or NULL */
	struct reta *movable; /* the same while something may move: atomics */
};

/* One ring's; the owner's, but for what is said. */
struct steering {
	unsigned n_buckets; /* placed policies; written by control, atomics */
	unsigned n_slots;
	struct steering_entry *entries; /* n_slots, by slot */
	struct worker *workers;
	/*
	 * What the owner knows of fragments as he looks whose they are: each is decided, and
	 * counted, after that. NULL where no policy names ports; control sets it: atomics.
	 */
	struct fragments *fragments;
	struct rte_ring *asks; /* slots to look at; producer: control */
	uint32_t slot;         /* that is being looked at, or SLOT_NONE */
	uint64_t generation;   /* struct snapshot's `retargeted`, of all that is on its way */
	enum steering_drain drain;
	uint64_t drain_generation; /* that is to be everybody's, since DRAIN_RING */
	uint32_t marks[CONFIG_WORKERS_MAX];
	struct migration migration;
};

/*
 * Control, before the workers run: of a ring of `workers` and rings, which stay where they are.
 * steering_destroy(): after they have stopped; frees what is kept back. NULL when out of memory.
 */
struct steering *steering_create(unsigned owner, struct worker *workers, unsigned n_workers,
	struct rte_ring *const *out, struct rte_ring *const *back, unsigned n_slots);
void steering_destroy(struct steering *steering);

/*
 * Control: the policy of a slot has a target table, whose buckets are this ring's from now on. When
 * it leaves, nothing of it begins to move after the owner has been quiescent; then
 * steering_is_done() says whether he is at nothing of it any more, and it may be removed when no
 * classifier leads him there.
 */
void steering_add(struct steering *steering, uint32_t slot, struct reta *reta);
void steering_leave(struct steering *steering, uint32_t slot);
bool steering_is_done(const struct steering *steering, uint32_t slot);
void steering_remove(struct steering *steering, uint32_t slot);

/* Control: some bucket of a slot is wanted elsewhere. False if that is to be said again later. */
bool steering_ask(struct steering *steering, uint32_t slot);

/*
 * The owner: whether he has to do with any of this. A drain goes on when the last placed policy has
 * left: what it waits for would mean nothing to one that goes on much later.
 */
static inline bool steering_has_tables(const struct steering *steering)
{
	return __atomic_load_n(&steering->n_buckets, __ATOMIC_RELAXED) > 0 ||
	       steering->drain != DRAIN_NONE;
}

/*
 * The owner, each turn, after he has sent on what came back: goes on with what moves. Packets of
 * his own that were kept back are in mbufs[], their number in *n, at most BURST. True if nothing is
 * to be taken in now.
 */
bool steering_turn(struct steering *steering, const struct worker *worker, struct rte_mbuf **mbufs,
	uint16_t *n);

/*
 * The worker of each packet of a burst that just came in, and how many each gets. Of one that is
 * nobody's, as it is kept back or has found no room, n_workers; *lost is how many of these are
 * dropped and counted.
 */
void steering_show(struct steering *steering, struct worker *worker, struct path *path,
	struct rte_mbuf **mbufs, uint16_t n, uint8_t *targets, uint16_t *counts, uint16_t *lost);

#endif
