/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Bookings of a shared bucket within a number of ticks, exact to the unit, and by several threads.
 */
#include "check.h"

#include <pthread.h>

#include "base/prng.h"
#include "meter/shared_bucket.h"

#define WORKERS 4
#define UNIT    (UINT64_C(1) << GCRA_SHIFT) /* a unit in virtual time */

static struct shared_bucket_profile limit_of(uint64_t bps, uint64_t burst)
{
	struct token_bucket_params params = {.rate_bps = bps, .burst_bytes = burst};
	struct shared_bucket_profile profile;

	assert_int_equal(shared_bucket_profile_init(&profile, &params, WORKERS, 0, GHZ), 0);
	return profile;
}

static void shared_bucket_make(
	struct shared_bucket *shared, uint64_t bps, uint64_t burst, uint64_t now)
{
	struct shared_bucket_profile profile = limit_of(bps, burst);

	shared_bucket_init(shared, &profile, now);
}

/* Present tokens are booked immediately. Missing ones are booked if they are earned in time. */
TEST(test_within)
{
	static const struct {
		uint64_t bps, at, need, ticks;
		bool books;
		uint64_t lack; /* units */
	} rows[] = {
		/* 1000 are there; a tick earns a unit. */
		{8 * GHZ, 0, 0, 0, true, 0},
		{8 * GHZ, 0, 1000, 0, true, 0},
		{8 * GHZ, 0, 1001, 0, false, 0},
		{8 * GHZ, 0, 1001, 1, true, 1},
		{8 * GHZ, 0, 5000, 4000, true, 4000},
		{8 * GHZ, 0, 5001, 4000, false, 0},
		/*
		 * The cost of the packet has been earned meanwhile, and nothing beyond the burst.
		 */
		{8 * GHZ, 999999, 1000, 0, true, 0},
		{8 * GHZ, 999999, 500000, 0, true, 0},
		{8 * GHZ, 999999, 1001000, 0, false, 0},
		/* A worker whose clock is behind gets a later point. */
		{8 * GHZ, -(uint64_t)300, 1000, 299, false, 0},
		{8 * GHZ, -(uint64_t)300, 1000, 300, true, 300},
		/* Four units per tick, and half a unit. */
		{32 * GHZ, 0, 1401, 100, false, 0},
		{32 * GHZ, 0, 1400, 100, true, 400},
		{4 * GHZ, 0, 1051, 101, false, 0},
		{4 * GHZ, 0, 1051, 102, true, 51},
		/* The first booking can exceed the maximum. */
		{8 * GHZ, 0, UINT32_MAX, UINT64_C(1) << 32, true, UINT32_MAX - 1000},
		{8 * GHZ, 0, UINT32_MAX, UINT32_MAX - 1001, false, 0},
		/* Without a rate only present tokens can be booked. */
		{0, 0, 1000, UINT64_C(1) << 38, true, 0},
		{0, 0, 1001, UINT64_C(1) << 38, false, 0},
		{0, GHZ, 0, 0, true, 0},
	};

	for (unsigned i = 0; i < COUNT(rows); i++) {
		uint64_t start = UINT64_C(1) << (20 + i), seen;
		struct shared_bucket_booking booking = {7, 7, 7};
		struct shared_bucket shared;

		shared_bucket_make(&shared, rows[i].bps, 1000, start);
		seen = shared.state.allow_at;
		if (shared_bucket_book_within(&shared, start + rows[i].at, start + rows[i].at,
			    rows[i].need, rows[i].ticks, rows[i].ticks, &booking) != rows[i].books)
			fail_msg("row %u", i);
		if (!rows[i].books) {
			assert_int_equal(shared.state.allow_at, seen);
			continue;
		}
		if (booking.lack != rows[i].lack * UNIT || booking.rate != shared.profiles[0].rate)
			fail_msg("row %u: lacks %" PRIu64, i, booking.lack);
	}
}

/* Bookings follow each other: each is after all earlier ones. */
TEST(test_order)
{
	struct shared_bucket_booking booking;
	struct shared_bucket shared;

	shared_bucket_make(&shared, 8 * GHZ, 1000, 0);
	for (unsigned i = 0; i < 100; i++) {
		assert_true(shared_bucket_book_within(
			&shared, 5 * i, 5 * i, 100, 10000, 10000, &booking));
		assert_int_equal(booking.lack, i < 10 ? 0 : (100 * (i + 1) - 1000 - 5 * i) * UNIT);
		/* A refused booking leaves no trace. */
		assert_false(shared_bucket_book_within(
			&shared, 5 * i, 5 * i, 100000, 10000, 10000, &booking));
	}
}

