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

#include "conserve/conserve.h"

#define N_MAX    24
#define POLICIES 40
#define MS       UINT64_C(1000000)
#define TICK     (100 * MS)
#define LEASE    (2000 * MS)
#define LIMIT    UINT64_C(1000003)
#define ROOM     600
#define RECORD   2048

/* Statements to one neighbour: eight messages of them. */
#define TOLD_A_TICK (8 * ((ROOM - 1) / CONSERVE_ENTRY))

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
		g->policies[0].limit += 2; /* one is always uncommitted */
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

/* One that is gone gives what it has, and what it has given is not made again when it returns. */
static void test_gone(void **state)
{
	struct group *g = group_started(3, 2, 0);
	struct conserve_policy other = {.id = 7, .limit = 500};

	(void)state;
	want_limit_at(g, 0, 1);
	step_conserve_times(g, 5);
	assert_int_equal(conserve_update(g->nodes[0].c, &other, 1, g->now), 0);
	assert_int_equal(conserve_limit(g->nodes[0].c, 0, g->now, NULL), 167);
	assert_int_equal(conserve_update(g->nodes[0].c, g->policies, 2, g->now), 0);
	step_conserve_times(g, 5);
	assert_int_equal(sum_usable(g, 0), LIMIT);
	assert_int_equal(sum_usable(g, 1), LIMIT);
	assert_int_equal(conserve_update(g->nodes[0].c, &g->policies[1], 1, g->now), 0);
	want_limit_at(g, 0, 1);
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
	uint8_t buf[ROOM] = {CONSERVE_MESSAGE};

	(void)state;
	assert_int_equal(conserve_hear(g->nodes[0].c, 1, g->now, buf, 0), -EBADMSG);
	assert_int_equal(conserve_hear(g->nodes[0].c, 1, g->now, buf, 2), -EBADMSG);
	assert_int_equal(conserve_hear(g->nodes[0].c, 0, g->now, buf, 1), -ENOENT);
	assert_int_equal(conserve_hear(g->nodes[0].c, 1, g->now, buf, 1), 0);
	assert_int_equal(conserve_hear(g->nodes[0].c, 1, g->now, buf, 1 + CONSERVE_ENTRY), 0);
	assert_int_equal(conserve_counters(g->nodes[0].c)->unknown, 1);
	buf[0] = CONSERVE_MESSAGE + 1;
	assert_int_equal(conserve_hear(g->nodes[0].c, 1, g->now, buf, 1), -EBADMSG);
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_shares),
		cmocka_unit_test(test_mesh),
		cmocka_unit_test(test_mesh_parts),
		cmocka_unit_test(test_sparse),
		cmocka_unit_test(test_indicator),
		cmocka_unit_test(test_committing),
		cmocka_unit_test(test_rounds),
		cmocka_unit_test(test_update_in_a_round),
		cmocka_unit_test(test_disk),
		cmocka_unit_test(test_friend),
		cmocka_unit_test(test_promise_moves),
		cmocka_unit_test(test_restart),
		cmocka_unit_test(test_other_edges),
		cmocka_unit_test(test_limits),
		cmocka_unit_test(test_gone),
		cmocka_unit_test(test_update_refused),
		cmocka_unit_test(test_many),
		cmocka_unit_test(test_recovering_again),
		cmocka_unit_test(test_crowd),
		cmocka_unit_test(test_news_first),
		cmocka_unit_test(test_rest),
		cmocka_unit_test(test_bad_messages),
		cmocka_unit_test(test_bursts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
