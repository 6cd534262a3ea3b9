/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Finds the policies that could match packets of which only some fields are given, in the
 * classifier's order. A question is a match; fields that it does not name are unknown. The answer
 * uses the classifier's own code. Pure; any thread.
 */
#ifndef WEIR_CLASSIFY_CANDIDATES_H
#define WEIR_CLASSIFY_CANDIDATES_H

#include <stdint.h>

#include "policy/policy.h"

enum candidate {
	CANDIDATE_NONE, /* the policy matches none of these packets */
	CANDIDATE_SOME, /* depends on unknown fields */
	CANDIDATE_ALL,  /* matches all, unless an earlier policy takes them */
};

/*
 * A policy's place in the order of precedence. Compared as bytes, the smaller comes first. Between
 * equals, the first in the file comes first.
 */
struct precedence {
	uint8_t of[16];
};

enum candidate classify_candidate(const struct match *question, const struct match *match);

struct precedence classify_precedence(const struct match *match);

/*
 * Returns how strict a policy and its parents are with packets that are not fully parsed. A higher
 * value is stricter.
 */
uint32_t classify_strictness(const struct policy *policies, uint32_t index);

#endif
