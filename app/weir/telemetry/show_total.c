/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The quota of a policy, and an alarm when it is spent.
 */
#include "show.h"

#include <rte_common.h>

#include "credits.h"
#include "etcd_share.h"
#include "instance.h"

/* The group by the latest reports, and etcd if the quota is there. */
static void read_total(const struct instance *inst, unsigned i, const struct quota_view *view,
	struct show_total *of)
{
	const struct policy *policy = &inst->policies[i];
	uint64_t left = view->group.remaining;
	struct budget_share_view share = {0};
	bool drawn = etcd_share_budget_of(inst, i, &share) && share.known;
	uint64_t credit = credits_held(inst, inst->slots.of[i]), total;

	total = drawn ? share.total : policy->total;
	*of = (struct show_total){.total = total,
		.prefetched = view->prepaid + credit,
		/* For the ledger, units are spent once they are taken. */
		.spent = view->spent - RTE_MIN(view->spent, view->prepaid + credit),
		.left = left + RTE_MIN(credit, total - RTE_MIN(total, left)),
		.known = view->group.known && !view->undated && !view->recovering &&
			 (!policy->drawn || drawn),
		.held = view->group.held};
	/* The reply of etcd can be older than the reports of the group. */
	if (drawn)
		of->left = RTE_MIN(of->left + share.left, RTE_MAX(of->total, of->left));
}

bool show_total_of(const struct instance *inst, unsigned policy, struct show_total *of)
{
	const struct budget *budget = limiter_budget(inst->limiter);
	struct quota_view view;
	unsigned index;

	if (!budget)
		return false;
	index = limiter_budget_index(inst->limiter, policy);
	if (index == LIMITER_ADDED)
		return false;
	view = budget_view(budget, index, control_now());
	read_total(inst, policy, &view, of);
	return true;
}

/* A quota is spent if less than this part is left: packets are larger, or a limiter holds it. */
#define SPENT_PART 1000

static bool is_spent(const struct instance *inst, unsigned i)
{
	struct show_total of;

	return show_total_of(inst, i, &of) && of.known && of.left <= of.total / SPENT_PART;
}

unsigned show_spent_totals(const struct instance *inst, const char **first)
{
	unsigned n = 0;

	for (unsigned i = 0; limiter_budget(inst->limiter) && i < inst->n_policies; i++)
		if (is_spent(inst, i) && n++ == 0)
			*first = inst->policies[i].name;
	return n;
}

void alarm_spent_totals(const struct instance *inst, json_t *alarms)
{
	const char *first = "";
	unsigned n = show_spent_totals(inst, &first);

	if (n == 1)
		json_array_append_new(alarms, json_sprintf("the total of %s is spent", first));
	else if (n)
		json_array_append_new(alarms,
			json_sprintf("%u totals are spent, that of %s the first one", n, first));
}
