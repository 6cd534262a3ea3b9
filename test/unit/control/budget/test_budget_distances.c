/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The tree and the distances of its limiters: it keeps its edges while the distances only vary, and
 * replaces an edge that has become longer. Viewers get the remaining quota of the whole group,
 * never the sum over a part of the tree. Seeded groups in virtual time, over a network in which
 * each message has a delay of its own.
 */
#include "check.h"
#include "scope.h"

#include "base/prng.h"

#include "budget_group.h"

END_POINTER(group_free, struct group *)

/* Time in which a new tree settles, and time for which it is watched, in timeouts. */
#define SETTLING 60
#define WATCHED  120

/* Edges that join or leave the tree, at both of their ends, when one limiter changes its parent. */
#define CHANGES_OF_A_MOVE 4

/* A network: the least time of a message between two limiters, and its jitter. */
struct distances {
	struct prng prng;
	uint64_t least_ns[N_MAX][N_MAX], jitter_ns;
	uint64_t due_ns[QUEUE];   /* arrival of each message in the group's queue */
	uint64_t ticks_ns[N_MAX]; /* next tick of each limiter */
};

static void post_with_delay(struct group *g, struct distances *d, unsigned i)
{
	unsigned n = g->queued;

	d->ticks_ns[i] = budget_tick(g->nodes[i].b, g->now);
	save_budget_node(g, i);
	post_test_messages(g, i);
	for (; n < g->queued; n++) {
		uint64_t ns = d->least_ns[i][g->queue[n].to];

		d->due_ns[n] = g->now + ns + prng_below(&d->prng, (uint32_t)d->jitter_ns + 1);
	}
}

static uint64_t next_event(const struct group *g, const struct distances *d)
{
	uint64_t next_ns = UINT64_MAX;

	for (unsigned k = 0; k < g->queued; k++)
		next_ns = d->due_ns[k] < next_ns ? d->due_ns[k] : next_ns;
	for (unsigned i = 0; i < g->n; i++)
		if (g->nodes[i].b && d->ticks_ns[i] < next_ns)
			next_ns = d->ticks_ns[i];
	return next_ns > g->now ? next_ns : g->now + 1;
}

static void receive_due_messages(struct group *g, struct distances *d)
{
	for (unsigned k = 0; k < g->queued;) {
		struct message message = g->queue[k];
		struct budget *b = g->nodes[message.to].b;

		if (d->due_ns[k] > g->now) {
			k++;
			continue;
		}
		g->queue[k] = g->queue[--g->queued];
		d->due_ns[k] = d->due_ns[g->queued];
		if (!b)
			continue;
		assert_int_equal(
			budget_receive(b, message.from, g->now, message.at, message.len), 0);
		post_with_delay(g, d, message.to);
	}
}

static void run_with_delays(struct group *g, struct distances *d, uint64_t ns)
{
	for (uint64_t end = g->now + ns; g->now < end;) {
		g->now = next_event(g, d);
		receive_due_messages(g, d);
		for (unsigned i = 0; i < g->n; i++)
			if (g->nodes[i].b && g->now >= d->ticks_ns[i])
				post_with_delay(g, d, i);
	}
}

static uint64_t edge_changes(const struct group *g)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < g->n; i++)
		sum += budget_counters(g->nodes[i].b)->relinked;
	return sum;
}

static void place_limiters(struct distances *d, unsigned i, unsigned j, uint64_t ns)
{
	d->least_ns[i][j] = d->least_ns[j][i] = ns;
}

