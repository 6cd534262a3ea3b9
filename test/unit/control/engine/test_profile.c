/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The profiles of workers, computed from a limiter's view.
 */
#include "check.h"

#include "allocate/allocate.h"
#include "base/prng.h"
#include "flow/new_flow.h"
#include "police/charge.h"
#include "police/extended.h"
#include "engine/profile.h"
#include "policy/names.h"
#include "policy/kind.h"
#include "policy/period.h"
#include "source/source_table.h"
#include "datapath/meter/meter_checks.h"

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

static const struct sampling every = {0}; /* packet */

static int make_test_profile(struct limit_profile *profile, const struct policy *policy,
	const struct limiter_view *view, double share, uint64_t hz)
{
	return limit_profile_init(profile, policy, 5, view, &every, share, hz);
}

static const struct limiter_view whole = {
	.limit = 1000000, .local_limit = 1000000, .local_burst = 100000, .demand = 1};

/* A worker's part, in the parameters of each meter. */
TEST(test_parts)
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
			{METER_TOKEN_BUCKET, 8000000, 0, 100000, 0, 0, 0, 0}},
		{"a quarter", METER_TOKEN_BUCKET, COUNT_BYTES, false, 1e6, 0, 100000, 0, 0.25,
			{METER_TOKEN_BUCKET, 2000000, 0, 25000, 0, 0, 0, 0}},
		{"two frames", METER_TOKEN_BUCKET, COUNT_BYTES, false, 1e6, 0, 100000, 0, 0.001,
			{METER_TOKEN_BUCKET, 8000, 0, 3028, 0, 0, 0, 0}},
		{"less than two frames", METER_TOKEN_BUCKET, COUNT_BYTES, false, 1e6, 0, 2000, 0,
			0.5, {METER_TOKEN_BUCKET, 4000000, 0, 2000, 0, 0, 0, 0}},
		{"packets", METER_TOKEN_BUCKET, COUNT_PACKETS, false, 1000, 0, 100, 0, 0.25,
			{METER_TOKEN_BUCKET, 2000, 0, 25, 0, 0, 0, 0}},
		{"two packets", METER_TOKEN_BUCKET, COUNT_PACKETS, false, 1000, 0, 100, 0, 0.01,
			{METER_TOKEN_BUCKET, 80, 0, 2, 0, 0, 0, 0}},
		{"a flow", METER_TOKEN_BUCKET, COUNT_FLOWS, false, 1000, 0, 100, 0, 0.001,
			{METER_TOKEN_BUCKET, 8, 0, 1, 0, 0, 0, 0}},
		{"drained", METER_TOKEN_BUCKET, COUNT_BYTES, false, 0, 5e5, 100000, 0, 0.5,
			{METER_TOKEN_BUCKET, 0, 2000000, 50000, 0, 0, 0, 0}},
		{"gcra", METER_GCRA, COUNT_BYTES, false, 1e6, 0, 100000, 0, 0.25,
			{METER_GCRA, 2000000, 0, 25000, 0, 0, 0, 0}},
		{"window", METER_FIXED_WINDOW, COUNT_BYTES, false, 1e6, 0, 100000, 0, 0.25,
			{METER_FIXED_WINDOW, 2000000, 0, 0, SECOND, 0, 0, 0}},
		{"hybrid", METER_HYBRID, COUNT_PACKETS, false, 1000, 0, 100, 0, 0.25,
			{METER_HYBRID, 2000, 0, 0, SECOND, 0, 0, 0}},
		{"dropped at random", METER_RANDOM_DROP, COUNT_BYTES, false, 1e6, 0, 100000, 0.375,
			0.25, {METER_RANDOM_DROP, 0, 0, 0, 0, 0.375, 0, 0}},
		{"a bucket for each source", METER_TOKEN_BUCKET, COUNT_BYTES, true, 1e6, 0, 100000,
			0, 0.25, {METER_GCRA, 8000000, 0, 100000, 0, 0, 0, 0}},
		{"gcra for each source", METER_GCRA, COUNT_PACKETS, true, 1000, 0, 100, 0, 0.01,
			{METER_GCRA, 8000, 0, 100, 0, 0, 0, 0}},
		{"a window for each source", METER_FIXED_WINDOW, COUNT_BYTES, true, 1e6, 0, 100000,
			0, 0.25, {METER_FIXED_WINDOW, 8000000, 0, 0, SECOND, 0, 0, 0}},
	};

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

		if (make_test_profile(&profile, &policy, &view, rows[i].share, GHZ))
			fail_msg("%s: out of range", rows[i].name);
		assert_int_equal(meter_profile_init(&want, &rows[i].want, GHZ), 0);
		assert_int_equal(profile.policy, 5);
		if (profile.kind != rows[i].want.kind ||
			!meter_profile_equal(profile.kind, &profile.meter, &want))
			fail_msg("%s: not as expected", rows[i].name);
	}
}

