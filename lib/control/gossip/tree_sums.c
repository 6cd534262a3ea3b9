/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The sums over the links of the tree. Two things would make them wrong for as long as the tree
 * heals, and are put right by the counts of limiters, because a group never has more than N:
 *
 *   - A link ends, and with it all limiters beyond it are gone, although most of them are alive and
 *     are soon counted over another link. So the last sums of a link are held: they fill the gap
 *     between the live sums and N, without the part of a neighbour that is itself lost. As the
 *     limiters beyond it come back over other links, the held part shrinks by itself. At the end of
 *     the hold (tree.c) those who have not come back are lost.
 *   - A subtree that moves is counted by its old and by its new parent. Then the sums are of more
 *     than N limiters, and are scaled down to N.
 */
#include <float.h>
#include <math.h>
#include <string.h>

#include "base/bitmap.h"
#include "gossip/tree_private.h"

/* A change of this share of the total is news, and of this one large news. */
#define CHANGED_ENOUGH (1.0 / 200)
#define CHANGED_MUCH   (1.0 / 20)

/* The demand of an almost idle policy is compared with this share of its limit instead. */
#define LIMIT_SHARE (1.0 / 8)

static void sum_join(struct link_sums *sum, const struct link_sums *more)
{
	sum->demand += more->demand;
	sum->weight += more->weight;
	sum->count += more->count;
}

static void sum_add(struct link_sums *sum, const struct part *part)
{
	sum_join(sum, &(struct link_sums){part->demand, part->weight, part->count});
}

static void sum_scale(struct link_sums *sum, double factor)
{
	sum->demand *= factor;
	sum->weight *= factor;
	sum->count = (unsigned)lrint(sum->count * factor);
}

/*
 * Adds the sum of a link that has ended; of a lost neighbour without its own, average part. The
 * part of a removed one is unknown too, but it does not count as lost: without demand, no limiter
 * beyond it may seem to have less.
 */
static void add_held(struct link_sums *sum, const struct neighbour *e, unsigned policy)
{
	const struct part *part = &e->received_sums[policy];
	struct link_sums beyond = {part->demand, part->weight, part->count};

	if (part->count == 0)
		return;
	if (e->position == TREE_REMOVED)
		beyond.count--;
	else if (!e->peer.alive)
		sum_scale(&beyond, (double)(part->count - 1) / part->count);
	if (beyond.count > 0)
		sum_join(sum, &beyond);
}

/* Sums over live and over held links. */
struct both_sums {
	struct link_sums live, held;
};

/* Sums over the links, without that of `except`, and with `upwards` only those of the children. */
static struct both_sums add_links(
	const struct gossip *g, unsigned policy, const struct neighbour *except, bool upwards)
{
	const struct tree *t = g->own;
	struct both_sums sums = {0};

	estimator_looks(g, t->table.n);
	for (unsigned i = 0; i < t->table.n; i++) {
		const struct neighbour *e = t->table.at[i];

		if (e == except || !link_is_counted(t, e) || (!is_child(t, e) && upwards))
			continue;
		if (e->held_until_ns)
			add_held(&sums.held, e, policy);
		else
			sum_add(&sums.live, &e->received_sums[policy]);
	}
	return sums;
}

/* Returns the part of the held sums that counts. */
static double held_part(const struct both_sums *all, unsigned peers)
{
	unsigned missing = all->live.count < peers ? peers - all->live.count : 0;

	if (all->held.count <= missing)
		return 1;
	return (double)missing / all->held.count;
}

static struct link_sums join_sums(const struct both_sums *sums, double part)
{
	struct link_sums held = sums->held, joined = sums->live;

	sum_scale(&held, part);
	sum_join(&joined, &held);
	return joined;
}

struct link_sums tree_link_sums(const struct gossip *g, unsigned policy)
{
	unsigned peers = tree_others(g);
	struct both_sums all = add_links(g, policy, NULL, false);
	struct link_sums sum = join_sums(&all, held_part(&all, g->roster->n - 1));

	if (sum.count > peers)
		sum_scale(&sum, (double)peers / sum.count);
	return sum;
}

/*
 * Returns the sums to send to a neighbour, `part` being that of the held ones which counts. Their
 * count is at most the largest possible one on our side of the edge.
 */
static struct part part_for(
	const struct gossip *g, unsigned policy, const struct neighbour *e, double part)
{
	const struct tree *t = g->own;
	unsigned most = is_child(t, e) ? tree_others(g) : tree_others(g) + 1 - t->position;
	struct both_sums sums = add_links(g, policy, e, !is_child(t, e));
	struct link_sums sum = join_sums(&sums, part);

	sum_add(&sum, &t->own[policy]);
	if (sum.count > most)
		sum_scale(&sum, (double)most / sum.count);
	return (struct part){
		.demand = (float)fmin(sum.demand, FLT_MAX),
		.weight = (float)fmin(sum.weight, FLT_MAX),
		.count = sum.count,
	};
}

