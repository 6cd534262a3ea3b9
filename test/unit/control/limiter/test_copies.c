/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Two limiters with one name: a copy of a machine starts next to the original, with its record or
 * with an empty store. Both raise an alarm in time. Seeds choose the turns, the record and the
 * demand.
 */
#include "check.h"
#include "scope.h"

#include "copies_world.h"

#define N     3
#define SEEDS 20
#define ALARM (5 * COPIES_SECOND)
#define LIMIT (COPIES_LIMIT / 8.0) /* bytes per second */

static void begin_names_world(struct copies_world *w, uint64_t seed)
{
	struct limiter_policy policy = copies_rates();

	copies_begin(w, seed, N, &policy, 1);
	for (unsigned k = 0; k < 6 * COPIES_SECOND; k++)
		copies_step(w);
	assert_true(copies_limit(w, 0) > LIMIT * 0.9);
}

/* The copy starts and later stops; then the original restarts. */
static void run_copy(struct copies_world *w, bool with_record)
{
	unsigned closed = 0, original = 0, twice = 0;
	struct copies_store *store = &w->nodes[w->copy].store;
	uint64_t turn = 0;

	copies_stop(w, 0);
	*store = w->nodes[0].store;
	copies_start(w, 0);
	for (unsigned k = 0; k < 2 * COPIES_SECOND; k++)
		copies_step(w);
	if (!with_record)
		memset(store, 0, sizeof(*store));
	copies_start(w, w->copy);
	w->loaded = prng_below(&w->prng, N + 1);
	for (unsigned k = 0; k < 20 * COPIES_SECOND; k++) {
		if (k >= turn) {
			w->to_copy = !w->to_copy;
			turn = k + 1 + prng_below(&w->prng, 3 * COPIES_SECOND);
		}
		copies_step(w);
		if (copies_sum(w) > LIMIT && (k > ALARM || with_record))
			fail_msg("tick %u: %g of %g B/s", k, copies_sum(w), LIMIT);
		closed += copies_closed(w, w->copy);
		original += copies_closed(w, 0);
		twice += copies_reported(w, 1) && k < ALARM;
	}
	assert_true(closed > 0 && original > 0 && twice > 0);
	copies_stop(w, w->copy);
	copies_stop(w, 0);
	w->to_copy = false;
	copies_start(w, 0);
	w->loaded = 0;
	for (unsigned k = 0; k < 20 * COPIES_SECOND; k++) {
		copies_step(w);
		assert_true(copies_sum(w) <= LIMIT);
	}
	assert_true(copies_limit(w, 0) > LIMIT * 0.9);
}

TEST(test_copies)
{
	struct copies_world w;

	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		begin_names_world(&w, seed);
		run_copy(&w, seed % 2);
		copies_end(&w);
	}
}

/*
 * The copy has the newest record, and the original has sent no message for a random time. All
 * messages to the name then reach the copy, so it proves itself to their senders within a tick.
 */
TEST(test_copy_of_the_newest)
{
	for (uint64_t seed = 1; seed <= 5 * SEEDS; seed++) {
		ENDED_BY(copies_end) struct copies_world w;

		begin_names_world(&w, seed);
		w.loaded = prng_below(&w.prng, N + 1);
		for (unsigned t = prng_below(&w.prng, 20 * COPIES_SECOND); t > 0; t--)
			copies_step(&w);
		w.nodes[w.copy].store = w.nodes[0].store;
		copies_start(&w, w.copy);
		w.to_copy = true;
		for (unsigned k = 0; k < 10 * COPIES_SECOND; k++) {
			copies_step(&w);
			if (copies_sum(&w) > LIMIT)
				fail_msg("seed %u, tick %u: %g of %g B/s", (unsigned)seed, k,
					copies_sum(&w), LIMIT);
		}
	}
}

/* Restarts with the newest record do not count as a second limiter, and close nothing. */
TEST(test_restarts)
{
	ENDED_BY(copies_end) struct copies_world w;

	begin_names_world(&w, 1);
	for (unsigned k = 2; k < 12; k++) {
		copies_stop(&w, 0);
		for (unsigned t = prng_below(&w.prng, COPIES_SECOND); t > 0; t--)
			copies_step(&w);
		copies_start(&w, 0);
		for (unsigned t = prng_below(&w.prng, 4 * COPIES_SECOND); t > 0; t--) {
			copies_step(&w);
			assert_false(copies_closed(&w, 0) || copies_reported(&w, 1));
			assert_true(copies_sum(&w) <= LIMIT);
		}
	}
}
