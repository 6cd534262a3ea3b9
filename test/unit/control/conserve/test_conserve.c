/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * How a limit moves within a group to the limiters that need it: commits before statements, the
 * order of messages, and an operator's views.
 */
#include "check.h"
#include "scope.h"

#include "base/wire.h"
#include "conserve_world.h"

END_POINTER(group_free, struct group *)

/* Statements to one neighbour in a tick: eight messages. */
#define TOLD_A_TICK (8 * ((ROOM - BOOK_HEAD) / CONSERVE_ENTRY))

TEST(test_shares)
{
	uint32_t ids[] = {30, 10, 20};
	struct overlay_params roster = {.ids = ids, .n = 3};

	assert_int_equal(conserve_share(&roster, 0, 11), 3);
	assert_int_equal(conserve_share(&roster, 1, 11), 4);
	assert_int_equal(conserve_share(&roster, 2, 11), 4);
	assert_int_equal(conserve_share(&roster, 2, 9), 3);
}

TEST(test_params)
{
	uint32_t ids[] = {30, 10};
	struct conserve_policy policy = {.id = 1, .limit = LEDGER_MOST};
	const struct conserve_params good = {
		.identity = {.low = 1},
		.overlay = {.shape = OVERLAY_RANDOM, .ids = ids, .n = 2},
		.policies = &policy,
		.n_policies = 1,
		.epoch = (UINT64_C(1) << 42) - 1,
		.lease_ns = LEASE,
		.drift_ppm = 999999,
		.repeat_ns = TICK,
		.promise = 100,
	};
	struct conserve_params bad[] = {good, good, good, good, good, good, good};
	struct conserve *c;

	bad[0].overlay.n = 0;
	bad[1].self = 2;
	bad[2].epoch = 0;
	bad[3].epoch = UINT64_C(1) << 42;
	bad[4].lease_ns = 0;
	bad[5].drift_ppm = 1000000;
	bad[6].promise = 101;
	for (size_t i = 0; i < COUNT(bad); i++)
		assert_int_equal(conserve_create(&bad[i], 0, &c), -EINVAL);
	assert_int_equal(conserve_create(&good, 0, &c), 0);
	conserve_destroy(c);
	policy.limit++;
	assert_int_equal(conserve_create(&good, 0, &c), -EINVAL);
	ids[1] = 30;
	policy.limit = 1;
	assert_int_equal(conserve_create(&good, 0, &c), -EINVAL);
	conserve_destroy(NULL);
}

/* In a mesh a target is reached in two steps, and several givers do not give twice. */
TEST(test_mesh)
{
	ENDED_BY(group_free_at) struct group *g = group_started(5, 1, 0);

	step_conserve_times(g, 10);
	assert_int_equal(sum_usable(g, 0), LIMIT);
	want_limit_at(g, 0, 2);
	step_conserve_times(g, 3);
	assert_true(limit_of(g, 2, 0) > LIMIT * 98 / 100);
	assert_true(limit_of(g, 0, 0) >= LIMIT / 5 / 100);
	want_limit_at(g, 0, 4);
	step_conserve_times(g, 4);
	assert_true(limit_of(g, 4, 0) > LIMIT * 98 / 100);
	assert_int_equal(sum_usable(g, 0), LIMIT);
}

/* Two limiters lack capacity, three have too much: each gets its missing amount. */
TEST(test_mesh_parts)
{
	static const double targets[] = {0.35, 0.45, 0.1, 0.05, 0.05};
	ENDED_BY(group_free_at) struct group *g = group_started(5, 1, 0);

	for (unsigned i = 0; i < 5; i++)
		conserve_target(g->nodes[i].c, 0, targets[i] * (double)LIMIT);
	step_conserve_times(g, 3);
	for (unsigned i = 0; i < 5; i++)
		assert_near(limit_of(g, i, 0), targets[i] * (double)LIMIT, LIMIT / 5.0 / 50);
}

