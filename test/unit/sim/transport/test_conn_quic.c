/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * A QUIC sender whose acknowledgements come from the test, checked against RFC 9002: round trip
 * time, loss detection, window and probes.
 */
#include "check.h"

#include "transport/quic.h"

#define US  UINT64_C(1000)
#define MSS 1000
#define N   (COUNT(rows))

struct talker {
	struct stream stream;
	struct quic_sender q;
};

/*
 * Returns a sender with so many segments, 0: without end; it has a round trip time if one is given.
 */
static struct talker begin_talking(uint64_t segments, uint32_t rtt_us)
{
	struct conn_params params = {.mss = MSS, .bytes = segments * MSS, .window = 64000000};
	struct talker t = {0};

	assert_int_equal(stream_init(&t.stream, &params), 0);
	quic_sender_init(&t.q, MSS);
	quic_sender_open(&t.q, rtt_us);
	return t;
}

/* Sends one packet; returns the segment in it, or -1 if there is none. */
static int64_t talk(struct talker *t, uint64_t now_ns)
{
	uint64_t number = t->q.number;
	struct segment out;

	if (!quic_sender_send(&t->q, &t->stream, now_ns, &out))
		return -1;
	assert_int_equal(out.seq, number);
	assert_int_equal(out.len, MSS);
	assert_int_equal(out.sent_ns, now_ns);
	return (int64_t)(out.offset / MSS);
}

static unsigned talk_all(struct talker *t, uint64_t now_ns)
{
	unsigned n = 0;

	while (talk(t, now_ns) >= 0)
		n++;
	return n;
}

/*
 * Receives an acknowledgement of packets [from, to), with a round trip, less the receiver's delay,
 * of adjusted_ns.
 */
static void hear_ack(
	struct talker *t, uint64_t now_ns, uint64_t adjusted_ns, uint64_t from, uint64_t to)
{
	struct segment in = {.is_ack = true, .echo_ns = now_ns - adjusted_ns, .n_sacks = 1};

	in.sack[0] = (struct range){from, to};
	quic_sender_receive(&t->q, &t->stream, now_ns, &in);
}

/* Ten packets, or those that fit into 14,720 bytes, or two (section 7.2). */
TEST(test_initial_window)
{
	static const struct {
		uint32_t mss;
		uint64_t cwnd;
	} rows[] = {{100, 1000}, {1472, 14720}, {1473, 14720}, {7360, 14720}, {7361, 14722}};

	for (size_t i = 0; i < N; i++) {
		struct quic_sender q;

		quic_sender_init(&q, rows[i].mss);
		assert_int_equal(q.cwnd, rows[i].cwnd);
		assert_int_equal(q.timer_ns, CONN_NEVER);
	}
}

/* Section 5.3: first 100 ms and half of it, then a sample less the delay, if that is allowed. */
TEST(test_round_trips)
{
	static const struct {
		uint32_t first_us;
		uint64_t rtt_us, adjusted_us;
		uint32_t smoothed_us, deviation_us, least_us;
	} rows[] = {
		{100000, 140000, 120000, 102500, 42500, 100000},
		{100000, 140000, 140000, 105000, 47500, 100000},
		{100000, 140000, 140001, 105000, 47500, 100000},
		{100000, 140000, 100000, 100000, 37500, 100000}, /* not below the least */
		{100000, 140000, 99999, 105000, 47500, 100000},
		{100000, 60000, 60000, 95000, 47500, 60000},
		{100000, 100, 100, 87512, 62475, 100},
		{100000, 0, 0, 87500, 62499, 1},
		{0, 140000, 120000, 140000, 70000, 140000}, /* the first sample is used unchanged */
		{0, 0, 0, 1, 0, 1},
	};

	for (size_t i = 0; i < N; i++) {
		struct talker t = begin_talking(0, rows[i].first_us);

		assert_int_equal(talk(&t, 1000 * MS), 0);
		hear_ack(&t, 1000 * MS + rows[i].rtt_us * US, rows[i].adjusted_us * US, 0, 1);
		assert_int_equal(t.q.smoothed_us, rows[i].smoothed_us);
		assert_int_equal(t.q.deviation_us, rows[i].deviation_us);
		assert_int_equal(t.q.least_us, rows[i].least_us);
	}
}

