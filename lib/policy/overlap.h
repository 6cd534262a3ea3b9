/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Overlap between matches of policies, and the effect of a changed configuration on sources that
 * are assigned to workers. Any thread.
 */
#ifndef WEIR_POLICY_OVERLAP_H
#define WEIR_POLICY_OVERLAP_H

#include <stdbool.h>
#include <stdint.h>

#include "policy/policy.h"
#include "policy/diff.h"

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
