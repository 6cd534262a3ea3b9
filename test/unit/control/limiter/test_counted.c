/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Limiters with quotas, and a soft and a hard limit, over a network that a test can cut.
 */
#include "check.h"
#include "scope.h"

#include "flow/flow_sample.h"
#include "limiter/limiter.h"

#define N      4
#define TICK   (50 * MS)
#define STEP   (5 * MS)
#define LIMIT  UINT64_C(8000000) /* bit/s */
#define BURST  UINT64_C(100000)
#define TOTAL  UINT64_C(1000001)
#define BUFFER 1400
#define RECORD 2048

enum { SOFT, PREPAID, HARD, MONTHLY, POLICIES };

struct record {
	enum limiter_record_kind kind;
	uint64_t id;
	size_t len;
	uint8_t at[RECORD];
};

struct group {
	struct limiter *l[N];
	struct roster *roster;
	struct limiter_policy policies[POLICIES];
	uint64_t now;
	uint64_t slots[FLOW_SLOTS];
	struct record records[2 * POLICIES]; /* records of limiter 0 */
	unsigned n_records;
	bool failing; /* the disk of limiter 0 */
	uint8_t said; /* messages of limiter 1 */
};

static void fill_counted_policies(struct limiter_policy policies[POLICIES])
{
	for (unsigned p = 0; p < POLICIES; p++)
		policies[p] = (struct limiter_policy){
			.id = p == MONTHLY ? 2 : 1 + p,
			.allocator = allocator_find(p == SOFT || p == HARD ? "fps" : "quota"),
			.limit_bps = p == PREPAID ? 0 : LIMIT,
			.burst_bytes = BURST,
			.interval_ns = TICK,
			.keep_per_second = 0.1,
			.guarantee = p == HARD ? LIMITER_HARD : LIMITER_SOFT,
			.total = TOTAL,
			.period = p == MONTHLY ? 600 : 0,
			.chunk = 1000,
		};
	policies[MONTHLY].id = 9;
}

static void boot_counted_node(struct group *g, unsigned i)
{
	struct limiter_record records[2 * POLICIES];
	struct limiter_params params = {
		.gossip = {.roster = g->roster,
			.self = i,
			.epoch = 1 + g->now,
			.seed = i,
			.branching = 2,
			.timeout_ns = 500 * MS,
			.datagram_max = BUFFER,
			.estimator = GOSSIP_STATE},
		.policies = g->policies,
		.n_policies = POLICIES,
		.n_workers = 1,
		.skips_idle = true,
		.ledger = {.overlay = {.shape = OVERLAY_RANDOM},
			.records = records,
			.durable = i == 0,
			.epoch = 1 + g->now / STEP,
			.identity = {.low = 1},
			.lease_ns = 2000 * MS,
			.drift_ppm = 100,
			.promise = 50,
			.timeout_ns = 400 * MS},
	};

	for (unsigned k = 0; i == 0 && k < g->n_records; k++)
		records[params.ledger.n_records++] = (struct limiter_record){
			g->records[k].kind, g->records[k].id, g->records[k].at, g->records[k].len};
	assert_int_equal(limiter_create(&params, g->now, &g->l[i]), 0);
}

static struct group *group_new_at(uint64_t now)
{
	struct group *g = test_calloc(1, sizeof(*g));
	uint32_t ids[N] = {11, 7, 13, 5};

	fill_counted_policies(g->policies);
	assert_int_equal(roster_create(ids, N, &g->roster), 0);
	g->now = now;
	for (unsigned i = 0; i < N; i++)
		boot_counted_node(g, i);
	return g;
}

static struct group *group_new(void)
{
	return group_new_at(1000 * TICK);
}

static void group_free(struct group *g)
{
	for (unsigned i = 0; i < N; i++)
		limiter_destroy(g->l[i]);
	roster_destroy(g->roster);
	test_free(g);
}

END_POINTER(group_free, struct group *)

