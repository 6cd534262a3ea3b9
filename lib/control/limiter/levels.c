/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Policies below others. Their allocator divides each one's present part of its parent's limit,
 * over all limiters, in place of the configured limit; see allocate/hierarchy.h. Every limiter
 * computes that by itself from the demands of all policies in gossip. So all of them get the same
 * result once they have the same news.
 *
 * A parent is divided among limiters by the traffic that its children can pass at each. So a
 * limiter where a child has a large part has as much of the parent for it.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "allocate/hierarchy.h"
#include "base/math.h"
#include "group/id_table.h"
#include "limiter/aggregate.h"

/*
 * Part by which a child can want more of its parent than its demand: as for a limit without drops.
 */
#define ROOM 0.05

/* Memory of a pressure, in seconds, and the most that it claims of the room to grow. */
#define PRESSURE_S 0.4
#define GROWTH     0.5

/* An idle policy gets another share if it differs by such a part. */
#define IDLE_PART (1.0 / 16)

struct levels {
	unsigned n;
	unsigned *policy; /* n: index of each in the limiter */
	struct hierarchy_node *nodes;
	struct hierarchy *hierarchy;
	/*
	 * By node, for a parent: the sum that its children want here, and the sum that they let
	 * pass.
	 */
	double *wanted, *passed;
	double *held; /* their demand on it if packets below it wait; otherwise 0 */
	bool *waits;  /* they wait: its arrivals are no more than the packets it lets pass */
};

void levels_destroy(struct levels *levels)
{
	if (!levels)
		return;
	hierarchy_destroy(levels->hierarchy);
	free(levels->policy);
	free(levels->nodes);
	free(levels->wanted);
	free(levels->passed);
	free(levels->held);
	free(levels->waits);
	free(levels);
}

static bool any_child(const struct limiter_policy *policies, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		if (policies[i].child)
			return true;
	return false;
}

/*
 * Sets nodes[] to 1 for parents and children; list_levels() replaces it with the number of the
 * node.
 */
static int mark_levels(const struct limiter_policy *policies, unsigned n,
	const struct id_table *ids, unsigned *nodes)
{
	for (unsigned i = 0; i < n; i++) {
		unsigned parent;

		if (!policies[i].child)
			continue;
		parent = id_table_find(ids, policies[i].parent);
		if (parent == n || parent == i)
			return -EINVAL;
		nodes[i] = nodes[parent] = 1;
	}
	return 0;
}

static int levels_alloc(struct levels *levels, unsigned n)
{
	size_t room = (size_t)n + 1;

	levels->policy = calloc(room, sizeof(*levels->policy));
	levels->nodes = calloc(room, sizeof(*levels->nodes));
	levels->wanted = calloc(room, sizeof(*levels->wanted));
	levels->passed = calloc(room, sizeof(*levels->passed));
	levels->held = calloc(room, sizeof(*levels->held));
	levels->waits = calloc(room, sizeof(*levels->waits));
	return levels->policy && levels->nodes && levels->wanted && levels->passed &&
			       levels->held && levels->waits
		       ? 0
		       : -ENOMEM;
}

static void list_levels(struct levels *levels, unsigned n, unsigned *nodes)
{
	for (unsigned i = 0; i < n; i++) {
		if (!nodes[i])
			continue;
		nodes[i] = levels->n;
		levels->policy[levels->n++] = i;
	}
}

static void fill_nodes(struct levels *levels, const struct limiter_policy *policies,
	const struct id_table *ids, const unsigned *nodes)
{
	for (unsigned i = 0; i < levels->n; i++) {
		const struct limiter_policy *policy = &policies[levels->policy[i]];

		levels->nodes[i] = (struct hierarchy_node){
			.parent = HIERARCHY_ROOT,
			.own = policy->own,
			.weight = policy->weight ? policy->weight : 1,
			.guaranteed = (double)policy->guaranteed_bps / 8 / limiter_time(policy),
		};
		if (policy->child)
			levels->nodes[i].parent = (int)nodes[id_table_find(ids, policy->parent)];
	}
}

/* Where packets wait, and above that. */
static void mark_waiting(struct levels *levels, const struct limiter_policy *policies)
{
	for (unsigned i = 0; i < levels->n; i++)
		for (int at = (int)i; policies[levels->policy[i]].waits && at != HIERARCHY_ROOT;
			at = levels->nodes[at].parent)
			levels->waits[at] = true;
}

static int make_levels(struct levels *levels, const struct limiter_policy *policies, unsigned n,
	const struct id_table *ids)
{
	unsigned *nodes = calloc((size_t)n + 1, sizeof(*nodes));
	int ret = nodes ? mark_levels(policies, n, ids, nodes) : -ENOMEM;

	if (ret == 0)
		ret = levels_alloc(levels, n);
	if (ret == 0) {
		list_levels(levels, n, nodes);
		fill_nodes(levels, policies, ids, nodes);
		mark_waiting(levels, policies);
		ret = hierarchy_create(levels->nodes, levels->n, &levels->hierarchy);
	}
	free(nodes);
	return ret;
}

