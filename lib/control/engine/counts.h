/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * What workers have counted of the policy in a slot: summed for operators, measured for the
 * limiter, which allocates by it. To look is to fold, as the workers' counters are narrow: so these
 * change what they look at, but for those that say `const`. Control.
 */
#ifndef WEIR_ENGINE_COUNTS_H
#define WEIR_ENGINE_COUNTS_H

#include <stdbool.h>
#include <stdint.h>

#include "engine/engine.h"
#include "police/charge.h"
#include "source/source_table.h"

/* Sums over the workers; "bytes" are what the policy counts. */
struct policy_totals {
	uint64_t passed_packets, passed_bytes, dropped_packets, dropped_bytes;
	uint64_t over_packets, over_bytes;         /* of those passed, what did not conform */
	uint64_t fallback_packets, fallback_bytes; /* and what a total did not pay for */
	struct coloured_count colours[COLOURS];    /* of all that came, by colour; 0: it has none */
	uint64_t beyond_packets;                   /* that just passed, and were not green */
};

/* Packets that say that more is asked for than the limit: whatever became of them. Any thread. */
static inline uint64_t policy_totals_evidence(const struct policy_totals *totals)
{
	return totals->dropped_packets + totals->over_packets + totals->beyond_packets;
}

/* Packets that wait, on all workers, and what their policy counts of them. */
struct waiting {
	uint64_t packets, units;
};

/*
 * What was counted in a slot. Returns whether that is news: a policy that is idle for the limiter
 * is not any more (limiter_wake()), and engine_wake() does not see it again.
 */
bool engine_totals(struct engine *engine, uint32_t slot, struct policy_totals *totals);

/*
 * What the trial of the policy in a slot has counted since that began: what it would have passed,
 * and dropped. Zero where none counts.
 */
void engine_trial_totals(struct engine *engine, uint32_t slot, struct policy_totals *totals);

struct waiting engine_waiting(const struct engine *engine, uint32_t slot);

/* The tables of sources of the policy in a slot, all zero if it has none. */
struct source_table_stats engine_source_totals(const struct engine *engine, uint32_t slot);

/*
 * The limiter's measurement (limiter_measure()) of the policy in a slot, of what was counted there.
 * On the way it sees how the policy's demand lies over the workers, and how often to sample it.
 * Returns whether that changes what workers enforce, which the limiter cannot know.
 */
bool engine_measure(struct engine *engine, uint32_t slot, const struct policy *policy,
	uint64_t now_ns, struct limiter_sample *sample);

/* Adds to a measurement what one worker has counted in a slot; returns the bytes. */
uint64_t engine_measure_counters(
	struct engine *engine, uint32_t slot, unsigned worker, struct limiter_sample *sample);

/*
 * Wakes the policies that packets have arrived for since they were last counted: one that is idle
 * is skipped by the limiter until then, and this look is all that it costs. slots[i] is that of the
 * limiter's i-th of n policies.
 */
void engine_wake(
	const struct engine *engine, struct limiter *limiter, const uint32_t *slots, unsigned n);

/* Sets what samples of so many policies may cost from now_ns on. */
void engine_share_begin(
	struct engine *engine, const struct policy *policies, unsigned n, uint64_t now_ns);

/* Divides what workers may sample anew, every second or when that is spent. */
void engine_share_samples(struct engine *engine, uint64_t now_ns);

#endif
