/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include <math.h>

#include "place/place_private.h"

#define SAME 0.001 /* relative difference below which sizes are merged */

/* Returns the row with the nearest size, by ratio. */
static unsigned nearest_size(const struct mix *mix, double size)
{
	unsigned best = 0;

	for (unsigned i = 1; i < mix->n; i++)
		if (fabs(log(mix->sizes[i] / size)) < fabs(log(mix->sizes[best] / size)))
			best = i;
	return best;
}

/*
 * If there are too many sizes, the nearest row absorbs the new one, without a change of the total
 * load.
 */
void mix_add(struct mix *mix, double size, double rate)
{
	unsigned at = nearest_size(mix, size);
	double units = size * rate;

	if (rate <= 0)
		return;
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
