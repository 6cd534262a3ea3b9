/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Ends limits of a worker if control does not renew their lease: base/expiry.h.
 */
#include "leases_end.h"

#include "police/expire.h"
#include "worker_data.h"

/* Ends the limit of a slot. A policy that borrows keeps its `ending`: policer_lend() needs it. */
static void end_limit(struct worker *w, uint32_t slot, uint64_t from)
{
	if (police_end_limit(
		    &w->policies[slot], w->shaper, w->shared_buckets, w->ending[slot], from))
		w->ending[slot] = 0;
}

static void end_limits(struct worker *w, uint64_t from)
{
	const struct snapshot *view = &w->own.view;

	for (unsigned i = 0; i < view->n_hard; i++)
		if (w->ending[view->hard[i]])
			end_limit(w, view->hard[i], from);
}

void expire_limits(struct worker *w, uint64_t now)
{
	uint64_t from = expiry_see(&w->expiry, now);

	if (from == 0)
		return;
	w->own.ended = from;
	end_limits(w, from);
	counter_add(&w->counters.expired, 1);
}

void expire_membership(struct worker *w, uint64_t now)
{
	const struct expiry lease = {.until = expiry_until(w->membership),
		.span = __atomic_load_n(&w->membership->span, __ATOMIC_RELAXED)};
	bool past = expiry_is_past(&lease, now) && (int64_t)(now - lease.until) >= 0;

	w->own.silent = past ? lease.until : 0;
}

bool expire_lasts(struct worker *w)
{
	if (expiry_until(&w->expiry) != 0)
		w->own.ended = 0;
	return w->own.ended != 0;
}

void expire_replaced(struct worker *w, uint32_t slot, uint64_t now)
{
	if (w->ending[slot])
		end_limit(w, slot, now);
}

void expire_added(struct worker *w)
{
	if (w->own.ended)
		end_limits(w, w->own.ended);
}
