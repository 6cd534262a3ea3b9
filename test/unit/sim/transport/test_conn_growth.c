/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Exact growth of the windows, and exact timeouts: at windows of a few segments rounding decides
 * the result.
 */
#include "check.h"

#include "transport/rtt.h"
#include "transport/window.h"

#define N (COUNT(rows))

/*
 * Slow start ends exactly at the threshold; the rest of the acknowledged segments becomes credit.
 */
TEST(test_slow_start_ends)
{
	static const struct {
		uint32_t cwnd, ssthresh;
		bool limited;
		uint32_t used, acked, want, credit;
	} rows[] = {
		{10, 12, true, 0, 1, 11, 0},
		{10, 12, true, 0, 2, 12, 0},
		{10, 12, true, 0, 5, 12, 3},
		{10, 12, true, 0, 14, 13, 0},
		{12, 12, true, 0, 5, 12, 5},
		{14, 12, true, 0, 5, 14, 5},
		{10, 100, false, 5, 3, 10, 0}, /* twice the used part */
		{10, 100, false, 6, 3, 13, 0},
		{12, 12, false, 12, 5, 12, 0},
	};

	for (size_t i = 0; i < N; i++) {
		struct window w;

		window_init(&w, &newreno);
		w.cwnd = rows[i].cwnd;
		w.ssthresh = rows[i].ssthresh;
		w.limited = rows[i].limited;
		w.used = rows[i].used;
		window_grow(&w, rows[i].acked, MS);
		assert_int_equal(w.cwnd, rows[i].want);
		assert_int_equal(w.credit, rows[i].credit);
	}
}

TEST(test_increase)
{
	static const struct {
		uint32_t credit, pace, acked, cwnd, left;
	} rows[] = {
		{0, 10, 9, 20, 9},
		{0, 10, 10, 21, 0},
		{4, 10, 9, 21, 3},
		{0, 10, 25, 22, 5},
		{9, 10, 0, 20, 9},
		/* Credit from a slower pace is one segment, not several. */
		{10, 10, 3, 21, 3},
		{39, 10, 3, 21, 3},
		{39, 10, 13, 22, 3},
	};

	for (size_t i = 0; i < N; i++) {
		struct window w = {.cwnd = 20, .credit = rows[i].credit};

		window_increase(&w, rows[i].pace, rows[i].acked);
		assert_int_equal(w.cwnd, rows[i].cwnd);
		assert_int_equal(w.credit, rows[i].left);
	}
}

/* The use of a window of ten is evaluated once a round trip, or immediately if it is full. */
TEST(test_window_use)
{
	static const struct {
		struct window w;
		uint32_t in_flight, una, next;
		bool limited;
		uint32_t used, until;
	} rows[] = {
		{{.limited = true, .used = 10, .used_until = 50}, 3, 50, 54, false, 4, 54},
		{{.limited = true, .used = 10, .used_until = 50}, 3, 49, 54, true, 10, 50},
		{{.limited = false, .used = 6, .used_until = 50}, 10, 40, 52, true, 12, 52},
		{{.limited = false, .used = 6, .used_until = 50}, 9, 49, 58, false, 9, 58},
		{{.limited = false, .used = 6, .used_until = 50}, 6, 47, 53, false, 6, 50},
		{{.limited = true, .used = 6, .used_until = 50}, 11, 40, 53, true, 13, 53},
	};

	for (size_t i = 0; i < N; i++) {
		struct window w = rows[i].w;

		w.cwnd = 10;
		window_used(&w, rows[i].in_flight, rows[i].una, rows[i].next);
		assert_int_equal(w.limited, rows[i].limited);
		assert_int_equal(w.used, rows[i].used);
		assert_int_equal(w.used_until, rows[i].until);
	}
}

/*
 * The window is halved for each whole timeout that has passed; the threshold becomes three
 * quarters.
 */
TEST(test_restart)
{
	static const struct {
		uint32_t cwnd, ssthresh;
		uint64_t idle_us;
		uint32_t want, threshold;
	} rows[] = {
		{100, WINDOW_NO_LIMIT, 1000, 100, WINDOW_NO_LIMIT},
		{100, WINDOW_NO_LIMIT, 1001, 50, WINDOW_NO_LIMIT},
		{100, WINDOW_NO_LIMIT, 3000, 25, WINDOW_NO_LIMIT},
		{100, 50, 1001, 50, 75},
		{100, 80, 1001, 50, 80},
		{15, 5, 1001, 10, 12}, /* not below the initial window */
		{21, 5, 9000, 10, 16},
		{7, 2, 9000, 7, 6}, /* not below its previous value */
		{10, 2, 9000, 10, 8},
	};

	for (size_t i = 0; i < N; i++) {
		struct window w = {.cwnd = rows[i].cwnd, .ssthresh = rows[i].ssthresh};

		window_restart(&w, rows[i].idle_us, 1000);
		assert_int_equal(w.cwnd, rows[i].want);
		assert_int_equal(w.ssthresh, rows[i].threshold);
	}
}

