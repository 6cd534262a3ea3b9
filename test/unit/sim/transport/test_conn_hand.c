/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Connections whose other end is the test: the finer rules of which segments count.
 */
#include "check.h"

#include "transport/conn_state.h"

#define MSS  1448
#define RTT  (40 * MS)
#define WIDE (64u << 20)

static struct conn open_conn(enum transport transport, uint64_t segments)
{
	struct conn_params params = {transport, MSS, segments * MSS, WIDE, false, 0, false};
	struct conn conn;

	assert_int_equal(conn_init(&conn, &params, 0), 0);
	return conn;
}

/* Sends all that can be sent; returns how many, and the first segment's number in *first. */
static unsigned drain_conn(struct conn *conn, uint64_t now_ns, uint64_t *first)
{
	struct segment out;
	unsigned n = 0;

	while (conn_send(conn, CONN_SENDER, now_ns, &out)) {
		if (n == 0 && first)
			*first = out.seq / MSS;
		n++;
	}
	return n;
}

/* Receives an acknowledgement of all before `ack` and up to two blocks, in segments. */
static void answer_with_ack(struct conn *conn, uint64_t now_ns, uint64_t echo_ns, uint64_t ack,
	uint64_t from, uint64_t to)
{
	struct segment in = {
		.is_ack = true,
		.ack = ack * MSS,
		.sent_ns = now_ns - RTT / 2,
		.echo_ns = echo_ns,
		.n_sacks = to > from,
		.sack = {{from * MSS, to * MSS}},
	};

	conn_receive(conn, CONN_SENDER, now_ns, &in);
}

/*
 * Ten segments were sent at 1 ms, and three above the first are SACKed: recovery, and the first is
 * sent again.
 */
static struct conn in_recovery(uint64_t now_ns)
{
	struct conn conn = open_conn(TRANSPORT_NEWRENO, 0);
	uint64_t first;

	assert_int_equal(drain_conn(&conn, MS, NULL), 10);
	answer_with_ack(&conn, now_ns, MS, 0, 1, 4);
	assert_int_equal(conn.tcp.sender.state, TCP_RECOVERY);
	assert_int_equal(conn.tcp.sender.window.ssthresh, 5);
	assert_true(drain_conn(&conn, now_ns, &first) >= 1);
	assert_int_equal(first, 0);
	return conn;
}

static bool taken_back(const struct conn *conn)
{
	const struct window *w = &conn->tcp.sender.window;

	return w->cwnd >= 10 && w->ssthresh == WINDOW_NO_LIMIT;
}

/* A recovery is undone if the acknowledgement is for a sending before it (Eifel). */
TEST(test_spurious_recovery)
{
	const uint64_t t = MS + RTT;
	static const struct {
		uint64_t echo_ns;
		bool spurious;
	} cases[] = {{MS + RTT, false}, {MS + RTT - 1, true}, {MS, true}};

	for (size_t i = 0; i < COUNT(cases); i++) {
		struct conn conn = in_recovery(t);
		uint32_t next = conn.tcp.sender.board.next;

		answer_with_ack(&conn, t + RTT, cases[i].echo_ns, next, 0, 0);
		assert_int_equal(conn.tcp.sender.state, TCP_OPEN);
		assert_int_equal(taken_back(&conn), cases[i].spurious);
		if (!cases[i].spurious)
			assert_in_range(conn.tcp.sender.window.cwnd, 5, 6); /* grows again */
	}
}

/* Or if the receiver reports, even later, that all retransmissions were duplicates. */
TEST(test_recovery_taken_back_later)
{
	const uint64_t t = MS + RTT;
	struct conn conn = in_recovery(t);

	answer_with_ack(&conn, t + RTT, t, conn.tcp.sender.board.next, 0, 0);
	drain_conn(&conn, t + RTT, NULL);
	assert_int_equal(conn.tcp.sender.window.ssthresh, 5);
	answer_with_ack(&conn, t + RTT + MS, t, conn.tcp.sender.board.una, 0, 1);
	assert_true(taken_back(&conn));
}

/*
 * A segment that was never marked as lost and arrives late shows reordering: the sender waits from
 * then on.
 */
TEST(test_late_original)
{
	struct conn conn = open_conn(TRANSPORT_NEWRENO, 0);
	const struct rack *rack = &conn.tcp.sender.rack;

	drain_conn(&conn, MS, NULL);
	answer_with_ack(&conn, MS + RTT, MS, 0, 2, 4);
	assert_false(rack->reordered);
	assert_int_equal(conn.tcp.sender.state, TCP_DISORDER);
	answer_with_ack(&conn, MS + RTT + MS, MS, 0, 1, 4);
	assert_true(rack->reordered);
	assert_int_equal(rack->reordering, 3);
	answer_with_ack(&conn, MS + RTT + 2 * MS, MS, 4, 0, 0);
	assert_int_equal(rack->reordering, 4);
	assert_int_equal(conn.tcp.sender.state, TCP_OPEN);
	assert_int_equal(conn_stats(&conn)->recoveries, 0);
}

