/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The reaction of one connection to every kind of event.
 */
#include "check.h"
#include "scope.h"

#include "conn_net.h"

END_POINTER(net_destroy, struct net *)

#define MSS       1448
#define DELAY     (20 * MS)
#define RTT       (2 * DELAY)
#define ENDLESS   0
#define WIDE      (64u << 20) /* a window without effect */
#define TICK      (4 * MS)    /* Linux's timers */
#define ACK_LATER (40 * MS)

static const enum transport all[] = {TRANSPORT_NEWRENO, TRANSPORT_CUBIC, TRANSPORT_QUIC};

static struct conn_params params_of(enum transport transport, uint64_t bytes)
{
	return (struct conn_params){transport, MSS, bytes, WIDE, true, 0, false};
}

static struct net *net_of(const struct net_params *p, enum transport transport, uint64_t bytes)
{
	struct conn_params params = params_of(transport, bytes);

	return net_create(p, &params, 1);
}

static const struct conn_stats *stats_of(const struct net *net)
{
	return conn_stats(&net->conns[0]);
}

/* The k'th segment sent by an end that is, or is not, a SYN; or NULL. */
static const struct net_sent *nth_sent(
	const struct net *net, enum conn_end end, bool syn, unsigned k)
{
	for (unsigned i = 0; i < net->n_log; i++)
		if (net->log[i].end == end && net->log[i].segment.syn == syn && k-- == 0)
			return &net->log[i];
	return NULL;
}

/* Data segments sent in [from, to). */
static unsigned data_between(const struct net *net, uint64_t from_ns, uint64_t to_ns)
{
	unsigned n = 0;

	for (unsigned i = 0; i < net->n_log; i++)
		n += net->log[i].segment.len && net->log[i].at_ns >= from_ns &&
		     net->log[i].at_ns < to_ns;
	return n;
}

TEST(test_params)
{
	static const struct {
		struct conn_params params;
		int want;
	} cases[] = {
		{{TRANSPORT_NEWRENO, MSS, 1, MSS, true, 0, false}, 0},
		{{TRANSPORT_NEWRENO, MSS, 1, MSS - 1, true, 0, false}, -EINVAL},
		{{TRANSPORT_NEWRENO, 0, 1, MSS, true, 0, false}, -EINVAL},
		{{TRANSPORT_QUIC, 1, UINT32_MAX - 1, WIDE, true, 0, false}, 0},
		{{TRANSPORT_QUIC, 1, UINT32_MAX, WIDE, true, 0, false}, -EINVAL},
		{{TRANSPORT_QUIC, MSS, UINT64_MAX, WIDE, true, 0, false}, -EINVAL},
		{{(enum transport)5, MSS, 1, WIDE, true, 0, false}, -EINVAL},
	};
	struct conn conn;

	for (size_t i = 0; i < COUNT(cases); i++)
		assert_int_equal(conn_init(&conn, &cases[i].params, 0), cases[i].want);
}

TEST(test_bytes_of_a_segment)
{
	struct conn_params tcp = params_of(TRANSPORT_CUBIC, 0), quic = params_of(TRANSPORT_QUIC, 0);
	struct segment full = {.len = MSS}, ack = {.is_ack = true}, syn = {.syn = true};

	assert_int_equal(segment_bytes(&tcp, &full), 1500);
	assert_int_equal(segment_bytes(&tcp, &ack), 52);
	assert_int_equal(segment_bytes(&tcp, &syn), 60);
	ack.n_sacks = 3;
	assert_int_equal(segment_bytes(&tcp, &ack), 80);
	assert_int_equal(segment_bytes(&quic, &full), MSS + 20 + 8 + 28);
	assert_int_equal(segment_bytes(&quic, &ack), 20 + 8 + 28 + 6);
}