/* One step of three limiters with a megabyte each; each quantity is a sum of few powers of two. */
TEST(test_mesh_exact)
{
	static const struct {
		double targets[3];      /* in megabytes */
		double held[3];         /* balances after the step */
		unsigned granted_by[3]; /* number of grants */
	} rows[] = {
		/* One gives to two: more than they miss, or less. */
		{{0.5, 1.25, 1.125}, {0.625, 1.25, 1.125}, {2, 0, 0}},
		{{0.5, 1.5, 1.5}, {0.5, 1.25, 1.25}, {2, 0, 0}},
		/* Two give to one, which misses half of their excess. */
		{{0.75, 0.75, 1.25}, {0.875, 0.875, 1.25}, {1, 1, 0}},
		{{0.75, 0.75, 2}, {0.75, 0.75, 1.5}, {1, 1, 0}},
		{{1, 1, 1}, {1, 1, 1}, {0, 0, 0}},
	};

	for (size_t k = 0; k < COUNT(rows); k++) {
		struct group *g = group_new(3, 1, 0);

		g->policies[0].limit = UINT64_C(3) << 20;
		for (unsigned i = 0; i < 3; i++) {
			start_conserve_node(g, i, false);
			conserve_target(g->nodes[i].c, 0, rows[k].targets[i] * (1 << 20));
		}
		step_conserve_times(g, 2); /* the first step reports the missing amounts */
		for (unsigned i = 0; i < 3; i++) {
			assert_int_equal(limit_of(g, i, 0), rows[k].held[i] * (1 << 20));
			assert_int_equal(
				conserve_counters(g->nodes[i].c)->grants, rows[k].granted_by[i]);
		}
		group_free(g);
	}
}

/* Amounts smaller than a 256th of an equal part, plus one, are not moved. */
TEST(test_grain)
{
	for (unsigned missing = 10; missing <= 11; missing++) {
		struct group *g = group_new(2, 1, 0);

		g->policies[0].limit = UINT64_C(2) * 2560;
		for (unsigned i = 0; i < 2; i++)
			start_conserve_node(g, i, false);
		conserve_target(g->nodes[0].c, 0, 2560 - 512);
		conserve_target(g->nodes[1].c, 0, 2560 + missing);
		step_conserve_times(g, 5);
		assert_int_equal(limit_of(g, 1, 0), missing < 11 ? 2560 : 2571);
		group_free(g);
	}
}

TEST(test_sparse)
{
	ENDED_BY(group_free_at) struct group *g = group_new(24, 1, 0);

	g->params.overlay.degree = 4;
	g->params.overlay.spares = 1;
	for (unsigned i = 0; i < g->n; i++)
		start_conserve_node(g, i, false);
	want_limit_at(g, 0, 7);
	step_conserve_times(g, 600);
	/* All others miss the same amount, or have nothing to give. */
	assert_true(limit_of(g, 7, 0) > LIMIT * 3 / 4);
	assert_int_equal(sum_usable(g, 0), LIMIT);
}

TEST(test_indicator)
{
	static const double demands[] = {100000, 200000, 300000};
	ENDED_BY(group_free_at) struct group *g = group_new(3, 1, 0);

	g->policies[0].indicator = &gdrl_utilisation;
	for (unsigned i = 0; i < 3; i++) {
		struct gdrl_measure m = {.demand = demands[i], .dropped = -1, .packet = 1000};

		start_conserve_node(g, i, false);
		conserve_measure(g->nodes[i].c, 0, &m);
	}
	step_conserve_times(g, 300);
	for (unsigned i = 0; i < 3; i++)
		assert_near((double)limit_of(g, i, 0), demands[i] * (double)LIMIT / 600000,
			(double)LIMIT / 50);
}

/*
 * After a change of indicator, a limiter grants nothing before the neighbour has sent the new
 * value.
 */
TEST(test_another_indicator)
{
	struct gdrl_measure m = {.demand = 100000, .dropped = -1, .packet = 1000};
	ENDED_BY(group_free_at) struct group *g = group_new(2, 1, 0);
	struct conserve_policy other;
	uint64_t limit;

	g->policies[0].indicator = &gdrl_utilisation;
	for (unsigned i = 0; i < 2; i++) {
		start_conserve_node(g, i, false);
		conserve_measure(g->nodes[i].c, 0, &m);
		m.demand *= 9;
	}
	step_conserve_times(g, 300);
	limit = limit_of(g, 0, 0);
	assert_true(limit < LIMIT / 5);
	other = g->policies[0];
	other.indicator = &gdrl_loss;
	m = (struct gdrl_measure){.demand = 900000, .dropped = 0, .packet = 1000};
	for (unsigned i = 0; i < 2; i++) {
		assert_int_equal(conserve_update(g->nodes[i].c, &other, 1, g->now), 0);
		conserve_measure(g->nodes[i].c, 0, &m);
	}
	for (unsigned step = 0; step < 10; step++)
		for (unsigned i = 0; i < 2; i++)
			conserve_tick(g->nodes[i].c, g->now += TICK);
	assert_int_equal(limit_of(g, 0, 0), limit);
}

