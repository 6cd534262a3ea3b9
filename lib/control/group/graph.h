/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Edges of a graph while it is built, and the shapes that it may have.
 */
#ifndef WEIR_GROUP_GRAPH_H
#define WEIR_GROUP_GRAPH_H

#include "group/overlay.h"

struct prng;

bool shape_has(const struct overlay *o, unsigned a, unsigned b);

/* Adds an edge to both ends, if there is none yet and they are two. */
void shape_join(struct overlay *o, unsigned a, unsigned b, bool spare);

/* All edges between limiters so far apart in the circle. */
void shape_circulant(struct overlay *o, unsigned distance, bool spare);

/* The degree that is nearest to what is wanted. */
unsigned shape_degree(unsigned n, unsigned degree);

/* Chords for a ring that is there, so that all have that degree; 0 or -ENOMEM. */
int shape_chords(struct overlay *o, unsigned degree, struct prng *prng);

#endif
