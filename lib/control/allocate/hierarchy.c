/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Computes the present share of each policy of a hierarchy in its parent's limit, over all
 * limiters.
 */
#include "allocate/hierarchy.h"

#include <errno.h>
#include <stdlib.h>

#include "allocate/allocate.h"
#include "base/math.h"

/*
 * A child with a demand below HELD_FROM of its share is limited elsewhere; from HELD_ALL on, by its
 * share. Flows that are held back here send more than they get, except for moments. Between the
 * two, a nearly satisfied child keeps a part from the others.
 */
#define HELD_FROM 0.92
#define HELD_ALL  0.98

struct hierarchy {
	unsigned n;
	unsigned *child;            /* n: children of each parent together, from `first` on */
	unsigned *first;            /* n + 2, by parent; the last one is only for counting */
	unsigned *order;            /* n: parents before their children */
	struct share_claim *claims; /* the children of one parent, and its own packets */
	struct share_level *levels;
};

static int hierarchy_alloc(struct hierarchy *h, unsigned n)
{
	size_t room = (size_t)n + 1;

	h->n = n;
	h->child = calloc(room, sizeof(*h->child));
	h->first = calloc(room + 1, sizeof(*h->first));
	h->order = calloc(room, sizeof(*h->order));
	h->claims = calloc(room, sizeof(*h->claims));
	h->levels = calloc(room + 1, sizeof(*h->levels));
	return h->child && h->first && h->order && h->claims && h->levels ? 0 : -ENOMEM;
}

/*
 * Counts a parent's children at parent + 2. So first[parent + 1] is where they begin, and filling
 * moves it to where they end.
 */
static void list_children(struct hierarchy *h, const struct hierarchy_node *nodes)
{
	for (unsigned i = 0; i < h->n; i++)
		if (nodes[i].parent != HIERARCHY_ROOT)
			h->first[nodes[i].parent + 2]++;
	for (unsigned i = 2; i < h->n + 2; i++)
		h->first[i] += h->first[i - 1];
	for (unsigned i = 0; i < h->n; i++)
		if (nodes[i].parent != HIERARCHY_ROOT)
			h->child[h->first[nodes[i].parent + 1]++] = i;
}

static void order_nodes(struct hierarchy *h, const struct hierarchy_node *nodes)
{
	unsigned filled = 0;

	for (unsigned i = 0; i < h->n; i++)
		if (nodes[i].parent == HIERARCHY_ROOT)
			h->order[filled++] = i;
	for (unsigned at = 0; at < filled; at++)
		for (unsigned c = h->first[h->order[at]]; c < h->first[h->order[at] + 1]; c++)
			h->order[filled++] = h->child[c];
}

int hierarchy_create(const struct hierarchy_node *nodes, unsigned n, struct hierarchy **out)
{
	struct hierarchy *h = calloc(1, sizeof(*h));

	*out = h;
	if (!h || hierarchy_alloc(h, n)) {
		hierarchy_destroy(h);
		*out = NULL;
		return -ENOMEM;
	}
	list_children(h, nodes);
	order_nodes(h, nodes);
	return 0;
}

void hierarchy_destroy(struct hierarchy *h)
{
	if (!h)
		return;
	free(h->child);
	free(h->first);
	free(h->order);
	free(h->claims);
	free(h->levels);
	free(h);
}

static double guaranteed_part(const struct share_claim *claim)
{
	return min_double(claim->guaranteed, claim->claim);
}

static double level_of(const struct share_claim *claim)
{
	return (claim->claim - guaranteed_part(claim)) / claim->weight;
}

static int compare_levels(const void *a, const void *b)
{
	double left = ((const struct share_level *)a)->at;
	double right = ((const struct share_level *)b)->at;

	return (left > right) - (left < right);
}

/* Sorts claims above the guaranteed rate by level, with sums also at the end; returns how many. */
static unsigned sort_levels(
	const struct share_claim *claims, unsigned n, struct share_level *levels)
{
	unsigned found = 0;

	for (unsigned i = 0; i < n; i++) {
		double at = level_of(&claims[i]);

		if (at > 0)
			levels[found++] = (struct share_level){
				.at = at, .weight = claims[i].weight};
	}
	qsort(levels, found, sizeof(*levels), compare_levels);
	levels[0].taken = levels[0].weights = 0;
	for (unsigned k = 0; k < found; k++) {
		levels[k + 1].taken = levels[k].taken + levels[k].at * levels[k].weight;
		levels[k + 1].weights = levels[k].weights + levels[k].weight;
	}
	return found;
}