/* A statement is not sent before its commit; a failed commit is tried again. */
TEST(test_committing)
{
	ENDED_BY(group_free_at) struct group *g = group_started(2, 1, 0);
	struct conserve *giver = g->nodes[0].c, *taker = g->nodes[1].c;
	uint64_t before;

	step_conserve_times(g, 3);
	want_limit_at(g, 0, 1);
	conserve_tick(taker, g->now += TICK);
	deliver_conserve(g, 1);
	before = limit_of(g, 1, 0);
	conserve_tick(giver, g->now += TICK);
	assert_true(limit_of(g, 0, 0) < LIMIT / 10);
	assert_true(book_unsaved(conserve_book(giver)));
	deliver_conserve(g, 0);
	assert_int_equal(limit_of(g, 1, 0), before);
	assert_int_equal(book_save(conserve_book(giver), keep_conserve_record, &g->nodes[0]), 0);
	assert_int_equal(
		book_save(conserve_book(giver), keep_conserve_record, &g->nodes[0]), -EBUSY);
	g->now += TICK;
	deliver_conserve(g, 0);
	assert_int_equal(limit_of(g, 1, 0), before);
	book_save_failed(conserve_book(giver));
	assert_true(book_unsaved(conserve_book(giver)));
	g->now += TICK;
	deliver_conserve(g, 0);
	assert_int_equal(limit_of(g, 1, 0), before);
	assert_int_equal(book_save(conserve_book(giver), keep_conserve_record, &g->nodes[0]), 0);
	book_committed(conserve_book(giver));
	deliver_conserve(g, 0);
	assert_true(limit_of(g, 1, 0) > LIMIT * 9 / 10);
	assert_int_equal(sum_usable(g, 0), LIMIT);
}

/* A disk that accepts only so many records in a round, and the ids of those it accepted. */
struct slow_disk {
	unsigned most, n;
	uint32_t ids[POLICIES];
};

static int keep_some(void *context, uint64_t id, const void *record, size_t len)
{
	struct slow_disk *disk = context;

	(void)record, (void)len;
	disk->ids[disk->n++] = id;
	return disk->n % disk->most == 0;
}

/* A round may save only some records: one that changes again meanwhile waits behind the others. */
TEST(test_rounds)
{
	ENDED_BY(group_free_at) struct group *g = group_started(2, 10, 0);
	struct conserve *c = g->nodes[0].c;
	struct slow_disk disk = {.most = 4};

	for (unsigned round = 1; round <= 3; round++) {
		assert_int_equal(book_save(conserve_book(c), keep_some, &disk), 0);
		assert_int_equal(disk.n, round < 3 ? 4 * round : 11);
		g->policies[0].limit -= 2; /* one is always uncommitted */
		assert_int_equal(conserve_update(c, g->policies, 10, g->now), 0);
		book_committed(conserve_book(c));
		assert_true(book_unsaved(conserve_book(c)));
	}
	for (unsigned i = 0; i < 10; i++)
		assert_int_equal(disk.ids[i], i + 1);
	assert_int_equal(disk.ids[10], 1);
}

/* Policies change during a round: its end commits only the policies that it saved. */
TEST(test_update_in_a_round)
{
	ENDED_BY(group_free_at) struct group *g = group_started(2, 10, 0);
	struct conserve *c = g->nodes[0].c;
	struct slow_disk disk = {.most = 4};

	assert_int_equal(book_save(conserve_book(c), keep_some, &disk), 0);
	assert_int_equal(conserve_update(c, g->policies + 3, 5, g->now), 0); /* 4 to 8 */
	assert_int_equal(book_save(conserve_book(c), keep_some, &disk), -EBUSY);
	book_committed(conserve_book(c));
	assert_int_equal(book_save(conserve_book(c), keep_some, &disk), 0);
	book_committed(conserve_book(c));
	assert_false(book_unsaved(conserve_book(c)));
	assert_int_equal(disk.n, 8);
	for (unsigned i = 0; i < 8; i++)
		assert_int_equal(disk.ids[i], i + 1);
	assert_int_equal(conserve_update(c, g->policies, 10, g->now), 0);
	step_conserve_times(g, 5);
	for (unsigned p = 0; p < 10; p++)
		assert_int_equal(sum_usable(g, p), LIMIT);
}

