/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * A TCP sender whose acknowledgements come from the test: its measurements, timers and loss
 * detection, and the window during recovery.
 */
#include "check.h"

#include "transport/tcp_parts.h"
#include "transport/rtt.h"

#define US  UINT64_C(1000)
#define MSS 1000
#define N   (COUNT(rows))

struct tcp_talker {
	struct stream stream;
	struct tcp_sender t;
};

static struct tcp_talker begin_tcp(uint64_t segments)
{
	struct conn_params params = {.mss = MSS, .bytes = segments * MSS, .window = 64000000};
	struct tcp_talker k = {0};

	assert_int_equal(stream_init(&k.stream, &params), 0);
	tcp_sender_init(&k.t, TRANSPORT_NEWRENO, 0);
	return k;
}

/* Sends one segment; returns its number, or -1 if there is none. */
static int64_t tcp_talk(struct tcp_talker *k, uint64_t now_ns)
{
	struct segment out;

	if (!tcp_sender_send(&k->t, &k->stream, now_ns, &out))
		return -1;
	assert_int_equal(out.sent_ns, now_ns);
	return (int64_t)(out.seq / MSS);
}

static unsigned tcp_talk_all(struct tcp_talker *k, uint64_t now_ns)
{
	unsigned n = 0;

	while (tcp_talk(k, now_ns) >= 0)
		n++;
	return n;
}

/* Receives an acknowledgement of all segments before `ack`, and of [from, to) above it. */
static void tcp_hear(struct tcp_talker *k, uint64_t now_ns, uint64_t echo_ns, uint64_t ack,
	uint64_t from, uint64_t to)
{
	struct segment in = {.is_ack = true, .ack = ack * MSS, .echo_ns = echo_ns};

	in.sack[0] = (struct range){from * MSS, to * MSS};
	in.n_sacks = to > from;
	tcp_sender_receive(&k->t, &k->stream, now_ns, &in);
}

/* Proportional rate reduction with the slow-start reduction bound (RFC 6937, section 3). */
TEST(test_rate_reduction)
{
	static const struct {
		uint32_t in_flight, ssthresh, prior, prr_delivered, prr_out;
		struct news news;
		uint32_t want;
	} rows[] = {
		/*
		 * More is in flight than ssthresh: ssthresh / prior of the delivered segments are
		 * sent.
		 */
		{10, 5, 20, 0, 0, {.delivered = 2}, 11},
		{10, 5, 20, 0, 1, {.delivered = 2}, 10},
		{10, 5, 20, 3, 1, {.delivered = 1}, 10},
		{10, 5, 20, 4, 1, {.delivered = 1}, 11},
		{10, 5, 20, 0, 0, {.delivered = 5}, 12},
		{10, 5, 20, 1, 5, {.delivered = 1}, 10},
		/*
		 * Less is in flight: the delivered segments are sent, and one more if all goes
		 * well.
		 */
		{3, 10, 20, 0, 1, {.delivered = 2}, 5},
		{3, 10, 20, 0, 1, {.delivered = 2, .advanced = true}, 6},
		{3, 10, 20, 0, 1, {.delivered = 2, .advanced = true, .lost = 1}, 5},
		{3, 10, 20, 5, 1, {.delivered = 2}, 9},
		{3, 10, 20, 5, 1, {.delivered = 2, .advanced = true}, 10},
		{3, 10, 20, 8, 1, {.delivered = 2}, 10}, /* not beyond ssthresh */
		{10, 10, 20, 8, 1, {.delivered = 2}, 10},
		/* The first retransmission is sent immediately. */
		{10, 10, 20, 8, 0, {.delivered = 2}, 11},
		{12, 10, 20, 0, 0, {.delivered = 1}, 13},
		/* No news, or no reduction: the window stays. */
		{3, 10, 20, 5, 1, {.delivered = 0, .advanced = true}, 77},
		{3, 10, 0, 5, 1, {.delivered = 2}, 77},
	};

	for (size_t i = 0; i < N; i++) {
		struct tcp_sender t;

		tcp_sender_init(&t, TRANSPORT_NEWRENO, 0);
		t.state = TCP_RECOVERY;
		t.board.next = rows[i].in_flight;
		t.window.cwnd = 77;
		t.window.ssthresh = rows[i].ssthresh;
		t.prior_cwnd = rows[i].prior;
		t.prr_delivered = rows[i].prr_delivered;
		t.prr_out = rows[i].prr_out;
		tcp_adjust_window(&t, &rows[i].news, MS);
		if (t.window.cwnd != rows[i].want)
			fail_msg("row %zu: %u", i, t.window.cwnd);
	}
}

/*
 * Outside of recovery the window grows with in-order data; on a path that reorders, also with
 * SACKs.
 */
TEST(test_growth_by_news)
{
	static const struct {
		enum tcp_state state;
		uint32_t reordering;
		struct news news;
		uint32_t want;
	} rows[] = {
		{TCP_OPEN, 3, {.delivered = 2, .advanced = true}, 12},
		{TCP_LOSS, 3, {.delivered = 2, .advanced = true}, 12},
		{TCP_OPEN, 3, {.delivered = 2, .sacked = true}, 10},
		{TCP_DISORDER, 4, {.delivered = 2, .sacked = true}, 12},
		{TCP_DISORDER, 4, {.delivered = 0}, 10},
		{TCP_DISORDER, 4, {.delivered = 2}, 10},
	};

	for (size_t i = 0; i < N; i++) {
		struct tcp_sender t;

		tcp_sender_init(&t, TRANSPORT_NEWRENO, 0);
		t.state = (uint8_t)rows[i].state;
		t.window.limited = true;
		t.rack.reordering = rows[i].reordering;
		t.rtt.least = 4321;
		tcp_adjust_window(&t, &rows[i].news, MS);
		assert_int_equal(t.window.cwnd, rows[i].want);
		assert_int_equal(t.window.least_rtt_us, 4321);
	}
}

