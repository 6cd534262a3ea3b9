/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The packets that a worker passes under a limit whose lease has expired, however late the worker
 * runs. They are compared with exact bounds, for each meter that a hard limit can have and for a
 * bucket that workers share.
 */
#include "check.h"

#include "base/prng.h"
#include "lane.h"
#include "police/borrow.h"
#include "police/expire.h"

#define RATE   UINT64_C(1000000) /* byte/s */
#define BURST  UINT64_C(50000)
#define AFTER  UINT64_C(300000) /* byte/s, unreserved share */
#define ENDS   (2 * GHZ)        /* tick */
#define RUN    (4 * GHZ)
#define LARGE  1500
#define SHARED 3 /* workers */

static uint8_t ending(void)
{
	return expiry_ending(RATE, AFTER);
}

static void lane_start(struct lane *lane, const struct policy *policy)
{
	struct limiter_view view = {
		.limit = (double)RATE,
		.local_limit = (double)RATE,
		.local_burst = BURST,
		.ending = ending(),
	};

	lane_make(lane, policy, &view, &(struct policy_start){.hz = GHZ, .secret = 1, .seed = 1});
	assert_int_equal(lane->profile.ending, ending());
}

static uint64_t passes(struct lane *lane, uint32_t cost, uint64_t now)
{
	static const struct packet packet = {.family = PACKET_IPV4};
	static const uint8_t data[64];

	return police_charge(&lane->state, &packet, data, cost, now) == VERDICT_PASS ? cost : 0;
}

/* Charges a backlog of random sizes. In some runs the worker is stalled when the lease expires. */
static void run_lane(const struct policy *policy, uint64_t seed, const char *what)
{
	uint64_t sleeps = seed % 3 ? ENDS - GHZ / 4 : UINT64_MAX, passed = 0, passed_after = 0;
	uint64_t now = 0, most, least;
	struct prng prng;
	struct lane lane;
	bool ended = false;

	prng_seed(&prng, seed);
	lane_start(&lane, policy);
	while (now < RUN) {
		now += prng_within(&prng, GHZ / 2000);
		if (now > sleeps) {
			now = ENDS + prng_within(&prng, GHZ);
			sleeps = UINT64_MAX;
		}
		if (now >= ENDS && !ended)
			police_expire(&lane.state, lane.profile.ending, ENDS);
		ended = now >= ENDS;
		for (unsigned i = 0; i < 3; i++) {
			uint64_t cost = passes(&lane, 1 + prng_below(&prng, LARGE), now);

			passed += ended ? 0 : cost;
			passed_after += ended ? cost : 0;
		}
	}
	/* A meter can be wrong by 2^-8 byte; here the bound allows a whole byte. */
	most = BURST * AFTER / RATE + AFTER * (now - ENDS) / GHZ + 1;
	least = (AFTER - RATE / 200) * (now - ENDS - GHZ) / GHZ - LARGE;
	if (passed > RATE * 2 + BURST + 1)
		fail_msg("%s, seed %" PRIu64 ": %" PRIu64 " before the end", what, seed, passed);
	if (passed_after > most || passed_after < least)
		fail_msg("%s, seed %" PRIu64 ": %" PRIu64 " after the end, not %" PRIu64
			 " to %" PRIu64,
			what, seed, passed_after, least, most);
	lane_stop(&lane);
}

/* Packets above the limit are dropped, so that only the hard limit passes. */
#define GREEN_ALONE                                                                           \
	{                                                                                     \
		.second = {.limit_bps = RATE * 8 * 2, .burst_bytes = BURST * 2}, .actions = { \
			{ACTION_PASS, MARK_ECN},                                              \
			{ACTION_DROP, MARK_ECN},                                              \
			{ACTION_DROP, MARK_ECN}                                               \
		}                                                                             \
	}

