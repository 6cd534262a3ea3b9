/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Queues with a parent limit, here a bucket: packets leave with the tokens of both.
 */
#include "shape_world.h"

#define QUEUES  5
#define PACKETS 3000
#define COST    1000               /* the largest */
#define PARENT  UINT64_C(80000000) /* bit/s: a hundred ticks per byte */
#define BURST   6000

/* The parent, and its calls. */
struct parent {
	struct token_bucket_profile profile;
	struct token_bucket bucket;
	uint64_t taken, given; /* bytes */
	unsigned asked, refused;
	const struct shape_packet *last; /* packet of the last call */
	bool closed;
};

struct world {
	uint64_t seed;
	struct prng prng;
	struct parent parent;
	struct shaper *shaper;
	struct shape_queue queues[QUEUES];
	struct message {
		struct shape_packet packet;
		uint64_t arrival;
		unsigned queue, number;
	} messages[PACKETS];
	unsigned sent[QUEUES], next[QUEUES];
	uint64_t passed, dropped; /* bytes */
	uint64_t at[PACKETS], sum[PACKETS + 1];
	unsigned left, lost;
};

static bool parent_take(
	void *context, struct shape_queue *queue, struct shape_packet *packet, uint64_t now)
{
	struct parent *parent = context;

	parent->asked++;
	parent->last = packet;
	if (parent->closed ||
		!token_bucket_conforms(&parent->bucket, &parent->profile, now, packet->cost)) {
		parent->refused++;
		return false;
	}
	parent->taken += packet->cost;
	return true;
}

static void parent_give(void *context, struct shape_queue *queue, struct shape_packet *packet)
{
	struct parent *parent = context;

	assert_ptr_equal(packet, parent->last);
	parent->bucket.tokens += (uint64_t)packet->cost << TOKEN_BYTE;
	parent->given += packet->cost;
}

static void world_open(struct world *w, uint64_t seed, const struct shape_params *params,
	uint64_t bps, struct shared_bucket *shared)
{
	struct token_bucket_profile profile = profile_of(bps, BURST);
	const struct shape_above above = {parent_take, parent_give, &w->parent};

	memset(w, 0, sizeof(*w));
	w->seed = seed;
	prng_seed(&w->prng, seed);
	w->parent.profile = profile_of(PARENT, BURST);
	token_bucket_init(&w->parent.bucket, &w->parent.profile, 0);
	w->shaper = shaper_make(PACKETS, 0);
	shaper_ask(w->shaper, &above);
	for (unsigned q = 0; q < QUEUES; q++)
		shape_queue_init(&w->queues[q], params, &profile, shared, 0);
}

/* Packets leave in the order of their queue, and not after the delay. */
static void world_left(struct world *w, struct message *message, uint64_t now)
{
	if (message->number != w->next[message->queue]++)
		fail_msg("seed %" PRIu64 ": %u of queue %u is out of its order", w->seed,
			message->number, message->queue);
	if (message->packet.flags & SHAPE_DROP) {
		w->dropped += message->packet.cost;
		w->lost++;
		return;
	}
	w->passed += message->packet.cost;
	w->at[w->left] = now;
	w->sum[++w->left] = w->passed;
}

static void world_release(struct world *w, uint64_t now)
{
	struct shape_packet *out[OUT];
	unsigned n;

	do {
		n = shaper_release(w->shaper, now, out, OUT);
		for (unsigned i = 0; i < n; i++)
			world_left(w, (struct message *)out[i], now);
	} while (shaper_waits(w->shaper) && shaper_next(w->shaper, now) == now);
}

static void world_arrive(struct world *w, unsigned i, unsigned q, uint64_t now)
{
	struct message *message = &w->messages[i];
	enum shape_verdict verdict;

	*message = (struct message){.arrival = now, .queue = q, .number = w->sent[q]};
	message->packet.cost = 1 + prng_below(&w->prng, COST);
	verdict = shape_arrive(
		w->shaper, &w->queues[q], &message->packet, message->packet.cost, now, now);
	if (verdict > SHAPE_WAITS)
		return;
	w->sent[q]++;
	if (verdict == SHAPE_PASSES)
		world_left(w, message, now);
}

/* Advances to the next event, in steps. */
static uint64_t world_run(struct world *w, uint64_t now, uint64_t until)
{
	while (shaper_waits(w->shaper) && shaper_next(w->shaper, now) <= until) {
		uint64_t next = shaper_next(w->shaper, now);

		now = next > now ? next : now + 1;
		world_release(w, now);
	}
	return until;
}

/* Over any time, no more leaves than the parent's bucket has, for any limits of the queues. */
static void check_passed(const struct world *w)
{
	double level = 0, rate = (double)PARENT / 8 / GHZ;

	for (unsigned i = 0; i < w->left; i++) {
		double gone = i ? (double)(w->at[i] - w->at[i - 1]) * rate : 0;

		level = level > gone ? level - gone : 0;
		level += (double)(w->sum[i + 1] - w->sum[i]);
		if (level > BURST + 1)
			fail_msg("seed %" PRIu64 ": %.0f bytes at once", w->seed, level);
	}
}

static void world_close(struct world *w)
{
	for (unsigned q = 0; q < QUEUES; q++) {
		assert_int_equal(w->next[q], w->sent[q]);
		assert_int_equal(w->queues[q].packets, 0);
		assert_int_equal(w->queues[q].units, 0);
	}
	assert_false(shaper_waits(w->shaper));
	/* Exactly the bytes of departed packets were taken. */
	assert_int_equal(w->parent.taken - w->parent.given, w->passed);
	free(w->shaper);
}

