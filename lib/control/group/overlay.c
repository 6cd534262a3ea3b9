/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The graph over whose edges limiters move capacity to each other (GDRL, section II: connected,
 * undirected).
 */
#include "group/overlay.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/bitmap.h"
#include "base/hash.h"
#include "base/prng.h"

struct prng;

/* Exchanges tried for each chord: several times as many as remove the regular pattern. */
#define MIXING 16

struct chord {
	unsigned a, b;
};

static struct overlay_edge *row_of(struct overlay *o, unsigned position)
{
	return o->edges + (size_t)position * o->width;
}

static bool shape_has(const struct overlay *o, unsigned a, unsigned b)
{
	return overlay_edge_to(o, a, b) < o->n_edges[a];
}

/* Adds an edge to both ends, if there is none yet and they are two. */
static void shape_join(struct overlay *o, unsigned a, unsigned b, bool spare)
{
	if (a == b || shape_has(o, a, b))
		return;
	row_of(o, a)[o->n_edges[a]++] = (struct overlay_edge){b, spare};
	row_of(o, b)[o->n_edges[b]++] = (struct overlay_edge){a, spare};
	o->degree[a] += !spare;
	o->degree[b] += !spare;
}

/* Adds all edges between limiters that are `distance` apart in the circle. */
static void shape_circulant(struct overlay *o, unsigned distance, bool spare)
{
	for (unsigned p = 0; p < o->n; p++)
		shape_join(o, p, (p + distance) % o->n, spare);
}

/* Returns the possible degree that is nearest to the wanted one. */
static unsigned shape_degree(unsigned n, unsigned degree)
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

/* Adds chords to an existing ring, so that all have that degree. Returns 0 or -ENOMEM. */
static int shape_chords(struct overlay *o, unsigned degree, struct prng *prng)
{
	struct chord *chords;
	unsigned n;

	for (unsigned distance = 2; distance <= degree / 2; distance++)
		shape_circulant(o, distance, false);
	if (degree % 2 && degree > 2)
		join_opposite(o);
	chords = calloc((size_t)o->n * degree / 2 + 1, sizeof(*chords));
	if (!chords)
		return -ENOMEM;
	n = list_chords(o, chords);
	for (uint64_t i = 0; i < (uint64_t)MIXING * n; i++) {
		struct chord *x = &chords[prng_below(prng, n)], *y = &chords[prng_below(prng, n)];

		if (prng_next(prng) & 1)
			*y = (struct chord){y->b, y->a};
		if (x != y)
			exchange_chords(o, x, y);
	}
	free(chords);
	return 0;
}