static int full_disk(void *context, uint64_t id, const void *record, size_t len)
{
	(void)context, (void)id, (void)record, (void)len;
	return -ENOSPC;
}

TEST(test_disk)
{
	ENDED_BY(group_free_at) struct group *g = group_started(2, 2, 0);

	assert_int_equal(book_save(conserve_book(g->nodes[0].c), full_disk, NULL), -ENOSPC);
	assert_true(book_unsaved(conserve_book(g->nodes[0].c)));
	assert_int_equal(
		book_save(conserve_book(g->nodes[0].c), keep_conserve_record, &g->nodes[0]), 0);
	book_committed(conserve_book(g->nodes[0].c));
	assert_false(book_unsaved(conserve_book(g->nodes[0].c)));
	assert_int_equal(
		book_save(conserve_book(g->nodes[0].c), keep_conserve_record, &g->nodes[0]),
		-EAGAIN);
}

/* A limiter without neighbours has the whole limit, even with a promise configured. */
TEST(test_alone)
{
	ENDED_BY(group_free_at) struct group *g = group_started(1, 1, 50);

	assert_int_equal(conserve_edges(g->nodes[0].c), 0);
	step_conserve_times(g, 5);
	assert_int_equal(limit_of(g, 0, 0), LIMIT);
}

/* Views of a policy, and of a silent neighbour. */
TEST(test_views)
{
	ENDED_BY(group_free_at) struct group *g = group_started(2, 1, 50);
	struct conserve_view view;
	uint64_t until;

	assert_true(edge_of(g, 0, 0).alive);
	assert_int_equal(edge_of(g, 0, 0).peer, 1);
	g->nodes[1].cut = true;
	g->now += LEASE - 1;
	assert_true(edge_of(g, 0, 0).alive);
	g->now++;
	assert_false(edge_of(g, 0, 0).alive);
	g->nodes[1].cut = false;
	step_conserve_times(g, 10);
	view = conserve_view(g->nodes[0].c, 0, g->now);
	assert_int_equal(view.usable, conserve_limit(g->nodes[0].c, 0, g->now, &until));
	assert_true(view.usable > 0 && until > g->now && until < UINT64_MAX);
	assert_int_equal(view.until_ns, until);
	assert_int_equal(view.promised, promised_by(g, 0));
	assert_int_equal(view.share, conserve_share(&g->params.overlay, 0, LIMIT));
	assert_int_equal(view.target, view.share);
}

/* News is reported once, and again when there is more; both ends count messages. */
TEST(test_news_and_counts)
{
	ENDED_BY(group_free_at) struct group *g = group_started(2, 1, 0);
	uint64_t sent = 0, heard = 0;

	step_conserve_times(g, 5);
	for (unsigned who = 0; who < 2; who++) {
		while (conserve_next_news(g->nodes[who].c) == 0)
			;
		want_limit_at(g, 0, who);
		step_conserve_times(g, 3);
		assert_int_equal(conserve_next_news(g->nodes[who].c), 0);
		assert_int_equal(conserve_next_news(g->nodes[who].c), 1);
	}
	want_limit_at(g, 0, 0);
	step_conserve_times(g, 3);
	assert_int_equal(conserve_next_news(g->nodes[0].c), 0);
	assert_int_equal(conserve_next_news(g->nodes[0].c), 1);
	for (unsigned i = 0; i < 2; i++) {
		sent += conserve_counters(g->nodes[i].c)->messages_sent;
		heard += conserve_counters(g->nodes[i].c)->messages_received;
	}
	assert_true(sent > 10);
	assert_int_equal(sent, heard);
}

