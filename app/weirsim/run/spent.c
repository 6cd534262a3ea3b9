/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Units that packets have spent of quotas, at all limiters.
 */
#include "spent.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "base/time.h"
#include "node.h"
#include "policy/kind.h"
#include "policy/period.h"
#include "node_clock.h"
#include "record.h"

/* Returns the last period that any limiter's clock reaches. */
static uint64_t last_period(const struct sim *sim, const struct policy *policy)
{
	uint64_t last = 0;

	for (unsigned i = 0; i < sim->scenario->n_limiters; i++) {
		const struct node node = {.index = i};
		uint64_t number = period_number(
			policy, node_wall_s(sim, &node, sim->scenario->duration_ns) + 1);

		last = number > last ? number : last;
	}
	return last;
}

static int spent_alloc(const struct sim *sim, const struct policy *policy, struct spent *spent)
{
	spent->first = period_number(policy, 0);
	spent->n_periods = (unsigned)(last_period(sim, policy) - spent->first) + 1;
	spent->by_limiter = calloc(sim->scenario->n_limiters, sizeof(*spent->by_limiter));
	spent->by_period = calloc(spent->n_periods, sizeof(*spent->by_period));
	spent->begun = calloc(spent->n_periods, sizeof(*spent->begun));
	return spent->by_limiter && spent->by_period && spent->begun ? 0 : -ENOMEM;
}

int spent_create(struct sim *sim)
{
	const struct group *group = &sim->scenario->group;
	int ret = 0;

	sim->spent = calloc(group->n_policies, sizeof(*sim->spent));
	if (!sim->spent)
		return -ENOMEM;
	for (unsigned p = 0; ret == 0 && p < group->n_policies; p++)
		if (policy_is_quota(&group->policies[p]))
			ret = spent_alloc(sim, &group->policies[p], &sim->spent[p]);
	return ret;
}

void spent_free(struct sim *sim)
{
	for (unsigned p = 0; sim->spent && p < sim->scenario->group.n_policies; p++) {
		free(sim->spent[p].by_limiter);
		free(sim->spent[p].by_period);
		free(sim->spent[p].begun);
	}
	free(sim->spent);
}

void spent_begins(struct sim *sim, unsigned policy, uint64_t period)
{
	struct spent *spent = &sim->spent[policy];

	if (period == 0) /* the number is not available yet */
		return;
	spent->n_begun += !spent->begun[period - spent->first];
	spent->begun[period - spent->first] = true;
}

/* A worker spends its units also after their period ends, so a period can have units of two. */
void spent_add(struct sim *sim, unsigned policy, unsigned limiter, uint64_t period, uint64_t units,
	uint64_t earlier)
{
	const struct policy *of = &sim->scenario->group.policies[policy];
	struct spent *spent = &sim->spent[policy];
	uint64_t *within = &spent->by_period[period - spent->first];

	spent->by_limiter[limiter] += units;
	spent->all += units;
	*within += units - earlier;
	if (*within > of->total)
		record_problem(sim, "policy %s: %" PRIu64 " units of period %" PRIu64 " are spent",
			of->name, *within, period);
	if (spent->all > of->total * spent->n_begun)
		record_problem(sim, "policy %s: %" PRIu64 " units are spent in %u periods",
			of->name, spent->all, spent->n_begun);
}

static double part_of_totals(const struct sim *sim, unsigned policy, uint64_t units)
{
	const struct policy *of = &sim->scenario->group.policies[policy];

	return (double)units / ((double)of->total * sim->spent[policy].n_begun);
}

double spent_ratio(const struct sim *sim, unsigned policy)
{
	return part_of_totals(sim, policy, sim->spent[policy].all);
}

double spent_ratio_of(const struct sim *sim, unsigned policy, unsigned limiter)
{
	return part_of_totals(sim, policy, sim->spent[policy].by_limiter[limiter]);
}
