/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The data that all workers share: the tables of the classifier, and the data that belongs to them.
 * It is one immutable snapshot, exchanged by pointer, and used again only after every worker has
 * passed a quiescent state (rte_rcu_qsbr). Each worker receives its own limits by limit_ring.h.
 * Only publish.c uses these two ways from control to the packet path. The third is the ports of a
 * path, which interfaces.c changes while a port is opened again.
 *
 * A policy's line on each worker is ready before the classifier that leads packets to it is
 * published: publisher_publish() orders the two.
 */
#ifndef WEIR_APP_SNAPSHOT_H
#define WEIR_APP_SNAPSHOT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <rte_common.h>
#include <rte_rcu_qsbr.h>

struct classifier;

/*
 * The trial of a policy that counts from now on, of its lines for trials (trial_slot()); 0: none.
 */
struct trial_change {
	uint32_t slot;
	unsigned trial;
};

struct snapshot {
	struct snapshot *next; /* control: on a list of the publisher */
	uint64_t retired;      /* control: publisher_moment() at that time */
	uint64_t generation;
	const struct classifier *classifier;
	const unsigned *sourced; /* policies with a meter for each source */
	unsigned n_sourced;
	const unsigned *hard; /* policies whose limits can end by themselves */
	unsigned n_hard;
	unsigned kinds;          /* a bit for each enum police_kind that a policy has */
	const uint32_t *parents; /* by slot: the parent's, or SLOT_NONE; NULL: no parents */
	/*
	 * Generation of the last snapshot, up to this one, that changed which packets belong to
	 * placed policies (steering.h).
	 */
	uint64_t retargeted;
	const uint32_t *leaving; /* slots of shaped policies that this snapshot removes */
	unsigned n_leaving;
	const struct trial_change *trials; /* for earlier policies, until all workers use this */
	unsigned n_trials;
};

struct publisher {
	struct snapshot *current; /* written by control, read by workers: atomics only */
	struct rte_rcu_qsbr *rcu; /* a worker's thread id is its index */
	struct snapshot *retired; /* control: might still be read, oldest first */
	struct snapshot *spare;   /* control: unused */
	uint64_t generation;
};

/* Control, before the workers start. Returns 0 or -ENOMEM. */
int publisher_init(struct publisher *publisher, unsigned n_workers);

/* Control, after the workers have stopped. */
void publisher_free(struct publisher *publisher);

/* Returns a snapshot to fill, with stale contents; NULL if out of memory. Control. */
struct snapshot *publisher_take(struct publisher *publisher);

/* Makes it the current one. Does not wait. Control. */
void publisher_publish(struct publisher *publisher, struct snapshot *snapshot);

/* Takes back snapshots that no worker reads any more. Control, regularly. */
void publisher_reclaim(struct publisher *publisher);

/*
 * publisher_moment() returns a token for the present moment. publisher_is_past() returns true if
 * every worker has been quiescent since, so that none uses older data. A sleeping worker is
 * quiescent. Control.
 */
uint64_t publisher_moment(const struct publisher *publisher);
bool publisher_is_past(const struct publisher *publisher, uint64_t moment);

/*
 * Returns the current snapshot, valid until the worker next reports a quiescent state. The worker.
 */
static inline const struct snapshot *publisher_current(const struct publisher *publisher)
{
	/* Acquire pairs with the exchange in publisher_publish(): contents before pointer. */
	return __atomic_load_n(&publisher->current, __ATOMIC_ACQUIRE);
}

#endif