/* A timeout lowers the threshold once a window, and starts from the segments in flight plus one. */
TEST(test_timeout_threshold)
{
	static const struct {
		enum tcp_state state;
		uint32_t high;
		bool timed_out, falls, frto;
	} rows[] = {
		{TCP_OPEN, 9, false, true, true},
		{TCP_DISORDER, 9, true, true, true},
		{TCP_RECOVERY, 9, false, false, false},
		{TCP_RECOVERY, 1, false, false, false},
		{TCP_RECOVERY, 0, false, true, false},
		{TCP_LOSS, 9, true, false, true},
		{TCP_LOSS, 9, false, true, false},
	};

	for (size_t i = 0; i < N; i++) {
		struct tcp_talker k = begin_tcp(0);
		struct tcp_sender *t = &k.t;

		assert_int_equal(tcp_talk_all(&k, MS), 10);
		t->state = (uint8_t)rows[i].state;
		t->high = rows[i].high;
		t->timed_out = rows[i].timed_out;
		t->probe.due = t->probe.out = t->new_first = true;
		t->window.credit = 3;
		t->rack.rtt_us = 40000;
		tcp_enter_loss(t, 1000 * MS);
		assert_int_equal(t->window.ssthresh, rows[i].falls ? 5 : WINDOW_NO_LIMIT);
		assert_int_equal(t->undo.armed, rows[i].falls);
		assert_int_equal(t->prior_cwnd, rows[i].falls ? 10 : 0);
		assert_int_equal(t->frto, rows[i].frto);
		assert_int_equal(t->board.lost, 10);
		assert_int_equal(t->window.cwnd, 1);
		assert_int_equal(t->window.credit, 0);
		assert_int_equal(t->state, TCP_LOSS);
		assert_int_equal(t->high, 10);
		assert_true(t->timed_out);
		assert_false(t->probe.due || t->probe.out || t->new_first);
	}
}

/*
 * Four segments: the last was delivered 40 ms after it was sent, which is 70 ms after the first was
 * sent.
 */
TEST(test_rack_waits)
{
	static const struct {
		enum tcp_state state;
		bool reordered;
		uint32_t reordering, steps, smoothed_us, lost, wait_us;
	} rows[] = {
		/* A quarter of the least round trip, 10 ms. */
		{TCP_OPEN, false, 3, 1, 40000, 2, 5000},
		{TCP_OPEN, false, 3, 2, 40000, 1, 15000},
		{TCP_OPEN, false, 3, 3, 40000, 1, 25000},
		{TCP_OPEN, false, 3, 9, 40000, 0, 35000}, /* a round trip at most */
		{TCP_OPEN, false, 3, 9, 5000, 3, 0},
		{TCP_OPEN, false, 3, 9, 5001, 2, 1},
		/*
		 * No wait after `reordering` deliveries, or in a recovery, on a path that does not
		 * reorder.
		 */
		{TCP_DISORDER, false, 1, 1, 40000, 3, 0},
		{TCP_DISORDER, false, 2, 1, 40000, 2, 5000},
		{TCP_DISORDER, true, 1, 1, 40000, 2, 5000},
		{TCP_RECOVERY, false, 3, 1, 40000, 3, 0},
		{TCP_LOSS, false, 3, 1, 40000, 3, 0},
		{TCP_RECOVERY, true, 3, 1, 40000, 2, 5000},
	};
	static const uint32_t sent_us[] = {0, 15000, 25000, 30000};

	for (size_t i = 0; i < N; i++) {
		struct news news = {0};
		struct tcp_sender t;
		unsigned first, last;

		tcp_sender_init(&t, TRANSPORT_NEWRENO, 0);
		for (uint32_t n = 0; n < 4; n++)
			assert_true(board_append(&t.board, 1 + n, sent_us[n]));
		assert_true(board_append(&t.board, 5, 0)); /* later than the delivered one */
		assert_true(board_cut(&t.board, 3, 4, &first, &last));
		t.board.spans[first].marks = SEG_SACKED;
		board_settle(&t.board);
		t.state = (uint8_t)rows[i].state;
		t.rack = (struct rack){.serial = 4, .rtt_us = 40000};
		t.rack.reordered = rows[i].reordered;
		t.rack.reordering = rows[i].reordering;
		t.rack.steps = (uint8_t)rows[i].steps;
		t.rtt.least = 40000;
		t.rtt.smooth8 = 8 * rows[i].smoothed_us;
		assert_int_equal(rack_detect(&t, &news, 70000), rows[i].wait_us);
		assert_int_equal(news.lost, rows[i].lost);
		assert_int_equal(t.board.lost, rows[i].lost);
		assert_false(news.lost_again);
	}
}

