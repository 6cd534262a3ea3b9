/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Several workers whose queues are before one bucket.
 */
#include "shape_world.h"

#define WORKERS 4
#define PACKETS 4000 /* per worker */

/* A bucket of 10 bytes in 1000 ticks, 80 Mbit/s. */
#define RATE  UINT64_C(80000000)
#define BURST 6000

struct world {
	uint64_t seed;
	struct prng prng;
	struct shared_bucket shared;
	struct shaper *shapers[WORKERS];
	struct shape_queue queues[WORKERS];
	struct shape_packet packets[WORKERS][PACKETS];
	uint64_t at[WORKERS * PACKETS], sum[WORKERS * PACKETS + 1]; /* departures */
	uint64_t bytes[WORKERS];
	unsigned n;
};

static struct shared_bucket_profile shared_bucket_of(uint64_t bps, uint64_t burst)
{
	struct token_bucket_params params = {.rate_bps = bps, .burst_bytes = burst};
	struct shared_bucket_profile profile;

	assert_int_equal(shared_bucket_profile_init(&profile, &params, WORKERS, 0, GHZ), 0);
	return profile;
}

static void world_make(struct world *w, uint64_t seed, uint64_t bps, uint64_t delay)
{
	struct shared_bucket_profile profile = shared_bucket_of(bps, BURST);
	struct token_bucket_profile limit = profile_of(bps, BURST);
	struct shape_params params = {.delay = delay};

	w->seed = seed;
	w->n = 0;
	prng_seed(&w->prng, seed);
	shared_bucket_init(&w->shared, &profile, 0);
	for (unsigned i = 0; i < WORKERS; i++) {
		w->shapers[i] = shaper_make(PACKETS, 0);
		w->bytes[i] = 0;
		shape_queue_init(&w->queues[i], &params, &limit, &w->shared, 0);
	}
}

static void world_free(struct world *w)
{
	for (unsigned i = 0; i < WORKERS; i++)
		free(w->shapers[i]);
}

static void world_left(struct world *w, unsigned worker, uint32_t bytes, uint64_t now)
{
	w->at[w->n] = now;
	w->sum[w->n + 1] = w->sum[w->n] + bytes;
	w->bytes[worker] += bytes;
	w->n++;
}

static void world_release(struct world *w, unsigned worker, uint64_t now)
{
	struct shape_packet *out[OUT];
	unsigned n = shaper_release(w->shapers[worker], now, out, OUT);

	for (unsigned i = 0; i < n; i++)
		if (!(out[i]->flags & SHAPE_DROP))
			world_left(w, worker, out[i]->cost, now);
}

/* Returns the most bytes above the rate in any window. */
static double world_depth(const struct world *w, double rate)
{
	double level = 0, depth = 0; /* bytes in a leaky bucket after the last departure */

	for (unsigned i = 0; i < w->n; i++) {
		double gone = i ? (double)(w->at[i] - w->at[i - 1]) * rate : 0;

		level = level > gone ? level - gone : 0;
		level += (double)(w->sum[i + 1] - w->sum[i]);
		depth = level > depth ? level : depth;
	}
	return depth;
}

/* One worker alone gets the same as from its own bucket, to the 2^-8 of a byte of virtual time. */
TEST(test_alone)
{
	static struct world w;

	for (uint64_t seed = 1; seed <= ROUNDS(40); seed++) {
		struct token_bucket_profile profile = profile_of(RATE, BURST);
		struct token_bucket bucket = {0};
		uint64_t now = 0, last = 0;

		world_make(&w, seed, RATE, FOR_EVER);
		token_bucket_init(&bucket, &profile, 0);
		for (unsigned i = 0; i < 500; i++) {
			struct shape_packet *out = &w.packets[0][i];
			uint32_t cost = 1 + prng_below(&w.prng, 1500);
			uint64_t want;

			now += prng_below(&w.prng, 150000);
			want = now;
			/* No packet waits before it: it arrives when the previous one has left. */
			now = want = now > last ? now : last;
			token_bucket_refill(&bucket, &profile, want);
			if (!token_bucket_take(&bucket, cost)) {
				tokens_t lack = ((tokens_t)cost << TOKEN_SHIFT) -
						token_bucket_level(&bucket);

				want += (uint64_t)((lack + (uint64_t)profile.rate - 1) /
						   (uint64_t)profile.rate);
				assert_true(token_bucket_conforms(&bucket, &profile, want, cost));
			}
			if (shape_world_arrive(w.shapers[0], &w.queues[0], out, cost, now) ==
				SHAPE_WAITS) {
				while (!shaper_release(w.shapers[0], now, &out, 1))
					now = shaper_next(w.shapers[0], now) > now
						      ? shaper_next(w.shapers[0], now)
						      : now + 1;
			}
			if (now + 1 < want || now > want + 2)
				fail_msg("seed %" PRIu64 ": %u at %" PRIu64 ", not %" PRIu64, seed,
					i, now, want);
			last = now;
		}
		world_free(&w);
	}
}

