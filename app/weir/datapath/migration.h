/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * How the owner of a receive queue moves sources to another worker. No packet is lost, no source is
 * reordered, and no worker waits. The owner keeps back new packets of the moving buckets. Once a
 * turn it checks whether the packets that it gave to their previous worker are done:
 *
 *     RING   the worker has taken them out of its ring,
 *     TURN   and has ended that turn, so they have left, or are in the policy's queue there;
 *     QUEUE  they have left that queue,
 *     LEAVE  and the worker has ended that turn, so they are in the ring back to the owner;
 *     BACK   the owner has transmitted them.
 *     GIVE   Now the buckets have the new worker, which gets the kept packets first.
 *
 * For packets that the owner decides itself, QUEUE is the only step. If it cannot keep back all
 * packets, it calls the move off. The kept packets go to the previous worker, which is still the
 * right one, and fewer buckets move the next time. A single bucket with too many packets is tried
 * after all others. An owner moves buckets of one policy from one worker at a time. It does not
 * wait for a stalled worker. The packets already given to that worker are late, and packets kept
 * for it go to the owner.
 *
 * The owner reads only data that workers write in any case: ends of rings, turns, packets into and
 * out of a queue. It loads them with acquire; the workers store with release. Only the owner's
 * thread calls these functions.
 */
#ifndef WEIR_APP_MIGRATION_H
#define WEIR_APP_MIGRATION_H

#include <stdbool.h>
#include <stdint.h>

#include <rte_ring.h>

#include "policy/config.h"
#include "reta.h"

struct stuck;

/* Packets that can be kept back: as many as the new worker's ring can hold. */
#define MIGRATION_KEEPS 1024

enum migration_step {
	MIGRATION_IDLE,
	MIGRATION_RING,
	MIGRATION_TURN,
	MIGRATION_QUEUE,
	MIGRATION_LEAVE,
	MIGRATION_BACK,
	MIGRATION_GIVE
};

/* A worker, seen by the owner. */
struct migration_peer {
	const uint32_t *turn;        /* turns that it has ended */
	struct rte_ring *out, *back; /* NULL for the owner itself */
};

struct migration {
	unsigned owner, n_peers;
	struct migration_peer peers[CONFIG_WORKERS_MAX];
	const struct stuck *stuck; /* stalled workers, for which it does not wait: see stuck.h */
	struct reta *reta;         /* table whose buckets move, or NULL; control reads: atomics */
	unsigned from;             /* worker that they leave */
	enum migration_step step;
	bool off;                        /* called off: they stay there */
	uint32_t mark;                   /* counter value that ends the step */
	uint64_t moving[RETA_SIZE / 64]; /* bit mask of buckets */
	unsigned n_moving, most;         /* buckets, and the most that can move together */
	unsigned next;                   /* bucket that is examined first when a move begins */

	/* read by control: counters */
	uint64_t moved, called_off; /* buckets; moves */
	uint32_t kept;              /* packets kept back */

	unsigned first; /* index of the first of them */
	uint8_t buckets[MIGRATION_KEEPS];
	void *packets[MIGRATION_KEEPS];
};

/* Initializes a migration without peers. Control, before the workers run. */
void migration_init(struct migration *migration, unsigned owner, unsigned n_peers);

/* Begins to move buckets that are wanted elsewhere; false if there are none. It must be idle. */
bool migration_begin(struct migration *migration, struct reta *reta);

/* Advances as far as possible. Call it once a turn, after returned packets are transmitted. */
void migration_advance(struct migration *migration);

/* Calls the move off: the buckets keep their worker. Only the kept packets remain to be given. */
void migration_call_off(struct migration *migration);

/* Returns true if a counter that wraps has reached a mark. */
static inline bool migration_passed(uint32_t counter, uint32_t mark)
{
	return (int32_t)(counter - mark) >= 0;
}

static inline bool migration_is_idle(const struct migration *migration)
{
	return migration->step == MIGRATION_IDLE;
}

/* Returns true if a packet of the bucket must be kept back now. */
static inline bool migration_keeps(
	const struct migration *migration, const struct reta *reta, unsigned bucket)
{
	return migration->reta == reta && migration->moving[bucket / 64] >> bucket % 64 & 1;
}

/* Keeps a packet back. Returns false if there is no room. */
bool migration_keep(struct migration *migration, void *packet, uint8_t bucket);

/*
 * Gives kept packets to their workers in order, as far as their rings have room. The owner's own
 * packets, at most n, go to own[]; returns their number. When all are given, the migration is idle.
 * Until then the owner must not receive more. Call it after migration_advance().
 */
unsigned migration_give(struct migration *migration, void **own, unsigned n);

/* Removes at most n kept packets, in order, because the owner stops. Returns their number. */
unsigned migration_flush(struct migration *migration, void **packets, unsigned n);

#endif
