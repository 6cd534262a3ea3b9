/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Timed queues, each next to an exact bucket with the departures of its packets. Any counter and
 * any limits. Packets come in bursts, with small steps of time backwards, and after pauses of
 * years. The worker is busy for up to a tenth of a second and has little room. Each test selects
 * from these.
 */
#ifndef WEIR_TEST_TIMED_WORLD_H
#define WEIR_TEST_TIMED_WORLD_H

#include "shape_world.h"

#include "exact_bucket.h"

#define QUEUES 6
#define STEPS  3000
#define BATCH  8

/* Returns the longest slot of the calendar, in ticks. */
static inline uint64_t slot_most(uint64_t hz)
{
	return hz >> 18 ? hz >> 18 : 1;
}

struct message {
	struct shape_packet packet;
	struct message *next;
	uint64_t due;
	unsigned queue;
	bool taken; /* left the calendar before the end of its slot */
};

/* A queue, and its expected state. */
struct line {
	struct shape_queue queue;
	struct exact_bucket bucket;
	struct shape_params params;
	struct message *head, **tail; /* waiting messages */
	uint32_t packets;             /* number of waiting messages */
	bool clean;                   /* empty since a complete release */
	bool leaves;
	bool flushed; /* the next packet can also wait until the flushed ones would have left */
};

struct world {
	uint64_t seed, hz, start, now, dry; /* ticks; dry: time of the last complete release */
	struct prng prng;
	struct shaper *shaper;
	uint32_t most;
	struct line lines[QUEUES];
	struct message messages[STEPS * BATCH];
	unsigned sent, released, full, passed, pool_full, taken;
	unsigned ghosts; /* most entries of the calendar that belong to packets taken out */
};

#define world_fail(w, ...)                                                                      \
	do {                                                                                    \
		print_error("seed %" PRIu64 ", tick %" PRIu64 " from %" PRIu64 ": ", (w)->seed, \
			(w)->now - (w)->start, (w)->start);                                     \
		fail_msg(__VA_ARGS__);                                                          \
	} while (0)

/* Draws a number below 2^bits of random length. */
static inline uint64_t any_of(struct prng *prng, unsigned bits)
{
	return prng_next(prng) >> (64 - bits) >> prng_below(prng, bits);
}

/* From 1 kbit/s to 400 Gbit/s if the counter allows it, with bursts of 1 to 2^39 - 1 units. */
static inline struct token_bucket_profile world_limit(struct world *w)
{
	struct token_bucket_params params = {
		.rate_bps = 1000 + any_of(&w->prng, 39) % UINT64_C(399999999000),
		.burst_bytes = 1 + any_of(&w->prng, 39) % ((UINT64_C(1) << 39) - 1)};
	struct token_bucket_profile profile;

	if (prng_below(&w->prng, 3))
		params.burst_bytes %= 100000;
	while (token_bucket_profile_init(&profile, &params, w->hz))
		params.rate_bps /= 2;
	return profile;
}

static inline struct shape_params world_params(struct world *w)
{
	uint64_t delay = w->hz / SHAPE_TIMED_PARTS;

	return (struct shape_params){.delay = delay >> prng_below(&w->prng, 12),
		.units = prng_below(&w->prng, 3) ? 0 : any_of(&w->prng, 33),
		.timed = true};
}

static inline void line_begin(struct world *w, unsigned q)
{
	struct token_bucket_profile profile = world_limit(w);
	struct line *line = &w->lines[q];

	*line = (struct line){.params = world_params(w), .clean = true};
	line->tail = &line->head;
	shape_queue_init(&line->queue, &line->params, &profile, NULL, w->now);
	exact_init(&line->bucket, &profile, w->now);
	if (prng_below(&w->prng, 4))
		return;
	shape_queue_spend(&line->queue);
	line->bucket.level = 0;
}

static inline void world_make(struct world *w, uint64_t seed, uint32_t most)
{
	static const uint64_t hz[] = {1000000000, 2500000000, 10000000, 1000000007};
	size_t bytes = shaper_bytes(most);

	memset(w, 0, sizeof(*w));
	w->seed = seed;
	prng_seed(&w->prng, seed);
	w->hz = hz[seed % 4];
	w->start = seed % 3 ? any_of(&w->prng, 64) : -any_of(&w->prng, 30);
	w->now = w->dry = w->start;
	w->most = most;
	w->shaper = aligned_alloc(64, bytes);
	assert_non_null(w->shaper);
	memset(w->shaper, 0, bytes);
	shaper_init(w->shaper, w->hz, most, w->now);
	for (unsigned q = 0; q < QUEUES; q++)
		line_begin(w, q);
}

