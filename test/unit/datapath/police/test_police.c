/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Tests of policing, from packet to verdict, and of all its counters. Meters and source tables have
 * tests of their own; these tests check that policing calls them correctly.
 */
#include "check.h"
#include "scope.h"

#include "base/prng.h"
#include "lane.h"
#include "police/policy_state.h"
#include "police/sample.h"
#include "policy/kind.h"

#define BPS UINT64_C(8) /* unit/s */

enum { ICMP = 1, TCP = 6, UDP = 17, SCTP = 132 };
enum { FIN = 0x01, SYN = 0x02, RST = 0x04, ACK = 0x10, ECE_CWR = 0xc0 };

static const struct policy defaults = {
	.limit_bps = 1000 * BPS,
	.burst_bytes = 10,
	.meter = METER_TOKEN_BUCKET,
	.mark = MARK_ECN,
	.accounting = ACCOUNTING_L2,
	.window_ns = SECOND,
	.sources = 1024,
};

static void lane_start(struct lane *lane, const struct policy *policy, uint64_t now)
{
	struct limiter_view view = {
		.limit = (double)policy->limit_bps / 8,
		.local_limit = (double)policy->limit_bps / 8,
		.local_burst = policy->burst_bytes,
	};

	lane_make(lane, policy, &view,
		&(struct policy_start){.now = now, .hz = GHZ, .secret = 1, .seed = 1});
}

static enum verdict lane_police(struct lane *lane, const struct packet *packet, const uint8_t *data,
	uint32_t frame_len, uint64_t now)
{
	uint32_t cost = police_cost(&lane->state, packet, data, frame_len, now);

	return police_charge(&lane->state, packet, data, cost, now);
}

static void expect_counters(const struct lane *lane, const uint64_t *want)
{
	const struct policy_state *s = &lane->state;
	const uint64_t got[6] = {s->packets - s->dropped_packets, s->bytes - s->dropped_bytes,
		s->dropped_packets, s->dropped_bytes, police_over_packets(s), police_over_bytes(s)};
	static const char *const names[6] = {"passed packets", "passed bytes", "dropped packets",
		"dropped bytes", "packets over", "bytes over"};

	for (unsigned i = 0; i < 6; i++)
		if (got[i] != want[i])
			fail_msg("%s: %" PRIu64 ", not %" PRIu64, names[i], got[i], want[i]);
}

#define assert_counters(lane, ...) expect_counters((lane), (const uint64_t[6]){__VA_ARGS__})

TEST(test_cost_of_bytes_and_packets)
{
	static const struct {
		enum counting count;
		enum accounting accounting;
		uint16_t l2_len;
		uint32_t frame_len, want;
	} rows[] = {
		{COUNT_BYTES, ACCOUNTING_L2, 14, 1514, 1514},
		{COUNT_BYTES, ACCOUNTING_L3, 14, 1514, 1500},
		{COUNT_BYTES, ACCOUNTING_L3, 22, 1522, 1500},
		{COUNT_BYTES, ACCOUNTING_WIRE, 14, 60, 84},
		{COUNT_BYTES, ACCOUNTING_WIRE, 18, 60, 84},
		{COUNT_BYTES, ACCOUNTING_L3, 9, 9, 0}, /* a runt has no L3 bytes */
		{COUNT_BYTES, ACCOUNTING_L2, 14, 9018, 9018},
		{COUNT_PACKETS, ACCOUNTING_L2, 14, 9018, 1},
		{COUNT_PACKETS, ACCOUNTING_WIRE, 14, 60, 1},
		{COUNT_PACKETS, ACCOUNTING_L3, 9, 9, 1},
	};

	for (unsigned i = 0; i < COUNT(rows); i++) {
		struct packet packet = {.l2_len = rows[i].l2_len};
		struct policy policy = defaults;
		struct lane lane;
		uint32_t cost;

		policy.count = rows[i].count;
		policy.accounting = rows[i].accounting;
		for (unsigned plain = 0; plain < 2; plain++) {
			policy.action = plain ? ACTION_DROP : ACTION_COUNT;
			lane_start(&lane, &policy, 0);
			cost = police_cost(&lane.state, &packet, NULL, rows[i].frame_len, 0);
			if (cost != rows[i].want)
				fail_msg("row %u: %u, not %u", i, cost, rows[i].want);
			lane_stop(&lane);
		}
	}
}

/* Tests which policies take the fast path. No other policy may take it. */
TEST(test_plain)
{
	struct policy policy = defaults;
	struct lane lane;

	for (unsigned i = 0; i < 9; i++) {
		policy = defaults;
		policy.allocator = allocator_find(i == 7 ? "gtb" : i == 8 ? "quota" : "central");
		policy.meter = i == 1   ? METER_GCRA
			       : i == 2 ? METER_RANDOM_DROP
					: METER_TOKEN_BUCKET;
		policy.count = i == 3 ? COUNT_PACKETS : COUNT_BYTES;
		policy.action = i == 4 ? ACTION_COUNT : i == 5 ? ACTION_MARK : ACTION_DROP;
		policy.per_v4 = i == 6 ? 32 : 0;
		policy.per_v6 = i == 6 ? 128 : 0;
		lane_start(&lane, &policy, 0);
		assert_int_equal(police_is_simple(&lane.state), i == 0);
		lane_stop(&lane);
	}
}

