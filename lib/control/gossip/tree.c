/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The estimator of large groups: sums along a tree over the roster. Over an edge a limiter sends
 * the sum of its own record and of the newest sums from its other neighbours, as replaceable state.
 * Upwards these are the sums of its children, downwards those of its parent and of its other
 * children. Parents have lower positions than children, so no value can return to its origin.
 *
 * An edge counts only while it is confirmed in both directions (membership.h), and both ends treat
 * it as a link. A limiter searches for the best candidate (tree_shape.h) that is alive:
 *
 *   - it probes the candidates better than its parent, one at a time; a probed limiter answers;
 *   - it sends UP to one that is alive. This one becomes its parent when it sends DOWN, and counts
 *     no fewer limiters than the old parent or a timeout has passed: a limiter that has just
 *     restarted might not have found its own parent yet;
 *   - only then it sends APART to the old parent, which drops its sums immediately. For that short
 *     time the subtree counts twice: its weights make limits smaller, but its count can hide a
 *     loss. The other order would take a part of the limit from all limiters at each move.
 *
 * A limiter that receives DOWN from one that is not its parent answers APART, so a lost APART heals
 * too. Limiters for which there is no room get no answer: they find the next candidate.
 */
#include <errno.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "gossip/estimator.h"
#include "gossip/tree_shape.h"
#include "gossip/tree_table.h"

/* A change of this share of the total is sent in the next tick; a smaller one by the heartbeat. */
#define CHANGED_ENOUGH (1.0 / 200)

/* Datagrams that carry a changed record, if they need not carry all records anyway. */
#define FRESH 3

/* Unchanged records that a datagram carries: all of them are repeated in turn. */
#define REFRESH 8

/* Heartbeats in a timeout, so that a few can be lost; and most ticks between two. */
#define HEARTBEATS    10
#define HEARTBEAT_MAX 4

/* Heartbeats between probes of better candidates, while there is a parent. */
#define PATIENCE 4

/*
 * A peer without a link that is silent for 1/IDLE_SHARE of the timeout is dropped if room is short.
 */
#define IDLE_SHARE 4

struct sum {
	double demand, weight;
	unsigned count;
};

struct tree {
	struct tree_table table;
	struct part *own; /* n_policies; a count of 1 if we have the policy */
	unsigned position, b, depth;
	unsigned n_candidates;
	unsigned candidates[TREE_CANDIDATES];
	unsigned parent, target; /* positions, or n; the target is to become the parent */
	uint32_t target_tick;    /* since when it is the target */
	unsigned probe;          /* position to probe in this tick, or n */
	unsigned probe_at;       /* candidate whose turn it is */
	uint32_t probe_tick;     /* tick of the last probe */
	unsigned send_at;        /* neighbour with which gossip_send() continues */
};

static unsigned no_position(const struct gossip *g)
{
	return g->roster->n;
}

static int tree_create(struct gossip *g, uint64_t now_ns)
{
	struct tree *t = calloc(1, sizeof(*t));

	(void)now_ns;
	g->own = t;
	if (!t)
		return -ENOMEM;
	t->b = g->branching < 2 ? 2 : g->branching;
	t->depth = tree_depth(g->roster->n, t->b);
	t->position = roster_position(g->roster, g->roster->ids[g->self]);
	t->n_candidates = tree_candidates(t->position, t->b, t->candidates);
	t->parent = t->target = t->probe = no_position(g);
	t->own = calloc((size_t)g->policies->n + 1, sizeof(*t->own));
	return t->own ? table_create(&t->table, 1 + t->b + TREE_EXTRA) : -ENOMEM;
}

static void tree_destroy(struct gossip *g)
{
	struct tree *t = g->own;

	if (!t)
		return;
	table_destroy(&t->table);
	free(t->own);
	free(t);
}

static void tree_set(struct gossip *g, unsigned policy, float demand, float weight)
{
	struct tree *t = g->own;

	t->own[policy] = (struct part){.demand = demand, .weight = weight, .count = 1};
}