/* beta is a half, or 717/1024; two segments are the minimum. */
TEST(test_reduced)
{
	static const struct {
		uint32_t cwnd, newreno, cubic;
	} rows[] = {{1, 2, 2}, {2, 2, 2}, {3, 2, 2}, {4, 2, 2}, {5, 2, 3}, {6, 3, 4}, {7, 3, 4},
		{10, 5, 7}, {100, 50, 70}, {1000, 500, 700}, {100000, 50000, 70019}};

	for (size_t i = 0; i < N; i++) {
		struct window a, b;

		window_init(&a, &newreno);
		window_init(&b, &cubic);
		a.cwnd = b.cwnd = rows[i].cwnd;
		b.cubic.epoch_ns = MS;
		assert_int_equal(a.growth->reduce(&a, MS), rows[i].newreno);
		assert_int_equal(b.growth->reduce(&b, MS), rows[i].cubic);
		assert_int_equal(b.cubic.max, rows[i].cwnd);
		assert_int_equal(b.cubic.epoch_ns, 0);
	}
}

/* Fast convergence applies to a loss below the last maximum, not at it. */
TEST(test_cubic_maximum)
{
	static const struct {
		uint32_t cwnd, max;
	} rows[] = {{101, 101}, {100, 100}, {99, 84}, {50, 42}, {3, 2}};

	for (size_t i = 0; i < N; i++) {
		struct window w;

		window_init(&w, &cubic);
		w.cubic.max = 100;
		w.cwnd = rows[i].cwnd;
		w.growth->reduce(&w, MS);
		assert_int_equal(w.cubic.max, rows[i].max);
	}
}

/*
 * The pace of W(t), a round trip from now, for a constant window: acknowledged segments for one
 * more.
 */
static uint32_t cubic_pace(const struct window *w, double start_s, double now_s, uint32_t *plateau)
{
	double origin = w->cwnd > w->cubic.max ? w->cwnd : w->cubic.max;
	double k = floor(cbrt((origin - w->cwnd) / 0.4) * 1024);
	double t = floor((now_s - start_s) * 1024 + w->least_rtt_us * 1024 / 1e6 + 1e-6) - k;
	double more = floor(0.4 * pow(fabs(t) / 1024, 3));
	double to = t < 0 ? origin - more : origin + more;
	double pace = to > w->cwnd ? floor(w->cwnd / (to - w->cwnd)) : 100.0 * w->cwnd;

	*plateau = (uint32_t)k;
	return pace < 2 ? 2 : (uint32_t)pace;
}

TEST(test_cubic_pace)
{
	static const struct {
		uint32_t cwnd, max, rtt_us;
	} rows[] = {{70, 100, 0}, {70, 100, 40000}, {7, 10, 250000}, {700, 1000, 40000},
		{3, 4, 1000}, {90, 80, 40000}, {50, 50, 40000}, {2, 9, 500000},
		{100, 500, 0}}; /* K is ten seconds */

	for (size_t i = 0; i < N; i++) {
		struct window w;

		window_init(&w, &cubic);
		w.cwnd = rows[i].cwnd;
		w.cubic.max = rows[i].max;
		w.least_rtt_us = rows[i].rtt_us;
		/* Nothing is acknowledged, so the window stays, and NewReno's window too. */
		for (uint64_t ms = 0; ms < 12000; ms += 125) {
			uint32_t k, want = cubic_pace(&w, 0, (double)ms / 1e3, &k);

			w.growth->avoid(&w, 0, 3000 * MS + ms * MS);
			assert_int_equal(w.cwnd, rows[i].cwnd);
			assert_int_equal(w.cubic.k, k);
			if (w.cubic.pace != want)
				fail_msg("row %zu at %llu ms: %u, not %u", i,
					(unsigned long long)ms, w.cubic.pace, want);
		}
	}
}