/* More policies than fit into a message: all statements arrive, and no message exceeds its size. */
TEST(test_many)
{
	ENDED_BY(group_free_at) struct group *g = group_started(3, POLICIES, 0);

	for (unsigned p = 0; p < POLICIES; p++)
		want_limit_at(g, p, p % 3);
	step_conserve_times(g, 8);
	for (unsigned p = 0; p < POLICIES; p++) {
		assert_int_equal(sum_usable(g, p), LIMIT);
		assert_true(limit_of(g, p % 3, p) > LIMIT * 98 / 100);
	}
	assert_true(g->longest > ROOM - CONSERVE_ENTRY);
}

/* At rest a digest is sent each quarter of a lease, no statement, and nothing is saved. */
TEST(test_rest)
{
	ENDED_BY(group_free_at) struct group *g = group_started(3, 1, 50);
	struct conserve_counters before;
	const struct conserve_counters *after = conserve_counters(g->nodes[0].c);

	step_conserve_times(g, 60);
	before = *after;
	for (unsigned k = 0; k < 10 * LEASE / TICK; k++) {
		step_conserve_group(g);
		assert_false(book_unsaved(conserve_book(g->nodes[0].c)));
	}
	assert_int_equal(after->statements_sent, before.statements_sent);
	assert_in_range(after->messages_sent - before.messages_sent, 2 * 40, 2 * 44);
	assert_in_range(
		after->verdicts[LEDGER_HEARD] - before.verdicts[LEDGER_HEARD], 2 * 40, 2 * 44);
}

/* A settled group renews leases of four ticks or more in time, also if a tick loses messages. */
TEST(test_renewals)
{
	for (uint64_t lease = 4 * TICK; lease <= 12 * TICK; lease += TICK / 4) {
		struct group *g = group_new(3, 1, 100);

		g->params.lease_ns = lease;
		for (unsigned i = 0; i < g->n; i++)
			start_conserve_node(g, i, false);
		step_conserve_times(g, 50);
		for (unsigned k = 0; k < 50; k++) {
			for (unsigned i = 0; i < g->n; i++)
				g->nodes[i].cut = k % 13 == 5;
			step_conserve_group(g);
			g->now += TICK - 1;
			for (unsigned i = 0; i < g->n; i++)
				assert_true(limit_of(g, i, 0) >= LIMIT / g->n);
			g->now -= TICK - 1;
		}
		group_free(g);
	}
}

/*
 * A lost hint is sent again: the next digest shows that the neighbour has another one. At rest no
 * statement is sent, also after losses.
 */
TEST(test_lost_hints)
{
	for (unsigned seed = 1; seed <= 40; seed++) {
		struct group *g = group_started(2 + seed % 3, POLICIES, seed % 2 ? 50 : 0);
		unsigned who[POLICIES] = {0};
		uint64_t sent;

		prng_seed(&g->prng, seed);
		step_conserve_times(g, 10);
		for (unsigned round = 0; round < 6; round++) {
			unsigned changes = 1 + prng_below(&g->prng, 5);

			g->loses = true;
			while (changes-- > 0) {
				unsigned p = prng_below(&g->prng, POLICIES);

				who[p] = prng_below(&g->prng, g->n) + 1;
				want_limit_at(g, p, who[p] - 1);
				step_conserve_times(g, prng_below(&g->prng, 4));
			}
			g->loses = false;
			step_conserve_times(g, LEASE / TICK);
			for (unsigned p = 0; p < POLICIES; p++)
				assert_true(!who[p] || limit_of(g, who[p] - 1, p) > LIMIT * 9 / 10);
		}
		sent = conserve_counters(g->nodes[0].c)->statements_sent;
		step_conserve_times(g, LEASE / TICK);
		assert_int_equal(conserve_counters(g->nodes[0].c)->statements_sent, sent);
		group_free(g);
	}
}

/* A started group with n policies. */
static struct group *make_crowd(unsigned limiters, unsigned n, unsigned promise)
{
	struct group *g = group_new(limiters, 0, promise);

	g->crowd = test_calloc(n, sizeof(*g->crowd));
	for (unsigned p = 0; p < n; p++)
		g->crowd[p] = (struct conserve_policy){.id = 1 + p, .limit = LIMIT};
	g->policies[0] = g->crowd[0];
	g->params.policies = g->crowd;
	g->params.n_policies = n;
	for (unsigned i = 0; i < limiters; i++) {
		g->params.word = 100 + i;
		start_conserve_node(g, i, false);
	}
	return g;
}