static void measure_counted(void *context, unsigned policy, struct limiter_sample *sample)
{
	struct group *g = context;

	*sample = (struct limiter_sample){.slots = g->slots};
}

static int keep_counted_record(
	void *context, enum limiter_record_kind kind, uint64_t id, const void *record, size_t len)
{
	struct group *g = context;
	unsigned k = 0;

	if (g->failing && kind == LIMITER_UNITS)
		return -ENOSPC;
	while (k < g->n_records && (g->records[k].kind != kind || g->records[k].id != id))
		k++;
	assert_true(k < 2 * POLICIES && len <= RECORD);
	g->n_records = k == g->n_records ? k + 1 : g->n_records;
	g->records[k] = (struct record){.kind = kind, .id = id, .len = len};
	if (len > 0) /* 0: the record ends */
		memcpy(g->records[k].at, record, len);
	return 0;
}

static void save_counted_node(struct group *g, unsigned i)
{
	if (!limiter_uncommitted(g->l[i]))
		return;
	if (limiter_save(g->l[i], i == 0 ? keep_counted_record : NULL, g) == 0)
		limiter_committed(g->l[i], g->now);
}

static void post_counted_node(struct group *g, unsigned i)
{
	uint8_t buf[BUFFER];
	unsigned to;
	size_t len;

	while ((len = limiter_send(g->l[i], buf, &to)) > 0) {
		g->said += i == 1;
		limiter_receive(g->l[to], g->now, buf, len);
	}
}

static void run_counted_group(struct group *g, uint64_t ns)
{
	for (uint64_t end = g->now + ns; g->now < end; g->now += STEP) {
		for (unsigned i = 0; i < N; i++) {
			limiter_tick(g->l[i], g->now, measure_counted, g);
			save_counted_node(g, i);
			post_counted_node(g, i);
			assert_true(limiter_next(g->l[i]) > g->now);
		}
	}
}

static uint64_t take_counted_units(
	struct group *g, unsigned i, unsigned policy, uint64_t most, uint64_t quantum)
{
	uint64_t got = 0;

	for (unsigned vain = 0; got < most && vain < 400; vain++) {
		while (got < most && limiter_spend(g->l[i], policy, quantum, g->now) == 0) {
			got += quantum;
			vain = 0;
		}
		run_counted_group(g, STEP);
	}
	limiter_forgo(g->l[i], policy);
	return got;
}

/* Takes all units up to `most`: first in large steps, then one by one. */
static uint64_t take_all_counted(struct group *g, unsigned i, unsigned policy, uint64_t most)
{
	uint64_t got = take_counted_units(g, i, policy, most / 1000 * 1000, 1000);

	return got + take_counted_units(g, i, policy, most - got, 1);
}

/* Two quotas, by the indices of their policies; one period after the other. */
TEST(test_spend)
{
	ENDED_BY(group_free_at) struct group *g = group_new();

	assert_int_equal(limiter_budget_index(g->l[1], SOFT), LIMITER_ADDED);
	assert_int_equal(limiter_budget_index(g->l[1], HARD), LIMITER_ADDED);
	assert_int_equal(limiter_budget_index(g->l[1], MONTHLY), 1);
	assert_int_equal(limiter_conserve_index(g->l[1], MONTHLY), LIMITER_ADDED);
	run_counted_group(g, 2000 * MS);
	assert_int_equal(take_counted_units(g, 1, PREPAID, TOTAL, 1000), TOTAL / 1000 * 1000);
	assert_int_equal(take_counted_units(g, 1, PREPAID, TOTAL, 1), 1);
	assert_int_equal(take_counted_units(g, 2, MONTHLY, TOTAL, 1000), TOTAL / 1000 * 1000);
	assert_int_equal(limiter_period(g->l[2], MONTHLY, 600, g->now), -EINVAL);
	for (unsigned i = 0; i < N; i++)
		assert_int_equal(limiter_period(g->l[i], MONTHLY, 601, g->now), 0);
	assert_int_equal(take_all_counted(g, 3, MONTHLY, TOTAL), TOTAL);
	limiter_refund(g->l[3], MONTHLY, 10);
	assert_int_equal(take_counted_units(g, 2, MONTHLY, TOTAL, 1), 10);
}

