/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The estimator of large groups: sums along a tree over the roster. Over an edge a limiter sends
 * the sum of its own record and of the newest sums from its other neighbours, as replaceable state.
 * Upwards these are the sums of its children, downwards those of its parent and of its other
 * children. Parents have lower positions than children, so no value can return to its origin.
 *
 * An edge counts only while it is confirmed in both directions (membership.h), and both ends treat
 * it as a link. A limiter searches for the best candidate (tree_table.h) that is alive:
 *
 *   - it probes the candidates better than its parent, one at a time; a probed limiter answers;
 *   - it sends UP to one that is alive. This one becomes its parent when it sends DOWN, and counts
 *     no fewer limiters than the old parent or a timeout has passed: a limiter that has just
 *     restarted might not have found its own parent yet;
 *   - only then it sends APART to the old parent, which holds its sums until those of the new one
 *     have arrived, see tree_sums.c.
 *
 * A limiter that receives DOWN from one that is not its parent answers APART, so a lost APART heals
 * too. Limiters for which there is no room get no answer: they find the next candidate.
 */
#include "gossip/tree_private.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/bitmap.h"
#include "base/math.h"
#include "base/time.h"

/* Probes in a timeout while there is no parent, and the longest time between two. */
#define PROBES       20
#define PROBE_NS_MAX (100 * MS_NS)

/* So many times as long is the time between probes of better candidates than the parent. */
#define PATIENCE 8

/* A lost link's sums are held for 1/HOLD_SHARE of the timeout, see tree_sums.c. */
#define HOLD_SHARE 2

/*
 * A peer without a link that is silent for 1/IDLE_SHARE of the timeout is dropped if room is short.
 */
#define IDLE_SHARE 4

static unsigned no_position(const struct gossip *g)
{
	return g->roster->n;
}

static int tree_create(struct gossip *g, uint64_t now_ns)
{
	struct tree *t = calloc(1, sizeof(*t));

	g->own = t;
	if (!t)
		return -ENOMEM;
	t->id = g->roster->ids[g->self];
	t->b = g->branching < 2 ? 2 : g->branching;
	t->depth = tree_depth(g->roster->n, t->b);
	t->position = roster_position(g->roster, g->roster->ids[g->self]);
	t->n_candidates = tree_candidates(t->position, t->b, t->candidates);
	t->parent = t->target = t->probe = no_position(g);
	t->now_ns = now_ns;
	t->own = calloc((size_t)g->policies->n + 1, sizeof(*t->own));
	t->limits = calloc((size_t)g->policies->n + 1, sizeof(*t->limits));
	t->dirty = calloc(bitmap_words(g->policies->n), sizeof(*t->dirty));
	if (!t->own || !t->limits || !t->dirty)
		return -ENOMEM;
	return table_create(&t->table, 1 + t->b + TREE_EXTRA);
}

static void tree_destroy(struct gossip *g)
{
	struct tree *t = g->own;

	if (!t)
		return;
	table_destroy(&t->table);
	free(t->own);
	free(t->limits);
	free(t->dirty);
	free(t);
}

/*
 * Passes over the ticks of a pause of this limiter, so that ticks measure time. Otherwise an echo
 * of a tick before the pause would seem young: we would count neighbours that have lost us
 * meanwhile, and offer them sums from before the pause.
 */
static void pass_ticks(struct gossip *g, uint64_t now_ns)
{
	struct tree *t = g->own;
	uint64_t passed = (now_ns - t->now_ns) / g->tick_ns;

	if (passed < 2)
		return;
	g->tick += (uint32_t)(passed - 1);
	t->now_ns += (passed - 1) * g->tick_ns;
}

static void tree_set(struct gossip *g, unsigned policy, float demand, float weight)
{
	struct tree *t = g->own;

	t->own[policy] = (struct part){.demand = demand, .weight = weight, .count = 1};
	bitmap_set(t->dirty, policy);
}

static void tree_set_limit(struct gossip *g, unsigned policy, float rate)
{
	struct tree *t = g->own;

	t->limits[policy] = rate;
}

static uint64_t tree_silence(const struct gossip *g)
{
	return g->timeout_ns;
}

static uint64_t tree_hold_ns(const struct gossip *g)
{
	return g->timeout_ns / HOLD_SHARE;
}

static uint64_t tree_spread(const struct gossip *g)
{
	const struct tree *t = g->own;

	return tree_hold_ns(g) + 2 * t->depth * tree_wait_ns(g);
}

