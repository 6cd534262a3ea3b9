/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Parts of a connection. The scoreboard and the receiver's ranges are compared with models that
 * keep every segment separately. Timers, the round trip estimate, and the growth of windows.
 */
#include "check.h"

#include "base/prng.h"
#include "transport/board.h"
#include "transport/rtt.h"
#include "transport/tcp_parts.h"
#include "transport/window.h"

#define MODEL 4096

/* Marks and last sending of each segment, by its number. */
struct board_model {
	struct {
		uint32_t marks, serial, sent_us;
	} at[MODEL];
};

/* Equal to the model: marks always, serials and times as far as there are enough spans. */
static void check_board(const struct board *b, const struct board_model *m, uint64_t seed)
{
	uint32_t sacked = 0, lost = 0, resent = 0, seg = b->una;

	for (unsigned i = 0; i < b->n; i++) {
		const struct span *s = &b->spans[i];

		assert_true(seg < s->end);
		for (uint32_t first = seg; seg < s->end; seg++) {
			bool same = s->marks == m->at[seg].marks;

			sacked += (s->marks & SEG_SACKED) != 0;
			lost += (s->marks & SEG_LOST) != 0;
			resent += (s->marks & SEG_RESENT) != 0;
			if (b->exact && !(s->marks & SEG_SACKED))
				same &= s->serial + (seg - first) == m->at[seg].serial;
			/* A time can be too late, but never too early. */
			if (!(s->marks & SEG_SACKED))
				same &= s->sent_us >= m->at[seg].sent_us;
			if (!same)
				fail_msg("seed %llu: segment %u", (unsigned long long)seed, seg);
		}
	}
	assert_int_equal(seg, b->next);
	assert_int_equal(sacked, b->sacked);
	assert_int_equal(lost, b->lost);
	assert_int_equal(resent, b->resent);
}

static void mark_some(struct board *b, struct board_model *m, struct prng *prng, uint32_t *serial,
	uint32_t now_us)
{
	uint32_t from = b->una + prng_below(prng, board_out(b));
	uint32_t to = from + 1 + prng_below(prng, prng_below(prng, 4) ? 2 : 20);
	bool again = prng_below(prng, 3) == 0;
	static const uint32_t kinds[] = {SEG_SACKED, SEG_LOST, SEG_LOST | SEG_RESENT};
	uint32_t marks = kinds[prng_below(prng, 3)];
	unsigned first, last;

	to = again ? from + 1 : to < b->next ? to : b->next;
	/* A delivered segment stays delivered; its serial and time are not kept. */
	for (uint32_t seg = from; seg < to; seg++)
		if (m->at[seg].marks & SEG_SACKED)
			return;
	if (!board_cut(b, from, to, &first, &last))
		return;
	assert_int_equal(board_start(b, first), from);
	assert_int_equal(b->spans[last - 1].end, to);
	for (unsigned i = first; i < last; i++) {
		b->spans[i].marks = marks;
		if (again) {
			b->spans[i].serial = *serial;
			b->spans[i].sent_us = now_us;
		}
	}
	for (uint32_t seg = from; seg < to; seg++) {
		m->at[seg].marks = marks;
		if (again) {
			m->at[seg].serial = (*serial)++;
			m->at[seg].sent_us = now_us;
		}
	}
	board_settle(b);
}