/* Returns the sum above guaranteed rates at the k-th level, if one claim continues from `at`. */
static double taken_at(const struct share_level *levels, unsigned k, double rising,
	const struct share_claim *claim, double at)
{
	double level = levels[k].at, taken = levels[k].taken;

	taken += level * (rising - levels[k].weights);
	return level > at ? taken + claim->weight * (level - at) : taken;
}

/* Returns the level to which `left` fills all n, if one continues after it has its claim. */
static double fill_level(
	const struct share_level *levels, unsigned n, const struct share_claim *claim, double left)
{
	double at = level_of(claim), rising = levels[n].weights;
	unsigned low = 0, high = n;

	while (low < high) {
		unsigned middle = (low + high) / 2;

		if (taken_at(levels, middle, rising, claim, at) < left)
			low = middle + 1;
		else
			high = middle;
	}
	rising -= levels[low].weights;
	if (low < n && levels[low].at <= at)
		return (left - levels[low].taken) / rising;
	if (low == n) /* removes rounding of sums in another order */
		rising = 0;
	return (left - levels[low].taken + claim->weight * at) / (rising + claim->weight);
}

void shares_of(struct share_claim *claims, unsigned n, double capacity, struct share_level *levels)
{
	unsigned n_levels = sort_levels(claims, n, levels);
	double guaranteed = 0;

	for (unsigned i = 0; i < n; i++)
		guaranteed += guaranteed_part(&claims[i]);
	for (unsigned i = 0; i < n; i++) {
		struct share_claim *claim = &claims[i];
		double all = guaranteed - guaranteed_part(claim) + claim->guaranteed;
		double level;

		if (all >= capacity) {
			claim->share = all > 0 ? claim->guaranteed * (capacity / all) : 0;
			continue;
		}
		level = fill_level(levels, n_levels, claim, capacity - all);
		claim->share = min_double(
			claim->guaranteed + claim->weight * level, claim->ceiling);
	}
}

/* Returns a claim from its demand up to its share, as far as that holds it back. */
static double claim_of(const struct hierarchy_node *node, double ceiling)
{
	double part = node->share > 0 ? node->demand / node->share : 1, held;

	if (part >= 1 || part <= HELD_FROM)
		return min_double(node->demand, ceiling);
	held = min_double((part - HELD_FROM) / (HELD_ALL - HELD_FROM), 1);
	return min_double(node->demand + (node->share - node->demand) * held, ceiling);
}

/* Returns the most that a child lets pass of its demand. */
static double passed_by(const struct hierarchy_node *node)
{
	return min_double(node->demand, node->share);
}

/* Divides a parent's share. Packets that belong to no child are one more claim, not guaranteed. */
static void share_among(
	struct hierarchy *h, struct hierarchy_node *nodes, const struct hierarchy_node *parent)
{
	unsigned index = (unsigned)(parent - nodes), first = h->first[index];
	unsigned n = h->first[index + 1] - first;
	double passed = 0;

	for (unsigned i = 0; i < n; i++) {
		const struct hierarchy_node *node = &nodes[h->child[first + i]];
		double ceiling = min_double(node->limit, parent->share);

		passed += passed_by(node);
		h->claims[i] = (struct share_claim){
			.guaranteed = min_double(node->guaranteed, ceiling),
			.weight = node->weight,
			.ceiling = ceiling,
			.claim = claim_of(node, ceiling),
		};
	}
	h->claims[n] = (struct share_claim){.weight = 1, .ceiling = parent->share};
	if (parent->own && parent->demand > passed)
		h->claims[n].claim = min_double(parent->demand - passed, parent->share);
	shares_of(h->claims, n + 1, parent->share, h->levels);
	for (unsigned i = 0; i < n; i++)
		nodes[h->child[first + i]].share = max_double(
			h->claims[i].share, ALLOCATE_FLOOR * h->claims[i].ceiling / n);
}

void hierarchy_share(struct hierarchy *h, struct hierarchy_node *nodes)
{
	for (unsigned at = 0; at < h->n; at++) {
		struct hierarchy_node *node = &nodes[h->order[at]];

		if (node->parent == HIERARCHY_ROOT)
			node->share = node->limit;
		if (h->first[h->order[at] + 1] > h->first[h->order[at]])
			share_among(h, nodes, node);
	}
}
