/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Packets leave when an exact line before an exact bucket lets them, to the tick.
 */
#include "shape_world.h"
#include "scope.h"

#include "penalty_queue.h"

#define QUEUES  6
#define PACKETS 400 /* per queue */

struct message {
	struct shape_packet packet;
	uint64_t arrival, want; /* ticks; `want` is the expected departure */
	unsigned queue, number;
};

struct world {
	uint64_t seed;
	struct prng prng;
	struct shaper *shaper;
	struct shape_queue queues[QUEUES];
	struct message messages[QUEUES][PACKETS];
	unsigned sent[QUEUES], left[QUEUES];
};

/*
 * Rates from 8 kbit/s to 40 Gbit/s, bursts of at least a packet, and loads below or above the rate.
 */
static void world_queue(struct world *w, unsigned q)
{
	uint64_t bps = 8000 +
		       prng_next(&w->prng) % (UINT64_C(1) << (13 + prng_below(&w->prng, 23)));
	uint64_t burst = 1500 + prng_below(&w->prng, 30000), at = prng_below(&w->prng, 100000);
	double gap = 750 * 8e9 / (double)bps * (0.3 + 1.2 * prng_unit(&w->prng));
	struct token_bucket_params params = {.rate_bps = bps, .burst_bytes = burst};
	struct penalty_queue line;

	queue_make(&w->queues[q], bps, burst, FOR_EVER, 0);
	assert_int_equal(penalty_queue_init(&line, bps, burst), 0);
	/* The queue's rate is rounded up. */
	assert_int_equal(token_bucket_profile_init(&line.profile, &params, PENALTY_HZ), 0);
	w->sent[q] = w->left[q] = 0;
	for (unsigned i = 0; i < PACKETS; i++) {
		struct message *message = &w->messages[q][i];
		unsigned batch = 1 + prng_below(&w->prng, 8);

		if (i % batch == 0)
			at += (uint64_t)(2 * batch * gap * prng_unit(&w->prng));
		*message = (struct message){.arrival = at, .queue = q, .number = i};
		message->packet.cost = 1 + prng_below(&w->prng, 1500);
		message->want = penalty_queue_leave(&line, at, message->packet.cost);
	}
}

static void world_make(struct world *w, uint64_t seed)
{
	w->seed = seed;
	prng_seed(&w->prng, seed);
	w->shaper = shaper_make(QUEUES * PACKETS, 0);
	for (unsigned q = 0; q < QUEUES; q++)
		world_queue(w, q);
}

/* Returns the next message to arrive, of all queues, or NULL. */
static struct message *world_message(struct world *w)
{
	struct message *first = NULL;

	for (unsigned q = 0; q < QUEUES; q++) {
		struct message *message = &w->messages[q][w->sent[q]];

		if (w->sent[q] < PACKETS && (!first || message->arrival < first->arrival))
			first = message;
	}
	return first;
}

/* Packets leave in the order of their queue and at the expected tick; with slack, not before. */
static void world_left(struct world *w, struct message *message, uint64_t now, bool slack)
{
	if (message->number == w->left[message->queue]++ && message->packet.flags == 0 &&
		(slack ? message->want <= now : message->want == now))
		return;
	fail_msg("seed %" PRIu64 ": %u of queue %u left at %" PRIu64 ", not %" PRIu64, w->seed,
		message->number, message->queue, now, message->want);
}

static void world_arrivals(struct world *w, uint64_t now, bool slack)
{
	for (struct message *message; (message = world_message(w)) && message->arrival <= now;) {
		unsigned q = message->queue;
		enum shape_verdict verdict = shape_arrive(w->shaper, &w->queues[q],
			&message->packet, message->packet.cost, message->arrival, now);

		w->sent[q]++;
		if (verdict == SHAPE_PASSES)
			world_left(w, message, now, slack);
		else
			assert_int_equal(verdict, SHAPE_WAITS);
	}
}

static void world_departures(struct world *w, uint64_t now, bool slack)
{
	struct shape_packet *out[OUT];

	do {
		unsigned n = shaper_release(w->shaper, now, out, 1 + w->seed % OUT);

		for (unsigned i = 0; i < n; i++)
			world_left(w, (struct message *)out[i], now, slack);
	} while (shaper_waits(w->shaper) && shaper_next(w->shaper, now) == now);
}

static void world_over(struct world *w)
{
	const struct shaper_counts *counts = shaper_counts(w->shaper);

	for (unsigned q = 0; q < QUEUES; q++) {
		assert_int_equal(w->left[q], PACKETS);
		assert_int_equal(w->queues[q].packets, 0);
		assert_int_equal(w->queues[q].units, 0);
	}
	assert_false(shaper_waits(w->shaper));
	assert_int_equal(counts->packets, 0);
	free(w->shaper);
}

/* Returns the time of the next event. */
static uint64_t world_next(struct world *w, uint64_t now)
{
	uint64_t next = shaper_next(w->shaper, now);
	struct message *message = world_message(w);

	return message && message->arrival < next ? message->arrival : next;
}

