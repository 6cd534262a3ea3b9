/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * What a worker keeps for itself. This header is for this room alone: control has no name for any
 * of it. All is written and read by the worker's own thread, but for worker_init().
 */
#ifndef WEIR_APP_WORKER_OWN_H
#define WEIR_APP_WORKER_OWN_H

#include <stdalign.h>

#include "flow/sample_bound.h"
#include "slot_map.h"
#include "snapshot.h"
#include "worker.h"

struct worker_own {
	struct snapshot view; /* a copy of the snapshot that it goes by */
	unsigned left;        /* queues of the next one's `leaving` that are empty */
	unsigned tried;       /* of its `trials` that are made */
	bool empties;         /* has begun with them, by what was due */
	bool eights;          /* its CPU charges eight packets at a time, see police/eights.h */
	bool wide;            /* its CPU classify_has_wide() */
	bool patient;         /* what leaves outside of its time waits for room in the ring */
	struct sample_bound bound;
	uint64_t idle_since; /* tick of the last packet */
	uint64_t ended;      /* tick at which limits ended, see leases_end.h; 0: they go on */
	uint64_t unheard;    /* and of those that may be exceeded, which say so themselves */
	uint32_t turns;      /* of the loop, if there are tables of sources to look after */
	uint32_t aged;       /* turns in which one was */
};

static_assert(sizeof(struct worker_own) == WORKER_OWN_BYTES, "as struct worker has it");
static_assert(alignof(struct worker_own) <= WORKER_OWN_ALIGN, "as struct worker has it");

static inline struct worker_own *worker_own(struct worker *worker)
{
	return (struct worker_own *)worker->own;
}

static inline const struct worker_own *worker_own_const(const struct worker *worker)
{
	return (const struct worker_own *)worker->own;
}

/* The slots from that of a policy upwards, at most POLICY_LEVELS_MOST; returns how many: not 0. */
static inline unsigned lineage_of(const struct worker *worker, uint32_t slot, uint32_t slots[])
{
	const uint32_t *parents = worker_own_const(worker)->view.parents;
	unsigned n = 0;

	do {
		slots[n++] = slot;
		slot = parents ? parents[slot] : SLOT_NONE;
	} while (slot != SLOT_NONE && n < POLICY_LEVELS_MOST);
	return n;
}

#endif
