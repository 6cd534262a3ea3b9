/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Examples of meters: parameters at their limits, and cases that test_meter.c does not model.
 */
#include "check.h"

#include "base/prng.h"
#include "meter/meter.h"
#include "datapath/meter/meter_checks.h"

#define ROWS(table) (COUNT(table))

static union meter_profile profile_of(const struct meter_params *params, uint64_t hz)
{
	union meter_profile profile;

	assert_int_equal(meter_profile_init(&profile, params, hz), 0);
	return profile;
}

/*
 * A limit of this many units per second on a clock of 1 GHz. The burst or quota is that of 100 ms.
 */
static union meter_profile limit_of(enum meter_kind kind, uint64_t units)
{
	struct meter_params params = {
		.kind = kind,
		.rate_bps = 8 * units,
		.burst = units / 10,
		.window_ns = 100 * MS,
		.drop_probability = 0.5,
	};

	return profile_of(&params, GHZ);
}

TEST(test_names)
{
	for (enum meter_kind kind = 0; kind < METER_KINDS; kind++)
		for (enum meter_kind other = 0; other < kind; other++)
			assert_string_not_equal(meter_name(kind), meter_name(other));
	assert_string_equal(meter_name(METER_TOKEN_BUCKET), "token-bucket");
	assert_string_equal(meter_name(METER_GCRA), "gcra");
	assert_string_equal(meter_name(METER_FIXED_WINDOW), "fixed-window");
	assert_string_equal(meter_name(METER_HYBRID), "hybrid");
	assert_string_equal(meter_name(METER_RANDOM_DROP), "random-drop");
	assert_string_equal(meter_name(METER_PHANTOM), "phantom");
	assert_string_equal(meter_name(METER_SRTCM), "srtcm");
	assert_string_equal(meter_name(METER_TRTCM), "trtcm");
	assert_string_equal(meter_name(METER_TRTCM_4115), "trtcm-4115");
	assert_string_equal(meter_name(METER_CREDIT), "credit");
	assert_null(meter_name(METER_KINDS));
}

/*
 * Each kind has exactly one of a burst, a window or a probability. Invalid kinds have no abilities.
 */
TEST(test_abilities)
{
	const unsigned limits[] = {METER_BURST, METER_WINDOW, METER_AT_RANDOM};

	for (enum meter_kind kind = 0; kind < METER_KINDS; kind++) {
		unsigned n = 0;

		for (size_t i = 0; i < ROWS(limits); i++)
			n += meter_can(kind, limits[i]);
		assert_int_equal(n, 1);
	}
	assert_true(meter_can(METER_GCRA, METER_PER_SOURCE));
	assert_false(meter_can(METER_PHANTOM, METER_PER_SOURCE));
	assert_false(meter_can(METER_RANDOM_DROP, METER_HARD));
	assert_true(meter_can(METER_TRTCM, METER_PEAK));
	assert_true(meter_can(METER_SRTCM, METER_SPILLS));
	assert_false(meter_can(METER_TRTCM_4115, METER_SPILLS));
	assert_false(meter_can(METER_TOKEN_BUCKET, METER_COLOURS));
	assert_false(meter_can(METER_KINDS, ~0u));
	assert_false(meter_can(255, ~0u));
}