/*
 * A worker's part of the second bucket: its rate in proportion to the limit, its burst to the
 * burst, unless the limit has changed. A peak is at least the rate below it.
 */
TEST(test_second_bucket)
{
	static const struct {
		enum meter_kind meter;
		uint64_t second_bps, second_burst;
		uint32_t limit_s;
		double limit;                  /* limit of the view; half a megabyte is local */
		uint64_t want_bps, want_burst; /* for a quarter of the local part */
	} rows[] = {
		{METER_TRTCM, 16000000, 200000, 0, 1e6, 2000000, 20000},
		{METER_TRTCM, 6000000, 80000, 0, 1e6, 1000000, 10000},
		{METER_TRTCM_4115, 6000000, 80000, 0, 1e6, 750000, 8000},
		{METER_TRTCM_4115, 6000000, 80000, 1, 1e6, 750000, 8000},
		{METER_TRTCM_4115, 6000000, 80000, 60, 1e6, 12500, 8000},
		{METER_TRTCM_4115, 6000000, 80000, 0, 2e6, 375000, 5000},
		{METER_TRTCM_4115, 6000000, 80000, 0, 0, 750000, 8000},
		/* Two frames pass, and not more than the burst. */
		{METER_TRTCM_4115, 6000000, 4000, 0, 1e6, 750000, 3028},
		{METER_TRTCM_4115, 6000000, 2000, 0, 1e6, 750000, 2000},
		{METER_SRTCM, 0, 80000, 0, 1e6, 0, 8000},
	};

	for (unsigned i = 0; i < COUNT(rows); i++) {
		struct policy policy = policy_of(rows[i].meter, COUNT_BYTES, false);
		const struct limiter_view view = {
			.limit = rows[i].limit, .local_limit = 5e5, .local_burst = 40000};
		struct meter_params params = {
			.kind = rows[i].meter, .rate_bps = 1000000, .burst = 10000};
		struct limit_profile profile;
		union meter_profile want;

		policy.colours.second = (struct limit_terms){.limit_bps = rows[i].second_bps,
			.burst_bytes = rows[i].second_burst,
			.limit_s = rows[i].limit_s};
		assert_int_equal(make_test_profile(&profile, &policy, &view, 0.25, GHZ), 0);
		assert_int_equal(meter_profile_init(&want, &params, GHZ), 0);
		params.rate_bps = rows[i].want_bps;
		params.burst = rows[i].want_burst;
		assert_int_equal(colour_second_set(&want.trtcm, &params, GHZ), 0);
		if (!meter_profile_equal(profile.kind, &profile.meter, &want))
			fail_msg("row %u: not as expected", i);
	}
}

/* The counted unit and the unit of time in the limiter's policy. */
TEST(test_units)
{
	struct policy policy = policy_of(METER_TOKEN_BUCKET, COUNT_BYTES, false);

	assert_int_equal(limit_profile_policy(&policy, 0).packet, 0);
	policy.count = COUNT_PACKETS;
	policy.limit_s = 60;
	assert_int_equal(limit_profile_policy(&policy, 0).packet, 1);
	assert_int_equal(limit_profile_policy(&policy, 0).limit_s, 60);
	policy.count = COUNT_FLOWS;
	assert_int_equal(limit_profile_policy(&policy, 0).packet, 1);
}

