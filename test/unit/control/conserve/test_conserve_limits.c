/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Limits that change while a group runs, or that differ between limiters. A limiter in debt
 * requests a payment and gets it. While limits differ, at most the lowest is usable.
 */
#include "check.h"
#include "scope.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/prng.h"
#include "base/wire.h"
#include "conserve_world.h"

END_POINTER(group_free, struct group *)

/* Offsets of the flags and of the requested amount in an entry of a message. */
#define ENTRY_FLAGS 16
#define ENTRY_Q     105
#define ASKED       100000

/* A changed limit: debts are paid, and the whole limit is usable in the end. */
TEST(test_limits)
{
	ENDED_BY(group_free_at) struct group *g = group_started(4, 1, 0);
	uint64_t limits[] = {LIMIT, LIMIT * 3, LIMIT / 5, LIMIT};

	want_limit_at(g, 0, 2);
	step_conserve_times(g, 5);
	for (unsigned k = 1; k < 4; k++) {
		g->policies[0].limit = limits[k];
		for (unsigned i = 0; i < 4; i++)
			assert_int_equal(conserve_update(g->nodes[i].c, g->policies, 1, g->now), 0);
		want_limit_at(g, 0, k);
		g->policies[0].limit = limits[k] > limits[k - 1] ? limits[k] : limits[k - 1];
		step_conserve_times(g, 10);
		g->policies[0].limit = limits[k];
		assert_int_equal(sum_usable(g, 0), limits[k]);
	}
}

static void tell_limit(struct group *g, unsigned i, uint64_t limit, uint64_t burst)
{
	struct conserve_policy policy = {.id = 1, .limit = limit, .burst = burst};

	assert_int_equal(conserve_update(g->nodes[i].c, &policy, 1, g->now), 0);
}

static uint64_t sum_debts(const struct group *g)
{
	uint64_t debts = 0;

	for (unsigned i = 0; i < g->n; i++) {
		int64_t balance = conserve_view(g->nodes[i].c, 0, g->now).balance;

		debts += balance < 0 ? (uint64_t)-balance : 0;
	}
	return debts;
}

/*
 * One of eight has nearly the whole limit. Then the limit falls to a quarter, and the others are in
 * debt.
 */
static struct group *ring_in_debt(uint64_t limit, unsigned rich)
{
	struct group *g = group_new(8, 1, 0);

	g->params.overlay.shape = OVERLAY_RING;
	g->policies[0].limit = limit;
	for (unsigned i = 0; i < g->n; i++)
		start_conserve_node(g, i, false);
	want_limit_at(g, 0, rich);
	step_conserve_times(g, 400);
	assert_true(limit_of(g, rich, 0) > limit / 2);
	for (unsigned i = 0; i < g->n; i++)
		tell_limit(g, i, limit / 4, 0);
	return g;
}

/*
 * On a ring the two neighbours of the rich limiter request their whole debt, because their other
 * neighbours cannot pay. So they are out of debt equally soon for any limit. If they requested half
 * from each neighbour, the rest of their debts would be halved again and again: more often, the
 * larger the debt.
 */
TEST(test_debts_of_neighbours)
{
	for (uint64_t limit = LIMIT; limit < LIMIT * 100000000; limit *= 10000) {
		struct group *g = ring_in_debt(limit, 3);

		step_conserve_times(g, 5);
		assert_int_equal(conserve_edges(g->nodes[3].c), 2);
		for (unsigned e = 0; e < 2; e++) {
			unsigned peer = conserve_edge(g->nodes[3].c, 0, e, g->now).peer;

			assert_true(conserve_view(g->nodes[peer].c, 0, g->now).balance >= 0);
		}
		group_free(g);
	}
}

/*
 * In a mesh each neighbour pays its part of a debt, in proportion to its balance. Together they pay
 * about the whole debt, and little is left over.
 */
