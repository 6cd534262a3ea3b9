/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Compares the overshoot meter of every limiter with the true sum of the local limits.
 */
#include <math.h>

#include "command/output.h"
#include "node.h"
#include "node_clock.h"
#include "record.h"

#define ROUNDING 0.00001 /* a bound can be lower than the truth by this part of the limit */

void overshoot_note(struct sim *sim, unsigned policy)
{
	struct truth *truth = &sim->truth[policy];

	if (truth->n == 0 || truth->at_ns[(truth->n - 1) % TRUTHS] != sim->events.now_ns)
		truth->n++;
	truth->at_ns[(truth->n - 1) % TRUTHS] = sim->events.now_ns;
	truth->sum[(truth->n - 1) % TRUTHS] = sim->enforced[policy].limit;
}

/* The sum at a time, or a negative number if it is not remembered. */
static double true_sum(const struct truth *truth, uint64_t at_ns)
{
	for (uint64_t i = 1; i <= truth->n && i <= TRUTHS; i++)
		if (truth->at_ns[(truth->n - i) % TRUTHS] <= at_ns)
			return truth->sum[(truth->n - i) % TRUTHS];
	return -1;
}

void overshoot_check(struct sim *sim, const struct node *node, unsigned p)
{
	struct limiter_overshoot over = limiter_overshoot(node->limiter, p);
	double rounding = ROUNDING * policy_rate(&sim->scenario->group.policies[p]);
	struct truth *truth = &sim->truth[p];
	double sum = over.known ? true_sum(truth, node_time(sim, node, over.at_ns)) : -1;
	double unheard = fmax(over.unheard_most, over.unheard * sim->in_force[p].most_ever);

	if (sum < 0)
		return;
	/* A peer without a report can have another limit. */
	if (over.bound + unheard < sum - rounding)
		record_problem(sim, "limiter %u, policy %u: %.0f bytes/s are enforced, bound %.0f",
			node->index, p, sum, over.bound + unheard);
	truth->bounds++;
	if (over.unheard > 0)
		return;
	truth->complete++;
	truth->sum_of_bounds += over.bound;
	truth->sum_of_sums += sum;
}

void overshoot_put(const struct sim *sim, unsigned policy, json_t *out)
{
	const struct truth *truth = &sim->truth[policy];

	if (truth->sum_of_sums <= 0)
		return;
	output_number(out, "bound_truth_ratio", truth->sum_of_bounds / truth->sum_of_sums);
	output_number(out, "bound_complete_ratio", (double)truth->complete / (double)truth->bounds);
}