/* Same as shared_bucket_book(), which has its bound in virtual time. */
TEST(test_same)
{
	for (uint64_t seed = 1; seed <= ROUNDS(400); seed++) {
		struct shared_bucket one, other;
		struct prng prng;
		uint64_t now;

		prng_seed(&prng, seed);
		now = prng_next(&prng) >> 1;
		shared_bucket_make(&one, 1 + (prng_next(&prng) >> (25 + seed % 30)),
			prng_below(&prng, 100000), now);
		other = one;
		for (unsigned i = 0; i < 1000; i++) {
			uint64_t at = now - prng_below(&prng, 1000), need = prng_below(&prng, 3000);
			uint64_t ticks = prng_next(&prng) >> (40 + prng_below(&prng, 24)), point;
			uint64_t most = (uint64_t)((tokens_t)ticks * one.profiles[0].rate >>
						   (TOKEN_SHIFT - GCRA_SHIFT));
			struct shared_bucket_booking booking;
			bool books = shared_bucket_book_within(
				&one, at, at, need, ticks, ticks, &booking);

			now += prng_next(&prng) >> (44 + prng_below(&prng, 20));
			if (most > SHARED_BUCKET_AHEAD << GCRA_SHIFT) { /* beyond its range */
				other.state = one.state;
				continue;
			}
			if (books != (shared_bucket_book(&other, at, need, most, &point) == 0))
				fail_msg("seed %" PRIu64 ": %u, %d", seed, i, books);
			assert_int_equal(one.state.allow_at, other.state.allow_at);
			if (books && booking.lack)
				assert_int_equal(
					shared_bucket_time(&one, at) + booking.lack, point);
		}
	}
}

/* A new limit is valid for later bookings. Earlier ones keep their units. */
TEST(test_change)
{
	struct shared_bucket_profile slower = limit_of(4 * GHZ, 1000), none = limit_of(0, 1000);
	struct shared_bucket_booking booking;
	struct shared_bucket shared;

	shared_bucket_make(&shared, 8 * GHZ, 1000, 0);
	assert_true(shared_bucket_book_within(&shared, 0, 0, 3000, 10000, 10000, &booking));
	shared_bucket_change(&shared, &slower, 500);
	/* 1500 units are owed, and a tick earns half a unit. */
	assert_false(shared_bucket_book_within(&shared, 600, 600, 50, 2999, 2999, &booking));
	assert_true(shared_bucket_book_within(&shared, 600, 600, 50, 3000, 3000, &booking));
	assert_int_equal(booking.lack, 1500 * UNIT);
	assert_int_equal(booking.rate, slower.rate);
	shared_bucket_change(&shared, &none, 700);
	assert_false(shared_bucket_book_within(
		&shared, 800, 800, 1, UINT64_C(1) << 38, UINT64_C(1) << 38, &booking));
}

/* Threads book all tokens: no unit twice, and none is lost. */
struct booker {
	pthread_t thread;
	struct shared_bucket *shared;
	uint8_t *booked; /* number of bookings of each unit */
	unsigned n;
};

enum { EACH = 20000 };

static void *booker_run(void *context)
{
	struct booker *booker = context;
	struct shared_bucket_booking booking;

	for (unsigned i = 0; i < EACH; i++) {
		if (!shared_bucket_book_within(booker->shared, 0, 0, 1, UINT64_C(1) << 32,
			    UINT64_C(1) << 32, &booking))
			break;
		booker->booked[booking.lack / UNIT - 1]++;
		booker->n++;
	}
	return NULL;
}

TEST(test_threads)
{
	static uint8_t booked[WORKERS][WORKERS * EACH];
	struct booker bookers[WORKERS];
	struct shared_bucket shared;

	memset(booked, 0, sizeof(booked));
	shared_bucket_make(&shared, 8 * GHZ, 1000, 0);
	shared_bucket_spend(&shared);
	for (unsigned i = 0; i < WORKERS; i++) {
		bookers[i] = (struct booker){.shared = &shared, .booked = booked[i]};
		assert_int_equal(
			pthread_create(&bookers[i].thread, NULL, booker_run, &bookers[i]), 0);
	}
	for (unsigned i = 0; i < WORKERS; i++) {
		assert_int_equal(pthread_join(bookers[i].thread, NULL), 0);
		assert_int_equal(bookers[i].n, EACH);
	}
	for (unsigned unit = 0; unit < WORKERS * EACH; unit++) {
		unsigned times = 0;

		for (unsigned i = 0; i < WORKERS; i++)
			times += booked[i][unit];
		if (times != 1)
			fail_msg("unit %u is booked %u times", unit, times);
	}
}