/* After policy_state_spend() nothing passes until tokens have been earned. */
TEST(test_spent)
{
	static const enum meter_kind kinds[] = {
		METER_TOKEN_BUCKET, METER_GCRA, METER_FIXED_WINDOW, METER_HYBRID};
	const struct packet packet = {.l2_len = 0};

	for (unsigned i = 0; i < 2 * COUNT(kinds); i++) {
		struct policy policy = defaults;
		struct lane lane;

		policy.meter = kinds[i / 2];
		policy.burst_bytes = UINT64_C(4) << 30; /* more than the largest packet */
		policy.limit_bps = 1000000 * BPS;
		policy.action = i % 2 ? ACTION_COUNT : ACTION_DROP;
		lane_start(&lane, &policy, SECOND);
		policy_state_spend(&lane.state, SECOND);
		assert_counters(&lane, 0, 0, 0, 0, 0, 0);
		assert_int_equal(police_backlogged(&lane.state), 0); /* no classes */
		if (lane_police(&lane, &packet, NULL, 1, SECOND) == VERDICT_PASS)
			fail_msg("%s: something is left", meter_name(kinds[i / 2]));
		if (lane_police(&lane, &packet, NULL, 1000, 3 * SECOND) != VERDICT_PASS)
			fail_msg("%s: nothing is earned", meter_name(kinds[i / 2]));
		lane_stop(&lane);
	}
}

/*
 * A policy that places its sources on workers also keeps its state only if the keys of the
 * placement stay the same.
 */
TEST(test_placed_lasts)
{
	struct policy placed = defaults, next[7];

	placed.allocator = allocator_find("static");
	placed.action = ACTION_SHAPE;
	placed.slo_p99_ns = 1000000;
	placed.place.key = (struct place_key){24, 64};
	for (size_t i = 0; i < COUNT(next); i++)
		next[i] = placed;
	next[0].slo_p99_ns = 0;
	next[1].place.key.v4 = 25;
	next[2].place.key.v6 = 65;
	next[3].match.wire = 1;
	next[4].match.direction = DIRECTION_B_TO_A;
	next[5].slo_p99_ns = 2000000;
	next[6].place.correlate = true;
	for (size_t i = 0; i < COUNT(next); i++) {
		assert_int_equal(policy_state_lasts(&placed, &next[i]), i >= 5);
		assert_int_equal(policy_state_lasts(&next[i], &placed), i >= 5);
	}
}

/* Tests which changes of a policy keep its state and which do not. */
TEST(test_lasts)
{
	struct policy own = defaults, next[6];

	own.allocator = allocator_find("fps");
	for (unsigned i = 0; i < COUNT(next); i++)
		next[i] = own;
	next[0].action = ACTION_COUNT;
	next[1].mark = 8;
	next[2].accounting = ACCOUNTING_WIRE;
	next[3].weigh_tcp_only = true;
	next[4].limit_bps *= 2;
	next[5].match.vlan = 7;
	for (unsigned i = 0; i < COUNT(next); i++) {
		assert_int_equal(policy_state_lasts(&own, &next[i]), i >= 4);
		assert_int_equal(policy_state_lasts(&next[i], &own), i >= 4);
	}
	/*
	 * A policy without sharers has no sample of flows, so it cannot continue as one with
	 * sharers.
	 */
	next[0] = own;
	next[0].sharers = 1;
	assert_true(policy_state_lasts(&own, &next[0]));
	assert_false(policy_state_lasts(&next[0], &own));
	next[0].allocator = next[1].allocator = allocator_find("static");
	next[1] = next[0];
	next[1].sharers = 0;
	assert_true(policy_state_lasts(&next[0], &next[1]));
}

/* The fast path and the slow path give the same results. */
TEST(test_ways_agree)
{
	const uint64_t seed = 11;
	struct lane shorter, longer;
	struct policy policy = defaults;
	struct prng prng;
	uint64_t now = 5, dropped = 0;

	policy.burst_bytes = 3000;
	policy.limit_bps = BPS * 1000000;
	policy.accounting = ACCOUNTING_L3;
	lane_start(&shorter, &policy, now);
	policy.allocator = allocator_find("gtb"); /* not simple, and no other limiter drains it */
	lane_start(&longer, &policy, now);
	assert_true(police_is_simple(&shorter.state) && !police_is_simple(&longer.state));
	prng_seed(&prng, seed);
	for (unsigned i = 0; i < 20000; i++) {
		struct packet packet = {.l2_len = 14 + 4 * prng_below(&prng, 3)};
		uint32_t len = 60 + prng_below(&prng, 1455);
		enum verdict verdict;

		now += prng_below(&prng, 1000000);
		verdict = lane_police(&shorter, &packet, NULL, len, now);
		if (verdict != lane_police(&longer, &packet, NULL, len, now))
			fail_msg("seed %" PRIu64 ": packet %u", seed, i);
		assert_counters(&shorter, longer.state.packets - longer.state.dropped_packets,
			longer.state.bytes - longer.state.dropped_bytes,
			longer.state.dropped_packets, longer.state.dropped_bytes, 0, 0);
		dropped += verdict == VERDICT_DROP;
	}
	assert_true(dropped > 1000 && dropped < 19000);
	assert_int_equal(shorter.state.packets, 20000);
	assert_int_equal(shorter.state.dropped_packets, dropped);
	lane_stop(&longer);
}