/* Settings of a policy state that no limit changes. */
TEST(test_what_is_configured)
{
	struct policy policy = policy_of(METER_TOKEN_BUCKET, COUNT_PACKETS, true);
	const struct policy_start start = {.hz = GHZ};
	struct limit_profile profile;
	struct policy_state line;

	policy.action = ACTION_MARK;
	policy.mark = 46;
	policy.per_v4 = 24;
	policy.per_v6 = 64;
	assert_int_equal(make_test_profile(&profile, &policy, &whole, 1, GHZ), 0);
	policy_state_init(&line, aligned_alloc(CACHE_LINE, policy_extended_bytes(&policy)), &policy,
		&profile, &start);
	assert_int_equal(police_flags(&line), POLICE_SOURCED);
	assert_int_equal(line.other->count, COUNT_PACKETS);
	assert_int_equal(line.other->action, ACTION_MARK);
	assert_int_equal(police_mark(&line), 46);
	assert_int_equal(line.other->per_v4, 24);
	assert_int_equal(line.other->per_v6, 64);
	free(line.other);

	policy = policy_of(METER_TOKEN_BUCKET, COUNT_BYTES, false);
	policy.allocator = allocator_find("fps");
	policy.weigh_tcp_only = true;
	policy.accounting = ACCOUNTING_L3;
	assert_int_equal(make_test_profile(&profile, &policy, &whole, 1, GHZ), 0);
	assert_int_equal(policy_extended_bytes(&policy), 0);
	policy_state_init(&line, NULL, &policy, &profile, &start);
	assert_int_equal(police_flags(&line), POLICE_SIMPLE | POLICE_TCP_ONLY);
	assert_int_equal(police_bytes(&line, 18, 118), 100);
	assert_null(police_sources(&line));
	assert_int_equal(police_over_packets(&line) + police_over_bytes(&line), 0);
	policy.accounting = ACCOUNTING_WIRE;
	policy_state_init(&line, NULL, &policy, &profile, &start);
	assert_int_equal(police_bytes(&line, 18, 118), 142);
}

TEST(test_out_of_range)
{
	struct policy policy = policy_of(METER_TOKEN_BUCKET, COUNT_BYTES, false);
	struct limit_profile profile;

	assert_int_equal(make_test_profile(&profile, &policy, &whole, 1, 0), -ERANGE);
	assert_int_equal(make_test_profile(&profile, &policy, &whole, 1, 1000), -ERANGE);
}

/* The guarantee in the limiter's policy. */
TEST(test_guarantees)
{
	struct policy quota = policy_of(METER_CREDIT, COUNT_BYTES, false), hard, soft;
	struct limiter_policy limiter;

	soft = hard = quota;
	soft.allocator = allocator_find("fps");
	soft.meter = METER_TOKEN_BUCKET;
	limiter = limit_profile_policy(&soft, 86400);
	assert_int_equal(limiter.guarantee, LIMITER_SOFT);
	assert_int_equal(limiter.period, 0);
	assert_int_equal(limiter.id, policy_key(&soft).id);

	hard = soft;
	hard.allocator = allocator_find("gdrl");
	hard.guarantee = GUARANTEE_HARD;
	hard.indicator = gdrl_indicator_find("loss");
	hard.eta = 0.25;
	limiter = limit_profile_policy(&hard, 86400);
	assert_int_equal(limiter.guarantee, LIMITER_HARD);
	assert_ptr_equal(limiter.indicator, hard.indicator);
	assert_true(limiter.eta == 0.25);

	quota.allocator = allocator_find("quota");
	quota.total = 5000;
	quota.chunk = 64;
	quota.drawn = true;
	quota.period = PERIOD_FIXED;
	quota.period_ns = UINT64_C(86400000000000);
	limiter = limit_profile_policy(&quota, 86399);
	assert_int_equal(limiter.guarantee, LIMITER_SOFT);
	assert_int_equal(limiter.period, 1);
	assert_int_equal(limit_profile_policy(&quota, 86400).period, 2);
	assert_int_equal(limiter.total, 5000);
	assert_int_equal(limiter.chunk, 64);
	assert_true(limiter.drawn);
	assert_int_equal(limiter.id, policy_key(&quota).id);
	assert_int_not_equal(limiter.id, limit_profile_policy(&soft, 0).id);
}

/* Parts of hard limits add up, however small they are; all are token buckets. */
TEST(test_hard_parts)
{
	static const enum counting counts[] = {COUNT_BYTES, COUNT_PACKETS, COUNT_FLOWS};
	static const enum meter_kind meters[] = {METER_TOKEN_BUCKET, METER_GCRA};

	for (unsigned i = 0; i < COUNT(counts) * COUNT(meters); i++) {
		struct policy policy = policy_of(
			meters[i % COUNT(meters)], counts[i / COUNT(meters)], false);
		struct limit_profile profile;

		policy.guarantee = GUARANTEE_HARD;
		assert_int_equal(policy_meter_kind(&policy), METER_TOKEN_BUCKET);
		assert_int_equal(make_test_profile(&profile, &policy, &whole, 1e-6, GHZ), 0);
		assert_int_equal(profile.kind, METER_TOKEN_BUCKET);
		assert_int_equal(profile.meter.bucket.burst, 0);
		assert_int_equal(policy_is_simple(&policy), policy.count == COUNT_BYTES);
	}
}

