/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The graph over whose edges limiters move capacity to each other (GDRL, section II: connected,
 * undirected). Every limiter builds it for itself, from the roster alone, and all come to the same
 * one: ids are sorted first, and what is drawn by lot is drawn from a generator that their hash
 * seeds. Built once; any thread may read it.
 *
 * All limiters stand in a circle: in the order of their ids, or for a random graph in one drawn by
 * lot. A limiter's place in it is its position, which is how everything here names it.
 *
 *   ring    edges of the circle
 *   random  that ring and chords, so that all have the same degree. Chords begin as a regular
 *           pattern, and are mixed by exchanging ends of pairs of them that stay simple; as the
 *           ring is never touched no result is unconnected, and nothing has to be tried again. A
 *           degree that cannot be is brought to the nearest that can: 2 at least (but one edge for
 *           two limiters), n - 1 at most; where degree × n is odd one limiter has one edge less.
 *   given   what the operator says, if it is connected, without loops and without doubles
 *
 * When limiters die those that are left must stay connected, and the edges to the dead must stay
 * known, since what was ever granted over one is counted there. So nothing is built anew: beside
 * its edges a limiter has spare ones, from the start, to the next `spares` + 1 on either side of
 * the circle. A spare edge is in use while somebody is dead and all that stand between its ends
 * are: so the survivors are a ring, whichever `spares` of them die, and more if they are not
 * neighbours in the circle. Two ends that do not yet agree on who is dead do no harm: whoever
 * gives decides alone, and the ledger counts it.
 */
#ifndef WEIR_OVERLAY_OVERLAY_H
#define WEIR_OVERLAY_OVERLAY_H

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
	unsigned spares; /* deaths side by side that do not part the others; 0: no spare edges */
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
 * Copies what it is given. Edges of a limiter are in the order of the circle, from its own place
 * on, and their numbers never change. 0; -EINVAL (nobody, or two ids are the same), of given edges
 * -ENOENT (no such id), -ELOOP, -EEXIST (twice) or -ENOTCONN; -ENOMEM.
 */
int overlay_create(const struct overlay_params *params, struct overlay **out);
void overlay_destroy(struct overlay *o);

/* Position of an id, or n. */
unsigned overlay_position(const struct overlay *o, uint32_t id);

/* The edges of a limiter, spare ones last. */
static inline const struct overlay_edge *overlay_edges(const struct overlay *o, unsigned position)
{
	return o->edges + (uint64_t)position * o->width;
}

/* Which edge of `position` leads to `peer`, or n_edges[position]. */
static inline unsigned overlay_edge_to(const struct overlay *o, unsigned position, unsigned peer)
{
	const struct overlay_edge *edges = overlay_edges(o, position);
	unsigned at = 0;

	while (at < o->n_edges[position] && edges[at].peer != peer)
		at++;
	return at;
}

/*
 * The edge to the best friend, who inherits (GDRL, section IV), if there is any edge: the first
 * one, which leads to the next neighbour in the circle. In a ring everybody is the friend of one.
 */
#define OVERLAY_FRIEND 0

/*
 * Whether an edge is in use; `dead` has a bit for each position (base/bitmap.h), or is NULL. With
 * given edges spare ones between neighbours in the circle are in use as soon as anybody is dead:
 * there a limiter has to hear of all deaths, else of those around it.
 */
bool overlay_in_use(
	const struct overlay *o, unsigned position, unsigned edge, const uint64_t *dead);

/* Into how many parts the survivors fall over the edges in use; 1: connected. Or -ENOMEM. */
int overlay_parts(const struct overlay *o, const uint64_t *dead);

#endif
