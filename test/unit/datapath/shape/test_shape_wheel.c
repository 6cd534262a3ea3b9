/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The wheel of a shaper: beyond its horizon, over the wrap of its clock, with many queues, and with
 * little room for due packets.
 */
#include "shape_world.h"
#include "scope.h"

/*
 * Polls at the times of shaper_next() until a packet leaves. Returns the number of polls without
 * one.
 */
static unsigned next_departure(struct shaper *shaper, uint64_t *now, struct shape_packet **out)
{
	unsigned vain = 0;

	while (shaper_release(shaper, *now, out, 1) == 0) {
		*now = shaper_next(shaper, *now);
		vain++;
	}
	return vain;
}

/* At 8 kbit/s a packet takes 1.5 s, which is beyond the wheel's horizon. */
TEST(test_horizon)
{
	ENDED_BY(free_at) struct shaper *shaper = shaper_make(10, 0);
	struct shape_packet packets[4], *out;
	struct shape_queue queue;
	uint64_t now = 0;

	queue_make(&queue, 8000, 1500, FOR_EVER, 0);
	assert_int_equal(shape_world_arrive(shaper, &queue, &packets[0], 1500, 0), SHAPE_PASSES);
	for (unsigned i = 1; i < 4; i++)
		assert_int_equal(
			shape_world_arrive(shaper, &queue, &packets[i], 1500, 0), SHAPE_WAITS);
	for (unsigned i = 1; i < 4; i++) {
		uint64_t want = i * 1500 * MS;

		/* The rate is rounded up, by less than 1e-9. */
		assert_true(next_departure(shaper, &now, &out) < 200);
		assert_ptr_equal(out, &packets[i]);
		assert_in_range(now, want - 10, want + 10);
	}
	assert_false(shaper_waits(shaper));
}

/*
 * If more queues than the largest number of packets were on the wheel, its memory would overflow.
 */
TEST(test_memory)
{
	size_t bytes = shaper_bytes(1);
	ENDED_BY(free_at) char *memory = aligned_alloc(64, bytes + 64);
	struct shaper *shaper = (struct shaper *)(void *)memory;
	struct shape_packet packet, *out;
	struct shape_queue queue;
	uint64_t now = 0;

	assert_non_null(memory);
	memset(memory, 0, bytes + 64);
	shaper_init(shaper, GHZ, 1, 0);
	queue_make(&queue, 8000, 1500, FOR_EVER, 0);
	shape_queue_spend(&queue);
	assert_int_equal(shape_world_arrive(shaper, &queue, &packet, 1500, 0), SHAPE_WAITS);
	next_departure(shaper, &now, &out);
	for (unsigned i = 0; i < 64; i++)
		assert_int_equal(memory[bytes + i], 0);
}

/* Records the departures of random traffic, with a clock that starts at `start`. */
static void record_departures(uint64_t seed, uint64_t start, uint64_t *left, unsigned n)
{
	struct shape_packet *packets = calloc(n, sizeof(*packets)), *out[OUT];
	ENDED_BY(free_at) struct shaper *shaper = shaper_make(n, start);
	struct shape_queue queues[3];
	uint64_t now = start;
	struct prng prng;

	assert_non_null(packets);
	prng_seed(&prng, seed);
	for (unsigned q = 0; q < 3; q++)
		queue_make(&queues[q], (q + 1) * 300000000, 1500 * (q + 1), FOR_EVER, start);
	for (unsigned sent = 0; sent < n || shaper_waits(shaper);) {
		now += prng_below(&prng, 20000);
		if (sent < n) {
			unsigned q = prng_below(&prng, 3), cost = 60 + prng_below(&prng, 1441);

			if (shape_world_arrive(shaper, &queues[q], &packets[sent], cost, now) ==
				SHAPE_PASSES)
				left[sent] = now - start;
			sent++;
		}
		for (unsigned k = shaper_release(shaper, now, out, OUT); k-- > 0;)
			left[out[k] - packets] = now - start;
	}
	free(packets);
}

/* A clock that wraps has no effect. */
TEST(test_clock_that_wraps)
{
	enum { N = 3000 };
	static uint64_t left[2][N];

	for (uint64_t seed = 1; seed <= ROUNDS(40); seed++) {
		record_departures(seed, 0, left[0], N);
		record_departures(seed, -(seed * MS + seed), left[1], N);
		for (unsigned i = 0; i < N; i++)
			if (left[0][i] != left[1][i])
				fail_msg("seed %" PRIu64 ": packet %u", seed, i);
	}
}

