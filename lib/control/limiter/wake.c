/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Idle policies, which ticks leave out, become active again.
 */
#include "base/bitmap.h"
#include "base/time.h"
#include "limiter/aggregate.h"

void aggregate_catch_up(struct aggregate *a, uint64_t ticked_ns)
{
	uint64_t period = a->policy.interval_ns, slept_ns;
	double slept_s;

	if (ticked_ns < a->next_ns)
		return;
	a->next_ns += ((ticked_ns - a->next_ns) / period + 1) * period;
	slept_ns = a->next_ns - period - a->measured_ns;
	slept_s = (double)slept_ns / SECOND_NS;
	a->measured_ns += slept_ns;
	a->demand.seen = 1 - (1 - a->demand.seen) * demand_keep(a->policy.keep_per_second, slept_s);
	allocate_rest(&a->state, slept_s);
}

void limiter_wake(struct limiter *l, unsigned policy)
{
	if (bitmap_has(l->active, policy))
		return;
	bitmap_set(l->active, policy);
	aggregate_catch_up(&l->aggregates[policy], l->ticked_ns);
}
