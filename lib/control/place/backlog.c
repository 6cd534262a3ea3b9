/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include <math.h>

#include "place/place_private.h"

#define HALVINGS 100

/*
 * Part of the limit that counts as all of it: a load equal to the limit, except for rounding, also
 * waits forever.
 */
#define FULL (1 - 1e-9)

static double burst_moment(const struct mix *mix, double decay)
{
	double sum = 0;

	for (unsigned i = 0; i < mix->n; i++)
		sum += mix->rates[i] * expm1(decay * mix->sizes[i]);
	return sum;
}

/*
 * Returns the positive root of burst_moment(decay) = decay speed. It exists if the load is below
 * speed.
 */
static double burst_decay_rate(const struct mix *mix, double speed)
{
	double low = 0, high = 1;

	for (unsigned i = 0; i < mix->n; i++)
		high = fmin(high, 1 / mix->sizes[i]);
	while (burst_moment(mix, high) < high * speed)
		high *= 2;
	for (unsigned i = 0; i < HALVINGS; i++) {
		double middle = (low + high) / 2;

		if (burst_moment(mix, middle) < middle * speed)
			low = middle;
		else
			high = middle;
	}
	return (low + high) / 2;
}

double mix_square(const struct mix *mix)
{
	double sum = 0;

	for (unsigned i = 0; i < mix->n; i++)
		sum += mix->rates[i] * mix->sizes[i] * mix->sizes[i];
	return sum;
}

/*
 * Sets the backlog at the arrival of a unit, including earlier units of its own burst. For any mix,
 * the sum over all positions in bursts is the tail of the work divided by the load.
 */
void backlog_of(struct backlog *backlog, const struct mix *mix, double limit)
{
	double derivative = -limit, squares = mix_square(mix);

	*backlog = (struct backlog){.constant = 1};
	if (mix->load >= FULL * limit)
		return;
	backlog->decay = burst_decay_rate(mix, limit);
	for (unsigned i = 0; i < mix->n; i++)
		derivative += mix->rates[i] * mix->sizes[i] * exp(backlog->decay * mix->sizes[i]);
	if (!(derivative > 0)) {
		backlog->decay = 0; /* below rounding errors */
		return;
	}
	backlog->constant = (limit - mix->load) / derivative * limit / mix->load;
	if (mix->period > 0)
		backlog->bridge = 2 * mix->steady / mix->load / (squares * mix->period);
}

double backlog_tail(const struct backlog *backlog, double x)
{
	return fmin(1, backlog->constant * exp(-backlog->decay * x - backlog->bridge * x * x));
}

/* Returns the x that a share exceeds. */
double backlog_level(const struct backlog *backlog, double share)
{
	double low = 0, high = 1;

	if (backlog->decay <= 0)
		return HUGE_VAL;
	while (backlog_tail(backlog, high) > share)
		high *= 2;
	for (unsigned i = 0; i < HALVINGS; i++) {
		double middle = (low + high) / 2;

		if (backlog_tail(backlog, middle) > share)
			low = middle;
		else
			high = middle;
	}
	return high;
}

/*
 * Scales the burst by the error of the model for the whole bucket, because the parts have the same
 * error. The same is true for a record shorter than the measurement.
 */
double place_worth(const struct placer *placer, const struct placement *placement)
{
	const struct place_aggregate *a = &placer->problem->aggregate;
	struct backlog whole;
	struct mix mix;

	if (a->backlog <= 0)
		return 1;
	if (placer->level > 0)
		return placer->level / a->backlog;
	mix_of(&mix, placer, placement->at, PLACE_NOWHERE, 0);
	backlog_of(&whole, &mix, (double)a->limit);
	return whole.decay > 0 ? backlog_level(&whole, PLACE_TAIL) / a->backlog : 1;
}