TEST(test_board)
{
	static struct board_model m;
	unsigned refused = 0;

	for (uint64_t seed = 1; seed <= 200; seed++) {
		struct board b = {.exact = seed % 2};
		uint32_t serial = 1, now_us = 1, highest;
		struct prng prng;

		prng_seed(&prng, seed);
		memset(&m, 0, sizeof(m));
		for (unsigned i = 0; i < 2000 && b.next + 8 < MODEL; i++) {
			now_us += prng_below(&prng, 3);
			if (board_out(&b) == 0 || prng_below(&prng, 3) == 0) {
				uint32_t seg = b.next;

				if (board_append(&b, serial, now_us)) {
					m.at[seg].serial = serial++;
					m.at[seg].sent_us = now_us;
				} else {
					refused++;
				}
			} else if (prng_below(&prng, 8) == 0 && board_out(&b) > seed % 150) {
				board_advance(&b, b.una + 1 + prng_below(&prng, board_out(&b)) / 4);
			} else {
				mark_some(&b, &m, &prng, &serial, now_us);
			}
			check_board(&b, &m, seed);
		}
		highest = b.next;
		while (highest > b.una && !(m.at[highest - 1].marks & SEG_SACKED))
			highest--;
		assert_int_equal(board_highest_sacked(&b), highest);
		board_forget(&b, SEG_LOST);
		assert_int_equal(b.lost, board_out(&b));
		assert_int_equal(b.sacked, 0);
	}
	assert_true(refused > 0); /* otherwise the boards were never full */
}

/*
 * Segments sent in a row at one time are one span, and become one again when their marks are equal.
 */
TEST(test_board_joins)
{
	struct board b = {0};
	unsigned first, last;

	for (uint32_t i = 0; i < 100; i++)
		assert_true(board_append(&b, 1 + i, 7));
	assert_int_equal(b.n, 1);
	assert_true(board_cut(&b, 10, 20, &first, &last));
	assert_int_equal(b.n, 3);
	board_settle(&b);
	assert_int_equal(b.n, 1);
	assert_true(board_append(&b, 101, 8));
	assert_int_equal(b.n, 2);
	assert_true(board_append(&b, 103, 8));
	assert_int_equal(b.n, 3);
	board_advance(&b, 50);
	assert_int_equal(b.spans[0].serial, 51);
}

/* Sending is not stopped by a lack of spans while neighbours have equal marks, at any times. */
TEST(test_board_has_room)
{
	for (int exact = 0; exact < 2; exact++) {
		struct board b = {.exact = exact};

		for (uint32_t i = 0; i < 1000; i++)
			assert_true(board_append(&b, 1 + i, 10 * i));
		assert_int_equal(board_out(&b), 1000);
	}
}

/*
 * A full board of spans a millisecond apart, except two. `again` is the first one's serial, if not
 * 0.
 */
static void fill_board(struct board *b, uint32_t again)
{
	uint32_t n = BOARD_SPANS - 4; /* room that sending leaves */

	for (uint32_t i = 0; i < n; i++) {
		uint32_t at_us = i == 21 ? 20005 : 1000 * i;

		assert_true(board_append(b, 10 + 10 * i, at_us));
		if (i == 20 || i == 21)
			assert_true(board_append(b, 11 + 10 * i, at_us));
	}
	assert_int_equal(b->n, n);
	if (again) {
		b->spans[20].serial = again;
		b->spans[20].sent_us = 20010;
	}
}

/* If spans run out those two are joined, as if all were of the later sending. */
TEST(test_board_squeezes)
{
	static const uint32_t serials[] = {0, 5000, 221}; /* the last of the other span is 221 */

	for (unsigned i = 0; i < 3; i++) {
		uint32_t again = serials[i];
		struct board b = {0};

		fill_board(&b, again);
		assert_true(board_append(&b, 9000, 90000));
		assert_int_equal(b.n, BOARD_SPANS - 4);
		assert_int_equal(board_start(&b, 20), 20);
		assert_int_equal(b.spans[20].end, 24);
		assert_int_equal(b.spans[20].sent_us, again ? 20010 : 20005);
		/* Its last serial is the latest one. */
		assert_int_equal(b.spans[20].serial + 3, again ? again + 1 : 221);
		assert_int_equal(b.spans[19].serial, 200);
		assert_int_equal(b.spans[21].serial, 230);
	}
	/* If serials must stay exact, spans cannot be joined. */
	{
		struct board b = {.exact = true};

		fill_board(&b, 0);
		assert_false(board_append(&b, 9000, 90000));
		assert_int_equal(board_out(&b), BOARD_SPANS - 2);
	}
}