static int compare_ids(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

static int sort_ids(struct overlay *o, const uint32_t *ids)
{
	memcpy(o->ids, ids, o->n * sizeof(*ids));
	qsort(o->ids, o->n, sizeof(*o->ids), compare_ids);
	for (unsigned i = 1; i < o->n; i++)
		if (o->ids[i] == o->ids[i - 1])
			return -EINVAL;
	return 0;
}

/* Returns the largest number of edges of one limiter, without the spare ones. */
static unsigned widest_degree(const struct overlay *o, const struct overlay_params *params)
{
	unsigned *count, most = 0;

	if (params->shape != OVERLAY_GIVEN)
		return params->shape == OVERLAY_RANDOM ? shape_degree(o->n, params->degree) : 2;
	count = o->degree; /* zero until now, and again at the end */
	for (unsigned i = 0; i < 2 * params->n_pairs; i++) {
		const struct overlay_pair *pair = &params->pairs[i / 2];
		unsigned p = overlay_position(o, i % 2 ? pair->b : pair->a);

		if (p < o->n && ++count[p] > most)
			most = count[p];
	}
	memset(count, 0, o->n * sizeof(*count));
	return most;
}

/* Returns the reach of spare edges; beyond half the circle they are those of the other side. */
static unsigned spare_reach(const struct overlay *o, unsigned spares)
{
	unsigned half = o->n / 2;

	return spares == 0 ? 0 : spares < half ? spares + 1 : half;
}

static int join_given(struct overlay *o, const struct overlay_params *params)
{
	for (unsigned i = 0; i < params->n_pairs; i++) {
		unsigned a = overlay_position(o, params->pairs[i].a);
		unsigned b = overlay_position(o, params->pairs[i].b);

		if (a == o->n || b == o->n)
			return -ENOENT;
		if (a == b)
			return -ELOOP;
		if (shape_has(o, a, b))
			return -EEXIST;
		shape_join(o, a, b, false);
	}
	return 0;
}

/* Returns the steps along the circle. */
static unsigned steps_ahead(const struct overlay *o, unsigned from, unsigned to)
{
	return to >= from ? to - from : to + o->n - from;
}

/* Insertion: rows are short. */
static void sort_row(struct overlay *o, unsigned position)
{
	struct overlay_edge *row = o->edges + (size_t)position * o->width;

	for (unsigned i = 1; i < o->n_edges[position]; i++) {
		struct overlay_edge edge = row[i];
		unsigned at = i;

		while (at > 0 && (row[at - 1].spare > edge.spare ||
					 (row[at - 1].spare == edge.spare &&
						 steps_ahead(o, position, row[at - 1].peer) >
							 steps_ahead(o, position, edge.peer)))) {
			row[at] = row[at - 1];
			at--;
		}
		row[at] = edge;
	}
}

static int join_overlay(struct overlay *o, const struct overlay_params *params, struct prng *prng)
{
	int ret = 0;

	if (params->shape == OVERLAY_GIVEN)
		ret = join_given(o, params);
	else
		shape_circulant(o, 1, false);
	if (params->shape == OVERLAY_RANDOM && o->n > 2)
		ret = shape_chords(o, shape_degree(o->n, params->degree), prng);
	for (unsigned distance = 1; ret == 0 && distance <= spare_reach(o, params->spares);
		distance++)
		shape_circulant(o, distance, true);
	for (unsigned p = 0; ret == 0 && p < o->n; p++)
		sort_row(o, p);
	return ret;
}

static int build_overlay(struct overlay *o, const struct overlay_params *params)
{
	struct prng prng;
	uint64_t seed = HASH64_BASIS;
	int ret = sort_ids(o, params->ids);

	if (ret)
		return ret;
	/* FNV-1a over the sorted ids, 64 bits: the seed that all limiters of a roster share. */
	for (unsigned i = 0; i < o->n; i++)
		seed = hash64_step(seed, o->ids[i]);
	prng_seed(&prng, seed);
	if (params->shape == OVERLAY_RANDOM) {
		for (unsigned i = o->n; i > 1; i--) {
			unsigned k = prng_below(&prng, i);
			uint32_t id = o->ids[k];

			o->ids[k] = o->ids[i - 1];
			o->ids[i - 1] = id;
		}
	}
	o->width = widest_degree(o, params) + 2 * spare_reach(o, params->spares) + 1;
	o->edges = calloc((size_t)o->n * o->width, sizeof(*o->edges));
	if (!o->edges)
		return -ENOMEM;
	ret = join_overlay(o, params, &prng);
	if (ret == 0)
		ret = overlay_parts(o, NULL);
	return ret > 1 ? -ENOTCONN : ret < 0 ? ret : 0;
}

int overlay_create(const struct overlay_params *params, struct overlay **out)
{
	struct overlay *o = calloc(1, sizeof(*o));
	unsigned n = params->n;
	int ret = -ENOMEM;

	*out = NULL;
	if (!o)
		return -ENOMEM;
	o->n = n;
	o->ids = calloc(n, sizeof(*o->ids));
	o->degree = calloc(n, sizeof(*o->degree));
	o->n_edges = calloc(n, sizeof(*o->n_edges));
	if (n == 0)
		ret = -EINVAL;
	else if (o->ids && o->degree && o->n_edges)
		ret = build_overlay(o, params);
	if (ret) {
		overlay_destroy(o);
		return ret;
	}
	*out = o;
	return 0;
}

void overlay_destroy(struct overlay *o)
{
	if (!o)
		return;
	free(o->ids);
	free(o->degree);
	free(o->n_edges);
	free(o->edges);
	free(o);
}

unsigned overlay_position(const struct overlay *o, uint32_t id)
{
	unsigned at = 0;

	while (at < o->n && o->ids[at] != id)
		at++;
	return at;
}

static bool is_dead(const uint64_t *dead, unsigned position)
{
	return dead && bitmap_has(dead, position);
}

/* Returns true if all limiters between the two are dead, upwards from `from`. */
static bool all_dead(const struct overlay *o, unsigned from, unsigned to, const uint64_t *dead)
{
	unsigned at = (from + 1) % o->n;

	while (at != to && is_dead(dead, at))
		at = (at + 1) % o->n;
	return at == to;
}

bool overlay_in_use(const struct overlay *o, unsigned position, unsigned edge, const uint64_t *dead)
{
	struct overlay_edge e = overlay_edges(o, position)[edge];

	if (is_dead(dead, position) || is_dead(dead, e.peer))
		return false;
	if (!e.spare)
		return true;
	if (!dead || bitmap_next(dead, o->n, 0) == o->n)
		return false;
	return all_dead(o, position, e.peer, dead) || all_dead(o, e.peer, position, dead);
}

/* Marks all that `start` reaches. */
static void visit_reachable(const struct overlay *o, unsigned start, const uint64_t *dead,
	uint64_t *seen, unsigned *stack)
{
	unsigned depth = 0;

	bitmap_set(seen, start);
	stack[depth++] = start;
	while (depth > 0) {
		unsigned p = stack[--depth];

		for (unsigned k = 0; k < o->n_edges[p]; k++) {
			unsigned peer = overlay_edges(o, p)[k].peer;

			if (bitmap_has(seen, peer) || !overlay_in_use(o, p, k, dead))
				continue;
			bitmap_set(seen, peer);
			stack[depth++] = peer;
		}
	}
}

int overlay_parts(const struct overlay *o, const uint64_t *dead)
{
	uint64_t *seen = calloc(bitmap_words(o->n), sizeof(*seen));
	unsigned *stack = calloc(o->n, sizeof(*stack));
	int parts = seen && stack ? 0 : -ENOMEM;

	for (unsigned p = 0; parts >= 0 && p < o->n; p++) {
		if (is_dead(dead, p) || bitmap_has(seen, p))
			continue;
		visit_reachable(o, p, dead, seen, stack);
		parts++;
	}
	free(seen);
	free(stack);
	return parts;
}
