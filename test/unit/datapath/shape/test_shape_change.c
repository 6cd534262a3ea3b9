/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Limits that change while packets wait, bounded room, packets that wait too long, and queues that
 * are emptied.
 */
#include "shape_world.h"
#include "scope.h"

#define PACKETS 300
#define CHANGES 12

/* Packets in line at an exact bucket whose limit changes. */
struct line {
	struct token_bucket bucket;
	struct token_bucket_profile limits[CHANGES + 1];
	uint64_t from[CHANGES + 2]; /* ticks, and never */
	uint64_t left;
};

/* Returns the first tick from `at` on with a packet's tokens, and takes them. */
static uint64_t line_leave(struct line *line, uint64_t arrival, uint32_t bytes)
{
	uint64_t at = arrival > line->left ? arrival : line->left;
	tokens_t cost = (tokens_t)bytes << TOKEN_SHIFT;

	for (unsigned k = 0; k <= CHANGES; k++) {
		struct token_bucket_profile *limit = &line->limits[k];
		tokens_t level, ticks = UINT64_MAX;

		if (line->from[k + 1] <= line->bucket.last)
			continue;
		/* All tokens that this limit earns before `at`, or in its whole time. */
		token_bucket_refill(
			&line->bucket, limit, at < line->from[k + 1] ? at : line->from[k + 1]);
		if (at >= line->from[k + 1])
			continue;
		level = token_bucket_level(&line->bucket);
		if (level >= cost)
			ticks = 0;
		else if (limit->rate)
			ticks = (cost - level + (uint64_t)limit->rate - 1) / (uint64_t)limit->rate;
		if (ticks < line->from[k + 1] - at) {
			at += (uint64_t)ticks;
			assert_true(token_bucket_conforms(&line->bucket, limit, at, bytes));
			line->left = at;
			return at;
		}
		at = line->from[k + 1];
		token_bucket_refill(&line->bucket, limit, at);
	}
	fail();
	return 0;
}

struct world {
	struct prng prng;
	struct line line;
	struct shape_packet packets[PACKETS];
	uint64_t arrival[PACKETS], want[PACKETS];
};

static void world_make(struct world *w, uint64_t seed)
{
	uint64_t at = 0;

	prng_seed(&w->prng, seed);
	w->line = (struct line){0};
	for (unsigned k = 0; k <= CHANGES; k++) {
		uint64_t bps = k < CHANGES && prng_below(&w->prng, 4) == 0
				       ? 0
				       : 1000000 + prng_below(&w->prng, 100000000);

		w->line.limits[k] = profile_of(
			bps, bps ? 1500 + prng_below(&w->prng, 6000) : PACKETS * 1500);
		w->line.from[k] = at;
		at += 1 + prng_below(&w->prng, 40 * MS);
	}
	w->line.from[CHANGES + 1] = UINT64_MAX;
	token_bucket_init(&w->line.bucket, &w->line.limits[0], 0);
	at = 0;
	for (unsigned i = 0; i < PACKETS; i++) {
		at += prng_below(&w->prng, 2 * MS);
		w->arrival[i] = at;
		w->packets[i] = (struct shape_packet){.cost = 1 + prng_below(&w->prng, 1500)};
		w->want[i] = line_leave(&w->line, at, w->packets[i].cost);
	}
}

/*
 * Under limits that change, and are sometimes 0, packets leave as from one bucket with the same
 * changes, however rarely they are released.
 */