/* A timeout marks the first segment as lost, and the others that are a round trip old. */
TEST(test_timeout_spares_the_young)
{
	static struct tcp_sender t;

	tcp_sender_init(&t, TRANSPORT_NEWRENO, 0);
	t.rack.rtt_us = 40000;
	for (uint32_t i = 0; i < 3; i++)
		assert_true(board_append(&t.board, 1 + i, 100000 * i));
	assert_true(board_append(&t.board, 4, 260000));
	assert_true(board_append(&t.board, 5, 260001));
	rack_timeout(&t, 300000);
	assert_int_equal(t.board.lost, 4);
	assert_int_equal(t.board.spans[t.board.n - 1].marks, 0);
	/* The first one as well, however recent. */
	rack_timeout(&t, 260001);
	tcp_sender_init(&t, TRANSPORT_NEWRENO, 0);
	t.rack.rtt_us = 40000;
	assert_true(board_append(&t.board, 1, 260000));
	assert_true(board_append(&t.board, 2, 260000));
	rack_timeout(&t, 260001);
	assert_int_equal(t.board.lost, 1);
}

/* The reordering degree and the number of steps have maxima. */
TEST(test_rack_at_most)
{
	static struct tcp_sender t;

	tcp_sender_init(&t, TRANSPORT_NEWRENO, 0);
	t.rack.steps = 1;
	for (unsigned i = 2; i < 1000; i++) {
		t.rack.repeated = true;
		rack_adapt(&t);
		assert_int_equal(t.rack.steps, i < 255 ? i : 255); /* eight bits */
		assert_false(t.rack.repeated);
	}
	rack_reordered(&t, 299);
	assert_int_equal(t.rack.reordering, 299);
	rack_reordered(&t, 1000);
	assert_int_equal(t.rack.reordering, 300); /* like Linux */
	rack_reordered(&t, 299);
	assert_int_equal(t.rack.reordering, 300);
}

/* A segment that was sent first but is delivered last shows nothing about those sent in between. */
TEST(test_rack_goes_forward)
{
	static struct tcp_sender t;
	struct span span = {.sent_us = 1000};

	tcp_sender_init(&t, TRANSPORT_NEWRENO, 0);
	rack_delivered(&t, &span, 7, 41000);
	rack_delivered(&t, &span, 5, 42000);
	assert_int_equal(t.rack.serial, 7);
	/* An acknowledgement sooner than the least round trip is for an earlier sending. */
	t.rtt.least = 40000;
	span.marks = SEG_REPEATED;
	rack_delivered(&t, &span, 9, 1000 + 39999);
	assert_int_equal(t.rack.serial, 7);
	rack_delivered(&t, &span, 9, 1000 + 40000);
	assert_int_equal(t.rack.serial, 9);
}

TEST(test_ranges)
{
	unsigned full = 0;

	for (uint64_t seed = 1; seed <= 300; seed++) {
		static bool had[MODEL];
		struct ranges r = {0};
		uint32_t span = 200 + 10 * (uint32_t)seed;
		struct prng prng;

		prng_seed(&prng, seed);
		memset(had, 0, sizeof(had));
		for (unsigned i = 0; i < 400; i++) {
			uint32_t from = prng_below(&prng, span), news = 0, n = 0;
			uint32_t to = from + 1 + prng_below(&prng, 8);
			enum ranges_verdict verdict = ranges_add(&r, from, to);

			for (uint32_t k = from; k < to; k++)
				news += !had[k];
			assert_int_equal(verdict == RANGES_HAD, news == 0);
			if (verdict == RANGES_NEW)
				for (uint32_t k = from; k < to; k++)
					had[k] = true;
			full += verdict == RANGES_FULL;
			for (uint32_t k = 0; k < r.base; k++)
				assert_true(had[k]);
			assert_false(had[r.base]);
			for (uint32_t k = (uint32_t)r.base; k < MODEL; k++) {
				while (n < r.n && ranges_get(&r, n).to <= k)
					n++;
				if (had[k] != (n < r.n && ranges_get(&r, n).from <= k))
					fail_msg("seed %llu: %u", (unsigned long long)seed, k);
			}
		}
		if (r.n) {
			uint64_t to = ranges_get(&r, 0).to;

			ranges_skip_hole(&r);
			assert_int_equal(r.base, to);
		}
	}
	assert_true(full > 0);
}

