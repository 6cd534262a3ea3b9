/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Which policies could take packets of which only something is said, in the classifier's order. A
 * question is a match itself: what it does not name is not known. It is answered by what the
 * classifier is built of. Pure; any thread.
 */
#ifndef WEIR_CLASSIFY_CANDIDATES_H
#define WEIR_CLASSIFY_CANDIDATES_H

#include <stdint.h>

#include "policy/policy.h"

enum candidate {
	CANDIDATE_NONE, /* no such packet is one of this policy's */
	CANDIDATE_SOME, /* it depends on what is not said */
	CANDIDATE_ALL,  /* all are, unless a policy before it takes them */
};

/*
 * A policy's place in the order of precedence: compared as bytes, the smaller comes first; between
 * equals, the one that is first in the file.
 */
struct precedence {
	uint8_t of[16];
};

enum candidate classify_candidate(const struct match *question, const struct match *match);

struct precedence classify_precedence(const struct match *match);

/*
 * How strict a policy is, or what is above it, with packets that are not understood: the more, the
 * higher.
 */
uint32_t classify_strictness(const struct policy *policies, uint32_t index);

#endif