TEST(test_handshake)
{
	struct net_params p = {.delay_ns = DELAY};

	for (size_t i = 0; i < 3; i++) {
		struct net *net = net_of(&p, all[i], 1000000);

		net_run(net, RTT);
		assert_int_equal(net->log[0].at_ns, 0);
		assert_true(net->log[0].segment.syn && !net->log[0].segment.is_ack);
		assert_int_equal(net->log[1].at_ns, DELAY);
		assert_true(net->log[1].segment.syn && net->log[1].segment.is_ack);
		assert_int_equal(net->log[2].at_ns, RTT);
		assert_true(!net->log[2].segment.syn && net->log[2].segment.is_ack);
		assert_int_equal(data_between(net, 0, RTT), 0);
		assert_int_equal(data_between(net, RTT, RTT + 1), 10);
		assert_int_equal(net->n_log, 13);
		net_destroy(net);
	}
}

/* Both ends are open: neither sends or answers a SYN again when that would have been due. */
TEST(test_handshake_ends)
{
	struct net_params p = {.delay_ns = DELAY};

	for (size_t i = 0; i < 3; i++) {
		struct net *net = net_of(&p, all[i], MSS);
		unsigned n;

		net_run(net, SECOND / 2);
		n = net->n_log;
		net_run(net, 20 * SECOND);
		assert_int_equal(net->n_log, n);
		net_destroy(net);
	}
}

/*
 * Lost SYNs and SYN-ACKs are sent again after 1, 2, 4 s; after two losses the window starts at one.
 */
TEST(test_handshake_with_loss)
{
	static const struct {
		unsigned syns, synacks;
		uint64_t open_s; /* after the sum of the timeouts */
		unsigned window;
	} cases[] = {{1, 0, 1, 10}, {2, 0, 3, 1}, {3, 0, 7, 1}, {0, 1, 1, 10}};

	for (size_t i = 0; i < COUNT(cases); i++) {
		struct net_params p = {
			.delay_ns = DELAY,
			.drop_syns = cases[i].syns,
			.drop_synacks = cases[i].synacks,
		};
		struct net *net = net_of(&p, TRANSPORT_NEWRENO, ENDLESS);
		uint64_t least = cases[i].open_s * SECOND + RTT;
		uint64_t most = least + cases[i].open_s * 64 * MS; /* the timer wheel's steps */

		while (stats_of(net)->segments == 0 && net->now_ns < most)
			net_run(net, net->now_ns + MS);
		assert_in_range(net->now_ns, least, most);
		assert_int_equal(stats_of(net)->segments, cases[i].window);
		net_destroy(net);
	}
}

TEST(test_slow_start_doubles)
{
	struct net_params p = {.delay_ns = DELAY};

	for (size_t i = 0; i < 3; i++) {
		struct net *net = net_of(&p, all[i], ENDLESS);

		net_run(net, 8 * RTT);
		for (unsigned k = 1, want = 10; k < 8; k++, want *= 2) {
			unsigned got = data_between(net, k * RTT, (k + 1) * RTT);

			/* A delayed acknowledgement may shift an odd segment. */
			assert_in_range(got, want - want / 20 - 1, want);
		}
		net_destroy(net);
	}
}

/* The first sixteen acknowledgements are for each segment, then one for every second segment. */
TEST(test_acknowledges_every_second)
{
	struct net_params p = {.delay_ns = DELAY, .rate_bps = 10000000, .queue = 1000};
	ENDED_BY(net_destroy_at) struct net *net = net_of(&p, TRANSPORT_NEWRENO, ENDLESS);
	unsigned acks = 0;
	uint64_t delivered;

	net_run(net, SECOND);
	delivered = stats_of(net)->delivered / MSS;
	for (unsigned i = 0; i < net->n_log; i++)
		acks += net->log[i].end == CONN_RECEIVER && !net->log[i].segment.syn;
	assert_true(delivered > 500);
	assert_in_range(acks, 16 + (delivered - 16) / 2, 16 + (delivered - 16) / 2 + 2);
}