TEST(test_debts_in_a_mesh)
{
	ENDED_BY(group_free_at) struct group *g = group_started(5, 1, 0);

	for (unsigned i = 0; i < g->n; i++)
		conserve_target(g->nodes[i].c, 0, i < 2 ? (double)LIMIT / 2 : 0);
	step_conserve_times(g, 10);
	for (unsigned i = 0; i < g->n; i++)
		tell_limit(g, i, LIMIT / 10 * 9, 0);
	for (unsigned i = 2; i < g->n; i++)
		assert_true(conserve_view(g->nodes[i].c, 0, g->now).balance < 0);
	for (unsigned step = 0; step < 10; step++) {
		step_conserve_times(g, 1);
		for (unsigned i = 2; i < g->n; i++)
			assert_true(conserve_view(g->nodes[i].c, 0, g->now).balance <
				    (int64_t)LIMIT / 100);
	}
	for (unsigned i = 2; i < g->n; i++)
		assert_true(conserve_view(g->nodes[i].c, 0, g->now).balance >= 0);
}

/*
 * Two of five have the whole limit, and the others send requests: the amount paid, and when. A debt
 * is paid even if the limits differ, but not if other terms differ. Each request is paid once, and
 * not to a neighbour that has fallen silent.
 */
TEST(test_asks_paid)
{
	static const struct {
		uint64_t fall; /* decrease of each share: to below half of a floor, or to below 0 */
		uint64_t more, terms, wait_ns;
		unsigned paid;
	} rows[] = {
		{20000, 0, 0, 0, 3},
		{20000, 100000, 0, 0, 3},
		{20000, 0, 7, 0, 0},
		{20000, 0, 0, LEASE, 0},
		{1500, 0, 0, 0, 3},
		{1500, 100000, 0, 0, 0},
		{1500, 0, 7, 0, 0},
	};

	for (size_t k = 0; k < COUNT(rows); k++) {
		struct conserve_policy policy = {.id = 1, .limit = 1000000 - 5 * rows[k].fall};
		struct group *g = group_new(5, 1, 0);
		struct conserve *c;
		uint64_t before;

		g->policies[0].limit = 1000000;
		for (unsigned i = 0; i < g->n; i++) {
			start_conserve_node(g, i, false);
			conserve_target(g->nodes[i].c, 0, i < 2 ? 500000 : 0);
		}
		step_conserve_times(g, 10);
		for (unsigned i = 0; i < g->n; i++)
			tell_limit(g, i, policy.limit, 0);
		step_conserve_group(g); /* the others send requests */
		c = g->nodes[0].c;
		before = conserve_counters(c)->grants;
		policy.limit += rows[k].more;
		policy.terms = rows[k].terms;
		assert_int_equal(conserve_update(c, &policy, 1, g->now), 0);
		conserve_tick(c, g->now += rows[k].wait_ns);
		assert_int_equal(conserve_counters(c)->grants - before, rows[k].paid);
		conserve_tick(c, g->now);
		assert_int_equal(conserve_counters(c)->grants - before, rows[k].paid);
		group_free(g);
	}
}

/*
 * If a debt exceeds the free amount, that amount is paid immediately; the rest is still promised.
 */
TEST(test_debt_beyond_what_is_free)
{
	ENDED_BY(group_free_at) struct group *g = group_new(2, 1, 50);
	uint64_t free;

	g->policies[0].limit = 1000000;
	for (unsigned i = 0; i < 2; i++)
		start_conserve_node(g, i, false);
	want_limit_at(g, 0, 0);
	step_conserve_times(g, 20);
	for (unsigned i = 0; i < 2; i++)
		tell_limit(g, i, 250000, 0);
	step_conserve_group(g); /* the debtor requests it */
	free = conserve_view(g->nodes[0].c, 0, g->now).free;
	assert_in_range(free, 1, sum_debts(g) - 1);
	conserve_tick(g->nodes[0].c, g->now);
	assert_int_equal(conserve_view(g->nodes[0].c, 0, g->now).in_flight, free);
}

/* A debt of one unit is paid. */
TEST(test_least_debt)
{
	ENDED_BY(group_free_at) struct group *g = group_new(2, 1, 0);

	g->policies[0].limit = 1000;
	for (unsigned i = 0; i < 2; i++)
		start_conserve_node(g, i, false);
	want_limit_at(g, 0, 0);
	step_conserve_times(g, 5);
	assert_int_equal(limit_of(g, 1, 0), 5);
	for (unsigned i = 0; i < 2; i++) {
		tell_limit(g, i, 988, 0); /* a share that is less by six */
		conserve_target(g->nodes[i].c, 0, 0);
	}
	assert_int_equal(conserve_view(g->nodes[1].c, 0, g->now).balance, -1);
	step_conserve_times(g, 5);
	assert_int_equal(limit_of(g, 1, 0), 988 / 2 / 100); /* then it has its floor */
	assert_int_equal(sum_usable(g, 0), 988);
}

