/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * From a limiter's view to what workers read.
 */
#include "check.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include "allocate/allocate.h"
#include "flow/new_flow.h"
#include "police/extra.h"
#include "police/profile.h"
#include "source/source_table.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))
#define GHZ      UINT64_C(1000000000)
#define SECOND   GHZ

static struct policy policy_of(enum meter_kind meter, enum counting count, bool per_source)
{
	return (struct policy){
		.limit_bps = 8000000,
		.burst_bytes = 100000,
		.count = count,
		.allocator = allocator_find("central"),
		.meter = meter,
		.window_ns = SECOND,
		.per_v4 = per_source ? 32 : 0,
		.per_v6 = per_source ? 128 : 0,
		.sources = 1024,
		.mark = MARK_ECN,
	};
}

static const struct limiter_view whole = {
	.limit = 1000000, .local_limit = 1000000, .local_burst = 100000, .demand = 1};

/* What a worker's part comes to, in the meter's own words. */
static void test_parts(void **state)
{
	static const struct {
		const char *name;
		enum meter_kind meter;
		enum counting count;
		bool per_source;
		double local_limit, drain;
		uint64_t local_burst;
		double drop, share;
		struct meter_params want;
	} rows[] = {
		{"whole", METER_TOKEN_BUCKET, COUNT_BYTES, false, 1e6, 0, 100000, 0, 1,
			{METER_TOKEN_BUCKET, 8000000, 0, 100000, 0, 0}},
		{"a quarter", METER_TOKEN_BUCKET, COUNT_BYTES, false, 1e6, 0, 100000, 0, 0.25,
			{METER_TOKEN_BUCKET, 2000000, 0, 25000, 0, 0}},
		{"two frames", METER_TOKEN_BUCKET, COUNT_BYTES, false, 1e6, 0, 100000, 0, 0.001,
			{METER_TOKEN_BUCKET, 8000, 0, 3028, 0, 0}},
		{"less than two frames", METER_TOKEN_BUCKET, COUNT_BYTES, false, 1e6, 0, 2000, 0,
			0.5, {METER_TOKEN_BUCKET, 4000000, 0, 2000, 0, 0}},
		{"packets", METER_TOKEN_BUCKET, COUNT_PACKETS, false, 1000, 0, 100, 0, 0.25,
			{METER_TOKEN_BUCKET, 2000, 0, 25, 0, 0}},
		{"two packets", METER_TOKEN_BUCKET, COUNT_PACKETS, false, 1000, 0, 100, 0, 0.01,
			{METER_TOKEN_BUCKET, 80, 0, 2, 0, 0}},
		{"a flow", METER_TOKEN_BUCKET, COUNT_FLOWS, false, 1000, 0, 100, 0, 0.001,
			{METER_TOKEN_BUCKET, 8, 0, 1, 0, 0}},
		{"drained", METER_TOKEN_BUCKET, COUNT_BYTES, false, 0, 5e5, 100000, 0, 0.5,
			{METER_TOKEN_BUCKET, 0, 2000000, 50000, 0, 0}},
		{"gcra", METER_GCRA, COUNT_BYTES, false, 1e6, 0, 100000, 0, 0.25,
			{METER_GCRA, 2000000, 0, 25000, 0, 0}},
		{"window", METER_FIXED_WINDOW, COUNT_BYTES, false, 1e6, 0, 100000, 0, 0.25,
			{METER_FIXED_WINDOW, 2000000, 0, 0, SECOND, 0}},
		{"hybrid", METER_HYBRID, COUNT_PACKETS, false, 1000, 0, 100, 0, 0.25,
			{METER_HYBRID, 2000, 0, 0, SECOND, 0}},
		{"dropped at random", METER_RANDOM_DROP, COUNT_BYTES, false, 1e6, 0, 100000, 0.375,
			0.25, {METER_RANDOM_DROP, 0, 0, 0, 0, 0.375}},
		{"a bucket for each source", METER_TOKEN_BUCKET, COUNT_BYTES, true, 1e6, 0, 100000,
			0, 0.25, {METER_GCRA, 8000000, 0, 100000, 0, 0}},
		{"gcra for each source", METER_GCRA, COUNT_PACKETS, true, 1000, 0, 100, 0, 0.01,
			{METER_GCRA, 8000, 0, 100, 0, 0}},
		{"a window for each source", METER_FIXED_WINDOW, COUNT_BYTES, true, 1e6, 0, 100000,
			0, 0.25, {METER_FIXED_WINDOW, 8000000, 0, 0, SECOND, 0}},
	};

	(void)state;
	for (unsigned i = 0; i < COUNT(rows); i++) {
		struct policy policy = policy_of(rows[i].meter, rows[i].count, rows[i].per_source);
		struct limiter_view view = {
			.limit = 1e6,
			.local_limit = rows[i].local_limit,
			.drain = rows[i].drain,
			.local_burst = rows[i].local_burst,
			.drop = rows[i].drop,
		};
		struct limit_profile profile;
		union meter_profile want;

		if (limit_profile_init(&profile, &policy, &view, rows[i].share, GHZ))
			fail_msg("%s: out of range", rows[i].name);
		assert_int_equal(meter_profile_init(&want, &rows[i].want, GHZ), 0);
		if (profile.kind != rows[i].want.kind ||
			!meter_profile_equal(profile.kind, &profile.meter, &want))
			fail_msg("%s: not as expected", rows[i].name);
	}
}