/* Only the largest number, if newly acknowledged, gives a round trip time. */
TEST(test_round_trip_of_largest)
{
	struct talker t = begin_talking(0, 100000);

	for (int i = 0; i < 4; i++)
		assert_int_equal(talk(&t, (uint64_t)i * MS), i);
	hear_ack(&t, 102 * MS, 100 * MS, 2, 3);
	assert_int_equal(t.q.latest_us, 100000);
	hear_ack(&t, 103 * MS, 10 * MS, 0, 3);
	assert_int_equal(t.q.latest_us, 100000);
	assert_int_equal(t.q.board.una, 3);
	hear_ack(&t, 108 * MS, 105 * MS, 0, 4);
	assert_int_equal(t.q.latest_us, 105000);
	assert_int_equal(t.q.timer_ns, CONN_NEVER); /* nothing is in flight */
	quic_sender_expire(&t.q, &t.stream, 10000 * MS);
	assert_int_equal(t.stream.stats.timeouts, 0);
}

/* Section 6.2.1: smoothed, four deviations or 1 ms, and 25 ms; one second without a sample. */
TEST(test_probe_timeout)
{
	static const struct {
		uint32_t smoothed_us, deviation_us;
		uint64_t wait_us;
	} rows[] = {{0, 0, 1000000}, {100000, 50000, 325000}, {100000, 251, 126004},
		{100000, 250, 126000}, {100000, 249, 126000}, {1, 0, 26001}};

	for (size_t i = 0; i < N; i++) {
		struct talker t = begin_talking(0, 0);
		uint64_t now_ns = 5 * MS;

		t.q.smoothed_us = rows[i].smoothed_us;
		t.q.deviation_us = rows[i].deviation_us;
		assert_int_equal(talk(&t, now_ns), 0);
		assert_int_equal(talk(&t, ++now_ns), 1);
		for (unsigned k = 1; k < 14; k++) {
			unsigned before = k <= 10 ? k - 1 : 10;

			assert_int_equal(t.q.timer_ns - now_ns, (rows[i].wait_us * US) << before);
			quic_sender_expire(&t.q, &t.stream, t.q.timer_ns - 1);
			assert_int_equal(t.stream.stats.timeouts, k - 1);
			now_ns = t.q.timer_ns;
			quic_sender_expire(&t.q, &t.stream, now_ns);
			assert_int_equal(t.stream.stats.timeouts, k);
			assert_true(talk(&t, now_ns) >= 0); /* regardless of the window */
			t.q.cwnd = 0;
			assert_int_equal(talk(&t, now_ns), -1);
		}
		/* Any new acknowledgement ends the back-off. */
		hear_ack(&t, now_ns, 0, 0, 1);
		assert_int_equal(t.q.probes, 0);
	}
}

/* A probe contains lost data; otherwise new data; otherwise the oldest data in flight. */
TEST(test_probe_carries)
{
	static const struct {
		unsigned segments;
		bool lost, acked;
		int64_t want;
	} rows[] = {
		{0, false, false, 5},
		{5, false, false, 0},
		{5, false, true, 1},
		{0, true, true, 1},
		{5, true, true, 1},
	};

	for (size_t i = 0; i < N; i++) {
		struct talker t = begin_talking(rows[i].segments, 100000);

		for (int k = 0; k < 5; k++)
			assert_int_equal(talk(&t, (uint64_t)k), k);
		if (rows[i].acked)
			hear_ack(&t, 100 * MS, 100 * MS, 0, 1);
		if (rows[i].lost)
			hear_ack(&t, 100 * MS, 100 * MS, 4, 5);
		t.q.cwnd = 0;
		t.q.waits_for_loss = false;
		quic_sender_expire(&t.q, &t.stream, t.q.timer_ns);
		assert_int_equal(talk(&t, 900 * MS), rows[i].want);
		assert_int_equal(t.stream.stats.resent, rows[i].want < 5);
		assert_int_equal(talk(&t, 900 * MS), -1); /* only one */
	}
}