TEST(test_burst_floor)
{
	struct policy policy = policy_of(METER_TOKEN_BUCKET, COUNT_BYTES, false);

	assert_int_equal(
		limit_profile_policy(&policy, 0).burst_floor, 0); /* the limiter's default */
	policy.count = COUNT_PACKETS;
	assert_int_equal(limit_profile_policy(&policy, 0).burst_floor, 6);
	policy.count = COUNT_FLOWS;
	assert_int_equal(limit_profile_policy(&policy, 0).burst_floor, 1);
	policy.action = ACTION_SHAPE; /* the same: packets wait for a limited time */
	assert_int_equal(limit_profile_policy(&policy, 0).burst_floor, 1);
	policy.count = COUNT_PACKETS;
	assert_int_equal(limit_profile_policy(&policy, 0).burst_floor, 6);
	policy.count = COUNT_BYTES;
	assert_int_equal(limit_profile_policy(&policy, 0).burst_floor, 0);
}

/* The sample shift applies only to policies that are sampled. */
TEST(test_sample_shift)
{
	static const struct sampling some = {.shift = 3};
	struct policy policy = policy_of(METER_TOKEN_BUCKET, COUNT_BYTES, false);
	struct limit_profile profile;

	assert_int_equal(limit_profile_init(&profile, &policy, 0, &whole, &some, 1, GHZ), 0);
	assert_int_equal(profile.sample_shift, POLICE_UNSAMPLED);
	policy.allocator = allocator_find("fps");
	assert_int_equal(limit_profile_init(&profile, &policy, 0, &whole, &some, 1, GHZ), 0);
	assert_int_equal(profile.sample_shift, 3);
}

/* A changed limit applies to a worker's state from then on, not to the past. */
TEST(test_limit_is_not_for_the_past)
{
	struct policy policy = policy_of(METER_TOKEN_BUCKET, COUNT_BYTES, false);
	struct limiter_view view = {.local_limit = 1000, .local_burst = 100000};
	const struct policy_start start = {.hz = GHZ};

	for (unsigned plain = 0; plain < 2; plain++) {
		struct limit_profile slow, fast;
		struct policy_state line;
		struct packet packet = {0};
		void *memory;

		policy.action = plain ? ACTION_DROP : ACTION_COUNT;
		view.local_limit = 1000;
		assert_int_equal(make_test_profile(&slow, &policy, &view, 1, GHZ), 0);
		view.local_limit = 1000000;
		assert_int_equal(make_test_profile(&fast, &policy, &view, 1, GHZ), 0);
		fast.sample_shift = 9;
		memory = plain ? NULL : aligned_alloc(CACHE_LINE, policy_extended_bytes(&policy));
		policy_state_init(&line, memory, &policy, &slow, &start);
		assert_int_equal(police_is_simple(&line), plain);
		assert_int_equal(police_charge(&line, &packet, NULL, 100000, 0), VERDICT_PASS);
		police_limit(&line, &fast, SECOND);
		assert_int_equal(police_shift(&line), 9);
		assert_int_equal(police_is_simple(&line), plain);
		assert_int_not_equal(
			police_charge(&line, &packet, NULL, 1001, SECOND), VERDICT_PASS);
		assert_int_equal(police_charge(&line, &packet, NULL, 999, SECOND), VERDICT_PASS);
		assert_int_equal(police_charge(&line, &packet, NULL, 999, SECOND + SECOND / 1000),
			VERDICT_PASS);
		free(memory);
	}
}

TEST(test_sampling)
{
	static const struct {
		uint64_t per_s;
		uint8_t before, after;
	} rows[] = {
		{0, 0, 0}, {2000, 0, 0}, {2002, 0, 1}, {2002, 1, 1}, {4002, 1, 2},
		{1334, 1, 1}, /* 667 samples a second: a third */
		{1332, 1, 0}, {0, 15, 0}, {UINT64_C(1) << 40, 14, 15}, {UINT64_C(1) << 40, 15, 15},
		{1000000, 0, 9}, /* immediately, not in steps */
	};

	for (unsigned i = 0; i < COUNT(rows); i++)
		for (unsigned half = 1; half <= 4; half *= 4) {
			struct sampling sampling = {(float)rows[i].per_s, rows[i].before};
			struct sampling_budget budget;

			sampling_budget_init(&budget, 1, 1);
			sampling_adapt(&sampling, &budget, rows[i].per_s * half / 2, half / 2.0);
			if (sampling.shift != rows[i].after)
				fail_msg("row %u: %u", i, sampling.shift);
		}
}

