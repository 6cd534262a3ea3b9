/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Limits on their way to a worker: in order, once, complete, and never lost permanently. The last
 * test is a real race, and most useful under ThreadSanitizer.
 */
#include "check.h"
#include "scope.h"

#include <pthread.h>
#include <sched.h>

#include "base/prng.h"
#include "limit_ring.h"
#include "datapath/meter/meter_checks.h"

#define POLICIES 10000 /* more than a ring holds */

/* A limit that has this value in each of its words. */
static struct limit_profile make_marked_limit(uint32_t policy, uint64_t value)
{
	return (struct limit_profile){
		.meter.bucket = {.rate = (int64_t)value, .burst = ~value},
		.policy = policy,
		.kind = METER_TOKEN_BUCKET,
		.sample_shift = value % 16,
	};
}

static bool is_whole(const struct limit_profile *profile)
{
	uint64_t value = (uint64_t)profile->meter.bucket.rate;

	return profile->meter.bucket.burst == ~value && profile->sample_shift == value % 16 &&
	       profile->kind == METER_TOKEN_BUCKET && profile->policy < POLICIES;
}

static bool limit_ring_marked_limit(struct limit_ring *limit_ring, uint32_t policy, uint64_t value)
{
	struct limit_profile profile = make_marked_limit(policy, value);

	return limit_ring_send(limit_ring, &profile);
}

static void expect_marked_limit(struct limit_ring *limit_ring, uint32_t policy, uint64_t value)
{
	struct limit_profile got;

	assert_int_equal(limit_ring_take(limit_ring, &got, 1), 1);
	assert_true(is_whole(&got));
	assert_int_equal(got.policy, policy);
	assert_int_equal(got.meter.bucket.rate, value);
}

static void expect_nothing(struct limit_ring *limit_ring)
{
	struct limit_profile got[4];

	assert_int_equal(limit_ring_take(limit_ring, got, 4), 0);
}

TEST(test_only_news_is_sent)
{
	struct limit_profile first = make_marked_limit(3, 100), shift = make_marked_limit(3, 101);
	ENDED_BY(limit_ring_free) struct limit_ring limit_ring;

	assert_int_equal(limit_ring_init(&limit_ring, POLICIES), 0);
	limit_ring_begin(&limit_ring, &first);
	expect_nothing(&limit_ring);
	assert_true(limit_ring_marked_limit(&limit_ring, 3, 100));
	expect_nothing(&limit_ring);
	assert_true(limit_ring_marked_limit(&limit_ring, 3, 101));
	assert_true(limit_ring_marked_limit(&limit_ring, 3, 101));
	assert_true(limit_ring_marked_limit(&limit_ring, 4, 101));
	assert_true(limit_ring_marked_limit(&limit_ring, 3, 100));
	expect_marked_limit(&limit_ring, 3, 101);
	expect_marked_limit(&limit_ring, 4, 101);
	expect_marked_limit(&limit_ring, 3, 100);
	expect_nothing(&limit_ring);
	/* Changed sampling alone is news. */
	shift.meter = first.meter;
	assert_true(limit_ring_send(&limit_ring, &shift));
	assert_int_equal(limit_ring_take(&limit_ring, &first, 1), 1);
	assert_int_equal(first.sample_shift, shift.sample_shift);
	expect_nothing(&limit_ring);
}

/* A rate, burst or shift that differs in one bit, and exchanged values, are news. */
TEST(test_every_bit)
{
	struct limit_profile first = {.kind = METER_TOKEN_BUCKET,
		.meter.bucket = {.rate = 1 << 20, .burst = 1 << 21},
		.sample_shift = 5};
	struct limit_profile got, next = first;
	ENDED_BY(limit_ring_free) struct limit_ring limit_ring;

	assert_int_equal(limit_ring_init(&limit_ring, 1), 0);
	limit_ring_begin(&limit_ring, &first);
	for (unsigned bit = 0; bit < 64 + 64 + 5; bit++) {
		next = first;
		if (bit < 64)
			next.meter.bucket.rate ^= (int64_t)(UINT64_C(1) << bit);
		else if (bit < 128)
			next.meter.bucket.burst ^= UINT64_C(1) << (bit - 64);
		else
			next.sample_shift ^= (uint8_t)(1 << (bit - 128));
		assert_true(limit_ring_send(&limit_ring, &next));
		if (limit_ring_take(&limit_ring, &got, 1) != 1)
			fail_msg("bit %u is not told", bit);
		limit_ring_begin(&limit_ring, &first);
	}
	next.meter.bucket = (struct token_bucket_profile){.rate = 1 << 21, .burst = 1 << 20};
	next.sample_shift = first.sample_shift;
	assert_true(limit_ring_send(&limit_ring, &next));
	assert_int_equal(limit_ring_take(&limit_ring, &got, 1), 1);
}

