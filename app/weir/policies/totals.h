/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * What policies and workers have counted, summed over the workers. To look is to fold, as the
 * workers' counters are narrow: so these change what they look at, but for those that say `const`.
 * Control.
 */
#ifndef WEIR_APP_TOTALS_H
#define WEIR_APP_TOTALS_H

#include "box.h"

/* A worker's packets of the policy in a slot, as last folded. */
static inline struct police_totals *box_totals(
	const struct box *box, uint32_t slot, unsigned worker)
{
	return &box->totals[(size_t)slot * box->config->n_workers + worker];
}

/* box_totals(), folded: every measurement and every look does it. */
struct police_totals *box_fold(struct box *box, uint32_t slot, unsigned worker);

/* Packets of the policy in a slot that wait, on all workers, and what it counts of them. */
struct waiting {
	uint64_t packets, units;
};
struct waiting box_waiting(const struct box *box, uint32_t slot);

/* What was counted in the slot itself. If that is news, a policy that naps in it wakes. */
struct policy_totals box_slot_totals(struct box *box, uint32_t slot);

/* What its policy has counted, there and before. */
struct policy_totals box_policy_totals(struct box *box, uint32_t slot);

/* A policy's tables of sources, all zero if it has none. */
struct source_table_stats box_source_totals(const struct box *box, uint32_t slot);

struct worker_counters box_worker_totals(const struct box *box);

void policy_totals_add(struct policy_totals *totals, const struct policy_totals *more);

#endif
