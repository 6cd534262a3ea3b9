/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The neighbours of one limiter in the tree: their outboxes, a table of bounded size for any size
 * of the group, and the shape of the tree. Called by tree.c, tree_send.c and tree_sums.c.
 */
#include "gossip/tree_table.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/bitmap.h"
#include "gossip/estimator.h"

/* --- outbox ----------------------------------------------------------------------------------- */

struct outbox *outbox_create(unsigned n, uint32_t sequence)
{
	size_t words = bitmap_words(n), maps = NEWS_KINDS + 3;
	struct outbox *o = calloc(1, sizeof(*o) + maps * words * sizeof(uint64_t) +
					     ((size_t)n + 1) * sizeof(struct part));
	uint64_t *bits;

	if (!o)
		return NULL;
	bits = (void *)(o + 1);
	o->n = n;
	o->sequence = sequence;
	for (unsigned kind = 0; kind < NEWS_KINDS; kind++, bits += words)
		o->news[kind].due = bits;
	o->in_flight = bits;
	o->in_flight_large = bits + words;
	o->once = bits + 2 * words;
	o->sums = (void *)(bits + 3 * words);
	for (unsigned i = 0; i < n; i++)
		o->sums[i].sequence = sequence;
	return o;
}

static bool is_due(const struct outbox *o, unsigned policy, enum news_kind kind)
{
	return bitmap_has(o->news[kind].due, policy);
}

static void set_due(struct outbox *o, unsigned policy, enum news_kind kind)
{
	o->news[kind].n_due += !is_due(o, policy, kind);
	bitmap_set(o->news[kind].due, policy);
}

static void clear_due(struct outbox *o, unsigned policy, enum news_kind kind)
{
	o->news[kind].n_due -= is_due(o, policy, kind);
	bitmap_clear(o->news[kind].due, policy);
}

void outbox_mark(struct outbox *o, unsigned policy, enum news_kind kind)
{
	if (is_due(o, policy, NEWS_LARGE))
		kind = NEWS_LARGE;
	clear_due(o, policy, NEWS_AGAIN);
	clear_due(o, policy, NEWS_SMALL);
	set_due(o, policy, kind);
	o->news[kind].waits = true;
	bitmap_clear(o->in_flight, policy);
	bitmap_clear(o->once, policy);
}

struct outbox *outbox_remap(const struct outbox *from, const struct remap *map)
{
	struct outbox *o = outbox_create(map->n, from->sequence);

	for (unsigned i = 0; o && i < map->n; i++) {
		unsigned old = map->from[i];

		if (old == GOSSIP_ADDED)
			continue;
		o->sums[i] = from->sums[old];
		if (is_due(from, old, NEWS_LARGE) || bitmap_has(from->in_flight, old))
			outbox_mark(o, i, NEWS_LARGE);
		else if (is_due(from, old, NEWS_SMALL))
			outbox_mark(o, i, NEWS_SMALL);
	}
	return o;
}

bool outbox_waits(const struct outbox *o, enum news_kind kind)
{
	return o->news[kind].waits || o->news[kind].left > 0;
}

void outbox_begin(struct outbox *o)
{
	/* Large news of earlier turns is sent again, not twice in one turn. */
	for (unsigned i = bitmap_next(o->once, o->n, 0); i < o->n;
		i = bitmap_next(o->once, o->n, i + 1)) {
		bitmap_clear(o->once, i);
		set_due(o, i, NEWS_AGAIN);
	}
	for (unsigned kind = 0; kind < NEWS_KINDS; kind++) {
		o->news[kind].left = o->news[kind].n_due;
		o->news[kind].waits = false;
	}
	o->refresh = o->n < OUTBOX_REFRESH ? o->n : OUTBOX_REFRESH;
	o->turn_from = o->sequence + 1;
}

bool outbox_has_left(const struct outbox *o)
{
	for (unsigned kind = 0; kind < NEWS_KINDS; kind++)
		if (o->news[kind].left > 0)
			return true;
	return false;
}

static unsigned next_news(struct outbox *o, enum news_kind kind)
{
	unsigned policy = bitmap_next(o->news[kind].due, o->n, o->news[kind].at);

	if (policy == o->n)
		policy = bitmap_next(o->news[kind].due, o->n, 0);
	o->news[kind].left--;
	o->news[kind].at = policy + 1 < o->n ? policy + 1 : 0;
	clear_due(o, policy, kind);
	if (kind == NEWS_LARGE) {
		bitmap_set(o->once, policy);
		bitmap_set(o->in_flight_large, policy);
	}
	if (kind == NEWS_SMALL)
		bitmap_clear(o->in_flight_large, policy);
	bitmap_set(o->in_flight, policy);
	return policy;
}

static unsigned next_unchanged(struct outbox *o)
{
	while (o->refresh > 0) {
		unsigned policy = o->refresh_at;

		o->refresh--;
		o->refresh_at = policy + 1 < o->n ? policy + 1 : 0;
		if (serial_newer(o->turn_from, o->sums[policy].sequence))
			return policy;
	}
	return o->n;
}