/* More packets arrive than the parent passes, at queues whose limit is each that of the parent. */
static void drive(struct world *w, uint64_t gap)
{
	uint64_t now = 0;

	for (unsigned i = 0; i < PACKETS; i++) {
		now = world_run(w, now, now + prng_below(&w->prng, (uint32_t)(2 * gap)));
		world_release(w, now);
		world_arrive(w, i, prng_below(&w->prng, QUEUES), now);
	}
	world_run(w, now, now + 4 * GHZ);
	check_passed(w);
}

TEST(test_parent_is_kept)
{
	static struct world w;
	const struct shape_params params = {.delay = 20 * MS, .below = true};

	for (uint64_t seed = 1; seed <= ROUNDS(40); seed++) {
		world_open(&w, seed, &params, PARENT, NULL);
		drive(&w, 25000); /* twice the parent's rate */
		assert_true(w.parent.refused > 100 && w.lost < w.left);
		/* The parent is used completely while packets wait. */
		if ((double)w.passed < 0.97 * PARENT / 8 / GHZ * (double)w.at[w.left - 1])
			fail_msg("seed %" PRIu64 ": %" PRIu64 " bytes in %" PRIu64, seed, w.passed,
				w.at[w.left - 1]);
		/* For each packet that leaves, each queue calls the parent about four times. */
		assert_true(w.parent.asked < 5 * QUEUES * (w.left + w.lost));
		world_close(&w);
	}
}

/* A parent that is larger than the sum of all queues has no effect. */
TEST(test_wide_parent)
{
	static struct world below, alone;
	struct shape_params params = {.delay = 20 * MS};

	for (uint64_t seed = 1; seed <= ROUNDS(20); seed++) {
		world_open(&alone, seed, &params, PARENT / 20, NULL);
		params.below = true;
		world_open(&below, seed, &params, PARENT / 20, NULL);
		params.below = false;
		below.parent.profile = profile_of(100 * PARENT, 1000 * BURST);
		below.parent.bucket.tokens = below.parent.profile.burst;
		drive(&alone, 100000);
		drive(&below, 100000);
		assert_int_equal(below.left, alone.left);
		assert_memory_equal(below.at, alone.at, alone.left * sizeof(alone.at[0]));
		assert_int_equal(alone.parent.asked, 0);
		below.parent.taken -= below.parent.given;
		assert_int_equal(below.parent.taken, below.passed);
		alone.parent.taken = alone.passed;
		world_close(&alone);
		below.parent.given = 0;
		world_close(&below);
	}
}

/* Tokens of packets that CoDel drops are returned to the parent. */
TEST(test_codel_gives_back)
{
	static struct world w;
	const struct shape_params params = {
		.delay = 100 * MS, .codel = true, .target = MS, .interval = 10 * MS, .below = true};

	for (uint64_t seed = 1; seed <= ROUNDS(20); seed++) {
		world_open(&w, seed, &params, PARENT, NULL);
		drive(&w, 25000);
		assert_true(w.parent.given > 0);
		world_close(&w);
	}
}

/* Queues of several workers at one shared bucket, of which one worker's have a parent. */
TEST(test_shared_and_below)
{
	static struct world w;
	const struct shape_params params = {.delay = 20 * MS, .below = true};
	struct token_bucket_params limit = {.rate_bps = 4 * PARENT, .burst_bytes = 4 * BURST};
	struct shared_bucket_profile profile;
	struct shared_bucket shared;

	assert_int_equal(shared_bucket_profile_init(&profile, &limit, QUEUES, 0, GHZ), 0);
	for (uint64_t seed = 1; seed <= ROUNDS(20); seed++) {
		shared_bucket_init(&shared, &profile, 0);
		world_open(&w, seed, &params, PARENT, &shared);
		drive(&w, 25000);
		assert_true(w.parent.refused > 100 && w.lost < w.left);
		world_close(&w);
	}
}

/* The parent accepts nothing: waiting packets are dropped exactly at the end of the delay. */
TEST(test_closed)
{
	static struct world w;
	const struct shape_params params = {.delay = 20 * MS, .below = true};
	uint64_t end;

	world_open(&w, 1, &params, PARENT, NULL);
	w.parent.closed = true;
	for (unsigned i = 0; i < 3; i++)
		world_arrive(&w, i, 0, 0);
	assert_int_equal(w.queues[0].packets, 3);
	end = 20 * MS + 20 * MS / 64;
	world_run(&w, 0, end - SLOT_MAX);
	assert_int_equal(w.lost, 0);
	world_run(&w, end - SLOT_MAX, end + SLOT_MAX);
	assert_int_equal(w.lost, 3);
	for (unsigned i = 0; i < 3; i++)
		assert_true(w.messages[i].packet.flags & SHAPE_DELAY_EXCEEDED);
	/* Until then it was called repeatedly. */
	assert_true(w.parent.asked >= 20);
	world_close(&w);
}

/* The queue's own limit changes while the parent delays it: no packet leaves without the parent. */
TEST(test_limit_changes_below)
{
	static struct world w;
	const struct shape_params params = {.delay = 20 * MS, .below = true};
	struct token_bucket_profile wide = profile_of(2 * PARENT, BURST);

	world_open(&w, 1, &params, PARENT, NULL);
	w.parent.closed = true;
	for (unsigned i = 0; i < 3; i++)
		world_arrive(&w, i, 0, 0);
	world_run(&w, 0, 5 * MS);
	shape_limit(w.shaper, &w.queues[0], &wide, 5 * MS);
	world_release(&w, 5 * MS);
	assert_int_equal(w.left, 0);
	assert_int_equal(w.queues[0].packets, 3);
	w.parent.closed = false;
	world_run(&w, 5 * MS, 10 * MS);
	assert_int_equal(w.left, 3);
	world_close(&w);
}