/* A retransmission is lost again when a segment sent later was delivered. */
TEST(test_rack_lost_again)
{
	static const struct {
		uint32_t serial, marks, lost, resent;
		bool again;
	} rows[] = {
		{8, SEG_LOST | SEG_RESENT, 2, 0, true},
		{7, SEG_LOST | SEG_RESENT, 0, 2, false}, /* this sending was delivered */
		{8, SEG_LOST, 0, 0, false},              /* already marked as lost */
		{8, 0, 2, 0, false},
	};

	for (size_t i = 0; i < N; i++) {
		struct news news = {0};
		struct tcp_sender t;

		tcp_sender_init(&t, TRANSPORT_NEWRENO, 0);
		assert_true(board_append(&t.board, 6, 0));
		assert_true(board_append(&t.board, 7, 0));
		t.board.spans[0].marks = rows[i].marks;
		board_settle(&t.board);
		t.rack = (struct rack){.serial = rows[i].serial, .rtt_us = 40000, .steps = 1};
		t.state = TCP_RECOVERY;
		assert_int_equal(rack_detect(&t, &news, 40000), 0);
		assert_int_equal(news.lost, rows[i].lost);
		assert_int_equal(t.board.resent, rows[i].resent);
		assert_int_equal(news.lost_again, rows[i].again);
	}
}

/* A DSACK adds a step once a round trip; sixteen recoveries without one reset the steps. */
TEST(test_rack_steps)
{
	static const struct {
		uint8_t steps, keep;
		bool repeated;
		uint32_t settled;
		uint8_t want, kept;
	} rows[] = {
		{1, 0, true, 5, 2, 16},
		{4, 3, true, 5, 5, 16},
		{4, 3, true, 6, 4, 3}, /* within the same round trip */
		{4, 0, true, 6, 4, 0},
		{4, 3, false, 5, 4, 3},
		{4, 0, false, 5, 1, 0},
	};

	for (size_t i = 0; i < N; i++) {
		struct tcp_sender t;

		tcp_sender_init(&t, TRANSPORT_NEWRENO, 0);
		t.board.una = 5;
		t.board.next = 9;
		t.rack.steps = rows[i].steps;
		t.rack.keep = rows[i].keep;
		t.rack.repeated = rows[i].repeated;
		t.rack.settled = rows[i].settled;
		rack_adapt(&t);
		assert_int_equal(t.rack.steps, rows[i].want);
		assert_int_equal(t.rack.keep, rows[i].kept);
		assert_int_equal(t.rack.settled, rows[i].kept == 16 ? 9 : rows[i].settled);
		assert_false(t.rack.repeated);
	}
}

/* The timeout counts from now or, if another timer ran, from the sending of the first segment. */
TEST(test_rto_timer)
{
	static const struct {
		enum tcp_timer timer;
		unsigned segments;
		uint64_t now_ms, wait_us;
	} rows[] = {
		{TCP_TIMER_NONE, 2, 100, 300000},
		{TCP_TIMER_RTO, 2, 100, 300000},
		{TCP_TIMER_PROBE, 2, 100, 210000},
		{TCP_TIMER_REORDER, 2, 100, 210000},
		{TCP_TIMER_REORDER, 2, 309, 1000},
		{TCP_TIMER_REORDER, 2, 310, 1}, /* immediately */
		{TCP_TIMER_REORDER, 2, 400, 1},
		{TCP_TIMER_RTO, 0, 100, 0},
	};

	for (size_t i = 0; i < N; i++) {
		struct tcp_sender t;

		tcp_sender_init(&t, TRANSPORT_NEWRENO, 0);
		for (uint32_t n = 0; n < rows[i].segments; n++)
			assert_true(board_append(&t.board, 1 + n, 10000 + 50000 * n));
		t.timer = (uint8_t)rows[i].timer;
		t.timer_ns = 5;
		t.rto_us = 300000;
		tcp_timer_rto(&t, rows[i].now_ms * MS);
		assert_int_equal(t.timer, rows[i].segments ? TCP_TIMER_RTO : TCP_TIMER_NONE);
		assert_int_equal(t.timer_ns, rows[i].segments ? ticks_deadline(rows[i].now_ms * MS,
									rows[i].wait_us * US, 0)
							      : CONN_NEVER);
	}
}

/*
 * RFC 8985, section 7.2: two round trips. With one segment in flight, also the delay of its
 * acknowledgement.
 */
TEST(test_probe_timer)
{
	static const struct {
		enum tcp_state state;
		unsigned segments;
		uint32_t smoothed_us, rto_us;
		bool advanced;
		uint64_t wait_us; /* 0: none */
	} rows[] = {
		{TCP_OPEN, 2, 100000, 900000, true, 208000},
		{TCP_OPEN, 1, 100000, 900000, true, 400000},
		{TCP_OPEN, 2, 0, 2000000, true, 1000000}, /* no round trip yet */
		{TCP_OPEN, 2, 0, 900000, true, 900000},
		{TCP_OPEN, 2, 100000, 150000, true, 150000}, /* not later than the timeout */
		{TCP_OPEN, 2, 100000, 150000, false, 60000}, /* which began at 10 ms */
		{TCP_OPEN, 2, 100000, 90000, false, 208000}, /* has passed */
		{TCP_DISORDER, 2, 100000, 900000, true, 0},
		{TCP_RECOVERY, 2, 100000, 900000, true, 0},
		{TCP_OPEN, 0, 100000, 900000, true, 0},
	};

	for (size_t i = 0; i < N; i++) {
		struct tcp_sender t;

		tcp_sender_init(&t, TRANSPORT_NEWRENO, 0);
		for (uint32_t n = 0; n < rows[i].segments; n++)
			assert_true(board_append(&t.board, 1 + n, 10000));
		t.state = (uint8_t)rows[i].state;
		t.rtt.smooth8 = 8 * rows[i].smoothed_us;
		t.rto_us = rows[i].rto_us;
		assert_int_equal(
			tcp_timer_probe(&t, 100 * MS, rows[i].advanced), rows[i].wait_us > 0);
		if (rows[i].wait_us == 0)
			continue;
		assert_int_equal(t.timer, TCP_TIMER_PROBE);
		assert_int_equal(t.timer_ns, ticks_deadline(100 * MS, rows[i].wait_us * US, 0));
	}
}

