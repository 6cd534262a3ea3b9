/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Counters of workers, by slot: sums for operators, measurements for the limiter's allocation. The
 * workers' counters are narrow. So reading folds them into wider ones and changes the engine,
 * except in functions that take it as `const`. Control.
 */
#ifndef WEIR_ENGINE_COUNTS_H
#define WEIR_ENGINE_COUNTS_H

#include <stdbool.h>
#include <stdint.h>

#include "engine/engine.h"
#include "police/charge.h"
#include "source/source_table.h"

/* Sums over the workers; "bytes" are the unit that the policy counts. */
struct policy_totals {
	uint64_t passed_packets, passed_bytes, dropped_packets, dropped_bytes;
	uint64_t over_packets, over_bytes;         /* exceeding packets that passed */
	uint64_t fallback_packets, fallback_bytes; /* passed by the fallback, not the quota */
	struct coloured_count colours[COLOURS];    /* all arrivals, by colour; 0: no colours */
	uint64_t beyond_packets;                   /* passed unchanged, not green */
};

/* Returns the packets that show demand above the limit, regardless of their verdict. Any thread. */
static inline uint64_t policy_totals_evidence(const struct policy_totals *totals)
{
	return totals->dropped_packets + totals->over_packets + totals->beyond_packets;
}

/* Waiting packets on all workers, and their cost in the unit that the policy counts. */
struct waiting {
	uint64_t packets, units;
};

/*
 * Sums the counters of a slot. Returns true if packets arrived since the last time. Then a policy
 * that is idle for the limiter is active again (limiter_wake()), and engine_wake() does not detect
 * it.
 */
bool engine_totals(struct engine *engine, uint32_t slot, struct policy_totals *totals);

/*
 * Returns the packets that the trial of a slot would have passed and dropped since its start. Zero
 * if no trial counts.
 */
void engine_trial_totals(struct engine *engine, uint32_t slot, struct policy_totals *totals);

struct waiting engine_waiting(const struct engine *engine, uint32_t slot);

/* Returns the sum of the slot's tables of sources, all zero if it has none. */
struct source_table_stats engine_source_totals(const struct engine *engine, uint32_t slot);

/*
 * Measures the counters of a slot for the limiter (limiter_measure()). Also updates the
 * distribution of demand over the workers, and the sampling rate. Returns true if that changes the
 * workers' profiles. The limiter cannot detect this itself.
 */
bool engine_measure(struct engine *engine, uint32_t slot, const struct policy *policy,
	uint64_t now_ns, struct limiter_sample *sample);

/* Adds the counters of one worker in a slot to a measurement; returns the bytes. */
uint64_t engine_measure_counters(
	struct engine *engine, uint32_t slot, unsigned worker, struct limiter_sample *sample);

/*
 * Wakes policies that have received packets since their last count. The limiter skips idle policies
 * until then, and this check is their only cost. slots[i] is the slot of the limiter's i-th policy.
 */
void engine_wake(
	const struct engine *engine, struct limiter *limiter, const uint32_t *slots, unsigned n);

/* Starts the sampling budget of n policies at now_ns. */
void engine_share_begin(
	struct engine *engine, const struct policy *policies, unsigned n, uint64_t now_ns);

/* Divides the sampling budget again, every second or when it is spent. */
void engine_share_samples(struct engine *engine, uint64_t now_ns);

#endif
