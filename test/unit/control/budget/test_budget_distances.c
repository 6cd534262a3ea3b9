/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The tree and the distances of its limiters: it keeps its edges while the distances only vary, and
 * replaces an edge that has become longer. Seeded groups in virtual time, over a network in which
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
		next_ns = d->ticks_ns[i] < next_ns ? d->ticks_ns[i] : next_ns;
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
			if (g->now >= d->ticks_ns[i])
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