/* Draws about the units that are earned within a part of the delay; sometimes none, or the most. */
static inline uint32_t world_cost(struct world *w, const struct line *line)
{
	tokens_t in_delay = (tokens_t)line->bucket.rate * line->params.delay >> TOKEN_SHIFT;
	uint64_t most = in_delay < UINT32_MAX ? (uint64_t)in_delay : UINT32_MAX;

	switch (prng_below(&w->prng, 100)) {
	case 0:
		return 0;
	case 1:
		return UINT32_MAX;
	case 2: /* all tokens of the bucket, and one unit more */
		if (line->bucket.level > 0 && line->bucket.level >> TOKEN_SHIFT < UINT32_MAX)
			return (uint32_t)(line->bucket.level >> TOKEN_SHIFT) + (w->sent & 1);
	}
	return prng_below(&w->prng, (uint32_t)(most >> prng_below(&w->prng, 12)) | 1) + 1;
}

static inline unsigned world_waits(const struct world *w)
{
	unsigned n = 0;

	for (unsigned q = 0; q < QUEUES; q++)
		n += w->lines[q].packets;
	return n;
}

/* Returns true if a queue that leaves still has packets. */
static inline bool world_leaves(const struct world *w)
{
	bool leaves = false;

	for (unsigned q = 0; q < QUEUES; q++)
		leaves |= w->lines[q].leaves && w->lines[q].packets;
	return leaves;
}

static inline void line_waits(
	struct world *w, struct line *line, struct message *message, const struct exact_due *want)
{
	uint64_t due = line->queue.edt.last;

	message->due = due;
	message->queue = (unsigned)(line - w->lines);
	message->next = NULL;
	*line->tail = message;
	line->tail = &message->next;
	line->packets++;
	line->clean = line->flushed = false;
	/*
	 * The due time can be that of the previous packet if it is due by now, because the calendar
	 * does not reach further.
	 */
	if ((tick_is_after(want->earliest, due) && tick_is_after(want->earliest, w->now)) ||
		tick_is_after(due, want->latest))
		world_fail(w, "due %" PRId64 " ticks after the earliest, the latest is %" PRId64,
			(int64_t)(due - want->earliest), (int64_t)(want->latest - want->earliest));
	line->bucket.last = due;
}

/* Returns true if a packet would wait too long, with some slack. */
static inline bool line_is_full(
	const struct line *line, uint64_t due, uint64_t arrival, unsigned slack)
{
	uint64_t wait = due - arrival, delay = line->params.delay, units = line->params.units;
	/* Packets of an earlier limit leave before this one is valid. */
	uint64_t held = due - tick_latest(arrival, line->bucket.from);
	tokens_t most = (tokens_t)(units && units < UINT32_MAX ? units : UINT32_MAX) << TOKEN_SHIFT;

	return wait > delay + delay / 64 + slack ||
	       ((int64_t)held > 0 &&
		       held > (most + line->bucket.rate - 1) / line->bucket.rate + slack);
}

/* The exact bucket allows this verdict. */
static inline void line_check_verdict(struct world *w, struct line *line, struct message *message,
	uint64_t arrival, enum shape_verdict verdict)
{
	struct exact_due want = exact_due(&line->bucket, message->packet.cost, arrival);
	bool must_wait = line->packets || tick_is_after(want.earliest, w->now);
	bool must_pass = line->packets == 0 && line->clean && !tick_is_after(want.latest, w->now);
	bool may_full, must_full;

	want.earliest = tick_latest(want.earliest, line->bucket.last);
	want.latest = tick_latest(want.latest, line->bucket.last);
	may_full = line_is_full(line, want.latest, arrival, 0);
	must_full = line_is_full(line, want.earliest, arrival, 1);
	if (verdict == SHAPE_PASSES && (must_wait || line->bucket.closed))
		world_fail(w, "a packet passes");
	if (verdict == SHAPE_WAITS && (must_pass || must_full || line->bucket.closed))
		world_fail(w, "a packet waits: %d %d", must_pass, must_full);
	if (verdict == SHAPE_FULL && !line->bucket.closed && (must_pass || !may_full))
		world_fail(w, "a packet is refused that would wait for %" PRIu64 " ticks",
			want.latest - arrival);
	if (verdict == SHAPE_POOL_FULL && (must_pass || world_waits(w) + w->ghosts < w->most))
		world_fail(
			w, "crowded by %u packets, %u, %d", world_waits(w), w->ghosts, must_pass);
	if (verdict == SHAPE_PASSES || verdict == SHAPE_WAITS)
		exact_take(&line->bucket, message->packet.cost, arrival);
	if (verdict == SHAPE_WAITS)
		line_waits(w, line, message, &want);
}