/* Segments are sent at 0, 10 and 20 ms; the round trip by an acknowledgement at 70 ms. */
TEST(test_which_round_trip)
{
	static const struct {
		uint64_t echo_ms, ack, from, to;
		uint32_t smoothed_us, least_us;
	} rows[] = {
		{0, 3, 0, 0, 70000, 50000}, /* the first one's; the minimum is the last one's */
		{0, 1, 0, 0, 70000, 70000},
		{0, 2, 0, 0, 70000, 60000},
		{0, 0, 1, 3, 60000, 50000},
		{0, 0, 2, 3, 50000, 50000},
		{0, 1, 2, 3, 70000, 70000},
	};

	for (size_t i = 0; i < N; i++) {
		struct tcp_talker k = begin_tcp(0);

		for (int n = 0; n < 3; n++)
			assert_int_equal(tcp_talk(&k, (uint64_t)(10 * n + 1) * MS), n);
		tcp_hear(&k, 71 * MS, rows[i].echo_ms * MS, rows[i].ack, rows[i].from, rows[i].to);
		assert_int_equal(rtt_smoothed(&k.t.rtt), rows[i].smoothed_us);
		assert_int_equal(k.t.rtt.least, rows[i].least_us);
		assert_int_equal(k.t.rto_us, rtt_timeout(&k.t.rtt));
	}
}

/* After a retransmission, only the timestamp shows which sending was acknowledged (RFC 7323). */
TEST(test_round_trip_of_repeated)
{
	static const struct {
		uint64_t echo_ns;
		uint32_t smoothed_us; /* 0: no measurement */
	} rows[] = {{0, 0}, {2000 * MS, 60000}, {MS, 2059000}, {2060 * MS, 1}, {2061 * MS, 0}};

	for (size_t i = 0; i < N; i++) {
		struct tcp_talker k = begin_tcp(1);

		assert_int_equal(tcp_talk(&k, MS), 0);
		tcp_sender_expire(&k.t, &k.stream, k.t.timer_ns);
		assert_int_equal(k.t.probe.due + k.stream.stats.timeouts, 1);
		assert_int_equal(tcp_talk(&k, 2000 * MS), 0);
		tcp_hear(&k, 2060 * MS, rows[i].echo_ns, 1, 0, 0);
		assert_int_equal(rtt_smoothed(&k.t.rtt), rows[i].smoothed_us);
	}
}

/* An acknowledgement below the last one, or of segments that were never sent, is ignored. */
TEST(test_tcp_no_news)
{
	static const struct {
		bool is_ack;
		uint64_t ack;
	} rows[] = {{false, 5}, {true, 1}, {true, 11}};

	for (size_t i = 0; i < N; i++) {
		struct tcp_talker k = begin_tcp(0);
		struct segment in = {.is_ack = rows[i].is_ack, .ack = rows[i].ack * MSS};
		struct tcp_sender before;

		assert_int_equal(tcp_talk_all(&k, MS), 10);
		tcp_hear(&k, 41 * MS, MS, 2, 0, 0);
		before = k.t;
		in.sack[0] = (struct range){5 * MSS, 6 * MSS};
		in.n_sacks = 1;
		tcp_sender_receive(&k.t, &k.stream, 50 * MS, &in);
		assert_int_equal(k.t.board.una, 2);
		assert_int_equal(k.t.board.sacked, 0);
		assert_int_equal(k.t.timer_ns, before.timer_ns);
		assert_int_equal(k.t.state, TCP_OPEN);
	}
}

/* The handshake gives a round trip, and a window of one if two SYNs were lost. */
TEST(test_tcp_opens)
{
	static const struct {
		unsigned tries;
		uint32_t rtt_us, cwnd, rto_us;
	} rows[] = {{1, 40000, 10, 240000}, {2, 40000, 10, 240000}, {3, 40000, 1, 240000},
		{1, 0, 10, 1000000}, {3, 0, 1, 1000000}};

	for (size_t i = 0; i < N; i++) {
		struct tcp_sender t;

		tcp_sender_init(&t, TRANSPORT_CUBIC, 0);
		tcp_sender_open(&t, rows[i].tries, rows[i].rtt_us);
		assert_int_equal(t.window.cwnd, rows[i].cwnd);
		assert_int_equal(t.rto_us, rows[i].rto_us);
		assert_int_equal(t.rtt.least, rows[i].rtt_us);
	}
}

/* A recovery starts with its counters reset, and ends a loss probe. */
TEST(test_recovery_begins)
{
	static const struct {
		enum tcp_state state;
		uint32_t ssthresh, good; /* good: to restore */
	} rows[] = {
		{TCP_OPEN, 20, 20},
		{TCP_OPEN, 8, 8}, /* three quarters of ten are 7.5, rounded up */
		{TCP_OPEN, 7, 8},
		{TCP_DISORDER, 2, 8},
		{TCP_RECOVERY, 2, 2},
	};

	for (size_t i = 0; i < N; i++) {
		struct tcp_talker k = begin_tcp(0);

		assert_int_equal(tcp_talk_all(&k, MS), 10);
		k.t.probe.out = true;
		k.t.window.credit = 3;
		k.t.window.ssthresh = rows[i].ssthresh;
		k.t.prr_delivered = k.t.prr_out = 7;
		k.t.state = (uint8_t)rows[i].state;
		tcp_enter_recovery(&k.t, &k.stream, 50 * MS);
		assert_int_equal(k.t.state, TCP_RECOVERY);
		assert_int_equal(k.t.window.ssthresh, 5);
		assert_int_equal(k.t.window.credit, 0);
		assert_int_equal(k.t.prior_cwnd, 10);
		assert_int_equal(k.t.prr_delivered + k.t.prr_out, 0);
		assert_int_equal(k.t.high, 10);
		assert_false(k.t.probe.out);
		assert_int_equal(k.stream.stats.recoveries, 1);
		assert_true(k.t.undo.armed);
		assert_int_equal(k.t.undo.ssthresh, rows[i].good);
		assert_int_equal(k.t.undo.resent, -1);
	}
}

