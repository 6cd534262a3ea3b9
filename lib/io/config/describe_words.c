/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Words for the unit, the limit and the action of a policy (describe.h).
 */
#include "config/describe.h"

#include "policy/units.h"

const char *counting_words(const struct policy *policy)
{
	static const char *const accountings[] = {
		[ACCOUNTING_L2] = "L2 bytes (whole frames without FCS)",
		[ACCOUNTING_L3] = "L3 bytes (without Ethernet and VLAN headers)",
		[ACCOUNTING_WIRE] = "wire bytes (frames and 24 bytes each: FCS, preamble, gap)",
	};

	if (policy->count == COUNT_PACKETS)
		return "packets";
	if (policy->count == COUNT_FLOWS)
		return "new flows (TCP SYN, first packet of a UDP flow)";
	return accountings[policy->accounting];
}

char *format_limit(const struct policy *policy, unsigned parts, char *buf, size_t size)
{
	return policy->count == COUNT_BYTES
		       ? units_format_rate(policy->limit_bps / parts, buf, size)
		       : units_format_count_part(
				 policy->limit_bps, policy_limit_s(policy), parts, buf, size);
}

char *format_units(const struct policy *policy, uint64_t units, char *buf, size_t size)
{
	return policy->count == COUNT_BYTES ? units_format_size(units, buf, size)
					    : units_format_count(units, buf, size);
}

void describe_action(const struct policy *policy, FILE *out)
{
	if (policy->action == ACTION_PASS)
		fputs("passes", out);
	else if (policy->action == ACTION_DROP)
		fputs("is dropped", out);
	else if (policy->action == ACTION_COUNT)
		fputs("is counted, and passes", out);
	else if (policy->action == ACTION_SHAPE)
		fputs("waits", out);
	else if (policy->mark == MARK_ECN)
		fputs("is marked (ECN: congestion experienced), or dropped if it cannot be", out);
	else
		fprintf(out, "is marked (DSCP %d), or dropped if it cannot be", policy->mark);
}
