/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * An engine with workers of its own, which are states and no threads: for the simulator and the
 * replay of captures. A policy's slot is its index.
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

/* Returns 0 or -ENOMEM; engine_states_free() is due in either case. */
int engine_states_alloc(struct engine *engine, unsigned n_workers, unsigned n_policies);

/*
 * Makes a single worker draw from shared buckets like several workers, so that peers can lend to
 * it.
 * Call it after engine_states_alloc() and before engine_states_add(). Returns 0 or -ENOMEM.
 */
int engine_states_share(struct engine *engine, unsigned n_policies);

/* Frees nothing of an engine that is all zero. */
void engine_states_free(struct engine *engine, unsigned n_policies);

/*
 * Gives a policy its state on a worker, with its first limit: on every one, before engine_begin().
 * Returns 0, -ENOMEM or what engine_profile() does.
 */
int engine_states_add(struct engine *engine, unsigned worker, const struct engine_limit *limit,
	const struct policy_start *start);

/*
 * A packet's whole way on a worker, from its cost to what happens to it. With VERDICT_MARK the
 * caller tries to mark and says police_marked().
 */
enum verdict engine_states_police(struct engine *engine, unsigned worker, uint32_t slot,
	const struct packet *packet, const uint8_t *data, uint32_t frame_len, uint64_t now,
	uint32_t *cost);

/*
 * Ends that part of a conserved policy's limit on all workers, as of tick `from`: its lease has
 * ended (base/expiry.h). The next engine_enforce() replaces the rest.
 */
void engine_states_end(struct engine *engine, uint32_t slot, uint8_t ending, uint64_t from);

/* A policy, and what it is below, from its parent on: by index in policies, which is its slot. */
struct lineage_slots {
	uint32_t slots[POLICY_LEVELS_MOST];
	unsigned n;
};

struct lineage_slots engine_states_lineage(const struct policy *policies, unsigned policy);

/* A packet of a policy with a parent. Who asks fills in all but the last, which is the answer. */
struct lineage_packet {
	const struct lineage_slots *slots;
	const struct packet *packet;
	const uint8_t *data; /* that it was parsed from */
	uint32_t frame_len;
	uint64_t now;
	struct lineage lineage; /* by whose doing it is, and the cost */
};

/*
 * What becomes of it, which is charged to all of the lineage or to none; nothing is charged or
 * counted before engine_states_settle_levels(). With VERDICT_MARK the caller first marks it as
 * police_lineage_marker() does, or says police_lineage_refuse() of that one.
 */
enum verdict engine_states_ask_levels(
	struct engine *engine, unsigned worker, struct lineage_packet *asked);

/* Charges and counts it at those that it has come to. Whether it passes. */
bool engine_states_settle_levels(
	struct engine *engine, unsigned worker, struct lineage_packet *asked);

/* What a packet was charged, and how many of the lineage it has come to: up to who refused it. */
struct lineage_charge {
	uint32_t cost;
	unsigned reached;
};

/*
 * Both, where nobody has a packet to mark: what passes though a level would not have it is
 * VERDICT_COUNT, also where that marks; what is to be marked with ECN is dropped.
 */
enum verdict engine_states_police_levels(struct engine *engine, unsigned worker,
	const struct lineage_slots *lineage, const struct packet *packet, const uint8_t *data,
	uint32_t frame_len, uint64_t now, struct lineage_charge *charge);

/*
 * Lets packets wait, at most so many on each worker, on a counter of hz ticks a second: before
 * engine_states_add() of a policy that policy_is_shaped(), which is one of `policies`, by its slot;
 * they stay the caller's. Returns 0 or -ENOMEM.
 */
int engine_states_wait(struct engine *engine, const struct policy *policies, uint32_t most,
	uint64_t hz, uint64_t now);

/*
 * engine_states_police() of a policy that policy_is_shaped(). A packet that waits is the worker's
 * shaper's, from shaper_release() or shaper_flush() of which it comes back; `waiting` lies in it.
 */
enum shape_verdict engine_states_arrive(struct engine *engine, unsigned worker, uint32_t slot,
	const struct packet *packet, const uint8_t *data, uint32_t frame_len, uint64_t now,
	struct shape_packet *waiting);

/* Counts a packet that shaper_release() has given back. Whether it leaves; else it is dropped. */
bool engine_states_leave(struct engine *engine, unsigned worker, uint32_t slot,
	const struct shape_packet *waiting, uint64_t now);

#endif