/* The limit for after the quota is limit/N, or 0. */
TEST(test_limit)
{
	ENDED_BY(group_free_at) struct group *g = group_new();
	static const unsigned same[] = {SOFT, PREPAID, HARD, MONTHLY};
	struct limiter_view view;

	run_counted_group(g, 1000 * MS);
	limiter_view(g->l[0], PREPAID, &view);
	assert_true(view.local_limit == 0 && view.local_burst == 0);
	limiter_view(g->l[0], MONTHLY, &view);
	assert_true(view.local_limit == LIMIT / 8.0 / N);
	assert_int_equal(view.local_burst, BURST / N);
	g->policies[PREPAID].limit_bps = LIMIT;
	assert_int_equal(limiter_update(g->l[0], g->policies, POLICIES, same, g->now), 0);
	limiter_view(g->l[0], PREPAID, &view);
	assert_true(view.local_limit == LIMIT / 8.0 / N);
}

/* Silent neighbours are lost, also for policies that no message mentions. */
TEST(test_lost)
{
	ENDED_BY(group_free_at) struct group *g = group_new();
	struct limiter_view view;

	for (unsigned p = 0; p < POLICIES; p++) {
		limiter_view(g->l[0], p, &view);
		assert_int_equal(view.lost, N - 1);
	}
	run_counted_group(g, 1000 * MS);
	for (unsigned p = 0; p < POLICIES; p++) {
		limiter_view(g->l[0], p, &view);
		assert_int_equal(view.lost, 0);
	}
	/* No other limiter sends anything. */
	for (unsigned i = 0; i < 40; i++, g->now += 50 * MS)
		limiter_tick(g->l[0], g->now, measure_counted, g);
	for (unsigned p = 0; p < POLICIES; p++) {
		limiter_view(g->l[0], p, &view);
		assert_int_equal(view.lost, N - 1);
	}
}

/* With a disk, spent units stay spent after a crash, with both kinds of record. */
TEST(test_restart)
{
	ENDED_BY(group_free_at) struct group *g = group_new();
	uint64_t got;

	run_counted_group(g, 1000 * MS);
	got = take_counted_units(g, 0, PREPAID, TOTAL / 2, 100);
	assert_true(got >= TOTAL / 2);
	assert_int_equal(g->n_records, 3);
	limiter_destroy(g->l[0]);
	boot_counted_node(g, 0);
	run_counted_group(g, 1000 * MS);
	got += take_counted_units(g, 0, PREPAID, TOTAL, 1);
	assert_in_range(got, TOTAL - 2 * 1000, TOTAL);
}

/* While a disk fails, no spending that needs it passes; later it does. */
TEST(test_failing_disk)
{
	ENDED_BY(group_free_at) struct group *g = group_new();

	run_counted_group(g, 1000 * MS);
	g->failing = true;
	assert_int_equal(take_counted_units(g, 0, MONTHLY, 2000, 2000), 0);
	assert_true(limiter_uncommitted(g->l[0]));
	assert_int_equal(limiter_save(g->l[0], keep_counted_record, g), -ENOSPC);
	assert_int_equal(limiter_save(g->l[0], NULL, g), 0);
	limiter_save_failed(g->l[0]);
	g->failing = false;
	assert_int_equal(take_counted_units(g, 0, MONTHLY, 2000, 2000), 2000);
}

#define WAITS 1000 /* steps, one of which is the longest of several waits */