/* While the window stays, the pace is constant for 28 ms. */
TEST(test_cubic_pace_stays)
{
	struct window w;
	uint32_t first;

	window_init(&w, &cubic);
	w.cwnd = 100;
	w.cubic.max = 100;
	w.growth->avoid(&w, 0, MS);
	assert_int_equal(w.cubic.epoch_ns, MS);
	first = w.cubic.pace;
	assert_int_equal(first, 10000);
	w.cubic.max = 1000;
	w.cubic.origin = 1000;
	w.growth->avoid(&w, 0, 29 * MS);
	assert_int_equal(w.cubic.pace, first);
	w.growth->avoid(&w, 0, 29 * MS + 1);
	assert_int_equal(w.cubic.pace, 2);
	w.cubic.origin = 100;
	w.cwnd = 50;
	w.growth->avoid(&w, 0, 30 * MS);
	assert_int_equal(w.cubic.pace, 2);
	w.cubic.origin = 60;
	w.cubic.reno = 0;
	w.cwnd = 59;
	w.growth->avoid(&w, 0, 30 * MS);
	assert_int_equal(w.cubic.pace, 59);
}

/*
 * Without a round trip sample the pace is at least one in twenty. After an hour it is the maximum.
 */
TEST(test_cubic_bounds)
{
	struct window w;

	window_init(&w, &cubic);
	w.cwnd = 30;
	w.growth->avoid(&w, 0, MS);
	assert_int_equal(w.cubic.pace, 20);
	window_init(&w, &cubic);
	w.cwnd = 21;
	w.growth->avoid(&w, 0, MS);
	w.growth->avoid(&w, 0, 1500 * MS); /* grows by one more */
	assert_int_equal(w.cubic.pace, 20);
	window_init(&w, &cubic);
	w.cwnd = w.cubic.max = 30;
	w.growth->avoid(&w, 0, MS);
	assert_int_equal(w.cubic.pace, 3000);
	w.growth->avoid(&w, 0, UINT64_C(3600000) * MS);
	assert_int_equal(w.cubic.pace, 2);
	w.growth->forget(&w);
	assert_int_equal(w.cubic.max + w.cubic.k + w.cubic.pace + w.cubic.epoch_ns, 0);
	assert_int_equal(w.cwnd, 30);
}

/* W(t) is right for windows of any size, for 17 minutes. */
TEST(test_cubic_range)
{
	static const struct {
		uint32_t cwnd, seconds, pace;
	} rows[] = {
		{1000000000, 63, 9998}, /* for a growth of 0.4 63^3 */
		{1000000000, 684, 7},
		{1600000000, 1000, 4},
		{1600000000, 1200, 3},
	};

	for (size_t i = 0; i < N; i++) {
		struct window w;

		window_init(&w, &cubic);
		w.cwnd = w.cubic.max = rows[i].cwnd;
		w.growth->avoid(&w, 0, MS);
		w.growth->avoid(&w, 0, MS + 1000 * MS * rows[i].seconds);
		assert_int_equal(w.cubic.pace, rows[i].pace);
	}
	/* After a fall from such a size the old maximum is the target. */
	{
		struct window w;

		window_init(&w, &cubic);
		w.cubic.max = 500000000;
		w.cwnd = 10;
		w.growth->avoid(&w, 0, MS);
		assert_near(w.cubic.k, 1024 * cbrt(499999990 / 0.4), 1);
	}
}

/* NewReno's window is the minimum; it grows by one for 8 (1 + beta) / 3 (1 - beta) eighths. */
TEST(test_cubic_as_newreno)
{
	static const struct {
		uint32_t acked, reno, pace;
	} rows[] = {{30, 16, 1600}, {31, 17, 16}, {60, 17, 16}, {61, 18, 8}, {91, 19, 5}};

	for (size_t i = 0; i < N; i++) {
		struct window w;

		window_init(&w, &cubic);
		w.cwnd = w.cubic.max = 16;
		w.growth->avoid(&w, rows[i].acked, MS);
		assert_int_equal(w.cubic.reno, rows[i].reno);
		assert_int_equal(w.cubic.pace, rows[i].pace);
		/* The counted segments are subtracted from the acknowledged ones. */
		assert_int_equal(w.cubic.acked, rows[i].acked - 30 * (rows[i].reno - 16));
		assert_int_equal(w.cwnd, 16 + rows[i].acked / rows[i].pace);
	}
}