/* Distances that only vary replace no edge after the first measurements. */
TEST(test_steady)
{
	static const struct {
		unsigned n;
		uint32_t least_us, more_us, jitter_us;
		uint64_t most; /* edge changes while it is watched */
	} rows[] = {
		{3, 20, 50, 200, 0},
		{4, 20, 50, 1000, 0},
		{4, 20, 500, 4000, 0},
		{8, 100, 200, 2000, 0},
		{3, 20, 50, 20000, CHANGES_OF_A_MOVE},
		{3, 5000, 500, 5000, 0},
		{5, 5000, 20000, 3000, 0},
		{16, 1000, 30000, 10000, 3 * CHANGES_OF_A_MOVE},
	};
	struct distances d = {0};

	for (size_t k = 0; k < COUNT(rows); k++)
		for (unsigned seed = 1; seed <= ROUNDS(8); seed++) {
			ENDED_BY(group_free_at) struct group *g = group_new(rows[k].n, 1, false);
			uint64_t before;

			memset(&d, 0, sizeof(d));
			prng_seed(&d.prng, seed);
			d.jitter_ns = rows[k].jitter_us * 1000;
			for (unsigned i = 0; i < g->n; i++)
				for (unsigned j = 0; j < i; j++)
					place_limiters(&d, i, j,
						(rows[k].least_us +
							prng_below(&d.prng, rows[k].more_us)) *
							UINT64_C(1000));
			run_with_delays(g, &d, SETTLING * TIMEOUT);
			before = edge_changes(g);
			run_with_delays(g, &d, WATCHED * TIMEOUT);
			assert_in_range(edge_changes(g) - before, 0, rows[k].most);
		}
}

/* Returns the neighbour that is the parent. */
static unsigned parent_of(const struct group *g, unsigned i)
{
	for (unsigned e = 0; e < budget_peers(g->nodes[i].b); e++)
		if (budget_peer(g->nodes[i].b, e).parent)
			return budget_peer(g->nodes[i].b, e).peer;
	return i;
}

/* The limiter at the end of an edge that becomes longer moves once, to the other one. */
TEST(test_farther)
{
	struct distances d = {0};

	for (unsigned seed = 1; seed <= ROUNDS(8); seed++) {
		ENDED_BY(group_free_at) struct group *g = group_new(3, 1, false);
		unsigned leaf = 0, parent;
		uint64_t before;

		memset(&d, 0, sizeof(d));
		prng_seed(&d.prng, seed);
		d.jitter_ns = MS;
		run_with_delays(g, &d, SETTLING * TIMEOUT);
		while (budget_is_root(g->nodes[leaf].b) || count_linked_edges(g, leaf) != 1)
			leaf++;
		parent = parent_of(g, leaf);
		before = edge_changes(g);
		place_limiters(&d, leaf, parent, 2 * MS);
		run_with_delays(g, &d, SETTLING * TIMEOUT);
		assert_int_equal(parent_of(g, leaf), parent); /* too little for a move */
		place_limiters(&d, leaf, parent, 10 * MS);
		run_with_delays(g, &d, SETTLING * TIMEOUT);
		assert_int_equal(parent_of(g, leaf), 3 - leaf - parent);
		assert_int_equal(edge_changes(g) - before, CHANGES_OF_A_MOVE);
		place_limiters(&d, leaf, parent, 0);
		run_with_delays(g, &d, SETTLING * TIMEOUT);
		assert_int_equal(edge_changes(g) - before, CHANGES_OF_A_MOVE);
	}
}

/* ---- the remaining quota of the group */

#define PLENTY UINT64_C(100000000)
#define LOOK   (MS / 2)

/* Times in timeouts: a restart; a limiter that counts as gone, which hints.c determines. */
#define RESTART 3
#define GONE    (RESTART * 5)

struct watched {
	struct distances net;
	uint64_t spent[N_MAX];           /* by traffic, at each limiter */
	unsigned unknown, held, current; /* views */
};

static uint64_t truly_remaining(const struct group *g, struct watched *w)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < g->n; i++) {
		struct quota_view view;

		if (g->nodes[i].b) {
			view = budget_node_view(g, i, PREPAID);
			w->spent[i] = view.spent - view.prepaid;
		}
		sum += w->spent[i];
	}
	return PLENTY - sum;
}

/* Each limiter shows the true value, up to the eighth that is no news, or none. */
static void look_at_views(const struct group *g, struct watched *w)
{
	uint64_t left = truly_remaining(g, w);

	for (unsigned i = 0; i < g->n; i++) {
		struct quota_group group;

		if (!g->nodes[i].b)
			continue;
		group = budget_node_view(g, i, PREPAID).group;
		w->unknown += !group.known;
		w->held += group.held;
		w->current += group.known && !group.held;
		if (group.known)
			assert_in_range(group.remaining, left - left / 8, left + left / 8);
	}
}

