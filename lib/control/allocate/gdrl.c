/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "allocate/gdrl.h"

#include <math.h>

/* More than any capacity, and exact as a double. */
#define MOST 0x1p61

struct gdrl_statement gdrl_state(const struct gdrl_self *self)
{
	return (struct gdrl_statement){
		.q = self->indicator->value(&self->measure),
		.gain = gdrl_eta_bound(self->indicator->slope(&self->measure), self->degree),
	};
}

bool gdrl_receive(struct gdrl_neighbour *neighbour, const struct gdrl_statement *statement)
{
	if (!isfinite(statement->q) || !isfinite(statement->gain) || statement->gain <= 0)
		return false;
	neighbour->heard = *statement;
	neighbour->fresh = true;
	return true;
}

/* Returns whole bytes per second of a flow; 0 if it is not a number. */
static uint64_t round_flow_down(double flow)
{
	return flow >= 1 ? (uint64_t)fmin(flow, MOST) : 0;
}

/* Returns the amount for a neighbour before the cut to the budget. */
static uint64_t flow_to_neighbour(
	const struct gdrl_self *self, double q, const struct gdrl_statement *other)
{
	double apart = other->q - q, room, flow;

	if (!(apart > 0))
		return 0;
	room = self->measure.capacity - self->indicator->inverse(&self->measure, other->q);
	flow = fmin(gdrl_eta_bound(room, self->degree), other->gain * apart);
	if (self->eta > 0)
		flow = fmin(flow, self->eta * apart);
	return round_flow_down(flow);
}

/* Cuts all in proportion, so that their sum is no more than the budget; returns the sum. */
static uint64_t fit_to_budget(uint64_t *amounts, unsigned n, unsigned __int128 sum, uint64_t budget)
{
	uint64_t given = 0;

	for (unsigned k = 0; k < n; k++) {
		if (sum > budget)
			amounts[k] = (uint64_t)((unsigned __int128)amounts[k] * budget / sum);
		given += amounts[k];
	}
	return given;
}

uint64_t gdrl_step(const struct gdrl_self *self, struct gdrl_neighbour *neighbours, unsigned n,
	uint64_t *amounts)
{
	uint64_t above = self->held > self->floor ? self->held - self->floor : 0;
	double q = self->indicator->value(&self->measure);
	unsigned __int128 sum = 0;

	for (unsigned k = 0; k < n; k++) {
		struct gdrl_neighbour *other = &neighbours[k];

		amounts[k] = 0;
		if (!other->in_use || !other->fresh || other->in_flight > 0)
			continue;
		other->fresh = false;
		amounts[k] = flow_to_neighbour(self, q, &other->heard);
		sum += amounts[k];
	}
	return fit_to_budget(amounts, n, sum, above < self->free ? above : self->free);
}