static bool is_child(const struct tree *t, const struct neighbour *e)
{
	return e->position > t->position;
}

/* Returns true if the neighbour's sums are part of ours. */
static bool link_is_counted(const struct tree *t, const struct neighbour *e)
{
	return e->peer.alive && e->heard && (is_child(t, e) || e->position == t->parent);
}

static void sum_add(struct sum *sum, const struct part *part)
{
	sum->demand += part->demand;
	sum->weight += part->weight;
	sum->count += part->count;
}

/* Sums our own record and the links' sums, without that of `except`, and upwards of the parent. */
static struct sum tree_partial_sum(
	const struct gossip *g, unsigned policy, const struct neighbour *except, bool upwards)
{
	const struct tree *t = g->own;
	struct sum sum = {0};

	estimator_looks(g, t->table.n);
	sum_add(&sum, &t->own[policy]);
	for (unsigned i = 0; i < t->table.n; i++) {
		const struct neighbour *e = t->table.at[i];

		if (e != except && link_is_counted(t, e) && (is_child(t, e) || !upwards))
			sum_add(&sum, &e->heard[policy]);
	}
	return sum;
}

/* Returns the sums to send to a neighbour; their count is at most the largest possible one. */
static struct part part_for(const struct gossip *g, unsigned policy, const struct neighbour *e)
{
	const struct tree *t = g->own;
	unsigned most = is_child(t, e) ? g->roster->n - 1 : g->roster->n - t->position;
	struct sum sum = tree_partial_sum(g, policy, e, !is_child(t, e));

	return (struct part){
		.demand = (float)fmin(sum.demand, FLT_MAX),
		.weight = (float)fmin(sum.weight, FLT_MAX),
		.count = sum.count < most ? sum.count : most,
	};
}

static bool sum_changed_enough(
	const struct part *from, const struct part *to, const struct sum *total)
{
	return from->count != to->count ||
	       fabs((double)to->demand - from->demand) > CHANGED_ENOUGH * total->demand ||
	       fabs((double)to->weight - from->weight) > CHANGED_ENOUGH * total->weight;
}

/* Marks sums to send to a neighbour immediately; returns true if there are any. */
static bool mark_changes(struct gossip *g, struct neighbour *e)
{
	bool changed = false;

	for (unsigned i = 0; i < g->policies->n; i++) {
		struct part part = part_for(g, i, e);
		struct sum total = tree_partial_sum(g, i, NULL, false);

		if (!sum_changed_enough(&e->said[i], &part, &total))
			continue;
		e->said[i].fresh = FRESH;
		changed = true;
	}
	return changed;
}

static uint64_t tree_silence(const struct gossip *g)
{
	return g->timeout_ns;
}

static uint64_t tree_spread(const struct gossip *g)
{
	const struct tree *t = g->own;

	return 2 * t->depth * g->tick_ns;
}

/* Ticks between two heartbeats. */
static uint32_t heartbeat_ticks(const struct gossip *g)
{
	uint64_t ticks = g->timeout_ns / (HEARTBEATS * g->tick_ns);

	return ticks < 1 ? 1 : ticks > HEARTBEAT_MAX ? HEARTBEAT_MAX : (uint32_t)ticks;
}

/* Sets if the loss of the neighbour would matter. */
static void set_link_watched(struct gossip *g, struct neighbour *e, bool watched)
{
	g->changes += e->watched != watched;
	e->watched = watched;
}