/*
 * Limiters further away are paid one after the other, up to four steps away. A request goes there
 * and the payment returns in 2 + 4 + 6 + 8 steps, on either side. A payment on its way to a debtor
 * does not turn back, so a few times as many steps are enough for any limit. Otherwise a floor's
 * worth would be paid in two steps, which takes hundreds.
 */
TEST(test_debts_far_away)
{
	for (uint64_t limit = LIMIT; limit < LIMIT * 100000000; limit *= 10000) {
		struct group *g = ring_in_debt(limit, 3);

		for (unsigned steps = 0; sum_debts(g) > 0 && steps < 4 * 20; steps++)
			step_conserve_group(g);
		assert_int_equal(sum_debts(g), 0);
		g->policies[0].limit = limit / 4;
		step_conserve_times(g, 10);
		assert_int_equal(sum_usable(g, 0), limit / 4);
		group_free(g);
	}
}

/* Debts of a few units are also paid, by limiters several hops away: limits down to 64 units. */
TEST(test_least_debts_far_away)
{
	const char *text = getenv("WEIR_SEED");
	const uint64_t seed = text ? strtoull(text, NULL, 0) : 1;
	struct prng prng;

	print_message("seed %" PRIu64 " (WEIR_SEED changes it)\n", seed);
	prng_seed(&prng, seed);
	for (unsigned round = 0; round < 60; round++) {
		uint64_t limit = 64 + prng_below(&prng, 1 << (6 + round % 6));
		struct group *g = ring_in_debt(limit, prng_below(&prng, 8));

		for (unsigned i = 0; i < g->n; i++)
			conserve_target(g->nodes[i].c, 0,
				(double)prng_below(&prng, (unsigned)(limit / g->n) + 1));
		for (unsigned steps = 0; sum_debts(g) > 0 && steps < 100; steps++)
			step_conserve_group(g);
		if (sum_debts(g) > 0)
			fail_msg("round %u: %" PRIu64 " of %" PRIu64 " are owed", round,
				sum_debts(g), limit / 4);
		group_free(g);
	}
}

/* The request in a message's entry of the first policy: the amount, and the hops to the debtor. */
struct asked {
	bool asks;
	unsigned hops;
	double amount;
};

static struct asked asked_by(const uint8_t *message)
{
	const uint8_t *entry = message + BOOK_HEAD;
	struct asked asked = {entry[ENTRY_FLAGS] & 2, entry[ENTRY_FLAGS] >> 3, 0};

	wire_get_double(entry + ENTRY_Q, &asked.amount);
	return asked;
}

/* Node `from` requests the entries of all buckets. */
static void request_entries(struct group *g, unsigned from, unsigned to)
{
	uint8_t buf[BOOK_HEAD + 2 * 1024], *at;

	at = book_write_head(conserve_book(g->nodes[from].c), CONSERVE_REQUEST, buf);
	for (unsigned bucket = 0; bucket < 1024; bucket++)
		at = wire_put16(at, (uint16_t)bucket);
	assert_int_equal(
		conserve_receive(g->nodes[to].c, from, g->now, buf, (size_t)(at - buf)), 0);
}

/*
 * Delivers the messages of node `from`; returns the request in the last one to `to`. With
 * asks_hops, if not negative, each entry to `to` becomes a request over so many hops.
 */
static struct asked speak(struct group *g, unsigned from, unsigned to, int asks_hops)
{
	uint8_t buf[ROOM], *entry = buf + BOOK_HEAD;
	struct asked asked = {0};
	unsigned peer;
	size_t len;

	while ((len = conserve_send(g->nodes[from].c, g->now, buf, ROOM, &peer)) > 0) {
		bool entry_follows = buf[0] == CONSERVE_MESSAGE && len > BOOK_HEAD;

		if (peer == to && asks_hops >= 0 && entry_follows) {
			entry[ENTRY_FLAGS] = (uint8_t)(2 | asks_hops << 3);
			wire_put_double(entry + ENTRY_Q, ASKED);
		}
		asked = peer == to && entry_follows ? asked_by(buf) : asked;
		assert_true(conserve_receive(g->nodes[peer].c, from, g->now, buf, len) >= 0);
	}
	return asked;
}