/* Timeouts double up to two minutes; no timer expires early, or with nothing in flight. */
TEST(test_rto_doubles)
{
	struct tcp_talker k = begin_tcp(1);
	uint32_t want = 450000;

	tcp_sender_open(&k.t, 1, 150000);
	assert_int_equal(tcp_talk(&k, MS), 0);
	tcp_timer_start(&k.t, TCP_TIMER_RTO, MS, k.t.rto_us);
	for (unsigned i = 0; i < 14; i++) {
		uint64_t now_ns = k.t.timer_ns;

		tcp_sender_expire(&k.t, &k.stream, now_ns - 1);
		assert_int_equal(k.stream.stats.timeouts, i);
		tcp_sender_expire(&k.t, &k.stream, now_ns);
		assert_int_equal(k.stream.stats.timeouts, i + 1);
		want = want < 60000000 ? 2 * want : 120000000;
		assert_int_equal(k.t.rto_us, want);
		assert_int_equal(k.t.timer_ns, ticks_deadline(now_ns, want * US, 0));
		assert_int_equal(tcp_talk(&k, now_ns), 0);
		assert_int_equal(tcp_talk(&k, now_ns), -1);
	}
	tcp_hear(&k, k.t.timer_ns - MS, 0, 1, 0, 0);
	assert_int_equal(k.t.timer_ns, CONN_NEVER);
	k.t.timer_ns = MS;
	tcp_sender_expire(&k.t, &k.stream, 2 * MS);
	assert_int_equal(k.t.timer_ns, CONN_NEVER);
	assert_int_equal(k.stream.stats.timeouts, 14);
}

/* For a segment sent twice, an acknowledgement sooner than the least round trip is ignored. */
TEST(test_rack_too_soon)
{
	static const struct {
		uint32_t marks, rtt_us;
		bool counts;
	} rows[] = {{0, 39999, true}, {SEG_RESENT, 39999, false}, {SEG_REPEATED, 39999, false},
		{SEG_RESENT, 40000, true}, {SEG_REPEATED, 40000, true}, {SEG_LOST, 39999, true}};

	for (size_t i = 0; i < N; i++) {
		struct span span = {.marks = rows[i].marks, .sent_us = 1000};
		struct tcp_sender t;

		tcp_sender_init(&t, TRANSPORT_NEWRENO, 0);
		t.rtt.least = 40000;
		rack_delivered(&t, &span, 5, 1000 + rows[i].rtt_us);
		assert_int_equal(t.rack.advanced, rows[i].counts);
		assert_int_equal(t.rack.rtt_us, rows[i].counts ? rows[i].rtt_us : 0);
	}
}

/*
 * A timeout keeps SACKed segments. If the first segment is SACKed, the receiver has reneged: none
 * is kept.
 */
TEST(test_timeout_and_sacked)
{
	static const struct {
		unsigned from, to;
		uint32_t lost, sacked;
	} rows[] = {{1, 3, 8, 2}, {9, 10, 9, 1}, {0, 1, 10, 0}, {0, 10, 10, 0}};

	for (size_t i = 0; i < N; i++) {
		struct tcp_talker k = begin_tcp(0);
		unsigned first, last;

		assert_int_equal(tcp_talk_all(&k, MS), 10);
		assert_true(board_cut(&k.t.board, rows[i].from, rows[i].to, &first, &last));
		k.t.board.spans[first].marks = SEG_SACKED;
		board_settle(&k.t.board);
		rack_timeout(&k.t, 900000);
		assert_int_equal(k.t.board.lost, rows[i].lost);
		assert_int_equal(k.t.board.sacked, rows[i].sacked);
		if (rows[i].from == 0)
			assert_int_equal(k.t.board.spans[0].marks, SEG_LOST | SEG_REPEATED);
	}
}

/*
 * Ten segments were sent, two are acknowledged: the effect of SACK blocks, and whether one is a
 * DSACK.
 */
TEST(test_blocks)
{
	static const struct {
		struct range a, b;
		uint32_t sacked, serial; /* the latest delivered segment's */
		bool twice;
	} rows[] = {
		{{4, 6}, {0, 0}, 2, 6, false},
		{{0, 5}, {0, 0}, 3, 5, false},
		{{8, 20}, {0, 0}, 2, 10, false},
		{{4, 6}, {7, 8}, 3, 8, false},
		{{5, 5}, {0, 0}, 0, 2, false},
		{{6, 5}, {0, 0}, 0, 2, false},
		{{1, 1}, {0, 0}, 0, 2, false}, /* an empty block */
		{{5, 5}, {4, 6}, 2, 6, false},
		{{0, 2}, {0, 0}, 0, 2, true}, /* below the acknowledgement (RFC 2883) */
		{{1, 3}, {0, 0}, 1, 3, false},
		{{0, 2}, {4, 6}, 2, 6, true},
		{{4, 5}, {4, 6}, 2, 6, true}, /* or inside the second block */
		{{5, 6}, {4, 6}, 2, 6, true},
		{{4, 6}, {4, 6}, 2, 6, true},
		{{3, 5}, {4, 6}, 3, 6, false},
		{{5, 7}, {4, 6}, 3, 7, false},
	};

	for (size_t i = 0; i < N; i++) {
		struct tcp_talker k = begin_tcp(0);
		struct segment in = {.is_ack = true, .ack = 2 * MSS, .n_sacks = 2};

		assert_int_equal(tcp_talk_all(&k, MS), 10);
		tcp_hear(&k, 41 * MS, MS, 2, 0, 0);
		in.n_sacks = rows[i].b.to ? 2 : 1;
		in.sack[0] = (struct range){rows[i].a.from * MSS, rows[i].a.to * MSS};
		in.sack[1] = (struct range){rows[i].b.from * MSS, rows[i].b.to * MSS};
		tcp_sender_receive(&k.t, &k.stream, 42 * MS, &in);
		assert_int_equal(k.t.board.sacked, rows[i].sacked);
		assert_int_equal(k.t.rack.serial, rows[i].serial);
		assert_int_equal(k.t.rack.steps, rows[i].twice ? 2 : 1);
	}
}