/* Voids links of neighbours that are not active any more; drops neighbours that are long silent. */
static void expire_tree_links(struct gossip *g, uint64_t now_ns)
{
	struct tree *t = g->own;
	uint64_t silence = tree_silence(g);

	estimator_looks(g, t->table.n);
	for (unsigned i = t->table.n; i-- > 0;) {
		struct neighbour *e = t->table.at[i];

		g->changes += peer_expire(&e->peer, now_ns, silence);
		if (!e->peer.alive) {
			neighbour_forget(e);
			neighbour_unlink(e);
		}
		/* Not earlier, or an echo in a recorded datagram might still be recent. */
		if ((int64_t)(now_ns - e->spoke_ns) > 2 * (int64_t)silence) {
			set_link_watched(g, e, false);
			table_drop(&t->table, i);
		}
	}
}

static struct neighbour *find_neighbour(const struct gossip *g, unsigned position)
{
	const struct tree *t = g->own;

	estimator_looks(g, t->table.n);
	return table_find(&t->table, position);
}

static bool is_alive(const struct gossip *g, unsigned position)
{
	const struct neighbour *e = find_neighbour(g, position);

	return e && e->peer.alive;
}

/* Returns how many candidates are better than the parent: they are the first ones. */
static unsigned count_better_parents(const struct tree *t)
{
	unsigned n = 0;

	while (n < t->n_candidates && t->candidates[n] != t->parent)
		n++;
	return n;
}

/* Makes the target the parent; the old parent gets an answer that ends its link. */
static void adopt_new_parent(struct gossip *g)
{
	struct tree *t = g->own;
	struct neighbour *old = find_neighbour(g, t->parent);

	if (old) {
		neighbour_forget(old);
		set_link_watched(g, old, false);
		old->answer = true;
	}
	t->parent = t->target;
	t->target = no_position(g);
}

/* True: the target sent DOWN, and counts as many as the parent, or a timeout has passed. */
static bool is_ready(const struct gossip *g, const struct neighbour *target)
{
	const struct tree *t = g->own;
	const struct neighbour *parent = find_neighbour(g, t->parent);

	if (target->link != DATAGRAM_DOWN)
		return false;
	if (!parent || !parent->heard || (g->tick - t->target_tick) * g->tick_ns >= tree_silence(g))
		return true;
	for (unsigned i = 0; i < g->policies->n; i++)
		if (target->heard[i].count < parent->heard[i].count)
			return false;
	return true;
}

/* Makes the best candidate that is alive the target, unless the parent is better. */
static void choose_target(struct gossip *g)
{
	struct tree *t = g->own;
	unsigned n = count_better_parents(t), target = no_position(g);

	for (unsigned i = 0; i < n && target == no_position(g); i++)
		if (is_alive(g, t->candidates[i]))
			target = t->candidates[i];
	if (t->target != target)
		t->target_tick = g->tick;
	t->target = target;
}

static void choose_parent(struct gossip *g)
{
	struct tree *t = g->own;

	if (t->parent != no_position(g) && !is_alive(g, t->parent)) {
		t->parent = no_position(g);
		t->probe_at = 0;
		t->probe_tick = g->tick - heartbeat_ticks(g);
	}
	choose_target(g);
	if (t->target != no_position(g) && is_ready(g, find_neighbour(g, t->target)))
		adopt_new_parent(g);
}

static void choose_probe(struct gossip *g)
{
	struct tree *t = g->own;
	uint32_t pause = heartbeat_ticks(g) * (t->parent == no_position(g) ? 1 : PATIENCE);
	unsigned n = count_better_parents(t);
	struct neighbour *e;

	t->probe = no_position(g);
	if (n == 0 || g->tick - t->probe_tick < pause)
		return;
	t->probe_tick = g->tick;
	t->probe = t->candidates[t->probe_at++ % n];
	e = find_neighbour(g, t->probe);
	if (!e)
		return;
	e->answer = true;
	t->probe = no_position(g);
}

/* Returns true if we treat the edge as a link. */
static bool edge_is_link(const struct tree *t, const struct neighbour *e)
{
	if (is_child(t, e))
		return e->peer.alive && e->link == DATAGRAM_UP;
	return e->position == t->parent || e->position == t->target;
}