/*
 * All workers are backlogged, and release at different intervals, one of them rarely. Exactly the
 * limit passes. Workers that release at least once per packet get the same part.
 */
TEST(test_backlog)
{
	static struct world w;

	for (uint64_t seed = 1; seed <= ROUNDS(40); seed++) {
		static const unsigned often[WORKERS] = {100, 30, 10, 3};
		unsigned sent[WORKERS] = {0};
		uint64_t now = 0, granted;

		world_make(&w, seed, RATE, FOR_EVER);
		while (now < 300 * MS) {
			unsigned who = prng_below(&w.prng, WORKERS);

			now += prng_below(&w.prng, 1000);
			if (prng_below(&w.prng, 100) >= often[who])
				continue;
			world_release(&w, who, now);
			while (w.queues[who].packets < 3 && sent[who] < PACKETS) {
				uint32_t cost = 60 + prng_below(&w.prng, 1441);

				if (shape_world_arrive(w.shapers[who], &w.queues[who],
					    &w.packets[who][sent[who]++], cost,
					    now) == SHAPE_PASSES)
					world_left(&w, who, cost, now);
			}
		}
		granted = now * RATE / 8 / GHZ + BURST;
		/*
		 * A release is late by one or two microseconds, or seventy: that time at the rate.
		 */
		if (world_depth(&w, (double)RATE / 8 / GHZ) > BURST + 5000)
			fail_msg("seed %" PRIu64 ": %g bytes deep", seed,
				world_depth(&w, (double)RATE / 8 / GHZ));
		if (w.sum[w.n] > granted || w.sum[w.n] < granted - WORKERS * 1500 - granted / 200)
			fail_msg("seed %" PRIu64 ": %" PRIu64 " bytes of %" PRIu64, seed,
				w.sum[w.n], granted);
		for (unsigned i = 0; i < WORKERS; i++)
			if (w.bytes[i] < granted / WORKERS * 8 / 10)
				fail_msg("seed %" PRIu64 ": worker %u has %" PRIu64
					 " bytes of %" PRIu64,
					seed, i, w.bytes[i], granted);
		world_free(&w);
	}
}

/* The limit falls to 0 and returns while every worker has booked: no more than the limit passes. */
TEST(test_limit_falls)
{
	static struct world w;

	for (uint64_t seed = 1; seed <= ROUNDS(40); seed++) {
		unsigned sent[WORKERS] = {0};
		uint64_t bps = RATE;

		world_make(&w, seed, RATE, 5 * MS);
		for (uint64_t now = 0; now < 200 * MS; now += 1 + prng_below(&w.prng, 2000)) {
			unsigned who = prng_below(&w.prng, WORKERS);
			uint64_t next = now / (20 * MS) % 2 ? 0 : RATE;

			if (next != bps) {
				struct token_bucket_profile limit = profile_of(next, BURST);
				struct shared_bucket_profile profile = shared_bucket_of(
					next, BURST);

				bps = next;
				shared_bucket_change(&w.shared, &profile, now);
				for (unsigned i = 0; i < WORKERS; i++)
					shape_limit(w.shapers[i], &w.queues[i], &limit, now);
			}
			world_release(&w, who, now);
			if (w.queues[who].packets < 3 && sent[who] < PACKETS &&
				shape_world_arrive(w.shapers[who], &w.queues[who],
					&w.packets[who][sent[who]++], 1000, now) == SHAPE_PASSES)
				world_left(&w, who, 1000, now);
		}
		for (unsigned i = 1; i < w.n; i++)
			if (w.at[i] / (20 * MS) % 2 && w.at[i] % (20 * MS) > MS)
				fail_msg("seed %" PRIu64 ": a packet leaves without a limit", seed);
		if (world_depth(&w, (double)RATE / 8 / GHZ) > BURST + 1500 ||
			w.sum[w.n] > 100 * MS * RATE / 8 / GHZ + 1000 + BURST)
			fail_msg("seed %" PRIu64 ": %" PRIu64 " bytes, %g deep", seed, w.sum[w.n],
				world_depth(&w, (double)RATE / 8 / GHZ));
		assert_true(w.sum[w.n] > 90 * MS * RATE / 8 / GHZ);
		world_free(&w);
	}
}