/* A packet of this cost arrives at a queue at this tick. */
static inline void world_arrive(struct world *w, unsigned q, uint32_t cost, uint64_t arrival)
{
	struct message *message = &w->messages[w->sent++];
	struct line *line = &w->lines[q];
	bool aside = line->leaves && line->packets == 0, leaves = shaper_leaves(w->shaper);
	enum shape_verdict verdict;

	message->packet = (struct shape_packet){.cost = cost};
	verdict = shape_arrive(w->shaper, &line->queue, &message->packet, cost, arrival, w->now);
	w->full += verdict == SHAPE_FULL;
	w->passed += verdict == SHAPE_PASSES;
	w->pool_full += verdict == SHAPE_POOL_FULL;
	/* While any queue leaves, a packet can be queued behind those already taken out. */
	if (aside && verdict != SHAPE_PASSES && !leaves)
		world_fail(w, "queue %u leaves, and nothing waits there: %d", q, verdict);
	if (!aside || verdict != SHAPE_PASSES)
		line_check_verdict(w, line, message, arrival, verdict);
}

static inline void world_arrivals(struct world *w)
{
	unsigned q = prng_below(&w->prng, QUEUES), n = 1 + prng_below(&w->prng, BATCH);

	while (n-- > 0) {
		uint64_t back = prng_below(&w->prng, 4) ? 0 : any_of(&w->prng, 12);

		world_arrive(w, q, world_cost(w, &w->lines[q]), w->now - back);
	}
}

/* Removes a packet that came out. It must be the first of its queue. */
static inline struct line *world_comes_out(struct world *w, struct shape_packet *packet)
{
	struct message *message = (struct message *)packet;
	struct line *line = &w->lines[message->queue];

	if (line->head != message)
		world_fail(w, "out of order, queue %u", message->queue);
	line->head = message->next;
	line->packets--;
	if (!line->head)
		line->tail = &line->head;
	return line;
}

/* Returns the number of released packets. */
static inline unsigned world_release(struct world *w, unsigned most)
{
	struct shape_packet *out[OUT];
	unsigned n = shaper_release(w->shaper, w->now, out, most);

	for (unsigned i = 0; i < n; i++) {
		const struct message *message = (const struct message *)out[i];

		if (!tick_is_after(w->now, message->due))
			world_fail(w, "early by %" PRIu64, message->due - w->now);
		world_comes_out(w, out[i]);
	}
	w->released += n;
	return n;
}

/* A packet taken out counts until its slot is over. */
static inline void world_lay_ghosts(struct world *w)
{
	w->ghosts = 0;
	for (unsigned i = 0; i < w->sent; i++) {
		struct message *message = &w->messages[i];

		message->taken &= tick_is_after(message->due + slot_most(w->hz), w->now);
		w->ghosts += message->taken;
	}
}

/* Releases all due packets. No remaining packet was due more than a slot ago. */
static inline void world_release_all(struct world *w)
{
	while (world_release(w, 1 + prng_below(&w->prng, OUT)) > 0 ||
		(shaper_waits(w->shaper) && shaper_next(w->shaper, w->now) == w->now))
		;
	for (unsigned q = 0; q < QUEUES; q++) {
		const struct message *message = w->lines[q].head;

		w->lines[q].clean = w->lines[q].packets == 0 && !w->lines[q].flushed;
		if (message && tick_is_after(w->now, message->due + slot_most(w->hz)))
			world_fail(w, "queue %u is late by %" PRIu64, q, w->now - message->due);
	}
	world_lay_ghosts(w);
	w->dry = w->now;
}

