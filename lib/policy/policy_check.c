/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include <string.h>

#include "allocate/allocate.h"
#include "policy/check.h"
#include "policy/unique.h"

#define BURST_DEFAULT_MIN   15000 /* bytes: ten packets of the usual MTU */
#define BURST_DEFAULT_SHARE 10    /* a tenth of a second of the limit */

static const struct json_path path_policies = {.key = "policies"};

static uint64_t default_burst(uint64_t limit_bps)
{
	uint64_t bytes = limit_bps / 8 / BURST_DEFAULT_SHARE;

	if (bytes < BURST_DEFAULT_MIN)
		return BURST_DEFAULT_MIN;
	return bytes < CONFIG_BURST_MAX ? bytes : CONFIG_BURST_MAX;
}

void policies_complete(struct policy *policies, unsigned n, unsigned n_limiters)
{
	for (unsigned i = 0; i < n; i++) {
		struct policy *policy = &policies[i];

		if (policy->burst_bytes == 0)
			policy->burst_bytes = default_burst(policy->limit_bps);
		if (policy->allocator == NULL)
			policy->allocator = allocator_find(n_limiters > 1 ? "fps" : "central");
	}
}

static bool match_known(const void *element)
{
	return ((const struct policy *)element)->match.wire != WIRE_REFUSED;
}

static int prefix_compare(const struct prefix *a, const struct prefix *b)
{
	if (a->family != b->family)
		return a->family - b->family;
	if (a->length != b->length)
		return a->length - b->length;
	return memcmp(a->addr, b->addr, sizeof(a->addr));
}

static int match_compare(const void *a, const void *b)
{
	const struct match *left = &((const struct policy *)a)->match;
	const struct match *right = &((const struct policy *)b)->match;
	const int orders[] = {
		left->wire - right->wire,
		(int)left->direction - (int)right->direction,
		left->vlan - right->vlan,
		left->dscp - right->dscp,
		prefix_compare(&left->src, &right->src),
		prefix_compare(&left->dst, &right->dst),
	};

	for (size_t i = 0; i < sizeof(orders) / sizeof(orders[0]); i++) {
		if (orders[i] != 0)
			return orders[i];
	}
	return 0;
}

static const struct unique names[] = {
	{&path_policies, "name", "a name", sizeof(struct policy), false, name_known, name_compare},
	{&path_policies, "name", "a name with a 32-bit FNV-1a hash", sizeof(struct policy), false,
		name_known, hash_compare},
};

static const struct unique matches = {&path_policies, "match", "a match", sizeof(struct policy),
	false, match_known, match_compare};

void policies_check_matches(struct reader *reader, const struct policy *policies, unsigned n)
{
	check_unique(reader, &matches, policies, n);
}

static void check_allocator(struct reader *reader, const struct json_path *path,
	const struct policy *policy, unsigned n_limiters)
{
	const struct allocator *allocator = policy->allocator;
	struct json_path at = {.parent = path, .key = "allocator"};

	if (allocator == NULL || (allocator->alone && n_limiters > 1))
		reader_expected(reader, &at,
			"an allocator that can share the limit between %u limiters", n_limiters);
}

void policies_check(
	struct reader *reader, const struct policy *policies, unsigned n, unsigned n_limiters)
{
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		check_unique(reader, &names[i], policies, n);
	for (unsigned i = 0; i < n; i++) {
		struct json_path path = {.parent = &path_policies, .index = i};

		check_allocator(reader, &path, &policies[i], n_limiters);
	}
}
