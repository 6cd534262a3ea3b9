/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "police/extra.h"

#include "flow/new_flow.h"
#include "police/profile.h"
#include "source/source_table.h"

static size_t whole_lines(size_t bytes)
{
	return (bytes + CACHE_LINE - 1) / CACHE_LINE * CACHE_LINE;
}

static size_t sources_bytes(const struct policy *policy)
{
	if (!policy->per_v4 && !policy->per_v6)
		return 0;
	return whole_lines(source_table_bytes(limit_profile_kind(policy), policy->sources));
}

static size_t flows_bytes(const struct policy *policy)
{
	return policy->count == COUNT_FLOWS ? whole_lines(new_flows_bytes(POLICE_FLOWS)) : 0;
}

size_t police_extra_bytes(const struct policy *policy)
{
	return sources_bytes(policy) + flows_bytes(policy);
}

void police_extra_init(struct policy_extra *extra, void *memory, const struct policy *policy,
	uint64_t secret, uint64_t hz)
{
	size_t sources = sources_bytes(policy);

	*extra = (struct policy_extra){0};
	if (sources)
		extra->sources = source_table_init(
			memory, limit_profile_kind(policy), policy->sources, secret);
	if (flows_bytes(policy)) {
		extra->flows = (struct new_flows *)((uint8_t *)memory + sources);
		new_flows_init(extra->flows, POLICE_FLOWS, hz);
	}
}

void police_age(struct policy_extra *extra, const struct limit_profile *profile, uint64_t now,
	unsigned lines)
{
	if (extra->sources)
		source_table_age(extra->sources, &profile->meter, now, lines);
}