TEST(each_meter_keeps_to_what_is_left)
{
	static const struct {
		const char *what;
		struct policy policy;
	} rows[] = {
		{"token bucket", {.meter = METER_TOKEN_BUCKET}},
		{"token bucket that marks", {.meter = METER_TOKEN_BUCKET, .action = ACTION_MARK}},
		{"gcra", {.meter = METER_GCRA}},
		{"phantom", {.meter = METER_PHANTOM}},
		{"phantom that marks", {.meter = METER_PHANTOM, .action = ACTION_MARK}},
		{"what is green", {.meter = METER_TRTCM, .colours = GREEN_ALONE}},
		{"of one rate", {.meter = METER_SRTCM, .colours = GREEN_ALONE}},
		{"and an excess", {.meter = METER_TRTCM_4115, .colours = GREEN_ALONE}},
	};

	for (unsigned i = 0; i < COUNT(rows); i++)
		for (uint64_t seed = 1; seed <= 20; seed++) {
			struct policy policy = rows[i].policy;

			policy.limit_bps = RATE * 8;
			policy.burst_bytes = BURST;
			policy.mark = MARK_ECN;
			policy.accounting = ACCOUNTING_L2;
			policy.classes.n = 64;
			policy.guarantee = GUARANTEE_HARD;
			run_lane(&policy, seed, rows[i].what);
		}
}

struct sharing {
	struct shared_bucket shared;
	struct policy_state states[SHARED];
	struct prng prng;
};

static struct shared_bucket_profile shared_profile(void)
{
	struct token_bucket_params params = {.rate_bps = RATE * 8, .burst_bytes = BURST};
	struct shared_bucket_profile profile;

	assert_int_equal(shared_bucket_profile_init(&profile, &params, SHARED, 0, GHZ), 0);
	return profile;
}

static void sharing_start(struct sharing *s, uint64_t seed)
{
	struct shared_bucket_profile profile = shared_profile();

	*s = (struct sharing){0};
	prng_seed(&s->prng, seed);
	shared_bucket_init(&s->shared, &profile, 0);
	for (unsigned w = 0; w < SHARED; w++)
		s->states[w] = (struct policy_state){.limit = police_borrow_profile(),
			.bucket.fraction = police_owner(
				POLICE_SIMPLE, POLICE_UNSAMPLED, ACCOUNTING_L2)};
}

/* Charges one packet of random size on a worker; returns the bytes that pass. */
static uint64_t draw(struct sharing *s, unsigned worker, bool ended, uint64_t now)
{
	struct policy_state *state = &s->states[worker];
	uint32_t cost = 1 + prng_below(&s->prng, LARGE);

	if (ended)
		police_borrow_ended(state, &s->shared, cost, now,
			&(struct police_end){.from = ENDS, .ending = ending()});
	else
		police_borrow(state, &s->shared, cost, now);
	return police_charge_simple(state, cost, now) == VERDICT_PASS ? cost : 0;
}

/* Sends packets on the workers in the mask, from one time to another. Returns the bytes passed. */
static uint64_t draw_until(
	struct sharing *s, unsigned workers, bool ended, uint64_t from, uint64_t to)
{
	uint64_t passed = 0;

	for (uint64_t now = from; now < to; now += 1 + prng_within(&s->prng, GHZ / 2000))
		for (unsigned w = 0; w < SHARED; w++)
			if (workers >> w & 1)
				passed += draw(s, w, ended, now);
	return passed;
}

static void expect_between(
	const char *what, uint64_t seed, uint64_t got, uint64_t least, uint64_t most)
{
	if (got < least || got > most)
		fail_msg("%s, seed %" PRIu64 ": %" PRIu64 ", not %" PRIu64 " to %" PRIu64, what,
			seed, got, least, most);
}

/*
 * All workers have seen the end of the lease. Then control publishes a limit again, and the bucket
 * starts empty.
 */