TEST(test_params_at_their_limits)
{
	static const struct {
		struct meter_params params;
		uint64_t hz;
		int want;
	} cases[] = {
		{{METER_GCRA, 400 * GHZ, 0, 1 << 20, 0, 0, 0, 0}, 390625001, 0},
		{{METER_GCRA, 400 * GHZ, 0, 1 << 20, 0, 0, 0, 0}, 390625000, -ERANGE},
		{{METER_GCRA, 8000, 0, TOKEN_BUCKET_MAX_BURST, 0, 0, 0, 0}, GHZ, 0},
		{{METER_GCRA, 8000, 0, TOKEN_BUCKET_MAX_BURST + 1, 0, 0, 0, 0}, GHZ, -ERANGE},
		{{METER_GCRA, 0, 8000, 1500, 0, 0, 0, 0}, GHZ, 0}, /* only a bucket can drain */
		{{METER_GCRA, 8000, 0, 1500, 0, 0, 0, 0}, 0, -ERANGE},
		{{METER_PHANTOM, 8000, 0, PHANTOM_BURST_MAX, 0, 0, 0, 0}, GHZ, 0},
		{{METER_PHANTOM, 8000, 0, PHANTOM_BURST_MAX + 1, 0, 0, 0, 0}, GHZ, -ERANGE},
		{{METER_TOKEN_BUCKET, 0, 8000, 1500, 0, 0, 0, 0}, GHZ, 0},
		{{METER_TOKEN_BUCKET, 8000, 8000, 1500, 0, 0, 0, 0}, GHZ, -EINVAL},
		{{METER_FIXED_WINDOW, 8000, 0, 0, 0, 0, 0, 0}, GHZ, -EINVAL},
		{{METER_HYBRID, 8000, 0, 0, 0, 0, 0, 0}, GHZ, -EINVAL},
		{{METER_HYBRID, 8000, 0, 0, MS, 0, 0, 0}, 0, -ERANGE},
		{{METER_HYBRID, 400 * GHZ, 0, 0, 86400 * GHZ, 0, 0, 0}, 5 * GHZ, 0},
		{{METER_HYBRID, UINT64_C(1) << 60, 0, 0, MS, 0, 0, 0}, GHZ, -ERANGE},
		{{METER_HYBRID, UINT64_C(1) << 59, 0, 0, GHZ, 0, 0, 0}, GHZ, 0},
		{{METER_HYBRID, UINT64_C(1) << 59, 0, 0, GHZ + 1, 0, 0, 0}, GHZ, -ERANGE},
		{{METER_FIXED_WINDOW, 8, 0, 0, QUOTA_MAX, 0, 0, 0}, GHZ, 0},
		{{METER_FIXED_WINDOW, 8, 0, 0, QUOTA_MAX + 1, 0, 0, 0}, GHZ, -ERANGE},
		{{METER_RANDOM_DROP, 0, 0, 0, 0, 0, 0, 0}, GHZ, 0},
		{{METER_RANDOM_DROP, 0, 0, 0, 0, 1, 0, 0}, GHZ, 0},
		{{METER_RANDOM_DROP, 0, 0, 0, 0, 1.0001, 0, 0}, GHZ, -EINVAL},
		{{METER_RANDOM_DROP, 0, 0, 0, 0, -0.0001, 0, 0}, GHZ, -EINVAL},
		{{METER_RANDOM_DROP, 0, 0, 0, 0, (double)NAN, 0, 0}, GHZ, -EINVAL},
		{{METER_KINDS, 8000, 0, 1500, MS, 0, 0, 0}, GHZ, -EINVAL},
	};

	for (size_t i = 0; i < ROWS(cases); i++) {
		union meter_profile profile;
		int got = meter_profile_init(&profile, &cases[i].params, cases[i].hz);

		if (got != cases[i].want)
			fail_msg("row %zu: %d, expected %d", i, got, cases[i].want);
	}
}

TEST(test_quotas)
{
	static const struct {
		uint64_t bps, window_ns, hz, units, ticks;
	} cases[] = {
		{0, MS, GHZ, 0, MS}, {8, MS, GHZ, 1, MS}, /* each rate passes something */
		{8000, 999 * MS, GHZ, 999, 999 * MS}, {8008, 999 * MS, GHZ, 999, 999 * MS},
		{8008, 1000 * MS, GHZ, 1001, 1000 * MS},
		{400 * GHZ, 10 * MS, 5 * GHZ, 500 * MS, 50 * MS},
		{8000, 1, 2500000000, 1, 3}, /* a window is not shorter than configured */
	};

	for (size_t i = 0; i < ROWS(cases); i++) {
		struct quota quota;

		assert_int_equal(
			quota_init(&quota, cases[i].bps, 0, cases[i].window_ns, cases[i].hz), 0);
		assert_int_equal(quota.units, cases[i].units);
		assert_int_equal(quota.window, cases[i].ticks);
	}
}