/* Section 6.1.1: a packet is lost if one with a number higher by three was delivered. */
TEST(test_packet_threshold)
{
	static const struct {
		unsigned from, to, lost;
	} rows[] = {{0, 1, 0}, {1, 2, 0}, {2, 3, 0}, {3, 4, 1}, {4, 5, 2}, {9, 10, 7}, {1, 4, 1},
		{0, 4, 0}, {1, 10, 1}};

	for (size_t i = 0; i < N; i++) {
		struct talker t = begin_talking(0, 100000);

		assert_int_equal(talk_all(&t, MS), 10);
		t.q.limited = false;
		hear_ack(&t, 101 * MS, 100 * MS, rows[i].from, rows[i].to);
		assert_int_equal(t.q.board.lost, rows[i].lost);
		assert_int_equal(t.stream.stats.recoveries, rows[i].lost > 0);
		assert_int_equal(t.q.cwnd, rows[i].lost ? 5000 : 10000);
	}
}

/*
 * Section 6.1.2: or if it is 9/8 of a round trip old, by the longer of the latest and the smoothed.
 */
TEST(test_time_threshold)
{
	static const struct {
		uint32_t first_us;
		uint64_t rtt_us, spacing_us;
		unsigned lost;
		uint64_t timer_us; /* after the first was sent */
	} rows[] = {
		/* How many of two before the delivered one: 112.5 ms. */
		{100000, 100000, 12500, 2, 0},
		{100000, 100000, 12499, 1, 112500 + 12499},
		{100000, 100000, 6250, 1, 112500 + 6250},
		{100000, 100000, 6249, 0, 112500},
		{100000, 140000, 8750, 1, 157500 + 8750},
		{100000, 140000, 8749, 0, 157500},
		{100000, 60000, 23437, 0, 106875}, /* 9/8 of 95 ms, smoothed */
		{100000, 60000, 23438, 1, 106875 + 23438},
		{100000, 60000, 46875, 2, 0},
		{100, 100, 449, 0, 1000}, /* at least a millisecond */
		{100, 100, 450, 1, 1450},
		{100, 100, 900, 2, 0},
	};

	for (size_t i = 0; i < N; i++) {
		struct talker t = begin_talking(0, rows[i].first_us);
		uint64_t now_ns = 1000 * MS, sent_ns = now_ns;

		for (int k = 0; k < 3; k++, now_ns += rows[i].spacing_us * US)
			assert_int_equal(talk(&t, now_ns), k);
		now_ns += (rows[i].rtt_us - rows[i].spacing_us) * US;
		hear_ack(&t, now_ns, rows[i].rtt_us * US, 2, 3);
		if (t.q.board.lost != rows[i].lost)
			fail_msg("row %zu: %u lost", i, t.q.board.lost);
		assert_int_equal(t.q.waits_for_loss, rows[i].lost < 2);
		if (rows[i].lost == 2)
			continue;
		assert_int_equal(t.q.timer_ns, sent_ns + rows[i].timer_us * US);
		now_ns = t.q.timer_ns;
		quic_sender_expire(&t.q, &t.stream, now_ns - 1);
		assert_int_equal(t.q.board.lost, rows[i].lost);
		quic_sender_expire(&t.q, &t.stream, now_ns);
		assert_true(t.q.board.lost > rows[i].lost);
		assert_int_equal(t.stream.stats.timeouts, 0);
	}
}

