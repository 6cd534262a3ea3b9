/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Packets of timed queues are taken out, of some queues or of all, while the others continue.
 */
#include "timed_world.h"
#include "scope.h"

/* Queues leave, are emptied and start again under the same number, at random times. */
static void world_turn(struct world *w, bool flush)
{
	unsigned q = prng_below(&w->prng, QUEUES);
	struct line *line = &w->lines[q];

	if (prng_below(&w->prng, 20) == 0) {
		shape_leave(w->shaper, &line->queue);
		line->leaves = true;
	}
	if (line->leaves && line->packets == 0 && prng_below(&w->prng, 10) == 0)
		line_begin(w, q);
	if (prng_below(&w->prng, 3) == 0)
		world_flush_leaving(w, 1 + prng_below(&w->prng, 1 << prng_below(&w->prng, 7)));
	if (flush && prng_below(&w->prng, 20) == 0)
		world_flush(w, 1 + prng_below(&w->prng, OUT));
}

/* Flushes all queues in a bounded number of calls. */
static void world_finish(struct world *w)
{
	unsigned calls = 2 * world_waits(w) + 100;

	for (unsigned q = 0; q < QUEUES; q++) {
		shape_leave(w->shaper, &w->lines[q].queue);
		w->lines[q].leaves = true;
	}
	while (shaper_leaves(w->shaper)) {
		world_flush_leaving(w, 1 + prng_below(&w->prng, OUT));
		assert_true(calls-- > 0);
	}
	assert_int_equal(world_waits(w), 0);
	world_check(w);
}

static void random_world(uint64_t seed, uint32_t most, bool flush)
{
	static struct world w;

	world_make(&w, seed, most);
	for (unsigned step = 0; step < STEPS; step++) {
		world_tick(&w);
		world_arrivals(&w);
		world_turn(&w, flush);
		if (prng_below(&w.prng, 50) == 0)
			world_change(&w);
		if (prng_below(&w.prng, 3) == 0)
			world_release(&w, 1 + prng_below(&w.prng, 4));
		if (prng_below(&w.prng, 16) == 0)
			world_release_all(&w);
		world_check(&w);
	}
	world_finish(&w);
	if (w.taken == 0 || w.released == 0)
		world_fail(&w, "%u have been taken out, %u released", w.taken, w.released);
	world_free(&w);
}

TEST(test_leave)
{
	for (uint64_t seed = 1; seed <= ROUNDS(200); seed++)
		random_world(seed, STEPS * BATCH, false);
}

/* With little room. Packets taken out use a part of it until their slot is over. */
TEST(test_little_room)
{
	for (uint64_t seed = 1; seed <= ROUNDS(200); seed++)
		random_world(seed, 1 + seed % 60, false);
}

/* After a flush the queues continue. */
TEST(test_flush)
{
	for (uint64_t seed = 1; seed <= ROUNDS(200); seed++)
		random_world(seed, seed % 2 ? STEPS * BATCH : 1 + seed % 60, true);
}

/* A worker with two queues, and a guard after its memory. */
struct pair {
	struct shaper *shaper;
	struct shape_queue queues[2];
	char *end;
};

#define GUARD 4096

/* A queue with an empty bucket. */
static void pair_begin(struct pair *pair, unsigned q, uint64_t now)
{
	struct shape_params params = {.delay = GHZ / SHAPE_TIMED_PARTS, .timed = true};
	struct token_bucket_profile limit = profile_of(8 * GHZ, 1);

	shape_queue_init(&pair->queues[q], &params, &limit, NULL, now);
	shape_queue_spend(&pair->queues[q]);
}

static void pair_make(struct pair *pair, uint32_t most)
{
	size_t bytes = shaper_bytes(most);

	pair->shaper = aligned_alloc(64, bytes + GUARD);
	assert_non_null(pair->shaper);
	memset(pair->shaper, 0, bytes + GUARD);
	pair->end = (char *)pair->shaper + bytes;
	shaper_init(pair->shaper, GHZ, most, 0);
	for (unsigned q = 0; q < 2; q++)
		pair_begin(pair, q, 0);
}

/* Returns the queue of a packet, whose number is in `path`. */
static const struct shape_queue *pair_whose(const struct shape_packet *packet, void *context)
{
	const struct pair *pair = context;

	return &pair->queues[packet->path];
}

static enum shape_verdict pair_arrive(
	struct pair *pair, unsigned q, struct shape_packet *packet, uint32_t cost, uint64_t now)
{
	*packet = (struct shape_packet){.cost = cost, .path = (uint16_t)q};
	return shape_arrive(pair->shaper, &pair->queues[q], packet, cost, now, now);
}

static void pair_free(struct pair *pair)
{
	for (unsigned i = 0; i < GUARD; i++)
		assert_int_equal(pair->end[i], 0);
	free(pair->shaper);
}

/*
 * All places are used by waiting packets, which are then taken out. There is no release, because no
 * packet waits. A second later as many packets can wait again.
 */
