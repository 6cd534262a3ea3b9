/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * A policy's matches, of which any takes a packet: whether they are the same, where they may be
 * met, and those that stand twice. Pure, but for what is allocated; any thread.
 */
#ifndef WEIR_POLICY_MATCHES_H
#define WEIR_POLICY_MATCHES_H

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>

#include "policy/config.h"
#include "policy/policy.h"

bool match_equal(const struct match *a, const struct match *b);

/* In the same order, too: whoever writes a list anew may say no more than before. */
bool policy_matches_equal(const struct policy *a, const struct policy *b);

/*
 * Where packets of a policy may come in: for each wire that there may be a bit for a to b, and one
 * for b to a.
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

/* The match of a policy: both by their numbers. */
struct match_place {
	unsigned policy, match;
};

typedef void (*match_twins_fn)(void *context, struct match_place first, struct match_place again);

/*
 * Calls found for each match that is the same as one before it, in the order of the file; the first
 * of them is named. What was refused, by a wire below CONFIG_ANY, is passed over. 0 or -ENOMEM.
 */
int policies_match_twins(
	const struct policy *policies, unsigned n, match_twins_fn found, void *context);

/* Matches of all together. */
uint64_t policies_count_matches(const struct policy *policies, unsigned n);

/* An array of policies, and what they lead to. NULL is none. */
void policies_free(struct policy *policies, unsigned n);

#endif
