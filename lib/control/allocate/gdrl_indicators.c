/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Performance indicators (GDRL, sections I-A and III-A): f, its inverse and its slope. Each is
 * finite if its arguments are, because statements must be finite.
 */
#include "allocate/gdrl.h"

#include <math.h>
#include <string.h>

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
