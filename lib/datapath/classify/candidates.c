/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Finds the policies that could match packets of which only some fields are given, in the
 * classifier's order.
 */
#include "classify/candidates.h"

#include <assert.h>
#include <stddef.h>
#include <string.h>

#include "classify/order.h"

/* Compares packets to or from a prefix with a policy's prefix. */
static enum candidate fit_prefix(const struct prefix *question, const struct prefix *named)
{
	unsigned least = question->length < named->length ? question->length : named->length;

	if (named->family == 0)
		return CANDIDATE_ALL;
	if (question->family == 0)
		return CANDIDATE_SOME;
	if (question->family != named->family)
		return CANDIDATE_NONE;
	for (unsigned bit = 0; bit < least; bit++)
		if ((question->addr[bit / 8] ^ named->addr[bit / 8]) & 0x80 >> bit % 8)
			return CANDIDATE_NONE;
	return question->length >= named->length ? CANDIDATE_ALL : CANDIDATE_SOME;
}

/* Compares both addresses. One address gives the family of the other, too. */
static enum candidate fit_addresses(const struct match *question, const struct match *match)
{
	enum candidate dst = fit_prefix(&question->dst, &match->dst);
	enum candidate src = fit_prefix(&question->src, &match->src);
	uint8_t family = question->dst.family | question->src.family;

	if (family && ((match->dst.family && match->dst.family != family) ||
			      (match->src.family && match->src.family != family)))
		return CANDIDATE_NONE;
	return dst < src ? dst : src;
}

static void know_field(struct knowledge *what, uint64_t mask, unsigned shift, int value)
{
	if (value < 0)
		return;
	what->known |= mask;
	what->facts.key |= (uint64_t)value << shift;
}

static struct knowledge knowledge_of(const struct match *question)
{
	struct knowledge what = {
		.facts.src_port = question->src_port.first,
		.facts.dst_port = question->dst_port.first,
		.src_port = question->src_port.first != 0,
		.dst_port = question->dst_port.first != 0,
	};

	know_field(&what, KEY_VLAN_MASK, 0, question->vlan);
	know_field(&what, KEY_DSCP_MASK, KEY_DSCP_SHIFT, question->dscp);
	know_field(&what, KEY_WIRE_MASK, KEY_WIRE_SHIFT, question->wire);
	know_field(&what, KEY_PROTO_MASK, KEY_PROTO_SHIFT,
		question->proto ? question->proto : CONFIG_ANY);
	know_field(&what, KEY_DIRECTION_MASK, KEY_DIRECTION_SHIFT,
		question->direction == DIRECTION_ANY ? CONFIG_ANY : (int)question->direction);
	return what;
}

enum candidate classify_candidate(const struct match *question, const struct match *match)
{
	const struct knowledge what = knowledge_of(question);
	const struct rule rule = match_rule(match);
	enum candidate fit = fit_addresses(question, match);

	if (fit == CANDIDATE_NONE || !match_is_possible(match) || !rule_may_take(&what, &rule))
		return CANDIDATE_NONE;
	return rule_asks_known(&what, &rule) ? fit : CANDIDATE_SOME;
}

/*
 * A longer prefix comes first. Prefixes of equal length are the same for a given packet, or there
 * is no address.
 */
struct precedence classify_precedence(const struct match *match)
{
	const struct order order = match_order(match);
	struct precedence precedence = {.of = {order.stage, (uint8_t)(UINT8_MAX - order.length)}};

	memcpy(precedence.of + 2, &order.source, sizeof(order) - offsetof(struct order, source));
	return precedence;
}

static_assert(
	sizeof(struct order) - offsetof(struct order, source) + 2 <= sizeof(struct precedence),
	"all that decides is there");
