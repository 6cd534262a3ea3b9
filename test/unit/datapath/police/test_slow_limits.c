/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Limits of a few packets or flows a minute, an hour or a day. They are read from a configuration
 * and compared with a model in whole numbers. Over months nothing drifts, with any clock rate.
 */
#include "check.h"
#include "scope.h"
#include "lane.h"

#include "allocate/allocate.h"
#include "base/prng.h"
#include "policy/names.h"
#include "policy/kind.h"
#include "policy/units.h"
#include "source/source_table.h"

#define DAY_S UINT64_C(86400)
#define MOST  4 /* shares */

static const char *const limits[] = {
	"100/min", "5/min", "1/min", "7/h", "10k/h", "1000/h", "1/d", "13/d", "100k/min", "1/s"};

static const uint64_t clocks[] = {GHZ, 2499999997, 3693249999, 5 * GHZ};

static struct policy policy_of(const char *limit, enum meter_kind meter, bool per_source)
{
	struct policy policy = {
		.burst_bytes = 10,
		.count = COUNT_PACKETS,
		.allocator = allocator_find("central"),
		.meter = meter,
		.per_v4 = per_source ? 32 : 0,
		.per_v6 = per_source ? 128 : 0,
		.sources = 1024,
		.classes = {.by = CLASSES_BY_DSCP, .n = 64},
	};

	assert_int_equal(units_parse_count_rate(limit, &policy.limit_bps, &policy.limit_s), 0);
	for (unsigned i = 0; i < PHANTOM_DSCPS; i++)
		policy.classes.weights[i] = 1;
	policy.window_ns = policy.limit_s * GHZ;
	return policy;
}

static bool slow_packet_passes(struct lane *part, uint64_t now)
{
	return lane_passes(part, 60, 1, now);
}

/* Returns the packets that a limit earns in this many ticks, rounded down. */
static uint64_t packets_earned(const struct policy *policy, uint64_t ticks, uint64_t hz)
{
	return (uint64_t)((unsigned __int128)policy->limit_bps * ticks / policy->limit_s / hz / 8);
}

/*
 * Charges a backlog for this many seconds, each time before the burst is full. Up to any time at
 * most r·t + b passes, with r rounded up by at most 1e-7. At the end no less passes, except one
 * packet of each part and a millionth.
 */
static void check_backlog(const struct policy *policy, const double *parts, unsigned n, uint64_t hz,
	uint64_t seconds, struct prng *prng)
{
	uint64_t now = 1, end = 1 + seconds * hz, passed = 0, burst = n * policy->burst_bytes;
	/* One class alone leaves some of the bucket to others, so it cannot pass all of it. */
	bool alone = policy->meter == METER_PHANTOM;
	uint64_t depth = alone ? 2 : policy->burst_bytes, least = alone ? 2 : burst;
	double fill = (double)(depth - 1) / policy_rate(policy) * (double)hz;
	struct lane part[MOST];

	for (unsigned i = 0; i < n; i++)
		lane_begin(&part[i], policy, policy_rate(policy) * parts[i], hz);
	while (true) {
		for (unsigned i = 0; i < n; i++)
			while (slow_packet_passes(&part[i], now))
				passed++;
		assert_true(passed <= burst + packets_earned(policy, now + now / 10000000, hz));
		if (now == end)
			break;
		now += 1 + (uint64_t)(prng_unit(prng) * fill);
		now = now < end ? now : end;
	}
	if ((double)passed + n <
		(double)least + (double)packets_earned(policy, end - 1, hz) * (1 - 1e-6))
		fail_msg("%" PRIu64 " in %" PRIu64 " s at %" PRIu64 " Hz: %" PRIu64 " passed",
			policy->limit_bps / 8, (uint64_t)policy->limit_s, hz, passed);
	for (unsigned i = 0; i < n; i++)
		lane_stop(&part[i]);
}

/* Returns the seconds in which the limit earns this many packets, at most ten years. */
static uint64_t seconds_of(const struct policy *policy, double packets)
{
	return (uint64_t)fmin(packets / policy_rate(policy), (double)(3650 * DAY_S));
}

TEST(test_buckets)
{
	static const struct {
		enum meter_kind meter;
		bool per_source;
	} rows[] = {
		{METER_TOKEN_BUCKET, false},
		{METER_GCRA, false},
		{METER_TOKEN_BUCKET, true},
		{METER_PHANTOM, false},
	};
	struct prng prng;

	prng_seed(&prng, 1);
	for (size_t k = 0; k < COUNT(rows); k++) {
		for (size_t i = 0; i < COUNT(limits); i++) {
			struct policy policy = policy_of(
				limits[i], rows[k].meter, rows[k].per_source);
			const double whole = 1;

			check_backlog(&policy, &whole, 1, clocks[(i + k) % COUNT(clocks)],
				seconds_of(&policy, 200000), &prng);
		}
	}
}

/* Two months, for the limits that pass the most. */
TEST(test_months)
{
	static const char *const rows[] = {"100/min", "10k/h"};
	struct prng prng;

	prng_seed(&prng, 3);
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct policy policy = policy_of(rows[i], METER_TOKEN_BUCKET, false);
		const double whole = 1;

		check_backlog(&policy, &whole, 1, clocks[2], 61 * DAY_S, &prng);
	}
}

