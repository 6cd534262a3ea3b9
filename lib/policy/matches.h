/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Matches of policies. A packet belongs to a policy if any of its matches takes it. Compares
 * matches, finds duplicates, and finds the wires on which packets can arrive. Pure, except for
 * allocations. Any thread.
 */
#ifndef WEIR_POLICY_MATCHES_H
#define WEIR_POLICY_MATCHES_H

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>

#include "policy/config.h"
#include "policy/diff.h"
#include "policy/policy.h"

bool match_equal(const struct match *a, const struct match *b);

/* Returns true if both have the same matches in the same order. */
bool policy_matches_equal(const struct policy *a, const struct policy *b);

/*
 * Returns the paths on which packets of a policy can arrive: for each possible wire, one bit for a
 * to b, then one for b to a.
 */
uint32_t policy_paths(const struct policy *policy);
#define POLICY_PATHS_OF_WIRE UINT32_C(3)
static_assert(2 * CONFIG_WIRES_MAX <= 32, "a word has all paths");

static inline bool policy_may_enter(
	const struct policy *policy, unsigned wire, enum direction direction)
{
	return policy_paths(policy) >> (2 * wire + (direction == DIRECTION_B_TO_A)) & 1;
}

static inline bool policy_may_use(const struct policy *policy, unsigned wire)
{
	return policy_paths(policy) >> 2 * wire & POLICY_PATHS_OF_WIRE;
}

/* A match: index of its policy, and its index in that. */
struct match_place {
	unsigned policy, match;
};

typedef void (*match_twins_fn)(void *context, struct match_place first, struct match_place again);

/*
 * Calls found for each match that equals an earlier one, in the order of the file, with the first
 * of them. Skips rejected matches, whose wire is below CONFIG_ANY. Returns 0 or -ENOMEM.
 */
int policies_match_twins(
	const struct policy *policies, unsigned n, match_twins_fn found, void *context);

/* Returns the number of matches of all policies. */
uint64_t policies_count_matches(const struct policy *policies, unsigned n);

/* Frees an array of policies, their matches and schedules. policies can be NULL. */
void policies_free(struct policy *policies, unsigned n);

/* Returns true if some packet can match both, each considered alone. */
bool match_overlaps(const struct match *a, const struct match *b);

/* Pairs of matches that take about a second to compare. */
#define OVERLAP_PAIRS UINT64_C(100000000)

/*
 * Returns true if a change can alter the packets of a placed policy. This is so if a placed policy
 * is added, removed or has other matches, or if another such policy overlaps with a placed one.
 * `keeps`, by new index, is true if the policy keeps its place on the workers. Also returns true if
 * memory is short, or if there are more than `pairs` pairs of matches to compare.
 */
bool policies_retarget(const struct config_diff *diff, const struct policy *old, unsigned n_old,
	const struct policy *policies, const bool *keeps, uint64_t pairs);

#endif