/* The outcome of a loss probe that ended at 8 (RFC 8985, section 7.4). */
TEST(test_probe_outcome)
{
	static const struct {
		bool resent;
		uint64_t before, ack, from, to;
		bool open, falls;
	} rows[] = {
		{true, 5, 7, 0, 0, true, false},
		{true, 5, 8, 0, 0, true, false},  /* the probe or the original */
		{true, 8, 8, 0, 0, false, false}, /* both */
		{true, 8, 8, 9, 10, true, false},
		{true, 5, 8, 7, 8, false, false}, /* both, by a DSACK */
		{true, 5, 8, 6, 7, true, false},
		{true, 5, 9, 0, 0, false, true}, /* only the probe */
		{true, 5, 9, 7, 8, false, false},
		{false, 5, 7, 0, 0, true, false},
		{false, 5, 8, 0, 0, false, false}, /* the probe was new data */
		{false, 5, 9, 0, 0, false, false},
	};

	for (size_t i = 0; i < N; i++) {
		struct tcp_talker k = begin_tcp(0);

		assert_int_equal(tcp_talk_all(&k, MS), 10);
		tcp_hear(&k, 41 * MS, MS, rows[i].before, 0, 0);
		k.t.probe = (struct probe){.out = true, .resent = rows[i].resent, .high = 8};
		k.t.window.limited = false;
		tcp_hear(&k, 42 * MS, 2 * MS, rows[i].ack, rows[i].from, rows[i].to);
		assert_int_equal(k.t.probe.out, rows[i].open);
		assert_int_equal(k.t.window.ssthresh < WINDOW_NO_LIMIT, rows[i].falls);
		if (rows[i].falls)
			assert_int_equal(k.t.window.cwnd, k.t.window.ssthresh);
	}
}

/*
 * A SACK of data sent before the first segment postpones its timer; a SACK of later data does not.
 */
TEST(test_sack_and_timer)
{
	static const struct {
		uint32_t first_us; /* when the first was sent */
		bool off;
	} rows[] = {{1000, false}, {1999, false}, {2000, false}, {2001, true}, {50000, true}};

	for (size_t i = 0; i < N; i++) {
		struct tcp_talker k = begin_tcp(0);

		for (int n = 0; n < 3; n++)
			assert_int_equal(tcp_talk(&k, (uint64_t)(n + 1) * MS), n);
		k.t.board.spans[0].sent_us = rows[i].first_us;
		k.t.board.spans[0].serial = k.t.serial++;
		k.t.timer = TCP_TIMER_RTO;
		k.t.timer_ns = 7777 * MS;
		tcp_hear(&k, 61 * MS, 0, 0, 1, 2);
		assert_int_equal(k.t.timer_ns,
			rows[i].off ? ticks_deadline(61 * MS, k.t.rto_us * US, 0) : 7777 * MS);
	}
}

/* A pause longer than a timeout, with nothing in flight, halves the window. */
TEST(test_tcp_idle)
{
	static const struct {
		uint64_t acked, quiet_us;
		uint32_t cwnd;
	} rows[] = {{10, 240000, 20}, {10, 240001, 10}, {9, 240001, 19}, {9, 900000, 19}};

	for (size_t i = 0; i < N; i++) {
		struct tcp_talker k = begin_tcp(0);

		assert_int_equal(tcp_talk_all(&k, MS), 10);
		tcp_hear(&k, 41 * MS, MS, rows[i].acked, 0, 0);
		assert_int_equal(k.t.rto_us, 240000);
		assert_int_equal(tcp_talk(&k, MS + rows[i].quiet_us * US), 10);
		assert_int_equal(k.t.window.cwnd, rows[i].cwnd);
		/* From then on the sender is not idle. */
		assert_int_equal(tcp_talk(&k, MS + rows[i].quiet_us * US), 11);
		assert_int_equal(k.t.window.cwnd, rows[i].cwnd);
	}
}