/* A sudden load is followed in its first interval; a load that ends, after a while. */
TEST(test_sampling_follows)
{
	struct sampling sampling = {0};
	struct sampling_budget budget;
	unsigned intervals = 0;

	sampling_budget_init(&budget, 1, 1);
	sampling_adapt(&sampling, &budget, 50000, 0.05);
	assert_int_equal(sampling.shift, 9); /* a million a second gives 1,953 */
	for (; sampling.shift > 0; intervals++)
		sampling_adapt(&sampling, &budget, 50, 0.05);
	assert_in_range(intervals, 20, 200);
	sampling_adapt(&sampling, &budget, 1000, 0); /* without time there is no rate */
	assert_int_equal(sampling.shift, 0);
}

/* Random traffic of a few packets an interval causes no changes. */
TEST(test_sampling_is_steady)
{
	enum { INTERVALS = 4000, SETTLED = 200 };
	struct sampling sampling = {0};
	struct sampling_budget budget;
	const uint64_t seed = 7;
	struct prng prng;
	unsigned changes = 0;

	prng_seed(&prng, seed);
	sampling_budget_init(&budget, 1, SAMPLES_PER_WORKER_S);
	for (unsigned i = 0; i < INTERVALS; i++) {
		uint8_t before = sampling.shift;
		uint64_t packets = 0;

		for (unsigned k = 0; k < 60; k++) /* 120 a second, nearly a Poisson process */
			packets += prng_below(&prng, 10) == 0;
		sampling_adapt(&sampling, &budget, packets, 0.05);
		changes += i >= SETTLED && sampling.shift != before;
	}
	/* 120 / 2^7 is just below the allowance; half of it is acceptable as well. */
	if (sampling.shift < 7 || sampling.shift > 8 || changes > 2)
		fail_msg("seed %u: shift %u, %u changes", (unsigned)seed, sampling.shift, changes);
}

/* The first allowance is small enough for all policies to wake together. */
TEST(test_sampling_begins_low)
{
	static const struct {
		unsigned workers, policies;
		double allowance;
	} rows[] = {{1, 0, SAMPLES_PER_S}, {1, 1, SAMPLES_PER_S},
		{1, SAMPLES_PER_WORKER_S / SAMPLES_PER_S, SAMPLES_PER_S},
		{1, SAMPLES_PER_WORKER_S / 1000, 1000}, {2, SAMPLES_PER_WORKER_S / 1000, 2000},
		{1, SAMPLES_PER_WORKER_S, 1}, {1, 1000000, 0.5}};

	for (unsigned i = 0; i < COUNT(rows); i++) {
		struct sampling_budget budget;

		sampling_budget_init(&budget, rows[i].workers, rows[i].policies);
		if (fabs(budget.allowance - rows[i].allowance) > 1e-9)
			fail_msg("row %u: %f", i, budget.allowance);
	}
}

/* A round ends early when its budget is used up, and the allowance is lower after it. */
TEST(test_sampling_round_is_spent)
{
	struct sampling samplings[100] = {0};
	struct sampling_budget budget;
	unsigned intervals = 0;

	sampling_budget_init(&budget, 1, 1);
	while (!sampling_budget_spent(&budget)) {
		for (unsigned i = 0; i < COUNT(samplings); i++)
			sampling_adapt(&samplings[i], &budget, 1000, 0.05);
		intervals++;
	}
	assert_int_equal(intervals, 6); /* 200,000 a second are wanted, of 50,000 */
	sampling_budget_adapt(&budget, intervals * 0.05);
	assert_false(sampling_budget_spent(&budget));
	assert_true(fabs(budget.allowance - SAMPLES_PER_WORKER_S / 100) < 1);
}