/* The shares of several limiters add up to the limit, even if each is below one a day. */
TEST(test_parts)
{
	static const double rows[][MOST] = {
		{0.25, 0.25, 0.25, 0.25}, {0.1, 0.2, 0.3, 0.4}, {0.97, 0.01, 0.01, 0.01}};
	struct prng prng;

	prng_seed(&prng, 2);
	for (size_t k = 0; k < COUNT(rows); k++) {
		for (size_t i = 0; i < COUNT(limits); i++) {
			struct policy policy = policy_of(limits[i], METER_TOKEN_BUCKET, false);

			check_backlog(&policy, rows[k], MOST, clocks[(i + k) % COUNT(clocks)],
				seconds_of(&policy, 200000), &prng);
		}
	}
}

/* A packet conforms 1/rate after the burst is used up, and not before. */
TEST(test_next)
{
	for (size_t i = 0; i < COUNT(limits); i++) {
		for (size_t k = 0; k < COUNT(clocks); k++) {
			struct policy policy = policy_of(limits[i], METER_TOKEN_BUCKET, false);
			uint64_t hz = clocks[k], due;
			struct lane part;

			lane_begin(&part, &policy, policy_rate(&policy), hz);
			for (unsigned j = 0; j < policy.burst_bytes; j++)
				assert_true(slow_packet_passes(&part, 1));
			assert_false(slow_packet_passes(&part, 1));
			due = (uint64_t)((unsigned __int128)8 * policy.limit_s * hz /
					 policy.limit_bps);
			assert_false(slow_packet_passes(&part, due - due / 10000000 - 3));
			assert_true(slow_packet_passes(&part, due + 2));
			assert_false(slow_packet_passes(&part, due + 2));
			lane_stop(&part);
		}
	}
}

/* 100/min passes exactly 100 from the first packet on, and none until the minute is over. */
TEST(test_windows)
{
	static const enum meter_kind kinds[] = {METER_FIXED_WINDOW, METER_HYBRID};

	for (size_t k = 0; k < COUNT(kinds); k++) {
		for (size_t i = 0; i < COUNT(limits); i++) {
			for (unsigned per = 0; per < 2; per++) {
				struct policy policy = policy_of(limits[i], kinds[k], per);
				uint64_t hz = clocks[i % COUNT(clocks)], n = 0;
				uint64_t window = policy.limit_s * hz, q = policy.limit_bps / 8;
				struct lane part;

				lane_begin(&part, &policy, policy_rate(&policy), hz);
				while (slow_packet_passes(&part, 1))
					n++;
				assert_int_equal(n, q);
				assert_false(slow_packet_passes(&part, window));
				assert_true(slow_packet_passes(&part, window + 1));
				lane_stop(&part);
			}
		}
	}
}

/* Tests the fallback limit after the quota is spent. */
TEST(test_after_a_total)
{
	struct policy policy = policy_of("6/h", METER_CREDIT, false);
	ENDED_BY(lane_stop) struct lane part;

	policy.allocator = allocator_find("quota");
	lane_begin(&part, &policy, policy_rate(&policy), GHZ);
	for (unsigned j = 0; j < policy.burst_bytes; j++)
		assert_true(slow_packet_passes(&part, 1));
	assert_false(slow_packet_passes(&part, 599 * GHZ));
	assert_true(slow_packet_passes(&part, 601 * GHZ));
	assert_false(slow_packet_passes(&part, 601 * GHZ));
}

/*
 * Bytes have the usual unit. A large burst leaves fewer bits for parts of a packet. A fast limit
 * needs no such bits.
 */
TEST(test_bits)
{
	static const struct {
		const char *limit;
		uint64_t burst;
		unsigned bits;
	} rows[] = {
		{"1/d", 10, 20},
		{"100/min", 16384, 20},
		{"100/min", 16385, 19},
		{"100/min", 1 << 30, 4},
		{"100/min", UINT64_C(1) << 33, 1},
		{"100/min", (UINT64_C(1) << 33) + 1, 0},
		{"32768/s", 10, 20},
		{"32769/s", 10, 0},
		{"1G/s", 1 << 30, 0},
	};
	struct policy policy;

	for (size_t i = 0; i < COUNT(rows); i++) {
		struct lane part;

		policy = policy_of(rows[i].limit, METER_TOKEN_BUCKET, false);
		policy.burst_bytes = rows[i].burst;
		assert_int_equal(policy_unit_bits(&policy), rows[i].bits);
		for (unsigned meter = METER_TOKEN_BUCKET; meter <= METER_GCRA; meter++) {
			policy.meter = meter; /* the slowest clock supported */
			lane_begin(&part, &policy, policy_rate(&policy), 400000000);
			lane_stop(&part);
		}
	}
	policy = policy_of("100/min", METER_TOKEN_BUCKET, false);
	policy.count = COUNT_BYTES;
	assert_int_equal(policy_unit_bits(&policy), 0);
	policy = policy_of("100/min", METER_HYBRID, false);
	assert_int_equal(policy_unit_bits(&policy), 0);
}

/* The state is discarded if packets are counted in other parts. */
TEST(test_states_that_last)
{
	struct policy slow = policy_of("100/min", METER_TOKEN_BUCKET, false), other = slow;

	other.limit_s = 3600;
	assert_true(policy_state_lasts(&slow, &other));
	other = policy_of("1M/s", METER_TOKEN_BUCKET, false);
	assert_false(policy_state_lasts(&slow, &other));
}

/* A limit a minute and a limit an hour have different ledgers. A soft limit has none. */
TEST(test_ledgers)
{
	struct policy minute = policy_of("100/min", METER_TOKEN_BUCKET, false), hour = minute;

	hour.limit_s = 3600;
	assert_int_equal(policy_key(&minute).id, policy_key(&hour).id);
	minute.guarantee = hour.guarantee = GUARANTEE_HARD;
	assert_int_not_equal(policy_key(&minute).id, policy_key(&hour).id);
}