/* For each kind of meter, limits with different values are different. */
TEST(test_every_kind)
{
	const struct meter_params params = {.rate_bps = 8000000,
		.burst = 1000,
		.window_ns = 1000000000,
		.drop_probability = 0.25};
	struct meter_params other = params;
	ENDED_BY(limit_ring_free) struct limit_ring limit_ring;

	other.rate_bps *= 2;
	other.drop_probability *= 2;
	assert_int_equal(limit_ring_init(&limit_ring, METER_KINDS), 0);
	for (uint32_t kind = 0; kind < METER_KINDS; kind++) {
		struct limit_profile a = {.policy = kind, .kind = (uint8_t)kind}, b = a, got;
		struct meter_params one = params, two = other;

		one.kind = two.kind = kind;
		assert_int_equal(meter_profile_init(&a.meter, &one, 1000000000), 0);
		assert_int_equal(meter_profile_init(&b.meter, &two, 1000000000), 0);
		limit_ring_begin(&limit_ring, &a);
		assert_true(limit_ring_send(&limit_ring, &a));
		expect_nothing(&limit_ring);
		assert_true(limit_ring_send(&limit_ring, &b));
		assert_int_equal(limit_ring_take(&limit_ring, &got, 1), 1);
		assert_true(meter_profile_equal(kind, &got.meter, &b.meter));
	}
}

/* Each term of a shaper is news, and so is the end of a hard limit. */
TEST(test_every_term)
{
	const struct limit_profile first = {.kind = METER_TOKEN_BUCKET, .shaped = true};
	struct limit_profile rows[] = {first, first, first, first, first, first, first}, got;
	const size_t n = COUNT(rows);
	ENDED_BY(limit_ring_free) struct limit_ring limit_ring;

	rows[0].shape.terms.units = 1;
	rows[1].shape.terms.delay_us = 1;
	rows[2].shape.terms.target_us = 1;
	rows[3].shape.terms.interval_us = 1;
	rows[4].shape.terms.codel = true;
	rows[5].shape.terms.ecn = true;
	rows[6].ending = 1;
	assert_int_equal(limit_ring_init(&limit_ring, 1), 0);
	for (size_t i = 0; i < n * n; i++) {
		limit_ring_begin(&limit_ring, i % n == i / n ? &first : &rows[i / n]);
		assert_true(limit_ring_send(&limit_ring, &rows[i % n]));
		if (limit_ring_take(&limit_ring, &got, 1) != 1)
			fail_msg("row %zu after row %zu is not told", i % n, i / n);
		expect_nothing(&limit_ring);
	}
}

/* A limit that does not fit is not sent. Later it is sent with its value at that time. */
TEST(test_full)
{
	struct limit_profile got;
	uint32_t sent = 0;
	ENDED_BY(limit_ring_free) struct limit_ring limit_ring;

	assert_int_equal(limit_ring_init(&limit_ring, POLICIES), 0);
	while (limit_ring_marked_limit(&limit_ring, sent, 1))
		sent++;
	assert_int_equal(sent, LIMIT_RING_MAX);
	assert_true(limit_ring_marked_limit(&limit_ring, 0, 1)); /* no news: needs no room */
	assert_false(limit_ring_marked_limit(&limit_ring, 0, 2));
	assert_false(limit_ring_marked_limit(&limit_ring, 0, 3));
	expect_marked_limit(&limit_ring, 0, 1);
	assert_true(limit_ring_marked_limit(&limit_ring, 0, 4));
	for (uint32_t i = 1; i < sent; i++)
		expect_marked_limit(&limit_ring, i, 1);
	expect_marked_limit(&limit_ring, 0, 4);
	assert_int_equal(limit_ring_take(&limit_ring, &got, 1), 0);
}

TEST(test_few_policies)
{
	struct limit_ring limit_ring;

	for (unsigned n = 0; n < 5; n++) {
		assert_int_equal(limit_ring_init(&limit_ring, n), 0);
		for (uint64_t round = 1; round < 20; round++)
			for (unsigned p = 0; p < n; p++) {
				assert_true(limit_ring_marked_limit(&limit_ring, p, round));
				expect_marked_limit(&limit_ring, p, round);
			}
		expect_nothing(&limit_ring);
		limit_ring_free(&limit_ring);
	}
}

