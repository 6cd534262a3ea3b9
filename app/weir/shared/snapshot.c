/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The data that all workers share: the tables of the classifier, and the data that belongs to them.
 */
#include "snapshot.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static void *zalloc_aligned(size_t size)
{
	void *p = aligned_alloc(RTE_CACHE_LINE_SIZE, RTE_ALIGN_CEIL(size, RTE_CACHE_LINE_SIZE));

	if (p)
		memset(p, 0, size);
	return p;
}

int publisher_init(struct publisher *publisher, unsigned n_workers)
{
	size_t size = rte_rcu_qsbr_get_memsize(n_workers);

	*publisher = (struct publisher){0};
	publisher->rcu = zalloc_aligned(size);
	if (!publisher->rcu)
		return -ENOMEM;
	rte_rcu_qsbr_init(publisher->rcu, n_workers);
	return 0;
}

static void free_list(struct snapshot *list)
{
	while (list) {
		struct snapshot *next = list->next;

		free(list);
		list = next;
	}
}

void publisher_free(struct publisher *publisher)
{
	free(publisher->current);
	free_list(publisher->retired);
	free_list(publisher->spare);
	free(publisher->rcu);
	*publisher = (struct publisher){0};
}

struct snapshot *publisher_take(struct publisher *publisher)
{
	struct snapshot *snapshot = publisher->spare;

	if (snapshot) {
		publisher->spare = snapshot->next;
	} else {
		snapshot = zalloc_aligned(sizeof(*snapshot));
		if (!snapshot)
			return NULL;
	}
	snapshot->next = NULL;
	snapshot->generation = ++publisher->generation;
	return snapshot;
}

uint64_t publisher_moment(const struct publisher *publisher)
{
	return rte_rcu_qsbr_start(publisher->rcu);
}

bool publisher_is_past(const struct publisher *publisher, uint64_t moment)
{
	return rte_rcu_qsbr_check(publisher->rcu, moment, false) == 1;
}

void publisher_publish(struct publisher *publisher, struct snapshot *snapshot)
{
	struct snapshot *old, **tail = &publisher->retired;

	old = __atomic_exchange_n(&publisher->current, snapshot, __ATOMIC_ACQ_REL);
	if (!old)
		return;
	old->retired = publisher_moment(publisher);
	while (*tail)
		tail = &(*tail)->next;
	*tail = old;
}

void publisher_reclaim(struct publisher *publisher)
{
	while (publisher->retired) {
		struct snapshot *oldest = publisher->retired;

		if (!publisher_is_past(publisher, oldest->retired))
			return;
		publisher->retired = oldest->next;
		oldest->next = publisher->spare;
		publisher->spare = oldest;
	}
}
