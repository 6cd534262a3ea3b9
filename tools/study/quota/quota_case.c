/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "quota_case.h"

#include <math.h>

#include "quota/quota.h"

#define MEAN_UNITS 4096 /* approximate mean size of a request */
#define RATE       200  /* requests a second, of all nodes together */
/* The paper's response times of polling fit about this, with 10 nodes and with 100. */
#define HOP_NS 400000

/* Sizes of files: the median far below the mean, and a few large ones. */
#define SIGMA 1.2
#define MOST  32 /* times the median */

static double quota_normal(struct prng *prng)
{
	double u = 1 - prng_unit(prng), v = prng_unit(prng);

	return sqrt(-2 * log(u)) * cos(2 * M_PI * v);
}

static uint64_t request_units(const struct quota_case *c, struct prng *prng)
{
	double times;

	if (c->workload == QUOTA_ZIPF)
		return 1 + prng_below(prng, 2 * MEAN_UNITS);
	times = exp(SIGMA * quota_normal(prng));
	return 1 + (uint64_t)(MEAN_UNITS / exp(SIGMA * SIGMA / 2) * fmin(times, MOST));
}

/* Deals ranks at random, because the place of busy nodes in the tree should not matter. */
static void deal_weights(struct quota_case *c, struct prng *prng)
{
	double weights[QUOTA_NODES_MAX], sum = 0;

	for (unsigned i = 0; i < c->n; i++) {
		weights[i] = c->workload == QUOTA_ZIPF ? 1.0 / (i + 1)
						       : 0.9 + 0.2 * prng_unit(prng);
		sum += weights[i];
	}
	for (unsigned i = c->n; i > 1; i--) {
		unsigned k = prng_below(prng, i);
		double swapped = weights[i - 1];

		weights[i - 1] = weights[k];
		weights[k] = swapped;
	}
	for (unsigned i = 0; i < c->n; i++)
		c->upto[i] = weights[i] / sum + (i ? c->upto[i - 1] : 0);
}

void quota_case_init(struct quota_case *c, unsigned n, enum quota_workload workload, uint64_t seed,
	unsigned requests)
{
	uint64_t weights[QUOTA_NODES_MAX];
	struct prng prng;

	*c = (struct quota_case){
		.n = n, .workload = workload, .seed = seed, .hop_ns = HOP_NS, .requests = requests};
	prng_seed(&prng, seed);
	deal_weights(c, &prng);
	c->total = (uint64_t)requests * MEAN_UNITS;
	for (unsigned i = 0; i < n; i++)
		weights[i] = 1000 + prng_below(&prng, 2000);
	quota_divide(c->total, weights, n, c->shares);
}

void quota_trace_start(struct quota_trace *trace, const struct quota_case *c)
{
	*trace = (struct quota_trace){.of = c};
	prng_seed(&trace->prng, ~c->seed);
}

void quota_trace_next(struct quota_trace *trace)
{
	double at = prng_unit(&trace->prng);

	trace->at_ns += (uint64_t)(-log(1 - prng_unit(&trace->prng)) * 1e9 / RATE);
	trace->node = 0;
	while (trace->node + 1 < trace->of->n && at >= trace->of->upto[trace->node])
		trace->node++;
	trace->units = request_units(trace->of, &trace->prng);
}

unsigned quota_parent(unsigned node)
{
	return (node - 1) / QUOTA_CHILDREN;
}

unsigned quota_distance(unsigned a, unsigned b)
{
	unsigned hops = 0;

	for (; a != b; hops++) {
		if (a > b)
			a = quota_parent(a);
		else
			b = quota_parent(b);
	}
	return hops;
}

void quota_count(
	struct quota_result *result, const struct quota_case *c, unsigned hops, uint64_t used)
{
	uint64_t left = used < c->total ? c->total - used : 0;
	unsigned tenth = (unsigned)((unsigned __int128)left * QUOTA_TENTHS / c->total);

	result->messages++;
	result->hops += hops;
	result->tenths[tenth < QUOTA_TENTHS ? tenth : QUOTA_TENTHS - 1] += hops;
}