/* Two timers expire: the probe's, and the timeout's. */
static struct conn in_loss(uint64_t *now_ns)
{
	struct conn conn = open_conn(TRANSPORT_NEWRENO, 0);
	uint64_t first;

	drain_conn(&conn, MS, NULL);
	answer_with_ack(&conn, MS + RTT, MS, 0, 0, 0);
	*now_ns = conn_deadline(&conn);
	conn_expire(&conn, *now_ns);
	assert_int_equal(
		drain_conn(&conn, *now_ns, &first), 1); /* a new segment, beyond the window */
	assert_int_equal(first, 10);
	*now_ns = conn_deadline(&conn);
	conn_expire(&conn, *now_ns);
	assert_int_equal(drain_conn(&conn, *now_ns, &first), 1);
	assert_int_equal(first, 0);
	assert_int_equal(conn.tcp.sender.state, TCP_LOSS);
	return conn;
}

/*
 * F-RTO: after the first acknowledgement two new segments are sent; their acknowledgements decide.
 */
TEST(test_forward_rto)
{
	static const struct {
		uint64_t from, to;
		bool spurious;
	} cases[] = {
		{11, 12, false}, /* a new one: earlier ones are lost, and sent again */
		{5, 6, true},    /* an original: nothing was lost */
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		uint64_t t, first = 0;
		struct conn conn = in_loss(&t);

		answer_with_ack(&conn, t + RTT, t, 1, 0, 0);
		assert_int_equal(drain_conn(&conn, t + RTT, &first), 2);
		assert_int_equal(first, 11);
		answer_with_ack(&conn, t + 2 * RTT, t, 1, cases[i].from, cases[i].to);
		assert_int_equal(taken_back(&conn), cases[i].spurious);
		assert_int_equal(conn.tcp.sender.state == TCP_LOSS, !cases[i].spurious);
		if (!cases[i].spurious)
			assert_false(conn.tcp.sender.frto); /* decided */
		if (cases[i].spurious)                      /* the window is full again */
			assert_int_equal(drain_conn(&conn, t + 2 * RTT, &first), 0);
		else
			assert_true(drain_conn(&conn, t + 2 * RTT, &first) > 0 && first == 1);
	}
}

/* Without new data F-RTO is not used. */
TEST(test_forward_rto_without_new)
{
	uint64_t t, first = 0;
	struct conn conn = in_loss(&t);

	conn_stop(&conn, t);
	answer_with_ack(&conn, t + RTT, t, 1, 0, 0);
	assert_int_equal(drain_conn(&conn, t + RTT, &first), 2);
	assert_int_equal(first, 1);
}

/* The threshold falls once for one loss, for any number of timeouts; again after progress. */
TEST(test_threshold_after_timeouts)
{
	for (unsigned progress = 0; progress < 2; progress++) {
		uint64_t t;
		struct conn conn = in_loss(&t);

		assert_int_equal(conn.tcp.sender.window.ssthresh, 5);
		if (progress)
			answer_with_ack(&conn, t + RTT, t, 1, 0, 0);
		drain_conn(&conn, t + RTT, NULL);
		t = conn_deadline(&conn);
		conn_expire(&conn, t);
		assert_int_equal(conn.tcp.sender.window.ssthresh, progress ? 2 : 5);
		assert_int_equal(conn_stats(&conn)->timeouts, 2);
	}
}

/* A loss that the probe repaired halves the window like any other; a delay does not. */
TEST(test_probe_that_repairs)
{
	for (unsigned twice = 0; twice < 2; twice++) {
		struct conn conn = open_conn(TRANSPORT_NEWRENO, 10);
		uint64_t t, first;

		drain_conn(&conn, MS, NULL);
		answer_with_ack(&conn, MS + RTT, MS, 9, 0, 0);
		t = conn_deadline(&conn);
		conn_expire(&conn, t);
		assert_int_equal(drain_conn(&conn, t, &first), 1);
		assert_int_equal(first, 9);
		/* More data meanwhile, so that the acknowledgement goes beyond the probe. */
		conn.stream.total += 5;
		drain_conn(&conn, t, NULL);
		if (twice)
			answer_with_ack(&conn, t + RTT - MS, t, 10, 9, 10);
		answer_with_ack(&conn, t + RTT, t, 12, 0, 0);
		assert_int_equal(conn.tcp.sender.window.ssthresh, twice ? WINDOW_NO_LIMIT : 9);
		assert_int_equal(conn_stats(&conn)->timeouts, 0);
	}
}

/* Brings a receiver into the state of delayed acknowledgements; returns the next byte. */
static uint64_t beyond_quick(struct conn *conn, uint64_t now_ns)
{
	struct segment in = {.len = MSS, .sent_ns = 1}, out;

	for (unsigned i = 0; i < 16; i++, in.seq += MSS) {
		conn_receive(conn, CONN_RECEIVER, now_ns, &in);
		assert_true(conn_send(conn, CONN_RECEIVER, now_ns, &out));
	}
	return in.seq;
}