/*
 * A burst charged in one call gives the same verdicts, counters, tokens and samples as its packets
 * one by one.
 */
TEST(test_bursts_are_packets)
{
	const uint64_t seed = 14;
	unsigned all = 0, none = 0, some = 0, exact = 0;
	struct policy policy = defaults;
	struct lane one, burst;
	struct prng prng;
	uint64_t now = 5;

	policy.burst_bytes = 60000;
	policy.limit_bps = BPS * 100000000;
	policy.allocator = allocator_find("fps");
	lane_start(&one, &policy, now);
	lane_start(&burst, &policy, now);
	one.profile.meter.bucket.rate = INT64_C(25) << TOKEN_SHIFT; /* bytes/tick */
	burst.profile = one.profile;
	prng_seed(&prng, seed);
	for (unsigned i = 0; i < 20000; i++) {
		unsigned n = 1 + prng_below(&prng, 64);
		uint64_t passes = 0, samples = 0, all_of = UINT64_MAX >> (64 - n), got;
		struct police_costs sums;
		uint32_t costs[64];

		one.profile.sample_shift = burst.profile.sample_shift = i / 1000 % 8;
		police_limit(&one.state, &one.profile, now);
		police_limit(&burst.state, &burst.profile, now);
		/*
		 * Mostly no tokens are earned. The tokens often match the round sizes to the byte.
		 */
		now += i % 4 ? 0 : 8 * prng_below(&prng, 1000);
		got = police_samples_burst(&burst.state, n);
		for (unsigned k = 0; k < n; k++) {
			costs[k] = 200 * (1 + prng_below(&prng, 7));
			samples |= (uint64_t)police_samples(&one.state) << k;
			passes |= (uint64_t)(police_charge_simple(&one.state, costs[k], now) ==
					     VERDICT_PASS)
				  << k;
		}
		sums = police_sum_costs(costs, n);
		if (got != samples ||
			police_charge_burst(&burst.state, costs, n, &sums, now) != passes)
			fail_msg("seed %" PRIu64 ": burst %u", seed, i);
		assert_memory_equal(&one.state, &burst.state, sizeof(one.state));
		exact += passes == all_of && one.state.bucket.tokens == 0;
		all += passes == all_of;
		none += passes == 0;
		some += passes != 0 && passes != all_of;
	}
	assert_true(all > 1000 && none > 1000 && some > 1000 && exact > 10);
}

/* Counters of 32 bits wrap; the 64-bit totals continue. */
TEST(test_totals)
{
	uint64_t total = UINT32_MAX - 1, before = total;
	uint32_t counter = UINT32_MAX - 1;

	for (unsigned i = 0; i < 10; i++) {
		counter_add32(&counter, UINT32_C(0x90000000) + i);
		before += UINT32_C(0x90000000) + i;
		assert_true(counter_fold(&total, &counter) == before);
		assert_true(counter_fold(&total, &counter) == before);
	}
}

/*
 * Passed packets are all packets minus drops. This number never decreases, even if it is read while
 * a worker updates its counters.
 */
TEST(test_passed)
{
	static const struct {
		uint32_t packets, dropped_packets;
		uint64_t bytes, dropped_bytes, want_packets, want_bytes;
	} looks[] = {
		{UINT32_MAX, 5, 1000, 500, UINT32_MAX - UINT64_C(5), 500},
		{UINT32_MAX, 6, 1000, 600, UINT32_MAX - UINT64_C(5), 500}, /* only drops are new */
		{0, 6, 1100, 600, UINT32_MAX - UINT64_C(5), 500},
		{9, 6, 1700, 600, UINT32_MAX + UINT64_C(4), 1100},
		{9, 6, 1700, 2000, UINT32_MAX + UINT64_C(4), 1100}, /* more drops than packets */
		{10, 7, 2100, 600, UINT32_MAX + UINT64_C(4), 1500},
	};
	struct police_totals totals = {0};
	uint64_t packets = 0, bytes = 0;

	for (unsigned i = 0; i < COUNT(looks); i++) {
		const struct policy_state line = {
			.packets = looks[i].packets,
			.dropped_packets = looks[i].dropped_packets,
			.bytes = looks[i].bytes,
			.dropped_bytes = looks[i].dropped_bytes,
		};

		police_fold(&totals, &line);
		police_passed(&packets, totals.packets, totals.dropped_packets);
		police_passed(&bytes, line.bytes, line.dropped_bytes);
		if (packets != looks[i].want_packets || bytes != looks[i].want_bytes)
			fail_msg("look %u: %" PRIu64 " packets, %" PRIu64 " bytes", i, packets,
				bytes);
	}
}

