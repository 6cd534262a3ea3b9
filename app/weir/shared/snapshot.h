/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * What all workers see alike, the tables of the classifier and what goes with them: one immutable
 * snapshot, exchanged by pointer, and used again only after every worker has passed a quiescent
 * state (rte_rcu_qsbr). Each worker receives its own limits by limit_ring.h. Only
 * publish.c uses these two ways from control to the packet path. The third is the ports of a path,
 * which interfaces.c changes while a port is opened again.
 *
 * A policy's line on each worker is ready before the classifier that leads packets to it is
 * published: publisher_publish() orders the one before the other.
 */
#ifndef WEIR_APP_SNAPSHOT_H
#define WEIR_APP_SNAPSHOT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <rte_common.h>
#include <rte_rcu_qsbr.h>

struct classifier;

/* A policy's trial, of its lines for that (trial_slot()), that counts from now on; 0: none does. */
struct trial_change {
	uint32_t slot;
	unsigned trial;
};

struct snapshot {
	struct snapshot *next; /* control: on a list of the publisher */
	uint64_t retired;      /* control: the publisher_moment() when it was */
	uint64_t generation;
	const struct classifier *classifier;
	const unsigned *sourced; /* the policies that have a meter for each source */
	unsigned n_sourced;
	const unsigned *conserved; /* those whose limits may end by themselves */
	unsigned n_conserved;
	unsigned kinds; /* of policies that there are: a bit for each enum police_kind */
	const uint32_t
		*parents; /* of each slot that of its parent, or SLOT_NONE; NULL: no parents */
	/*
	 * Generation of the last one, up to this, by which packets came to be a placed policy's or
	 * not to be it any more (steering.h).
	 */
	uint64_t retargeted;
	const uint32_t *leaving; /* slots whose packets wait, and that this leads nobody to, who */
	unsigned n_leaving;      /* was led there by the one before */
	const struct trial_change *trials; /* of policies that were there before; until all have */
	unsigned n_trials;                 /* come to this */
};

struct publisher {
	struct snapshot *current; /* written by control, read by workers: atomics only */
	struct rte_rcu_qsbr *rcu; /* a worker's thread id is its index */
	struct snapshot *retired; /* control: may still be read, oldest first */
	struct snapshot *spare;   /* control: read by nobody */
	uint64_t generation;
};

/* Control, before the workers start. Returns 0 or -ENOMEM. */
int publisher_init(struct publisher *publisher, unsigned n_workers);

/* Control, after the workers have stopped. */
void publisher_free(struct publisher *publisher);

/* Control: a snapshot to fill, with stale contents; NULL when out of memory. */
struct snapshot *publisher_take(struct publisher *publisher);

/* Control: makes it the current one. Does not wait. */
void publisher_publish(struct publisher *publisher, struct snapshot *snapshot);

/* Control, now and then: takes back what no worker reads any more. */
void publisher_reclaim(struct publisher *publisher);

/*
 * Control: what stands for this moment; and whether every worker has been quiescent since, so that
 * none holds any more what it was led to before. One that sleeps is quiescent.
 */
uint64_t publisher_moment(const struct publisher *publisher);
bool publisher_is_past(const struct publisher *publisher, uint64_t moment);

/* Worker: the current snapshot, valid until it next reports a quiescent state. */
static inline const struct snapshot *publisher_current(const struct publisher *publisher)
{
	/* Acquire pairs with the exchange in publisher_publish(): contents before pointer. */
	return __atomic_load_n(&publisher->current, __ATOMIC_ACQUIRE);
}

#endif