TEST(test_limits)
{
	static struct world w;

	for (uint64_t seed = 1; seed <= ROUNDS(300); seed++) {
		struct shaper *shaper = shaper_make(PACKETS, 0);
		struct shape_params params = {.delay = FOR_EVER, .units = 1 << 30};
		struct shape_queue queue;
		unsigned sent = 0, left = 0, change = 1;
		uint64_t now = 0, until;

		world_make(&w, seed);
		shape_queue_init(&queue, &params, &w.line.limits[0], NULL, 0);
		until = w.line.from[1];
		while (left < PACKETS) {
			struct shape_packet *out[OUT];
			unsigned n;

			/* Time steps are large, but each change of a limit is at its tick. */
			now += prng_next(&w.prng) & UINT64_MAX >> (44 - seed % 6);
			now = now < until ? now : until;
			while (sent < PACKETS && w.arrival[sent] <= now) {
				enum shape_verdict verdict = shape_arrive(shaper, &queue,
					&w.packets[sent], w.packets[sent].cost, w.arrival[sent],
					now);

				if (verdict == SHAPE_PASSES)
					assert_true(sent == left && w.want[left++] <= now);
				else
					assert_int_equal(verdict, SHAPE_WAITS);
				sent++;
			}
			if (now == until && change <= CHANGES) {
				shape_limit(shaper, &queue, &w.line.limits[change], now);
				until = w.line.from[++change];
			}
			if (seed % 3 && prng_below(&w.prng, 3))
				continue;
			do {
				n = shaper_release(shaper, now, out, 5);
				for (unsigned i = 0; i < n; i++, left++)
					if (out[i] != &w.packets[left] || w.want[left] > now ||
						out[i]->flags)
						fail_msg("seed %" PRIu64 ": %u is not to leave",
							seed, left);
			} while (shaper_waits(shaper) && shaper_next(shaper, now) == now);
			if (left < sent && w.want[left] <= now)
				fail_msg("seed %" PRIu64 ": %u should have left", seed, left);
		}
		free(shaper);
	}
}

/* A packet that costs more than the burst leaves exactly when all its tokens are earned. */
TEST(test_larger_than_burst)
{
	ENDED_BY(free_at) struct shaper *shaper = shaper_make(10, 0);
	struct shape_packet packets[3], *out[2];
	struct shape_queue queue;

	queue_make(&queue, 8 * GHZ, 1000, FOR_EVER, 0); /* a byte per tick */
	assert_int_equal(shape_world_arrive(shaper, &queue, &packets[0], 1000, 0), SHAPE_PASSES);
	assert_int_equal(shape_world_arrive(shaper, &queue, &packets[1], 2500, 0), SHAPE_WAITS);
	assert_int_equal(shape_world_arrive(shaper, &queue, &packets[2], 10, 0), SHAPE_WAITS);
	assert_int_equal(shaper_release(shaper, 2499, out, 2), 0);
	assert_int_equal(shaper_release(shaper, 2500, out, 2), 1);
	assert_int_equal(shaper_release(shaper, 2509, out, 2), 0);
	assert_int_equal(shaper_release(shaper, 2510, out, 2), 1);
}

/*
 * Tokens earned for a packet stay after a change of the limit, however far they exceed the burst.
 */
TEST(test_larger_than_burst_meanwhile)
{
	static const struct {
		uint64_t at, bps, due; /* a tick, the limit from then on, and a tick */
	} rows[] = {
		{0, 8 * GHZ, 2500},
		{2000, 8 * GHZ, 2500},
		{2000, 80 * GHZ, 2050},
		{2000, 2 * GHZ, 4000},
		{2499, 2 * GHZ, 2503},
		{2500, 2 * GHZ, 2500},
		{1, 80 * GHZ, 251},
	};

	for (unsigned i = 0; i < COUNT(rows); i++) {
		struct token_bucket_profile next = profile_of(rows[i].bps, 1000);
		struct shaper *shaper = shaper_make(10, 0);
		struct shape_packet packet, *out;
		struct shape_queue queue;

		queue_make(&queue, 8 * GHZ, 1000, FOR_EVER, 0); /* a byte per tick */
		shape_queue_spend(&queue);
		assert_int_equal(shape_world_arrive(shaper, &queue, &packet, 2500, 0), SHAPE_WAITS);
		assert_int_equal(shaper_release(shaper, rows[i].at - (rows[i].at > 0), &out, 1), 0);
		shape_limit(shaper, &queue, &next, rows[i].at);
		if (shaper_release(shaper, rows[i].due - 1, &out, 1) != 0)
			fail_msg("row %u: too early", i);
		if (shaper_release(shaper, rows[i].due, &out, 1) != 1)
			fail_msg("row %u: too late", i);
		free(shaper);
	}
}