/* A limiter that got a request pays node 0, which then decides where the payment goes. */
static void pay_and_move(struct group *g, unsigned from)
{
	conserve_tick(g->nodes[from].c, g->now += TICK);
	if (book_save(conserve_book(g->nodes[from].c), NULL, NULL) == 0)
		book_committed(conserve_book(g->nodes[from].c));
	speak(g, from, 0, -1);
	conserve_tick(g->nodes[0].c, g->now);
}

/*
 * Node 0 passes on a payment for another limiter, and requests the rest. The next payment waits
 * until the other limiter requests again, even if the payer misses more than that.
 */
static void check_payment_waits(struct group *g, unsigned from, unsigned needy, uint64_t paid)
{
	const struct book *book = conserve_book(g->nodes[0].c);
	uint64_t had = limit_of(g, 0, 0), rest = (ASKED - paid) * 7 / 8;

	pay_and_move(g, from);
	assert_int_equal(edge_of(g, 0, book_edge(book, needy)).ledger.granted, paid);
	assert_true(speak(g, 0, from, -1).amount == (double)rest);
	pay_and_move(g, from);
	assert_int_equal(limit_of(g, 0, 0), had + rest);
	assert_int_equal(edge_of(g, 0, book_edge(book, from)).ledger.in_flight, 0);
}

/*
 * A relayed request is for a little less, and travels no further than the most distant limiter, so
 * no request circulates for long. In a mesh requests are not relayed.
 */
TEST(test_asks_end)
{
	for (int hops = 0; hops <= 4; hops++) {
		struct group *g = group_new(4, 1, 0);
		struct asked got = {0};
		unsigned next, before;

		if (hops < 4)
			g->params.overlay.shape = OVERLAY_RING;
		for (unsigned i = 0; i < g->n; i++)
			start_conserve_node(g, i, false);
		before = conserve_edge(g->nodes[0].c, 0, 0, g->now).peer;
		next = conserve_edge(g->nodes[0].c, 0, 1, g->now).peer;
		want_limit_at(g, 0, next); /* node 0 has its floor, and nothing to give */
		step_conserve_times(g, 100);
		/* Each sends several times in a lease. */
		for (unsigned steps = 0; steps < LEASE / TICK / 2; steps++) {
			g->now += TICK;
			for (unsigned i = 0; i < g->n; i++)
				conserve_tick(g->nodes[i].c, g->now);
			request_entries(g, 0, before);
			speak(g, before, 0, hops % 4);
			got = got.asks ? got : speak(g, 0, next, -1);
		}
		assert_int_equal(got.asks, hops < 3);
		if (got.asks) {
			assert_int_equal(got.hops, hops + 1);
			assert_int_equal(got.amount, ASKED - ASKED / 8 - 1);
			check_payment_waits(g, next, before, (uint64_t)got.amount);
		}
		group_free(g);
	}
}

/* Each of two neighbours without requests of their own gets a request for half. */
TEST(test_debt_is_divided)
{
	ENDED_BY(group_free_at) struct group *g = group_new(4, 1, 0);

	g->params.overlay.shape = OVERLAY_RING;
	g->policies[0].limit = 1000000;
	for (unsigned i = 0; i < g->n; i++) {
		start_conserve_node(g, i, false);
		conserve_target(g->nodes[i].c, 0, i == 0 ? 0 : 333333);
	}
	step_conserve_times(g, 200);
	for (unsigned i = 0; i < g->n; i++)
		tell_limit(g, i, 900000, 0);
	assert_in_range(sum_debts(g), 20000, 25000);
	for (unsigned e = 0; e < 2; e++) {
		unsigned peer = edge_of(g, 0, e).peer;
		double half = (double)((sum_debts(g) + 1) / 2);

		assert_true(speak(g, 0, peer, -1).amount == half);
		tell_limit(g, 0, e ? 900000 : 900004, 0); /* repeats the request */
	}
}

static bool told_otherwise(const struct group *g, unsigned i, unsigned edge)
{
	return conserve_edge(g->nodes[i].c, 0, edge, g->now).differs;
}

/*
 * If leases differed, one limiter could continue to use an amount that the other has inherited. So
 * nothing is promised, and no partition of any length exceeds the limit.
 */