/*
 * Timers never expire early, and at most as late as the wheel's level allows, at each phase of the
 * clock.
 */
TEST(test_ticks)
{
	static const struct {
		uint64_t wait_ns, step_ns;
	} cases[] = {
		{1, 4 * MS},
		{8 * MS, 4 * MS},
		{248 * MS, 4 * MS},
		{249 * MS, 32 * MS},
		{2012 * MS, 32 * MS},
		{2013 * MS, 256 * MS},
		{16124 * MS, 256 * MS},
		{16125 * MS, 2048 * MS},
		{120000 * MS, 2048 * MS},
	};
	struct prng prng;

	prng_seed(&prng, 1);
	for (size_t i = 0; i < COUNT(cases); i++) {
		uint64_t most = 0;

		for (unsigned k = 0; k < 1000; k++) {
			uint64_t now = prng_next(&prng) >> 10, clock = prng_next(&prng) >> 10;
			uint64_t at = ticks_deadline(now, cases[i].wait_ns, clock);
			uint64_t late = at - now - cases[i].wait_ns;

			assert_true(at >= now + cases[i].wait_ns);
			assert_int_equal((at + clock) % cases[i].step_ns, 0);
			most = late > most ? late : most;
		}
		/* The tick in which it is set does not count, and a wait is whole ticks. */
		assert_true(most <= cases[i].step_ns + 2 * 4 * MS);
		assert_true(most > cases[i].step_ns / 2);
	}
}

TEST(test_round_trip_time)
{
	struct rtt r = {0};

	assert_int_equal(rtt_timeout(&r), 1000000); /* RFC 6298, section 2.1 */
	rtt_sample(&r, 40000, 0, 0);
	assert_int_equal(rtt_timeout(&r), 240000); /* the minimum applies to the deviation */
	for (uint32_t i = 1; i < 1000; i++)
		rtt_sample(&r, 40000, i, i + 4);
	assert_int_equal(rtt_timeout(&r), 240000);
	/* A jump by 400 ms: 1/8 of it, and 1/4 as deviation times 4. */
	rtt_sample(&r, 440000, 1000, 1004);
	assert_int_equal(rtt_smoothed(&r), 90000);
	assert_near(rtt_timeout(&r), 90000 + 400000, 20000);
	/* The deviation decays by a quarter each round trip. */
	for (uint32_t i = 1001; i < 1400; i++)
		rtt_sample(&r, 40000, i, i + 4);
	assert_near(rtt_timeout(&r), 240000, 500);
	rtt_sample_least(&r, 50);
	rtt_sample_least(&r, 70);
	assert_int_equal(r.least, 50);
	rtt_sample(&r, UINT32_MAX, 2000, 2004);
	assert_int_equal(rtt_timeout(&r), 120000000); /* the maximum, like Linux */
}

/* Lasts a round trip in which the whole window is used. */
static void round_trip(struct window *w, uint64_t *now_ns, uint64_t rtt_ns)
{
	uint32_t cwnd = w->cwnd;

	for (uint32_t acked = 0; acked < cwnd; acked += 2) {
		w->limited = true;
		window_grow(w, 2, *now_ns + rtt_ns * acked / cwnd);
	}
	*now_ns += rtt_ns;
}

