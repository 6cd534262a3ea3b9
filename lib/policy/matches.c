/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Compares matches: for equality, by hash, and for packets that two of them have in common.
 */
#include "policy/matches.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "policy/kind.h"
#include "policy/schedule.h"

static bool prefix_equal(const struct prefix *a, const struct prefix *b)
{
	return a->family == b->family && a->length == b->length &&
	       memcmp(a->addr, b->addr, sizeof(a->addr)) == 0;
}

static bool range_equal(struct port_range a, struct port_range b)
{
	return a.first == b.first && a.last == b.last;
}

bool match_equal(const struct match *a, const struct match *b)
{
	return a->wire == b->wire && a->direction == b->direction && a->vlan == b->vlan &&
	       a->dscp == b->dscp && a->proto == b->proto && a->last == b->last &&
	       range_equal(a->src_port, b->src_port) && range_equal(a->dst_port, b->dst_port) &&
	       prefix_equal(&a->src, &b->src) && prefix_equal(&a->dst, &b->dst);
}

bool policy_matches_equal(const struct policy *a, const struct policy *b)
{
	unsigned n = policy_n_matches(a);

	if (n != policy_n_matches(b))
		return false;
	for (unsigned i = 0; i < n; i++)
		if (!match_equal(policy_match(a, i), policy_match(b, i)))
			return false;
	return true;
}

uint32_t policy_paths(const struct policy *policy)
{
	static const uint32_t of_direction[] = {[DIRECTION_ANY] = UINT32_C(0xffffffff),
		[DIRECTION_A_TO_B] = UINT32_C(0x55555555),
		[DIRECTION_B_TO_A] = UINT32_C(0xaaaaaaaa)};
	uint32_t paths = 0;

	for (unsigned i = 0; i < policy_n_matches(policy); i++) {
		const struct match *match = policy_match(policy, i);
		const bool any = match->wire == CONFIG_ANY;

		paths |= of_direction[match->direction] &
			 (any ? UINT32_MAX : POLICY_PATHS_OF_WIRE << 2 * match->wire);
	}
	return paths;
}

uint64_t policies_count_matches(const struct policy *policies, unsigned n)
{
	uint64_t all = 0;

	for (unsigned i = 0; i < n; i++)
		all += policy_n_matches(&policies[i]);
	return all;
}

/* Hash table of the matches seen so far. A place is free if its match is NONE. */
struct seen_matches {
	const struct policy *policies;
	struct match_place *places;
	uint64_t mask; /* table size, a power of two, less 1 */
};

#define NONE UINT32_MAX

static uint64_t hash_prefix(uint64_t hash, const struct prefix *prefix)
{
	uint64_t words[2];

	memcpy(words, prefix->addr, sizeof(words));
	hash = hash64_step(hash, words[0]);
	hash = hash64_step(hash, words[1]);
	return hash64_step(hash, (uint64_t)prefix->family << 8 | prefix->length);
}

static uint64_t hash_match(const struct match *match)
{
	uint64_t hash = hash_prefix(hash_prefix(HASH64_BASIS, &match->src), &match->dst);

	hash = hash64_step(hash, (uint64_t)(uint32_t)match->wire << 32 | (uint32_t)match->vlan);
	hash = hash64_step(hash, (uint64_t)match->direction << 32 | (uint32_t)match->dscp);
	hash = hash64_step(
		hash, (uint64_t)match->src_port.first << 48 | (uint64_t)match->src_port.last << 32 |
			      (uint64_t)match->dst_port.first << 16 | match->dst_port.last);
	hash = hash64_step(hash, (uint64_t)match->last << 8 | match->proto);
	return splitmix64_next(&hash);
}

/* Returns the place of an equal match, or the free place for it. */
static struct match_place *find_seen(const struct seen_matches *seen, const struct match *match)
{
	uint64_t at = hash_match(match) & seen->mask;

	while (seen->places[at].match != NONE &&
		!match_equal(policy_match(&seen->policies[seen->places[at].policy],
				     seen->places[at].match),
			match))
		at = (at + 1) & seen->mask;
	return &seen->places[at];
}

static void see_policy(
	const struct seen_matches *seen, unsigned policy, match_twins_fn found, void *context)
{
	const struct policy *of = &seen->policies[policy];

	for (unsigned i = 0; i < policy_n_matches(of); i++) {
		const struct match *match = policy_match(of, i);
		struct match_place *place;

		if (match->wire < CONFIG_ANY)
			continue;
		place = find_seen(seen, match);
		if (place->match != NONE)
			found(context, *place, (struct match_place){policy, i});
		else
			*place = (struct match_place){policy, i};
	}
}

int policies_match_twins(
	const struct policy *policies, unsigned n, match_twins_fn found, void *context)
{
	uint64_t size = 16;
	struct seen_matches seen = {.policies = policies};

	while (size < 2 * policies_count_matches(policies, n))
		size *= 2;
	seen.mask = size - 1;
	seen.places = malloc(size * sizeof(*seen.places));
	if (!seen.places)
		return -ENOMEM;
	memset(seen.places, 0xff, size * sizeof(*seen.places));
	for (unsigned i = 0; i < n; i++)
		see_policy(&seen, i, found, context);
	free(seen.places);
	return 0;
}

void policies_free(struct policy *policies, unsigned n)
{
	for (unsigned i = 0; policies && i < n; i++) {
		schedule_free(policies[i].schedule);
		free(policies[i].more);
	}
	free(policies);
}

