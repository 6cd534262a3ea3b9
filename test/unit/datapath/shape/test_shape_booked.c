/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Timed queues of several workers at one shared bucket. Together they behave like one exact bucket,
 * in the order of arrivals.
 */
#include "shape_world.h"

#include "exact_bucket.h"

#define WORKERS 4
#define PACKETS 4000 /* in total */
#define BURST   6000

/* Virtual time is cut to this many tokens. */
#define GRAIN ((level_t)1 << (TOKEN_SHIFT - GCRA_SHIFT))

struct message {
	struct shape_packet packet;
	uint64_t due;
	unsigned number; /* number among its worker's waiting packets */
};

struct worker {
	struct shaper *shaper;
	struct shape_queue queue;
	unsigned in, out;
	uint64_t last; /* due tick of the newest waiting packet */
	bool clean;    /* empty since a complete release */
};

struct world {
	uint64_t seed, now;
	struct prng prng;
	struct shared_bucket shared;
	struct exact_bucket bucket; /* the bucket of all workers */
	struct worker workers[WORKERS];
	struct message messages[PACKETS];
	uint64_t due[PACKETS], sum; /* departures; units */
	uint32_t cost[PACKETS];
	unsigned sent, passed, waited, full, pool_full;
	uint64_t delay;
	uint32_t most;
};

static struct shared_bucket_profile shared_bucket_of(uint64_t bps, uint64_t burst)
{
	struct token_bucket_params params = {.rate_bps = bps, .burst_bytes = burst};
	struct shared_bucket_profile profile;

	assert_int_equal(shared_bucket_profile_init(&profile, &params, WORKERS, 0, GHZ), 0);
	return profile;
}

static void world_make(struct world *w, uint64_t seed, uint64_t bps, uint32_t most)
{
	struct shared_bucket_profile profile = shared_bucket_of(bps, BURST);
	struct token_bucket_profile limit = profile_of(bps, BURST);
	struct shape_params params = {.delay = GHZ / SHAPE_TIMED_PARTS >> seed % 8, .timed = true};

	memset(w, 0, sizeof(*w));
	w->seed = seed;
	w->delay = params.delay;
	w->most = most;
	prng_seed(&w->prng, seed);
	w->now = (UINT64_C(1) << 40) + (prng_next(&w->prng) >> (2 + seed % 60));
	shared_bucket_init(&w->shared, &profile, w->now);
	exact_init(&w->bucket, &limit, w->now);
	w->bucket.slack = GRAIN;
	for (unsigned i = 0; i < WORKERS; i++) {
		struct worker *worker = &w->workers[i];

		worker->shaper = shaper_make(most, w->now);
		worker->last = w->bucket.last;
		worker->clean = true;
		shape_queue_init(&worker->queue, &params, &limit, &w->shared, w->now);
	}
}

static void world_free(struct world *w)
{
	for (unsigned i = 0; i < WORKERS; i++)
		free(w->workers[i].shaper);
}

/* Checks that one bucket for all workers allows the verdict. */
static void world_check_verdict(struct world *w, const struct worker *worker,
	const struct exact_due *want, uint64_t arrival, enum shape_verdict verdict)
{
	uint64_t earliest = tick_latest(want->earliest, worker->last) - arrival;
	uint64_t latest = tick_latest(want->latest, worker->last) - arrival;
	uint64_t most = w->delay + w->delay / 64;
	unsigned waits = worker->in - worker->out;
	bool may_pass = waits == 0 && !tick_is_after(want->earliest, w->now);
	bool must_pass = waits == 0 && worker->clean && !tick_is_after(want->latest, w->now);
	bool allowed = false;

	/*
	 * A packet that is read late might have waited too long already, unless it passes
	 * immediately.
	 */
	must_pass = must_pass && latest <= most;
	if (verdict == SHAPE_PASSES)
		allowed = may_pass;
	if (verdict == SHAPE_WAITS)
		allowed = !must_pass && waits < w->most && earliest <= most;
	if (verdict == SHAPE_FULL)
		allowed = !must_pass && latest > most;
	if (verdict == SHAPE_POOL_FULL)
		allowed = !must_pass && waits >= w->most;
	if (!allowed)
		fail_msg("seed %" PRIu64 ", packet %u: verdict %d", w->seed, w->sent, verdict);
}

