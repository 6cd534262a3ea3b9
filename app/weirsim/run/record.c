/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Measurements of a run: bytes by interval, of limiters and of flows, local limits, and the fate of
 * every packet.
 */
#include "record.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/time.h"
#include "command/output.h"
#include "node.h"
#include "node_clock.h"
#include "policy/kind.h"
#include "policy/period.h"

int record_create(struct sim *sim)
{
	const struct scenario *s = sim->scenario;
	struct record *r = calloc(1, sizeof(*r));
	size_t cells;

	sim->record = r;
	if (!r)
		return -ENOMEM;
	r->bin_ns = s->interval_ns;
	r->n_bins = (unsigned)(s->duration_ns / s->interval_ns);
	cells = (size_t)s->group.n_policies * s->n_limiters * r->n_bins;
	r->forwarded = calloc(cells, sizeof(*r->forwarded));
	r->local_limit = calloc(cells, sizeof(*r->local_limit));
	r->sum_of_limits = calloc(
		(size_t)s->group.n_policies * r->n_bins, sizeof(*r->sum_of_limits));
	r->in_force = calloc((size_t)s->group.n_policies * r->n_bins, sizeof(*r->in_force));
	return r->forwarded && r->local_limit && r->sum_of_limits && r->in_force ? 0 : -ENOMEM;
}

void record_free(struct sim *sim)
{
	struct record *r = sim->record;

	if (!r)
		return;
	for (unsigned i = 0; i < r->n_flows; i++)
		free(r->flows[i].delivered);
	free(r->flows);
	free(r->requests);
	free(r->forwarded);
	free(r->local_limit);
	free(r->sum_of_limits);
	free(r->in_force);
	free(r);
}

unsigned record_flow(struct sim *sim, const struct flow_record *flow)
{
	struct record *r = sim->record;

	if (r->n_flows == r->flows_room) {
		unsigned room = r->flows_room ? 2 * r->flows_room : 64;
		struct flow_record *flows = reallocarray(r->flows, room, sizeof(*flows));

		if (!flows) {
			sim->events.error = -ENOMEM;
			return UINT32_MAX;
		}
		r->flows = flows;
		r->flows_room = room;
	}
	r->flows[r->n_flows] = *flow;
	r->flows[r->n_flows].delivered = calloc(r->n_bins + 1, sizeof(uint32_t));
	if (!r->flows[r->n_flows].delivered) {
		sim->events.error = -ENOMEM;
		return UINT32_MAX;
	}
	return r->n_flows++;
}

void record_request(struct sim *sim, const struct request_record *request)
{
	struct record *r = sim->record;

	if (r->n_requests == r->requests_room) {
		size_t room = r->requests_room ? 2 * r->requests_room : 256;
		struct request_record *requests = reallocarray(
			r->requests, room, sizeof(*requests));

		if (!requests) {
			sim->events.error = -ENOMEM;
			return;
		}
		r->requests = requests;
		r->requests_room = room;
	}
	r->requests[r->n_requests++] = *request;
}

void record_sent(struct sim *sim, unsigned flow)
{
	sim->record->flows[flow].sent++;
}

void record_fate(struct sim *sim, unsigned flow, enum fate fate)
{
	sim->record->flows[flow].fate[fate]++;
}

size_t record_row(const struct sim *sim, unsigned policy, unsigned limiter)
{
	return ((size_t)policy * sim->scenario->n_limiters + limiter) * sim->record->n_bins;
}

void record_forwarded(struct sim *sim, unsigned policy, unsigned limiter, uint32_t bytes)
{
	struct record *r = sim->record;

	if (r->bin < r->n_bins)
		r->forwarded[record_row(sim, policy, limiter) + r->bin] += bytes;
}

void record_delivered(struct sim *sim, unsigned flow, uint64_t bytes)
{
	struct record *r = sim->record;

	uint32_t *cell;

	if (r->bin >= r->n_bins)
		return;
	cell = &r->flows[flow].delivered[r->bin];
	if (__builtin_add_overflow(*cell, bytes, cell))
		record_problem(sim, "flow %u: 4 GiB in one interval: take a shorter one", flow + 1);
}

void record_limit(struct sim *sim, unsigned policy, unsigned limiter, double limit)
{
	struct record *r = sim->record;

	if (r->bin >= r->n_bins)
		return;
	r->local_limit[record_row(sim, policy, limiter) + r->bin] = (float)limit;
	r->sum_of_limits[(size_t)policy * r->n_bins + r->bin] += limit;
}

void record_end_bin(struct sim *sim)
{
	sim->record->bin += sim->record->bin < sim->record->n_bins;
	for (unsigned p = 0; p < sim->scenario->group.n_policies; p++)
		record_in_force(sim, p, sim->in_force[p].most);
}

void record_in_force(struct sim *sim, unsigned policy, double limit)
{
	struct record *r = sim->record;
	double *cell = &r->in_force[(size_t)policy * r->n_bins + r->bin];

	/* A change at the end of an interval belongs to the next one. */
	if (r->bin < r->n_bins && limit > *cell && sim->events.now_ns < (r->bin + 1) * r->bin_ns)
		*cell = limit;
}

void record_problem(struct sim *sim, const char *format, ...)
{
	va_list args;
	int n;

	if (sim->problem[0])
		return;
	n = snprintf(sim->problem, sizeof(sim->problem),
		"at %.6f s: ", (double)sim->events.now_ns / 1e9);
	va_start(args, format);
	vsnprintf(sim->problem + n, sizeof(sim->problem) - (size_t)n, format, args);
	va_end(args);
}

/* --- overshoot -------------------------------------------------------------------------------- */

/* Compares the overshoot meter of every limiter with the true sum of the local limits. */

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
	double unreported = fmax(
		over.unreported_most, over.unreported * sim->in_force[p].most_ever);

	if (sum < 0)
		return;
	/* A peer without a report can have another limit. */
	if (over.bound + unreported < sum - rounding)
		record_problem(sim, "limiter %u, policy %u: %.0f bytes/s are enforced, bound %.0f",
			node->index, p, sum, over.bound + unreported);
	truth->bounds++;
	if (over.unreported > 0)
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

/* --- units spent of quotas ------------------------------------------------------------------- */

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
