/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Computes the present share of each policy of a hierarchy in its parent's limit, over all
 * limiters. It is weighted max-min fairness (Bertsekas and Gallager, Data Networks, 1992, section
 * 6.5.2) with guaranteed rates and ceilings, level by level from above. Classes share links in the
 * same way (Floyd and Van Jacobson, "Link-sharing and Resource Management Models for Packet
 * Networks", 1995).
 *
 * From its parent each child gets its guaranteed rate, as far as it claims it, and a part of the
 * rest by weight, up to its claim. Above the guaranteed rates, a child that gets less than its
 * claim gets at least as much for its weight as any other.
 *
 * A child's share is the rate that it would get if it claimed its own limit, and the others had
 * their claims. It has room to grow immediately, and an idle one has a part that is ready. So an
 * error about the children that are held back matters little. All shares together exceed the
 * parent's rate while some child does not use its own; the parent's limit still applies.
 *
 * The claim of another child is its demand. But a child whose demand is nearly its share counts as
 * held back by the share, and claims all of it. So a part that backing-off flows leave unused is
 * not given away.
 *
 * Pure; one thread. Rates in units (bytes, packets) a second, over all limiters.
 */
#ifndef WEIR_ALLOCATE_HIERARCHY_H
#define WEIR_ALLOCATE_HIERARCHY_H

#include <stdbool.h>

#define HIERARCHY_ROOT (-1)

struct hierarchy_node {
	int parent;                       /* index, or HIERARCHY_ROOT */
	bool own;                         /* some of its packets can belong to no child */
	double limit, guaranteed, weight; /* weight above 0; guaranteed 0: no such rate */
	double demand; /* arrivals over all limiters; for a parent, after its children */
	double share;  /* the result; and before that the last one: at first its limit */
};

struct hierarchy;

/*
 * Takes n nodes with their present parents, without a circle. Returns 0 or -ENOMEM; n can be 0.
 */
int hierarchy_create(const struct hierarchy_node *nodes, unsigned n, struct hierarchy **out);
void hierarchy_destroy(struct hierarchy *hierarchy);

/*
 * Sets the share of each, from the present limits and demands: at most its limit and its parent's
 * share, and at least its part of ALLOCATE_FLOOR of that. So a flow can always begin, however much
 * is guaranteed to others. Takes O(n log d) for n nodes, d of which have a demand.
 */
void hierarchy_share(struct hierarchy *hierarchy, struct hierarchy_node *nodes);

/* One claim to a shared capacity; see above. */
struct share_claim {
	double guaranteed, weight, ceiling; /* the ceiling is at least the guaranteed rate */
	double claim;                       /* at most the ceiling */
	double share;                       /* the result */
};

/*
 * `at`: level (units per weight) that meets one claim; `weight`: of that claim. `taken`, `weights`:
 * sums of units and weights over the lower levels.
 */
struct share_level {
	double at, weight;
	double taken, weights;
};

/*
 * Sets each of n shares of a capacity as if that one claimed its ceiling and the others their
 * claims. Guaranteed rates above the capacity are cut in proportion. `levels` has room for n + 1.
 */
void shares_of(struct share_claim *claims, unsigned n, double capacity, struct share_level *levels);

#endif