TEST(test_newreno)
{
	struct window w;
	uint64_t now_ns = 1;

	window_init(&w, &newreno);
	for (uint32_t want = 10; want < 1000; want *= 2) {
		assert_int_equal(w.cwnd, want);
		round_trip(&w, &now_ns, 40 * MS);
	}
	w.cwnd = w.ssthresh = w.growth->reduce(&w, now_ns);
	assert_int_equal(w.cwnd, 640);
	for (unsigned i = 1; i < 50; i++) {
		round_trip(&w, &now_ns, 40 * MS);
		assert_in_range(w.cwnd, 640 + i - 1, 640 + i);
	}
	/* An unused window stays; in slow start it can become twice the used part. */
	w.limited = false;
	window_grow(&w, 10000, now_ns);
	assert_in_range(w.cwnd, 688, 689);
	w.ssthresh = WINDOW_NO_LIMIT;
	w.used = 345;
	window_grow(&w, 1, now_ns);
	assert_in_range(w.cwnd, 689, 690);
	w.used = 300;
	window_grow(&w, 1, now_ns);
	assert_in_range(w.cwnd, 689, 690);
	w.cwnd = 3;
	assert_int_equal(w.growth->reduce(&w, now_ns), 2);
}

/* RFC 9438, section 4.2: W(t) = C (t - K)^3 + W_max, K = cbrt((W_max - cwnd) / C). */
TEST(test_cubic_follows_its_formula)
{
	static const uint32_t from[] = {1000, 400, 4000};

	for (size_t k = 0; k < 3; k++) {
		const uint64_t rtt_ns = 100 * MS;
		uint64_t start_ns = 5000 * MS, now_ns = start_ns;
		double max = from[k], t_k, want;
		struct window w;

		window_init(&w, &cubic);
		w.least_rtt_us = (uint32_t)(rtt_ns / 1000);
		w.cwnd = from[k];
		w.cwnd = w.ssthresh = w.growth->reduce(&w, now_ns);
		assert_near(w.cwnd, 0.7 * max, 1);
		t_k = cbrt((max - w.cwnd) / 0.4);
		while (now_ns < start_ns + 1.7 * t_k * 1e9) {
			double t;

			round_trip(&w, &now_ns, rtt_ns);
			t = (double)(now_ns - start_ns) / 1e9;
			want = 0.4 * pow(t - t_k, 3) + max;
			assert_near(w.cwnd, want, 0.015 * want);
		}
		assert_true(w.cwnd > 1.05 * max);
	}
}

/* If the formula is slower than NewReno with the same average, the window follows NewReno. */
TEST(test_cubic_keeps_up)
{
	uint64_t now_ns = 1;
	struct window w;

	window_init(&w, &cubic);
	w.least_rtt_us = 10000;
	w.cwnd = 50;
	w.cwnd = w.ssthresh = w.growth->reduce(&w, now_ns);
	assert_int_equal(w.cwnd, 35);
	for (unsigned i = 0; i < 50; i++)
		round_trip(&w, &now_ns, 10 * MS);
	/* 3 (1 - beta) / (1 + beta) segments a round trip; the formula is slower. */
	assert_near(w.cwnd, 35 + 50 * 0.529, 4);
}

/* After a loss below the last maximum, the next maximum is lower. */
TEST(test_cubic_converges_fast)
{
	struct window w;

	window_init(&w, &cubic);
	w.cwnd = 1000;
	w.cwnd = w.growth->reduce(&w, 1);
	assert_int_equal(w.cubic.max, 1000);
	w.cwnd = 900;
	w.cwnd = w.growth->reduce(&w, 1);
	assert_near(w.cubic.max, 900 * 0.85, 1);
	w.growth->forget(&w);
	assert_int_equal(w.cubic.max, 0);
	w.cwnd = 2;
	assert_int_equal(w.growth->reduce(&w, 1), 2);
}
