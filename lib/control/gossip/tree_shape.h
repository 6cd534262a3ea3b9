/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The shape of the tree. Limiters stand in the order of their ids; the children of position k are
 * k × B + 1 to k × B + B. A parent always has a lower position than its child, whatever happens, so
 * that no loop can ever form. Pure; any thread.
 */
#ifndef WEIR_GOSSIP_TREE_SHAPE_H
#define WEIR_GOSSIP_TREE_SHAPE_H

/*
 * Beside its ancestors the first limiters are candidates for everybody's parent, so that a group
 * falls apart only if they are all gone at once.
 */
#define TREE_HUBS 16

/* Ancestors (at most 31 above a 32-bit position, B being 2 or more) and hubs. */
#define TREE_CANDIDATES (31 + TREE_HUBS)

/* Edges between the root and the deepest of n positions. */
unsigned tree_depth(unsigned n, unsigned b);

/*
 * Positions that may be the parent of this one, best first: its ancestors, nearest first, then 1 to
 * TREE_HUBS. Writes at most TREE_CANDIDATES and returns how many.
 */
unsigned tree_candidates(unsigned position, unsigned b, unsigned *candidates);

#endif
