/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * A group in virtual time over a network that takes no time and loses what a test says.
 */
#include "check.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/wire.h"
#include "conserve/conserve.h"

#define N_MAX    24
#define POLICIES 40
#define MS       UINT64_C(1000000)
#define TICK     (100 * MS)
#define LEASE    (2000 * MS)
#define LIMIT    UINT64_C(1000003)
#define ROOM     600
#define RECORD   2048

/* Where an entry of a message has its flags, and what is asked for. */
#define ENTRY_FLAGS 4
#define ENTRY_Q     69
#define ASKED       100000

/* Statements to one neighbour: eight messages of them. */
#define TAPE        2000
#define TOLD_A_TICK (8 * ((ROOM - BOOK_HEAD) / CONSERVE_ENTRY))

struct node {
	struct conserve *c;
	uint8_t record[RECORD];
	size_t len;
	bool cut; /* hears nobody, and nobody hears it */
};

struct group {
	unsigned n;
	uint64_t now, epoch;
	uint32_t ids[N_MAX];
	struct conserve_policy policies[POLICIES];
	struct conserve_params params;
	struct node nodes[N_MAX];
	size_t longest;
};

static int keep_conserve_record(void *context, uint32_t id, const void *record, size_t len)
{
	struct node *node = context;

	assert_true(len <= RECORD);
	if (id != 1)
		return 0;
	memcpy(node->record, record, len);
	node->len = len;
	return 0;
}

static void start_conserve_node(struct group *g, unsigned i, bool restored)
{
	struct book_record record = {1, g->nodes[i].record, g->nodes[i].len};
	struct conserve_params params = g->params;

	params.self = i;
	params.epoch = ++g->epoch;
	params.records = &record;
	params.n_records = restored;
	assert_int_equal(conserve_create(&params, g->now, &g->nodes[i].c), 0);
}

/* A disk that takes only so many records in a round, and what it has got. */
struct slow_disk {
	unsigned most, n;
	uint32_t ids[POLICIES];
};

static int keep_some(void *context, uint32_t id, const void *record, size_t len)
{
	struct slow_disk *disk = context;

	(void)record, (void)len;
	disk->ids[disk->n++] = id;
	return disk->n % disk->most == 0;
}

static struct group *group_new(unsigned n, unsigned n_policies, unsigned promise)
{
	struct group *g = test_calloc(1, sizeof(*g));

	g->n = n;
	g->now = 1000 * TICK;
	for (unsigned i = 0; i < n; i++)
		g->ids[i] = (i * 7919 + 13) % 1009; /* not in order */
	for (unsigned p = 0; p < n_policies; p++)
		g->policies[p] = (struct conserve_policy){.id = 1 + p, .limit = LIMIT};
	g->params = (struct conserve_params){
		.identity = {.low = 1},
		.overlay = {.shape = OVERLAY_RANDOM, .ids = g->ids, .n = n},
		.policies = g->policies,
		.n_policies = n_policies,
		.lease_ns = LEASE,
		.drift_ppm = 200,
		.repeat_ns = TICK,
		.promise = promise,
	};
	return g;
}

static struct group *group_started(unsigned n, unsigned n_policies, unsigned promise)
{
	struct group *g = group_new(n, n_policies, promise);

	for (unsigned i = 0; i < n; i++)
		start_conserve_node(g, i, false);
	return g;
}

static void group_free(struct group *g)
{
	for (unsigned i = 0; i < g->n; i++)
		conserve_destroy(g->nodes[i].c);
	test_free(g);
}

static void deliver_conserve(struct group *g, unsigned i)
{
	uint8_t buf[ROOM];
	unsigned to;
	size_t len;

	while ((len = conserve_send(g->nodes[i].c, g->now, buf, ROOM, &to)) > 0) {
		assert_true(len <= ROOM && to < g->n && to != i);
		g->longest = len > g->longest ? len : g->longest;
		if (g->nodes[to].c && !g->nodes[to].cut && !g->nodes[i].cut)
			assert_true(conserve_hear(g->nodes[to].c, i, g->now, buf, len) >= 0);
	}
}

static uint64_t limit_of(const struct group *g, unsigned i, unsigned policy)
{
	return conserve_limit(g->nodes[i].c, policy, g->now, NULL);
}

static uint64_t sum_usable(const struct group *g, unsigned policy)
{
	uint64_t usable = 0;

	for (unsigned i = 0; i < g->n; i++)
		usable += g->nodes[i].c ? limit_of(g, i, policy) : 0;
	return usable;
}

static void step_conserve_group(struct group *g)
{
	g->now += TICK;
	for (unsigned i = 0; i < g->n; i++)
		if (g->nodes[i].c)
			conserve_tick(g->nodes[i].c, g->now);
	for (unsigned i = 0; i < g->n; i++) {
		if (!g->nodes[i].c)
			continue;
		if (book_unsaved(conserve_book(g->nodes[i].c)) &&
			book_save(conserve_book(g->nodes[i].c), keep_conserve_record,
				&g->nodes[i]) == 0)
			book_committed(conserve_book(g->nodes[i].c));
		deliver_conserve(g, i);
		if (sum_usable(g, 0) > g->policies[0].limit)
			fail_msg("%llu usable", (unsigned long long)sum_usable(g, 0));
	}
}

static void step_conserve_times(struct group *g, unsigned n)
{
	while (n--)
		step_conserve_group(g);
}

/* All of the limit to one, but a hundredth of an equal part for each. */
static void want_limit_at(struct group *g, unsigned policy, unsigned who)
{
	for (unsigned i = 0; i < g->n; i++)
		conserve_target(
			g->nodes[i].c, policy, i == who ? (double)g->policies[policy].limit : 0);
}

static void test_shares(void **state)
{
	uint32_t ids[] = {30, 10, 20};
	struct overlay_params roster = {.ids = ids, .n = 3};

	(void)state;
	assert_int_equal(conserve_share(&roster, 0, 11), 3);
	assert_int_equal(conserve_share(&roster, 1, 11), 4);
	assert_int_equal(conserve_share(&roster, 2, 11), 4);
	assert_int_equal(conserve_share(&roster, 2, 9), 3);
}

static void test_params(void **state)
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

	(void)state;
	bad[0].overlay.n = 0;
	bad[1].self = 2;
	bad[2].epoch = 0;
	bad[3].epoch = UINT64_C(1) << 42;
	bad[4].lease_ns = 0;
	bad[5].drift_ppm = 1000000;
	bad[6].promise = 101;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
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

/* Where all are neighbours, a target is met in two steps, and several givers do not give twice. */
static void test_mesh(void **state)
{
	struct group *g = group_started(5, 1, 0);

	(void)state;
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
	group_free(g);
}

/* Two in need, three who have too much: each gets what he misses. */
static void test_mesh_parts(void **state)
{
	static const double targets[] = {0.35, 0.45, 0.1, 0.05, 0.05};
	struct group *g = group_started(5, 1, 0);

	(void)state;
	for (unsigned i = 0; i < 5; i++)
		conserve_target(g->nodes[i].c, 0, targets[i] * (double)LIMIT);
	step_conserve_times(g, 3);
	for (unsigned i = 0; i < 5; i++)
		assert_near(limit_of(g, i, 0), targets[i] * (double)LIMIT, LIMIT / 5.0 / 50);
	group_free(g);
}