static void world_arrive(struct world *w, unsigned who, uint32_t cost, uint64_t arrival)
{
	struct worker *worker = &w->workers[who];
	struct message *message = &w->messages[w->sent];
	uint64_t seen = w->shared.state.allow_at, due;
	enum shape_verdict verdict;
	struct exact_due want;

	want = exact_due(&w->bucket, cost, arrival);
	want.latest++; /* because the inverse of the rate and virtual time are both rounded */
	message->packet = (struct shape_packet){.cost = cost, .path = (uint16_t)who};
	verdict = shape_arrive(
		worker->shaper, &worker->queue, &message->packet, cost, arrival, w->now);
	world_check_verdict(w, worker, &want, arrival, verdict);
	w->sent++;
	w->full += verdict == SHAPE_FULL;
	w->pool_full += verdict == SHAPE_POOL_FULL;
	if (verdict == SHAPE_FULL || verdict == SHAPE_POOL_FULL) {
		if (w->shared.state.allow_at != seen)
			fail_msg("seed %" PRIu64 ": a packet is refused, and has booked", w->seed);
		return;
	}
	exact_take(&w->bucket, cost, arrival);
	w->sum += cost;
	if (verdict == SHAPE_PASSES) {
		w->passed++;
		return;
	}
	w->waited++;
	due = worker->queue.edt.last;
	if (tick_is_after(tick_latest(want.earliest, worker->last), due) ||
		tick_is_after(due, tick_latest(want.latest, worker->last)))
		fail_msg("seed %" PRIu64 ", packet %u: due %" PRId64 " ticks after the earliest",
			w->seed, w->sent, (int64_t)(due - want.earliest));
	worker->last = message->due = due;
	worker->clean = false;
	message->number = worker->in++;
}

static void world_release(struct world *w, unsigned who, bool all)
{
	struct worker *worker = &w->workers[who];
	struct shape_packet *out[OUT];
	unsigned n;

	do {
		n = shaper_release(
			worker->shaper, w->now, out, 1 + (all ? OUT - 1 : prng_below(&w->prng, 3)));
		for (unsigned i = 0; i < n; i++) {
			const struct message *message = (const struct message *)out[i];

			if (message->packet.path != who || message->number != worker->out++ ||
				!tick_is_after(w->now, message->due))
				fail_msg("seed %" PRIu64 ": %u of worker %u", w->seed,
					message->number, who);
		}
	} while (all && n > 0);
	worker->clean = worker->clean || (all && worker->in == worker->out);
}

static void world_drain(struct world *w)
{
	w->now += GHZ / 2;
	for (unsigned i = 0; i < WORKERS; i++) {
		world_release(w, i, true);
		assert_int_equal(w->workers[i].in, w->workers[i].out);
		assert_false(shaper_waits(w->workers[i].shaper));
	}
}

/* Each packet is due as from one bucket, at any worker. A refused packet takes no tokens. */
static void one_bucket(uint64_t seed, uint64_t bps, uint32_t most)
{
	static struct world w;
	unsigned mean = (unsigned)(1000 * 8 * GHZ / bps) + 1; /* ticks of a packet */

	world_make(&w, seed, bps, most);
	while (w.sent < PACKETS) {
		unsigned who = prng_below(&w.prng, WORKERS);
		/* Clocks differ, and a worker reads packets after their arrival. */
		uint64_t back = prng_below(&w.prng, 3) ? 0 : prng_below(&w.prng, 20 * mean);
		unsigned cost = prng_below(&w.prng, 1500 + prng_below(&w.prng, 2) * 500);

		w.now += prng_below(&w.prng, prng_below(&w.prng, 2) ? mean : 2 * mean);
		if (prng_below(&w.prng, 200) == 0)
			w.now += prng_below(&w.prng, 100 * MS);
		if (prng_below(&w.prng, 200) == 0)
			cost = BURST + prng_below(&w.prng, BURST);
		world_arrive(&w, who, cost, w.now - back);
		if (prng_below(&w.prng, 4) == 0)
			world_release(&w, prng_below(&w.prng, WORKERS), prng_below(&w.prng, 2));
		/* No worker is so late that its calendar ends. */
		for (unsigned i = 0; w.sent % 16 == 0 && i < WORKERS; i++)
			world_release(&w, i, true);
	}
	world_drain(&w);
	if (!w.passed || !w.waited || (most < 20 && !w.pool_full))
		fail_msg("seed %" PRIu64 ": %u pass, %u wait", seed, w.passed, w.waited);
	world_free(&w);
}

TEST(test_one_bucket)
{
	static const uint64_t rates[] = {80000000, 8 * GHZ, 100 * GHZ, 333333333};

	for (uint64_t seed = 1; seed <= ROUNDS(200); seed++)
		one_bucket(seed, rates[seed % 4], PACKETS);
}

TEST(test_pool_full)
{
	static const uint64_t rates[] = {80000000, 8 * GHZ, 64 * GHZ, 333333333};

	for (uint64_t seed = 1; seed <= ROUNDS(200); seed++)
		one_bucket(seed, rates[seed % 4], 1 + seed % 7);
}

/*
 * A packet that would be due exactly at the end of the delay, or a tick later, is refused before it
 * books.
 */