/* Lost segments are sent again, oldest first; the first of them restarts the timer. */
TEST(test_what_is_sent_again)
{
	struct tcp_talker k = begin_tcp(0);
	uint64_t timer_ns;

	assert_int_equal(tcp_talk_all(&k, MS), 10);
	tcp_hear(&k, 41 * MS, MS, 0, 3, 9);
	assert_int_equal(k.t.state, TCP_RECOVERY);
	assert_int_equal(k.t.board.lost, 3);
	assert_int_equal(k.t.undo.resent, -1);
	k.t.window.cwnd = 3;
	assert_int_equal(tcp_talk(&k, 42 * MS), 0);
	timer_ns = ticks_deadline(42 * MS, k.t.rto_us * US, 0);
	assert_int_equal(k.t.timer_ns, timer_ns);
	assert_int_equal(k.t.sent_ns, 42 * MS);
	assert_int_equal(k.t.undo.resent, 1);
	assert_int_equal(tcp_talk(&k, 62 * MS), 1);
	assert_int_equal(tcp_talk(&k, 62 * MS), -1); /* the window is full */
	assert_int_equal(k.t.timer_ns, timer_ns);
	assert_int_equal(k.t.undo.resent, 2);
	assert_int_equal(k.t.undo.first_ns, 42 * MS);
	k.t.window.cwnd = 5;
	assert_int_equal(tcp_talk(&k, 63 * MS), 2);
	assert_int_equal(tcp_talk(&k, 63 * MS), 10); /* then new data */
	assert_int_equal(k.t.prr_out, 4);
	assert_int_equal(k.stream.stats.resent, 3);
	/* The first three arrive as retransmissions: the recovery goes on to segment 10. */
	tcp_hear(&k, 83 * MS, 42 * MS, 9, 0, 0);
	assert_int_equal(k.t.state, TCP_RECOVERY);
	tcp_hear(&k, 84 * MS, 42 * MS, 10, 0, 0);
	assert_int_equal(k.t.state, TCP_OPEN);
	assert_int_equal(k.t.window.ssthresh, 5);
	tcp_hear(&k, 85 * MS, 63 * MS, 10, 0, 0);
	assert_int_equal(k.t.undo.first_ns, 0); /* nothing can be undone any more */
}

/*
 * After a timeout everything is acknowledged: the retransmissions, or the originals, which shows
 * that the timeout was spurious.
 */
TEST(test_after_a_timeout)
{
	static const struct {
		uint64_t echo_ns;
		bool spurious;
	} rows[] = {{900 * MS, false}, {899 * MS, true}, {MS, true}};

	for (size_t i = 0; i < N; i++) {
		struct tcp_talker k = begin_tcp(0);
		struct tcp_sender *t = &k.t;

		t->window.growth = &cubic;
		assert_int_equal(tcp_talk_all(&k, MS), 10);
		t->window.cubic.max = 50;
		tcp_enter_loss(t, 900 * MS);
		assert_int_equal(t->window.cubic.max, 0); /* CUBIC starts again */
		assert_int_equal(t->window.ssthresh, 7);
		t->frto = false;
		assert_int_equal(tcp_talk(&k, 900 * MS), 0);
		assert_int_equal(tcp_talk(&k, 900 * MS), -1);
		tcp_hear(&k, 940 * MS, rows[i].echo_ns, 10, 0, 0);
		assert_int_equal(t->state, TCP_OPEN);
		assert_false(t->timed_out);
		assert_int_equal(t->undo.armed, !rows[i].spurious);
		assert_int_equal(t->window.ssthresh, rows[i].spurious ? WINDOW_NO_LIMIT : 7);
		assert_in_range(
			t->window.cwnd, rows[i].spurious ? 10 : 2, rows[i].spurious ? 20 : 7);
	}
}

/*
 * F-RTO (RFC 5682, section 3): new data is in flight, and its acknowledgement shows whether the
 * timeout was spurious.
 */
TEST(test_new_data_answers)
{
	static const struct {
		struct news news;
		bool open; /* still undecided */
	} rows[] = {
		{{.advanced = true, .delivered = 1}, true},
		{{.twice = true}, true},
		{{.advanced = true, .twice = true, .delivered = 1}, true},
		{{.delivered = 0}, false}, /* a duplicate */
		{{.sacked = true, .delivered = 1}, false},
		{{.sacked = true, .advanced = true, .delivered = 2}, false},
		{{.sacked = true, .twice = true, .delivered = 1}, false},
	};

	for (size_t i = 0; i < N; i++) {
		struct tcp_talker k = begin_tcp(0);
		struct news news = rows[i].news;

		assert_int_equal(tcp_talk_all(&k, MS), 10);
		tcp_enter_loss(&k.t, 900 * MS);
		assert_true(k.t.frto);
		k.t.high = 9; /* the last segment is new data */
		tcp_react(&k.t, &k.stream, &news, 940 * MS);
		assert_int_equal(k.t.frto, rows[i].open);
		assert_int_equal(k.t.high, 9);
		assert_int_equal(k.t.state, TCP_LOSS);
	}
}

/*
 * Before that: if the first acknowledgement does not cover everything, new data is sent, if there
 * is any.
 */
TEST(test_new_data_first)
{
	static const struct {
		uint64_t segments;
		bool advanced, asks, open;
	} rows[] = {{0, true, true, true}, {10, true, false, false}, {0, false, false, true}};

	for (size_t i = 0; i < N; i++) {
		struct tcp_talker k = begin_tcp(rows[i].segments);
		struct news news = {.advanced = rows[i].advanced};

		assert_int_equal(tcp_talk_all(&k, MS), 10);
		tcp_enter_loss(&k.t, 900 * MS);
		tcp_react(&k.t, &k.stream, &news, 940 * MS);
		assert_int_equal(k.t.new_first, rows[i].asks);
		assert_int_equal(k.t.frto, rows[i].open);
		assert_int_equal(k.t.state, TCP_LOSS);
	}
}

/* When a timeout proves spurious, segments that were lost before it are marked as lost again. */
TEST(test_lost_all_the_same)
{
	struct tcp_talker k = begin_tcp(0);
	struct news news = {.original = true};

	assert_int_equal(tcp_talk_all(&k, MS), 10);
	tcp_hear(&k, 41 * MS, MS, 0, 3, 9);
	assert_int_equal(k.t.board.lost, 3);
	tcp_enter_loss(&k.t, 900 * MS);
	assert_int_equal(k.t.board.lost, 4);
	k.t.frto = true;
	tcp_react(&k.t, &k.stream, &news, 940 * MS);
	assert_int_equal(k.t.state, TCP_RECOVERY);
	assert_int_equal(k.t.board.lost, 3);
	assert_int_equal(k.stream.stats.recoveries, 2);
}