/* The limit has fallen, and the worker does not have it yet: no packet is early. */
TEST(test_pending)
{
	struct shared_bucket_profile slower = shared_bucket_of(RATE / 2, BURST);
	static struct world w;
	struct shape_packet *out;

	world_make(&w, 0, RATE, FOR_EVER);
	shared_bucket_spend(&w.shared);
	/* 100 us at the old limit, half of them over: 150 us in all. */
	assert_int_equal(shape_world_arrive(w.shapers[0], &w.queues[0], &w.packets[0][0], 1000, 0),
		SHAPE_WAITS);
	shared_bucket_change(&w.shared, &slower, 50000);
	assert_int_equal(shaper_release(w.shapers[0], 100001, &out, 1), 0);
	assert_int_equal(shaper_release(w.shapers[0], 149990, &out, 1), 0);
	assert_int_equal(shaper_release(w.shapers[0], 150010, &out, 1), 1);
	world_free(&w);
}

/*
 * Tokens left over from a dropped packet pay for the next one. If they are earned later, that
 * packet must wait, and only can if there is room and the time is not too long.
 */
TEST(test_left_over)
{
	static struct world w;
	struct shape_packet *out, more[4];
	struct shape_queue *queue;

	world_make(&w, 0, RATE, 5 * MS);
	free(w.shapers[0]);
	w.shapers[0] = shaper_make(1, 0);
	queue = &w.queues[0];
	for (unsigned i = 0; i < 2; i++) {
		queue->held = 1000; /* from a packet that would leave late, until tick 1 ms */
		queue->bucket.tokens = shared_bucket_time(&w.shared, MS);
		assert_int_equal(shape_world_arrive(w.shapers[0], queue, &more[i], 400, 0),
			i == 0 ? SHAPE_WAITS : SHAPE_POOL_FULL);
		assert_int_equal(queue->held, i == 0 ? 600 : 1000);
		if (i == 0) /* another packet waits in its place */
			assert_int_equal(shape_flush(w.shapers[0], queue, &out, 1), 1);
		assert_int_equal(
			queue->held, 1000); /* with the tokens booked for the flushed one */
		shared_bucket_spend(&w.shared);
		if (i == 0)
			assert_int_equal(
				shape_world_arrive(w.shapers[0], &w.queues[1], &more[2], 1000, 0),
				SHAPE_WAITS);
	}
	assert_int_equal(shape_flush(w.shapers[0], &w.queues[1], &out, 1), 1);
	queue->bucket.tokens = shared_bucket_time(&w.shared, 50 * MS);
	assert_int_equal(shape_world_arrive(w.shapers[0], queue, &more[3], 400, 0), SHAPE_FULL);
	assert_int_equal(queue->held, 1000);
	world_free(&w);
}