/* Each parameter that a kind reads makes limits different. Succession does not. */
TEST(test_equal)
{
	const struct meter_params base = {METER_TOKEN_BUCKET, 8 * GHZ, 0, 1000, MS, 0.5, 0, 0};

	for (enum meter_kind kind = 0; kind < METER_KINDS; kind++) {
		const struct {
			struct meter_params params;
			bool same;
		} cases[] = {
			{{kind, 8 * GHZ, 0, 1000, MS, 0.5, 0, 0}, true},
			{{kind, 7 * GHZ, 0, 1000, MS, 0.5, 0, 0}, kind == METER_RANDOM_DROP},
			{{kind, 8 * GHZ, 0, 1001, MS, 0.5, 0, 0}, !meter_can(kind, METER_BURST)},
			{{kind, 8 * GHZ, 0, 1000, 2 * MS, 0.5, 0, 0},
				kind != METER_FIXED_WINDOW && kind != METER_HYBRID},
			{{kind, 4 * GHZ, 0, 1000, 2 * MS, 0.5, 0, 0}, kind == METER_RANDOM_DROP},
			{{kind, 8 * GHZ, 0, 1000, MS, 0.25, 0, 0}, kind != METER_RANDOM_DROP},
		};
		struct meter_params params = base;
		union meter_profile first, next;

		params.kind = kind;
		first = profile_of(&params, GHZ);
		for (size_t i = 0; i < ROWS(cases); i++) {
			next = profile_of(&cases[i].params, GHZ);
			meter_profile_succeed(kind, &next, &first, 77);
			assert_int_equal(meter_profile_equal(kind, &first, &next), cases[i].same);
		}
	}
}

/* A cost of 0 conforms and takes nothing. A bucket keeps its owner's bits. */
TEST(test_owner_and_no_cost)
{
	for (enum meter_kind kind = 0; kind < METER_KINDS; kind++) {
		union meter_profile profile = limit_of(kind, 30);
		union meter meter = {0};
		unsigned refused = 0;

		token_bucket_set_owner(&meter.bucket, 0xdeadbeef);
		meter_init(kind, &meter, &profile, MS, 1);
		for (uint64_t now = MS; now < 1000 * MS; now += 10 * MS) {
			assert_true(meter_conforms(kind, &meter, &profile, now, 0));
			refused += !meter_conforms(kind, &meter, &profile, now, 1);
			assert_true(meter_conforms(kind, &meter, &profile, now, 0));
		}
		if (kind == METER_TOKEN_BUCKET)
			assert_int_equal(token_bucket_owner(&meter.bucket), 0xdeadbeef);
		assert_in_range(refused, 30, 80);
	}
}

/*
 * Bytes that a backlog passes through a GCRA whose profile is replaced every 50 ms, exact to 1 ppm.
 */
TEST(test_gcra_long_term)
{
	static const struct {
		uint64_t bps, seconds;
	} cases[] = {
		{8000, 40000}, {8001, 40000}, {64000, 4000}, {10 * GHZ + 7, 1}, {400 * GHZ, 1}};
	static const uint64_t hz[] = {GHZ, 2500000000, 3693249999, 5 * GHZ};

	for (size_t i = 0; i < ROWS(cases); i++) {
		for (size_t h = 0; h < ROWS(hz); h++) {
			struct meter_params params = {
				METER_GCRA, cases[i].bps, 0, TOKEN_BUCKET_MAX_BURST, 0, 0, 0, 0};
			union meter_profile profile = profile_of(&params, hz[h]), old;
			uint64_t now = hz[h] / 3, end = now + cases[i].seconds * hz[h], passed = 0;
			double want = (double)cases[i].bps / 8 * (double)cases[i].seconds;
			union meter meter = {0};

			meter_init(METER_GCRA, &meter, &profile, now, 0);
			while (meter_conforms(METER_GCRA, &meter, &profile, now, 1U << 30))
				;
			while (now < end) {
				uint32_t cost = 1 << 30;

				now += hz[h] / 20 + 1;
				now = now < end ? now : end;
				old = profile;
				profile = profile_of(&params, hz[h]);
				meter_profile_succeed(METER_GCRA, &profile, &old, now);
				for (; cost; cost /= 2)
					while (meter_conforms(
						METER_GCRA, &meter, &profile, now, cost))
						passed += cost;
			}
			assert_near((double)passed, want, want * 1e-6);
		}
	}
}