/* Segments acknowledged between two updates count at the second. */
TEST(test_cubic_newreno_counts)
{
	struct window w;

	window_init(&w, &cubic);
	w.cwnd = w.cubic.max = 16;
	w.growth->avoid(&w, 10, MS);
	w.growth->avoid(&w, 11, 2 * MS);
	w.growth->avoid(&w, 9, 30 * MS);
	assert_int_equal(w.cubic.reno, 16);
	w.growth->avoid(&w, 1, 60 * MS);
	assert_int_equal(w.cubic.reno, 17);
	assert_int_equal(w.cubic.pace, 16);
	/* W(t) applies if it is faster; after a loss the count starts again. */
	w.cubic.origin = 100;
	w.growth->avoid(&w, 0, 90 * MS);
	assert_int_equal(w.cubic.pace, 2);
	w.growth->reduce(&w, 100 * MS);
	w.growth->avoid(&w, 4, 120 * MS);
	assert_int_equal(w.cubic.acked, 4);
}

/*
 * RFC 6298 as in Linux: 1/8 for the smoothed value, 1/4 for the deviation, which is at least 200
 * ms.
 */
TEST(test_timeout_steps)
{
	static const struct {
		uint32_t us, una, next, smoothed, timeout;
	} rows[] = {
		{300000, 0, 4, 300000, 900000},
		{500000, 1, 6, 325000, 975000}, /* more than the deviation */
		{325000, 2, 7, 325000, 975000}, /* the maximum of the round trip counts */
		{325000, 4, 8, 325000, 975000}, /* ends when later data is acknowledged */
		{325000, 5, 9, 325000, 975000}, /* ended, with its maximum in use */
		{325000, 6, 10, 325000, 975000}, {325000, 9, 13, 325000, 975000},
		/* 650 ms, less a quarter with each sample, is 205.665 ms by then. */
		{325000, 10, 14, 325000, 863917}, /* a quarter of the way there */
		{325000, 14, 18, 325000, 863917},
		{325000, 15, 19, 325000, 779188}, /* a quarter of that to 200 ms */
	};
	struct rtt r = {0};

	for (size_t i = 0; i < N; i++) {
		rtt_sample(&r, rows[i].us, rows[i].una, rows[i].next);
		if (rtt_smoothed(&r) != rows[i].smoothed || rtt_timeout(&r) != rows[i].timeout)
			fail_msg("row %zu: %u, %u, deviation %u", i, rtt_smoothed(&r),
				rtt_timeout(&r), r.dev4);
	}
}

/* A shorter round trip moves the deviation an eighth as far. */
TEST(test_second_sample)
{
	static const struct {
		uint32_t first, second, smoothed, timeout;
	} rows[] = {
		{300000, 500000, 325000, 325000 + 650000},
		{300000, 450000, 318750, 318750 + 600000},
		{300000, 100000, 275000, 275000 + 606250},
		{300000, 150000, 281250, 281250 + 600000},
		{300000, 250000, 293750, 293750 + 600000},
	};

	for (size_t i = 0; i < N; i++) {
		struct rtt r = {0};

		rtt_sample(&r, rows[i].first, 0, 0);
		rtt_sample(&r, rows[i].second, 1, 4); /* a round trip ends */
		assert_int_equal(rtt_smoothed(&r), rows[i].smoothed);
		assert_int_equal(rtt_timeout(&r), rows[i].timeout);
	}
}

TEST(test_first_sample)
{
	static const struct {
		uint32_t us, smoothed, timeout;
	} rows[] = {
		{0, 1, 200001},
		{1, 1, 200001},
		{100000, 100000, 300000},
		{100001, 100001, 300003},
		{40000000, 40000000, 120000000},
		{39999999, 39999999, 119999997},
		{1u << 27, 1u << 27, 120000000}, /* the maximum sample */
		{UINT32_MAX, 1u << 27, 120000000},
	};

	for (size_t i = 0; i < N; i++) {
		struct rtt r = {0};

		rtt_sample(&r, rows[i].us, 0, 0);
		assert_int_equal(rtt_smoothed(&r), rows[i].smoothed);
		assert_int_equal(rtt_timeout(&r), rows[i].timeout);
	}
}

TEST(test_least_round_trip)
{
	static const struct {
		uint32_t us, want;
	} rows[] = {{70, 70}, {71, 70}, {50, 50}, {0, 1}, {3, 1}};
	struct rtt r = {0};

	for (size_t i = 0; i < N; i++) {
		rtt_sample_least(&r, rows[i].us);
		assert_int_equal(r.least, rows[i].want);
	}
}
