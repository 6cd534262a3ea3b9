/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Packets of a burst that are metered together by source get the same results as each packet alone.
 */
#include "check.h"

#include "allocate/allocate.h"
#include "base/prng.h"
#include "police/charge.h"
#include "police/extended.h"
#include "engine/profile.h"
#include "police/sourced.h"

enum { TCP = 6, UDP = 17, SOURCES = 200, BURSTS = 400 };

static const struct sampling every = {0}; /* every packet */

static const struct policy policies[] = {
	{.meter = METER_TOKEN_BUCKET, .per_v4 = 32, .per_v6 = 128, .action = ACTION_DROP},
	{.meter = METER_GCRA, .per_v4 = 31, .per_v6 = 64, .action = ACTION_MARK},
	{.meter = METER_FIXED_WINDOW, .per_v4 = 32, .per_v6 = 0, .action = ACTION_COUNT},
	{.meter = METER_HYBRID, .per_v4 = 30, .per_v6 = 127, .action = ACTION_DROP},
	{.meter = METER_TOKEN_BUCKET,
		.per_v4 = 32,
		.per_v6 = 128,
		.count = COUNT_PACKETS,
		.burst_bytes = 2,
		.limit_bps = 16 * 8},
	{.meter = METER_TOKEN_BUCKET,
		.per_v4 = 28,
		.per_v6 = 128,
		.count = COUNT_FLOWS,
		.burst_bytes = 2,
		.limit_bps = 16 * 8},
	{.meter = METER_GCRA, .per_v4 = 0, .per_v6 = 0},
};

#define POLICIES COUNT(policies)

struct lane {
	struct policy_state state[POLICIES];
	void *memory[POLICIES];
};

struct arrival {
	struct packet packet;
	uint8_t data[32];
	uint32_t len;
	unsigned policy;
};

static void lane_start(struct lane *lane, uint64_t now)
{
	const struct policy_start start = {.now = now, .hz = GHZ, .secret = 7, .seed = 7};

	for (unsigned i = 0; i < POLICIES; i++) {
		struct policy policy = policies[i];
		struct limiter_view view;
		struct limit_profile profile;

		policy.allocator = allocator_find("central");
		policy.mark = MARK_ECN;
		policy.sources = 4 * SOURCES; /* room for all, in any order */
		policy.window_ns = GHZ / 4;
		if (policy.count == COUNT_BYTES) {
			policy.burst_bytes = policy.action == ACTION_MARK ? 1500 : 4000;
			policy.limit_bps = 4 * policy.burst_bytes * 8;
		}
		view = (struct limiter_view){
			.limit = (double)policy.limit_bps / 8,
			.local_limit = (double)policy.limit_bps / 8,
			.local_burst = policy.burst_bytes,
		};
		lane->memory[i] = aligned_alloc(CACHE_LINE, policy_extended_bytes(&policy));
		assert_non_null(lane->memory[i]);
		assert_int_equal(
			limit_profile_init(&profile, &policy, i, &view, &every, 1, GHZ), 0);
		policy_state_init(&lane->state[i], lane->memory[i], &policy, &profile, &start);
	}
}

static void lane_stop(struct lane *lane)
{
	for (unsigned i = 0; i < POLICIES; i++)
		free(lane->memory[i]);
}

/*
 * Draws a packet. If `only` is the number of a policy, all packets of the burst have this policy,
 * which is the case if there is only one.
 */
static void arrive_sourced(struct arrival *arrival, struct prng *prng, unsigned only)
{
	static const enum packet_family families[] = {PACKET_IPV4, PACKET_IPV6, PACKET_OTHER};
	unsigned family = prng_below(prng, 8), source = prng_below(prng, SOURCES);

	*arrival = (struct arrival){
		.packet.family = (uint8_t)families[family < 4   ? 0
						   : family < 7 ? 1
								: 2],
		.packet.proto = prng_below(prng, 2) ? UDP : TCP,
		.packet.flow_hash = 1 + prng_below(prng, 1000),
		.len = 60 + prng_below(prng, 1455),
		.policy = only < POLICIES ? only : prng_below(prng, POLICIES),
	};
	arrival->data[0] = (uint8_t)source;
	arrival->data[3] = (uint8_t)(source * 3);
	arrival->data[15] = (uint8_t)(source * 5);
}

static enum verdict marked_at_random(struct policy_state *state, const struct arrival *arrival,
	uint32_t cost, enum verdict verdict, uint64_t now)
{
	if (verdict == VERDICT_MARK)
		police_marked(state, &arrival->packet, arrival->data, cost, now, arrival->len & 1);
	return verdict;
}

static enum verdict verdict_sourced(struct lane *lane, const struct sourced *sourced,
	const struct arrival *arrival, unsigned i, uint64_t now)
{
	struct policy_state *state = &lane->state[arrival->policy];
	const struct packet *packet = &arrival->packet;
	uint32_t cost = police_cost(state, packet, arrival->data, arrival->len, now);
	enum verdict verdict;

	if (sourced_settles(sourced) >> i & 1) {
		assert_int_equal(sourced_cost(sourced, i), cost);
		verdict = sourced_count(sourced, i) ? VERDICT_DROP : VERDICT_PASS;
	} else if (sourced_knows(sourced, i)) {
		verdict = police_enact(
			state, packet, arrival->data, cost, now, sourced_conforms(sourced, i));
	} else {
		verdict = police_charge(state, packet, arrival->data, cost, now);
	}
	return marked_at_random(state, arrival, cost, verdict, now);
}