/* Sending does not postpone the timer of a loss. */
TEST(test_loss_timer_stays)
{
	struct talker t = begin_talking(0, 100000);
	uint64_t timer_ns;

	for (int k = 0; k < 3; k++)
		assert_int_equal(talk(&t, MS), k);
	hear_ack(&t, 101 * MS, 100 * MS, 2, 3);
	timer_ns = t.q.timer_ns;
	assert_int_equal(timer_ns, MS + 112500 * US);
	assert_int_equal(talk(&t, 102 * MS), 3);
	assert_int_equal(t.q.timer_ns, timer_ns);
	quic_sender_expire(&t.q, &t.stream, timer_ns);
	assert_int_equal(t.q.board.lost, 2);
	assert_false(t.q.waits_for_loss);
	/* Afterwards it is a probe's timer, from the latest sending. */
	assert_int_equal(t.q.timer_ns, 102 * MS + (100000 + 4 * 37500 + 25000) * US);
	assert_int_equal(talk(&t, 114 * MS), 0);
	assert_int_equal(talk(&t, 115 * MS), 1);
	assert_int_equal(t.q.timer_ns, 115 * MS + (100000 + 4 * 37500 + 25000) * US);
	assert_int_equal(t.stream.stats.resent, 2);
	/* The lost packets arrive late: their data was sent again, so nothing is left to do. */
	hear_ack(&t, 116 * MS, 100 * MS, 3, 6);
	assert_int_equal(t.q.board.una, 4);
	assert_int_equal(t.q.timer_ns, CONN_NEVER);
}

/* A packet that was lost and then arrives need not be sent again. */
TEST(test_late_arrival)
{
	struct talker t = begin_talking(10, 100000);

	assert_int_equal(talk_all(&t, MS), 10);
	hear_ack(&t, 101 * MS, 100 * MS, 5, 10);
	assert_int_equal(t.q.board.lost, 5);
	hear_ack(&t, 102 * MS, 101 * MS, 1, 4);
	assert_int_equal(t.q.board.lost, 2);
	assert_int_equal(talk(&t, 102 * MS), 0);
	assert_int_equal(talk(&t, 102 * MS), 4);
	assert_int_equal(talk(&t, 102 * MS), -1);
	/* Each by its new number. */
	hear_ack(&t, 202 * MS, 100 * MS, 0, 5);
	assert_int_equal(t.q.board.una, 0);
	hear_ack(&t, 202 * MS, 100 * MS, 10, 11);
	assert_int_equal(t.q.board.una, 4);
	hear_ack(&t, 202 * MS, 100 * MS, 11, 12);
	assert_int_equal(t.q.board.una, 10);
}

/*
 * Section 7.3: slow start, recovery, and a segment a round trip; the window falls to two at least.
 */
TEST(test_quic_window)
{
	static const struct {
		uint64_t cwnd, ssthresh;
		uint32_t recovery; /* packets from this one on are outside of it */
		bool limited;
		unsigned from, to;
		uint64_t want, threshold;
	} rows[] = {
		{10000, UINT64_MAX, 0, true, 0, 3, 13000, UINT64_MAX},
		{10000, UINT64_MAX, 0, false, 0, 3, 10000, UINT64_MAX},
		{10000, 10001, 0, true, 0, 3, 13000, 10001},
		{10000, 10000, 0, true, 0, 3, 10300, 10000},
		{10000, 10000, 2, true, 0, 3, 10100, 10000},
		{10000, 10000, 3, true, 0, 3, 10000, 10000},
		/*
		 * A loss halves it once a recovery; the acknowledgement that shows it causes no
		 * growth.
		 */
		{12000, 10000, 0, false, 3, 4, 6000, 6000},
		{12000, 10000, 0, true, 3, 4, 6000, 6000},
		{12000, UINT64_MAX, 0, true, 3, 4, 6000, 6000},
		{3000, 10000, 0, false, 3, 4, 2000, 2000},
		{12000, 10000, 1, false, 3, 4, 12000, 10000},
		{12000, 10000, 1, false, 4, 5, 6000, 6000},
	};

	for (size_t i = 0; i < N; i++) {
		struct talker t = begin_talking(0, 100000);

		for (int k = 0; k < 6; k++)
			assert_int_equal(talk(&t, MS), k);
		t.q.cwnd = rows[i].cwnd;
		t.q.ssthresh = rows[i].ssthresh;
		t.q.recovery = rows[i].recovery;
		t.q.limited = rows[i].limited;
		hear_ack(&t, 101 * MS, 100 * MS, rows[i].from, rows[i].to);
		assert_int_equal(t.q.cwnd, rows[i].want);
		assert_int_equal(t.q.ssthresh, rows[i].threshold);
		if (t.stream.stats.recoveries)
			assert_int_equal(t.q.recovery, 6);
	}
}