static void choose_due(struct gossip *g, struct neighbour *e)
{
	if (!edge_is_link(g->own, e))
		neighbour_unlink(e);
	else if (!e->said)
		e->said = calloc((size_t)g->policies->n + 1, sizeof(*e->said));
	e->due = e->answer;
	e->answer = false;
	if (!e->said)
		return;
	set_link_watched(g, e, true);
	e->due |= mark_changes(g, e) || g->tick - e->sent_tick >= heartbeat_ticks(g);
}

static void tree_tick(struct gossip *g, uint64_t now_ns)
{
	struct tree *t = g->own;

	expire_tree_links(g, now_ns);
	choose_parent(g);
	choose_probe(g);
	estimator_looks(g, t->table.n);
	for (unsigned i = 0; i < t->table.n; i++)
		choose_due(g, t->table.at[i]);
	t->send_at = 0;
}

static unsigned index_at(const struct gossip *g, unsigned position)
{
	return g->roster->sorted[position].index;
}

static unsigned tree_next(struct gossip *g)
{
	struct tree *t = g->own;

	if (t->probe != no_position(g)) {
		unsigned probe = t->probe;

		t->probe = no_position(g);
		return index_at(g, probe);
	}
	for (; t->send_at < t->table.n; t->send_at++)
		if (t->table.at[t->send_at]->due) {
			t->table.at[t->send_at]->due = false;
			return index_at(g, t->table.at[t->send_at]->position);
		}
	return no_position(g);
}

static struct neighbour *neighbour_of(const struct gossip *g, unsigned index)
{
	return find_neighbour(g, roster_position(g->roster, g->roster->ids[index]));
}

/* Writes changed sums, and a few others; the next call continues where the room ended. */
static uint16_t write_sums(struct gossip *g, struct cursor *cursor, struct neighbour *e)
{
	unsigned refresh = REFRESH, i = 0, m = g->policies->n;
	uint16_t n = 0;

	for (; i < m && cursor_left(cursor) >= DATAGRAM_RECORD; i++) {
		unsigned policy = (e->at + i) % m;
		uint8_t fresh = e->said[policy].fresh;
		struct part part;

		if (fresh == 0 && refresh == 0)
			continue;
		part = part_for(g, policy, e);
		part.fresh = fresh ? fresh - 1 : 0;
		refresh -= fresh == 0;
		e->said[policy] = part;
		datagram_write_sum(cursor, &(struct datagram_sum){g->policies->ids[policy],
						   part.count, part.demand, part.weight});
		n++;
	}
	if (m)
		e->at = (e->at + (i < m ? i : REFRESH)) % m;
	return n;
}

static uint16_t tree_write(struct gossip *g, struct cursor *cursor, unsigned to)
{
	struct neighbour *e = neighbour_of(g, to);

	if (e)
		e->sent_tick = g->tick;
	if (!e || !e->said) {
		datagram_write_link(cursor, DATAGRAM_APART);
		return 0;
	}
	datagram_write_link(cursor, is_child(g->own, e) ? DATAGRAM_DOWN : DATAGRAM_UP);
	return write_sums(g, cursor, e);
}

static struct peer *tree_find(const struct gossip *g, unsigned index)
{
	struct neighbour *e = neighbour_of(g, index);

	return e ? &e->peer : NULL;
}

static struct peer *tree_watched(const struct gossip *g, unsigned index)
{
	struct neighbour *e = neighbour_of(g, index);

	return e && e->watched ? &e->peer : NULL;
}

static bool is_candidate(const struct tree *t, unsigned position)
{
	for (unsigned i = 0; i < t->n_candidates; i++)
		if (t->candidates[i] == position)
			return true;
	return false;
}

static struct peer *tree_admit(struct gossip *g, unsigned index, uint64_t now_ns)
{
	struct tree *t = g->own;
	struct neighbour *e = neighbour_of(g, index);