TEST(test_nobody_releases)
{
	enum { N = 50 };
	static struct shape_packet packets[2][N];
	struct shape_packet *out[N];
	ENDED_BY(pair_free) struct pair pair;
	const struct shape_whose whose = {pair_whose, &pair};

	pair_make(&pair, N);
	for (unsigned i = 0; i < N; i++)
		assert_int_equal(pair_arrive(&pair, 0, &packets[0][i], 10000, 0), SHAPE_WAITS);
	assert_int_equal(pair_arrive(&pair, 1, &packets[1][0], 10000, 0), SHAPE_POOL_FULL);
	shape_leave(pair.shaper, &pair.queues[0]);
	for (unsigned i = 0; i < N;) {
		unsigned n = shaper_flush_leaving(pair.shaper, &whose, out, 7);

		while (n-- > 0)
			assert_ptr_equal(out[n], &packets[0][i + n]);
		i = N - shaper_counts(pair.shaper)->packets;
	}
	assert_false(shaper_waits(pair.shaper));
	assert_int_equal(pair_arrive(&pair, 0, &packets[0][0], 1, 1), SHAPE_PASSES);
	pair_begin(&pair, 1, GHZ);
	for (unsigned i = 0; i < N; i++)
		assert_int_equal(pair_arrive(&pair, 1, &packets[1][i], 10000, GHZ), SHAPE_WAITS);
	assert_int_equal(shaper_release(pair.shaper, 2 * GHZ, out, N), N);
}

/* A queue leaves repeatedly and others start, next to one that stays: entries do not run out. */
TEST(test_again_and_again)
{
	enum { N = 40, ALL = 2 * N };
	static struct shape_packet packets[2][N];

	for (uint64_t seed = 1; seed <= ROUNDS(40); seed++) {
		struct shape_params params = {.delay = GHZ / SHAPE_TIMED_PARTS, .timed = true};
		struct token_bucket_profile limit = profile_of(8 * GHZ, 1);
		struct shape_packet *out[ALL];
		unsigned waited = 0;
		struct prng prng;
		struct pair pair;
		const struct shape_whose whose = {pair_whose, &pair};

		prng_seed(&prng, seed);
		pair_make(&pair, 1 + seed);
		for (uint64_t now = 0; now < 10 * MS; now += prng_below(&prng, 20000)) {
			shape_queue_init(&pair.queues[0], &params, &limit, NULL, now);
			for (unsigned i = 0; i < ALL; i++) {
				uint32_t cost = prng_below(&prng, 2000) * (uint32_t)(1 + seed % 4);

				waited += pair_arrive(&pair, i % 2, &packets[i % 2][i / 2], cost,
						  now) == SHAPE_WAITS;
			}
			shape_leave(pair.shaper, &pair.queues[0]);
			while (shaper_leaves(pair.shaper))
				shaper_flush_leaving(
					pair.shaper, &whose, out, 1 + prng_below(&prng, N));
			if (prng_below(&prng, 4) == 0)
				shaper_release(pair.shaper, now, out, 1 + prng_below(&prng, N));
			assert_true(shaper_counts(pair.shaper)->packets <= 1 + seed);
		}
		assert_true(waited > 10);
		pair_free(&pair);
	}
}

/*
 * The place of a packet taken out stays used until its slot is over, if another packet waits in
 * that slot. So no more packets wait than allowed, however often a queue leaves. Then there is room
 * again.
 */
TEST(test_places)
{
	enum { N = 30, ROUNDS_EACH = 50 };
	static struct shape_packet packets[N], stays;
	struct token_bucket_profile limit = profile_of(8 * GHZ, 1);
	struct shape_params params = {.delay = GHZ / SHAPE_TIMED_PARTS, .timed = true};
	ENDED_BY(pair_free) struct pair pair;
	const struct shape_whose whose = {pair_whose, &pair};
	struct shape_packet *out[N];

	pair_make(&pair, N);
	for (unsigned again = 0; again < 4; again++) {
		uint64_t now = again * GHZ;
		unsigned waited = 0;

		pair_begin(&pair, 1, now);
		assert_int_equal(pair_arrive(&pair, 1, &stays, 50 * MS, now), SHAPE_WAITS);
		for (unsigned round = 0; round < ROUNDS_EACH; round++) {
			shape_queue_init(&pair.queues[0], &params, &limit, NULL, now);
			/*
			 * The first packet is due at the same time as the staying one, and so are
			 * the later ones.
			 */
			for (unsigned i = 0; i < N; i++)
				waited += pair_arrive(&pair, 0, &packets[i], i ? 0 : 50 * MS,
						  now) == SHAPE_WAITS;
			shape_leave(pair.shaper, &pair.queues[0]);
			while (shaper_leaves(pair.shaper))
				shaper_flush_leaving(pair.shaper, &whose, out, 1 + round % N);
		}
		assert_int_equal(waited, N - 1);
		assert_int_equal(shaper_release(pair.shaper, now + 100 * MS, out, N), 1);
		assert_ptr_equal(out[0], &stays);
	}
}
