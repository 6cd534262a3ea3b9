/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "grace.h"

#include "box.h"

void grace_begin(struct grace *grace, const struct box *box)
{
	grace->taken = false;
	grace->generation = 0;
	for (unsigned w = 0; w < box->config->n_workers; w++)
		grace->marks[w] = post_mark(&box->workers[w].post);
}

void grace_begin_snapshot(struct grace *grace, const struct box *box)
{
	grace_begin(grace, box);
	grace->generation = box->publisher.current->generation;
}

static bool all_moved(const struct grace *grace, const struct box *box)
{
	for (unsigned w = 0; w < box->config->n_workers; w++) {
		/* Acquire pairs with the release in move(): what it has sent before it said so. */
		uint64_t seen = __atomic_load_n(&box->workers[w].generation, __ATOMIC_ACQUIRE);

		if (seen < grace->generation)
			return false;
	}
	return true;
}

static bool all_taken(const struct grace *grace, const struct box *box)
{
	for (unsigned w = 0; w < box->config->n_workers; w++)
		if (!post_taken(&box->workers[w].post, grace->marks[w]))
			return false;
	return true;
}

bool grace_done(struct grace *grace, const struct box *box)
{
	if (!all_moved(grace, box))
		return false;
	if (!grace->taken) {
		if (!all_taken(grace, box))
			return false;
		grace->moment = publisher_moment(&box->publisher);
		grace->taken = true;
	}
	return publisher_is_past(&box->publisher, grace->moment);
}