	if (!e) {
		uint32_t id = g->roster->ids[index];
		unsigned position = roster_position(g->roster, id);

		if (position > t->position || is_candidate(t, position))
			e = table_add(
				&t->table, position, id, now_ns - tree_silence(g) / IDLE_SHARE);
		if (!e)
			return NULL;
		e->sent_tick = g->tick - HEARTBEAT_MAX;
		g->changes++; /* one that is watched may have made room */
	}
	e->spoke_ns = now_ns;
	/*
	 * A peer that probes us gets an answer. So does a peer without an accepted epoch, to prove
	 * its own without delay.
	 */
	if ((is_child(t, e) && !e->said) || !e->peer.known)
		e->answer = true;
	return &e->peer;
}

static void tree_forget(struct gossip *g, unsigned index)
{
	struct neighbour *e = neighbour_of(g, index);

	/* The restarted peer does not have our sums either. */
	neighbour_forget(e);
	neighbour_unlink(e);
}

static bool tree_check(
	const struct gossip *g, struct cursor cursor, const struct datagram_body *body)
{
	unsigned link = datagram_read_link(&cursor);

	for (unsigned i = 0; i < body->n_records; i++) {
		struct datagram_sum sum;

		datagram_read_sum(&cursor, &sum);
		if (cursor.failed || sum.count >= g->roster->n ||
			!estimator_rate_valid(sum.demand) || !estimator_rate_valid(sum.weight))
			return false;
	}
	return !cursor.failed && cursor_left(&cursor) == 0 && link < DATAGRAM_LINKS &&
	       (link != DATAGRAM_APART || body->n_records == 0);
}

/*
 * Beyond a child are limiters with positions no lower than its own, beyond the parent all except
 * us. Demand and weight must be plausible for as many as the sum counts.
 */
static bool sum_is_plausible(
	const struct gossip *g, const struct neighbour *e, const struct datagram_sum *sum)
{
	unsigned n = g->roster->n, most = is_child(g->own, e) ? n - e->position : n - 1;

	return sum->count <= most && estimator_plausible(g, sum->count, sum->demand, sum->weight);
}

static void take_sums(
	struct gossip *g, struct cursor cursor, unsigned n, struct neighbour *e, unsigned from)
{
	for (unsigned i = 0; i < n; i++) {
		struct datagram_sum sum;
		unsigned policy;

		datagram_read_sum(&cursor, &sum);
		policy = id_table_find(g->policies, sum.policy);
		if (policy == g->policies->n)
			g->counters.unknown_policy++;
		else if (!sum_is_plausible(g, e, &sum))
			estimator_implausible(g, from);
		else
			e->heard[policy] = (struct part){
				.demand = sum.demand, .weight = sum.weight, .count = sum.count};
	}
}

/* Returns a neighbour's view of the edge if our view allows it, otherwise DATAGRAM_APART. */
static enum datagram_link link_agreed(
	const struct tree *t, const struct neighbour *e, enum datagram_link said)
{
	if (is_child(t, e))
		return said == DATAGRAM_UP ? DATAGRAM_UP : DATAGRAM_APART;
	if (e->position != t->parent && e->position != t->target)
		return DATAGRAM_APART;
	return said == DATAGRAM_DOWN ? DATAGRAM_DOWN : DATAGRAM_APART;
}

static void tree_take(struct gossip *g, struct cursor cursor, const struct datagram_body *body,
	unsigned from, uint64_t now_ns)
{
	struct neighbour *e = neighbour_of(g, from);
	enum datagram_link said = (enum datagram_link)datagram_read_link(&cursor), link;

	(void)now_ns;
	/* One datagram a tick: another has overtaken this one. */
	if (body->tick != e->peer.tick)
		return;
	link = link_agreed(g->own, e, said);
	if (link == DATAGRAM_APART) {
		/* The peer treats the edge as a link that is none, or has ended or lost one. */
		e->answer |= said != DATAGRAM_APART || e->link != DATAGRAM_APART;
		set_link_watched(g, e, false);
		neighbour_forget(e);
		neighbour_unlink(e);
		return;
	}
	if (!e->heard)
		e->heard = calloc((size_t)g->policies->n + 1, sizeof(*e->heard));
	if (!e->heard)
		return;
	e->answer |= e->link != link;
	e->link = link;
	take_sums(g, cursor, body->n_records, e, from);
}

