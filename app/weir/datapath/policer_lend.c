/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "policer_lend.h"

/*
 * Returns true if the limit of a borrowing policy has ended, and sets *end. No policy ends in both
 * ways.
 */
static __rte_noinline bool limit_has_ended(const struct worker *w, const struct policy_state *state,
	uint32_t policy, struct police_end *end)
{
	const struct worker_own *own = &w->own;

	*end = (struct police_end){.from = own->ended};
	if (own->ended)
		end->ending = w->ending[policy];
	if (end->ending || !own->unheard)
		return end->ending;
	*end = (struct police_end){own->unheard, police_burst_least(state),
		__atomic_load_n(&w->soft_ending[policy], __ATOMIC_RELAXED)};
	return end->ending;
}

void policer_lend(
	struct worker *w, struct policy_state *state, uint32_t policy, uint32_t cost, uint64_t now)
{
	struct shared_bucket *shared = &w->shared_buckets[policy];
	struct police_end end;

	if (unlikely(policer_limits_end(w)) && limit_has_ended(w, state, policy, &end))
		police_borrow_ended(state, shared, cost, now, &end);
	else if (police_is_simple(state))
		police_borrow(state, shared, cost, now);
	else
		police_borrow_other(state, shared, cost, now);
}
