/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * How the owner of a receive queue sends packets of placed policies to the workers of their
 * buckets. It classifies its burst to find the policies; the hash of the flow suffices for other
 * packets. A queue that cannot receive packets of placed policies has no steering.
 *
 * A new classifier can change which packets are placed. Then packets change their worker in ways
 * that the tables of buckets do not cover. So the owner receives nothing until all packets that it
 * has handed out are done and every worker uses the new classifier. This takes some turns of the
 * workers, in which packets stay in the device's queue.
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

/* Policies that can wait to be examined. Control repeats requests that find no room. */
#define STEERING_ASKS 256

enum steering_drain { DRAIN_NONE, DRAIN_MOVE, DRAIN_RING, DRAIN_TURN, DRAIN_BACK };

/* The entry of a placed policy, by its slot. Written by control. */
struct steering_entry {
	struct reta *reta;    /* or NULL; set before a classifier can lead the owner to it */
	struct reta *movable; /* the same while its buckets can move: atomics */
};

/* State of one queue. The owner's, unless noted. */
struct steering {
	unsigned n_buckets; /* placed policies; written by control, atomics */
	unsigned n_slots;
	struct steering_entry *entries; /* n_slots, by slot */
	struct worker *workers;
	/*
	 * Fragments, for the owner's classification. Each fragment is decided and counted later,
	 * with the table of its worker. NULL if no policy matches ports. Set by control: atomics.
	 */
	struct fragments *fragments;
	struct rte_ring *asks; /* slots to examine; producer: control */
	uint32_t slot;         /* slot that is being examined, or SLOT_NONE */
	uint64_t generation;   /* `retargeted` of struct snapshot, for all packets in flight */
	enum steering_drain drain;
	uint64_t drain_generation; /* generation that all workers must use, since DRAIN_RING */
	uint32_t marks[CONFIG_WORKERS_MAX];
	struct migration migration;
};

/*
 * Creates the steering of a queue, or returns NULL if out of memory. `workers` and the rings must
 * not move. Control, before the workers run. Call steering_destroy() after they have stopped; it
 * frees the kept packets.
 */
struct steering *steering_create(unsigned owner, struct worker *workers, unsigned n_workers,
	struct rte_ring *const *out, struct rte_ring *const *back, unsigned n_slots);
void steering_destroy(struct steering *steering);

/*
 * Adds the policy of a slot, whose buckets this queue then moves. After steering_leave() and a
 * quiescent state of the owner, no move of them begins. steering_is_done() returns true when no
 * move of them is left. Then call steering_remove(), once no classifier leads the owner to the
 * policy. Control.
 */
void steering_add(struct steering *steering, uint32_t slot, struct reta *reta);
void steering_leave(struct steering *steering, uint32_t slot);
bool steering_is_done(const struct steering *steering, uint32_t slot);
void steering_remove(struct steering *steering, uint32_t slot);

/*
 * Notifies the owner that a bucket of a slot is wanted elsewhere. Returns false if control must
 * repeat it later. Control.
 */
bool steering_ask(struct steering *steering, uint32_t slot);

/*
 * Returns true if the owner must call the functions below. A drain continues after the last placed
 * policy has left, because its marks would be wrong if it resumed much later. The owner.
 */
static inline bool steering_has_tables(const struct steering *steering)
{
	return __atomic_load_n(&steering->n_buckets, __ATOMIC_RELAXED) > 0 ||
	       steering->drain != DRAIN_NONE;
}

/*
 * Advances moves and drains. Puts the owner's own kept packets, at most BURST, into mbufs[] and
 * their number into *n. Returns true if the owner must not receive packets now. The owner, each
 * turn, after it has transmitted the returned packets.
 */
bool steering_turn(struct steering *steering, const struct worker *worker, struct rte_mbuf **mbufs,
	uint16_t *n);

/*
 * Sets the worker of each packet of a received burst, and adds up the packets of each worker. A
 * packet that is kept back, or dropped because there is no room, counts for n_workers. Counts the
 * dropped packets and adds them to *lost.
 */
void steering_show(struct steering *steering, struct worker *worker, struct path *path,
	struct rte_mbuf **mbufs, uint16_t n, uint8_t *targets, uint16_t *counts, uint16_t *lost);

#endif
