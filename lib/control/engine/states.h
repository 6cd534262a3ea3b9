/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * An engine whose workers are states, not threads: for the simulator and the replay of captures.
 * The slot of a policy is its index.
 */
#ifndef WEIR_ENGINE_STATES_H
#define WEIR_ENGINE_STATES_H

#include <stdint.h>

#include "engine/engine.h"
#include "packet/parse.h"
#include "police/charge.h"
#include "police/extended.h"
#include "police/lineage.h"
#include "shape/shape.h"

/* Allocates the engine. Returns 0 or -ENOMEM; call engine_states_free() in both cases. */
int engine_states_alloc(struct engine *engine, unsigned n_workers, unsigned n_policies);

/*
 * Makes a single worker draw from shared buckets like several workers, so that peers can lend to
 * it. Call it after engine_states_alloc() and before engine_states_add(). Returns 0 or -ENOMEM.
 */
int engine_states_share(struct engine *engine, unsigned n_policies);

/* Frees the engine; has no effect if it is all zero. */
void engine_states_free(struct engine *engine, unsigned n_policies);

/*
 * Creates the state of a policy, with its first limit, on one worker. Call it for every worker,
 * before engine_begin(). Returns 0, -ENOMEM or the error of engine_profile().
 */
int engine_states_add(struct engine *engine, unsigned worker, const struct engine_limit *limit,
	const struct policy_start *start);

/*
 * Charges a packet on a worker and returns its verdict, and its cost in *cost. After VERDICT_MARK
 * the caller tries to mark the packet and calls police_marked().
 */
enum verdict engine_states_police(struct engine *engine, unsigned worker, uint32_t slot,
	const struct packet *packet, const uint8_t *data, uint32_t frame_len, uint64_t now,
	uint32_t *cost);

/*
 * Ends the `ending` part of a hard limit on all workers, as of tick `from`, because its lease has
 * ended (base/expiry.h). The next engine_enforce() replaces the rest of the limit.
 */
void engine_states_end(struct engine *engine, uint32_t slot, uint8_t ending, uint64_t from);

/* A policy and its ancestors, parent first, as slots, which are also indices in policies. */
struct lineage_slots {
	uint32_t slots[POLICY_LEVELS_MOST];
	unsigned n;
};

struct lineage_slots engine_states_lineage(const struct policy *policies, unsigned policy);

/* A packet of a policy with a parent. The caller sets all members except the last, the result. */
struct lineage_packet {
	const struct lineage_slots *slots;
	const struct packet *packet;
	const uint8_t *data; /* from which the packet was parsed */
	uint32_t frame_len;
	uint64_t now;
	struct lineage lineage; /* verdicts of the levels, and the cost */
};

/*
 * Returns the verdict of all levels for a packet, which is charged to all of them or to none.
 * Charges and counts nothing before engine_states_settle_levels(). After VERDICT_MARK the caller
 * marks the packet as police_lineage_marker() requires, or calls police_lineage_refuse() for that
 * level.
 */
enum verdict engine_states_ask_levels(
	struct engine *engine, unsigned worker, struct lineage_packet *asked);

/* Charges the packet and counts it at the levels that it reached. Returns true if it passes. */
bool engine_states_settle_levels(
	struct engine *engine, unsigned worker, struct lineage_packet *asked);

/* Cost of a packet, and the number of levels that it reached, including the one that refused it. */
struct lineage_charge {
	uint32_t cost;
	unsigned reached;
};

/*
 * Decides and settles, for callers that cannot mark a packet. A packet that exceeds a level but
 * passes is VERDICT_COUNT, also if that level marks. One to be marked with ECN is dropped.
 */
enum verdict engine_states_police_levels(struct engine *engine, unsigned worker,
	const struct lineage_slots *lineage, const struct packet *packet, const uint8_t *data,
	uint32_t frame_len, uint64_t now, struct lineage_charge *charge);

/*
 * Lets packets wait, at most `most` on each worker, on a counter of hz ticks a second. Call it
 * before engine_states_add() for a policy that policy_is_shaped(). `policies`, by slot, stay the
 * caller's. Returns 0 or -ENOMEM.
 */
int engine_states_wait(struct engine *engine, const struct policy *policies, uint32_t most,
	uint64_t hz, uint64_t now);

/*
 * Like engine_states_police(), for a policy that policy_is_shaped(). A waiting packet belongs to
 * the worker's shaper, which returns it from shaper_release() or shaper_flush(). `waiting` is part
 * of the packet.
 */
enum shape_verdict engine_states_arrive(struct engine *engine, unsigned worker, uint32_t slot,
	const struct packet *packet, const uint8_t *data, uint32_t frame_len, uint64_t now,
	struct shape_packet *waiting);

/*
 * Counts a packet that shaper_release() has returned. Returns true if it leaves, false if it is
 * dropped.
 */
bool engine_states_leave(struct engine *engine, unsigned worker, uint32_t slot,
	const struct shape_packet *waiting, uint64_t now);

#endif
