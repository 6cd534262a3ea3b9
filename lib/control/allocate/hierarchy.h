/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * What each policy of a hierarchy may have now of its parent's limit, over all limiters: weighted
 * max-min fairness (Bertsekas and Gallager, Data Networks, 1992, section 6.5.2) with guaranteed
 * rates and ceilings, as links are shared by classes (Floyd and Van Jacobson, "Link-sharing and
 * Resource Management Models for Packet Networks", 1995), level by level from above.
 *
 * Of what a parent has, each child has what it is guaranteed, as far as it claims it, and of the
 * rest by weight, up to its claim: no child has less, for its weight, than another that has more
 * than it is guaranteed, unless it has all that it claims.
 *
 * A child's share is what it would have if it claimed all that its own limit lets it, and the
 * others what they do: so it has room to grow at once, one that is idle has a part that is ready,
 * and little depends on who is thought to be held back. What all of them may have together is more
 * than the parent has as long as one does not ask for its own; the parent's limit is there all the
 * same.
 *
 * What others claim is what they ask for; but who asks for nearly all of its share is held back by
 * it, and claims the share: what flows leave of a limit, as they back off, is not given away.
 *
 * Pure; one thread. Rates in units (bytes, packets) a second, over all limiters.
 */
#ifndef WEIR_ALLOCATE_HIERARCHY_H
#define WEIR_ALLOCATE_HIERARCHY_H

#include <stdbool.h>

#define HIERARCHY_ROOT (-1)

struct hierarchy_node {
	int parent;                       /* index, or HIERARCHY_ROOT */
	bool own;                         /* packets may be its own, which are no child's */
	double limit, guaranteed, weight; /* weight above 0; guaranteed 0: nothing is */
	double demand; /* what arrives at it over all limiters: of a parent, after its children */
	double share;  /* the answer; and before that the last one: at first its limit */
};

struct hierarchy;

/*
 * For n nodes, whose parents are what they are now, and no circle. 0 or -ENOMEM; n may be 0.
 */
int hierarchy_create(const struct hierarchy_node *nodes, unsigned n, struct hierarchy **out);
void hierarchy_destroy(struct hierarchy *hierarchy);

/*
 * Sets the share of each, from their limits and demands of now: at most its limit and its parent's
 * share, and at least its part of ALLOCATE_FLOOR of that, so that a flow can begin whatever others
 * are guaranteed. n log n of those that ask for something, and n.
 */
void hierarchy_share(struct hierarchy *hierarchy, struct hierarchy_node *nodes);

/* One of those who share a capacity; see above. */
struct share_claim {
	double guaranteed, weight, ceiling; /* the ceiling is at least what is guaranteed */
	double claim;                       /* at most the ceiling */
	double share;                       /* the answer */
};

/* Where one has all that it claims, in units for a weight of 1; and what those before it have. */
struct share_level {
	double at, weight;
	double taken, weights;
};

/*
 * What each of n would have of a capacity if it claimed its ceiling and the others their claims.
 * Guaranteed rates of more than there is are cut in proportion. There is room for n + 1 levels.
 */
void shares_of(struct share_claim *claims, unsigned n, double capacity, struct share_level *levels);

#endif
