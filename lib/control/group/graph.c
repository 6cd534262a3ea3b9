/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "group/graph.h"

#include <errno.h>
#include <stdlib.h>

#include "base/prng.h"

/* Exchanges tried for each chord: several times as many as remove the regular pattern. */
#define MIXING 16

struct chord {
	unsigned a, b;
};

static struct overlay_edge *row_of(struct overlay *o, unsigned position)
{
	return o->edges + (size_t)position * o->width;
}

bool shape_has(const struct overlay *o, unsigned a, unsigned b)
{
	return overlay_edge_to(o, a, b) < o->n_edges[a];
}

void shape_join(struct overlay *o, unsigned a, unsigned b, bool spare)
{
	if (a == b || shape_has(o, a, b))
		return;
	row_of(o, a)[o->n_edges[a]++] = (struct overlay_edge){b, spare};
	row_of(o, b)[o->n_edges[b]++] = (struct overlay_edge){a, spare};
	o->degree[a] += !spare;
	o->degree[b] += !spare;
}

void shape_circulant(struct overlay *o, unsigned distance, bool spare)
{
	for (unsigned p = 0; p < o->n; p++)
		shape_join(o, p, (p + distance) % o->n, spare);
}

unsigned shape_degree(unsigned n, unsigned degree)
{
	if (degree < 2)
		degree = 2;
	return degree < n - 1 ? degree : n - 1;
}

/*
 * Adds one chord for every limiter. In an even circle it joins opposite limiters. In an odd one the
 * longest chords form a path through all; every other edge of it leaves one limiter out.
 */
static void join_opposite(struct overlay *o)
{
	unsigned half = o->n / 2;

	if (o->n % 2 == 0)
		shape_circulant(o, half, false);
	else
		for (unsigned i = 0, at = 0; i < half; i++, at = (at + 2 * half) % o->n)
			shape_join(o, at, (at + half) % o->n, false);
}

/* Lists each edge once that is not in the ring; returns how many there are. */
static unsigned list_chords(const struct overlay *o, struct chord *chords)
{
	unsigned n = 0;

	for (unsigned p = 0; p < o->n; p++) {
		const struct overlay_edge *edges = overlay_edges(o, p);

		for (unsigned k = 0; k < o->n_edges[p]; k++) {
			unsigned apart = edges[k].peer - p;

			if (edges[k].peer > p && apart != 1 && apart != o->n - 1)
				chords[n++] = (struct chord){p, edges[k].peer};
		}
	}
	return n;
}

static void replace_edge(struct overlay *o, unsigned position, unsigned from, unsigned to)
{
	row_of(o, position)[overlay_edge_to(o, position, from)].peer = to;
}

/* Exchanges the second ends of two chords, if that makes no loop and no double edge. */
static void exchange_chords(struct overlay *o, struct chord *x, struct chord *y)
{
	unsigned b = x->b, d = y->b;

	if (x->a == d || y->a == b || shape_has(o, x->a, d) || shape_has(o, y->a, b))
		return;
	replace_edge(o, x->a, b, d);
	replace_edge(o, b, x->a, y->a);
	replace_edge(o, y->a, d, b);
	replace_edge(o, d, y->a, x->a);
	x->b = d;
	y->b = b;
}

static void mix_chords(struct overlay *o, struct chord *chords, unsigned n, struct prng *prng)
{
	for (uint64_t i = 0; i < (uint64_t)MIXING * n; i++) {
		struct chord *x = &chords[prng_below(prng, n)], *y = &chords[prng_below(prng, n)];

		if (prng_next(prng) & 1)
			*y = (struct chord){y->b, y->a};
		if (x != y)
			exchange_chords(o, x, y);
	}
}

int shape_chords(struct overlay *o, unsigned degree, struct prng *prng)
{
	struct chord *chords;

	for (unsigned distance = 2; distance <= degree / 2; distance++)
		shape_circulant(o, distance, false);
	if (degree % 2 && degree > 2)
		join_opposite(o);
	chords = calloc((size_t)o->n * degree / 2 + 1, sizeof(*chords));
	if (!chords)
		return -ENOMEM;
	mix_chords(o, chords, list_chords(o, chords), prng);
	free(chords);
	return 0;
}
