/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Generalized distributed rate limiting (Stanojevic and Shorten, IWQoS 2009), and its indicators.
 */
#include "allocate/gdrl.h"

#include <math.h>
#include <string.h>

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
	neighbour->reported = *statement;
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
		amounts[k] = flow_to_neighbour(self, q, &other->reported);
		sum += amounts[k];
	}
	return fit_to_budget(amounts, n, sum, above < self->free ? above : self->free);
}

/* --- indicators ------------------------------------------------------------------------------- */

/*
 * Performance indicators (GDRL, sections I-A and III-A): f, its inverse and its slope. Each is
 * finite if its arguments are, because statements must be finite.
 */

/* An M/M/1 queue near its capacity: from this delay on, f continues as its tangent there. */
#define DELAY_MOST 0.1 /* seconds */

/* Arrivals that exceed the capacity, or, below zero, the spare capacity: equation 14. */
static double spare_value(const struct gdrl_measure *m)
{
	return m->demand - m->capacity;
}

static double spare_inverse(const struct gdrl_measure *m, double q)
{
	return m->demand - q;
}

static double slope_of_one(const struct gdrl_measure *m)
{
	(void)m;
	return 1;
}

/* Returns the rate, at least m->least, or one packet a second if that is 0: a safe divisor. */
static double at_least_some(const struct gdrl_measure *m, double rate)
{
	return fmax(rate, m->least > 0 ? m->least : m->packet);
}

/* Demand by capacity. */
static double utilisation_value(const struct gdrl_measure *m)
{
	return m->demand / at_least_some(m, m->capacity);
}

static double utilisation_inverse(const struct gdrl_measure *m, double q)
{
	return m->demand / q;
}

static double utilisation_slope(const struct gdrl_measure *m)
{
	double capacity = at_least_some(m, m->capacity);

	return capacity * (capacity / at_least_some(m, m->demand));
}

static double drops_value(const struct gdrl_measure *m)
{
	return m->dropped >= 0 ? m->dropped : fmax(0, m->demand - m->capacity);
}

/* Part of the demand that is dropped, at most 1. */
static double loss_value(const struct gdrl_measure *m)
{
	return fmin(1, drops_value(m) / at_least_some(m, m->demand));
}

static double loss_inverse(const struct gdrl_measure *m, double q)
{
	return m->demand * (1 - q);
}

static double loss_slope(const struct gdrl_measure *m)
{
	return at_least_some(m, m->demand);
}

/*
 * Returns delay times spare capacity: one packet in an M/M/1 queue (GDRL, section III-A). With a
 * measured delay it is the measured product, so that other queues have the same shape.
 */
static double delay_scale(const struct gdrl_measure *m)
{
	double spare = m->capacity - m->demand;

	return m->delay_s > 0 && spare > 0 ? m->delay_s * spare : m->packet;
}

static double delay_value(const struct gdrl_measure *m)
{
	double spare = m->capacity - m->demand, least = m->packet / DELAY_MOST;

	if (m->delay_s > 0)
		return m->delay_s;
	if (spare >= least)
		return m->packet / spare;
	return DELAY_MOST * (2 - spare / least);
}

static double delay_inverse(const struct gdrl_measure *m, double q)
{
	double scale = delay_scale(m);

	if (q <= DELAY_MOST)
		return m->demand + scale / q;
	return m->demand + scale / DELAY_MOST * (2 - q / DELAY_MOST);
}

static double delay_slope(const struct gdrl_measure *m)
{
	double q = fmin(delay_value(m), DELAY_MOST);

	return delay_scale(m) / q / q;
}

const struct gdrl_indicator gdrl_spare = {"spare", "B/s", spare_value, spare_inverse, slope_of_one};
const struct gdrl_indicator gdrl_utilisation = {
	"utilisation", "", utilisation_value, utilisation_inverse, utilisation_slope};
const struct gdrl_indicator gdrl_loss = {"loss", "", loss_value, loss_inverse, loss_slope};
const struct gdrl_indicator gdrl_drops = {"drops", "B/s", drops_value, spare_inverse, slope_of_one};
const struct gdrl_indicator gdrl_delay = {"delay", "s", delay_value, delay_inverse, delay_slope};

static const struct gdrl_indicator *const indicators[] = {
	&gdrl_spare,
	&gdrl_utilisation,
	&gdrl_loss,
	&gdrl_drops,
	&gdrl_delay,
};

const struct gdrl_indicator *gdrl_indicator_find(const char *name)
{
	for (size_t i = 0; i < sizeof(indicators) / sizeof(indicators[0]); i++)
		if (strcmp(indicators[i]->name, name) == 0)
			return indicators[i];
	return NULL;
}

const char *gdrl_indicator_names(void)
{
	return "spare, utilisation, loss, drops, delay";
}