TEST(test_refused)
{
	for (unsigned pool_full = 0; pool_full < 2; pool_full++) {
		for (uint32_t cost = 6495; cost < 6506; cost++) {
			struct shape_params params = {.delay = 6400, .timed = true};
			struct shared_bucket_profile profile = shared_bucket_of(8 * GHZ, 1500);
			struct token_bucket_profile limit = profile_of(8 * GHZ, 1500);
			struct shaper *shaper = shaper_make(1 - pool_full, 0);
			struct shape_packet packet;
			enum shape_verdict verdict;
			struct shared_bucket shared;
			struct shape_queue queue;
			uint64_t seen;

			shared_bucket_init(&shared, &profile, 0);
			shared_bucket_spend(&shared);
			seen = shared.state.allow_at;
			shape_queue_init(&queue, &params, &limit, &shared, 0);
			packet = (struct shape_packet){.cost = cost};
			verdict = shape_arrive(
				shaper, &queue, &packet, cost, 0, pool_full ? 6500 : 0);
			/* A tick before or after is accepted too. */
			if (cost < 6499)
				assert_int_equal(verdict, pool_full ? SHAPE_PASSES : SHAPE_WAITS);
			if (cost > 6501)
				assert_int_equal(verdict, pool_full ? SHAPE_POOL_FULL : SHAPE_FULL);
			assert_int_equal(shared.state.allow_at == seen, verdict > SHAPE_WAITS);
			free(shaper);
		}
	}
}

/* The limit has changed, and the queue does not have it yet: no packet is early. */
TEST(test_pending)
{
	struct shared_bucket_profile slower = shared_bucket_of(4 * GHZ, BURST);
	struct token_bucket_profile limit = profile_of(4 * GHZ, BURST);
	static struct world w;

	world_make(&w, 8, 8 * GHZ, PACKETS);
	shared_bucket_spend(&w.shared);
	shared_bucket_change(&w.shared, &slower, w.now);
	exact_change(&w.bucket, &limit, w.now, w.now);
	w.bucket.level = 0;
	for (unsigned i = 0; i < 100; i++) {
		world_arrive(&w, i % WORKERS, 1000 + i, w.now);
		if (i == 50)
			for (unsigned k = 0; k < WORKERS; k++)
				shape_limit(
					w.workers[k].shaper, &w.workers[k].queue, &limit, w.now);
	}
	assert_int_equal(w.waited, 100);
	world_drain(&w);
	world_free(&w);
}

/* Packets that wait at two workers, with one shared bucket whose limit changes. */
struct flaps {
	struct shaper *shapers[2];
	struct shape_queue queues[2];
	struct shape_packet packets[2][4096];
	uint64_t sent;
};

/* Four packets arrive at each worker, and due packets leave. */
static void flaps_turn(struct flaps *flaps, uint64_t turn, uint64_t now)
{
	struct shape_packet *out[OUT];
	unsigned n;

	for (unsigned k = 0; k < 8; k++)
		flaps->sent += shape_world_arrive(flaps->shapers[k % 2], &flaps->queues[k % 2],
				       &flaps->packets[k % 2][(4 * turn + k / 2) % 4096], 1000,
				       now) == SHAPE_PASSES;
	for (unsigned i = 0; i < 2; i++)
		while ((n = shaper_release(flaps->shapers[i], now, out, OUT)) > 0)
			flaps->sent += n;
}

/*
 * Runs turns of a millisecond, with another limit each `step` of them. Returns the passed packets.
 */
static uint64_t flaps_run(struct flaps *flaps, uint64_t high, uint64_t low, unsigned step)
{
	struct shared_bucket_profile limits[] = {
		shared_bucket_of(high, 3000), shared_bucket_of(low, 3000)};
	struct token_bucket_profile rates[] = {profile_of(high, 3000), profile_of(low, 3000)};
	struct shape_params params = {.delay = GHZ / SHAPE_TIMED_PARTS, .timed = true};
	struct shared_bucket shared;
	uint64_t told = 0;

	shared_bucket_init(&shared, &limits[0], GHZ);
	for (unsigned i = 0; i < 2; i++) {
		flaps->shapers[i] = shaper_make(4096, GHZ);
		shape_queue_init(&flaps->queues[i], &params, &rates[0], &shared, GHZ);
	}
	for (uint64_t turn = 0; turn < 4000; turn++) {
		unsigned next = turn / step % 2;
		uint64_t now = GHZ + turn * MS;

		if (turn && turn % step == 0) {
			shared_bucket_change_booked(&shared, &limits[next], &told, GHZ / 4, now);
			for (unsigned i = 0; i < 2; i++)
				shape_limit(
					flaps->shapers[i], &flaps->queues[i], &rates[next], now);
		}
		flaps_turn(flaps, turn, now);
	}
	for (unsigned i = 0; i < 2; i++)
		free(flaps->shapers[i]);
	return flaps->sent;
}

/* Limits that change faster than waiting packets leave: each passes the packets that it granted. */
TEST(test_flaps)
{
	static const uint64_t low[] = {0, 50000, 500000, 5000000, 9000000};
	static struct flaps flaps;

	for (unsigned i = 0; i < 3 * COUNT(low); i++) {
		uint64_t granted = (10000000 + low[i / 3]) / 2 * 4 / 8000, sent;

		memset(&flaps, 0, sizeof(flaps));
		sent = flaps_run(&flaps, 10000000, low[i / 3], 50U << i % 3);
		if (sent * 100 < granted * 95 || sent * 100 > granted * 107)
			fail_msg("row %u: %" PRIu64 " of %" PRIu64, i, sent, granted);
	}
}