/* One segment more than full pairs, after the quick acknowledgements: it is acknowledged late. */
TEST(test_delayed_acknowledgement)
{
	static const struct {
		enum transport transport;
		uint64_t least, most;
	} cases[] = {
		{TRANSPORT_NEWRENO, ACK_LATER, ACK_LATER + 2 * TICK},
		{TRANSPORT_CUBIC, ACK_LATER, ACK_LATER + 2 * TICK},
		{TRANSPORT_QUIC, 25 * MS, 25 * MS},
	};

	for (size_t i = 0; i < 3; i++) {
		struct net_params p = {.delay_ns = DELAY};
		struct net *net = net_of(&p, cases[i].transport, ENDLESS);
		struct segment data = {.len = MSS}, ack;
		struct conn *conn = &net->conns[0];
		uint64_t at = SECOND;

		net_begin(net, 0);
		net_run(net, at);
		conn_stop(conn, at);
		net_run(net, 2 * at);
		assert_true(conn_done(conn));
		/* All its own data has arrived; the test sends the next segments. */
		data.seq = stats_of(net)->delivered /
			   (cases[i].transport == TRANSPORT_QUIC ? MSS : 1);
		data.offset = stats_of(net)->delivered;
		data.sent_ns = 2 * at;
		/* After a long silence sixteen acknowledgements are quick again. */
		for (unsigned k = 0; k < 16; k++) {
			conn_receive(conn, CONN_RECEIVER, 2 * at, &data);
			conn_send(conn, CONN_RECEIVER, 2 * at, &ack);
			data.seq += cases[i].transport == TRANSPORT_QUIC ? 1 : MSS;
			data.offset += MSS;
		}
		conn_receive(conn, CONN_RECEIVER, 2 * at, &data);
		assert_false(conn_send(conn, CONN_RECEIVER, 2 * at, &ack));
		assert_in_range(
			conn_deadline(conn), 2 * at + cases[i].least, 2 * at + cases[i].most);
		conn_expire(conn, conn_deadline(conn) - 1);
		assert_false(conn_send(conn, CONN_RECEIVER, 3 * at, &ack));
		conn_expire(conn, conn_deadline(conn));
		assert_true(conn_send(conn, CONN_RECEIVER, 3 * at, &ack));
		net_destroy(net);
	}
}

/* Losses in one window, by number of the data segment: all are repaired without a timeout. */
TEST(test_losses_in_a_window)
{
	static const struct {
		uint32_t drop[5];
		unsigned n;
	} cases[] = {
		{{75}, 1},
		{{75, 76}, 2},
		{{75, 90}, 2},
		{{72, 74, 76, 78, 80}, 5},
		{{75, 76, 77, 78, 79}, 5},
		{{71, 80, 91, 104, 119}, 5},
	};

	for (size_t t = 0; t < 3; t++) {
		for (size_t i = 0; i < COUNT(cases); i++) {
			struct net_params p = {
				.delay_ns = DELAY,
				.drop = cases[i].drop,
				.n_drop = cases[i].n,
			};
			struct net *net = net_of(&p, all[t], 400 * MSS);

			assert_true(net_finish(net, 10 * SECOND));
			assert_int_equal(stats_of(net)->resent, cases[i].n);
			assert_int_equal(stats_of(net)->timeouts, 0);
			assert_int_equal(stats_of(net)->recoveries, 1);
			assert_int_equal(stats_of(net)->delivered, 400 * MSS);
			net_destroy(net);
		}
	}
}

/* After one loss the window is reduced once, to the algorithm's part. */
TEST(test_window_after_a_loss)
{
	static const uint32_t drop[] = {50};
	static const struct {
		enum transport transport;
		double part;
	} cases[] = {{TRANSPORT_NEWRENO, 0.5}, {TRANSPORT_CUBIC, 0.7}};
	struct net_params p = {.delay_ns = DELAY, .drop = drop, .n_drop = 1};

	for (size_t i = 0; i < 2; i++) {
		struct net *net = net_of(&p, cases[i].transport, ENDLESS);
		const struct tcp_sender *t = &net->conns[0].tcp.sender;
		uint32_t before = 0, after;

		for (uint64_t at = RTT; t->state != TCP_RECOVERY; at += MS) {
			before = t->window.cwnd;
			net_run(net, at);
			assert_true(at < SECOND);
		}
		after = t->window.ssthresh;
		assert_near(after, cases[i].part * t->prior_cwnd, 1);
		assert_true(t->prior_cwnd >= before);
		while (t->state == TCP_RECOVERY)
			net_run(net, net->now_ns + MS);
		assert_in_range(t->window.cwnd, after, after + 1);
		assert_int_equal(t->state, TCP_OPEN);
		net_destroy(net);
	}
}