TEST(shared_bucket_goes_slower_and_goes_on)
{
	uint64_t back = ENDS + 2 * GHZ, left = AFTER * 2;
	struct shared_bucket_profile profile = shared_profile();

	for (uint64_t seed = 1; seed <= 20; seed++) {
		struct sharing s;
		uint64_t at;

		sharing_start(&s, seed);
		(void)draw_until(&s, 7, false, 0, ENDS);
		expect_between("ended", seed, draw_until(&s, 7, true, ENDS, back),
			left - left / 50 - LARGE, left + BURST * AFTER / RATE + 1);
		at = expiry_slowed(ENDS, back, ending());
		shared_bucket_trim(&s.shared, at, at, ending(), 0);
		shared_bucket_change_since(&s.shared, &profile, at, back);
		/* Before, the workers had taken everything. */
		expect_between("again", seed, draw_until(&s, 7, false, back, back + GHZ),
			RATE - RATE / 100, RATE + 2 * LARGE);
	}
}

/* However far the clocks of two workers differ, tokens taken by one are not there for the other. */
TEST(slow_worker_knows_what_is_taken)
{
	for (unsigned bit = 30; bit < 62; bit++) {
		uint64_t now = ENDS + (UINT64_C(1) << bit);
		struct sharing s;

		sharing_start(&s, bit);
		while (draw(&s, 0, false, now))
			;
		for (unsigned i = 0; i < 100; i++)
			if (draw(&s, 1, true, now))
				fail_msg("2^%u ticks after the end it takes", bit);
	}
}

/* One stalled worker does not reduce the limit of the others, and gets less of it. */
TEST(slow_worker_takes_from_nobody_else)
{
	for (uint64_t seed = 1; seed <= 20; seed++) {
		struct sharing s;
		uint64_t passed, all = 0;

		sharing_start(&s, seed);
		all = draw_until(&s, 6, false, 0, ENDS);
		for (uint64_t now = ENDS; now < ENDS + GHZ; now += GHZ / 1000) {
			all += draw(&s, 0, true, now);
			all += draw_until(&s, 6, false, now, now + GHZ / 1000);
		}
		expect_between("all", seed, all, RATE * 3 - RATE / 20, RATE * 3 + BURST + 1);
		passed = draw_until(&s, 1, true, ENDS + GHZ, ENDS + 9 * GHZ);
		expect_between("alone", seed, passed, AFTER, AFTER * 8 + BURST + 1);
	}
}

/* The clock steps back. The bucket continues from there, without its tokens and missed earnings. */
TEST(shared_bucket_restarts)
{
	struct shared_bucket_profile profile = shared_profile();
	uint64_t passed;
	struct sharing s;

	sharing_start(&s, 1);
	(void)draw_until(&s, 7, false, 1000 * GHZ, 1001 * GHZ);
	shared_bucket_change_since(&s.shared, &profile, 1001 * GHZ, 1001 * GHZ);
	(void)draw_until(&s, 7, false, 1001 * GHZ, 1002 * GHZ);
	shared_bucket_restart(&s.shared, &profile, GHZ);
	passed = draw_until(&s, 7, false, GHZ, 2 * GHZ);
	expect_between("set back", 1, passed, RATE - RATE / 50, RATE + LARGE);
}

/*
 * At the end of a lease exactly the remaining tokens can be borrowed, in bytes and in parts of
 * packets. Tokens that a worker's bucket already holds need no borrowing.
 */