/*
 * Tests which packets take the slow path: all packets of policies that are not simple, and sampled
 * packets of simple ones.
 */
TEST(test_aside)
{
	for (unsigned shift = 0; shift <= POLICE_UNSAMPLED; shift++)
		for (unsigned plain = 0; plain < 2; plain++) {
			struct policy_state line = {
				.bucket.fraction = police_owner(
					plain ? POLICE_SIMPLE : 0, shift, ACCOUNTING_WIRE)};
			unsigned samples = 0;

			assert_int_equal(police_is_simple(&line), plain);
			assert_int_equal(police_shift(&line), shift);
			assert_int_equal(police_bytes(&line, 14, 60), 84);
			for (line.packets = 0; line.packets < 1 << 18; line.packets++) {
				bool sampled = police_samples(&line);

				samples += sampled;
				assert_int_equal(police_is_slow(&line), sampled || !plain);
			}
			assert_near(samples, shift == POLICE_UNSAMPLED ? 0 : 1 << 18 >> shift, 4);
			if (shift == POLICE_UNSAMPLED)
				assert_int_equal(samples, 0);
		}
}

/* Each kind of meter decides with its own profile and state. */
TEST(test_every_kind)
{
	struct prng prng;

	prng_seed(&prng, 12);
	for (unsigned kind = 0; kind < METER_KINDS; kind++) {
		struct policy policy = defaults;
		uint64_t now = 100, passed = 0, n = 3000;
		union meter meter = {0};
		struct lane lane;
		uint32_t cost;

		/*
		 * The verdicts of these meters do not depend on their bucket alone. See
		 * test_classes.c and test_coloured.c.
		 */
		if (kind == METER_PHANTOM || meter_can(kind, METER_COLOURS))
			continue;
		policy.meter = kind;
		policy.count = COUNT_PACKETS;
		cost = kind == METER_CREDIT ? 1 : UINT32_C(1) << policy_unit_bits(&policy);
		lane_start(&lane, &policy, now);
		if (kind == METER_RANDOM_DROP) {
			struct limiter_view view = {.local_limit = 1, .drop = 0.3};

			lane_limit(&lane, &view, now);
		}
		meter_init(kind, &meter, &lane.profile.meter, now, 1);
		for (unsigned i = 0; i < n; i++) {
			struct packet packet = {0};
			bool want;

			now += prng_below(&prng, 1500000); /* 0 to 1.5 ms; the limit is 1 a ms */
			want = meter_conforms(kind, &meter, &lane.profile.meter, now, cost);
			assert_int_equal(
				lane_police(&lane, &packet, NULL, 60 + i, now) == VERDICT_PASS,
				want);
			passed += want;
		}
		assert_true(passed > n / 4 && passed < n);
		assert_counters(&lane, passed, passed, n - passed, n - passed, 0, 0);
		lane_stop(&lane);
	}
}

TEST(test_random_drop_of_all_and_nothing)
{
	struct policy policy = defaults;
	struct packet packet = {0};
	struct limiter_view view = {.local_limit = 0, .drop = 1};
	ENDED_BY(lane_stop) struct lane lane;

	policy.meter = METER_RANDOM_DROP;
	lane_start(&lane, &policy, 0);
	for (unsigned i = 0; i < 1000; i++)
		assert_int_equal(lane_police(&lane, &packet, NULL, 1000, i), VERDICT_PASS);
	lane_limit(&lane, &view, 1000);
	for (unsigned i = 0; i < 1000; i++)
		assert_int_equal(lane_police(&lane, &packet, NULL, 1000, i), VERDICT_DROP);
}

/* Joins the profile to a credit and publishes it to the lane. */
static void lane_join(struct lane *lane, struct credit *credit, uint16_t generation)
{
	credit_profile_join(&lane->profile.meter.credit, credit, generation, 250);
	police_limit(&lane->state, &lane->profile, 7);
}

/*
 * Verdicts and counters of packets of 100 bytes above the limit. The bucket holds 10 of them. A
 * quota of 10 packets has a bucket of 3 as its fallback.
 */