static void test_what_is_configured(void **state)
{
	struct policy policy = policy_of(METER_TOKEN_BUCKET, COUNT_PACKETS, true);
	struct limit_profile profile;

	(void)state;
	policy.action = ACTION_MARK;
	policy.mark = 46;
	policy.per_v4 = 24;
	policy.per_v6 = 64;
	assert_int_equal(limit_profile_init(&profile, &policy, &whole, 1, GHZ), 0);
	assert_int_equal(profile.count, COUNT_PACKETS);
	assert_int_equal(profile.action, ACTION_MARK);
	assert_int_equal(profile.mark, 46);
	assert_int_equal(profile.per_v4, 24);
	assert_int_equal(profile.per_v6, 64);
	assert_int_equal(profile.sample_period, 0);
	assert_false(profile.tcp_only || profile.plain);

	policy = policy_of(METER_TOKEN_BUCKET, COUNT_BYTES, false);
	policy.allocator = allocator_find("fps");
	policy.weigh_tcp_only = true;
	policy.accounting = ACCOUNTING_L3;
	assert_int_equal(limit_profile_init(&profile, &policy, &whole, 1, GHZ), 0);
	assert_int_equal(profile.sample_period, 1);
	assert_int_equal(profile.mark, MARK_ECN);
	assert_int_equal(profile.extra, 0);
	assert_true(profile.tcp_only && profile.plain && profile.without_l2);
	policy.accounting = ACCOUNTING_WIRE;
	assert_int_equal(limit_profile_init(&profile, &policy, &whole, 1, GHZ), 0);
	assert_int_equal(profile.extra, 24);
	assert_false(profile.without_l2);
}

static void test_out_of_range(void **state)
{
	struct policy policy = policy_of(METER_TOKEN_BUCKET, COUNT_BYTES, false);
	struct limit_profile profile;

	(void)state;
	assert_int_equal(limit_profile_init(&profile, &policy, &whole, 1, 0), -ERANGE);
	assert_int_equal(limit_profile_init(&profile, &policy, &whole, 1, 1000), -ERANGE);
}

static void test_burst_floor(void **state)
{
	struct policy policy = policy_of(METER_TOKEN_BUCKET, COUNT_BYTES, false);

	(void)state;
	assert_int_equal(limit_profile_policy(&policy).burst_floor, 0); /* the brain's own */
	policy.count = COUNT_PACKETS;
	assert_int_equal(limit_profile_policy(&policy).burst_floor, 6);
	policy.count = COUNT_FLOWS;
	assert_int_equal(limit_profile_policy(&policy).burst_floor, 1);
}

/* The same limit is the same profile, to the bit; another one knows what it replaced. */
static void test_succession(void **state)
{
	(void)state;
	for (unsigned kind = 0; kind < METER_KINDS; kind++) {
		struct policy policy = policy_of(kind, COUNT_BYTES, false);
		struct limiter_view view = whole;
		struct limit_profile first, second, third;

		policy.allocator = allocator_find("fps");
		assert_int_equal(limit_profile_init(&first, &policy, &view, 1, GHZ), 0);
		assert_int_equal(limit_profile_init(&second, &policy, &view, 0.5, GHZ), 0);
		if (kind != METER_RANDOM_DROP) {
			assert_true(limit_profile_succeed(&second, &first, 1000));
			assert_false(meter_profile_equal(kind, &second.meter, &first.meter));
		}
		assert_int_equal(limit_profile_init(&third, &policy, &view, 0.5, GHZ), 0);
		assert_false(limit_profile_succeed(&third, &second, 2000));
		assert_memory_equal(&third, &second, sizeof(third));
		/* How often to sample is part of it. */
		limit_profile_sample(&third, &(struct sampling){.period = 8});
		assert_int_equal(third.sample_period, 8);
		assert_true(limit_profile_succeed(&third, &second, 3000));
		assert_int_equal(third.sample_period, 8);
		view.drop = 0.5;
		assert_int_equal(limit_profile_init(&third, &policy, &view, 0.5, GHZ), 0);
		assert_int_equal(
			limit_profile_succeed(&third, &second, 4000), kind == METER_RANDOM_DROP);
	}
}

/* A policy that is not sampled stays so. */
static void test_no_samples(void **state)
{
	struct policy policy = policy_of(METER_TOKEN_BUCKET, COUNT_BYTES, false);
	struct limit_profile profile;

	(void)state;
	assert_int_equal(limit_profile_init(&profile, &policy, &whole, 1, GHZ), 0);
	limit_profile_sample(&profile, &(struct sampling){.period = 8});
	assert_int_equal(profile.sample_period, 0);
}