/* A mark is taken when all limits sent before it were taken, regardless of later ones. */
TEST(test_mark)
{
	struct limit_profile got;
	uint64_t value = 0;
	ENDED_BY(limit_ring_free) struct limit_ring limit_ring;

	assert_int_equal(limit_ring_init(&limit_ring, 3), 0);
	assert_true(limit_ring_taken(&limit_ring, limit_ring_mark(&limit_ring)));
	for (unsigned round = 0; round < 10; round++) { /* several times around the ring */
		uint32_t mark;

		assert_true(limit_ring_marked_limit(&limit_ring, 0, ++value));
		assert_true(limit_ring_marked_limit(&limit_ring, 1, ++value));
		mark = limit_ring_mark(&limit_ring);
		assert_true(limit_ring_marked_limit(&limit_ring, 2, ++value));
		assert_false(limit_ring_taken(&limit_ring, mark));
		assert_int_equal(limit_ring_take(&limit_ring, &got, 1), 1);
		assert_false(limit_ring_taken(&limit_ring, mark));
		assert_int_equal(limit_ring_take(&limit_ring, &got, 1), 1);
		assert_true(limit_ring_taken(&limit_ring, mark));
		assert_false(limit_ring_taken(&limit_ring, limit_ring_mark(&limit_ring)));
		assert_int_equal(limit_ring_take(&limit_ring, &got, 1), 1);
		assert_true(limit_ring_taken(&limit_ring, mark));
	}
}

struct race {
	struct limit_ring limit_ring;
	bool over;                 /* nothing more is sent: atomics only */
	uint64_t limits[POLICIES]; /* the newest of the worker */
	uint64_t taken, broken, went_back;
};

/* A worker that takes some limits at a time, with pauses. */
static void *limit_ring_reader_thread(void *arg)
{
	struct race *race = arg;
	struct limit_profile got[16];
	bool over;

	do {
		unsigned n;

		over = __atomic_load_n(&race->over, __ATOMIC_ACQUIRE);
		n = limit_ring_take(&race->limit_ring, got, 16);
		for (unsigned i = 0; i < n; i++) {
			uint64_t value = (uint64_t)got[i].meter.bucket.rate;

			race->broken += !is_whole(&got[i]);
			race->went_back += value <= race->limits[got[i].policy % POLICIES];
			race->limits[got[i].policy % POLICIES] = value;
		}
		race->taken += n;
		if (n == 0 || race->taken % 1000 < 16)
			sched_yield();
		over = over && n == 0;
	} while (!over);
	return NULL;
}

/*
 * Limits change all the time and some find no room. At the end the worker has the newest of each.
 */
TEST(test_race)
{
	enum { CHANGES = 2000000 };
	static struct race race;
	static uint64_t wanted[POLICIES], told[POLICIES];
	uint64_t refused = 0;
	struct prng prng;
	pthread_t thread;

	prng_seed(&prng, 1);
	assert_int_equal(limit_ring_init(&race.limit_ring, POLICIES), 0);
	assert_int_equal(pthread_create(&thread, NULL, limit_ring_reader_thread, &race), 0);
	for (uint64_t i = 1; i <= CHANGES; i++) {
		uint32_t policy = prng_below(&prng, POLICIES);

		wanted[policy] = i;
		if (limit_ring_marked_limit(&race.limit_ring, policy, i))
			told[policy] = i;
		else
			refused++;
	}
	for (bool rest = true; rest; sched_yield()) {
		rest = false;
		for (uint32_t p = 0; p < POLICIES; p++)
			if (wanted[p] != told[p]) {
				if (limit_ring_marked_limit(&race.limit_ring, p, wanted[p]))
					told[p] = wanted[p];
				rest = true;
			}
	}
	__atomic_store_n(&race.over, true, __ATOMIC_RELEASE);
	pthread_join(thread, NULL);
	assert_int_equal(race.broken, 0);
	assert_int_equal(race.went_back, 0);
	assert_memory_equal(race.limits, wanted, sizeof(wanted));
	print_message("%" PRIu64 " taken, %" PRIu64 " had to wait\n", race.taken, refused);
	limit_ring_free(&race.limit_ring);
}
