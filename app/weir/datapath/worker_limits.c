/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "worker_limits.h"

#include <stdint.h>

#include <rte_prefetch.h>

#include "leases_end.h"
#include "police/charge.h"
#include "police/extended.h"
#include "police/shaped.h"
#include "shape_out.h"
#include "tick.h"

/* Lines of a table of sources to sweep at a time: a microsecond or two. */
#define AGE_LINES 16

static void apply_limit(
	struct worker *w, const struct limit_profile *limit, uint64_t now, bool ended)
{
	struct policy_state *state = &w->policies[limit->policy];

	police_limit(state, limit, now);
	if (unlikely(limit->shaped) && police_is_shaped(state))
		shaped_limit(w->shaper, state, limit, now, w->ticks_per_us * 1000000);
	w->ending[limit->policy] = limit->ending;
	if (unlikely(ended))
		expire_replaced(w, limit->policy, now);
}

void worker_apply_limits(struct worker *w, const struct limit_profile *limits, unsigned n)
{
	uint64_t now = tick_now();
	bool ended;

	expire_look(w, now);
	shape_out_clock(w, now);
	ended = expire_lasts(w);
	for (unsigned i = 0; i < n; i++)
		rte_prefetch0(&w->policies[limits[i].policy]);
	for (unsigned i = 0; i < n; i++)
		apply_limit(w, &limits[i], now, ended);
}

void worker_catch_up(struct worker *w)
{
	for (unsigned i = 0; i <= LIMIT_RING_MAX / LIMITS_A_TURN && worker_take_limits(w); i++)
		;
}

void worker_age_table(struct worker *w)
{
	uint32_t policy = w->own.view.sourced[w->own.aged++ % w->own.view.n_sourced];

	policy_state_age(&w->policies[policy], tick_now(), AGE_LINES);
}