/* The retransmission is also lost: detected by time, without a timeout. */
TEST(test_lost_retransmission)
{
	/* After 10, 20 and 40 segments number 75 is in a window of 80. */
	uint32_t drop[2] = {75, 0};

	for (size_t t = 0; t < 3; t++) {
		struct net_params p = {.delay_ns = DELAY, .drop = drop, .n_drop = 1};
		struct net *net = net_of(&p, all[t], 400 * MSS);
		uint32_t number = 0;
		unsigned lost = 0;

		/* Find the number of the retransmission. */
		assert_true(net_finish(net, 10 * SECOND));
		for (unsigned i = 0; i < net->n_log && drop[1] == 0; i++) {
			const struct segment *s = &net->log[i].segment;
			uint64_t place = all[t] == TRANSPORT_QUIC ? s->offset : s->seq;

			if (s->len && place == 75 * MSS && ++lost == 2)
				drop[1] = number;
			number += s->len > 0;
		}
		net_destroy(net);
		assert_true(drop[1] > 75);
		p.n_drop = 2;
		net = net_of(&p, all[t], 400 * MSS);
		assert_true(net_finish(net, 10 * SECOND));
		assert_int_equal(stats_of(net)->timeouts, 0);
		assert_int_equal(stats_of(net)->resent, 2);
		net_destroy(net);
		drop[1] = 0;
	}
}

/* The tail of a transfer is lost: a probe detects it sooner than a timeout would. */
TEST(test_tail_loss)
{
	static const uint32_t drop[] = {25, 26, 27, 28, 29};

	for (size_t t = 0; t < 2; t++) {
		for (unsigned n = 1; n <= 5; n++) {
			struct net_params p = {
				.delay_ns = DELAY,
				.drop = drop + 5 - n,
				.n_drop = n,
			};
			struct net *net = net_of(&p, all[t], 30 * MSS);
			uint64_t sent_ns = 2 * RTT, wait_ns, slack_ns;
			unsigned i = 0;

			assert_true(net_finish(net, 10 * SECOND));
			assert_int_equal(stats_of(net)->timeouts, 0);
			assert_int_equal(stats_of(net)->resent, n);
			/*
			 * The probe is sent two round trips and a bit after the last news. With
			 * only one segment in flight it comes after a timeout, because the
			 * acknowledgement may be delayed. An odd number of losses leaves an odd
			 * segment before them, whose acknowledgement was delayed here.
			 */
			while (net->log[i].at_ns <= sent_ns + RTT || net->log[i].segment.len == 0)
				i++;
			wait_ns = n == 1 ? RTT + 200 * MS : 2 * RTT;
			slack_ns = n % 2 ? ACK_LATER + RTT : 4 * TICK;
			assert_in_range(
				net->log[i].at_ns - sent_ns - RTT, wait_ns, wait_ns + slack_ns);
			assert_int_equal(net->log[i].segment.seq, 29 * MSS);
			net_destroy(net);
		}
	}
}