/* Exactly the units that leave within the delay can wait, or fewer if so configured. */
TEST(test_room)
{
	static const uint64_t units[] = {0, 600};

	for (unsigned i = 0; i < 2; i++) {
		struct shape_params params = {.delay = 1000, .units = units[i]};
		struct token_bucket_profile limit = profile_of(8 * GHZ, 1500);
		struct shaper *shaper = shaper_make(4, 0);
		unsigned room = units[i] ? 600 : 1000;
		struct shape_packet packets[6], *out[4];
		struct shape_queue queue;

		shape_queue_init(&queue, &params, &limit, NULL, 0);
		shape_queue_spend(&queue);
		assert_int_equal(
			shape_world_arrive(shaper, &queue, &packets[0], 500, 0), SHAPE_WAITS);
		assert_int_equal(
			shape_world_arrive(shaper, &queue, &packets[1], room - 499, 0), SHAPE_FULL);
		assert_int_equal(shape_world_arrive(shaper, &queue, &packets[1], room - 500, 0),
			SHAPE_WAITS);
		assert_int_equal(shape_world_arrive(shaper, &queue, &packets[2], 1, 0), SHAPE_FULL);
		assert_int_equal(queue.units, room);
		assert_int_equal(queue.packets, 2);
		/* All of them in time. */
		assert_int_equal(shaper_release(shaper, 1000, out, 4), 2);
		assert_int_equal(out[0]->flags | out[1]->flags, 0);
		free(shaper);
	}
}

/* The first packet in line can wait for the delay, even if it is too large. */
TEST(test_first)
{
	struct token_bucket_profile limit = profile_of(8 * GHZ, 1500);
	struct shape_params params = {.delay = 64};
	ENDED_BY(free_at) struct shaper *shaper = shaper_make(4, 0);
	struct shape_packet packet, *out;
	struct shape_queue queue;

	shape_queue_init(&queue, &params, &limit, NULL, 0);
	assert_int_equal(shape_world_arrive(shaper, &queue, &packet, 1500, 0), SHAPE_PASSES);
	assert_int_equal(shape_world_arrive(shaper, &queue, &packet, 1500, 1434), SHAPE_FULL);
	assert_int_equal(shape_world_arrive(shaper, &queue, &packet, 1500, 1435),
		SHAPE_WAITS); /* 64 and 1 */
	assert_int_equal(shaper_release(shaper, 1499, &out, 1), 0);
	assert_int_equal(shaper_release(shaper, 1500, &out, 1), 1);
	assert_int_equal(out->flags, 0);
}

TEST(test_crowd)
{
	ENDED_BY(free_at) struct shaper *shaper = shaper_make(3, 0);
	struct shape_packet packets[5], *out[4];
	struct shape_queue queues[2];

	for (unsigned q = 0; q < 2; q++) {
		queue_make(&queues[q], 8 * GHZ, 1500, FOR_EVER, 0);
		shape_queue_spend(&queues[q]);
	}
	for (unsigned i = 0; i < 3; i++)
		assert_int_equal(shape_world_arrive(shaper, &queues[i % 2], &packets[i], 100, 0),
			SHAPE_WAITS);
	assert_int_equal(
		shape_world_arrive(shaper, &queues[0], &packets[3], 100, 0), SHAPE_POOL_FULL);
	assert_int_equal(shaper_release(shaper, 200, out, 4), 3);
	assert_int_equal(
		shape_world_arrive(shaper, &queues[1], &packets[3], 100, 200), SHAPE_PASSES);
	for (unsigned i = 0; i < 3; i++)
		assert_int_equal(
			shape_world_arrive(shaper, &queues[0], &packets[i], 100, 200), SHAPE_WAITS);
	assert_int_equal(
		shape_world_arrive(shaper, &queues[1], &packets[4], 100, 200), SHAPE_POOL_FULL);
}

/*
 * Without a limit as many units as the burst can wait for one, for exactly the delay. Then they are
 * dropped in order. They leave if a limit comes in time.
 */
