/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The graph over whose edges limiters move capacity to each other (GDRL, section II: connected,
 * undirected). Every limiter builds it from the roster alone, and all get the same one: ids are
 * sorted first, and random choices come from a generator that their hash seeds. Built once; any
 * thread may read it.
 *
 * All limiters are in a circle: in the order of their ids, or for a random graph in a random order.
 * A limiter's place in it is its position, which names it everywhere here.
 *
 *   ring    edges of the circle
 *   random  that ring and chords, so that all have the same degree. Chords begin as a regular
 *           pattern, and are mixed by exchanging ends of pairs of them that stay simple. The ring
 *           is never changed, so each result is connected, without further tries. An impossible
 *           degree becomes the nearest possible one: 2 at least (one edge for two limiters),
 *           n - 1 at most. If degree × n is odd one limiter has one edge less.
 *   given   edges from the operator, if they are connected, without loops and without doubles
 *
 * When limiters die the survivors must stay connected. The edges to the dead must stay defined,
 * because all grants over an edge are counted there. So the graph is never rebuilt: from the start
 * a limiter also has spare edges, to the next `spares` + 1 on either side of the circle. A spare
 * edge is in use while some limiter is dead and all between its ends are. So the survivors are a
 * ring if any `spares` of them die, or more that are not neighbours in the circle. Two ends that do
 * not yet agree on the dead do no harm: the giver decides alone, and the ledger counts the grant.
 */
#ifndef WEIR_GROUP_OVERLAY_H
#define WEIR_GROUP_OVERLAY_H

#include <stdbool.h>
#include <stdint.h>

enum overlay_shape {
	OVERLAY_RING,
	OVERLAY_RANDOM,
	OVERLAY_GIVEN,
};

struct overlay_pair {
	uint32_t a, b; /* ids */
};

struct overlay_params {
	enum overlay_shape shape;
	const uint32_t *ids; /* the roster, in any order */
	unsigned n;
	unsigned degree; /* random */
	unsigned spares; /* adjacent deaths that do not part the others; 0: no spare edges */
	const struct overlay_pair *pairs; /* given */
	unsigned n_pairs;
};

struct overlay_edge {
	unsigned peer; /* position */
	bool spare;
};

struct overlay {
	unsigned n, width;          /* width: room for the edges of one limiter */
	uint32_t *ids;              /* n: by position */
	unsigned *degree;           /* n: edges that are not spare; they come first */
	unsigned *n_edges;          /* n: with the spare ones */
	struct overlay_edge *edges; /* n × width */
};

/*
 * Copies its parameters. Edges of a limiter are in the order of the circle, from its own place on,
 * and their numbers never change. Returns 0; -EINVAL (no limiters, or two ids are the same); for
 * given edges -ENOENT (no such id), -ELOOP, -EEXIST (twice) or -ENOTCONN; -ENOMEM.
 */
int overlay_create(const struct overlay_params *params, struct overlay **out);
void overlay_destroy(struct overlay *o);

/* Returns the position of an id, or n. */
unsigned overlay_position(const struct overlay *o, uint32_t id);

/* Returns the edges of a limiter, spare ones last. */
static inline const struct overlay_edge *overlay_edges(const struct overlay *o, unsigned position)
{
	return o->edges + (uint64_t)position * o->width;
}

/* Returns the number of the edge from `position` to `peer`, or n_edges[position]. */
static inline unsigned overlay_edge_to(const struct overlay *o, unsigned position, unsigned peer)
{
	const struct overlay_edge *edges = overlay_edges(o, position);
	unsigned at = 0;

	while (at < o->n_edges[position] && edges[at].peer != peer)
		at++;
	return at;
}

/*
 * The edge to the backup neighbour, the "best friend" that inherits (GDRL, section IV), if there is
 * any edge: the first one, to the next in the circle. In a ring each limiter is that of one other.
 */
#define OVERLAY_FRIEND 0

/*
 * Returns true if an edge is in use; `dead` has a bit for each position (base/bitmap.h), or is
 * NULL. With given edges, spare ones between neighbours in the circle are in use as soon as any
 * limiter is dead. So `dead` must have all deaths there. With other shapes those around a limiter
 * are enough.
 */
bool overlay_in_use(
	const struct overlay *o, unsigned position, unsigned edge, const uint64_t *dead);

/* Returns the number of parts of the survivors over the edges in use (1: connected), or -ENOMEM. */
int overlay_parts(const struct overlay *o, const uint64_t *dead);

#endif