TEST(test_other_lease)
{
	for (unsigned longer = 0; longer < 2; longer++) {
		struct group *g = group_new(2, 1, 50);

		for (unsigned i = 0; i < 2; i++) {
			g->params.lease_ns = i == longer ? 3000 * MS : 1000 * MS;
			start_conserve_node(g, i, false);
		}
		for (unsigned times = 0; times < 3; times++) {
			want_limit_at(g, 0, times % 2);
			step_conserve_times(g, 20); /* each step checks the sum */
			assert_true(told_otherwise(g, 0, 0) && told_otherwise(g, 1, 0));
			g->nodes[0].cut = true;
			step_conserve_times(g, 60);
			g->nodes[0].cut = false;
		}
		assert_true(conserve_counters(g->nodes[0].c)->differing > 0);
		assert_near((double)limit_of(g, 0, 0), LIMIT / 2.0, 1);
		group_free(g);
	}
}

/* All use the lowest limit received, also while its sender is silent; debts are paid. */
TEST(test_other_limit)
{
	ENDED_BY(group_free_at) struct group *g = group_started(3, 1, 50);

	want_limit_at(g, 0, 0);
	step_conserve_times(g, 20);
	assert_true(limit_of(g, 0, 0) > LIMIT * 9 / 10);
	tell_limit(g, 1, LIMIT * 10, 0);
	step_conserve_times(g, 20);
	assert_true(told_otherwise(g, 0, 0) + told_otherwise(g, 0, 1) == 1);
	assert_true(told_otherwise(g, 1, 0) && told_otherwise(g, 1, 1));
	want_limit_at(g, 0, 1); /* without effect */
	step_conserve_times(g, 20);
	assert_true(limit_of(g, 1, 0) < LIMIT / 10);
	g->nodes[1].cut = true;
	step_conserve_times(g, 60);
	g->nodes[1].cut = false;
	tell_limit(g, 0, LIMIT * 10, 0);
	tell_limit(g, 2, LIMIT * 10, 0);
	g->policies[0].limit = LIMIT * 10;
	want_limit_at(g, 0, 1);
	step_conserve_times(g, 60);
	assert_int_equal(sum_usable(g, 0), LIMIT * 10);
	assert_true(limit_of(g, 1, 0) > LIMIT * 9);
	/*
	 * A lower limit at a limiter with almost no balance: its debt is paid, and all use that
	 * limit.
	 */
	tell_limit(g, 0, LIMIT, 0);
	step_conserve_times(g, 20);
	g->policies[0].limit = LIMIT;
	step_conserve_times(g, 20);
	assert_true(sum_usable(g, 0) > LIMIT - 10);
	assert_int_equal(conserve_view(g->nodes[1].c, 0, g->now).limit, LIMIT);
}

/* Limiter 2 is dead, and the others get a higher limit, which has no effect. */
static struct group *raised_without_one(uint64_t raised)
{
	struct group *g = group_started(3, 1, 50);

	want_limit_at(g, 0, 0);
	step_conserve_times(g, 20);
	conserve_destroy(g->nodes[2].c);
	g->nodes[2].c = NULL;
	step_conserve_times(g, 60);
	for (unsigned i = 0; i < 2; i++)
		tell_limit(g, i, raised, 0);
	step_conserve_times(g, 400); /* each step checks that the old limit holds, for 20 leases */
	g->policies[0].limit = raised;
	conserve_destroy(g->nodes[0].c); /* the same after a restart */
	start_conserve_node(g, 0, true);
	step_conserve_times(g, 400);
	for (unsigned i = 0; i < 2; i++) /* within the rounding of three shares in the record */
		assert_near(conserve_view(g->nodes[i].c, 0, g->now).limit, LIMIT, 3);
	assert_true(sum_usable(g, 0) <= LIMIT);
	return g;
}

/*
 * Silence does not show whether a limiter is dead, or cut off with its old limit. So a raise waits
 * until it returns, with its record or as another machine with its name and empty state. In either
 * case the whole new limit is usable then.
 */
TEST(test_raise_waits_for_the_dead)
{
	for (unsigned remembers = 0; remembers < 2; remembers++) {
		struct group *g = raised_without_one(LIMIT * 3);

		g->params.recovering = !remembers;
		start_conserve_node(g, 2, remembers);
		step_conserve_times(g, 60);
		for (unsigned i = 0; i < 3; i++)
			assert_int_equal(conserve_view(g->nodes[i].c, 0, g->now).limit, LIMIT * 3);
		assert_int_equal(sum_usable(g, 0), LIMIT * 3);
		group_free(g);
	}
}