/* Polled at every due tick, each packet leaves exactly at its tick. */
TEST(test_every_tick)
{
	static struct world w;

	for (uint64_t seed = 1; seed <= ROUNDS(400); seed++) {
		uint64_t now = 0;

		world_make(&w, seed);
		while (world_message(&w) || shaper_waits(w.shaper)) {
			now = world_next(&w, now);
			world_arrivals(&w, now, false);
			world_departures(&w, now, false);
		}
		world_over(&w);
	}
}

/* Polled rarely, exactly the due packets leave. */
TEST(test_now_and_then)
{
	static struct world w;

	for (uint64_t seed = 1; seed <= ROUNDS(400); seed++) {
		uint64_t now = 0;

		world_make(&w, seed);
		while (world_message(&w) || shaper_waits(w.shaper)) {
			now = world_next(&w, now) +
			      (prng_next(&w.prng) & UINT64_MAX >> (54 - seed % 30));
			world_arrivals(&w, now, true);
			world_departures(&w, now, true);
			for (unsigned q = 0; q < QUEUES; q++)
				if (w.left[q] < w.sent[q] && w.messages[q][w.left[q]].want <= now)
					fail_msg("seed %" PRIu64
						 ": %u of queue %u should leave at %" PRIu64
						 " and has not at %" PRIu64,
						seed, w.left[q], q, w.messages[q][w.left[q]].want,
						now);
		}
		world_over(&w);
	}
}

/*
 * Packets that conform at their arrival and are read in one batch do not wait. With the time of the
 * read as their arrival most would.
 */
TEST(test_artificial_batch)
{
	enum { N = 1000 };
	static struct shape_packet packets[N];
	ENDED_BY(free_at) struct shaper *shaper = shaper_make(N, 0);
	struct shape_queue queue;
	unsigned waited[2] = {0};

	for (unsigned look = 0; look < 2; look++) {
		uint64_t now = 10 * MS;

		queue_make(&queue, 8 * GHZ, 2000, FOR_EVER, 0); /* a byte per tick */
		for (unsigned i = 0; i < N; i++) {
			uint64_t arrival = look ? now : 1000 * (i + 1);

			packets[i] = (struct shape_packet){.cost = 1000};
			waited[look] += shape_arrive(shaper, &queue, &packets[i], packets[i].cost,
						arrival, now) != SHAPE_PASSES;
		}
		while (queue.head) {
			struct shape_packet *out[OUT];

			shape_flush(shaper, &queue, out, OUT);
		}
	}
	assert_int_equal(waited[0], 0);
	assert_int_equal(waited[1], N - 2);
}

/* Returns the first tick with this many units, of a bucket that is empty at tick 0. */
static uint64_t tick_of(uint64_t units, uint64_t rate)
{
	tokens_t tokens = (tokens_t)units << TOKEN_SHIFT;

	return (uint64_t)((tokens + rate - 1) / rate);
}

/*
 * Exact to the tick at any rate: at rates for which the code divides, at those for which it
 * multiplies, and close to the border. At some rates the cost is a multiple of the rate, so that
 * its last part is earned exactly at a tick.
 */
TEST(test_every_rate)
{
	enum { N = 40 };
	struct shape_packet packets[N], *out[OUT];
	struct prng prng;

	prng_seed(&prng, 3);
	for (unsigned i = 0; i < (63 - 26) * 8; i++) {
		unsigned bits = 26 + i / 8;
		int64_t rate = i % 8 == 3 ? INT64_C(3) << (bits - 1)
					  : (INT64_C(1) << bits) + (int64_t)(i % 4) - 1;
		struct token_bucket_profile profile = profile_of(8 * GHZ, 1000000);
		struct shape_params params = {.delay = FOR_EVER};
		struct shaper *shaper = shaper_make(N, 0);
		struct shape_queue queue;
		uint64_t now = 0, units = 0;
		unsigned left = 0;

		if (i % 8 >= 4)
			rate = (int64_t)(prng_next(&prng) >> (63 - bits) | UINT64_C(1) << bits);
		profile.rate = rate;
		shape_queue_init(&queue, &params, &profile, NULL, 0);
		shape_queue_spend(&queue);
		for (unsigned k = 0; k < N; k++)
			assert_int_equal(
				shape_world_arrive(shaper, &queue, &packets[k],
					3 * (1 + prng_below(&prng, bits < 34 ? 10 : 3000)), 0),
				SHAPE_WAITS);
		while (left < N) {
			unsigned n = shaper_release(shaper, now, out, OUT);

			for (unsigned k = 0; k < n; k++) {
				units += out[k]->cost;
				assert_ptr_equal(out[k], &packets[left++]);
				if (tick_of(units, (uint64_t)rate) != now)
					fail_msg("rate %" PRId64 ": packet %u at %" PRIu64
						 ", not %" PRIu64,
						rate, left, now, tick_of(units, (uint64_t)rate));
			}
			now = left < N ? shaper_next(shaper, now) : now;
		}
		free(shaper);
	}
}