/* Everything is lost from some time on: a probe, then timeouts that double up to two minutes. */
TEST(test_back_off)
{
	struct net_params p = {.delay_ns = DELAY, .cut_ns = 2 * RTT};
	ENDED_BY(net_destroy_at) struct net *net = net_of(&p, TRANSPORT_NEWRENO, ENDLESS);
	uint64_t rto_ns = RTT + 200 * MS, last_ns = 0;
	unsigned n = 0;

	net_run(net, 1000 * SECOND);
	for (unsigned i = 0; i < net->n_log; i++) {
		const struct net_sent *s = &net->log[i];
		uint64_t gap_ns = s->at_ns - last_ns;

		if (s->segment.len == 0 || s->at_ns < 2 * RTT + MS)
			continue;
		if (n > 0) { /* the first is the probe */
			assert_in_range(gap_ns, rto_ns, rto_ns + rto_ns / 7 + 2 * TICK);
			assert_int_equal(s->segment.seq, 10 * MSS);
			rto_ns = 2 * rto_ns < 120 * SECOND ? 2 * rto_ns : 120 * SECOND;
		}
		last_ns = s->at_ns;
		n++;
	}
	assert_true(n > 12);
	assert_int_equal(stats_of(net)->timeouts, n - 1);
	assert_int_equal(net->conns[0].tcp.sender.window.cwnd, 1);
}

/* QUIC sends probes with new data, whose intervals double from the first on. */
TEST(test_quic_probes)
{
	struct net_params p = {.delay_ns = DELAY, .cut_ns = 2 * RTT};
	ENDED_BY(net_destroy_at) struct net *net = net_of(&p, TRANSPORT_QUIC, ENDLESS);
	uint64_t last_ns = 0, last_gap_ns = 0;
	unsigned n = 0;

	net_run(net, 60 * SECOND);
	for (unsigned i = 0; i < net->n_log; i++) {
		const struct net_sent *s = &net->log[i];

		if (s->segment.len == 0)
			continue;
		if (s->at_ns > 2 * RTT + MS) {
			if (last_gap_ns)
				assert_int_equal(s->at_ns - last_ns, 2 * last_gap_ns);
			last_gap_ns = s->at_ns - last_ns;
			n++;
		}
		last_ns = s->at_ns;
	}
	assert_true(n >= 8);
	assert_int_equal(stats_of(net)->resent, 0);
}

/* After all packets of a long period were lost, QUIC starts again from two packets. */
TEST(test_persistent_congestion)
{
	static const uint32_t runs[][2] = {{30, 73}, {60, 63}};
	uint32_t drop[128];

	for (size_t k = 0; k < 2; k++) {
		struct net_params p = {.delay_ns = DELAY, .drop = drop};
		struct net *net;
		uint64_t least = UINT64_MAX;

		for (uint32_t i = runs[k][0]; i < runs[k][1]; i++)
			drop[p.n_drop++] = i;
		net = net_of(&p, TRANSPORT_QUIC, ENDLESS);
		for (uint64_t at = 0; at < 30 * SECOND; at += MS) {
			const struct quic_sender *q = &net->conns[0].quic.sender;

			net_run(net, at);
			if (q->cwnd && q->cwnd < least)
				least = q->cwnd;
		}
		if (k == 0)
			assert_int_equal(least, 3 * MSS); /* two, and the one just acknowledged */
		else
			assert_true(least > 8 * MSS);
		net_destroy(net);
	}
}

/* No packet number is used twice, and each byte is sent again until it is delivered. */
TEST(test_quic_numbers)
{
	struct net_params p = {.delay_ns = DELAY, .loss = 0.1, .seed = 5};
	ENDED_BY(net_destroy_at) struct net *net = net_of(&p, TRANSPORT_QUIC, 1000 * MSS);
	uint64_t next = 0;

	assert_true(net_finish(net, 100 * SECOND));
	for (unsigned i = 0; i < net->n_log; i++)
		if (net->log[i].segment.len)
			assert_int_equal(net->log[i].segment.seq, next++);
	assert_true(next > 1050);
}

/*
 * A segment that is late by less than a quarter of the round trip, or by two others, is not lost.
 */