/* Whole packets that fit into the window; lost and delivered ones do not count. */
TEST(test_quic_room)
{
	static const struct {
		uint64_t cwnd;
		unsigned sent;
	} rows[] = {{999, 0}, {1000, 1}, {1999, 1}, {2000, 2}, {5500, 5}};

	for (size_t i = 0; i < N; i++) {
		struct talker t = begin_talking(0, 100000);

		t.q.cwnd = rows[i].cwnd;
		assert_int_equal(talk_all(&t, MS), rows[i].sent);
		assert_true(t.q.limited);
		t.q.cwnd += MSS;
		assert_int_equal(talk(&t, MS), rows[i].sent);
		assert_false(t.q.limited);
	}
}

/* Section 7.6: no packet sent over more than three probe timeouts was delivered. */
TEST(test_silent_time)
{
	/* After two samples: three times 100 + 4 · 28.125 + 25 ms. */
	static const struct {
		uint64_t silent_us;
		bool breaks; /* one in between was delivered */
		uint64_t cwnd;
	} rows[] = {{712500, false, 5000}, {712501, false, 2000}, {2000000, false, 2000},
		{2000000, true, 5000}};

	for (size_t i = 0; i < N; i++) {
		struct talker t = begin_talking(0, 100000);
		uint64_t now_ns = 1000 * MS;

		assert_int_equal(talk(&t, now_ns), 0);
		now_ns += 100 * MS;
		hear_ack(&t, now_ns, 100 * MS, 0, 1);
		assert_int_equal(talk(&t, now_ns), 1);
		now_ns += rows[i].silent_us / 2 * US;
		assert_int_equal(talk(&t, now_ns), 2);
		now_ns += (rows[i].silent_us - rows[i].silent_us / 2) * US;
		assert_int_equal(talk(&t, now_ns), 3);
		for (int k = 4; k < 7; k++)
			assert_int_equal(talk(&t, now_ns + MS), k);
		if (rows[i].breaks) {
			struct segment in = {.is_ack = true, .echo_ns = now_ns + MS, .n_sacks = 2};

			in.sack[0] = (struct range){6, 7};
			in.sack[1] = (struct range){2, 3};
			quic_sender_receive(&t.q, &t.stream, now_ns + 101 * MS, &in);
		} else {
			hear_ack(&t, now_ns + 101 * MS, 100 * MS, 6, 7);
		}
		assert_int_equal(t.q.cwnd, rows[i].cwnd);
		assert_int_equal(t.q.recovery, rows[i].cwnd == 2000 ? 0 : 7);
		assert_int_equal(t.stream.stats.recoveries, 1);
	}
}

/*
 * Acknowledgements that are none, are empty, or cover unsent or already acknowledged packets change
 * nothing.
 */
TEST(test_quic_no_news)
{
	static const struct {
		bool is_ack;
		uint64_t from, to;
	} rows[] = {{false, 0, 9}, {true, 3, 3}, {true, 4, 3}, {true, 0, 11}, {true, 0, 1},
		{true, 10, 11}};

	for (size_t i = 0; i < N; i++) {
		struct talker t = begin_talking(0, 100000);
		struct segment in = {.is_ack = rows[i].is_ack, .n_sacks = 1, .echo_ns = MS};
		uint64_t timer_ns;

		assert_int_equal(talk_all(&t, MS), 10);
		hear_ack(&t, 101 * MS, 100 * MS, 0, 1);
		timer_ns = t.q.timer_ns;
		in.sack[0] = (struct range){rows[i].from, rows[i].to};
		t.q.probes = 3;
		quic_sender_receive(&t.q, &t.stream, 150 * MS, &in);
		assert_int_equal(t.q.board.una, 1);
		assert_int_equal(t.q.timer_ns, timer_ns);
		assert_int_equal(t.q.probes, 3);
		assert_int_equal(t.q.latest_us, 100000);
	}
}
