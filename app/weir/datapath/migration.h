/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * How sources change their worker, seen by the owner of a receive queue: nothing is lost, no source
 * is reordered, and nobody waits. The owner keeps back what comes for the buckets that move, and
 * looks, a glance a turn, whether what he gave their worker before is through:
 *
 *     RING   he has taken it out of his ring,
 *     TURN   and ended that turn, so it has left or lies in the policy's queue there;
 *     QUEUE  what lay in that queue has left it,
 *     LEAVE  and he has ended that turn, so it is in the ring back to the owner;
 *     BACK   from which the owner has sent it on.
 *     GIVE   Then the buckets are another worker's, and what was kept back goes there first.
 *
 * What the owner decides himself needs QUEUE alone. If more comes than can be kept back, the move
 * is called off: what was kept goes to the former worker, who is still the right one, and fewer
 * buckets move the next time; one that alone was too much is behind all others then. An owner moves
 * buckets of one policy from one worker at a time. A worker that is stuck is not waited for: what
 * it was given before comes late, and what was kept back for it goes to the owner.
 *
 * Of workers it reads what they write anyway: ends of rings, turns, packets in and out of a queue,
 * each with acquire against their release. The owner's thread alone calls this.
 */
#ifndef WEIR_APP_MIGRATION_H
#define WEIR_APP_MIGRATION_H

#include <stdbool.h>
#include <stdint.h>

#include <rte_ring.h>

#include "policy/config.h"
#include "reta.h"

struct stuck;

/* As many as a ring: what fits one is not too many for the other. */
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

/* A worker as the owner sees it. */
struct migration_peer {
	const uint32_t *turn;        /* how many it has ended */
	struct rte_ring *out, *back; /* NULL of the owner himself */
};

struct migration {
	unsigned owner, n_peers;
	struct migration_peer peers[CONFIG_WORKERS_MAX];
	const struct stuck *stuck; /* workers that nothing is waited for of: see stuck.h */
	struct reta *reta;         /* whose buckets move, or NULL; control reads: atomics */
	unsigned from;             /* the worker that they leave */
	enum migration_step step;
	bool off;                        /* they do not, after all */
	uint32_t mark;                   /* what the step waits for */
	uint64_t moving[RETA_SIZE / 64]; /* a bit each */
	unsigned n_moving, most;         /* buckets; and how many may move at once */
	unsigned next;                   /* bucket, that is looked at first when a move begins */

	/* read by control: counters */
	uint64_t moved, called_off; /* buckets; moves */
	uint32_t kept;              /* packets that are kept back */

	unsigned first; /* of them */
	uint8_t buckets[MIGRATION_KEEPS];
	void *packets[MIGRATION_KEEPS];
};

/* Without peers yet. Control, before the workers run. */
void migration_init(struct migration *migration, unsigned owner, unsigned n_peers);

/*
 * Begins to move what is wanted elsewhere; false if nothing is. Of an idle migration.
 */
bool migration_begin(struct migration *migration, struct reta *reta);

/* Goes on, as far as it can be known by now. Once a turn, after what came back has been sent. */
void migration_advance(struct migration *migration);

/* What moves stays where it was, which takes no time but for what was kept back. */
void migration_call_off(struct migration *migration);

/* Whether a counter that wraps has come to a mark. */
static inline bool migration_passed(uint32_t counter, uint32_t mark)
{
	return (int32_t)(counter - mark) >= 0;
}

static inline bool migration_is_idle(const struct migration *migration)
{
	return migration->step == MIGRATION_IDLE;
}

/* Whether a packet of that bucket is to be kept back now. */
static inline bool migration_keeps(
	const struct migration *migration, const struct reta *reta, unsigned bucket)
{
	return migration->reta == reta && migration->moving[bucket / 64] >> bucket % 64 & 1;
}

/* Keeps it; false if there is no room. */
bool migration_keep(struct migration *migration, void *packet, uint8_t bucket);

/*
 * Gives what was kept to its workers, in order, as far as their rings have room: of the owner's own
 * at most n, into own[]; returns how many. When all is given the migration is idle again; until
 * then nothing more should come. To be called after migration_advance().
 */
unsigned migration_give(struct migration *migration, void **own, unsigned n);

/* What is kept, at most n, in order: the owner stops. Returns how many. */
unsigned migration_flush(struct migration *migration, void **packets, unsigned n);

#endif