TEST(test_actions)
{
	static const struct {
		enum action action;
		enum verdict verdict;
		bool marked;
		bool drops;
	} rows[] = {
		{ACTION_DROP, VERDICT_DROP, false, true},
		{ACTION_COUNT, VERDICT_COUNT, false, false},
		{ACTION_MARK, VERDICT_MARK, true, false},
		{ACTION_MARK, VERDICT_MARK, false, true},
	};
	struct packet packet = {0};

	for (unsigned i = 0; i < 2 * COUNT(rows); i++) {
		unsigned row = i / 2, quota = i % 2, n = quota ? 13 : 10;
		bool drops = rows[row].drops;
		struct credit credit = {0};
		struct policy policy = defaults;
		struct lane lane;

		policy.allocator = allocator_find(quota ? "quota" : "central");
		policy.burst_bytes = quota ? 300 : 1099;
		policy.action = rows[row].action;
		lane_start(&lane, &policy, 7);
		if (quota) {
			credit_turn(&credit, 3);
			credit_put(&credit, 1000);
			lane_join(&lane, &credit, 3);
		}
		assert_int_equal(police_is_quota(&lane.state), quota);
		assert_int_equal(police_is_simple(&lane.state), !quota && row == 0);
		assert_int_equal(police_is_total(&lane.state), quota && row == 0);
		for (unsigned k = 0; k < n; k++)
			assert_int_equal(lane_police(&lane, &packet, NULL, 100, 7), VERDICT_PASS);
		assert_counters(&lane, n, n * 100, 0, 0, 0, 0);
		for (unsigned k = 0; k < 5; k++) {
			assert_int_equal(
				lane_police(&lane, &packet, NULL, 100, 7), rows[row].verdict);
			if (rows[row].verdict != VERDICT_MARK)
				continue;
			/* A packet is counted after its verdict is final. */
			assert_int_equal(lane.state.packets, n + k);
			police_marked(&lane.state, &packet, NULL, 100, 7, rows[row].marked);
		}
		assert_counters(&lane, n + (drops ? 0 : 5), (n + (drops ? 0 : 5)) * 100,
			drops ? 5 : 0, drops ? 500 : 0, drops ? 0 : 5, drops ? 0 : 500);
		assert_int_equal(police_fallback_packets(&lane.state), quota ? 3 : 0);
		assert_int_equal(police_fallback_bytes(&lane.state), quota ? 300 : 0);
		assert_int_equal(credit_left(&credit), 0);
		assert_int_equal(credit_wanted(&credit), quota ? 100 : 0);
		/* Packets above the limit took no tokens. */
		if (!quota)
			assert_int_equal(lane_police(&lane, &packet, NULL, 99, 7), VERDICT_PASS);
		lane_stop(&lane);
	}
}

/*
 * Without a fallback limit no packet passes above the quota. Unused credit expires with its period.
 */
TEST(test_total_alone)
{
	struct policy policy = defaults;
	struct packet packet = {0};
	struct credit credit;
	ENDED_BY(lane_stop) struct lane lane;

	policy.allocator = allocator_find("quota");
	policy.limit_bps = 0;
	policy.burst_bytes = 100000; /* without effect: the limit is 0 */
	lane_start(&lane, &policy, 7);
	credit = (struct credit){0};
	credit_put(&credit, 1000);
	assert_int_equal(lane_police(&lane, &packet, NULL, 1, 7), VERDICT_DROP);
	lane_join(&lane, &credit, 0);
	assert_int_equal(lane_police(&lane, &packet, NULL, 100, 7), VERDICT_PASS);
	assert_int_equal(police_returns(&lane.state, 0), 250);
	policy_state_spend(&lane.state, 7); /* shared, paid credit stays */
	assert_int_equal(police_returns(&lane.state, 0), 250);
	assert_int_equal(credit_turn(&credit, 1), 650);
	credit_put(&credit, 120);
	assert_int_equal(police_returns(&lane.state, 1), 0); /* not yet updated */
	lane_join(&lane, &credit, 1);
	assert_int_equal(police_returns(&lane.state, 1), 0);
	assert_int_equal(lane_police(&lane, &packet, NULL, 200, 7), VERDICT_PASS);
	assert_int_equal(credit_left(&credit), 120);
	assert_int_equal(lane_police(&lane, &packet, NULL, 100, 7), VERDICT_PASS);
	assert_int_equal(police_returns(&lane.state, 1), 70);
	assert_int_equal(lane_police(&lane, &packet, NULL, 71, 7), VERDICT_DROP);
	assert_int_equal(lane_police(&lane, &packet, NULL, 70, UINT64_C(1) << 60), VERDICT_PASS);
	assert_int_equal(lane_police(&lane, &packet, NULL, 1, UINT64_C(1) << 60), VERDICT_DROP);
	assert_int_equal(police_fallback_packets(&lane.state), 0);
	credit_put(&credit, 5);
	assert_true(police_over_total(&lane.state, 5, UINT64_C(1) << 60) == 0);
	assert_true(police_over_total(&lane.state, 1, UINT64_C(1) << 60) == UINT64_MAX);
}

enum {
	FIRST = PACKET_FRAGMENT_FIRST,
	LATER = PACKET_FRAGMENT_LATER,
	UNKNOWN_SHIFT = 4, /* bits of PACKET_UNKNOWN_*, above the fragment */
	NO_FLAGS = PACKET_UNKNOWN_FLAGS << UNKNOWN_SHIFT,
	NOTHING = PACKET_UNKNOWN_TRANSPORT << UNKNOWN_SHIFT,
};

