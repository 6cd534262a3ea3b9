/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Finds the policies that could match packets of which only some fields are given, in the
 * classifier's order. A question is a match; fields that it does not name are unknown. The answer
 * uses the classifier's own code. Pure; any thread.
 */
#ifndef WEIR_CLASSIFY_CANDIDATES_H
#define WEIR_CLASSIFY_CANDIDATES_H

#include <stdbool.h>
#include <stdint.h>

#include "classify/burst.h"
#include "policy/policy.h"

/* Checks whether a rule matches a packet with unknown fields. Private to this folder. */

/* The facts of a packet, and which of them are valid. */
struct knowledge {
	struct facts facts;
	uint64_t known; /* valid bits of facts.key */
	bool src_port, dst_port;
};

static inline bool names_port(struct port_range range)
{
	return range.first != 0 || range.last != UINT16_MAX;
}

static inline bool port_may_be(bool known, uint16_t port, struct port_range range)
{
	return !known || (port >= range.first && port <= range.last);
}

/*
 * Returns whether a rule can match: no valid field excludes it. Does not check the source address.
 */
static inline bool rule_may_take(const struct knowledge *what, const struct rule *rule)
{
	const struct facts *facts = &what->facts;

	return ((facts->key ^ rule->key) & rule->mask & what->known) == 0 &&
	       port_may_be(what->src_port, facts->src_port, rule->src_port) &&
	       port_may_be(what->dst_port, facts->dst_port, rule->dst_port);
}

/* Returns whether a rule that can match needs no unknown field. */
static inline bool rule_asks_known(const struct knowledge *what, const struct rule *rule)
{
	return (rule->mask & ~what->known) == 0 &&
	       (what->src_port || !names_port(rule->src_port)) &&
	       (what->dst_port || !names_port(rule->dst_port));
}

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