/* A queue with 10,000 due packets does not delay another queue. */
TEST(test_turns)
{
	enum { N = 10000 };
	struct shape_packet *packets = calloc(N + 1, sizeof(*packets)), *out[OUT];
	ENDED_BY(free_at) struct shaper *shaper = shaper_make(N + 1, 0);
	struct shape_queue many, one;
	unsigned before = 0, n;
	bool out_yet = false;

	assert_non_null(packets);
	queue_make(&many, 800 * GHZ, 1, FOR_EVER, 0); /* 100 bytes per tick */
	queue_make(&one, 8 * GHZ, 1, FOR_EVER, 0);
	shape_queue_spend(&many);
	shape_queue_spend(&one);
	for (unsigned i = 0; i < N; i++)
		assert_int_equal(shape_world_arrive(shaper, &many, &packets[i], 1, 0), SHAPE_WAITS);
	assert_int_equal(shape_world_arrive(shaper, &one, &packets[N], 1, 0), SHAPE_WAITS);
	for (unsigned left = 0; left <= N; left += n) {
		n = shaper_release(shaper, 1000 * MS, out, OUT);
		assert_true(n > 0);
		for (unsigned i = 0; i < n; i++) {
			out_yet |= out[i] == &packets[N];
			before += !out_yet;
		}
	}
	assert_true(before < 20);
	free(packets);
}

/* Queues that have been due for long leave in the order of their departures, by slots. */
TEST(test_earliest_first)
{
	enum { N = 200 };
	ENDED_BY(free_at) struct shaper *shaper = shaper_make(2 * N, 0);
	struct shape_packet packets[2][N], *out[2 * N];
	struct shape_queue queues[2];
	uint64_t last = 0;
	unsigned n = 0;

	for (unsigned q = 0; q < 2; q++) {
		queue_make(&queues[q], (q + 1) * 800000000, 100, FOR_EVER, 0);
		shape_queue_spend(&queues[q]);
		for (unsigned i = 0; i < N; i++)
			shape_world_arrive(shaper, &queues[q], &packets[q][i], 100, 0);
	}
	while (shaper_waits(shaper))
		n += shaper_release(shaper, 100 * MS, out + n, 7);
	for (unsigned i = 0; i < n; i++) {
		bool slow = out[i] < packets[1];
		/* 100 bytes at 0.1 and 0.2 bytes per tick */
		uint64_t due = slow ? (out[i] - packets[0] + 1) * 1000
				    : (out[i] - packets[1] + 1) * 500;

		assert_true(due + SLOT_MAX > last);
		last = due;
	}
}

/*
 * In the order of slots of at most half a microsecond, with the counter that has the longest ones.
 * A queue with many due packets does not leave before earlier packets of another one.
 */
TEST(test_earliest_slot_first)
{
	enum { QUEUES = 5, N = 400, HZ = 1 << 30, HALF_US = HZ / 2000000 };
	size_t bytes = shaper_bytes(QUEUES * N);
	ENDED_BY(free_at) struct shaper *shaper = aligned_alloc(64, bytes);
	static struct shape_packet packets[QUEUES][N];
	static uint64_t due[QUEUES][N];
	struct shape_queue queues[QUEUES];
	struct shape_packet *out[OUT];

	assert_non_null(shaper);
	for (unsigned room = 1; room <= OUT; room++) {
		uint64_t last = 0;
		struct prng prng;

		memset(shaper, 0, bytes);
		shaper_init(shaper, HZ, QUEUES * N, 0);
		prng_seed(&prng, room);
		for (unsigned q = 0; q < QUEUES; q++) {
			uint64_t at = 0;

			queue_make(&queues[q], 8 * GHZ, 1, FOR_EVER, 0); /* a byte per tick */
			shape_queue_spend(&queues[q]);
			for (unsigned i = 0; i < N; i++) {
				uint32_t cost = 1 + prng_below(&prng, 60 << q);

				at += cost;
				due[q][i] = at;
				shape_world_arrive(shaper, &queues[q], &packets[q][i], cost, 0);
			}
		}
		while (shaper_waits(shaper)) {
			unsigned n = shaper_release(shaper, 100 * MS, out, room);

			for (unsigned i = 0; i < n; i++) {
				size_t number = (size_t)(out[i] - packets[0]);
				uint64_t at = due[number / N][number % N];

				if (at + HALF_US <= last)
					fail_msg("room for %u: one of %" PRIu64
						 " after one of %" PRIu64,
						room, at, last);
				last = at > last ? at : last;
			}
		}
	}
}