/* A bucket that was quiet while the limit was low has not saved up for the raise. */
static void test_raise_is_not_for_the_past(void **state)
{
	struct policy policy = policy_of(METER_TOKEN_BUCKET, COUNT_BYTES, false);
	struct limiter_view view = {.local_limit = 1000, .local_burst = 100000};
	struct limit_profile slow, fast;
	struct policy_state meter;

	(void)state;
	assert_int_equal(limit_profile_init(&slow, &policy, &view, 1, GHZ), 0);
	view.local_limit = 1000000;
	assert_int_equal(limit_profile_init(&fast, &policy, &view, 1, GHZ), 0);
	policy_state_init(&meter, &slow, 0, 0);
	assert_int_equal(police_charge_plain(&meter, &slow, 100000, 0), VERDICT_PASS);
	assert_true(limit_profile_succeed(&fast, &slow, SECOND));
	assert_int_equal(police_charge_plain(&meter, &fast, 1001, SECOND), VERDICT_DROP);
	assert_int_equal(police_charge_plain(&meter, &fast, 999, SECOND), VERDICT_PASS);
}

static void test_sampling(void **state)
{
	static const struct {
		uint64_t per_s;
		uint16_t before, after;
	} rows[] = {
		{0, 1, 1},
		{2000, 1, 1},
		{2001, 1, 2},
		{2001, 2, 2},
		{4001, 2, 4},
		{1334, 2, 2}, /* 667 samples a second: a third */
		{1332, 2, 1},
		{0, 1 << 15, 1 << 14},
		{UINT64_C(1) << 40, 1 << 14, 1 << 15},
		{UINT64_C(1) << 40, 1 << 15, 1 << 15},
	};
	struct sampling sampling;

	(void)state;
	sampling_init(&sampling);
	assert_int_equal(sampling.period, 1);
	for (unsigned i = 0; i < COUNT(rows); i++) {
		sampling = (struct sampling){.packets = 77, .period = rows[i].before};
		sampling_adapt(&sampling, 77 + rows[i].per_s / 2, 0.5);
		if (sampling.period != rows[i].after && rows[i].per_s % 2 == 0)
			fail_msg("row %u: %u", i, sampling.period);
		sampling = (struct sampling){.packets = 77, .period = rows[i].before};
		sampling_adapt(&sampling, 77 + 2 * rows[i].per_s, 2);
		if (sampling.period != rows[i].after)
			fail_msg("row %u: %u", i, sampling.period);
		assert_int_equal(sampling.packets, 77 + 2 * rows[i].per_s);
	}
}

/* Only those that need memory get any, and it is enough: AddressSanitizer watches. */
static void test_extra(void **state)
{
	static const struct {
		enum counting count;
		bool per_source, sources, flows;
	} rows[] = {
		{COUNT_BYTES, false, false, false},
		{COUNT_PACKETS, false, false, false},
		{COUNT_BYTES, true, true, false},
		{COUNT_FLOWS, false, false, true},
		{COUNT_FLOWS, true, true, true},
	};

	(void)state;
	for (unsigned i = 0; i < COUNT(rows); i++) {
		struct policy policy = policy_of(
			METER_TOKEN_BUCKET, rows[i].count, rows[i].per_source);
		size_t bytes = police_extra_bytes(&policy);
		void *memory = bytes ? aligned_alloc(CACHE_LINE, bytes) : NULL;
		struct policy_extra extra;

		assert_int_equal(bytes > 0, rows[i].sources || rows[i].flows);
		police_extra_init(&extra, memory, &policy, 1, GHZ);
		assert_int_equal(extra.sources != NULL, rows[i].sources);
		assert_int_equal(extra.flows != NULL, rows[i].flows);
		assert_int_equal(extra.over_packets + extra.over_bytes, 0);
		if (extra.sources && extra.flows) /* one behind the other */
			assert_true(
				(uintptr_t)extra.flows >=
				(uintptr_t)memory + source_table_bytes(METER_GCRA, policy.sources));
		if (extra.flows) {
			for (uint32_t hash = 0; hash < 3 * POLICE_FLOWS; hash++) {
				assert_false(new_flows_known(extra.flows, hash, SECOND));
				new_flows_remember(extra.flows, hash, SECOND);
				assert_true(new_flows_known(extra.flows, hash, SECOND));
			}
		}
		free(memory);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_parts),
		cmocka_unit_test(test_what_is_configured),
		cmocka_unit_test(test_out_of_range),
		cmocka_unit_test(test_burst_floor),
		cmocka_unit_test(test_succession),
		cmocka_unit_test(test_no_samples),
		cmocka_unit_test(test_raise_is_not_for_the_past),
		cmocka_unit_test(test_sampling),
		cmocka_unit_test(test_extra),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
