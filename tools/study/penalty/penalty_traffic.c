/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "penalty_traffic.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "penalty_queue.h"

#define PLACES UINT64_C(0x706172747300) /* seed of the parts: times do not depend on them */

const char *const penalty_names[PENALTY_ARRIVALS] = {"poisson", "periodic", "batch", "spread"};

static int compare_publishers(const void *a, const void *b)
{
	const struct penalty_publisher *x = a, *y = b;

	if (x->phase != y->phase)
		return x->phase < y->phase ? -1 : 1;
	return x->number < y->number ? -1 : x->number > y->number;
}

static int init_publishers(struct penalty_traffic *t)
{
	unsigned n = t->c->publishers;

	t->period = (uint64_t)ceil(t->gap * n);
	t->publishers = calloc(n, sizeof(t->publishers[0]));
	if (!t->publishers)
		return -ENOMEM;
	for (unsigned i = 0; i < n; i++)
		t->publishers[i] = (struct penalty_publisher){
			(uint64_t)(prng_unit(&t->times) * (double)t->period), i};
	qsort(t->publishers, n, sizeof(t->publishers[0]), compare_publishers);
	return 0;
}

double penalty_gap(const struct penalty_case *c)
{
	return 8.0 * c->packet_bytes * PENALTY_HZ / (double)c->rate_bps / c->load;
}

int penalty_traffic_init(struct penalty_traffic *traffic, const struct penalty_case *c,
	unsigned parts, uint64_t seed)
{
	*traffic = (struct penalty_traffic){.c = c, .parts = parts};
	traffic->gap = penalty_gap(c);
	prng_seed(&traffic->times, seed);
	prng_seed(&traffic->places, seed ^ PLACES);
	return c->arrivals == PENALTY_PERIODIC ? init_publishers(traffic) : 0;
}

void penalty_traffic_free(struct penalty_traffic *traffic)
{
	free(traffic->publishers);
	traffic->publishers = NULL;
}

static struct penalty_packet next_periodic(struct penalty_traffic *t)
{
	const struct penalty_publisher *p = &t->publishers[t->n % t->c->publishers];
	uint64_t round = t->n++ / t->c->publishers;

	return (struct penalty_packet){p->phase + round * t->period, p->number % t->parts};
}

struct penalty_packet penalty_traffic_next(struct penalty_traffic *traffic)
{
	struct penalty_traffic *t = traffic;
	unsigned batch = t->c->arrivals == PENALTY_POISSON ? 1 : t->c->batch, place;

	if (t->c->arrivals == PENALTY_PERIODIC)
		return next_periodic(t);
	place = (unsigned)(t->n++ % batch);
	if (place == 0) {
		t->now -= log1p(-prng_unit(&t->times)) * t->gap * batch;
		t->first = prng_below(&t->places, t->parts);
	}
	if (t->c->arrivals != PENALTY_SPREAD)
		place = 0;
	return (struct penalty_packet){(uint64_t)t->now, (t->first + place) % t->parts};
}