unsigned outbox_next(struct outbox *o)
{
	unsigned kind = 0, policy;

	while (kind < NEWS_KINDS && o->news[kind].left == 0)
		kind++;
	o->complete |= kind == NEWS_KINDS;
	policy = kind < NEWS_KINDS ? next_news(o, (enum news_kind)kind) : next_unchanged(o);
	if (policy < o->n)
		o->sums[policy].sequence = o->sequence;
	return policy;
}

void outbox_report(struct outbox *o, const struct datagram_received *received)
{
	for (unsigned i = bitmap_next(o->in_flight, o->n, 0); i < o->n;
		i = bitmap_next(o->in_flight, o->n, i + 1)) {
		uint32_t age = received->newest - o->sums[i].sequence;

		if (serial_newer(o->sums[i].sequence, received->newest))
			continue;
		bitmap_clear(o->in_flight, i);
		bitmap_clear(o->once, i);
		if (age < DATAGRAM_WINDOW && received->window >> age & 1)
			clear_due(o, i, NEWS_AGAIN);
		else
			outbox_mark(
				o, i, bitmap_has(o->in_flight_large, i) ? NEWS_LARGE : NEWS_SMALL);
	}
}

/* --- table ------------------------------------------------------------------------------------ */

int table_create(struct tree_table *table, unsigned max)
{
	table->max = max;
	table->at = calloc(max, sizeof(*table->at));
	return table->at ? 0 : -ENOMEM;
}

void table_destroy(struct tree_table *table)
{
	while (table->n > 0)
		table_drop(table, table->n - 1);
	free(table->at);
}

struct neighbour *table_find(const struct tree_table *table, unsigned position)
{
	for (unsigned i = 0; i < table->n; i++)
		if (table->at[i]->position == position)
			return table->at[i];
	return NULL;
}

static bool neighbour_is_idle(const struct neighbour *neighbour, uint64_t stale_ns)
{
	return !neighbour->outbox && !neighbour->received_sums &&
	       (int64_t)(neighbour->received_ns - stale_ns) < 0;
}

/* Makes room for one more; returns false if there is none for this position. */
static bool displace_neighbour(struct tree_table *table, unsigned position, uint64_t stale_ns)
{
	unsigned k = 0;

	while (k < table->n && !neighbour_is_idle(table->at[k], stale_ns))
		k++;
	if (k == table->n) {
		k = 0;
		for (unsigned i = 1; i < table->n; i++)
			if (table->at[i]->position > table->at[k]->position)
				k = i;
	}
	if (!neighbour_is_idle(table->at[k], stale_ns) && table->at[k]->position < position)
		return false;
	table_drop(table, k);
	return true;
}

struct neighbour *table_add(
	struct tree_table *table, unsigned position, uint32_t id, uint64_t stale_ns)
{
	struct neighbour *neighbour;

	if (table->n == table->max && !displace_neighbour(table, position, stale_ns))
		return NULL;
	neighbour = calloc(1, sizeof(*neighbour));
	if (!neighbour)
		return NULL;
	neighbour->position = position;
	neighbour->peer.id = id;
	table->at[table->n++] = neighbour;
	return neighbour;
}

void table_drop(struct tree_table *table, unsigned k)
{
	struct neighbour *neighbour = table->at[k];

	table->at[k] = table->at[--table->n];
	neighbour_forget(neighbour);
	neighbour_unlink(neighbour);
	free(neighbour);
}

void neighbour_forget(struct neighbour *neighbour)
{
	neighbour->link = DATAGRAM_APART;
	neighbour->held_until_ns = 0;
	free(neighbour->received_sums);
	neighbour->received_sums = NULL;
}

void neighbour_unlink(struct neighbour *neighbour)
{
	free(neighbour->outbox);
	neighbour->outbox = NULL;
}

/* --- shape ------------------------------------------------------------------------------------ */

static unsigned tree_parent_position(unsigned position, unsigned b)
{
	return (position - 1) / b;
}

unsigned tree_depth(unsigned n, unsigned b)
{
	unsigned depth = 0;

	for (unsigned at = n - 1; at > 0; at = tree_parent_position(at, b))
		depth++;
	return depth;
}

static bool candidates_contain(const unsigned *candidates, unsigned n, unsigned position)
{
	for (unsigned i = 0; i < n; i++)
		if (candidates[i] == position)
			return true;
	return false;
}

unsigned tree_candidates(unsigned position, unsigned b, unsigned *candidates)
{
	unsigned n = 0, ancestors;

	for (unsigned at = position; at > 0; at = tree_parent_position(at, b))
		candidates[n++] = tree_parent_position(at, b);
	ancestors = n;
	for (unsigned hub = 1; hub <= TREE_HUBS && hub < position; hub++)
		if (!candidates_contain(candidates, ancestors, hub))
			candidates[n++] = hub;
	return n;
}