static void expect_same_counts(const struct lane *a, const struct lane *b)
{
	for (unsigned i = 0; i < POLICIES; i++) {
		const struct policy_state *one = &a->state[i], *other = &b->state[i];

		assert_int_equal(one->packets, other->packets);
		assert_int_equal(one->bytes, other->bytes);
		assert_int_equal(one->dropped_packets, other->dropped_packets);
		assert_int_equal(one->dropped_bytes, other->dropped_bytes);
		assert_int_equal(police_over_packets(one), police_over_packets(other));
		assert_int_equal(police_over_bytes(one), police_over_bytes(other));
	}
}

static bool are_of_one_policy(const struct arrival *arrivals, unsigned n)
{
	for (unsigned i = 1; i < n; i++)
		if (arrivals[i].policy != arrivals[0].policy)
			return false;
	return true;
}

/* Also checks which packets are metered together, so that the test has an effect. */
static void run_burst(struct lane *alone, struct lane *together, const struct arrival *arrivals,
	unsigned n, uint64_t now, uint64_t seed)
{
	static const struct sourced nobody;
	struct sourced sourced;

	memset(&sourced, 0xff, sizeof(sourced)); /* rest of another burst */
	sourced_begin(&sourced);
	for (unsigned i = 0; i < n; i++) {
		const struct arrival *a = &arrivals[i];
		struct policy_state *state = &together->state[a->policy];
		bool own = police_source_bits(state, &a->packet) != 0;
		const struct sourced_packet packet = {
			.family = (enum packet_family)a->packet.family,
			.src = a->data + a->packet.src_off,
			.bytes = police_bytes(state, a->packet.l2_len, a->len),
		};

		const struct sourced_policy policy = sourced_policy(state);

		sourced_add(&sourced, &policy,
			(uint64_t)sourced_fetch(&sourced, i, &policy, &packet) << i);
		assert_int_equal(sourced_knows(&sourced, i),
			own && policies[a->policy].count != COUNT_FLOWS);
	}
	if (are_of_one_policy(arrivals, n))
		sourced_meter_alike(&sourced, now);
	else
		sourced_meter(&sourced, now);
	for (unsigned i = 0; i < n; i++) {
		enum verdict want = verdict_sourced(alone, &nobody, &arrivals[i], i, now);
		enum verdict got = verdict_sourced(together, &sourced, &arrivals[i], i, now);

		if (want != got)
			fail_msg("seed %" PRIu64 ": packet %u of %u, policy %u: %d, not %d", seed,
				i, n, arrivals[i].policy, got, want);
	}
}

TEST(test_together_as_alone)
{
	for (uint64_t seed = 1; seed <= 4; seed++) {
		struct lane alone, together;
		uint64_t now = GHZ, dropped = 0, over = 0;
		struct prng prng;

		prng_seed(&prng, seed);
		lane_start(&alone, now);
		lane_start(&together, now);
		for (unsigned k = 0; k < BURSTS; k++) {
			struct arrival arrivals[SOURCED_MAX];
			unsigned n = 1 + prng_below(&prng, SOURCED_MAX);
			unsigned only = prng_below(&prng, 2 * POLICIES);

			for (unsigned i = 0; i < n; i++)
				arrive_sourced(&arrivals[i], &prng, only);
			now += prng_below(&prng, GHZ / 100);
			run_burst(&alone, &together, arrivals, n, now, seed);
		}
		expect_same_counts(&alone, &together);
		for (unsigned i = 0; i < POLICIES; i++) {
			dropped += alone.state[i].dropped_packets;
			over += police_over_packets(&alone.state[i]);
			if (policies[i].action == ACTION_MARK) /* some can be marked, some cannot */
				assert_true(police_over_packets(&alone.state[i]) > 0 &&
					    alone.state[i].dropped_packets > 0);
		}
		assert_true(dropped > BURSTS && over > BURSTS);
		lane_stop(&alone);
		lane_stop(&together);
	}
}

/* Packets of one policy are counted together: exactly those of the burst. */
TEST(test_counted_alike)
{
	static const struct {
		unsigned n;
		uint64_t conforming, drops, bytes;
		uint32_t dropped_packets;
		uint64_t dropped_bytes;
	} rows[] = {
		{1, 0, 1, 1000, 1, 1000},
		{1, 1, 0, 1000, 0, 0},
		{2, 0, 3, 2001, 2, 2001},
		{3, 5, 2, 3003, 1, 1001},
		{3, UINT64_MAX, 0, 3003, 0, 0},
		{SOURCED_MAX, UINT64_MAX >> 1, UINT64_C(1) << 63, 66016, 1, 1063},
	};
	struct sourced sourced;

	for (unsigned i = 0; i < COUNT(rows); i++) {
		struct policy_state line = {0};

		sourced_begin(&sourced);
		sourced.state[0] = &line;
		sourced.conforming = rows[i].conforming;
		for (unsigned k = 0; k < SOURCED_MAX; k++)
			sourced.count[k] = 1000 + k;
		if (sourced_count_alike(&sourced, rows[i].n) != rows[i].drops)
			fail_msg("row %u", i);
		assert_int_equal(line.packets, rows[i].n);
		assert_int_equal(line.bytes, rows[i].bytes);
		assert_int_equal(line.dropped_packets, rows[i].dropped_packets);
		assert_int_equal(line.dropped_bytes, rows[i].dropped_bytes);
	}
}
