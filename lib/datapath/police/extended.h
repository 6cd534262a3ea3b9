/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * A policy's state on a worker before its first packet, and its memory beyond the line. A plain
 * policy has none. A phantom has its classes. Others have struct policy_extended, with a meter for
 * each source, the recent flows, or the classes of a phantom. The caller owns the memory; nothing
 * is allocated here.
 */
#ifndef WEIR_POLICE_EXTENDED_H
#define WEIR_POLICE_EXTENDED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "police/policy_state.h"

/*
 * Flows without a handshake that a policy of COUNT_FLOWS can distinguish from new ones, on one
 * worker.
 */
#define POLICE_FLOWS 65536

/* Returns the way in which its packets are decided. Any thread. */
enum police_kind policy_state_kind(const struct policy *policy);

/* Bytes that a policy's state takes on one worker next to its line; 0 if plain. Any thread. */
size_t policy_extended_bytes(const struct policy *policy);

struct policy_start {
	uint64_t now, hz; /* ticks; ticks a second */
	uint64_t secret;  /* keeps others from aiming at a place in a table, or at a flow's hash */
	uint64_t seed;    /* for a meter that draws lots */
	struct shared_bucket
		*shared; /* all workers whose packets wait draw from it; NULL: no such bucket */
};

/*
 * A policy on one worker with its first limit. `memory` is of policy_extended_bytes() and aligned
 * to a cache line; NULL if that is 0. Control thread, before the worker sees the policy.
 */
void policy_state_init(struct policy_state *state, void *memory, const struct policy *policy,
	const struct limit_profile *profile, const struct policy_start *start);

/* The memory that a state was given, or NULL; of one that is all zero too. Control thread. */
void *policy_state_memory(const struct policy_state *state);

/*
 * Spends the whole burst as of `now`. Excludes a meter for each source, which begins with its
 * burst; and a meter that draws lots. Control thread, before the worker sees the policy.
 */
void policy_state_spend(struct policy_state *state, uint64_t now);

/*
 * Returns true if a policy's state continues when it becomes another of its kind, apart from
 * limits. The other must charge the same bytes, do the same with packets that do not conform, and
 * have the required data, such as a sample of its flows. Any thread.
 */
bool policy_state_lasts(const struct policy *policy, const struct policy *next);

/*
 * Maintains a policy's table of sources, if it has one, so many lines of it. Call it now and then,
 * see source_table_age(). The policy's worker.
 */
void policy_state_age(struct policy_state *state, uint64_t now, unsigned lines);

#endif