static void watch_group(struct group *g, struct watched *w, uint64_t ns)
{
	w->unknown = w->held = w->current = 0;
	for (uint64_t end = g->now + ns; g->now < end;) {
		run_with_delays(g, &w->net, LOOK);
		look_at_views(g, w);
	}
}

static struct group *new_watched_group(struct watched *w, unsigned n, unsigned seed)
{
	struct group *g = group_new(n, 1, true);

	memset(w, 0, sizeof(*w));
	prng_seed(&w->net.prng, seed);
	w->net.jitter_ns = 2 * MS;
	update_budget_group(g, 1, PLENTY);
	run_with_delays(g, &w->net, GONE * TIMEOUT);
	return g;
}

/* Spends an odd part of the quota here and there. */
static void spend_here_and_there(struct group *g, struct watched *w)
{
	for (unsigned k = 0; k < 200; k++) {
		unsigned i = prng_below(&w->net.prng, g->n) / 2;

		(void)budget_spend(
			g->nodes[i].b, PREPAID, 1 + prng_below(&w->net.prng, PLENTY / 400), g->now);
		run_with_delays(g, &w->net, 20 * MS);
	}
	for (unsigned i = 0; i < g->n; i++)
		budget_forgo(g->nodes[i].b, PREPAID);
	run_with_delays(g, &w->net, GONE * TIMEOUT);
}

/* While a limiter restarts, the others show the sum of before; soon it has a sum as well. */
TEST(test_restarts)
{
	static const unsigned sizes[] = {2, 3, 4, 8};
	struct watched w;

	for (size_t k = 0; k < COUNT(sizes) * ROUNDS(8); k++) {
		unsigned n = sizes[k % COUNT(sizes)];
		ENDED_BY(group_free_at) struct group *g = new_watched_group(&w, n, (unsigned)k);

		spend_here_and_there(g, &w);
		for (unsigned i = 0; i < n; i++) {
			crash_budget_node(g, i);
			watch_group(g, &w, RESTART * TIMEOUT);
			assert_int_equal(w.unknown, 0);
			restart_budget_node(g, i, false);
			watch_group(g, &w, RESTART * TIMEOUT);
			assert_true(w.held > 0);
			watch_group(g, &w, GONE * TIMEOUT);
			assert_int_equal(w.unknown, 0);
			assert_true(w.current > 0);
			watch_group(g, &w, TIMEOUT);
			assert_int_equal(w.unknown + w.held, 0);
		}
	}
}

/* A limiter that does not return is missing in the sum of the others in the end. */
TEST(test_gone_for_long)
{
	struct watched w;
	ENDED_BY(group_free_at) struct group *g = new_watched_group(&w, 4, 1);
	uint64_t units, left;

	spend_here_and_there(g, &w);
	units = (uint64_t)budget_node_view(g, 0, PREPAID).balance;
	left = truly_remaining(g, &w);
	crash_budget_node(g, 0);
	run_with_delays(g, &w.net, GONE * TIMEOUT);
	for (unsigned i = 1; i < 4; i++) {
		struct quota_group group = budget_node_view(g, i, PREPAID).group;

		assert_true(group.known && !group.held);
		assert_in_range(group.remaining, left - units - left / 8, left - units + left / 8);
	}
}

/* If nothing was spent, each limiter of a large group shows the whole quota, in each period. */
TEST(test_unspent)
{
	struct watched w;
	ENDED_BY(group_free_at) struct group *g = new_watched_group(&w, N_MAX, 1);

	update_budget_group(g, 2, PLENTY);
	run_with_delays(g, &w.net, 4 * TIMEOUT);
	for (uint64_t period = 8; period < 10; period++) {
		for (unsigned i = 0; i < N_MAX; i++) {
			struct quota_group group = budget_node_view(g, i, PERIODIC).group;

			assert_true(group.known && !group.held);
			assert_int_equal(group.remaining, TOTAL);
			assert_int_equal(group.pace, 0);
		}
		for (unsigned i = 0; i < N_MAX; i++) {
			assert_int_equal(budget_period(g->nodes[i].b, PERIODIC, period, g->now), 0);
			assert_false(budget_node_view(g, i, PERIODIC).group.known);
			run_with_delays(g, &w.net, MS);
		}
		run_with_delays(g, &w.net, 2 * TIMEOUT);
	}
}