/* A segment that may only be late is waited for; then it is lost, without a timeout. */
TEST(test_reorder_timer)
{
	struct tcp_talker k = begin_tcp(4);
	uint64_t due_ns;

	for (int n = 0; n < 4; n++)
		assert_int_equal(tcp_talk(&k, MS), n);
	tcp_hear(&k, 41 * MS, MS, 0, 2, 3);
	assert_int_equal(k.t.state, TCP_DISORDER);
	assert_int_equal(k.t.timer, TCP_TIMER_REORDER);
	/* A quarter of 40 ms, and two ticks. */
	due_ns = ticks_deadline(41 * MS, 18 * MS, 0);
	assert_int_equal(k.t.timer_ns, due_ns);
	assert_int_equal(tcp_talk(&k, 42 * MS), -1);
	tcp_sender_expire(&k.t, &k.stream, due_ns);
	assert_int_equal(k.t.state, TCP_RECOVERY);
	assert_int_equal(k.t.board.lost, 2);
	assert_int_equal(k.t.window.cwnd, 2); /* one in flight, and one more */
	assert_int_equal(k.stream.stats.recoveries, 1);
	assert_int_equal(k.stream.stats.timeouts, 0);
	assert_int_equal(k.t.timer, TCP_TIMER_RTO);
	assert_int_equal(tcp_talk(&k, due_ns), 0);
	assert_int_equal(tcp_talk(&k, due_ns), -1);
}

/* The probe timer: one segment regardless of the window, then the timeout; one probe at a time. */
TEST(test_probe_is_sent)
{
	static const struct {
		uint64_t segments;
		bool out;
		int64_t want;
	} rows[] = {{0, false, 10}, {10, false, 9}, {0, true, -1}};

	for (size_t i = 0; i < N; i++) {
		struct tcp_talker k = begin_tcp(rows[i].segments);

		assert_int_equal(tcp_talk_all(&k, MS), 10);
		tcp_hear(&k, 41 * MS, MS, 1, 0, 0);
		assert_int_equal(k.t.timer, TCP_TIMER_PROBE);
		k.t.window.cwnd = 1;
		k.t.probe.out = rows[i].out;
		tcp_sender_expire(&k.t, &k.stream, k.t.timer_ns);
		assert_int_equal(k.t.timer, TCP_TIMER_RTO);
		assert_int_equal(tcp_talk(&k, 200 * MS), rows[i].want);
		assert_int_equal(tcp_talk(&k, 200 * MS), -1);
		assert_true(k.t.probe.out);
		assert_false(k.t.probe.due);
		assert_int_equal(k.stream.stats.timeouts, 0);
		if (rows[i].out)
			continue;
		assert_int_equal(k.t.probe.resent, rows[i].segments == 10);
		assert_int_equal(k.t.probe.high, k.t.board.next);
		assert_int_equal(k.t.timer_ns, ticks_deadline(200 * MS, k.t.rto_us * US, 0));
	}
}

/* Three segments from 5 on were sent again: each DSACK of one counts it as unnecessary. */
TEST(test_superfluous)
{
	static const struct {
		bool armed;
		int32_t resent;
		uint64_t ack, from, to;
		int32_t want;
	} rows[] = {
		{true, 3, 8, 4, 5, 3}, /* sent before those */
		{true, 3, 8, 5, 6, 2}, {true, 3, 8, 7, 8, 2},
		{true, 3, 9, 8, 9, 3},                           /* not acknowledged yet */
		{false, 3, 8, 5, 6, 3}, {true, -1, 8, 5, 6, -1}, /* none sent again */
	};

	for (size_t i = 0; i < N; i++) {
		struct tcp_talker k = begin_tcp(0);

		assert_int_equal(tcp_talk_all(&k, MS), 10);
		tcp_hear(&k, 41 * MS, MS, 8, 0, 0);
		k.t.undo = (struct undo){.armed = rows[i].armed, .from = 5};
		k.t.undo.resent = rows[i].resent;
		tcp_hear(&k, 42 * MS, MS, rows[i].ack, rows[i].from, rows[i].to);
		assert_int_equal(k.t.undo.resent, rows[i].want);
	}
}

/* By how many segments a path reorders: from the late one to the highest delivered. */
TEST(test_how_far_reordered)
{
	static const struct {
		uint64_t ack, from, to;
		uint32_t reordering; /* eight segments; [4, 5) first */
		bool reordered;
	} rows[] = {
		{0, 3, 4, 3, true},
		{0, 0, 1, 5, true},
		{0, 0, 8, 8, true},
		{1, 0, 0, 5, true},
		{5, 0, 0, 5, true},
		{0, 5, 6, 3, false},
		{0, 4, 5, 3, false},
	};

	for (size_t i = 0; i < N; i++) {
		struct tcp_talker k = begin_tcp(8);

		assert_int_equal(tcp_talk_all(&k, MS), 8);
		tcp_hear(&k, 41 * MS, MS, 0, 4, 5);
		tcp_hear(&k, 42 * MS, MS, rows[i].ack, rows[i].from, rows[i].to);
		assert_int_equal(k.t.rack.reordered, rows[i].reordered);
		assert_int_equal(k.t.rack.reordering, rows[i].reordering);
	}
}