/* Steps of several flows in one policy. The bucket earns nothing. */
static const struct step {
	const char *what;
	uint8_t proto, tcp_flags, fragment;
	uint32_t hash;
	uint64_t at; /* seconds */
	uint32_t cost;
	enum verdict verdict;
} story[] = {
	{"SYN", TCP, SYN, 0, 1, 1, 1, VERDICT_PASS},
	{"SYN-ACK", TCP, SYN | ACK, 0, 2, 1, 0, VERDICT_PASS},
	{"ACK", TCP, ACK, 0, 1, 1, 0, VERDICT_PASS},
	{"no flags known", TCP, 0, 0, 1, 1, 0, VERDICT_PASS},
	{"SYN again", TCP, SYN, 0, 1, 2, 1, VERDICT_PASS},
	{"SYN with ECN's flags", TCP, SYN | ECE_CWR, 0, 3, 2, 1, VERDICT_PASS},
	{"SYN and FIN", TCP, SYN | FIN, 0, 4, 2, 1, VERDICT_PASS},
	{"RST", TCP, RST, 0, 5, 2, 0, VERDICT_PASS},
	{"UDP", UDP, 0, 0, 6, 3, 1, VERDICT_PASS},
	{"UDP again", UDP, 0, 0, 6, 3, 0, VERDICT_PASS},
	{"other UDP", UDP, 0, 0, 7, 3, 1, VERDICT_PASS},
	{"UDP, kept warm", UDP, 0, 0, 6, 30, 0, VERDICT_PASS},
	{"UDP, still warm", UDP, 0, 0, 6, 58, 0, VERDICT_PASS},
	{"UDP, long silent", UDP, 0, 0, 7, 58, 1, VERDICT_PASS},
	{"UDP with SYN's bit in its length", UDP, SYN, 0, 6, 58, 0, VERDICT_PASS},
	{"ping", ICMP, 0, 0, 8, 58, 0, VERDICT_PASS},
	{"SCTP", SCTP, SYN, 0, 9, 58, 0, VERDICT_PASS},
	{"no IP", 0, 0, 0, 10, 58, 0, VERDICT_PASS},
	{"UDP fragment", UDP, 0, FIRST, 11, 58, 1, VERDICT_PASS},
	{"another of them", UDP, 0, FIRST, 11, 58, 0, VERDICT_PASS},
	{"later one of nothing", UDP, 0, LATER, 20, 58, 0, VERDICT_PASS},
	{"TCP fragment without flags", TCP, 0, FIRST | NO_FLAGS, 12, 58, 1, VERDICT_PASS},
	{"another of them", TCP, 0, LATER, 12, 59, 0, VERDICT_PASS},
	{"TCP fragment with flags", TCP, ACK, FIRST, 12, 59, 0, VERDICT_PASS},
	{"ICMP fragment", ICMP, 0, 1, 13, 59, 0, VERDICT_PASS},
	{"the tenth", UDP, 0, 0, 14, 59, 1, VERDICT_PASS},
	{"refused", UDP, 0, 0, 15, 59, 1, VERDICT_DROP},
	{"refused stays new", UDP, 0, 0, 15, 59, 1, VERDICT_DROP},
	{"refused SYN", TCP, SYN, 0, 16, 59, 1, VERDICT_DROP},
	{"refused fragment of a SYN", TCP, SYN, FIRST, 16, 59, 1, VERDICT_DROP},
	{"refused TCP without flags", TCP, 0, FIRST | NO_FLAGS, 16, 59, 1, VERDICT_DROP},
	{"refused, behind too many headers", 0, 0, NOTHING, 16, 59, 1, VERDICT_DROP},
	{"known goes on", UDP, 0, 0, 14, 59, 0, VERDICT_PASS},
	{"TCP goes on", TCP, ACK, 0, 1, 59, 0, VERDICT_PASS},
};

/* Returns the packet of a step. `data` is the IPv4 header; only protocol and addresses are set. */
static struct packet packet_of(const struct step *step, uint8_t *data)
{
	data[PACKET_IPV4_PROTO] = step->proto;
	memcpy(data + PACKET_IPV4_SRC, (const uint32_t[]){step->hash, 0}, 8);
	return (struct packet){
		.family = step->proto ? PACKET_IPV4 : PACKET_OTHER,
		.proto = step->proto,
		.src_off = PACKET_IPV4_SRC,
		.tcp_flags = step->tcp_flags,
		.fragment = step->fragment & ((1 << UNKNOWN_SHIFT) - 1),
		.unknown = step->fragment >> UNKNOWN_SHIFT,
	};
}

TEST(test_flows)
{
	struct policy policy = defaults;
	ENDED_BY(lane_stop) struct lane lane;

	policy.count = COUNT_FLOWS;
	policy.limit_bps = 1; /* 1/8 flow/s; the profile's rate is set to 0 below */
	policy.burst_bytes = 10;
	policy.meter = METER_TOKEN_BUCKET;
	lane_start(&lane, &policy, 0);
	lane.state.other->profile.bucket.rate = 0;
	for (unsigned i = 0; i < COUNT(story); i++) {
		uint8_t data[PACKET_IPV4_SRC + 8] = {0};
		struct packet packet = packet_of(&story[i], data);
		uint64_t now = story[i].at * SECOND;
		uint32_t cost = police_cost(&lane.state, &packet, data, 1000, now);
		enum verdict verdict = police_charge(&lane.state, &packet, data, cost, now);

		if (cost != story[i].cost)
			fail_msg("step %u (%s): costs %u", i, story[i].what, cost);
		if (verdict != story[i].verdict)
			fail_msg("step %u (%s): verdict %d", i, story[i].what, verdict);
	}
	assert_counters(&lane, COUNT(story) - 6, 10, 6, 6, 0, 0);
}