static uint64_t all_statements(const struct group *g)
{
	uint64_t sent = 0;

	for (unsigned i = 0; i < g->n; i++)
		sent += g->nodes[i].c ? conserve_counters(g->nodes[i].c)->statements_sent : 0;
	return sent;
}

/* Runs until no statement is sent for three leases; fails after `most` attempts. */
static void settle(struct group *g, unsigned most)
{
	uint64_t sent;

	do {
		sent = all_statements(g);
		step_conserve_times(g, 3 * LEASE / TICK);
		assert_true(most-- > 0);
	} while (all_statements(g) != sent);
}

/* The count in the newest record of the first policy, see ledger/record.c. */
static uint64_t recorded_count(const struct group *g, unsigned i)
{
	const size_t head = 2 * sizeof(uint64_t) + 1;
	uint64_t count;

	wire_get64(g->nodes[i].record + head + 7 * sizeof(uint64_t), &count);
	return count;
}

/* Each limiter has the accounts of its neighbours, and the newest record's count of the first. */
static void check_all_known(const struct group *g)
{
	for (unsigned i = 0; i < g->n; i++)
		for (unsigned e = 0; e < g->n - 1; e++) {
			struct conserve_edge_view view = edge_of(g, i, e);

			assert_int_equal(view.ledger.count, recorded_count(g, view.peer));
			for (unsigned p = 0; p < g->params.n_policies; p++)
				assert_true(
					conserve_edge(g->nodes[i].c, p, e, g->now).ledger.known);
		}
}

/* Each policy settles after two statements to each neighbour: before and after the commit. */
TEST(test_settling)
{
	for (unsigned seed = 1; seed <= 6; seed++) {
		unsigned n = 300 * seed, limiters = 2 + seed % 3;
		struct group *g = make_crowd(limiters, n, 0);

		settle(g, 15);
		check_all_known(g);
		assert_in_range(all_statements(g), n, 2 * n * limiters * (limiters - 1));
		group_free(g);
	}
}

/* A lost statement is sent again, also if other accounts of its bucket never settle meanwhile. */
TEST(test_settling_after_losses)
{
	for (unsigned seed = 1; seed <= 20; seed++) {
		struct group *g = make_crowd(2 + seed % 3, 20 + 40 * seed, seed % 2 ? 50 : 0);

		prng_seed(&g->prng, seed);
		g->loses = true;
		step_conserve_times(g, 10 + prng_below(&g->prng, 3 * LEASE / TICK));
		g->loses = false;
		settle(g, 15);
		check_all_known(g);
		group_free(g);
	}
}

/* A promise stays usable while another account of its bucket never settles. */
TEST(test_lease_in_unsettled_bucket)
{
	const unsigned n = 16; /* one bucket */
	struct conserve_policy *other;
	struct group *g = make_crowd(2, n, 50);

	other = test_calloc(n, sizeof(*other));
	memcpy(other, g->crowd, n * sizeof(*other));
	other[n - 1].terms++;
	step_conserve_times(g, LEASE / TICK);
	assert_true(promised_by(g, 0) > 0);
	assert_int_equal(conserve_update(g->nodes[1].c, other, n, g->now), 0);
	for (unsigned k = 0; k < 10 * LEASE / TICK; k++) {
		step_conserve_group(g);
		for (unsigned p = 0; p < n - 1; p++)
			assert_int_equal(sum_usable(g, p), LIMIT);
	}
	group_free(g);
	test_free(other);
}

/* No statement is sent again to a neighbour that is down, and it gets all when it is back. */
TEST(test_silent_neighbour)
{
	const unsigned n = 2000;
	ENDED_BY(group_free_at) struct group *g = make_crowd(3, n, 0);

	g->nodes[2].cut = true;
	conserve_destroy(g->nodes[2].c);
	g->nodes[2].c = NULL;
	settle(g, 15);
	assert_in_range(all_statements(g), n, 8 * n);
	g->nodes[2].cut = false;
	start_conserve_node(g, 2, false);
	settle(g, 15);
	check_all_known(g);
}