static struct gossip_sum tree_sum(const struct gossip *g, unsigned policy)
{
	const struct tree *t = g->own;
	unsigned peers = g->roster->n - 1;
	struct sum sum = {0};

	estimator_looks(g, t->table.n);
	for (unsigned i = 0; i < t->table.n; i++)
		if (link_is_counted(t, t->table.at[i]))
			sum_add(&sum, &t->table.at[i]->heard[policy]);
	return (struct gossip_sum){
		.weight = sum.weight,
		.demand = sum.demand,
		.lost = sum.count < peers ? peers - sum.count : 0,
	};
}

static unsigned tree_alive(const struct gossip *g)
{
	const struct tree *t = g->own;
	unsigned alive = 0;

	estimator_looks(g, t->table.n);
	for (unsigned i = 0; i < t->table.n; i++)
		alive += link_is_counted(t, t->table.at[i]);
	return alive;
}

static unsigned tree_silent(const struct gossip *g)
{
	const struct tree *t = g->own;
	unsigned silent = 0;

	estimator_looks(g, t->table.n);
	for (unsigned i = 0; i < t->table.n; i++)
		silent += t->table.at[i]->watched && !t->table.at[i]->peer.alive;
	return silent;
}

static bool tree_said(const struct gossip *g, unsigned policy)
{
	const struct tree *t = g->own;

	return t->own[policy].count > 0;
}

/* Copies the arrays of a neighbour by the map; returns false if there is no memory for them. */
static bool remap_neighbour(
	const struct remap *map, const struct neighbour *e, struct part **heard, struct part **said)
{
	*heard = e->heard ? remap_rows(map, e->heard, sizeof(**heard)) : NULL;
	*said = e->said ? remap_rows(map, e->said, sizeof(**said)) : NULL;
	return (*heard || !e->heard) && (*said || !e->said);
}

static int tree_update(struct gossip *g, const struct remap *map)
{
	struct tree *t = g->own;
	struct part **moved = calloc(2 * (size_t)t->table.n + 1, sizeof(struct part *));
	struct part *own = remap_rows(map, t->own, sizeof(*own));
	bool complete = moved && own;

	for (unsigned i = 0; complete && i < t->table.n; i++)
		complete = remap_neighbour(map, t->table.at[i], &moved[2 * i], &moved[2 * i + 1]);
	for (unsigned i = 0; complete && i < t->table.n; i++) {
		struct neighbour *e = t->table.at[i];
		struct part *heard = e->heard, *said = e->said;

		e->heard = moved[2 * i];
		e->said = moved[2 * i + 1];
		moved[2 * i] = heard;
		moved[2 * i + 1] = said;
		e->at = 0;
	}
	if (complete) {
		struct part *old = t->own;

		t->own = own;
		own = old;
	}
	for (unsigned i = 0; moved && i < 2 * t->table.n; i++)
		free(moved[i]);
	free(moved);
	free(own);
	return complete ? 0 : -ENOMEM;
}

const struct estimator estimator_tree = {
	.create = tree_create,
	.destroy = tree_destroy,
	.set = tree_set,
	.tick = tree_tick,
	.next = tree_next,
	.write = tree_write,
	.find = tree_find,
	.watched = tree_watched,
	.admit = tree_admit,
	.forget = tree_forget,
	.check = tree_check,
	.take = tree_take,
	.sum = tree_sum,
	.alive = tree_alive,
	.silent = tree_silent,
	.silence = tree_silence,
	.spread = tree_spread,
	.said = tree_said,
	.update = tree_update,
};