/*
 * Without the dead limiter in the roster, the others begin another ledger instance: no record of
 * the old one fits. They have the whole new limit, also if the dead limiter returns and sends old
 * messages.
 */
TEST(test_roster_without_the_dead)
{
	ENDED_BY(group_free_at) struct group *g = raised_without_one(LIMIT * 3);
	struct book_record record = {1, g->nodes[0].record, g->nodes[0].len};
	struct conserve_params params = g->params;
	struct conserve *dead, *c;
	uint8_t buf[ROOM];
	unsigned to;

	start_conserve_node(g, 2, true);
	dead = g->nodes[2].c;
	g->nodes[2].c = NULL;
	params.overlay.n = g->n = 2;
	params.epoch = 1000;
	params.records = &record;
	params.n_records = 1;
	assert_int_equal(conserve_create(&params, g->now, &c), -EINVAL);
	g->params.overlay.n = 2;
	g->params.identity.low = 2;
	for (unsigned i = 0; i < 2; i++) {
		conserve_destroy(g->nodes[i].c);
		start_conserve_node(g, i, false);
	}
	conserve_tick(dead, g->now);
	while (conserve_send(dead, g->now, buf, ROOM, &to) > 0)
		assert_int_equal(conserve_receive(g->nodes[to].c, 2, g->now, buf, ROOM), -ENOENT);
	want_limit_at(g, 0, 1);
	step_conserve_times(g, 20);
	assert_int_equal(sum_usable(g, 0), LIMIT * 3);
	assert_true(limit_of(g, 1, 0) > LIMIT * 3 * 9 / 10);
	conserve_destroy(dead);
}

/* Limits and bursts differ from the start: neither has more than the lowest of them. */
TEST(test_other_limit_from_the_first)
{
	ENDED_BY(group_free_at) struct group *g = group_new(2, 1, 0);
	uint64_t all = 0;

	for (unsigned i = 0; i < 2; i++) {
		g->policies[0].limit = i ? LIMIT * 10 : LIMIT;
		g->policies[0].burst = i ? 50000 : 10000;
		start_conserve_node(g, i, false);
	}
	g->policies[0].limit = LIMIT;
	step_conserve_times(g, 60);
	for (unsigned i = 0; i < 2; i++)
		all += conserve_burst(g->nodes[i].c, 0, i ? 50000 : 10000, limit_of(g, i, 0));
	/* One half, and of the other half the usable part of the higher limit. */
	assert_true(all <= 10000 && all > 5400);
}

/* If only the bursts differ, all divide the smallest; a limiter without a burst sends none. */
TEST(test_other_burst)
{
	static const struct {
		uint64_t own, peer, each;
	} rows[] = {
		{10000, 50000, 5000},
		{50000, 10000, 5000},
		{10000, 10000, 5000},
		{10000, 0, 5000},
	};

	for (size_t k = 0; k < COUNT(rows); k++) {
		struct group *g = group_started(2, 1, 0);

		tell_limit(g, 0, LIMIT, rows[k].own);
		tell_limit(g, 1, LIMIT, rows[k].peer);
		step_conserve_times(g, 60);
		assert_near((double)limit_of(g, 0, 0), LIMIT / 2.0, 2);
		assert_near((double)conserve_burst(g->nodes[0].c, 0, rows[k].own, LIMIT / 2),
			(double)rows[k].each, 1);
		assert_int_equal(told_otherwise(g, 0, 0), rows[k].own != rows[k].peer);
		assert_int_equal(told_otherwise(g, 1, 0), rows[k].own != rows[k].peer);
		group_free(g);
	}
}

/* Statements that a limiter has accepted. */
static uint64_t accepted_by(const struct group *g, unsigned i)
{
	const uint64_t *verdicts = conserve_counters(g->nodes[i].c)->verdicts;

	return verdicts[LEDGER_NEWS] + verdicts[LEDGER_HEARD];
}