/* Advances a state to `now`, before virtual time wraps past it. */
static inline void gcra_age(struct gcra *gcra, const struct gcra_profile *profile, uint64_t now)
{
	struct gcra_now instant = gcra_now(profile, now);

	gcra->allow_at = instant.at - (uint64_t)gcra_tokens(gcra, &instant);
}

/* A state that is not used while virtual time wraps does not block for long or pass too much. */
TEST(test_gcra_wraps)
{
	const struct meter_params params = {METER_GCRA, 400 * GHZ, 0, 1 << 20, 0, 0, 0, 0};
	union meter_profile p = profile_of(&params, GHZ);
	const uint64_t unit_ticks = GHZ / 50; /* ticks for a billion units */
	const uint64_t wrap = (UINT64_C(1) << 56) / GHZ * unit_ticks;
	struct prng prng;

	prng_seed(&prng, 1);
	for (unsigned i = 0; i < 1000; i++) {
		uint64_t gap = wrap - 2 * GHZ + prng_next(&prng) % (4 * GHZ), now = 1 + gap;
		union meter m = {0}, aged;

		meter_init(METER_GCRA, &m, &p, 1, 0);
		while (meter_conforms(METER_GCRA, &m, &p, 1, 1024))
			;
		aged = m;
		assert_false(meter_conforms(METER_GCRA, &m, &p, now, (1 << 20) + 1));
		assert_true(meter_conforms(METER_GCRA, &m, &p, now + GHZ + GHZ / 1000, 1 << 20));
		/* Advanced half-way, it is certainly full. */
		gcra_age(&aged.gcra, &p.gcra, 1 + gap / 2);
		assert_true(meter_idle(METER_GCRA, &aged, &p, now));
		assert_true(meter_conforms(METER_GCRA, &aged, &p, now, 1 << 20));
	}
}

/*
 * After a change of the clock, or of a profile without succession, a burst passes and then the
 * limit holds.
 */
TEST(test_gcra_of_another_clock)
{
	union meter_profile p = limit_of(METER_GCRA, 1000000), slow = limit_of(METER_GCRA, 1000);
	union meter m = {0};

	meter_init(METER_GCRA, &m, &p, 3600 * GHZ, 0);
	assert_true(meter_conforms(METER_GCRA, &m, &p, 3600 * GHZ, 100000));
	assert_false(meter_conforms(METER_GCRA, &m, &p, 3600 * GHZ - GHZ + 1000, 1));
	assert_false(meter_conforms(METER_GCRA, &m, &p, 3600 * GHZ - GHZ - 1000, 100001));
	assert_true(meter_conforms(METER_GCRA, &m, &p, 3600 * GHZ - GHZ - 2000, 99999));
	assert_false(meter_conforms(METER_GCRA, &m, &slow, 3600 * GHZ, 101));
	assert_true(meter_conforms(METER_GCRA, &m, &slow, 3600 * GHZ, 100));
	assert_false(meter_conforms(METER_GCRA, &m, &slow, 3600 * GHZ, 1));
}

/* A quota that changes within its window. */
TEST(test_quota_changes)
{
	static const enum meter_kind kinds[] = {METER_FIXED_WINDOW, METER_HYBRID};
	const struct meter_params large = {.rate_bps = 8 * GHZ, .window_ns = 100};
	const struct meter_params small = {.rate_bps = 4 * GHZ, .window_ns = 100};

	for (size_t i = 0; i < ROWS(kinds); i++) {
		enum meter_kind kind = kinds[i];
		struct meter_params params = large;
		union meter_profile l, s;
		union meter m = {0};

		params.kind = kind;
		l = profile_of(&params, GHZ);
		params = small;
		params.kind = kind;
		s = profile_of(&params, GHZ);
		meter_init(kind, &m, &s, 0, 0);
		assert_true(meter_conforms(kind, &m, &s, 0, 49));
		assert_true(meter_conforms(kind, &m, &l, 1, 50)); /* 99 of 100 */
		assert_false(meter_conforms(kind, &m, &s, 2, 1)); /* 99 of 50 */
		assert_true(meter_conforms(kind, &m, &s, 2, 0));
		/* Smooth since then: less 49, plus 1, less 98 × 1/2, of which it has earned 50. */
		assert_false(meter_conforms(kind, &m, &s, 99, 1));
		if (kind == METER_FIXED_WINDOW) {
			assert_true(meter_conforms(kind, &m, &s, 100, 50));
			continue;
		}
		assert_false(meter_conforms(kind, &m, &s, 103, 1));
		assert_true(meter_conforms(kind, &m, &s, 104, 1));
	}
}