/*
 * A flow has begun if its first packet passed marked or in shadow mode, but not if it could not be
 * marked.
 */
TEST(test_flows_over_the_limit)
{
	static const struct {
		enum action action;
		bool marked;
		uint32_t cost_after;
	} rows[] = {{ACTION_COUNT, false, 0}, {ACTION_MARK, true, 0}, {ACTION_MARK, false, 1}};

	for (unsigned i = 0; i < COUNT(rows); i++) {
		struct policy policy = defaults;
		struct packet first = {.family = PACKET_IPV4, .proto = UDP, .src_port = 77};
		struct packet second = {.family = PACKET_IPV4, .proto = UDP, .src_port = 78};
		const uint8_t data[8] = {0};
		struct lane lane;
		enum verdict verdict;

		policy.count = COUNT_FLOWS;
		policy.burst_bytes = 1;
		policy.action = rows[i].action;
		lane_start(&lane, &policy, 0);
		assert_int_equal(lane_police(&lane, &first, data, 100, 1), VERDICT_PASS);
		verdict = lane_police(&lane, &second, data, 100, 1);
		assert_int_not_equal(verdict, VERDICT_PASS);
		if (verdict == VERDICT_MARK)
			police_marked(&lane.state, &second, data, 1, 1, rows[i].marked);
		assert_int_equal(
			police_cost(&lane.state, &second, data, 100, 2), rows[i].cost_after);
		lane_stop(&lane);
	}
}

/* Writes the address into data at its offset and returns the packet. */
static struct packet packet_from(uint8_t *data, unsigned family, const char *address)
{
	struct packet packet = {.family = (uint8_t)family, .src_off = 26};

	memcpy(data + packet.src_off, address, family == PACKET_IPV4 ? 4 : 16);
	return packet;
}

/* Every source has its own limit of 10. The policy's prefix lengths define a source. */
TEST(test_sources)
{
	static const struct {
		uint8_t per_v4, per_v6, family;
		const char *one, *other; /* 16 bytes; IPv4 uses 4 */
		bool same;
	} rows[] = {
		{32, 128, 4, "\x0a\0\0\1", "\x0a\0\0\2", false},
		{24, 64, 4, "\x0a\0\0\1", "\x0a\0\0\2", true},
		{24, 64, 4, "\x0a\0\0\1", "\x0a\0\1\1", false},
		{1, 64, 4, "\x0a\0\0\1", "\x7f\0\1\1", true},
		{1, 64, 4, "\x0a\0\0\1", "\x80\0\0\1", false},
		{32, 128, 6, "abcdefghijklmnop", "abcdefghijklmnoq", false},
		{32, 64, 6, "abcdefghijklmnop", "abcdefghijklmnoq", true},
		{32, 64, 6, "abcdefghijklmnop", "abcdefgiijklmnop", false},
		{32, 63, 6, "abcdefghijklmnop", "abcdefgiijklmnop", true},
		{32, 63, 6, "abcdefgaijklmnop", "abcdefgcijklmnop", false},
	};

	for (unsigned i = 0; i < COUNT(rows); i++) {
		struct policy policy = defaults;
		uint8_t data[2][64];
		struct packet one = packet_from(data[0], rows[i].family, rows[i].one);
		struct packet other = packet_from(data[1], rows[i].family, rows[i].other);
		struct packet none = {.family = PACKET_OTHER};
		struct lane lane;

		policy.count = COUNT_PACKETS;
		policy.per_v4 = rows[i].per_v4;
		policy.per_v6 = rows[i].per_v6;
		lane_start(&lane, &policy, 1);
		for (unsigned n = 0; n < 10; n++)
			assert_int_equal(lane_police(&lane, &one, data[0], 60, 1), VERDICT_PASS);
		assert_int_equal(lane_police(&lane, &one, data[0], 60, 1), VERDICT_DROP);
		if ((lane_police(&lane, &other, data[1], 60, 1) == VERDICT_DROP) != rows[i].same)
			fail_msg("row %u", i);
		/*
		 * Packets without an address use the policy's own meter, independent of the
		 * sources.
		 */
		for (unsigned n = 0; n < 10; n++)
			assert_int_equal(lane_police(&lane, &none, NULL, 60, 1), VERDICT_PASS);
		assert_int_equal(lane_police(&lane, &none, NULL, 60, 1), VERDICT_DROP);
		/* One second later the source has its limit again. */
		assert_int_equal(lane_police(&lane, &one, data[0], 60, 1 + SECOND), VERDICT_PASS);
		policy_state_age(&lane.state, 2 * SECOND, 16);
		lane_stop(&lane);
	}
}

/*
 * Each source gets the same verdicts as with a private meter, for every meter allowed per source.
 */