/*
 * The largest number of queues of a limiter, all due within a short time. No packet is early, all
 * leave, and none is later than a slot and the room of each call explain.
 */
TEST(test_many_queues)
{
	enum { N = 100000, STEP = 1000, ROOM = 40 };
	ENDED_BY(free_at) struct shape_queue *queues = aligned_alloc(64, N * sizeof(*queues));
	struct shape_packet *packets = calloc(N, sizeof(*packets)), *out[ROOM];
	struct shaper *shaper = shaper_make(N, 0);
	uint64_t worst = 0;
	unsigned left = 0;
	struct prng prng;

	assert_non_null(queues);
	assert_non_null(packets);
	prng_seed(&prng, 5);
	for (unsigned i = 0; i < N; i++) {
		queue_make(&queues[i], 8000000, 1500, FOR_EVER, 0); /* a byte in 1000 ticks */
		shape_queue_spend(&queues[i]);
		/* Within 4 ms, 25 in each microsecond. */
		shape_world_arrive(
			shaper, &queues[i], &packets[i], 1000 + prng_below(&prng, 4000), 0);
	}
	for (uint64_t now = 0; left < N; now += STEP) {
		unsigned n = shaper_release(shaper, now, out, ROOM);

		left += n;
		while (n-- > 0) {
			uint64_t due = (uint64_t)out[n]->cost * 1000;

			assert_true(due <= now);
			worst = now - due > worst ? now - due : worst;
		}
		assert_true(now < 6 * MS);
	}
	assert_true(worst < 10 * STEP);
	free(shaper);
	free(packets);
}

/* Each queue of a slot can leave the wheel or move to another slot, and the others stay. */
TEST(test_off_the_wheel)
{
	enum { N = 100 };
	static struct shape_queue queues[N];
	static struct shape_packet packets[N];
	struct token_bucket_profile faster = profile_of(80000000, 1500);

	for (uint64_t seed = 1; seed <= ROUNDS(200); seed++) {
		struct shaper *shaper = shaper_make(N, 0);
		struct shape_packet *out[N];
		unsigned waits[N], left[N] = {0}, n;
		struct prng prng;

		prng_seed(&prng, seed);
		for (unsigned i = 0; i < N; i++) {
			queue_make(&queues[i], 8000000, 1500, FOR_EVER, 0);
			shape_queue_spend(&queues[i]);
			shape_world_arrive(shaper, &queues[i], &packets[i], 1000, 0);
			waits[i] = i;
		}
		for (n = N; n > seed % N; waits[prng_below(&prng, n + 1)] = waits[n]) {
			unsigned i = waits[prng_below(&prng, n--)];

			if (i % 2)
				shape_limit(shaper, &queues[i], &faster, 0);
			else if (shape_flush(shaper, &queues[i], out, 1))
				left[out[0] - packets]++;
		}
		n = shaper_release(shaper, 2 * MS, out, N);
		while (n-- > 0)
			left[out[n] - packets]++;
		for (unsigned i = 0; i < N; i++)
			if (left[i] != 1)
				fail_msg("seed %" PRIu64 ": %u left %u times", seed, i, left[i]);
		assert_false(shaper_waits(shaper));
		free(shaper);
	}
}

/* Jumbo frames in several buffers leave less room for others. */
TEST(test_hold)
{
	ENDED_BY(free_at) struct shaper *shaper = shaper_make(3, 0);
	struct shape_packet packets[4], *out[3];
	struct shape_queue queue;

	queue_make(&queue, 8000000, 1000, FOR_EVER, 0);
	shape_queue_spend(&queue);
	assert_int_equal(shape_world_arrive(shaper, &queue, &packets[0], 1000, 0), SHAPE_WAITS);
	shaper_hold(shaper, 1);
	assert_int_equal(shape_world_arrive(shaper, &queue, &packets[1], 1000, 0), SHAPE_WAITS);
	assert_int_equal(shape_world_arrive(shaper, &queue, &packets[2], 1000, 0), SHAPE_POOL_FULL);
	shaper_hold(shaper, 4); /* more than there is */
	assert_int_equal(shape_world_arrive(shaper, &queue, &packets[2], 1000, 0), SHAPE_POOL_FULL);
	shaper_hold(shaper, -5);
	assert_int_equal(shape_world_arrive(shaper, &queue, &packets[2], 1000, 0), SHAPE_WAITS);
	assert_int_equal(shape_world_arrive(shaper, &queue, &packets[3], 1000, 0), SHAPE_POOL_FULL);
	assert_int_equal(shape_flush(shaper, &queue, out, 3), 3);
}