/* One step of three with a megabyte each; each quantity is a sum of few powers of two. */
static void test_mesh_exact(void **state)
{
	static const struct {
		double targets[3];      /* in megabytes */
		double held[3];         /* after it */
		unsigned granted_by[3]; /* times */
	} rows[] = {
		/* One gives to two, of more than they miss, or of less. */
		{{0.5, 1.25, 1.125}, {0.625, 1.25, 1.125}, {2, 0, 0}},
		{{0.5, 1.5, 1.5}, {0.5, 1.25, 1.25}, {2, 0, 0}},
		/* Two give to one, who misses half of what they have too much. */
		{{0.75, 0.75, 1.25}, {0.875, 0.875, 1.25}, {1, 1, 0}},
		{{0.75, 0.75, 2}, {0.75, 0.75, 1.5}, {1, 1, 0}},
		{{1, 1, 1}, {1, 1, 1}, {0, 0, 0}},
	};

	(void)state;
	for (size_t k = 0; k < sizeof(rows) / sizeof(rows[0]); k++) {
		struct group *g = group_new(3, 1, 0);

		g->policies[0].limit = UINT64_C(3) << 20;
		for (unsigned i = 0; i < 3; i++) {
			start_conserve_node(g, i, false);
			conserve_target(g->nodes[i].c, 0, rows[k].targets[i] * (1 << 20));
		}
		step_conserve_times(g, 2); /* the first tells what is missing */
		for (unsigned i = 0; i < 3; i++) {
			assert_int_equal(limit_of(g, i, 0), rows[k].held[i] * (1 << 20));
			assert_int_equal(
				conserve_counters(g->nodes[i].c)->grants, rows[k].granted_by[i]);
		}
		group_free(g);
	}
}