static inline const struct shape_queue *world_whose(const struct shape_packet *packet, void *world)
{
	const struct message *message = (const struct message *)packet;
	const struct world *w = world;

	return &w->lines[message->queue].queue;
}

/* Flushes packets of leaving queues, whether they are due or not. Returns their number. */
static inline unsigned world_flush_leaving(struct world *w, unsigned most)
{
	struct shape_packet *out[OUT];
	const struct shape_whose whose = {world_whose, w};
	unsigned n = shaper_flush_leaving(w->shaper, &whose, out, most);

	for (unsigned i = 0; i < n; i++) {
		struct line *line = world_comes_out(w, out[i]);

		line->flushed = true;
		line->clean = false;
		if (!line->leaves)
			world_fail(w, "taken out of a queue that stays");
		((struct message *)out[i])->taken = true;
	}
	w->taken += n;
	w->ghosts += n;
	return n;
}

/* Flushes all queues. */
static inline void world_flush(struct world *w, unsigned most)
{
	struct shape_packet *out[OUT];
	unsigned n = shaper_flush(w->shaper, out, most);

	for (unsigned i = 0; i < n; i++) {
		struct line *line = world_comes_out(w, out[i]);

		line->flushed = true;
		line->clean = false;
	}
	w->taken += n;
}

/* Checks all queries. */
static inline void world_check(struct world *w)
{
	const struct shaper_counts *counts = shaper_counts(w->shaper);
	uint64_t next = shaper_next(w->shaper, w->now);

	assert_int_equal(counts->packets, world_waits(w));
	assert_int_equal(shaper_waits(w->shaper), world_waits(w) > 0);
	assert_true(shaper_leaves(w->shaper) || !world_leaves(w));
	for (unsigned q = 0; q < QUEUES; q++) {
		const struct line *line = &w->lines[q];

		if (line->head && tick_is_after(next, w->now) &&
			tick_is_after(next, line->head->due + slot_most(w->hz)))
			world_fail(w, "the next is later than a packet that is due");
	}
	assert_false(tick_is_after(w->now, next));
	if (!shaper_waits(w->shaper))
		assert_true(next - w->now > w->hz);
}

/* Releases packets when they are due, until none waits. */
static inline void world_drain(struct world *w)
{
	while (shaper_waits(w->shaper)) {
		world_release_all(w);
		if (shaper_waits(w->shaper))
			w->now = shaper_next(w->shaper, w->now);
	}
	world_check(w);
}

/* Advances the clock: slightly, by the time of a busy worker, or by years without packets. */
static inline void world_tick(struct world *w)
{
	uint64_t tenth = w->hz / 10;

	if (prng_below(&w->prng, 500) == 0) {
		world_drain(w);
		w->now += any_of(&w->prng, 58);
		w->dry = w->now;
		return;
	}
	w->now += prng_below(&w->prng, 100) ? any_of(&w->prng, 16) : any_of(&w->prng, 62) % tenth;
	if (w->now - w->dry > tenth)
		world_release_all(w);
}

static inline void world_change(struct world *w)
{
	unsigned q = prng_below(&w->prng, QUEUES);
	struct line *line = &w->lines[q];
	struct token_bucket_profile profile = world_limit(w);

	switch (prng_below(&w->prng, 4)) {
	case 0:
		line->params = world_params(w);
		shape_change(w->shaper, &line->queue, &line->params, w->now);
		exact_wait(&line->bucket, w->now, line->params.delay + line->params.delay / 64);
		return;
	case 1: /* a limit of nothing */
		profile.rate = -(int64_t)any_of(&w->prng, 40);
		break;
	case 2:
		profile.rate >>= prng_below(&w->prng, 16);
		break;
	}
	shape_limit(w->shaper, &line->queue, &profile, w->now);
	exact_change(&line->bucket, &profile, w->now, line->queue.announced.from);
}

static inline void world_free(struct world *w)
{
	struct delay_sum sum = {0};

	delay_fold(&sum, &shaper_counts(w->shaper)->lateness);
	assert_int_equal(delay_count(&sum), w->released);
	free(w->shaper);
}

#endif