TEST(test_reordering)
{
	for (size_t t = 0; t < 3; t++) {
		/* A queue spaces segments by 1.2 ms. */
		struct net_params p = {
			.delay_ns = DELAY,
			.rate_bps = 10000000,
			.queue = 1000,
			.late = 60,
			.late_ns = 3 * MS, /* after the next two */
		};
		struct net *net = net_of(&p, all[t], 200 * MSS);

		assert_true(net_finish(net, 10 * SECOND));
		assert_int_equal(stats_of(net)->resent, 0);
		assert_int_equal(stats_of(net)->recoveries, 0);
		net_destroy(net);
		/*
		 * After ten others: this looks like a loss, and TCP undoes it. QUIC's window is too
		 * full for a retransmission before the late segment arrives.
		 */
		p.late_ns = 12 * MS;
		net = net_of(&p, all[t], 200 * MSS);
		assert_true(net_finish(net, 10 * SECOND));
		assert_int_equal(stats_of(net)->recoveries, 1);
		assert_int_equal(stats_of(net)->resent, all[t] != TRANSPORT_QUIC);
		assert_int_equal(stats_of(net)->timeouts, 0);
		if (all[t] != TRANSPORT_QUIC) {
			assert_true(net->conns[0].tcp.sender.rack.reordered);
			assert_int_equal(net->conns[0].tcp.sender.window.ssthresh, WINDOW_NO_LIMIT);
		}
		net_destroy(net);
	}
}

TEST(test_lost_acknowledgements)
{
	for (size_t t = 0; t < 3; t++) {
		struct net_params p = {.delay_ns = DELAY, .ack_loss = 0.3, .seed = 3};
		struct net *net = net_of(&p, all[t], 2000 * MSS);

		assert_true(net_finish(net, 10 * SECOND));
		/* QUIC may need a probe for the last acknowledgement. */
		assert_true(stats_of(net)->timeouts <= (all[t] == TRANSPORT_QUIC));
		assert_true(stats_of(net)->resent <= (all[t] == TRANSPORT_QUIC));
		net_destroy(net);
	}
}

TEST(test_receive_window)
{
	static const uint32_t drop[] = {25};
	struct net_params p = {.delay_ns = DELAY, .drop = drop, .n_drop = 1};

	for (size_t t = 0; t < 3; t++) {
		struct conn_params params = params_of(all[t], 500 * MSS);
		struct net *net;
		uint32_t most = 0;

		params.window = 15 * MSS + 100;
		net = net_create(&p, &params, 1);
		for (uint64_t at = 0; at < 10 * SECOND; at += MS / 2) {
			uint32_t out;

			net_run(net, at);
			out = board_out(all[t] == TRANSPORT_QUIC ? &net->conns[0].quic.sender.board
								 : &net->conns[0].tcp.sender.board);
			most = out > most ? out : most;
		}
		assert_true(conn_done(&net->conns[0]));
		assert_int_equal(most, 15);
		/* The window does not grow if it is not the limit. */
		if (all[t] == TRANSPORT_QUIC)
			assert_true(net->conns[0].quic.sender.cwnd < 40 * MSS);
		else
			assert_true(net->conns[0].tcp.sender.window.cwnd <= 31);
		net_destroy(net);
	}
}

/* A timeout caused only by a pause of the path is undone (F-RTO or timestamps). */
TEST(test_spurious_timeout)
{
	struct net_params p = {
		.delay_ns = DELAY,
		.pause_ns = 3 * RTT + DELAY / 2,
		.resume_ns = 3 * RTT + SECOND,
	};
	ENDED_BY(net_destroy_at) struct net *net = net_of(&p, TRANSPORT_NEWRENO, ENDLESS);
	const struct tcp_sender *t = &net->conns[0].tcp.sender;
	uint32_t before;

	net_run(net, p.pause_ns);
	before = t->window.cwnd;
	net_run(net, p.resume_ns - MS);
	assert_true(stats_of(net)->timeouts >= 1);
	assert_true(t->window.cwnd <= 2);
	net_run(net, p.resume_ns + 3 * RTT);
	assert_true(t->window.cwnd >= before);
	assert_int_equal(t->window.ssthresh, WINDOW_NO_LIMIT);
	assert_true(stats_of(net)->resent <= 4);
}

/*
 * After a pause of the sender the window is halved for each timeout that has passed, down to ten.
 */