static uint64_t probe_pause_ns(const struct gossip *g)
{
	uint64_t pause = min_u64(g->timeout_ns / PROBES, PROBE_NS_MAX);
	const struct tree *t = g->own;

	return t->parent == no_position(g) ? pause : PATIENCE * pause;
}

/* Sets if the loss of the neighbour would matter. */
static void set_link_watched(struct gossip *g, struct neighbour *e, bool watched)
{
	g->changes += e->watched != watched;
	e->watched = watched;
}

/* The link of a neighbour ends: if its sums are part of ours, they are held for a while. */
static void end_link(struct gossip *g, struct neighbour *e, bool counted)
{
	struct tree *t = g->own;

	neighbour_unlink(e);
	e->link = DATAGRAM_APART;
	if (counted && !e->held_until_ns)
		tree_hold(g, e, t->now_ns + tree_hold_ns(g));
	if (!counted)
		tree_drop_sums(g, e);
}

/* Ends links of neighbours that are not active any more; drops neighbours that are long silent. */
static void expire_tree_links(struct gossip *g)
{
	struct tree *t = g->own;
	uint64_t silence = tree_silence(g), now = t->now_ns;

	estimator_looks(g, t->table.n);
	for (unsigned i = t->table.n; i-- > 0;) {
		struct neighbour *e = t->table.at[i];
		bool counted = link_is_counted(t, e);

		if (peer_expire(&e->peer, now, silence)) {
			g->changes++;
			t->all_dirty = true;
		}
		if (e->peer.alive && e->link != DATAGRAM_APART &&
			(is_child(t, e) || e->position == t->parent))
			tree_hold(g, e, 0); /* the link is back */
		if (e->held_until_ns && now >= e->held_until_ns)
			tree_drop_sums(g, e);
		else if (!e->peer.alive)
			end_link(g, e, counted);
		/* Not earlier, or an echo in a recorded datagram might still be recent. */
		if ((int64_t)(now - e->received_ns) > 2 * (int64_t)silence) {
			set_link_watched(g, e, false);
			tree_drop_sums(g, e);
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
		tree_drop_sums(g, old);
		set_link_watched(g, old, false);
		old->answer = true;
	}
	tree_hold(g, find_neighbour(g, t->target), 0);
	t->parent = t->target;
	t->target = no_position(g);
}

/*
 * True: the target sent DOWN, and counts as many as the parent by live links, or a timeout has
 * passed. One that has just been cut off itself holds sums of all others, but is on its own.
 */
static bool is_ready(const struct gossip *g, const struct neighbour *target)
{
	const struct tree *t = g->own;
	const struct neighbour *parent = find_neighbour(g, t->parent);

	if (target->link != DATAGRAM_DOWN)
		return false;
	if (!parent || !parent->received_sums ||
		(g->tick - t->target_tick) * g->tick_ns >= tree_silence(g))
		return true;
	if (target->holds)
		return false;
	for (unsigned i = 0; i < g->policies->n; i++)
		if (target->received_sums[i].count < parent->received_sums[i].count)
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

/* The search for another parent begins with the next tick, and with the best candidate. */
static void lose_parent(struct gossip *g, unsigned none)
{
	struct tree *t = g->own;

	t->parent = none;
	t->probe_at = 0;
	t->probe_ns = t->now_ns - probe_pause_ns(g);
}

static void choose_parent(struct gossip *g)
{
	struct tree *t = g->own;

	if (t->parent != no_position(g) && !is_alive(g, t->parent))
		lose_parent(g, no_position(g));
	choose_target(g);
	if (t->target != no_position(g) && is_ready(g, find_neighbour(g, t->target)))
		adopt_new_parent(g);
}

static void choose_probe(struct gossip *g)
{
	struct tree *t = g->own;
	unsigned n = count_better_parents(t);
	struct neighbour *e;

	t->probe = no_position(g);
	if (n == 0 || t->now_ns - t->probe_ns < probe_pause_ns(g))
		return;
	t->probe_ns = t->now_ns;
	t->probe = t->candidates[t->probe_at++ % n];
	e = find_neighbour(g, t->probe);
	if (!e)
		return;
	e->answer = true;
	t->probe = no_position(g);
}

/* Keeps the sums that are sent over an edge for as long as it is a link. */
static void keep_outbox(struct gossip *g, struct neighbour *e)
{
	struct tree *t = g->own;
	const bool linked = is_child(t, e) ? e->peer.alive && e->link == DATAGRAM_UP
					   : e->position == t->parent || e->position == t->target;

	if (!linked) {
		neighbour_unlink(e);
		return;
	}
	if (!e->outbox) {
		/* In ms, so that it is newer than all before: fewer datagrams are sent. */
		e->outbox = outbox_create(g->policies->n, (uint32_t)(t->now_ns / MS_NS));
		t->all_dirty |= e->outbox != NULL;
	}
	if (e->outbox)
		set_link_watched(g, e, true);
}

static void tree_tick(struct gossip *g, uint64_t now_ns)
{
	struct tree *t = g->own;

	pass_ticks(g, now_ns);
	t->now_ns = now_ns;
	if (t->removed && now_ns >= t->removed_until_ns) {
		t->removed = 0;
		t->all_dirty = true;
	}
	expire_tree_links(g);
	choose_parent(g);
	choose_probe(g);
	estimator_looks(g, t->table.n);
	for (unsigned i = 0; i < t->table.n; i++)
		keep_outbox(g, t->table.at[i]);
	tree_mark_changes(g);
	for (unsigned i = 0; i < t->table.n; i++)
		tree_pace(g, t->table.at[i]);
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
		if (tree_turn(t->table.at[t->send_at]))
			return index_at(g, t->table.at[t->send_at]->position);
	return no_position(g);
}

static struct neighbour *neighbour_of(const struct gossip *g, unsigned index)
{
	return find_neighbour(g, roster_position(g->roster, g->roster->ids[index]));
}

static uint16_t tree_write(struct gossip *g, struct cursor *cursor, unsigned to, uint8_t version)
{
	struct neighbour *e = neighbour_of(g, to);
	struct datagram_edge edge = {.link = DATAGRAM_APART};

	if (e)
		edge.received = e->received;
	if (e && e->outbox) {
		edge.link = is_child(g->own, e) ? DATAGRAM_DOWN : DATAGRAM_UP;
		edge.sequence = ++e->outbox->sequence;
		edge.asks = tree_suspects(g, e);
		edge.holds = tree_holds(g, e);
	}
	datagram_write_edge(cursor, &edge, version);
	return edge.link == DATAGRAM_APART ? 0 : tree_write_sums(g, cursor, e);
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

	pass_ticks(g, now_ns);
	if (!e) {
		uint32_t id = g->roster->ids[index];
		unsigned position = roster_position(g->roster, id);

		if (position > t->position || is_candidate(t, position))
			e = table_add(
				&t->table, position, id, now_ns - tree_silence(g) / IDLE_SHARE);
		if (!e)
			return NULL;
		e->sent_ns = now_ns - tree_heartbeat_ns(g);
		e->received.generation = (uint8_t)g->tick;
		g->changes++; /* one that is watched may have made room */
		t->all_dirty = true;
	}
	e->received_ns = now_ns;
	/*
	 * A peer that probes us gets an answer. So does a peer without an accepted epoch, to prove
	 * its own without delay.
	 */
	if ((is_child(t, e) && !e->outbox) || !e->peer.known)
		e->answer = true;
	return &e->peer;
}

static void tree_forget(struct gossip *g, unsigned index)
{
	struct neighbour *e = neighbour_of(g, index);

	/* The restarted peer does not have our sums either. */
	tree_drop_sums(g, e);
	neighbour_unlink(e);
}

static bool tree_check(
	const struct gossip *g, struct cursor cursor, const struct datagram_body *body)
{
	struct datagram_edge edge;

	datagram_read_edge(&cursor, &edge, body->version);
	for (unsigned i = 0; i < body->n_records; i++) {
		struct datagram_sum sum;

		datagram_read_sum(&cursor, &sum);
		if (cursor.failed || sum.count > tree_others(g) + TREE_ROSTERS_APART ||
			!estimator_rate_valid(sum.demand) || !estimator_rate_valid(sum.weight))
			return false;
	}
	return !cursor.failed && cursor_left(&cursor) == 0 && edge.link < DATAGRAM_LINKS &&
	       (edge.link != DATAGRAM_APART || body->n_records == 0);
}

/* Returns a neighbour's view of the edge if our view allows it, otherwise DATAGRAM_APART. */
static enum datagram_link link_agreed(
	const struct tree *t, const struct neighbour *e, enum datagram_link reported)
{
	if (is_child(t, e))
		return reported == DATAGRAM_UP ? DATAGRAM_UP : DATAGRAM_APART;
	if (e->position != t->parent && e->position != t->target)
		return DATAGRAM_APART;
	return reported == DATAGRAM_DOWN ? DATAGRAM_DOWN : DATAGRAM_APART;
}

/* Notes a datagram whose sums are taken, for the next report. */
static void note_sequence(struct datagram_received *received, uint32_t sequence)
{
	uint32_t ahead = sequence - received->newest, behind = received->newest - sequence;

	if (received->window == 0 || serial_newer(sequence, received->newest)) {
		received->window = ahead < DATAGRAM_WINDOW ? received->window << ahead : 0;
		received->window |= 1;
		received->newest = sequence;
	} else if (behind < DATAGRAM_WINDOW) {
		received->window |= UINT64_C(1) << behind;
	}
}

/* Takes the report about our datagrams. A neighbour that has dropped our sums gets all again. */
static void take_report(
	struct gossip *g, struct neighbour *e, const struct datagram_received *received)
{
	struct tree *t = g->own;
	struct outbox *outbox = e->outbox;

	if (outbox->has_reported && outbox->generation != received->generation) {
		neighbour_unlink(e);
		t->all_dirty = true;
		return;
	}
	outbox->has_reported = true;
	outbox->generation = received->generation;
	if (received->window)
		outbox_report(outbox, received);
}

static void tree_take(struct gossip *g, struct cursor cursor, const struct datagram_body *body,
	unsigned from, uint64_t now_ns)
{
	struct neighbour *e = neighbour_of(g, from);
	struct datagram_edge edge;
	enum datagram_link reported, link;

	(void)now_ns;
	/* Datagrams of one tick may have any order. One of an older tick was overtaken. */
	if (body->tick != e->peer.tick)
		return;
	datagram_read_edge(&cursor, &edge, body->version);
	reported = (enum datagram_link)edge.link;
	link = link_agreed(g->own, e, reported);
	if (link == DATAGRAM_APART) {
		/* The peer treats the edge as a link that is none, or has ended or lost one. */
		e->answer |= reported != DATAGRAM_APART || e->link != DATAGRAM_APART;
		set_link_watched(g, e, false);
		end_link(g, e, link_is_counted(g->own, e));
		return;
	}
	if (!e->received_sums)
		e->received_sums = calloc((size_t)g->policies->n + 1, sizeof(*e->received_sums));
	if (!e->received_sums)
		return;
	e->answer |= edge.asks || e->link != link;
	e->link = link;
	e->holds = edge.holds;
	if (body->version >= DATAGRAM_REPORTS)
		note_sequence(&e->received, edge.sequence);
	if (body->version >= DATAGRAM_REPORTS && e->outbox)
		take_report(g, e, &edge.received);
	tree_take_sums(g, cursor, body->n_records, e, from);
}

static struct gossip_sum tree_sum(const struct gossip *g, unsigned policy)
{
	struct link_sums sum = tree_link_sums(g, policy);

	return (struct gossip_sum){
		.weight = sum.weight,
		.demand = sum.demand,
		.lost = g->roster->n - 1 - min_u32(sum.count, g->roster->n - 1),
	};
}

static unsigned tree_alive(const struct gossip *g)
{
	const struct tree *t = g->own;
	unsigned alive = 0;

	estimator_looks(g, t->table.n);
	for (unsigned i = 0; i < t->table.n; i++)
		alive += link_is_counted(t, t->table.at[i]) && t->table.at[i]->peer.alive;
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

static bool tree_has_record(const struct gossip *g, unsigned policy)
{
	const struct tree *t = g->own;

	return t->own[policy].count > 0;
}

/* The state of a tree for other policies. */
struct moved {
	struct part *own, **received_sums;
	struct outbox **outboxes;
	float *limits;
	uint64_t *dirty;
};

static bool moved_alloc(struct moved *m, const struct gossip *g, const struct remap *map)
{
	const struct tree *t = g->own;
	bool complete;

	m->own = remap_rows(map, t->own, sizeof(*m->own));
	m->limits = remap_rows(map, t->limits, sizeof(*m->limits));
	m->dirty = calloc(bitmap_words(map->n), sizeof(*m->dirty));
	m->received_sums = calloc(t->table.n + 1, sizeof(struct part *));
	m->outboxes = calloc(t->table.n + 1, sizeof(struct outbox *));
	complete = m->own && m->limits && m->dirty && m->received_sums && m->outboxes;
	for (unsigned i = 0; complete && i < t->table.n; i++) {
		const struct neighbour *e = t->table.at[i];

		m->received_sums[i] = e->received_sums ? remap_rows(map, e->received_sums,
								 sizeof(struct part))
						       : NULL;
		m->outboxes[i] = e->outbox ? outbox_remap(e->outbox, map) : NULL;
		complete = !e->received_sums == !m->received_sums[i] &&
			   !e->outbox == !m->outboxes[i];
	}
	return complete;
}

static void moved_free(struct moved *m, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		if (m->received_sums)
			free(m->received_sums[i]);
		if (m->outboxes)
			free(m->outboxes[i]);
	}
	free(m->own);
	free(m->limits);
	free(m->dirty);
	free(m->received_sums);
	free(m->outboxes);
}

static int tree_update(struct gossip *g, const struct remap *map)
{
	struct tree *t = g->own;
	struct moved moved = {0};
	bool complete = moved_alloc(&moved, g, map);

	if (complete) {
		struct moved old = {.own = t->own, .limits = t->limits, .dirty = t->dirty};

		t->own = moved.own;
		t->limits = moved.limits;
		t->dirty = moved.dirty;
		t->all_dirty = true;
		moved.own = old.own;
		moved.limits = old.limits;
		moved.dirty = old.dirty;
		for (unsigned i = 0; i < t->table.n; i++) {
			struct neighbour *e = t->table.at[i];
			struct part *received_sums = e->received_sums;
			struct outbox *outbox = e->outbox;

			e->received_sums = moved.received_sums[i];
			e->outbox = moved.outboxes[i];
			moved.received_sums[i] = received_sums;
			moved.outboxes[i] = outbox;
		}
	}
	moved_free(&moved, t->table.n);
	return complete ? 0 : -ENOMEM;
}

static void regroup_neighbours(struct gossip *g, const struct roster *roster)
{
	struct tree *t = g->own;

	for (unsigned i = 0; i < t->table.n; i++) {
		struct neighbour *e = t->table.at[i];
		unsigned position = roster_position(roster, e->peer.id);

		if (e->position == TREE_REMOVED)
			continue;
		if (position == roster->n) {
			/* Limiters beyond it are held like those beyond a lost neighbour. */
			bool counted = link_is_counted(g->own, e);

			set_link_watched(g, e, false);
			e->peer.known = e->peer.alive = false;
			e->due = e->answer = false;
			e->position = TREE_REMOVED;
			end_link(g, e, counted);
		} else {
			e->position = position;
		}
	}
}

/* Returns the most limiters that the sums of a policy count. */
static unsigned most_counted(const struct gossip *g)
{
	unsigned most = 0;

	for (unsigned i = 0; i < g->policies->n; i++) {
		unsigned count = tree_link_sums(g, i).count;

		most = count > most ? count : most;
	}
	return most;
}

/* Returns the position of a candidate in another roster; n: it is not there, or there is none. */
static unsigned position_in(const struct gossip *g, const struct roster *roster, unsigned position)
{
	return position == no_position(g) ? roster->n
					  : roster_position(roster, g->roster->sorted[position].id);
}

static int tree_regroup(struct gossip *g, const struct regroup *map)
{
	const struct roster *roster = map->roster;
	struct tree *t = g->own;
	unsigned parent = position_in(g, roster, t->parent), counted = most_counted(g);

	t->removed = counted < roster->n ? 0 : counted + 1 - roster->n;
	t->removed_until_ns = map->now_ns + tree_silence(g) + tree_spread(g);
	regroup_neighbours(g, roster);
	if (parent == roster->n)
		lose_parent(g, parent);
	t->parent = parent;
	t->target = position_in(g, roster, t->target);
	t->probe = position_in(g, roster, t->probe);
	t->position = roster_position(roster, t->id);
	t->depth = tree_depth(roster->n, t->b);
	t->n_candidates = tree_candidates(t->position, t->b, t->candidates);
	if (parent != roster->n) {
		/*
		 * The group has another shape, but a link that works is better than a new one:
		 * while a subtree moves, it can count twice. So the parent is the best candidate
		 * until it is lost.
		 */
		unsigned at = count_better_parents(t);

		t->n_candidates += at == t->n_candidates;
		memmove(&t->candidates[1], t->candidates, at * sizeof(*t->candidates));
		t->candidates[0] = t->parent;
	}
	t->all_dirty = true;
	return 0;
}

const struct estimator estimator_tree = {
	.create = tree_create,
	.destroy = tree_destroy,
	.set = tree_set,
	.set_limit = tree_set_limit,
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
	.has_record = tree_has_record,
	.update = tree_update,
	.regroup = tree_regroup,
	.reports_news = true,
};
