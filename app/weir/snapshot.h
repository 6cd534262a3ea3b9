/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The limits as the workers see them: one immutable snapshot, built aside by control, exchanged by
 * pointer, and used again only after every worker has passed a quiescent state (rte_rcu_qsbr). This
 * is the only way from control to the packet path.
 */
#ifndef WEIR_APP_SNAPSHOT_H
#define WEIR_APP_SNAPSHOT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <rte_common.h>
#include <rte_rcu_qsbr.h>

#include "police/police.h"

struct classifier;

struct snapshot {
	struct snapshot *next; /* control: on a list of the publisher */
	uint64_t token;        /* control: when it was retired */
	uint64_t generation;
	const struct classifier *classifier;
	unsigned n_policies;
	struct limit_profile profiles[] __rte_cache_aligned; /* n_workers rows of n_policies */
};

static inline struct limit_profile *snapshot_profiles(struct snapshot *snapshot, unsigned worker)
{
	return &snapshot->profiles[(size_t)worker * snapshot->n_policies];
}

static inline const struct limit_profile *snapshot_profiles_of(
	const struct snapshot *snapshot, unsigned worker)
{
	return &snapshot->profiles[(size_t)worker * snapshot->n_policies];
}

struct publisher {
	struct snapshot *current; /* written by control, read by workers: atomics only */
	struct rte_rcu_qsbr *rcu; /* a worker's thread id is its index */
	struct snapshot *retired; /* control: may still be read, oldest first */
	struct snapshot *spare;   /* control: read by nobody */
	uint64_t generation;
	unsigned n_workers, n_policies;
};

/* Control, before the workers start. Returns 0 or -ENOMEM. */
int publisher_init(struct publisher *publisher, unsigned n_workers, unsigned n_policies);

/* Control, after the workers have stopped. */
void publisher_free(struct publisher *publisher);

/* Control: a snapshot to fill, with stale contents; NULL when out of memory. */
struct snapshot *publisher_take(struct publisher *publisher);

/* Control: makes it the current one. Does not wait. */
void publisher_publish(struct publisher *publisher, struct snapshot *snapshot);

/* Control, now and then: takes back what no worker reads any more. */
void publisher_reclaim(struct publisher *publisher);

/* Worker: the current snapshot, valid until it next reports a quiescent state. */
static inline const struct snapshot *publisher_current(const struct publisher *publisher)
{
	/* Acquire pairs with the exchange in publisher_publish(): contents before pointer. */
	return __atomic_load_n(&publisher->current, __ATOMIC_ACQUIRE);
}

#endif
