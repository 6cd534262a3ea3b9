/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The mix of batch sizes of a broker, and the backlog that it causes.
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

#define SAME 0.001 /* relative difference below which sizes are merged */

/*
 * If there are too many sizes, the nearest row absorbs the new one, without a change of the total
 * load.
 */
void mix_add(struct mix *mix, double size, double rate)
{
	unsigned at = 0;
	double units = size * rate;

	if (rate <= 0)
		return;
	/* The nearest size, by ratio. */
	for (unsigned i = 1; i < mix->n; i++)
		if (fabs(log(mix->sizes[i] / size)) < fabs(log(mix->sizes[at] / size)))
			at = i;
	mix->load += units;
	if (mix->n > 0 &&
		(mix->n == MIX_SIZES || fabs(mix->sizes[at] - size) <= SAME * mix->sizes[at])) {
		units += mix->sizes[at] * mix->rates[at];
		mix->rates[at] += rate;
		mix->sizes[at] = units / mix->rates[at];
		return;
	}
	mix->sizes[mix->n] = size;
	mix->rates[mix->n++] = rate;
}

/* Batches of one group at one broker, which arrive together. */
struct together {
	uint32_t group;
	double size, load, batch, spread, steady, period;
};

/*
 * If a burst is spread over time, the queue has the part that it cannot serve meanwhile. The rest
 * counts as separate batches.
 */
static void add_together(struct mix *mix, const struct together *t, double speed)
{
	double rate, peak;

	if (t->size <= 0)
		return;
	rate = t->load / t->size;
	peak = fmax(t->batch, t->size - speed * t->spread);
	mix_add(mix, peak, rate);
	mix_add(mix, t->batch, (t->size - peak) * rate / t->batch);
	mix->steady += t->steady;
	mix->period += t->steady * t->period;
}

void mix_of(struct mix *mix, const struct placer *placer, const uint32_t *at, uint32_t broker,
	double speed)
{
	const struct place_problem *problem = placer->problem;
	struct together t = {0};

	*mix = (struct mix){0};
	for (uint32_t i = 0; i < problem->n_sources; i++) {
		uint32_t source = placer->by_group[i];
		const struct place_source *s = &problem->sources[source];

		if (broker != PLACE_NOWHERE && at[source] != broker)
			continue;
		if (s->group == 0 || s->group != t.group) {
			add_together(mix, &t, speed);
			t = (struct together){.group = s->group};
		}
		t.size += s->batch;
		t.load += s->rate;
		t.batch = fmax(t.batch, s->batch);
		t.spread = fmax(t.spread, s->spread);
		t.steady += s->period > 0 ? s->rate : 0;
		t.period = fmax(t.period, s->period);
	}
	add_together(mix, &t, speed);
	mix->period = mix->steady > 0 ? mix->period / mix->steady : 0;
}

/* Units of a group per burst: in the whole, and at one broker. */
struct burst_mix {
	uint32_t group;
	double whole, part, load;
};

static double burst_deviation(const struct burst_mix *burst, double share)
{
	double off = burst->part - share * burst->whole;

	return burst->whole > 0 ? burst->load / burst->whole * off * off : 0;
}

double mix_deviation(const struct placer *placer, const uint32_t *at, uint32_t broker, double share)
{
	struct burst_mix burst = {0};
	double sum = 0;

	for (uint32_t i = 0; i < placer->problem->n_sources; i++) {
		uint32_t source = placer->by_group[i];
		const struct place_source *s = &placer->problem->sources[source];

		if (s->group == 0 || s->group != burst.group) {
			sum += burst_deviation(&burst, share);
			burst = (struct burst_mix){.group = s->group};
		}
		burst.whole += s->batch;
		burst.part += at[source] == broker ? s->batch : 0;
		burst.load += s->rate;
	}
	return sum + burst_deviation(&burst, share);
}
