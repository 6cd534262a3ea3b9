/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The clock is set back while packets wait. Queues of all kinds continue with the new clock and
 * never pass more than their limit.
 */
#include "shape_world.h"
#include "scope.h"

#define RATE    UINT64_C(80000000) /* 10 bytes in 1000 ticks */
#define BURST   6000
#define COST    1000
#define EVERY   UINT64_C(50000) /* twice the rate */
#define PACKETS 1024
#define NOTICED (5 * MS) /* until control has published the limits again */

struct clock_world {
	struct shaper *shaper;
	struct shape_queue queue;
	struct shared_bucket shared;
	struct shape_packet packets[PACKETS];
	struct shape_params params;
	struct token_bucket_profile limit;
	struct shared_bucket_profile shared_limit;
	unsigned next;
	uint64_t passed; /* bytes */
};

static void clock_world_make(struct clock_world *w, bool timed, bool shared, uint64_t now)
{
	struct token_bucket_params params = {.rate_bps = RATE, .burst_bytes = BURST};

	memset(w, 0, sizeof(*w));
	w->shaper = shaper_make(PACKETS, now);
	w->params = (struct shape_params){.delay = 50 * MS, .timed = timed};
	w->limit = profile_of(RATE, BURST);
	assert_int_equal(shared_bucket_profile_init(&w->shared_limit, &params, 1, 0, GHZ), 0);
	shared_bucket_init(&w->shared, &w->shared_limit, now);
	shape_queue_init(&w->queue, &w->params, &w->limit, shared ? &w->shared : NULL, now);
}

static void clock_world_arrive(struct clock_world *w, uint64_t now)
{
	struct shape_packet *packet = &w->packets[w->next++ % PACKETS];
	enum shape_verdict verdict = shape_world_arrive(w->shaper, &w->queue, packet, COST, now);

	w->passed += verdict == SHAPE_PASSES ? COST : 0;
}

static void clock_world_release(struct clock_world *w, uint64_t now)
{
	struct shape_packet *out[OUT];
	unsigned n = shaper_release(w->shaper, now, out, OUT);

	for (unsigned i = 0; i < n; i++)
		w->passed += out[i]->flags & SHAPE_DROP ? 0 : out[i]->cost;
}

/*
 * Checks the clock like a worker. Returns the number of flushed packets, whose departures are
 * unknown.
 */
static unsigned clock_world_look(struct clock_world *w, uint64_t now)
{
	struct shape_packet *out[OUT];
	unsigned n, count = 0;

	if (!shaper_is_ahead(w->shaper, now))
		return 0;
	while ((n = shaper_flush(w->shaper, out, OUT)) > 0)
		count += n;
	shaper_restart(w->shaper, now);
	assert_false(shaper_is_ahead(w->shaper, now));
	assert_false(shaper_waits(w->shaper));
	return count;
}

/* Returns the bytes that leave in this time. */
static uint64_t clock_world_run(struct clock_world *w, uint64_t from, uint64_t ticks)
{
	uint64_t before = w->passed;

	for (uint64_t now = from; now - from < ticks; now += EVERY) {
		clock_world_release(w, now);
		clock_world_arrive(w, now);
	}
	return w->passed - before;
}

static void clock_world_restart(struct clock_world *w, uint64_t now)
{
	if (w->queue.shared)
		shared_bucket_restart(&w->shared, &w->shared_limit, now);
	shape_restart(w->shaper, &w->queue, &w->params, &w->limit, now);
}

static void set_back(bool timed, bool shared, uint64_t from, uint64_t back)
{
	ENDED_BY(free_at) struct clock_world *w = malloc(sizeof(*w));
	const uint64_t rate = 10 * MS / 1000; /* bytes per millisecond */
	uint64_t now = from - back, passed;

	assert_non_null(w);
	clock_world_make(w, timed, shared, from - 100 * MS);
	clock_world_run(w, from - 100 * MS, 100 * MS);
	assert_true(shaper_waits(w->shaper));
	if (clock_world_look(w, now) == 0)
		fail_msg("timed %d, shared %d: nothing came out", timed, shared);
	passed = clock_world_run(w, now, NOTICED);
	if (passed > BURST)
		fail_msg("timed %d, shared %d: %" PRIu64 " passed before", timed, shared, passed);
	clock_world_restart(w, now + NOTICED);
	passed = clock_world_run(w, now + NOTICED, 100 * MS);
	if (passed > 100 * rate + COST || passed < 99 * rate)
		fail_msg("timed %d, shared %d: %" PRIu64 " passed after, of %" PRIu64, timed,
			shared, passed, 100 * rate);
	free(w->shaper);
}

TEST(test_set_back)
{
	const uint64_t backs[] = {TOKEN_BACK + 10 * MS, GHZ * 60, GHZ * 86400};

	for (unsigned i = 0; i < COUNT(backs); i++)
		for (unsigned kind = 0; kind < 4; kind++)
			set_back(kind & 1, kind & 2, GHZ * 86400 * 2, backs[i]);
}

/* After a small step back nothing is flushed, and queues continue when the clock has caught up. */
TEST(test_a_little)
{
	for (unsigned kind = 0; kind < 4; kind++) {
		struct clock_world *w = malloc(sizeof(*w));
		const uint64_t from = GHZ * 100, now = from - TOKEN_BACK / 2;

		(void)state;
		assert_non_null(w);
		clock_world_make(w, kind & 1, kind & 2, from - 100 * MS);
		clock_world_run(w, from - 100 * MS, 100 * MS);
		assert_int_equal(clock_world_look(w, from), 0);
		assert_int_equal(clock_world_look(w, now), 0);
		assert_true(shaper_waits(w->shaper));
		assert_true(clock_world_run(w, from, 100 * MS) >= 99 * MS / 100);
		free(w->shaper);
		free(w);
	}
}

/* Packets that wait without a limit stay, and leave under the next limit. */
TEST(test_no_limit)
{
	ENDED_BY(free_at) struct clock_world *w = malloc(sizeof(*w));
	const uint64_t from = GHZ * 86400, now = GHZ;

	assert_non_null(w);
	clock_world_make(w, false, false, from);
	clock_world_run(w, from, MS);
	w->limit = profile_of(0, BURST);
	assert_true(clock_world_look(w, now) > 0);
	shape_limit(w->shaper, &w->queue, &w->limit, now);
	clock_world_arrive(w, now);
	clock_world_arrive(w, now);
	clock_world_restart(w, now + 1);
	assert_true(shaper_waits(w->shaper));
	w->passed = 0;
	w->limit = profile_of(RATE, BURST);
	shape_limit(w->shaper, &w->queue, &w->limit, now + 2);
	clock_world_release(w, now + MS);
	assert_int_equal(w->passed, 2 * COST);
	assert_false(shaper_waits(w->shaper));
	free(w->shaper);
}