/* What is smaller than a 256th of an equal part, and one, is not moved. */
static void test_grain(void **state)
{
	(void)state;
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

static void test_sparse(void **state)
{
	struct group *g = group_new(24, 1, 0);

	(void)state;
	g->params.overlay.degree = 4;
	g->params.overlay.spares = 1;
	for (unsigned i = 0; i < g->n; i++)
		start_conserve_node(g, i, false);
	want_limit_at(g, 0, 7);
	step_conserve_times(g, 600);
	/* All miss the same, or have nothing that they could give. */
	assert_true(limit_of(g, 7, 0) > LIMIT * 3 / 4);
	assert_int_equal(sum_usable(g, 0), LIMIT);
	group_free(g);
}

static void test_indicator(void **state)
{
	static const double demands[] = {100000, 200000, 300000};
	struct group *g = group_new(3, 1, 0);

	(void)state;
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
	group_free(g);
}

/* By another indicator nobody is given anything before he has said what he has by that. */
static void test_another_indicator(void **state)
{
	struct gdrl_measure m = {.demand = 100000, .dropped = -1, .packet = 1000};
	struct group *g = group_new(2, 1, 0);
	struct conserve_policy other;
	uint64_t limit;

	(void)state;
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
	group_free(g);
}

/* What is told to nobody before it is committed does not arrive; what failed is tried again. */
static void test_committing(void **state)
{
	struct group *g = group_started(2, 1, 0);
	struct conserve *giver = g->nodes[0].c, *taker = g->nodes[1].c;
	uint64_t before;

	(void)state;
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
	group_free(g);
}

/* A round may be a part of all: what has changed again meanwhile waits behind the others. */
static void test_rounds(void **state)
{
	struct group *g = group_started(2, 10, 0);
	struct conserve *c = g->nodes[0].c;
	struct slow_disk disk = {.most = 4};

	(void)state;
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
	group_free(g);
}

/* Others come and go during a round: those that it was for are committed by its end, no others. */
static void test_update_in_a_round(void **state)
{
	struct group *g = group_started(2, 10, 0);
	struct conserve *c = g->nodes[0].c;
	struct slow_disk disk = {.most = 4};

	(void)state;
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
	group_free(g);
}

static int full_disk(void *context, uint32_t id, const void *record, size_t len)
{
	(void)context, (void)id, (void)record, (void)len;
	return -ENOSPC;
}

static void test_disk(void **state)
{
	struct group *g = group_started(2, 2, 0);

	(void)state;
	assert_int_equal(book_save(conserve_book(g->nodes[0].c), full_disk, NULL), -ENOSPC);
	assert_true(book_unsaved(conserve_book(g->nodes[0].c)));
	assert_int_equal(
		book_save(conserve_book(g->nodes[0].c), keep_conserve_record, &g->nodes[0]), 0);
	book_committed(conserve_book(g->nodes[0].c));
	assert_false(book_unsaved(conserve_book(g->nodes[0].c)));
	assert_int_equal(
		book_save(conserve_book(g->nodes[0].c), keep_conserve_record, &g->nodes[0]),
		-EAGAIN);
	group_free(g);
}

/* The friend of one that dies takes what was promised, no sooner than the lease has ended, and
 * gives it back. */
static void test_friend(void **state)
{
	struct group *g = group_started(3, 1, 50);
	uint64_t before = 0, after = 0;
	unsigned dead = 1;

	(void)state;
	step_conserve_times(g, 20);
	assert_true(conserve_view(g->nodes[dead].c, 0, g->now).promised > 0);
	g->nodes[dead].cut = true;
	step_conserve_times(g, LEASE / TICK / 2);
	assert_int_equal(sum_usable(g, 0), LIMIT);
	for (unsigned i = 0; i < 3; i++)
		before += conserve_counters(g->nodes[i].c)->adoptions;
	assert_int_equal(before, 0);
	step_conserve_times(g, 2 * LEASE / TICK);
	for (unsigned i = 0; i < 3; i++)
		after += conserve_counters(g->nodes[i].c)->adoptions;
	assert_int_equal(
		after, 2); /* it takes from whom it is the friend of, too: both are alone */
	assert_int_equal(sum_usable(g, 0), LIMIT);
	g->nodes[dead].cut = false;
	step_conserve_times(g, 40);
	assert_int_equal(sum_usable(g, 0), LIMIT);
	for (unsigned i = 0; i < 3; i++)
		assert_int_equal(conserve_view(g->nodes[i].c, 0, g->now).inherited, 0);
	group_free(g);
}

/* A promise is in the way of what is to be given, and makes way. */
static void test_promise_moves(void **state)
{
	struct group *g = group_started(4, 1, 100);

	(void)state;
	step_conserve_times(g, 20);
	assert_true(conserve_view(g->nodes[0].c, 0, g->now).free < LIMIT / 4 / 10);
	want_limit_at(g, 0, 3);
	step_conserve_times(g, 12);
	assert_true(limit_of(g, 3, 0) > LIMIT * 95 / 100);
	assert_int_equal(sum_usable(g, 0), LIMIT);
	group_free(g);
}

static struct conserve_edge_view edge_of(const struct group *g, unsigned i, unsigned edge)
{
	return conserve_edge(g->nodes[i].c, 0, edge, g->now);
}

/* What the best friend is promised now; what was told of it before may be more. */
static uint64_t promised_by(const struct group *g, unsigned i)
{
	struct ledger_view view = edge_of(g, i, OVERLAY_FRIEND).ledger;

	return view.promised - view.granted;
}

/* Half of what is above the floor, and made anew only when a sixteenth of the balance is apart. */
static void test_promise_is_made_anew(void **state)
{
	const uint64_t share = 1 << 20, floor = share / 100;
	static const struct {
		uint64_t gives;
		bool anew;
	} rows[] = {
		{1 << 15, false},
		{1 << 18, true},
	};

	(void)state;
	for (size_t k = 0; k < sizeof(rows) / sizeof(rows[0]); k++) {
		struct group *g = group_new(2, 1, 50);
		uint64_t left = share - rows[k].gives;

		g->policies[0].limit = 2 * share;
		for (unsigned i = 0; i < 2; i++)
			start_conserve_node(g, i, false);
		step_conserve_times(g, 20);
		assert_int_equal(promised_by(g, 0), (share - floor) / 2);
		conserve_target(g->nodes[0].c, 0, (double)left);
		conserve_target(g->nodes[1].c, 0, (double)(share + rows[k].gives));
		step_conserve_times(g, 5);
		assert_int_equal(limit_of(g, 0, 0), left);
		assert_int_equal(
			promised_by(g, 0), rows[k].anew ? (left - floor) / 2 : (share - floor) / 2);
		assert_int_equal(promised_by(g, 1),
			rows[k].anew ? (share + rows[k].gives - floor) / 2 : (share - floor) / 2);
		group_free(g);
	}
}

/* A little is given as well where all is promised. */
static void test_promise_makes_way_for_a_little(void **state)
{
	const uint64_t share = 1 << 20, little = 1 << 15;
	struct group *g = group_new(2, 1, 100);

	(void)state;
	g->policies[0].limit = 2 * share;
	for (unsigned i = 0; i < 2; i++)
		start_conserve_node(g, i, false);
	step_conserve_times(g, 20);
	assert_true(conserve_view(g->nodes[0].c, 0, g->now).free < little / 2);
	conserve_target(g->nodes[0].c, 0, (double)(share - little));
	conserve_target(g->nodes[1].c, 0, (double)(share + little));
	step_conserve_times(g, 20);
	assert_near((double)limit_of(g, 1, 0), (double)(share + little), share / 256.0 + 1);
	group_free(g);
}

/*
 * Where less is free than two are to have, each is given its part of that; the rest is promised to
 * nobody, and when nobody misses anything any more the promise is what it was.
 */
static void test_promise_in_the_way(void **state)
{
	const double share = 1 << 20, floor = (1 << 20) / 100;
	struct group *g = group_new(3, 1, 50);
	uint64_t free, granted, held;

	(void)state;
	g->policies[0].limit = UINT64_C(3) << 20;
	for (unsigned i = 0; i < 3; i++)
		start_conserve_node(g, i, false);
	step_conserve_times(g, 20);
	for (unsigned i = 0; i < 3; i++)
		conserve_target(g->nodes[i].c, 0, share * (i == 0 ? 0.25 : 1.375));
	step_conserve_times(g, 1);
	free = conserve_view(g->nodes[0].c, 0, g->now).free;
	assert_true(free < (uint64_t)(share * 0.75));
	conserve_tick(g->nodes[0].c, g->now += TICK);
	granted = edge_of(g, 0, 0).ledger.granted;
	assert_int_equal(edge_of(g, 0, 1).ledger.granted, granted);
	assert_near((double)granted, (double)free / 2, 1);
	held = (uint64_t)conserve_view(g->nodes[0].c, 0, g->now).balance;
	assert_near((double)promised_by(g, 0),
		((double)held - floor - (share * 0.75 - 2 * (double)granted)) / 2, 2);
	step_conserve_times(g, 100);
	held = limit_of(g, 0, 0);
	assert_near((double)held, share / 4, share / 256 + 1);
	assert_near((double)promised_by(g, 0), ((double)held - floor) / 2, (double)held / 16);
	group_free(g);
}

/*
 * The heir of the only other one: it takes what it was promised, once, and says so at once; and it
 * gives that back, whatever it could use.
 */
static void test_heir(void **state)
{
	struct group *g = group_started(2, 1, 50);
	struct conserve *heir = g->nodes[0].c;
	uint8_t buf[ROOM];
	uint64_t promised, left;
	unsigned to;

	(void)state;
	step_conserve_times(g, 20);
	promised = promised_by(g, 1);
	left = limit_of(g, 0, 0) - promised_by(g, 0);
	g->nodes[1].cut = true;
	for (unsigned ms = 0; conserve_counters(heir)->adoptions == 0 && ms < 2 * LEASE / MS;
		ms++) {
		while (conserve_send(heir, g->now, buf, ROOM, &to) > 0)
			;
		conserve_tick(heir, g->now += MS);
	}
	assert_int_equal(conserve_counters(heir)->adoptions, 1);
	assert_int_equal(conserve_view(heir, 0, g->now).inherited, promised);
	assert_int_equal(limit_of(g, 0, 0), left + promised);
	assert_int_equal(conserve_send(heir, g->now, buf, ROOM, &to), BOOK_HEAD + CONSERVE_ENTRY);
	conserve_target(heir, 0, (double)LIMIT);
	step_conserve_times(g, 10);
	assert_int_equal(conserve_counters(heir)->adoptions, 1);
	assert_int_equal(conserve_view(heir, 0, g->now).inherited, promised);
	g->nodes[1].cut = false;
	step_conserve_times(g, 10);
	assert_int_equal(conserve_view(heir, 0, g->now).inherited, 0);
	assert_int_equal(limit_of(g, 1, 0), LIMIT / 2);
	group_free(g);
}

static void test_restart(void **state)
{
	struct group *g = group_started(3, 1, 0);
	uint64_t held;

	(void)state;
	want_limit_at(g, 0, 1);
	step_conserve_times(g, 5);
	held = limit_of(g, 1, 0);
	conserve_destroy(g->nodes[1].c);
	g->nodes[1].c = NULL;
	step_conserve_times(g, 3);
	start_conserve_node(g, 1, true);
	/* What came in since it last gave something is not in its record; it is told again. */
	assert_true(limit_of(g, 1, 0) <= held);
	step_conserve_times(g, 3);
	assert_int_equal(sum_usable(g, 0), LIMIT);
	assert_int_equal(limit_of(g, 1, 0), held);
	/* Without its record it holds nothing, until the others have said what it has. */
	conserve_destroy(g->nodes[1].c);
	g->params.recovering = true;
	start_conserve_node(g, 1, false);
	assert_true(conserve_view(g->nodes[1].c, 0, g->now).recovering);
	assert_int_equal(limit_of(g, 1, 0), 0);
	step_conserve_times(g, 5);
	assert_int_equal(sum_usable(g, 0), LIMIT);
	assert_false(conserve_view(g->nodes[1].c, 0, g->now).recovering);
	group_free(g);
}

static void test_other_edges(void **state)
{
	struct group *g = group_started(3, 1, 0);
	struct book_record record = {1, g->nodes[0].record, 0};
	struct conserve_params params = g->params;
	struct conserve *c;

	(void)state;
	step_conserve_times(g, 3);
	record.len = g->nodes[0].len;
	params.records = &record;
	params.n_records = 1;
	params.epoch = 99;
	params.self = 1; /* as many edges, but to others */
	assert_int_equal(conserve_create(&params, g->now, &c), -EINVAL);
	params.self = 0;
	g->nodes[0].record[20] ^= 1;
	assert_int_equal(conserve_create(&params, g->now, &c), -EINVAL);
	g->nodes[0].record[20] ^= 1;
	assert_int_equal(conserve_create(&params, g->now, &c), 0);
	conserve_destroy(c);
	group_free(g);
}

/* Another limit: debts are paid, and nothing is missing in the end. */
static void test_limits(void **state)
{
	struct group *g = group_started(4, 1, 0);
	uint64_t limits[] = {LIMIT, LIMIT * 3, LIMIT / 5, LIMIT};

	(void)state;
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
	group_free(g);
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

/* One of eight has nearly all when the limit falls to a quarter, and the others are in debt. */
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
 * On a ring the two neighbours of the rich one ask it for the whole of what they owe, as their
 * other neighbours cannot pay: so they are out of debt as soon for any limit. If they asked each
 * neighbour for half, the rest of their debts would be halved again and again, the more often the
 * larger it was.
 */
static void test_debts_of_neighbours(void **state)
{
	(void)state;
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
 * Where all are neighbours each pays its part of what one owes, by what it holds: all together pay
 * about what is owed, and what is left over is little.
 */
static void test_debts_in_a_mesh(void **state)
{
	struct group *g = group_started(5, 1, 0);

	(void)state;
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
	group_free(g);
}

/*
 * Two of five have all, and the others ask them: what is paid for an ask, and when. A debt is paid
 * of another limit too, but nothing where other terms hold; each ask is paid once, and none of
 * somebody who has fallen silent.
 */
static void test_asks_paid(void **state)
{
	static const struct {
		uint64_t fall; /* of each share: below half of a floor, or below nothing */
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

	(void)state;
	for (size_t k = 0; k < sizeof(rows) / sizeof(rows[0]); k++) {
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
		step_conserve_group(g); /* in which they ask */
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

/* Where a debt is more than what is free, that is paid at once; the rest is promised yet. */
static void test_debt_beyond_what_is_free(void **state)
{
	struct group *g = group_new(2, 1, 50);
	uint64_t free;

	(void)state;
	g->policies[0].limit = 1000000;
	for (unsigned i = 0; i < 2; i++)
		start_conserve_node(g, i, false);
	want_limit_at(g, 0, 0);
	step_conserve_times(g, 20);
	for (unsigned i = 0; i < 2; i++)
		tell_limit(g, i, 250000, 0);
	step_conserve_group(g); /* in which it asks */
	free = conserve_view(g->nodes[0].c, 0, g->now).free;
	assert_in_range(free, 1, sum_debts(g) - 1);
	conserve_tick(g->nodes[0].c, g->now);
	assert_int_equal(conserve_view(g->nodes[0].c, 0, g->now).in_flight, free);
	group_free(g);
}

/* A debt of one is paid. */
static void test_least_debt(void **state)
{
	struct group *g = group_new(2, 1, 0);

	(void)state;
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
	assert_int_equal(limit_of(g, 1, 0), 988 / 2 / 100); /* and then it has its floor */
	assert_int_equal(sum_usable(g, 0), 988);
	group_free(g);
}

/*
 * Those behind them are paid one after the other, up to four steps away: an ask goes there and the
 * payment comes back in 2 + 4 + 6 + 8 steps, on either side. What is on its way to a debtor does
 * not turn back, so a few times as many are enough for any limit; else a floor's worth is paid in
 * two steps, which takes hundreds.
 */
static void test_debts_far_away(void **state)
{
	(void)state;
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

/* What the first policy's entry of a message asks for, for whom so many hops away. */
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

/* What node `from` sends `to`; with so many hops it asks for ASKED, if that is what was wanted. */
static struct asked speak(struct group *g, unsigned from, unsigned to, int asks_hops)
{
	uint8_t buf[ROOM], *entry = buf + BOOK_HEAD;
	struct asked asked = {0};
	unsigned peer;
	size_t len;

	while ((len = conserve_send(g->nodes[from].c, g->now, buf, ROOM, &peer)) > 0) {
		if (peer == to && asks_hops >= 0) {
			entry[ENTRY_FLAGS] = (uint8_t)(2 | asks_hops << 3);
			wire_put_double(entry + ENTRY_Q, ASKED);
		}
		asked = peer == to ? asked_by(buf) : asked;
		assert_true(conserve_hear(g->nodes[peer].c, from, g->now, buf, len) >= 0);
	}
	return asked;
}

/* One that was asked pays node 0, which looks what to do with it. */
static void pay_and_move(struct group *g, unsigned from)
{
	conserve_tick(g->nodes[from].c, g->now += TICK);
	if (book_save(conserve_book(g->nodes[from].c), NULL, NULL) == 0)
		book_committed(conserve_book(g->nodes[from].c));
	speak(g, from, 0, -1);
	conserve_tick(g->nodes[0].c, g->now);
}

/*
 * Node 0 passes on what it is paid on behalf of another one, and asks for the rest; that waits for
 * the other one to ask again, though more than it is missed where it came from.
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
 * An ask is relayed for a little less than it was for, and goes no further than anybody is away, so
 * that none goes in a circle for long; where all are neighbours it is not relayed.
 */
static void test_asks_end(void **state)
{
	(void)state;
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
		want_limit_at(g, 0, next); /* 0 has its floor, and nothing to give */
		step_conserve_times(g, 100);
		/* Each speaks some times in a lease. */
		for (unsigned steps = 0; steps < LEASE / TICK / 2; steps++) {
			g->now += TICK;
			for (unsigned i = 0; i < g->n; i++)
				conserve_tick(g->nodes[i].c, g->now);
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

/* Two neighbours that do not ask themselves are asked for one half each. */
static void test_debt_is_divided(void **state)
{
	struct group *g = group_new(4, 1, 0);

	(void)state;
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
		tell_limit(g, 0, e ? 900000 : 900004, 0); /* it says it again */
	}
	group_free(g);
}

static bool told_otherwise(const struct group *g, unsigned i, unsigned edge)
{
	return conserve_edge(g->nodes[i].c, 0, edge, g->now).differs;
}

/*
 * With leases that differ the one would go on using what the other has inherited: so nothing is
 * promised, and in no partition, however long, anything is exceeded.
 */
static void test_other_lease(void **state)
{
	(void)state;
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

/* All go by the least that is said, also while whoever said it is silent; debts are paid. */
static void test_other_limit(void **state)
{
	struct group *g = group_started(3, 1, 50);

	(void)state;
	want_limit_at(g, 0, 0);
	step_conserve_times(g, 20);
	assert_true(limit_of(g, 0, 0) > LIMIT * 9 / 10);
	tell_limit(g, 1, LIMIT * 10, 0);
	step_conserve_times(g, 20);
	assert_true(told_otherwise(g, 0, 0) + told_otherwise(g, 0, 1) == 1);
	assert_true(told_otherwise(g, 1, 0) && told_otherwise(g, 1, 1));
	want_limit_at(g, 0, 1); /* in vain */
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
	/* Less at one that has next to nothing: its debt is paid, and all go by it. */
	tell_limit(g, 0, LIMIT, 0);
	step_conserve_times(g, 20);
	g->policies[0].limit = LIMIT;
	step_conserve_times(g, 20);
	assert_true(sum_usable(g, 0) > LIMIT - 10);
	assert_int_equal(conserve_view(g->nodes[1].c, 0, g->now).limit, LIMIT);
	group_free(g);
}

/* Limiter 2 is dead, and the others are told of more: not of use, whatever they do. */
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
	step_conserve_times(g, 400); /* each step checks that the old limit holds: for 20 leases, */
	g->policies[0].limit = raised;
	conserve_destroy(g->nodes[0].c); /* and where one is started again */
	start_conserve_node(g, 0, true);
	step_conserve_times(g, 400);
	for (unsigned i = 0; i < 2; i++) /* or three times its share of that, as of the record */
		assert_near(conserve_view(g->nodes[i].c, 0, g->now).limit, LIMIT, 3);
	assert_true(sum_usable(g, 0) <= LIMIT);
	return g;
}

/*
 * That a limiter is silent does not tell whether it is dead or cut off, with the limit that it was
 * told. So it keeps a raise back for ever, until it comes back, with its record or as another one
 * without a memory under its name: either way nothing is missing then.
 */
static void test_raise_waits_for_the_dead(void **state)
{
	(void)state;
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
 * Without it in the roster the others begin another ledger: no record of the old one fits, and the
 * whole new limit is theirs, also when the dead comes back and speaks as it did.
 */
static void test_roster_without_the_dead(void **state)
{
	struct group *g = raised_without_one(LIMIT * 3);
	struct book_record record = {1, g->nodes[0].record, g->nodes[0].len};
	struct conserve_params params = g->params;
	struct conserve *dead, *c;
	uint8_t buf[ROOM];
	unsigned to;

	(void)state;
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
		assert_int_equal(conserve_hear(g->nodes[to].c, 2, g->now, buf, ROOM), -ENOENT);
	want_limit_at(g, 0, 1);
	step_conserve_times(g, 20);
	assert_int_equal(sum_usable(g, 0), LIMIT * 3);
	assert_true(limit_of(g, 1, 0) > LIMIT * 3 * 9 / 10);
	conserve_destroy(dead);
	group_free(g);
}

/* The limits and bursts of these differ from the first, and nobody has more than the lowest. */
static void test_other_limit_from_the_first(void **state)
{
	struct group *g = group_new(2, 1, 0);
	uint64_t all = 0;

	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		g->policies[0].limit = i ? LIMIT * 10 : LIMIT;
		g->policies[0].burst = i ? 50000 : 10000;
		start_conserve_node(g, i, false);
	}
	g->policies[0].limit = LIMIT;
	step_conserve_times(g, 60);
	for (unsigned i = 0; i < 2; i++)
		all += conserve_burst(g->nodes[i].c, 0, i ? 50000 : 10000, limit_of(g, i, 0));
	/* Half of it, and of the other half the part that is usable of the higher limit. */
	assert_true(all <= 10000 && all > 5400);
	group_free(g);
}

/* Where only the bursts differ, all divide the smallest, and somebody who has none says nothing. */
static void test_other_burst(void **state)
{
	static const struct {
		uint64_t own, peer, each;
	} rows[] = {
		{10000, 50000, 5000},
		{50000, 10000, 5000},
		{10000, 10000, 5000},
		{10000, 0, 5000},
	};

	(void)state;
	for (size_t k = 0; k < sizeof(rows) / sizeof(rows[0]); k++) {
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

/* Statements that a limiter has believed. */
static uint64_t believed_by(const struct group *g, unsigned i)
{
	const uint64_t *verdicts = conserve_counters(g->nodes[i].c)->verdicts;

	return verdicts[LEDGER_NEWS] + verdicts[LEDGER_HEARD];
}

/* What else differs: nothing moves while it does, and everything when it does not. */
static void test_other_terms(void **state)
{
	struct group *g = group_started(2, 1, 0);
	struct conserve_policy other = {.id = 1, .limit = LIMIT, .terms = 7};
	uint64_t believed;

	(void)state;
	step_conserve_times(g, 5);
	assert_int_equal(conserve_update(g->nodes[1].c, &other, 1, g->now), 0);
	believed = believed_by(g, 0);
	want_limit_at(g, 0, 1);
	step_conserve_times(g, 60);
	assert_near((double)limit_of(g, 1, 0), LIMIT / 2.0, 1);
	assert_true(told_otherwise(g, 0, 0) && told_otherwise(g, 1, 0));
	assert_int_equal(believed_by(g, 0), believed);
	other.unit = 5; /* of another unit: not even its limit says anything */
	other.limit = 4;
	assert_int_equal(conserve_update(g->nodes[1].c, &other, 1, g->now), 0);
	step_conserve_times(g, 20);
	assert_int_equal(conserve_view(g->nodes[0].c, 0, g->now).limit, LIMIT);
	assert_int_equal(conserve_update(g->nodes[1].c, g->policies, 1, g->now), 0);
	want_limit_at(g, 0, 1);
	step_conserve_times(g, 60);
	assert_true(limit_of(g, 1, 0) > LIMIT * 9 / 10);
	assert_false(told_otherwise(g, 0, 0) || told_otherwise(g, 1, 0));
	group_free(g);
}

/* One that is gone keeps nothing: no floor, and no demand. */
static void test_gone_keeps_nothing(void **state)
{
	struct group *g = group_started(2, 1, 0);

	(void)state;
	want_limit_at(g, 0, 0);
	step_conserve_times(g, 5); /* or else it is forgotten */
	assert_int_equal(conserve_update(g->nodes[0].c, NULL, 0, g->now), 0);
	conserve_target(g->nodes[1].c, 0, (double)LIMIT);
	step_conserve_times(g, 5);
	assert_int_equal(conserve_limit(g->nodes[1].c, 0, g->now, NULL), LIMIT);
	group_free(g);
}

/* One that is gone gives what it has, and what it has given is not made again when it returns. */
static void test_gone(void **state)
{
	struct group *g = group_started(3, 2, 0);
	struct conserve_policy other = {.id = 7, .limit = 500};

	(void)state;
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
	group_free(g);
}

/* One without neighbours has all, whatever it would promise. */
static void test_alone(void **state)
{
	struct group *g = group_started(1, 1, 50);

	(void)state;
	assert_int_equal(conserve_edges(g->nodes[0].c), 0);
	step_conserve_times(g, 5);
	assert_int_equal(limit_of(g, 0, 0), LIMIT);
	group_free(g);
}

/* One that nothing was given of is forgotten; when it comes back its statements are no old ones. */
static void test_back_from_nothing(void **state)
{
	struct group *g = group_started(2, 1, 0);
	struct conserve_policy other = {.id = 7, .limit = 500};

	(void)state;
	step_conserve_times(g, 5);
	assert_int_equal(conserve_update(g->nodes[0].c, &other, 1, g->now), 0);
	assert_int_equal(conserve_book(g->nodes[0].c)->n, 1);
	assert_int_equal(conserve_update(g->nodes[0].c, g->policies, 1, g->now), 0);
	want_limit_at(g, 0, 1);
	step_conserve_times(g, 5);
	assert_in_range(limit_of(g, 1, 0), LIMIT * 98 / 100, LIMIT);
	assert_int_equal(conserve_counters(g->nodes[1].c)->verdicts[LEDGER_OLD], 0);
	group_free(g);
}

/* What an operator sees of a policy and of a neighbour that is silent. */
static void test_views(void **state)
{
	struct group *g = group_started(2, 1, 50);
	struct conserve_view view;
	uint64_t until;

	(void)state;
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
	group_free(g);
}

/* News is told once, and again when there is more; and messages are counted at both ends. */
static void test_news_and_counts(void **state)
{
	struct group *g = group_started(2, 1, 0);
	uint64_t sent = 0, heard = 0;

	(void)state;
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
		heard += conserve_counters(g->nodes[i].c)->messages_heard;
	}
	assert_true(sent > 10);
	assert_int_equal(sent, heard);
	group_free(g);
}

static void test_update_refused(void **state)
{
	struct group *g = group_started(2, 2, 0);
	struct conserve_policy twice[] = {{.id = 9, .limit = 5}, {.id = 9, .limit = 5}};
	struct conserve_policy most = {.id = 1, .limit = LEDGER_MOST + 1};

	(void)state;
	assert_int_equal(conserve_update(g->nodes[0].c, twice, 2, g->now), -EINVAL);
	assert_int_equal(conserve_update(g->nodes[0].c, &most, 1, g->now), -EINVAL);
	step_conserve_times(g, 2);
	assert_int_equal(sum_usable(g, 1), LIMIT);
	group_free(g);
}

/* More policies than fit into a message: all get through, and messages have their bound. */
static void test_many(void **state)
{
	struct group *g = group_started(3, POLICIES, 0);

	(void)state;
	for (unsigned p = 0; p < POLICIES; p++)
		want_limit_at(g, p, p % 3);
	step_conserve_times(g, 8);
	for (unsigned p = 0; p < POLICIES; p++) {
		assert_int_equal(sum_usable(g, p), LIMIT);
		assert_true(limit_of(g, p % 3, p) > LIMIT * 98 / 100);
	}
	assert_true(g->longest > ROOM - CONSERVE_ENTRY);
	group_free(g);
}

/* At rest there is a statement a quarter of a lease, and nothing to save. */
static void test_rest(void **state)
{
	struct group *g = group_started(3, 1, 50);
	uint64_t before;

	(void)state;
	step_conserve_times(g, 60);
	before = conserve_counters(g->nodes[0].c)->statements_sent;
	for (unsigned k = 0; k < 10 * LEASE / TICK; k++) {
		step_conserve_group(g);
		assert_false(book_unsaved(conserve_book(g->nodes[0].c)));
	}
	assert_in_range(conserve_counters(g->nodes[0].c)->statements_sent - before, 2 * 40, 2 * 44);
	group_free(g);
}

/*
 * One that is recovering has no record: it is so again after another crash, as its store says, and
 * it stays so when its policy leaves and comes back. Else it would have its share for the second
 * time.
 */
static void test_recovering_again(void **state)
{
	struct group *g = group_started(3, 2, 0);

	(void)state;
	want_limit_at(g, 0, 1);
	step_conserve_times(g, 5); /* what the first ones have goes to the second */
	conserve_destroy(g->nodes[0].c);
	g->nodes[0].len = 0;
	g->nodes[0].cut = true;
	g->params.recovering = true;
	start_conserve_node(g, 0, false);
	step_conserve_times(g, 2);
	conserve_destroy(g->nodes[0].c);
	assert_int_equal(g->nodes[0].len, 0);
	start_conserve_node(g, 0, false);
	assert_int_equal(conserve_update(g->nodes[0].c, &g->policies[1], 1, g->now), 0);
	step_conserve_times(g, 2);
	assert_int_equal(g->nodes[0].len, 0);
	assert_int_equal(conserve_update(g->nodes[0].c, g->policies, 2, g->now), 0);
	step_conserve_times(g, 2);
	assert_true(conserve_view(g->nodes[0].c, 0, g->now).recovering);
	assert_int_equal(limit_of(g, 0, 0), 0);
	g->nodes[0].cut = false;
	step_conserve_times(g, 20);
	assert_false(conserve_view(g->nodes[0].c, 0, g->now).recovering);
	assert_int_equal(sum_usable(g, 0), LIMIT);
	group_free(g);
}

/* Two limiters of n policies; the caller frees these. */
static struct group *make_crowded_pair(
	unsigned n, unsigned promise, struct conserve_policy **policies)
{
	struct group *g = group_new(2, 0, promise);

	*policies = test_calloc(n, sizeof(**policies));
	for (unsigned p = 0; p < n; p++)
		(*policies)[p] = (struct conserve_policy){.id = 1 + p, .limit = LIMIT};
	g->policies[0] = (*policies)[0];
	g->params.policies = *policies;
	g->params.n_policies = n;
	for (unsigned i = 0; i < 2; i++)
		start_conserve_node(g, i, false);
	return g;
}

/*
 * Where there is more than can be told within a lease nobody promises what would be of use to
 * nobody.
 */
static void test_crowd(void **state)
{
	unsigned n = LEASE / TICK * TOLD_A_TICK + 1;
	struct conserve_policy *policies;
	struct group *g = make_crowded_pair(n, 50, &policies);
	uint64_t usable = 0;

	(void)state;
	step_conserve_times(g, 3 * LEASE / TICK);
	for (unsigned p = 0; p < n; p++)
		usable += sum_usable(g, p);
	assert_int_equal(usable, n * LIMIT);
	group_free(g);
	test_free(policies);
}

/* What is news does not wait for its turn among the many that have none. */
static void test_news_first(void **state)
{
	const unsigned n = 1000, of = 700;
	struct conserve_policy *policies;
	struct group *g = make_crowded_pair(n, 0, &policies);
	unsigned heard = n;

	(void)state;
	conserve_target(g->nodes[0].c, of, (double)LIMIT);
	conserve_target(g->nodes[1].c, of, (double)LIMIT);
	step_conserve_times(
		g, 2 * (n / TOLD_A_TICK + 1)); /* each has been told of: what is missing is known */
	while (conserve_next_news(g->nodes[1].c) < n)
		;
	conserve_target(g->nodes[0].c, of, 0);
	step_conserve_group(g);
	assert_in_range(limit_of(g, 1, of), LIMIT * 9 / 10, LIMIT);
	while (heard != of && (heard = conserve_next_news(g->nodes[1].c)) < n)
		;
	assert_int_equal(heard, of);
	group_free(g);
	test_free(policies);
}

static void test_bad_messages(void **state)
{
	struct group *g = group_started(2, 1, 0);
	struct conserve *c = g->nodes[0].c;
	uint8_t buf[ROOM];

	(void)state;
	book_write_head(conserve_book(c), CONSERVE_MESSAGE, buf);
	memset(buf + BOOK_HEAD, 0, ROOM - BOOK_HEAD);
	assert_int_equal(conserve_hear(c, 1, g->now, buf, 0), -EBADMSG);
	assert_int_equal(conserve_hear(c, 1, g->now, buf, BOOK_HEAD - 1), -EBADMSG);
	assert_int_equal(conserve_hear(c, 1, g->now, buf, BOOK_HEAD + 1), -EBADMSG);
	assert_int_equal(conserve_hear(c, 0, g->now, buf, BOOK_HEAD), -ENOENT);
	assert_int_equal(conserve_hear(c, 1, g->now, buf, BOOK_HEAD), 0);
	assert_int_equal(conserve_hear(c, 1, g->now, buf, BOOK_HEAD + CONSERVE_ENTRY), 0);
	assert_int_equal(conserve_counters(c)->unknown, 1);
	buf[0] = CONSERVE_MESSAGE + 1;
	assert_int_equal(conserve_hear(c, 1, g->now, buf, BOOK_HEAD), -EBADMSG);
	assert_int_equal(conserve_counters(c)->malformed, 4);
	group_free(g);
}

/* Buckets: together no more than the burst, whatever each is of the limit. */
static void test_bursts(void **state)
{
	struct group *g = group_started(7, 1, 0);

	(void)state;
	for (uint64_t burst = 1; burst < 100000; burst = burst * 3 + 1) {
		uint64_t all = 0;

		for (unsigned i = 0; i < 7; i++)
			all += conserve_burst(g->nodes[i].c, 0, burst, limit_of(g, i, 0));
		assert_true(all <= burst && all + 7 > burst);
	}
	assert_int_equal(conserve_burst(g->nodes[0].c, 0, 5000, LIMIT), 5000);
	assert_int_equal(conserve_burst(g->nodes[0].c, 0, 5000, 0), 0);
	group_free(g);
}

/* ---- ledgers of other lives */

/* All that is said in the group, by a network that forgets nothing. */
struct tape {
	unsigned n;
	struct {
		unsigned from, to;
		size_t len;
		uint8_t bytes[ROOM];
	} at[TAPE];
};

/* A step in which all that is said is recorded. */
static void step_recorded(struct group *g, struct tape *tape)
{
	g->now += TICK;
	for (unsigned i = 0; i < g->n; i++) {
		unsigned to;

		conserve_tick(g->nodes[i].c, g->now);
		if (book_save(conserve_book(g->nodes[i].c), NULL, NULL) == 0)
			book_committed(conserve_book(g->nodes[i].c));
		for (; tape->n < TAPE; tape->n++) {
			uint8_t *at = tape->at[tape->n].bytes;
			size_t len = conserve_send(g->nodes[i].c, g->now, at, ROOM, &to);

			if (len == 0)
				break;
			tape->at[tape->n].from = i;
			tape->at[tape->n].to = to;
			tape->at[tape->n].len = len;
			assert_true(conserve_hear(g->nodes[to].c, i, g->now, at, len) >= 0);
		}
	}
}

/* Everybody begins anew, under another identity, as if it had never run. */
static void begin_next_life(struct group *g)
{
	for (unsigned i = 0; i < g->n; i++)
		conserve_destroy(g->nodes[i].c);
	g->epoch = 0;
	g->now = 5 * TICK; /* the machines have started again, too */
	g->params.identity.low++;
	for (unsigned i = 0; i < g->n; i++)
		start_conserve_node(g, i, false);
}

/*
 * All limiters begin anew with the names, policies and key of before, and somebody plays them what
 * was said in their former life: epochs and amounts are higher than any of this one.
 */
static void test_former_life(void **state)
{
	struct tape *tape = test_calloc(1, sizeof(*tape));
	struct group *g = group_new(2, 1, 50);

	(void)state;
	g->epoch = 2;
	for (unsigned i = 0; i < 2; i++)
		start_conserve_node(g, i, false);
	want_limit_at(g, 0, 1);
	for (unsigned i = 0; i < 100; i++)
		step_recorded(g, tape);
	assert_in_range(limit_of(g, 1, 0), LIMIT * 9 / 10, LIMIT);
	assert_in_range(tape->n, 20, TAPE - 1);
	begin_next_life(g);
	step_conserve_times(g, 40);
	for (unsigned round = 0; round < 10; round++) {
		for (unsigned i = 0; i < tape->n; i++) {
			unsigned to = tape->at[i].to;

			assert_int_equal(conserve_hear(g->nodes[to].c, tape->at[i].from, g->now,
						 tape->at[i].bytes, tape->at[i].len),
				-ESTALE);
		}
		step_conserve_times(g, 10); /* in which the sum is looked at */
	}
	for (unsigned i = 0; i < 2; i++) {
		const struct conserve_counters *counters = conserve_counters(g->nodes[i].c);

		assert_int_equal(counters->verdicts[LEDGER_INVALID], 0);
		assert_int_equal(conserve_book(g->nodes[i].c)->links[0].invalid, 0);
		assert_true(conserve_book(g->nodes[i].c)->links[0].foreign > 0);
	}
	/* Nor is the edge worse for it. */
	want_limit_at(g, 0, 0);
	step_conserve_times(g, 100);
	assert_in_range(limit_of(g, 0, 0), LIMIT * 9 / 10, LIMIT);
	group_free(g);
	test_free(tape);
}

/* One that never heard of the new life goes on with the old one: nothing moves, and both know. */
static void test_left_behind(void **state)
{
	struct group *g = group_started(3, 1, 0);
	const struct book *behind, *other;

	(void)state;
	g->params.identity.low++;
	for (unsigned i = 0; i < 2; i++) {
		conserve_destroy(g->nodes[i].c);
		start_conserve_node(g, i, false);
	}
	for (unsigned i = 0; i < 3; i++) {
		uint8_t buf[ROOM];
		unsigned to;
		size_t len;

		conserve_tick(g->nodes[i].c, g->now += TICK);
		while ((len = conserve_send(g->nodes[i].c, g->now, buf, ROOM, &to)) > 0)
			assert_int_equal(conserve_hear(g->nodes[to].c, i, g->now, buf, len),
				i == 2 || to == 2 ? -ESTALE : 0);
	}
	behind = conserve_book(g->nodes[2].c);
	other = conserve_book(g->nodes[0].c);
	assert_true(behind->links[0].foreign > 0 && behind->links[1].foreign > 0);
	assert_int_equal(behind->links[0].says.low, g->params.identity.low);
	assert_true(other->links[book_edge(other, 2)].foreign > 0);
	assert_int_equal(other->links[book_edge(other, 1)].foreign, 0);
	group_free(g);
}

/*
 * One that has lost its memory learns the identity with all else, of all its neighbours. As long as
 * one is silent, or two say different ones, it does not; and one that has lost its memory, too, is
 * no hindrance.
 */
static void test_learnt_identity(void **state)
{
	const struct book_identity ours = {7, 8}, others = {7, 9}, none = {0};
	const struct {
		struct book_identity a, b;
		bool b_speaks;
		struct book_identity learnt;
	} cases[] = {
		{ours, ours, true, ours},
		{ours, ours, false, none},
		{ours, others, true, none},
		{ours, none, true, ours},
		{none, none, true, none},
	};

	(void)state;
	for (unsigned i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct group *g = group_new(3, 1, 0);
		struct book *book;
		uint8_t head[BOOK_HEAD];

		g->params.recovering = true;
		g->params.identity = none;
		start_conserve_node(g, 2, false);
		book = conserve_book(g->nodes[2].c);
		book->identity = cases[i].a; /* as that one would write it */
		book_write_head(book, CONSERVE_MESSAGE, head);
		book->identity = none;
		assert_int_equal(conserve_hear(g->nodes[2].c, 0, g->now, head, BOOK_HEAD), -ESTALE);
		book->identity = cases[i].b;
		book_write_head(book, CONSERVE_MESSAGE, head);
		book->identity = none;
		if (cases[i].b_speaks)
			(void)conserve_hear(g->nodes[2].c, 1, g->now, head, BOOK_HEAD);
		assert_true(book_identity_equal(book->identity, cases[i].learnt));
		conserve_destroy(g->nodes[2].c);
		g->nodes[2].c = NULL;
		group_free(g);
	}
}

/* With neighbours that know it one that has lost its memory comes back to its part of the limit. */
static void test_recovering_without_identity(void **state)
{
	struct group *g = group_started(3, 1, 0);
	struct conserve_params params = g->params;

	(void)state;
	want_limit_at(g, 0, 2);
	step_conserve_times(g, 50);
	conserve_destroy(g->nodes[2].c);
	params.self = 2;
	params.epoch = 1000;
	params.recovering = true;
	params.identity = (struct book_identity){0};
	assert_int_equal(conserve_create(&params, g->now, &g->nodes[2].c), 0);
	assert_int_equal(limit_of(g, 2, 0), 0);
	for (unsigned i = 0; i < 100; i++) {
		g->now += TICK;
		for (unsigned k = 0; k < 3; k++) {
			conserve_tick(g->nodes[k].c, g->now);
			if (book_save(conserve_book(g->nodes[k].c), NULL, NULL) == 0)
				book_committed(conserve_book(g->nodes[k].c));
		}
		for (unsigned k = 0; k < 3; k++) {
			uint8_t buf[ROOM];
			unsigned to;
			size_t len;

			while ((len = conserve_send(g->nodes[k].c, g->now, buf, ROOM, &to)) > 0)
				conserve_hear(g->nodes[to].c, k, g->now, buf, len);
		}
		assert_true(sum_usable(g, 0) <= LIMIT);
	}
	assert_in_range(limit_of(g, 2, 0), LIMIT / 2, LIMIT);
	assert_int_equal(conserve_book(g->nodes[2].c)->identity.low, 1);
	assert_int_equal(conserve_book(g->nodes[0].c)->links[0].foreign, 0);
	group_free(g);
}

/* Old statements, however many, do not keep a neighbour alive that is dead. */
static void test_kept_alive(void **state)
{
	struct tape *tape = test_calloc(1, sizeof(*tape));
	struct group *g = group_started(2, 1, 0);
	const struct book *book = conserve_book(g->nodes[0].c);

	(void)state;
	want_limit_at(g, 0, 0);
	for (unsigned i = 0; i < 20; i++)
		step_recorded(g, tape);
	assert_true(book_alive(book, 0, g->now));
	for (uint64_t end = g->now + 2 * LEASE; g->now < end; g->now += TICK)
		for (unsigned i = 0; i < tape->n; i++)
			if (tape->at[i].to == 0)
				(void)conserve_hear(g->nodes[0].c, 1, g->now, tape->at[i].bytes,
					tape->at[i].len);
	assert_false(book_alive(book, 0, g->now));
	group_free(g);
	test_free(tape);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_shares),
		cmocka_unit_test(test_params),
		cmocka_unit_test(test_mesh),
		cmocka_unit_test(test_mesh_parts),
		cmocka_unit_test(test_mesh_exact),
		cmocka_unit_test(test_grain),
		cmocka_unit_test(test_sparse),
		cmocka_unit_test(test_indicator),
		cmocka_unit_test(test_another_indicator),
		cmocka_unit_test(test_committing),
		cmocka_unit_test(test_rounds),
		cmocka_unit_test(test_update_in_a_round),
		cmocka_unit_test(test_disk),
		cmocka_unit_test(test_friend),
		cmocka_unit_test(test_promise_moves),
		cmocka_unit_test(test_promise_is_made_anew),
		cmocka_unit_test(test_promise_makes_way_for_a_little),
		cmocka_unit_test(test_promise_in_the_way),
		cmocka_unit_test(test_heir),
		cmocka_unit_test(test_restart),
		cmocka_unit_test(test_other_edges),
		cmocka_unit_test(test_limits),
		cmocka_unit_test(test_debts_of_neighbours),
		cmocka_unit_test(test_debts_in_a_mesh),
		cmocka_unit_test(test_asks_paid),
		cmocka_unit_test(test_debt_beyond_what_is_free),
		cmocka_unit_test(test_least_debt),
		cmocka_unit_test(test_debts_far_away),
		cmocka_unit_test(test_asks_end),
		cmocka_unit_test(test_debt_is_divided),
		cmocka_unit_test(test_other_lease),
		cmocka_unit_test(test_other_limit),
		cmocka_unit_test(test_raise_waits_for_the_dead),
		cmocka_unit_test(test_roster_without_the_dead),
		cmocka_unit_test(test_other_limit_from_the_first),
		cmocka_unit_test(test_other_burst),
		cmocka_unit_test(test_other_terms),
		cmocka_unit_test(test_gone_keeps_nothing),
		cmocka_unit_test(test_gone),
		cmocka_unit_test(test_alone),
		cmocka_unit_test(test_back_from_nothing),
		cmocka_unit_test(test_views),
		cmocka_unit_test(test_news_and_counts),
		cmocka_unit_test(test_update_refused),
		cmocka_unit_test(test_many),
		cmocka_unit_test(test_recovering_again),
		cmocka_unit_test(test_crowd),
		cmocka_unit_test(test_news_first),
		cmocka_unit_test(test_rest),
		cmocka_unit_test(test_bad_messages),
		cmocka_unit_test(test_bursts),
		cmocka_unit_test(test_former_life),
		cmocka_unit_test(test_left_behind),
		cmocka_unit_test(test_learnt_identity),
		cmocka_unit_test(test_recovering_without_identity),
		cmocka_unit_test(test_kept_alive),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
