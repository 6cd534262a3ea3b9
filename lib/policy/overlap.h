/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Whether policies have packets in common, and so, what of a change others have to do with. Any
 * thread.
 */
#ifndef WEIR_POLICY_OVERLAP_H
#define WEIR_POLICY_OVERLAP_H

#include <stdbool.h>
#include <stdint.h>

#include "policy/policy.h"
#include "policy/diff.h"

/* Whether some packet would be of both, if each were the only one. */
bool match_overlaps(const struct match *a, const struct match *b);

/* Pairs of matches that are compared in a second or so. */
#define OVERLAP_PAIRS UINT64_C(100000000)

/*
 * Whether a packet may become one of a policy that is placed, or may be one no more, or another's:
 * if such a policy comes, goes or has other packets, or another does that overlaps with one. What
 * `keeps` says, by new index, is whether a policy stays in its place on the workers. True also when
 * there is no memory to find out, or when more than so many pairs of matches are to be compared.
 */
bool policies_retarget(const struct config_diff *diff, const struct policy *old, unsigned n_old,
	const struct policy *policies, const bool *keeps, uint64_t pairs);

#endif