TEST(test_idle_restart)
{
	struct net_params p = {.delay_ns = DELAY};
	ENDED_BY(net_destroy_at) struct net *net = net_of(&p, TRANSPORT_NEWRENO, 310 * MSS);
	struct conn *conn = &net->conns[0];
	uint32_t total, before;
	struct segment out;
	unsigned n = 0;

	assert_true(net_finish(net, SECOND));
	before = conn->tcp.sender.window.cwnd;
	total = conn->stream.total;
	conn->stream.total = total + 1000; /* the application has more data */
	while (conn_send(conn, CONN_SENDER, 1500 * MS, &out))
		n++;
	assert_true(before > 300);
	/*
	 * Idle for 1.26 s, with timeouts of 0.24 s: five halvings, the last one down to the floor.
	 */
	assert_int_equal(n, 10);
}

TEST(test_stop)
{
	static const uint32_t drop[] = {40, 41, 42};
	struct net_params p = {.delay_ns = DELAY, .drop = drop, .n_drop = 3};

	for (size_t t = 0; t < 3; t++) {
		struct net *net = net_of(&p, all[t], ENDLESS);
		uint64_t most;

		net_run(net, 3 * RTT);
		assert_false(conn_done(&net->conns[0]));
		conn_stop(&net->conns[0], net->now_ns);
		most = (stats_of(net)->segments - stats_of(net)->resent) * MSS;
		net_run(net, 10 * SECOND);
		assert_true(conn_done(&net->conns[0]));
		assert_int_equal(stats_of(net)->delivered, most);
		assert_int_equal(conn_deadline(&net->conns[0]), CONN_NEVER);
		net_destroy(net);
	}
}

/* Stopped before it was open: nothing is sent any more. */
TEST(test_stop_at_once)
{
	struct net_params p = {.delay_ns = DELAY, .drop_syns = 1000};
	ENDED_BY(net_destroy_at) struct net *net = net_of(&p, TRANSPORT_CUBIC, ENDLESS);

	net_run(net, 10 * MS);
	conn_stop(&net->conns[0], net->now_ns);
	assert_true(conn_done(&net->conns[0]));
	assert_int_equal(conn_deadline(&net->conns[0]), CONN_NEVER);
	assert_null(nth_sent(net, CONN_SENDER, true, 1));
}

/* The most recent block comes first, at most three; a DSACK comes before all. */
TEST(test_sack_blocks)
{
	struct conn_params params = params_of(TRANSPORT_NEWRENO, ENDLESS);
	static const uint64_t arrive[] = {2, 4, 6, 8, 4};
	struct segment out = {0}, in = {.len = MSS};
	struct conn conn;

	params.handshake = false;
	conn_init(&conn, &params, 0);
	for (size_t i = 0; i < 5; i++) {
		in.seq = arrive[i] * MSS;
		conn_receive(&conn, CONN_RECEIVER, MS, &in);
		assert_true(conn_send(&conn, CONN_RECEIVER, MS, &out));
		assert_int_equal(out.ack, 0);
		assert_int_equal(out.sack[0].from, arrive[i] * MSS);
		assert_int_equal(out.sack[0].to, (arrive[i] + 1) * MSS);
		assert_int_equal(out.n_sacks, i < 3 ? i + 1 : 3);
	}
	/* The last one was a repeat: its block follows those that changed later. */
	assert_int_equal(out.sack[1].from, 8 * MSS);
	assert_int_equal(out.sack[2].from, 6 * MSS);
	in.seq = 3 * MSS; /* joins 2 and 4 */
	conn_receive(&conn, CONN_RECEIVER, MS, &in);
	assert_true(conn_send(&conn, CONN_RECEIVER, MS, &out));
	assert_int_equal(out.sack[0].from, 2 * MSS);
	assert_int_equal(out.sack[0].to, 5 * MSS);
	assert_int_equal(out.sack[1].from, 8 * MSS);
	in.seq = 0;
	in.len = 2 * MSS;
	conn_receive(&conn, CONN_RECEIVER, MS, &in);
	assert_true(conn_send(&conn, CONN_RECEIVER, MS, &out));
	assert_int_equal(out.ack, 5 * MSS);
	assert_int_equal(out.n_sacks, 2);
}
