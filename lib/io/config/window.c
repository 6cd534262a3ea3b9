/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "base/time.h"
#include "config/check.h"

/* Returns limit_bps × window_ns of one unit. */
uint64_t policy_window_unit(const struct policy *policy)
{
	return 8 * SECOND_NS * policy_limit_s(policy);
}

uint64_t policy_quota(const struct policy *policy)
{
	return (uint64_t)((unsigned __int128)policy->limit_bps * policy->window_ns /
			  policy_window_unit(policy));
}

bool policy_window_is_whole(const struct policy *policy)
{
	unsigned __int128 product = (unsigned __int128)policy->limit_bps * policy->window_ns;

	return policy->count == COUNT_BYTES || policy->count == CHOICE_REFUSED ||
	       !meter_can(policy->meter, METER_WINDOW) || product % policy_window_unit(policy) == 0;
}