/* A limiter with empty state recovers all accounts, which are more than fit into a tick. */
TEST(test_recovering_crowd)
{
	const unsigned n = 2000;
	ENDED_BY(group_free_at) struct group *g = make_crowd(3, n, 0);

	settle(g, 15);
	conserve_destroy(g->nodes[2].c);
	g->params.recovering = true;
	g->params.word = 200;
	start_conserve_node(g, 2, false);
	g->loses = true;
	step_conserve_times(g, 2 * LEASE / TICK);
	g->loses = false;
	settle(g, 15);
	for (unsigned p = 0; p < n; p++)
		assert_false(conserve_recovering(g->nodes[2].c, p));
	check_all_known(g);
}

/*
 * With more policies than a lease has room for, nothing is promised, because it would be unusable.
 */
TEST(test_crowd)
{
	unsigned n = LEASE / TICK * TOLD_A_TICK + 1;
	ENDED_BY(group_free_at) struct group *g = make_crowd(2, n, 50);
	uint64_t usable = 0;

	step_conserve_times(g, 3 * LEASE / TICK);
	for (unsigned p = 0; p < n; p++)
		usable += sum_usable(g, p);
	assert_int_equal(usable, n * LIMIT);
}

/* News does not wait for its turn among the many policies without news. */
TEST(test_news_first)
{
	const unsigned n = 1000, of = 700;
	ENDED_BY(group_free_at) struct group *g = make_crowd(2, n, 0);
	unsigned heard = n;

	conserve_target(g->nodes[0].c, of, (double)LIMIT);
	conserve_target(g->nodes[1].c, of, (double)LIMIT);
	step_conserve_times(g, 2 * (n / TOLD_A_TICK + 1)); /* every policy has been sent */
	while (conserve_next_news(g->nodes[1].c) < n)
		;
	conserve_target(g->nodes[0].c, of, 0);
	step_conserve_group(g);
	assert_in_range(limit_of(g, 1, of), LIMIT * 9 / 10, LIMIT);
	while (heard != of && (heard = conserve_next_news(g->nodes[1].c)) < n)
		;
	assert_int_equal(heard, of);
}

TEST(test_bad_messages)
{
	ENDED_BY(group_free_at) struct group *g = group_started(2, 1, 0);
	struct conserve *c = g->nodes[0].c;
	uint8_t buf[ROOM];

	book_write_head(conserve_book(c), CONSERVE_MESSAGE, buf);
	memset(buf + BOOK_HEAD, 0, ROOM - BOOK_HEAD);
	assert_int_equal(conserve_receive(c, 1, g->now, buf, 0), -EBADMSG);
	assert_int_equal(conserve_receive(c, 1, g->now, buf, BOOK_HEAD - 1), -EBADMSG);
	assert_int_equal(conserve_receive(c, 1, g->now, buf, BOOK_HEAD + 1), -EBADMSG);
	assert_int_equal(conserve_receive(c, 0, g->now, buf, BOOK_HEAD), -ENOENT);
	assert_int_equal(conserve_receive(c, 1, g->now, buf, BOOK_HEAD), 0);
	assert_int_equal(conserve_receive(c, 1, g->now, buf, BOOK_HEAD + CONSERVE_ENTRY), 0);
	assert_int_equal(conserve_counters(c)->unknown, 1);
	buf[0] = CONSERVE_MESSAGE + 1;
	assert_int_equal(conserve_receive(c, 1, g->now, buf, BOOK_HEAD), -EBADMSG);
	assert_int_equal(conserve_counters(c)->malformed, 4);
}

/* Bursts: together at most the configured one, for any parts of the limit. */
TEST(test_bursts)
{
	ENDED_BY(group_free_at) struct group *g = group_started(7, 1, 0);

	for (uint64_t burst = 1; burst < 100000; burst = burst * 3 + 1) {
		uint64_t all = 0;

		for (unsigned i = 0; i < 7; i++)
			all += conserve_burst(g->nodes[i].c, 0, burst, limit_of(g, i, 0));
		assert_true(all <= burst && all + 7 > burst);
	}
	assert_int_equal(conserve_burst(g->nodes[0].c, 0, 5000, LIMIT), 5000);
	assert_int_equal(conserve_burst(g->nodes[0].c, 0, 5000, 0), 0);
}