TEST(test_no_limit)
{
	for (unsigned comes = 0; comes < 2; comes++) {
		struct token_bucket_profile none = profile_of(0, 1500),
					    some = profile_of(8 * GHZ, 1500);
		struct shape_params params = {.delay = 6400};
		struct shaper *shaper = shaper_make(10, 0);
		struct shape_packet packets[4], *out[4];
		struct shape_queue queue;

		shape_queue_init(&queue, &params, &some, NULL, 0);
		shape_queue_spend(&queue);
		assert_int_equal(
			shape_world_arrive(shaper, &queue, &packets[0], 1000, 0), SHAPE_WAITS);
		shape_limit(shaper, &queue, &none, 400);
		assert_int_equal(
			shape_world_arrive(shaper, &queue, &packets[1], 500, 500), SHAPE_WAITS);
		assert_int_equal(
			shape_world_arrive(shaper, &queue, &packets[2], 1, 500), SHAPE_FULL);
		if (comes) {
			shape_limit(shaper, &queue, &some, 6000);
			assert_int_equal(shaper_release(shaper, 6499, out, 4), 0);
			/*
			 * 400 were there and 600 have been earned, but the packet has waited too
			 * long.
			 */
			assert_int_equal(shaper_release(shaper, 6500, out, 4), 2);
			assert_int_equal(out[0]->flags, SHAPE_DROP | SHAPE_DELAY_EXCEEDED);
			assert_int_equal(out[1]->flags, 0);
			free(shaper);
			continue;
		}
		assert_int_equal(shaper_release(shaper, 6499, out, 4), 0);
		assert_int_equal(shaper_release(shaper, 6999, out, 4), 1);
		assert_ptr_equal(out[0], &packets[0]);
		assert_int_equal(out[0]->flags, SHAPE_DROP | SHAPE_DELAY_EXCEEDED);
		assert_int_equal(shaper_release(shaper, 7000, out, 4), 1);
		assert_int_equal(out[0]->flags, SHAPE_DROP | SHAPE_DELAY_EXCEEDED);
		assert_false(shaper_waits(shaper));
		free(shaper);
	}
}

/* Others drain the bucket: no packet leaves, and tokens are lost. */
TEST(test_drain)
{
	struct token_bucket_params params = {.burst_bytes = 1500, .drain_bps = 8 * GHZ};
	ENDED_BY(free_at) struct shaper *shaper = shaper_make(10, 0);
	struct token_bucket_profile drain, some = profile_of(8 * GHZ, 1500);
	struct shape_packet packets[2], *out[2];
	struct shape_queue queue;

	assert_int_equal(token_bucket_profile_init(&drain, &params, GHZ), 0);
	queue_make(&queue, 8 * GHZ, 1500, FOR_EVER, 0);
	shape_limit(shaper, &queue, &drain, 0);
	assert_int_equal(shape_world_arrive(shaper, &queue, &packets[0], 1000, 500), SHAPE_PASSES);
	assert_int_equal(shape_world_arrive(shaper, &queue, &packets[0], 1000, 600), SHAPE_WAITS);
	assert_int_equal(shaper_release(shaper, 100 * MS, out, 2), 0);
	shape_limit(shaper, &queue, &some, 100 * MS);
	assert_int_equal(shaper_release(shaper, 100 * MS + 999, out, 2), 0);
	assert_int_equal(shaper_release(shaper, 100 * MS + 1000, out, 2), 1);
}

/* New parameters apply to waiting packets too. */
TEST(test_params)
{
	struct token_bucket_profile limit = profile_of(8 * GHZ, 1500);
	struct shape_params params = {.delay = 6400};
	ENDED_BY(free_at) struct shaper *shaper = shaper_make(10, 0);
	struct shape_packet packets[4], *out[4];
	struct shape_queue queue;

	shape_queue_init(&queue, &params, &limit, NULL, 0);
	shape_queue_spend(&queue);
	for (unsigned i = 0; i < 3; i++)
		assert_int_equal(
			shape_world_arrive(shaper, &queue, &packets[i], 1000, 0), SHAPE_WAITS);
	params.delay = 1280;
	shape_change(shaper, &queue, &params, 1100);
	assert_int_equal(shape_world_arrive(shaper, &queue, &packets[3], 1, 1100), SHAPE_FULL);
	assert_int_equal(shaper_release(shaper, 1100, out, 4), 1);
	assert_int_equal(out[0]->flags, 0);
	assert_int_equal(shaper_release(shaper, 1299, out, 4), 0);
	assert_int_equal(shaper_release(shaper, 1300, out, 4), 2);
	assert_int_equal(out[0]->flags & out[1]->flags, SHAPE_DROP | SHAPE_DELAY_EXCEEDED);
}