/* Other differences: nothing moves while they exist, and everything afterwards. */
TEST(test_other_terms)
{
	ENDED_BY(group_free_at) struct group *g = group_started(2, 1, 0);
	struct conserve_policy other = {.id = 1, .limit = LIMIT, .terms = 7};
	uint64_t accepted;

	step_conserve_times(g, 5);
	assert_int_equal(conserve_update(g->nodes[1].c, &other, 1, g->now), 0);
	accepted = accepted_by(g, 0);
	want_limit_at(g, 0, 1);
	step_conserve_times(g, 60);
	assert_near((double)limit_of(g, 1, 0), LIMIT / 2.0, 1);
	assert_true(told_otherwise(g, 0, 0) && told_otherwise(g, 1, 0));
	assert_int_equal(accepted_by(g, 0), accepted);
	other.unit = 5; /* another unit: its limit is ignored as well */
	other.limit = 4;
	assert_int_equal(conserve_update(g->nodes[1].c, &other, 1, g->now), 0);
	step_conserve_times(g, 20);
	assert_int_equal(conserve_view(g->nodes[0].c, 0, g->now).limit, LIMIT);
	assert_int_equal(conserve_update(g->nodes[1].c, g->policies, 1, g->now), 0);
	want_limit_at(g, 0, 1);
	step_conserve_times(g, 60);
	assert_true(limit_of(g, 1, 0) > LIMIT * 9 / 10);
	assert_false(told_otherwise(g, 0, 0) || told_otherwise(g, 1, 0));
}

/* A removed policy keeps no floor and has no demand. */
TEST(test_gone_keeps_nothing)
{
	ENDED_BY(group_free_at) struct group *g = group_started(2, 1, 0);

	want_limit_at(g, 0, 0);
	step_conserve_times(g, 5); /* otherwise it is forgotten */
	assert_int_equal(conserve_update(g->nodes[0].c, NULL, 0, g->now), 0);
	conserve_target(g->nodes[1].c, 0, (double)LIMIT);
	step_conserve_times(g, 5);
	assert_int_equal(conserve_limit(g->nodes[1].c, 0, g->now, NULL), LIMIT);
}

/* A removed policy gives up its balance; grants are not repeated when it returns. */
TEST(test_gone)
{
	ENDED_BY(group_free_at) struct group *g = group_started(3, 2, 0);
	struct conserve_policy other = {.id = 7, .limit = 500};

	want_limit_at(g, 0, 1);
	step_conserve_times(g, 5);
	assert_int_equal(conserve_update(g->nodes[0].c, &other, 1, g->now), 0);
	assert_int_equal(conserve_policies(g->nodes[0].c), 1);
	assert_int_equal(conserve_limit(g->nodes[0].c, 0, g->now, NULL), 167);
	assert_int_equal(conserve_update(g->nodes[0].c, g->policies, 2, g->now), 0);
	assert_int_equal(conserve_policies(g->nodes[0].c), 2);
	step_conserve_times(g, 5);
	assert_int_equal(sum_usable(g, 0), LIMIT);
	assert_int_equal(sum_usable(g, 1), LIMIT);
	assert_int_equal(conserve_update(g->nodes[0].c, &g->policies[1], 1, g->now), 0);
	want_limit_at(g, 0, 1);
}

/* A removed policy without grants is forgotten; after its return its statements are not stale. */
TEST(test_back_from_nothing)
{
	ENDED_BY(group_free_at) struct group *g = group_started(2, 1, 0);
	struct conserve_policy other = {.id = 7, .limit = 500};

	step_conserve_times(g, 5);
	assert_int_equal(conserve_update(g->nodes[0].c, &other, 1, g->now), 0);
	assert_int_equal(conserve_book(g->nodes[0].c)->n, 1);
	assert_int_equal(conserve_update(g->nodes[0].c, g->policies, 1, g->now), 0);
	want_limit_at(g, 0, 1);
	step_conserve_times(g, 5);
	assert_in_range(limit_of(g, 1, 0), LIMIT * 98 / 100, LIMIT);
	assert_int_equal(conserve_counters(g->nodes[1].c)->verdicts[LEDGER_OLD], 0);
}

TEST(test_update_refused)
{
	ENDED_BY(group_free_at) struct group *g = group_started(2, 2, 0);
	struct conserve_policy twice[] = {{.id = 9, .limit = 5}, {.id = 9, .limit = 5}};
	struct conserve_policy most = {.id = 1, .limit = LEDGER_MOST + 1};

	assert_int_equal(conserve_update(g->nodes[0].c, twice, 2, g->now), -EINVAL);
	assert_int_equal(conserve_update(g->nodes[0].c, &most, 1, g->now), -EINVAL);
	step_conserve_times(g, 2);
	assert_int_equal(sum_usable(g, 1), LIMIT);
}