/* Counts limiter 1's messages in each step, while it needs units that no limiter has. */
static void want_in_vain(uint64_t began, uint8_t said[WAITS])
{
	ENDED_BY(group_free_at) struct group *g = group_new_at(began);

	run_counted_group(g, 1000 * MS);
	assert_int_equal(take_all_counted(g, 2, PREPAID, TOTAL), TOTAL);
	for (unsigned k = 0; k < WAITS; k++) {
		assert_true(limiter_spend(g->l[1], PREPAID, 1, g->now) < 0);
		g->said = 0;
		run_counted_group(g, STEP);
		said[k] = g->said;
	}
}

/* Limiters that wait for units do not retry together: each start has its own random delays. */
TEST(test_waits_apart)
{
	uint8_t first[WAITS] = {0}, second[WAITS] = {0};

	want_in_vain(1000 * TICK, first);
	want_in_vain(3000 * TICK, second);
	assert_memory_not_equal(first, second, WAITS);
}

/* Another order, another total, and a policy that loses its quota. */
TEST(test_reload)
{
	static const unsigned from[] = {MONTHLY, SOFT, PREPAID, HARD};
	ENDED_BY(group_free_at) struct group *g = group_new();
	struct limiter_policy new[POLICIES];
	struct quota_view view;

	run_counted_group(g, 1000 * MS);
	assert_int_equal(take_counted_units(g, 1, MONTHLY, 500, 500), 500);
	for (unsigned i = 0; i < POLICIES; i++)
		new[i] = g->policies[from[i]];
	new[0].total = 2 * TOTAL;
	new[2].allocator = allocator_find("static");
	assert_int_equal(limiter_update(g->l[1], new, POLICIES, from, g->now), 0);
	assert_int_equal(limiter_budget_index(g->l[1], 0), 0);
	assert_int_equal(limiter_budget_index(g->l[1], 2), LIMITER_ADDED);
	view = budget_view(limiter_budget(g->l[1]), 0, g->now);
	assert_int_equal(view.spent, 500);
	/* The lowest total applies until all limiters have the larger one. */
	assert_in_range(take_counted_units(g, 1, 0, 2 * TOTAL, 1), TOTAL - 500, TOTAL - 499);
	for (unsigned i = 0; i < N; i++)
		if (i != 1)
			assert_int_equal(limiter_update(g->l[i], new, POLICIES, from, g->now), 0);
	run_counted_group(g, 1000 * MS);
	assert_in_range(take_counted_units(g, 1, 0, 2 * TOTAL, 1), TOTAL - 1, TOTAL);
}

/* A full disk that accepts records of rates, which it counts, but none of units. */
static int keep_rates_alone(
	void *context, enum limiter_record_kind kind, uint64_t id, const void *record, size_t len)
{
	unsigned *rates = context;

	(void)id, (void)record, (void)len;
	*rates += kind == LIMITER_RATES;
	return kind == LIMITER_UNITS ? -ENOSPC : 0;
}

/* A turn of all limiters, in which the first saves nothing. */
static void run_counted_others(struct group *g)
{
	for (unsigned i = 0; i < N; i++) {
		limiter_tick(g->l[i], g->now, measure_counted, g);
		if (i > 0)
			save_counted_node(g, i);
		post_counted_node(g, i);
	}
	g->now += STEP;
}

/* Records of rates and of units are saved together, or not at all and then tried again. */
TEST(test_both_or_neither)
{
	ENDED_BY(group_free_at) struct group *g = group_new();
	unsigned rates = 0;

	for (unsigned i = 0; i < 400; i++) {
		limiter_spend(g->l[0], PREPAID, 100, g->now);
		limiter_spend(g->l[0], MONTHLY, 100, g->now);
		run_counted_others(g);
	}
	assert_int_equal(limiter_save(g->l[0], keep_rates_alone, &rates), -ENOSPC);
	assert_true(rates > 0);
	assert_int_equal(limiter_save(g->l[0], NULL, NULL), 0);
	assert_int_equal(limiter_save(g->l[0], NULL, NULL), -EBUSY);
	limiter_committed(g->l[0], g->now);
}