TEST(test_borrow_what_is_left)
{
	const struct police_end end = {.from = ENDS, .ending = ending()};
	uint64_t left = expiry_left(BURST << GCRA_SHIFT, ending()) >> GCRA_SHIFT;

	assert_in_range(left, 2, BURST - 1);
	for (unsigned bits = 0; bits <= 3; bits++) {
		uint64_t most = left >> bits, held = 5;

		for (unsigned more = 0; more <= 1; more++) {
			struct shared_bucket_profile profile = shared_profile();
			struct policy_extended other = {.borrows = true,
				.count = bits ? COUNT_PACKETS : COUNT_BYTES,
				.unit_bits = (uint8_t)bits};
			struct policy_state level = {.other = &other};
			struct token_bucket *bucket = &other.meter.bucket;
			struct shared_bucket shared;
			uint64_t there;

			profile.quantum = profile.least = 0;
			profile.burst = BURST << GCRA_SHIFT;
			shared_bucket_init(&shared, &profile, ENDS);
			if (bits == 0) {
				level = (struct policy_state){
					.bucket.fraction = police_owner(
						POLICE_SIMPLE, POLICE_UNSAMPLED, ACCOUNTING_L2)};
				bucket = &level.bucket;
			}
			bucket->tokens = held << bits << TOKEN_BYTE;
			if (police_borrow_ended(&level, &shared, held, ENDS, &end) != true)
				fail_msg("2^-%u: what it holds", bits);
			assert_int_equal(bucket->tokens, held << bits << TOKEN_BYTE);
			if (police_borrow_ended(&level, &shared, held + most + more, ENDS, &end) !=
				!more)
				fail_msg("2^-%u, %u more", bits, more);
			assert_int_equal(
				bucket->tokens >> TOKEN_BYTE, (more ? held : held + most) << bits);
			there = shared_bucket_level(&shared, ENDS);
			assert_int_equal(there, more ? left : left - (most << bits));
		}
	}
}

/* A bucket with rate 0 earns nothing after the lease, and a draining one drains no more. */
TEST(test_nothing_left_of_nothing)
{
	static const int64_t rates[] = {-1000, -1, 0};

	for (unsigned i = 0; i < COUNT(rates); i++) {
		struct policy_state plain = {.limit = {rates[i], BURST << TOKEN_BYTE},
			.bucket.fraction = police_owner(
				POLICE_SIMPLE, POLICE_UNSAMPLED, ACCOUNTING_L2)};

		police_expire(&plain, ending(), ENDS);
		assert_int_equal(plain.limit.rate, 0);
		assert_int_equal(plain.limit.burst, expiry_left(BURST << TOKEN_BYTE, ending()));
	}
}

/*
 * Tests the least that a shared bucket holds at the end of its lease: two full frames, or two
 * packets, in parts of its unit.
 */
TEST(test_least_of_a_burst)
{
	static const struct {
		bool borrows;
		enum counting count;
		uint8_t unit_bits;
		uint64_t least;
	} rows[] = {
		{false, COUNT_BYTES, 0, 9084},
		{false, COUNT_PACKETS, 3, 9084},
		{true, COUNT_BYTES, 0, 9084},
		{true, COUNT_PACKETS, 0, 6},
		{true, COUNT_PACKETS, 3, 48},
	};
	struct policy_state plain = {0};

	token_bucket_set_owner(
		&plain.bucket, police_owner(POLICE_SIMPLE, POLICE_UNSAMPLED, ACCOUNTING_L3));
	assert_int_equal(police_burst_least(&plain), 9084);
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct policy_extended other = {.borrows = rows[i].borrows,
			.count = rows[i].count,
			.unit_bits = rows[i].unit_bits};
		struct policy_state level = {.other = &other};

		assert_int_equal(police_burst_least(&level), rows[i].least);
	}
}

/* A meter that no hard limit can have does not change at the end. A GCRA slows down. */
TEST(test_other_meters)
{
	static const uint64_t seconds = 10;

	for (unsigned gcra = 0; gcra < 2; gcra++) {
		struct policy policy = {.meter = gcra ? METER_GCRA : METER_FIXED_WINDOW,
			.limit_bps = RATE * 8,
			.burst_bytes = BURST,
			.window_ns = 50000000};
		uint64_t passed = 0, now = 0;
		struct lane lane;

		lane_start(&lane, &policy);
		assert_int_equal(lane.state.other->kind, policy.meter);
		police_expire(&lane.state, ending(), now);
		for (; now < seconds * GHZ; now += GHZ / 2000)
			passed += passes(&lane, 1000, now);
		if (gcra)
			assert_in_range(passed,
				BURST * AFTER / RATE + (AFTER - RATE / 200) * seconds - LARGE,
				BURST * AFTER / RATE + AFTER * seconds);
		else
			assert_in_range(passed, RATE * seconds - LARGE, RATE * seconds);
		lane_stop(&lane);
	}
}