int levels_create(const struct limiter_policy *policies, unsigned n, struct levels **out)
{
	uint64_t *ids;
	struct id_table *table = NULL;
	int ret;

	*out = NULL;
	if (!any_child(policies, n))
		return 0;
	ids = calloc((size_t)n + 1, sizeof(*ids));
	*out = calloc(1, sizeof(**out));
	for (unsigned i = 0; ids && i < n; i++)
		ids[i] = policies[i].id;
	ret = ids && *out ? id_table_create(ids, n, &table) : -ENOMEM;
	free(ids);
	if (ret == 0)
		ret = make_levels(*out, policies, n, table);
	id_table_destroy(table);
	if (ret) {
		levels_destroy(*out);
		*out = NULL;
	}
	return ret;
}

void levels_index(struct limiter *l)
{
	struct levels *levels = l->levels;

	for (unsigned i = 0; i < l->n_policies; i++) {
		l->aggregates[i].level = LEVEL_NONE;
		l->aggregates[i].parent = false;
	}
	for (unsigned i = 0; levels && i < levels->n; i++) {
		struct aggregate *a = &l->aggregates[levels->policy[i]];

		a->level = i;
		levels->nodes[i].share = a->share;
		if (levels->nodes[i].parent != HIERARCHY_ROOT)
			l->aggregates[levels->policy[levels->nodes[i].parent]].parent = true;
	}
	for (unsigned i = 0; i < l->n_policies; i++)
		if (l->aggregates[i].level == LEVEL_NONE)
			l->aggregates[i].share = limiter_policy_rate(&l->aggregates[i].policy);
}

/* An idle policy gets a changed share only if the change matters. */
static void apply_share(struct limiter *l, unsigned policy, double share)
{
	struct aggregate *a = &l->aggregates[policy];

	if (share == a->share)
		return;
	if (!bitmap_has(l->active, policy)) {
		if (share > a->share * (1 - IDLE_PART) && share < a->share * (1 + IDLE_PART))
			return;
		limiter_wake(l, policy);
	}
	a->share = share;
}

/*
 * Sums up the last interval: children come before or after their parents, in the order of the file.
 */
static void ask_children(const struct limiter *l, struct levels *levels)
{
	for (unsigned i = 0; i < levels->n; i++) {
		const struct aggregate *a = &l->aggregates[levels->policy[i]];
		int parent = levels->nodes[i].parent;

		if (parent == HIERARCHY_ROOT)
			continue;
		levels->wanted[parent] += min_double(a->state.local_limit, a->claimed * (1 + ROOM));
		levels->passed[parent] += min_double(a->state.local_limit, a->asked);
		if (levels->waits[parent])
			levels->held[parent] += min_double(a->state.local_limit, a->claimed);
	}
}

void levels_tick(struct limiter *l)
{
	struct levels *levels = l->levels;

	if (!levels)
		return;
	for (unsigned i = 0; i < levels->n; i++) {
		const struct aggregate *a = &l->aggregates[levels->policy[i]];

		levels->nodes[i].limit = limiter_policy_rate(&a->policy);
		levels->nodes[i].demand = a->global_demand;
		levels->wanted[i] = levels->passed[i] = levels->held[i] = 0;
	}
	hierarchy_share(levels->hierarchy, levels->nodes);
	for (unsigned i = 0; i < levels->n; i++)
		apply_share(l, levels->policy[i], levels->nodes[i].share);
	ask_children(l, levels);
}

/*
 * Flows that lose packets or wait, here or at a level above, do not request all that they would
 * take. Other flows that do not give way would keep them from ever having it. So they claim a part
 * of the room between that and their limit, and more the more often they lose any. A policy that
 * gets its demand claims no more than that, because nothing of it is lost for long.
 */
static double claim_room(struct aggregate *a, const struct allocate_input *in)
{
	double now = in->dropped || in->waits ? 1 : 0, room = a->state.local_limit - a->asked;

	a->pressure += min_double(in->interval_s / PRESSURE_S, 1) * (now - a->pressure);
	if (a->policy.allocator->remembers || room <= 0 || a->asked <= 0)
		return a->asked;
	return a->asked + GROWTH * a->pressure * room;
}

/*
 * Packets that wait for a parent do not arrive at it. So it claims the demand that its children can
 * pass, as if these had arrived.
 */
double levels_claim(const struct limiter *l, struct aggregate *a, const struct allocate_input *in)
{
	return fmax(claim_room(a, in), l->levels->held[a->level]);
}

double levels_wanted(const struct limiter *l, const struct aggregate *a)
{
	const struct levels *levels = l->levels;
	double wanted = levels->wanted[a->level], own = a->demand.rate - levels->passed[a->level];

	return a->policy.own && own > 0 ? wanted + own * (1 + ROOM) : wanted;
}