/* A packet that is dropped before anything was booked for it leaves no tokens. */
TEST(test_nothing_left_over)
{
	struct shared_bucket_profile slower = shared_bucket_of(RATE / 2, BURST);
	struct token_bucket_profile limit = profile_of(RATE / 2, BURST);
	struct shape_packet packets[3], *out;
	struct shape_queue *queue;
	static struct world w;
	uint64_t point;

	world_make(&w, 0, RATE, 5 * MS);
	queue = &w.queues[0];
	shared_bucket_spend(&w.shared);
	assert_int_equal(
		shape_world_arrive(w.shapers[0], queue, &packets[0], 1000, 0), SHAPE_WAITS);
	assert_int_equal(
		shape_world_arrive(w.shapers[0], queue, &packets[1], 40000, 0), SHAPE_WAITS);
	/* Others book the maximum, and then the rate halves. */
	assert_int_equal(
		shared_bucket_book(&w.shared, 0, SHARED_BUCKET_AHEAD - 1000, UINT64_MAX, &point),
		0);
	shared_bucket_change(&w.shared, &slower, 0);
	shape_limit(w.shapers[0], queue, &limit, 0);
	assert_int_equal(shaper_release(w.shapers[0], MS, &out, 1), 1);
	assert_ptr_equal(out, &packets[0]);
	assert_int_equal(out->flags, 0);
	assert_int_equal(shaper_release(w.shapers[0], 6 * MS, &out, 1), 1);
	assert_ptr_equal(out, &packets[1]);
	assert_int_equal(out->flags, SHAPE_DROP | SHAPE_DELAY_EXCEEDED);
	assert_int_equal(queue->held, 0);
	assert_int_equal(
		shape_world_arrive(w.shapers[0], queue, &packets[2], 1000, 6 * MS), SHAPE_FULL);
	world_free(&w);
}

/*
 * A limit ends for all workers except for a quarter, and some workers see it late. After that
 * exactly the quarter passes. The same for one worker with its own bucket.
 */
static void check_ended(struct world *w, unsigned workers, uint64_t seed)
{
	const uint64_t end = 100 * MS, until = 300 * MS;
	const uint8_t ending = expiry_ending(4, 1);
	unsigned sent[WORKERS] = {0}, before = 0;
	bool ended[WORKERS] = {false};
	uint64_t left;

	for (uint64_t now = 0; now < until; now += 1 + prng_below(&w->prng, 2000)) {
		unsigned who = prng_below(&w->prng, workers);

		if (now >= end && now < end + who * 10 * MS) /* stalled */
			continue;
		if (now >= end && !ended[who])
			shape_expire(w->shapers[who], &w->queues[who], ending, end);
		ended[who] = now >= end;
		world_release(w, who, now);
		while (w->queues[who].packets < 3 && sent[who] < PACKETS)
			if (shape_world_arrive(w->shapers[who], &w->queues[who],
				    &w->packets[who][sent[who]++], 1000, now) == SHAPE_PASSES)
				world_left(w, who, 1000, now);
	}
	while (before < w->n && w->at[before] < end)
		before++;
	left = w->sum[w->n] - w->sum[before];
	/* Plus one packet of each worker that was due or booked. */
	if (left > (until - end) * RATE / 8 / GHZ / 4 + BURST / 4 + workers * 1000 ||
		left < (until - end) * RATE / 8 / GHZ / 4 * 95 / 100)
		fail_msg("%u workers, seed %" PRIu64 ": %" PRIu64 " bytes after the end", workers,
			seed, left);
}

TEST(test_ended)
{
	static struct world w;

	for (uint64_t seed = 1; seed <= ROUNDS(20); seed++) {
		world_make(&w, seed, RATE, FOR_EVER);
		check_ended(&w, WORKERS, seed);
		world_free(&w);
		world_make(&w, seed, RATE, FOR_EVER);
		queue_make(&w.queues[0], RATE, BURST, FOR_EVER, 0);
		check_ended(&w, 1, seed);
		world_free(&w);
	}
}

/* The next published limit is the whole one again. */
TEST(test_told_after_the_end)
{
	struct token_bucket_profile limit = profile_of(RATE, BURST);
	static struct world w;
	struct shape_packet *out;

	world_make(&w, 0, RATE, FOR_EVER);
	shared_bucket_spend(&w.shared);
	assert_int_equal(shape_world_arrive(w.shapers[0], &w.queues[0], &w.packets[0][0], 1000, 0),
		SHAPE_WAITS);
	shape_expire(w.shapers[0], &w.queues[0], EXPIRY_PARTS, 50000); /* nothing unreserved */
	assert_int_equal(shaper_release(w.shapers[0], 10 * MS, &out, 1), 0);
	shape_limit(w.shapers[0], &w.queues[0], &limit, 10 * MS);
	assert_int_equal(shaper_release(w.shapers[0], 10 * MS, &out, 1), 1);
	world_free(&w);
}
