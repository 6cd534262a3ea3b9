/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Windows of delays: the packets in them, and that none is older.
 */
#include "check.h"

#include "base/prng.h"
#include "delays.h"

#define STEPS 3000
#define BIN   100

static const uint64_t lengths[DELAY_WINDOW_WINDOWS] = {10 * SECOND, 60 * SECOND};

/* All counts, step by step. */
struct history {
	struct delay_window delay_window;
	struct delay_sum total;
	uint64_t now;
	unsigned n;
	uint64_t when[STEPS], bins[STEPS]; /* count of one bin from that time on */
};

static void begin_delay_history(struct history *h, uint64_t before)
{
	memset(h, 0, sizeof(*h));
	h->now = 5 * SECOND;
	h->total.bins[BIN] = before;
	h->when[0] = h->now;
	h->bins[0] = before;
	h->n = 1;
	delay_window_init(&h->delay_window, &h->total, h->now);
}

static void pass_time_packets(struct history *h, uint64_t ns, uint64_t packets)
{
	assert_true(h->n < STEPS);
	h->now += ns;
	if (delay_window_is_due(&h->delay_window, h->now))
		delay_window_mark(&h->delay_window, &h->total, h->now);
	h->total.bins[BIN] += packets;
	h->when[h->n] = h->now;
	h->bins[h->n++] = h->total.bins[BIN];
}

/* Returns the count before a time. */
static uint64_t counted_by(const struct history *h, uint64_t when)
{
	unsigned i = 0;

	while (i + 1 < h->n && h->when[i + 1] < when)
		i++;
	return h->bins[i];
}

/*
 * The window contains exactly the packets of the length that it reports, which is close to the
 * nominal length. `slack` is a step.
 */
static void check_delay_window(
	const struct history *h, enum delay_window_window window, uint64_t slack)
{
	struct delay_sum sum;
	uint64_t ns = delay_window_sum(&h->delay_window, window, &h->total, h->now, &sum);
	uint64_t age = h->now - h->when[0], least = lengths[window];

	if (age < least)
		assert_int_equal(ns, age);
	else
		assert_in_range(ns, least, least * 3 / 2 + slack);
	assert_int_equal(sum.bins[BIN], h->total.bins[BIN] - counted_by(h, h->now - ns));
	assert_int_equal(delay_count(&sum), sum.bins[BIN]);
}

TEST(test_windows)
{
	static struct history h;
	struct prng prng;

	for (uint64_t seed = 1; seed <= 5; seed++) {
		prng_seed(&prng, seed);
		begin_delay_history(&h, prng_next(&prng) >> 40);
		for (unsigned i = 0; i < STEPS - 1; i++) {
			pass_time_packets(
				&h, prng_next(&prng) % (SECOND / 5) + 1, prng_next(&prng) % 1000);
			for (unsigned w = 0; w < DELAY_WINDOW_WINDOWS; w++)
				check_delay_window(&h, w, SECOND / 5);
		}
	}
}

/* With marks at exact times, a window has exactly its nominal length, and the packets in it. */
TEST(test_to_the_nanosecond)
{
	static const unsigned steps[] = {2, 12}; /* steps of five seconds in a window */
	struct delay_window delay_window;
	struct delay_sum total = {0}, sum;
	uint64_t now = 7 * SECOND;

	delay_window_init(&delay_window, &total, now);
	for (unsigned i = 1; i <= 60; i++) {
		total.bins[BIN]++; /* just after the mark */
		assert_false(delay_window_is_due(&delay_window, now + 5 * SECOND - 1));
		now += 5 * SECOND;
		assert_true(delay_window_is_due(&delay_window, now));
		delay_window_mark(&delay_window, &total, now);
		assert_false(delay_window_is_due(&delay_window, now));
		for (unsigned w = 0; w < DELAY_WINDOW_WINDOWS; w++) {
			uint64_t ns = delay_window_sum(&delay_window, w, &total, now, &sum);
			/* The long window has a mark each 30 seconds only. */
			unsigned want = w == 0 || i % 6 == 0 ? steps[w] : steps[w] + i % 6;

			want = want < i ? want : i;
			if (ns != want * 5 * SECOND || sum.bins[BIN] != want)
				fail_msg("window %u at step %u: %" PRIu64 " s", w, i, ns / SECOND);
		}
	}
}

/* After a long time without checks, windows are longer and report this. */
TEST(test_late_looks)
{
	static struct history h;
	struct delay_sum sum;

	begin_delay_history(&h, 7);
	for (unsigned i = 0; i < 10; i++)
		pass_time_packets(&h, 100 * SECOND, 1);
	for (unsigned w = 0; w < DELAY_WINDOW_WINDOWS; w++) {
		h.now += 9 * SECOND;
		assert_in_range(delay_window_sum(&h.delay_window, w, &h.total, h.now, &sum),
			lengths[w], 150 * SECOND);
		assert_in_range(sum.bins[BIN], 1, 2);
	}
}

/* After a long time without packets a window is empty. */
TEST(test_quiet)
{
	static struct history h;
	struct delay_sum sum;

	begin_delay_history(&h, 0);
	for (unsigned i = 0; i < 100; i++)
		pass_time_packets(&h, SECOND, 10);
	for (unsigned i = 0; i < 17; i++)
		pass_time_packets(&h, SECOND, 0);
	delay_window_sum(&h.delay_window, DELAY_WINDOW_10S, &h.total, h.now, &sum);
	assert_int_equal(delay_count(&sum), 0);
	delay_window_sum(&h.delay_window, DELAY_WINDOW_60S, &h.total, h.now, &sum);
	assert_true(delay_count(&sum) > 0);
	for (unsigned i = 0; i < 75; i++)
		pass_time_packets(&h, SECOND, 0);
	delay_window_sum(&h.delay_window, DELAY_WINDOW_60S, &h.total, h.now, &sum);
	assert_int_equal(delay_count(&sum), 0);
}

/* More packets than 32 bits can count, in total but not within a window. */
TEST(test_many)
{
	static struct history h;

	begin_delay_history(&h, UINT32_MAX - UINT64_C(100000000));
	for (unsigned i = 0; i < 500; i++) {
		pass_time_packets(&h, SECOND, 20000000);
		check_delay_window(&h, DELAY_WINDOW_10S, SECOND);
		check_delay_window(&h, DELAY_WINDOW_60S, SECOND);
	}
	assert_true(h.total.bins[BIN] > 2 * (uint64_t)UINT32_MAX);
}