/* A filled hole is acknowledged immediately, however small; the echo is of the first segment. */
TEST(test_what_the_receiver_tells)
{
	struct conn conn = open_conn(TRANSPORT_NEWRENO, 0);
	uint64_t next = beyond_quick(&conn, MS);
	struct segment in = {.seq = next + 200, .len = 100, .sent_ns = 2 * MS}, out;

	conn_receive(&conn, CONN_RECEIVER, 2 * MS, &in);
	assert_true(conn_send(&conn, CONN_RECEIVER, 2 * MS, &out));
	assert_int_equal(out.ack, next);
	assert_int_equal(out.echo_ns, 1); /* not of out-of-order data */
	in.seq = next;
	in.len = 200;
	in.sent_ns = 3 * MS;
	conn_receive(&conn, CONN_RECEIVER, 3 * MS, &in);
	assert_true(conn_send(&conn, CONN_RECEIVER, 3 * MS, &out));
	assert_int_equal(out.ack, next + 300);
	assert_int_equal(out.echo_ns, 3 * MS);
	/* Two in a row: the echo is of the first one. */
	for (unsigned i = 0; i < 2; i++) {
		in = (struct segment){
			.seq = out.ack + i * MSS, .len = MSS, .sent_ns = (4 + i) * MS};
		conn_receive(&conn, CONN_RECEIVER, (4 + i) * MS, &in);
	}
	assert_true(conn_send(&conn, CONN_RECEIVER, 6 * MS, &out));
	assert_int_equal(out.echo_ns, 4 * MS);
}

static void quic_packet(struct conn *conn, uint64_t number)
{
	struct segment in = {.seq = number, .offset = number * MSS, .len = MSS};

	conn_receive(conn, CONN_RECEIVER, MS, &in);
}

/* A gap is acknowledged immediately; a packet in order waits for another. */
TEST(test_quic_tells_of_gaps)
{
	struct conn conn = open_conn(TRANSPORT_QUIC, 0);
	struct segment out;

	quic_packet(&conn, 0);
	assert_false(conn_send(&conn, CONN_RECEIVER, MS, &out));
	quic_packet(&conn, 1);
	assert_true(conn_send(&conn, CONN_RECEIVER, MS, &out));
	quic_packet(&conn, 3);
	assert_true(conn_send(&conn, CONN_RECEIVER, MS, &out));
	assert_int_equal(out.ack, 4);
	assert_int_equal(out.n_sacks, 2);
	assert_int_equal(out.sack[0].from, 3);
	assert_int_equal(out.sack[1].to, 2);
}

/* More holes than can be kept: no acknowledgement includes a number that did not arrive. */
TEST(test_quic_forgets_holes)
{
	struct conn conn = open_conn(TRANSPORT_QUIC, 0);
	const struct quic_receiver *r = &conn.quic.receiver;
	struct segment out;

	/* The data has arrived before, so it has no holes that interfere. */
	for (uint64_t n = 0; n < 200; n += 2) {
		struct segment in = {.seq = n, .offset = n / 2 * MSS, .len = MSS};

		conn_receive(&conn, CONN_RECEIVER, MS, &in);
		while (conn_send(&conn, CONN_RECEIVER, MS, &out))
			for (unsigned i = 0; i < out.n_sacks; i++)
				assert_int_equal(out.sack[i].to - out.sack[i].from, 1);
	}
	assert_true(r->floor > 100);
	/* The late packets that are still tracked arrive: one range, from the floor on. */
	for (uint64_t n = r->numbers.base; n < 199; n++) {
		struct segment in = {.seq = n, .offset = 100 * MSS, .len = MSS};

		conn_receive(&conn, CONN_RECEIVER, MS, &in);
	}
	assert_true(conn_send(&conn, CONN_RECEIVER, MS, &out));
	assert_int_equal(out.n_sacks, 1);
	assert_int_equal(out.sack[0].to, 199);
	assert_true(out.sack[0].from > 100);
}

/* A packet that was never sent cannot be acknowledged. */
TEST(test_quic_ignores_the_unsent)
{
	static const struct {
		uint64_t to;
		uint32_t una;
	} cases[] = {{10, 10}, {11, 0}, {(UINT64_C(1) << 32) + 10, 0}};

	for (size_t i = 0; i < 3; i++) {
		struct conn conn = open_conn(TRANSPORT_QUIC, 0);
		struct segment in = {.is_ack = true, .n_sacks = 1, .echo_ns = MS};

		assert_int_equal(drain_conn(&conn, MS, NULL), 10);
		in.sack[0].to = cases[i].to;
		conn_receive(&conn, CONN_SENDER, MS + RTT, &in);
		assert_int_equal(conn.quic.sender.board.una, cases[i].una);
	}
}