/* Overlap. */

static bool values_meet(int a, int b, int any)
{
	return a == b || a == any || b == any;
}

static bool ranges_meet(struct port_range a, struct port_range b)
{
	return a.first == 0 || b.first == 0 || (a.first <= b.last && b.first <= a.last);
}

static bool prefixes_meet(const struct prefix *a, const struct prefix *b)
{
	unsigned bits = a->length < b->length ? a->length : b->length, at = bits / 8;

	if (a->family == 0 || b->family == 0)
		return true;
	if (a->family != b->family)
		return false;
	for (unsigned i = 0; i < at; i++)
		if (a->addr[i] != b->addr[i])
			return false;
	return bits % 8 == 0 || ((a->addr[at] ^ b->addr[at]) & 0xff00 >> bits % 8 & 0xff) == 0;
}

bool match_overlaps(const struct match *a, const struct match *b)
{
	return values_meet(a->wire, b->wire, CONFIG_ANY) &&
	       values_meet((int)a->direction, (int)b->direction, DIRECTION_ANY) &&
	       values_meet(a->vlan, b->vlan, CONFIG_ANY) &&
	       values_meet(a->dscp, b->dscp, CONFIG_ANY) && values_meet(a->proto, b->proto, 0) &&
	       ranges_meet(a->src_port, b->src_port) && ranges_meet(a->dst_port, b->dst_port) &&
	       prefixes_meet(&a->src, &b->src) && prefixes_meet(&a->dst, &b->dst);
}

/* The old and the new policies, and the matches of placed ones among both. */
struct sides {
	const struct policy *old, *policies;
	unsigned n_old, n;
	const struct match **placed;
	uint64_t n_placed;
	uint64_t pairs; /* comparisons that are left */
};

static void add_placed(struct sides *sides, const struct policy *policies, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		unsigned n_matches = policy_is_placed(&policies[i]) ? policy_n_matches(&policies[i])
								    : 0;

		for (unsigned k = 0; k < n_matches; k++)
			sides->placed[sides->n_placed++] = policy_match(&policies[i], k);
	}
}

static bool match_matters(struct sides *sides, const struct match *match)
{
	if (sides->pairs < sides->n_placed)
		return true;
	sides->pairs -= sides->n_placed;
	for (uint64_t i = 0; i < sides->n_placed; i++)
		if (match_overlaps(match, sides->placed[i]))
			return true;
	return false;
}

/*
 * Returns true if the packets of a changed policy can overlap with a placed one. Placed policies
 * overlap with themselves.
 */
static bool overlap_matters(struct sides *sides, const struct policy *policy)
{
	for (unsigned i = 0; i < policy_n_matches(policy); i++)
		if (match_matters(sides, policy_match(policy, i)))
			return true;
	return false;
}

/*
 * Checks a policy that stays, with its old version in `before`, or a new one, with `before` NULL.
 */
static bool new_one_matters(struct sides *sides, const struct policy *policy,
	const struct policy *before, bool keeps, uint8_t changes)
{
	if (!keeps && (policy_is_placed(policy) || (before && policy_is_placed(before))))
		return true;
	if (!(changes & (POLICY_ADDED | POLICY_MATCH)))
		return false;
	return overlap_matters(sides, policy) || (before && overlap_matters(sides, before));
}

/*
 * Checks policies that stay or are new. Sets stays[] of the former. Their order matters, because
 * the first in the file wins between equal matches.
 */
static bool new_ones_matter(
	const struct config_diff *diff, struct sides *sides, const bool *keeps, bool *stays)
{
	unsigned next = 0;

	for (unsigned i = 0; i < diff->n; i++) {
		unsigned from = diff->from[i];
		const struct policy *before = from == POLICY_NEW ? NULL : &sides->old[from];

		if (before && from < next)
			return true;
		if (new_one_matters(sides, &sides->policies[i], before, keeps[i], diff->changes[i]))
			return true;
		if (!before)
			continue;
		stays[from] = true;
		next = from + 1;
	}
	return false;
}

static bool old_ones_matter(struct sides *sides, const bool *stays)
{
	for (unsigned i = 0; i < sides->n_old; i++)
		if (!stays[i] && overlap_matters(sides, &sides->old[i]))
			return true;
	return false;
}

/* Checks nothing if no policy is placed. */
static bool any_matters(
	const struct config_diff *diff, struct sides *sides, const bool *keeps, bool *stays)
{
	add_placed(sides, sides->old, sides->n_old);
	add_placed(sides, sides->policies, sides->n);
	return sides->n_placed > 0 &&
	       (new_ones_matter(diff, sides, keeps, stays) || old_ones_matter(sides, stays));
}

bool policies_retarget(const struct config_diff *diff, const struct policy *old, unsigned n_old,
	const struct policy *policies, const bool *keeps, uint64_t pairs)
{
	struct sides sides = {
		.old = old, .policies = policies, .n_old = n_old, .n = diff->n, .pairs = pairs};
	bool *stays = calloc((size_t)n_old + 1, sizeof(*stays)), retarget;

	sides.placed = calloc(
		policies_count_matches(old, n_old) + policies_count_matches(policies, diff->n) + 1,
		sizeof(*sides.placed));
	retarget = !stays || !sides.placed || any_matters(diff, &sides, keeps, stays);
	free(sides.placed);
	free(stays);
	return retarget;
}