/*
 * Flushed packets leave in order and cost no tokens. The others leave as if these had not existed.
 */
TEST(test_flush)
{
	ENDED_BY(free_at) struct shaper *shaper = shaper_make(10, 0);
	struct shape_packet packets[6], *out[6];
	struct shape_queue queue;

	queue_make(&queue, 8 * GHZ, 1500, FOR_EVER, 0);
	shape_queue_spend(&queue);
	for (unsigned i = 0; i < 6; i++)
		shape_world_arrive(shaper, &queue, &packets[i], i < 2 ? 100 : 1000, 0);
	shape_limit(shaper, &queue, &queue.limit, 150); /* the first one is due, but still here */
	assert_int_equal(shape_flush(shaper, &queue, out, 3), 3);
	for (unsigned i = 0; i < 3; i++)
		assert_ptr_equal(out[i], &packets[i]);
	assert_int_equal(queue.packets, 3);
	assert_int_equal(queue.units, 3000);
	assert_int_equal(shaper_release(shaper, 1099, out, 6), 0);
	assert_int_equal(shaper_release(shaper, 1100, out, 6), 1);
	assert_ptr_equal(out[0], &packets[3]);
	assert_int_equal(shaper_flush(shaper, out, 1), 1);
	assert_ptr_equal(out[0], &packets[4]);
	assert_int_equal(shaper_flush(shaper, out, 6), 1);
	assert_int_equal(shaper_flush(shaper, out, 6), 0);
	assert_int_equal(shape_flush(shaper, &queue, out, 6), 0);
	assert_false(shaper_waits(shaper));
}

/*
 * A packet that arrives at a copy is linked to the copy of the last one. The original is unchanged.
 */
TEST(test_excerpt)
{
	ENDED_BY(free_at) struct shaper *shaper = shaper_make(10, 0);
	struct shape_packet packet, last, next;
	struct shape_queue queue, copy;

	queue_make(&queue, 8 * GHZ, 1000, FOR_EVER, 0);
	shape_queue_spend(&queue);
	assert_int_equal(shape_world_arrive(shaper, &queue, &packet, 1000, 0), SHAPE_WAITS);
	copy = queue;
	last = packet;
	shape_queue_excerpt_settle(&copy, &last, NULL);
	assert_int_equal(shape_world_arrive(shaper, &copy, &next, 1000, 0), SHAPE_WAITS);
	assert_ptr_equal(last.next, &next);
	assert_null(packet.next);
}

/* A flush empties all queues, whether packets are due or not. */
TEST(test_flush_all)
{
	enum { N = 200, EACH = 5 };
	static struct shape_packet packets[N][EACH];
	static struct shape_queue queues[N];
	ENDED_BY(free_at) struct shaper *shaper = shaper_make(N * EACH, 0);
	unsigned left[N] = {0}, n, all = 0;
	struct shape_packet *out[OUT];

	for (unsigned q = 0; q < N; q++) {
		queue_make(&queues[q], UINT64_C(8000) << q % 20, 1500, FOR_EVER, 0);
		shape_queue_spend(&queues[q]);
		for (unsigned i = 0; i < EACH; i++)
			shape_world_arrive(shaper, &queues[q], &packets[q][i], 1000, q);
	}
	while ((n = shaper_flush(shaper, out, 7)) > 0) {
		all += n;
		for (unsigned i = 0; i < n; i++) {
			unsigned at = (unsigned)(out[i] - packets[0]);

			assert_int_equal(at % EACH, left[at / EACH]++);
		}
	}
	assert_int_equal(all, N * EACH);
}
