/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The outcome of a passing packet at its policy and the levels above, from the counters that have
 * changed. For callers that decide packets one by one: the worker's own thread, or the owner of a
 * copy of a worker.
 */
#ifndef WEIR_APP_COUNTED_H
#define WEIR_APP_COUNTED_H

#include <stdbool.h>
#include <stdint.h>

#include "classify/classify.h"
#include "police/charge.h"
#include "worker_data.h"

/* Counters before the packet, from its policy upwards: packets that passed without conforming. */
struct counted {
	unsigned n;
	uint32_t slots[POLICY_LEVELS_MOST];
	uint64_t over[POLICY_LEVELS_MOST], fallback[POLICY_LEVELS_MOST];
};

static inline struct counted counted_before(const struct worker *worker, uint32_t slot)
{
	struct counted before = {.n = 0};

	if (slot != CLASSIFY_NONE)
		before.n = lineage_of(worker, slot, before.slots);
	for (unsigned k = 0; k < before.n; k++) {
		const struct policy_state *state = &worker->policies[before.slots[k]];

		before.over[k] = police_over_packets(state);
		before.fallback[k] = police_fallback_packets(state);
	}
	return before;
}

static inline bool counted_over(
	const struct counted *before, const struct worker *worker, unsigned k)
{
	return police_over_packets(&worker->policies[before->slots[k]]) != before->over[k];
}

/* Returns true if the packet passed by the level's fallback instead of its quota. */
static inline bool counted_fallback(
	const struct counted *before, const struct worker *worker, unsigned k)
{
	return police_fallback_packets(&worker->policies[before->slots[k]]) != before->fallback[k];
}

/* Returns VERDICT_MARK if any level has marked it, otherwise VERDICT_COUNT or VERDICT_PASS. */
static inline enum verdict counted_verdict(
	const struct counted *before, const struct worker *worker)
{
	enum verdict verdict = VERDICT_PASS;

	for (unsigned k = 0; k < before->n; k++) {
		if (!counted_over(before, worker, k))
			continue;
		if (worker->policies[before->slots[k]].other->action == ACTION_MARK)
			return VERDICT_MARK;
		verdict = VERDICT_COUNT;
	}
	return verdict;
}

#endif