/* A clock that goes back makes no meter idle. */
TEST(test_idle_when_the_clock_is_back)
{
	for (enum meter_kind kind = 0; kind < METER_RANDOM_DROP; kind++) {
		union meter_profile p = limit_of(kind, 30);
		union meter m = {0};

		meter_init(kind, &m, &p, GHZ, 0);
		assert_true(meter_idle(kind, &m, &p, GHZ));
		assert_true(meter_conforms(kind, &m, &p, GHZ, 1));
		assert_true(meter_conforms(kind, &m, &p, GHZ, 2));
		assert_false(meter_idle(kind, &m, &p, GHZ - MS));
		assert_false(meter_idle(kind, &m, &p, GHZ));
		assert_true(meter_idle(kind, &m, &p, 2 * GHZ));
	}
}

/* Probability 0 never drops, also for the smallest random number, and probability 1 always does. */
TEST(test_random_drop_at_its_ends)
{
	const uint64_t zero = -UINT64_C(0x9e3779b97f4a7c15); /* makes splitmix64 return 0 */
	struct random_drop_profile never, always, hardly;
	struct random_drop drop;

	assert_int_equal(random_drop_profile_init(&never, 0), 0);
	assert_int_equal(random_drop_profile_init(&always, 1), 0);
	assert_int_equal(random_drop_profile_init(&hardly, 0x1p-32), 0);
	random_drop_begin(&drop, &never, 0, zero);
	assert_true(random_drop_conforms(&drop, &never, 0, 1));
	random_drop_begin(&drop, &never, 0, zero);
	assert_false(random_drop_conforms(&drop, &hardly, 0, 1));
	for (uint64_t seed = 0; seed < ROUNDS(100000); seed++) {
		random_drop_begin(&drop, &never, 0, seed);
		assert_false(random_drop_conforms(&drop, &always, 0, 1));
		assert_true(random_drop_conforms(&drop, &always, 0, 0));
	}
}

TEST(test_random_drop)
{
	static const double probabilities[] = {0, 1e-3, 0.1, 0.5, 0.9, 1};
	enum { N = 200000 };

	for (size_t i = 0; i < ROWS(probabilities); i++) {
		double p = probabilities[i], sigma = sqrt(N * p * (1 - p));
		struct meter_params params = {METER_RANDOM_DROP, 0, 0, 0, 0, p, 0, 0};
		union meter_profile profile = profile_of(&params, GHZ);
		unsigned dropped[2] = {0}, differ = 0, again = 0;
		union meter m = {0}, same = m, other = m;

		meter_init(METER_RANDOM_DROP, &m, &profile, 0, 0);
		meter_init(METER_RANDOM_DROP, &same, &profile, 0, 0);
		meter_init(METER_RANDOM_DROP, &other, &profile, 0, 1);
		for (unsigned k = 0; k < N; k++) {
			bool a = meter_conforms(METER_RANDOM_DROP, &m, &profile, k, 1500);
			bool b = meter_conforms(METER_RANDOM_DROP, &other, &profile, k, 1);

			again += a != meter_conforms(METER_RANDOM_DROP, &same, &profile, 0, 9);
			dropped[k % 2] += !a;
			differ += a != b;
		}
		assert_near(dropped[0] + dropped[1], N * p, 4.5 * sigma);
		assert_near((double)dropped[0] - dropped[1], 0, 4.5 * sigma);
		assert_near(differ, 2 * N * p * (1 - p), 4.5 * sigma + 1e-9);
		assert_int_equal(again, 0);
		assert_true(meter_idle(METER_RANDOM_DROP, &m, &profile, N));
	}
}
