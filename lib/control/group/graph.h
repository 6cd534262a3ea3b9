/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Edges of a graph while it is built, and the shapes that it can have.
 */
#ifndef WEIR_GROUP_GRAPH_H
#define WEIR_GROUP_GRAPH_H

#include "group/overlay.h"

struct prng;

bool shape_has(const struct overlay *o, unsigned a, unsigned b);

/* Adds an edge to both ends, if there is none yet and they are two. */
void shape_join(struct overlay *o, unsigned a, unsigned b, bool spare);

/* Adds all edges between limiters that are `distance` apart in the circle. */
void shape_circulant(struct overlay *o, unsigned distance, bool spare);

/* Returns the possible degree that is nearest to the wanted one. */
unsigned shape_degree(unsigned n, unsigned degree);

/* Adds chords to an existing ring, so that all have that degree. Returns 0 or -ENOMEM. */
int shape_chords(struct overlay *o, unsigned degree, struct prng *prng);

#endif