/* Samples a second of all policies, after each has had time to adapt. */
static double samples_of(struct sampling_budget *budget, struct sampling *samplings,
	const uint64_t *per_s, unsigned n)
{
	double sum = 0;

	for (unsigned second = 0; second < 40; second++) {
		sum = 0;
		for (unsigned k = 0; k < 2; k++) /* two intervals a round */
			for (unsigned i = 0; i < n; i++)
				sampling_adapt(&samplings[i], budget, per_s[i] / 2, 0.5);
		for (unsigned i = 0; i < n; i++)
			sum += (double)(per_s[i] >> samplings[i].shift);
		sampling_budget_adapt(budget, 1);
	}
	return sum;
}

/* A few policies have 2,000 each; many share the budget, and quiet ones precede busy ones. */
TEST(test_sampling_budget)
{
	enum { N = 10000 };
	static struct sampling samplings[N];
	static uint64_t per_s[N];
	struct sampling_budget budget;
	double sum;

	sampling_budget_init(&budget, 2, 1);
	for (unsigned i = 0; i < 40; i++)
		per_s[i] = 50000;
	sum = samples_of(&budget, samplings, per_s, 40);
	assert_true(budget.allowance == SAMPLES_PER_S);
	assert_true(sum > 40 * SAMPLES_PER_S / 3.0 && sum <= 40 * SAMPLES_PER_S);

	for (unsigned i = 0; i < N; i++)
		per_s[i] = i % 2 ? 1000 : 4;
	sum = samples_of(&budget, samplings, per_s, N);
	assert_true(sum > 2 * SAMPLES_PER_WORKER_S / 3.0 && sum <= 2 * SAMPLES_PER_WORKER_S);
	assert_int_equal(samplings[0].shift, 0);
	assert_true(samplings[1].shift > 0);

	/* They get it back when the others are gone. */
	for (unsigned i = 1; i < N; i++)
		per_s[i] = 0;
	per_s[1] = 100000;
	sum = samples_of(&budget, samplings, per_s, N);
	assert_true(budget.allowance == SAMPLES_PER_S);
	assert_true(sum > SAMPLES_PER_S / 3.0 && sum <= SAMPLES_PER_S + 4);
}

/* Only allocators that need memory get any, and it is enough: AddressSanitizer checks it. */
TEST(test_other)
{
	static const struct {
		const char *allocator;
		enum counting count;
		bool per_source, plain, sources, flows;
	} rows[] = {
		{"central", COUNT_BYTES, false, true, false, false},
		{"gtb", COUNT_BYTES, false, false, false, false},
		{"central", COUNT_PACKETS, false, false, false, false},
		{"central", COUNT_BYTES, true, false, true, false},
		{"central", COUNT_FLOWS, false, false, false, true},
		{"central", COUNT_FLOWS, true, false, true, true},
	};
	const struct policy_start start = {.hz = GHZ, .secret = 1};

	for (unsigned i = 0; i < COUNT(rows); i++) {
		struct policy policy = policy_of(
			METER_TOKEN_BUCKET, rows[i].count, rows[i].per_source);
		struct limit_profile profile;
		struct policy_state line;
		struct new_flows *flows;
		void *memory;
		size_t bytes;

		policy.allocator = allocator_find(rows[i].allocator);
		bytes = policy_extended_bytes(&policy);
		memory = bytes ? aligned_alloc(CACHE_LINE, bytes) : NULL;
		assert_int_equal(policy_is_simple(&policy), rows[i].plain);
		assert_int_equal(bytes == 0, rows[i].plain);
		assert_int_equal(make_test_profile(&profile, &policy, &whole, 1, GHZ), 0);
		policy_state_init(&line, memory, &policy, &profile, &start);
		assert_int_equal(police_sources(&line) != NULL, rows[i].sources);
		assert_int_equal(police_over_packets(&line) + police_over_bytes(&line), 0);
		policy_state_age(&line, 0, 16);
		flows = rows[i].plain ? NULL : line.other->flows;
		assert_int_equal(flows != NULL, rows[i].flows);
		if (flows && rows[i].sources) /* the flows follow the sources */
			assert_true((uintptr_t)flows >=
				    (uintptr_t)line.other->sources +
					    source_table_bytes(METER_GCRA, policy.sources));
		for (uint32_t hash = 0; flows && hash < 3 * POLICE_FLOWS; hash++) {
			assert_false(new_flows_known(flows, hash, SECOND));
			new_flows_remember(flows, hash, SECOND);
			assert_true(new_flows_known(flows, hash, SECOND));
		}
		free(memory);
	}
}