static bool changed_by(const struct part *from, const struct part *to,
	const struct link_sums *total, double share, double least_demand)
{
	return from->count != to->count ||
	       fabs((double)to->demand - from->demand) >
		       share * fmax(total->demand, least_demand) ||
	       fabs((double)to->weight - from->weight) > share * total->weight;
}

static void mark_policy(struct gossip *g, unsigned policy)
{
	struct tree *t = g->own;
	struct both_sums all = add_links(g, policy, NULL, false);
	double part = held_part(&all, g->roster->n - 1);
	double least = LIMIT_SHARE * t->limits[policy];
	struct link_sums total = join_sums(&all, part);

	sum_add(&total, &t->own[policy]);
	for (unsigned i = 0; i < t->table.n; i++) {
		struct neighbour *e = t->table.at[i];
		struct part to;

		if (!e->outbox)
			continue;
		to = part_for(g, policy, e, part);
		if (changed_by(&e->outbox->sums[policy], &to, &total, CHANGED_MUCH, least))
			outbox_mark(e->outbox, policy, NEWS_LARGE);
		else if (changed_by(&e->outbox->sums[policy], &to, &total, CHANGED_ENOUGH, least))
			outbox_mark(e->outbox, policy, NEWS_SMALL);
	}
}

void tree_mark_changes(struct gossip *g)
{
	struct tree *t = g->own;
	unsigned n = g->policies->n;

	for (unsigned i = 0; i < t->table.n; i++) {
		struct neighbour *e = t->table.at[i];
		bool counted = link_is_counted(t, e);

		t->all_dirty |= counted != e->counted;
		e->counted = counted;
	}
	if (t->all_dirty)
		for (unsigned i = 0; i < n; i++)
			mark_policy(g, i);
	else
		for (unsigned i = bitmap_next(t->dirty, n, 0); i < n;
			i = bitmap_next(t->dirty, n, i + 1))
			mark_policy(g, i);
	g->all_news |= t->all_dirty;
	t->all_dirty = false;
	memset(t->dirty, 0, bitmap_words(n) * sizeof(*t->dirty));
}

void tree_hold(struct gossip *g, struct neighbour *e, uint64_t until_ns)
{
	struct tree *t = g->own;

	t->all_dirty |= e->held_until_ns != until_ns;
	e->held_until_ns = until_ns;
}

bool tree_holds(const struct gossip *g, const struct neighbour *except)
{
	const struct tree *t = g->own;

	for (unsigned i = 0; i < t->table.n; i++)
		if (t->table.at[i] != except && t->table.at[i]->held_until_ns)
			return true;
	return false;
}

void tree_drop_sums(struct gossip *g, struct neighbour *e)
{
	struct tree *t = g->own;

	if (e->received_sums) {
		t->all_dirty = true;
		e->received.generation++;
		e->received.window = 0;
	}
	neighbour_forget(e);
}

uint16_t tree_write_sums(struct gossip *g, struct cursor *cursor, struct neighbour *e)
{
	uint16_t n = 0;
	unsigned policy;

	while (cursor_left(cursor) >= DATAGRAM_RECORD &&
		(policy = outbox_next(e->outbox)) < g->policies->n) {
		struct both_sums all = add_links(g, policy, NULL, false);
		struct part *sent = &e->outbox->sums[policy];
		struct part part = part_for(g, policy, e, held_part(&all, g->roster->n - 1));

		sent->demand = part.demand;
		sent->weight = part.weight;
		sent->count = part.count;
		datagram_write_sum(cursor, &(struct datagram_sum){g->policies->ids[policy],
						   part.count, part.demand, part.weight});
		n++;
	}
	return n;
}

void tree_take_sums(
	struct gossip *g, struct cursor cursor, unsigned n, struct neighbour *e, unsigned from)
{
	struct tree *t = g->own;
	const unsigned others = tree_others(g);
	/*
	 * Beyond a child are limiters with positions no lower than its own, beyond the parent all
	 * except us; more in the roster of a peer that has another one. Demand and weight must be
	 * plausible for as many as the sum counts.
	 */
	const unsigned most = (is_child(t, e) ? others + 1 - e->position : others) +
			      TREE_ROSTERS_APART;

	for (unsigned i = 0; i < n; i++) {
		struct datagram_sum sum;
		struct part *received;
		unsigned policy;

		datagram_read_sum(&cursor, &sum);
		policy = id_table_find(g->policies, sum.policy);
		if (policy == g->policies->n) {
			g->counters.unknown_policy++;
			continue;
		}
		if (sum.count > most ||
			!estimator_plausible(g, sum.count, sum.demand, sum.weight)) {
			estimator_implausible(g, from);
			continue;
		}
		received = &e->received_sums[policy];
		if (received->demand == sum.demand && received->weight == sum.weight &&
			received->count == sum.count)
			continue;
		*received = (struct part){
			.demand = sum.demand, .weight = sum.weight, .count = sum.count};
		bitmap_set(t->dirty, policy);
		estimator_news(g, policy);
	}
}