TEST(test_sources_of_every_kind)
{
	static const enum meter_kind kinds[] = {
		METER_TOKEN_BUCKET, METER_GCRA, METER_FIXED_WINDOW, METER_HYBRID};
	enum { SOURCES = 50 };
	const uint64_t seed = 13;
	struct prng prng;

	prng_seed(&prng, seed);
	for (unsigned k = 0; k < COUNT(kinds); k++) {
		struct policy policy = defaults;
		union meter meters[SOURCES];
		uint64_t now = 9, passed = 0;
		struct lane lane;

		policy.meter = kinds[k];
		policy.per_v4 = 32;
		policy.per_v6 = 128;
		policy.burst_bytes = 4000;
		policy.limit_bps = 4000 * BPS;
		lane_start(&lane, &policy, now);
		for (unsigned i = 0; i < SOURCES; i++)
			meter_init(lane.profile.kind, &meters[i], &lane.profile.meter, now, 0);
		for (unsigned n = 0; n < 20000; n++) {
			unsigned i = prng_below(&prng, SOURCES);
			char address[4] = {10, 0, 0, (char)i};
			uint8_t data[64];
			struct packet packet = packet_from(data, PACKET_IPV4, address);
			uint32_t len = 60 + prng_below(&prng, 1455);
			bool want;

			now += prng_below(&prng, SECOND / 200);
			want = meter_conforms(
				lane.profile.kind, &meters[i], &lane.profile.meter, now, len);
			if ((lane_police(&lane, &packet, data, len, now) == VERDICT_PASS) != want)
				fail_msg("seed %" PRIu64 ", %s: packet %u", seed,
					meter_name(kinds[k]), n);
			passed += want;
		}
		assert_true(passed > 2000 && passed < 19000);
		lane_stop(&lane);
	}
}

/* Returns the state of a policy that samples one packet in 2^shift. */
static struct policy_state sampled_policy(unsigned shift, uint32_t flags, uint32_t packets)
{
	return (struct policy_state){
		.bucket.fraction = police_owner(POLICE_SIMPLE | flags, shift, ACCOUNTING_L2),
		.limit = {0, TOKEN_BUCKET_MAX_BURST << TOKEN_BYTE},
		.packets = packets,
	};
}

/* Samples represent all packets, or TCP alone with POLICE_TCP_ONLY; or there are none. */
TEST(test_sample)
{
	static const struct {
		unsigned shift;
		uint32_t flags;
		double share; /* part of all packets; a quarter of them is TCP */
	} rows[] = {{0, 0, 1}, {2, 0, 1}, {7, 0, 1}, {0, POLICE_TCP_ONLY, 0.25},
		{3, POLICE_TCP_ONLY, 0.25}};
	enum { N = 200000, COST = 100 };

	for (unsigned i = 0; i < COUNT(rows); i++) {
		struct policy_state line = sampled_policy(rows[i].shift, rows[i].flags, 0);
		struct flow_sample sample = {0};
		double bytes = 0;

		for (unsigned n = 0; n < N; n++) {
			struct packet packet = {
				.proto = n % 4 ? UDP : TCP, .flow_hash = 0x12345678};

			if (police_samples(&line))
				police_sample(&sample, &line, &packet, NULL, COST);
			police_charge_simple(&line, COST, 0);
		}
		for (unsigned slot = 0; slot < FLOW_SLOTS; slot++)
			bytes += (double)flow_slot_count(flow_slot_read(&sample, slot));
		assert_near(bytes, rows[i].share * N * COST, 0.01 * rows[i].share * N * COST);
		token_bucket_set_owner(
			&line.bucket, police_owner(POLICE_SIMPLE, POLICE_UNSAMPLED, ACCOUNTING_L2));
		for (unsigned n = 0; n < 1000; n++, police_charge_simple(&line, COST, 0)) {
			assert_false(police_samples(&line));
			assert_int_equal(police_samples_burst(&line, 64), 0);
		}
	}
}

/*
 * Sampling has no beat with periodic traffic. The fraction of sampled packets is the same for every
 * m-th packet, such as one of m alternating flows. The initial count makes no difference.
 */
TEST(test_sample_does_not_beat)
{
	enum { EXPECTED = 250, PERIODS = 150 };
	const uint64_t seed = 15;
	struct prng prng;

	prng_seed(&prng, seed);
	for (unsigned shift = 1; shift < 10; shift += 2)
		for (unsigned m = 1; m <= PERIODS; m += m < 36 ? 1 : 19) {
			struct policy_state line = sampled_policy(
				shift, 0, (uint32_t)prng_next(&prng));
			unsigned of[PERIODS] = {0};

			for (unsigned n = 0; n < (m * EXPECTED) << shift; n++) {
				of[n % m] += police_samples(&line);
				line.packets++;
			}
			for (unsigned k = 0; k < m; k++)
				if (of[k] < 0.7 * EXPECTED || of[k] > 1.3 * EXPECTED)
					fail_msg("seed %" PRIu64 ", 1 in %u: %u of phase %u of %u",
						seed, 1u << shift, of[k], k, m);
		}
}
