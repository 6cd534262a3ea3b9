/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Waits until every worker uses all that control sent it before some time, and nothing older.
 */
#include "grace.h"

#include "instance.h"

void grace_begin(struct grace *grace, const struct instance *inst)
{
	grace->taken = false;
	grace->generation = 0;
	for (unsigned w = 0; w < inst->config->n_workers; w++)
		grace->marks[w] = limit_ring_mark(&inst->workers[w].limit_ring);
}

void grace_begin_snapshot(struct grace *grace, const struct instance *inst)
{
	grace_begin(grace, inst);
	grace->generation = inst->publisher.current->generation;
}

bool grace_done(struct grace *grace, const struct instance *inst)
{
	const unsigned n_workers = inst->config->n_workers;

	for (unsigned w = 0; w < n_workers; w++) {
		/* Acquire pairs with the release in move(): packets that it sent before. */
		uint64_t seen = __atomic_load_n(&inst->workers[w].generation, __ATOMIC_ACQUIRE);

		if (seen < grace->generation)
			return false;
	}
	for (unsigned w = 0; !grace->taken && w < n_workers; w++)
		if (!limit_ring_taken(&inst->workers[w].limit_ring, grace->marks[w]))
			return false;
	if (!grace->taken)
		grace->moment = publisher_moment(&inst->publisher);
	grace->taken = true;
	return publisher_is_past(&inst->publisher, grace->moment);
}
