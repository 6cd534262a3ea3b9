/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The shape of the tree. Limiters are in the order of their ids; the children of position k are
 * k × B + 1 to k × B + B. A parent always has a lower position than its child, so no loop can ever
 * form. Pure; any thread.
 */
#ifndef WEIR_GOSSIP_TREE_SHAPE_H
#define WEIR_GOSSIP_TREE_SHAPE_H

/*
 * In addition to its ancestors the first limiters are candidates for each limiter's parent, so that
 * a group falls apart only if all of them are lost together.
 */
#define TREE_HUBS 16

/* Ancestors (at most 31 above a 32-bit position, B being 2 or more) and hubs. */
#define TREE_CANDIDATES (31 + TREE_HUBS)

/* Returns the number of edges between the root and the deepest of n positions. */
unsigned tree_depth(unsigned n, unsigned b);

/*
 * Writes the positions that can be the parent of this one, best first: its ancestors, nearest
 * first, then 1 to TREE_HUBS. Writes at most TREE_CANDIDATES and returns how many.
 */
unsigned tree_candidates(unsigned position, unsigned b, unsigned *candidates);

#endif
