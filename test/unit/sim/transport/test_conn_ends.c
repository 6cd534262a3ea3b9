/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The start of a connection, its bytes, and the times of each kind of receiver's acknowledgements.
 */
#include "check.h"

#include "transport/conn_state.h"

#define MSS 1000
#define N   (COUNT(rows))

/* A SYN without an answer is sent again after 1, 2, 4 s and so on, up to 64 s, forever. */
TEST(test_syn_back_off)
{
	struct handshake h;
	struct segment out;
	uint64_t now_ns = 0, wait_ns = SECOND;

	handshake_init(&h, true, 0);
	for (unsigned i = 0; i < 300; i++) {
		struct handshake_end *e = &h.end[CONN_SENDER];

		assert_false(handshake_send(&h, CONN_RECEIVER, now_ns, &out));
		assert_true(handshake_send(&h, CONN_SENDER, now_ns, &out));
		assert_true(out.syn && !out.is_ack);
		assert_int_equal(out.sent_ns, now_ns);
		assert_int_equal(out.echo_ns, 0);
		assert_false(handshake_send(&h, CONN_SENDER, now_ns, &out));
		assert_int_equal(e->tries, i < 255 ? i + 1 : 255);
		assert_in_range(e->timer_ns, now_ns + wait_ns, now_ns + wait_ns * 8 / 7 + 9 * MS);
		handshake_expire(&h, e->timer_ns - 1);
		assert_false(e->due);
		now_ns = e->timer_ns;
		handshake_expire(&h, now_ns);
		assert_int_equal(e->timer_ns, CONN_NEVER);
		wait_ns = wait_ns < 64 * SECOND ? 2 * wait_ns : wait_ns;
	}
	handshake_stop(&h);
	assert_false(handshake_send(&h, CONN_SENDER, now_ns, &out));
}

/* The timers of one machine expire together, on the grid of its clock. */
TEST(test_syn_clock)
{
	struct segment out;

	for (uint64_t clock_ns = 0; clock_ns < 3 * MS; clock_ns += MS) {
		struct handshake h;

		handshake_init(&h, true, clock_ns);
		assert_true(handshake_send(&h, CONN_SENDER, 7 * MS, &out));
		assert_int_equal((h.end[CONN_SENDER].timer_ns + clock_ns) % (32 * MS), 0);
	}
}

/* Receives a segment sent 3 ms ago; returns whether it opened this end, and sets the round trip. */
static bool hears(struct handshake *h, enum conn_end end, uint64_t now_ns, bool syn, bool is_ack,
	uint64_t echo_ns, uint64_t *rtt_ns)
{
	struct segment in = {
		.syn = syn, .is_ack = is_ack, .sent_ns = now_ns - 3 * MS, .echo_ns = echo_ns};
	bool opened;

	*rtt_ns = 0;
	handshake_receive(h, end, now_ns, &in, &opened, rtt_ns);
	return opened;
}

/* The other end's segment opens an end; a repeated one is answered again. */
TEST(test_three_ways)
{
	struct handshake h;
	struct segment out;
	uint64_t rtt_ns;

	handshake_init(&h, true, 0);
	handshake_send(&h, CONN_SENDER, MS, &out);
	/* Ignored: the receiver's own kind, and data before any SYN. */
	assert_false(hears(&h, CONN_RECEIVER, 10 * MS, true, true, 0, &rtt_ns));
	assert_false(hears(&h, CONN_RECEIVER, 10 * MS, false, true, 0, &rtt_ns));
	assert_false(handshake_send(&h, CONN_RECEIVER, 10 * MS, &out));
	assert_false(hears(&h, CONN_SENDER, 10 * MS, true, false, 0, &rtt_ns));
	assert_false(hears(&h, CONN_SENDER, 10 * MS, false, true, 0, &rtt_ns));
	for (uint64_t t = 11 * MS; t < 13 * MS; t += MS) {
		assert_false(hears(&h, CONN_RECEIVER, t, true, false, 0, &rtt_ns));
		/* The receiver does not open before it has answered. */
		if (t == 11 * MS)
			assert_false(hears(&h, CONN_RECEIVER, t, false, true, 0, &rtt_ns));
		assert_true(handshake_send(&h, CONN_RECEIVER, t, &out));
		assert_true(out.syn && out.is_ack);
		assert_int_equal(out.echo_ns, t - 3 * MS);
	}
	assert_true(hears(&h, CONN_SENDER, 21 * MS, true, true, MS, &rtt_ns));
	assert_int_equal(rtt_ns, 20 * MS);
	assert_int_equal(h.end[CONN_SENDER].timer_ns, CONN_NEVER);
	for (uint64_t t = 21 * MS; t < 23 * MS; t += MS) {
		assert_true(handshake_send(&h, CONN_SENDER, t, &out));
		assert_true(!out.syn && out.is_ack);
		assert_int_equal(out.echo_ns, t - 3 * MS);
		assert_int_equal(h.end[CONN_SENDER].timer_ns, CONN_NEVER);
		assert_false(hears(&h, CONN_SENDER, t + MS, true, true, MS, &rtt_ns));
	}
	handshake_expire(&h, h.end[CONN_RECEIVER].timer_ns); /* about to send again */
	assert_true(h.end[CONN_RECEIVER].due);
	assert_true(hears(&h, CONN_RECEIVER, 40 * MS, false, true, 12 * MS, &rtt_ns));
	assert_int_equal(rtt_ns, 28 * MS);
	assert_false(handshake_send(&h, CONN_RECEIVER, 40 * MS, &out));
	assert_false(hears(&h, CONN_RECEIVER, 41 * MS, false, true, 12 * MS, &rtt_ns));
	assert_false(hears(&h, CONN_RECEIVER, 42 * MS, true, false, 0, &rtt_ns));
	assert_false(handshake_send(&h, CONN_RECEIVER, 42 * MS, &out));
}

/* An echo of 0 or of a future time gives no round trip. */
TEST(test_no_round_trip)
{
	static const struct {
		uint64_t echo_ns, rtt_ns;
	} rows[] = {{0, 0}, {1, 50 * MS - 1}, {50 * MS, 0}, {50 * MS + 1, 0}, {UINT64_MAX, 0}};

	for (size_t i = 0; i < N; i++) {
		struct handshake h;
		struct segment out;
		uint64_t rtt_ns;

		handshake_init(&h, true, 0);
		handshake_send(&h, CONN_SENDER, MS, &out);
		assert_true(hears(&h, CONN_SENDER, 50 * MS, true, true, rows[i].echo_ns, &rtt_ns));
		assert_int_equal(rtt_ns, rows[i].rtt_ns);
	}
}

/* Open from the start: no SYN is sent, and an unexpected SYN-ACK is not answered. */
TEST(test_no_handshake)
{
	struct handshake h;
	struct segment out;
	uint64_t rtt_ns;

	handshake_init(&h, false, 0);
	for (int end = CONN_SENDER; end <= CONN_RECEIVER; end++) {
		assert_true(h.end[end].open);
		assert_int_equal(h.end[end].timer_ns, CONN_NEVER);
		assert_false(hears(&h, (enum conn_end)end, 9 * MS, true, !end, 0, &rtt_ns));
		assert_false(handshake_send(&h, (enum conn_end)end, 9 * MS, &out));
	}
}

/* Bytes in segments: the last one can be short. */
TEST(test_stream_segments)
{
	static const struct {
		uint64_t bytes;
		uint32_t total, last;
	} rows[] = {{1, 1, 1}, {999, 1, 999}, {1000, 1, 1000}, {1001, 2, 1}, {2999, 3, 999},
		{3000, 3, 1000}, {0, STREAM_ENDLESS, 1000}};

	for (size_t i = 0; i < N; i++) {
		struct conn_params params = {.mss = MSS, .bytes = rows[i].bytes, .window = 64000};
		struct segment out;
		struct stream s;

		assert_int_equal(stream_init(&s, &params), 0);
		assert_int_equal(s.total, rows[i].total);
		assert_int_equal(s.last, rows[i].last);
		stream_segment(&s, s.total - 1, 7, &out);
		assert_int_equal(out.len, rows[i].last);
		assert_true(out.fin);
		assert_int_equal(out.seq, (uint64_t)MSS * (s.total - 1));
		assert_int_equal(out.sent_ns, 7);
		if (s.total > 1) {
			stream_segment(&s, s.total - 2, 8, &out);
			assert_int_equal(out.len, MSS);
			assert_false(out.fin);
			assert_int_equal(s.stats.segments, 2);
			assert_int_equal(s.stats.bytes, MSS + rows[i].last);
		}
	}
}

/* A stream of 2,500 bytes with a window of 2,100, or 2,000 for full segments. */
TEST(test_stream_window)
{
	static const struct {
		uint32_t window, una, seg;
		bool has;
	} rows[] = {
		{2499, 0, 2, false},
		{2500, 0, 2, true},
		{2500, 0, 3, false},
		{2000, 0, 1, true},
		{1999, 0, 1, false},
		{1500, 1, 2, true},
		{1499, 1, 2, false},
	};

	for (size_t i = 0; i < N; i++) {
		struct conn_params params = {.mss = MSS, .bytes = 2500, .window = rows[i].window};
		struct stream s;

		assert_int_equal(stream_init(&s, &params), 0);
		assert_int_equal(stream_has(&s, rows[i].una, rows[i].seg), rows[i].has);
	}
}

/* The segments below and above a byte offset. */
TEST(test_stream_places)
{
	static const struct {
		uint64_t byte;
		uint32_t below, above;
	} rows[] = {{0, 0, 0}, {1, 0, 1}, {999, 0, 1}, {1000, 1, 1}, {1001, 1, 2}, {2000, 2, 2},
		{2001, 2, 3}, {2499, 2, 3}, {2500, 3, 3}, {2501, 3, 3}, {UINT64_MAX, 3, 3}};
	struct conn_params params = {.mss = MSS, .bytes = 2500, .window = 64000};
	struct stream s;

	assert_int_equal(stream_init(&s, &params), 0);
	for (size_t i = 0; i < N; i++) {
		assert_int_equal(stream_below(&s, rows[i].byte), rows[i].below);
		assert_int_equal(stream_above(&s, rows[i].byte), rows[i].above);
	}
	/* Segment numbers have 32 bits; the last number means no end. */
	params.bytes = 0;
	params.window = UINT32_MAX;
	assert_int_equal(stream_init(&s, &params), 0);
	assert_true(stream_has(&s, STREAM_ENDLESS - 3, STREAM_ENDLESS - 2));
	assert_false(stream_has(&s, STREAM_ENDLESS - 3, STREAM_ENDLESS - 1));
}

/* Two ranges above base, [10, 20) and [30, 40); then [from, to). */
TEST(test_ranges_by_hand)
{
	static const struct {
		uint64_t from, to;
		enum ranges_verdict verdict;
		uint64_t base;
		unsigned n;
		struct range first;
	} rows[] = {
		{0, 5, RANGES_NEW, 105, 2, {110, 120}},
		{0, 9, RANGES_NEW, 109, 2, {110, 120}},
		{0, 10, RANGES_NEW, 120, 1, {130, 140}},
		{0, 15, RANGES_NEW, 120, 1, {130, 140}},
		{0, 25, RANGES_NEW, 125, 1, {130, 140}},
		{0, 30, RANGES_NEW, 140, 0, {0, 0}},
		{0, 45, RANGES_NEW, 145, 0, {0, 0}},
		{5, 9, RANGES_NEW, 100, 3, {105, 109}},
		{5, 10, RANGES_NEW, 100, 2, {105, 120}},
		{10, 20, RANGES_HAD, 100, 2, {110, 120}},
		{11, 19, RANGES_HAD, 100, 2, {110, 120}},
		{10, 21, RANGES_NEW, 100, 2, {110, 121}},
		{9, 20, RANGES_NEW, 100, 2, {109, 120}},
		{20, 25, RANGES_NEW, 100, 2, {110, 125}},
		{21, 25, RANGES_NEW, 100, 3, {110, 120}},
		{15, 29, RANGES_NEW, 100, 2, {110, 129}},
		{15, 30, RANGES_NEW, 100, 1, {110, 140}},
		{5, 50, RANGES_NEW, 100, 1, {105, 150}},
		{41, 50, RANGES_NEW, 100, 3, {110, 120}},
	};

	for (size_t i = 0; i < N; i++) {
		struct ranges r = {.base = 100, .n = 2, .at = {{10, 20}, {30, 40}}};

		assert_int_equal(
			ranges_add(&r, 100 + rows[i].from, 100 + rows[i].to), rows[i].verdict);
		assert_int_equal(r.base, rows[i].base);
		assert_int_equal(r.n, rows[i].n);
		if (r.n) {
			assert_int_equal(ranges_get(&r, 0).from, rows[i].first.from);
			assert_int_equal(ranges_get(&r, 0).to, rows[i].first.to);
		}
	}
}

/* A full set rejects an additional range, but accepts bytes next to an existing one. */
TEST(test_ranges_full)
{
	struct ranges r = {.base = 7};

	assert_int_equal(ranges_add(&r, 2, 7), RANGES_HAD);
	assert_int_equal(ranges_add(&r, 6, 8), RANGES_NEW);
	ranges_skip_hole(&r); /* there is none */
	assert_int_equal(r.base, 8);
	for (uint64_t i = 1; i <= RANGES_MAX; i++)
		assert_int_equal(ranges_add(&r, 10 * i, 10 * i + 1), RANGES_NEW);
	assert_int_equal(ranges_add(&r, 15, 16), RANGES_FULL);
	assert_int_equal(ranges_add(&r, 11, 12), RANGES_NEW);
	assert_int_equal(r.n, RANGES_MAX);
	ranges_skip_hole(&r);
	assert_int_equal(r.base, 12);
	assert_int_equal(r.n, RANGES_MAX - 1);
	assert_int_equal(ranges_get(&r, 0).from, 20);
	assert_int_equal(ranges_get(&r, RANGES_MAX - 2).to, 10 * RANGES_MAX + 1);
	assert_int_equal(ranges_add(&r, 15, 16), RANGES_NEW);
}

struct listener {
	struct stream stream;
	struct tcp_receiver tcp;
	struct quic_receiver quic;
};

static struct listener begin_listening(uint32_t window, uint64_t rtt_ns)
{
	struct conn_params params = {.mss = MSS, .window = window};
	struct listener l = {0};

	assert_int_equal(stream_init(&l.stream, &params), 0);
	tcp_receiver_init(&l.tcp, 0);
	tcp_receiver_open(&l.tcp, rtt_ns);
	quic_receiver_init(&l.quic);
	return l;
}

/* Receives `len` bytes at `seq`; returns whether they are acknowledged immediately. */
static bool tcp_hears(
	struct listener *l, uint64_t now_ns, uint64_t seq, uint32_t len, struct segment *out)
{
	struct segment in = {.seq = seq, .len = len, .sent_ns = now_ns - MS};

	tcp_receiver_receive(&l->tcp, &l->stream, now_ns, &in);
	return tcp_receiver_send(&l->tcp, now_ns, out);
}

/* Receives segments in order while each is acknowledged; returns how many were. */
static unsigned tcp_quick_acks(struct listener *l, uint64_t now_ns)
{
	struct segment out;
	unsigned n = 0;

	while (n < 100 && tcp_hears(l, now_ns, l->tcp.data.base, MSS, &out))
		n++;
	return n;
}

/*
 * The number of quick acknowledgements: half of the window's segments, at least 2 and at most 16.
 */
TEST(test_quick_acks)
{
	static const struct {
		uint32_t window;
		unsigned quick;
	} rows[] = {
		{1000, 2}, {4000, 2}, {5999, 2}, {6000, 3}, {31999, 15}, {32000, 16}, {64000, 16}};

	for (size_t i = 0; i < N; i++) {
		struct listener l = begin_listening(rows[i].window, 0);

		assert_int_equal(tcp_quick_acks(&l, SECOND), rows[i].quick);
		assert_int_equal(l.stream.stats.delivered, MSS * (rows[i].quick + 1));
		/* The delayed one is acknowledged with the next segment, full or not. */
		assert_int_equal(tcp_quick_acks(&l, SECOND), 1);
	}
}

/* Gaps between single segments: how long the acknowledgement of the last can be delayed. */
TEST(test_ack_patience)
{
	static const struct {
		uint64_t rtt_ns, gaps_ms[3];
		uint64_t patience_ms, wait_ms;
	} rows[] = {
		/* After a gap of up to 20 ms: half of it plus 20 ms. */
		{0, {20, 20, 20}, 40, 40},
		/* After a longer gap: half of the delay plus the gap. */
		{300 * MS, {21, 0, 0}, 41, 41},
		{300 * MS, {39, 0, 0}, 59, 59},
		{300 * MS, {39, 48, 0}, 77, 77},
		{300 * MS, {40, 0, 0}, 40, 40},  /* not longer than the delay */
		{60 * MS, {39, 48, 50}, 88, 60}, /* never longer than a round trip */
		{0, {39, 48, 50}, 88, 40},
	};

	for (size_t i = 0; i < N; i++) {
		struct listener l = begin_listening(64000, rows[i].rtt_ns);
		uint64_t now_ns = SECOND, least;
		struct segment out;
		unsigned n = 0;

		assert_int_equal(tcp_quick_acks(&l, now_ns), 16);
		tcp_hears(&l, now_ns, l.tcp.data.base, MSS, &out); /* with the one that waited */
		for (unsigned k = 0; k < 3 && rows[i].gaps_ms[k]; k++, n++) {
			now_ns += rows[i].gaps_ms[k] * MS;
			tcp_hears(&l, now_ns, l.tcp.data.base, 100, &out);
			l.tcp.ack_ns = n + 1 < 3 && rows[i].gaps_ms[k + 1] ? CONN_NEVER
									   : l.tcp.ack_ns;
		}
		least = rows[i].wait_ms * MS;
		assert_int_equal(l.tcp.patience_ns / MS, rows[i].patience_ms);
		assert_in_range(l.tcp.ack_ns, now_ns + least, now_ns + least + 8 * MS);
	}
}

/* After an expired delay: twice as long, up to the timeout. After a longer silence: no delay. */
TEST(test_ack_in_vain)
{
	static const uint64_t patience_ms[] = {80, 160, 320, 399, 399};
	struct listener l = begin_listening(64000, 133 * MS);
	uint64_t now_ns = SECOND;
	struct segment out;

	assert_int_equal(tcp_quick_acks(&l, now_ns), 16);
	for (size_t i = 0; i < 5; i++) {
		now_ns = l.tcp.ack_ns;
		tcp_receiver_expire(&l.tcp, now_ns - 1);
		assert_false(tcp_receiver_send(&l.tcp, now_ns, &out));
		tcp_receiver_expire(&l.tcp, now_ns);
		assert_int_equal(l.tcp.ack_ns, CONN_NEVER);
		assert_true(tcp_receiver_send(&l.tcp, now_ns, &out));
		assert_int_equal(l.tcp.patience_ns, patience_ms[i] * MS);
		l.tcp.ack_ns = now_ns + MS;
	}
	/* After a gap the timeout is the maximum, too. */
	l.tcp.ack_ns = CONN_NEVER;
	now_ns = l.tcp.data_ns + 398 * MS;
	assert_false(tcp_hears(&l, now_ns, l.tcp.data.base, 100, &out));
	assert_int_equal(l.tcp.patience_ns, 399 * MS);
	now_ns += 399 * MS;
	l.tcp.ack_ns = CONN_NEVER;
	assert_false(tcp_hears(&l, now_ns, l.tcp.data.base, 100, &out));
	now_ns += 399 * MS + 1;
	assert_int_equal(tcp_quick_acks(&l, now_ns), 16);
	assert_int_equal(l.tcp.patience_ns, 40 * MS);
}

/* A second small segment causes the acknowledgement only if that is due soon. */
TEST(test_ack_due_soon)
{
	static const struct {
		uint64_t gap_ms;
		bool at_once;
	} rows[] = {{1, false}, {10, false}, {39, true}};

	for (size_t i = 0; i < N; i++) {
		struct listener l = begin_listening(64000, 300 * MS);
		uint64_t now_ns = SECOND, due_ns;
		struct segment out;

		assert_int_equal(tcp_quick_acks(&l, now_ns), 16);
		tcp_hears(&l, now_ns, l.tcp.data.base, MSS, &out);
		assert_false(tcp_hears(&l, now_ns, l.tcp.data.base, 100, &out));
		due_ns = l.tcp.ack_ns;
		now_ns += rows[i].gap_ms * MS;
		assert_int_equal(
			tcp_hears(&l, now_ns, l.tcp.data.base, 100, &out), rows[i].at_once);
		assert_int_equal(l.tcp.ack_ns, rows[i].at_once ? CONN_NEVER : due_ns);
	}
}

/*
 * A repeated segment is acknowledged immediately, and so are the next ones. A segment beyond the
 * window is ignored.
 */
TEST(test_tcp_what_counts)
{
	static const struct {
		uint64_t seq;
		uint32_t len;
		bool heard;
	} rows[] = {{3000, 1000, true}, {3001, 1000, false}, {4000, 1, false}, {4001, 1, false},
		{0, 0, false}, {0, 4000, true}, {0, 4001, false}, {UINT64_MAX - 5, 100, false}};
	struct listener l = begin_listening(64000, 300 * MS);
	uint64_t before;
	struct segment out;

	for (size_t i = 0; i < N; i++) {
		struct listener narrow = begin_listening(4000, 0);

		assert_int_equal(
			tcp_hears(&narrow, MS, rows[i].seq, rows[i].len, &out), rows[i].heard);
	}
	assert_int_equal(tcp_quick_acks(&l, SECOND), 16);
	tcp_hears(&l, SECOND + 39 * MS, l.tcp.data.base, MSS, &out);
	before = l.stream.stats.delivered;
	assert_int_equal(l.tcp.patience_ns / MS, 59);
	assert_true(tcp_hears(&l, SECOND + 40 * MS, 0, MSS, &out));
	assert_int_equal(out.n_sacks, 1);
	assert_int_equal(out.sack[0].from, 0);
	assert_int_equal(out.sack[0].to, MSS);
	assert_true(out.is_ack);
	assert_int_equal(l.tcp.patience_ns, 40 * MS);
	assert_int_equal(l.stream.stats.delivered, before);
	assert_true(tcp_hears(&l, SECOND + 41 * MS, l.tcp.data.base, MSS, &out));
	assert_int_equal(out.n_sacks, 0); /* a DSACK is sent once */
	assert_int_equal(tcp_quick_acks(&l, SECOND + 41 * MS), 14);
}

/* Joined blocks are sent once; of the others, those that grew last. */
TEST(test_tcp_blocks_join)
{
	static const struct {
		uint64_t seg;
		unsigned n;
		struct range first, last;
	} rows[] = {
		{2, 1, {2, 3}, {2, 3}},
		{4, 2, {4, 5}, {2, 3}},
		{6, 3, {6, 7}, {2, 3}},
		{8, 3, {8, 9}, {4, 5}},
		{10, 3, {10, 11}, {6, 7}},
		{9, 2, {8, 11}, {6, 7}}, /* three entries for one block */
		{14, 3, {14, 15}, {6, 7}},
		{5, 3, {4, 7}, {8, 11}},
		{0, 3, {4, 7}, {8, 11}},
		{1, 3, {4, 7}, {8, 11}},
		{3, 2, {14, 15}, {8, 11}},
	};
	struct listener l = begin_listening(64000, 0);

	for (size_t i = 0; i < N; i++) {
		struct segment out;

		assert_true(tcp_hears(&l, MS, rows[i].seg * MSS, MSS, &out));
		assert_int_equal(out.n_sacks, rows[i].n);
		assert_int_equal(out.sack[0].from, rows[i].first.from * MSS);
		assert_int_equal(out.sack[0].to, rows[i].first.to * MSS);
		assert_int_equal(out.sack[out.n_sacks - 1].from, rows[i].last.from * MSS);
		assert_int_equal(out.sack[out.n_sacks - 1].to, rows[i].last.to * MSS);
	}
}

/* A range too many is dropped, and the acknowledgement is sent immediately. */
TEST(test_tcp_ranges_full)
{
	struct listener l = begin_listening(1000000, 0);
	struct segment out;

	for (uint64_t i = 1; i <= RANGES_MAX; i++)
		assert_true(tcp_hears(&l, MS, 2 * i * MSS, MSS, &out));
	assert_true(tcp_hears(&l, MS, 100 * MSS, MSS, &out));
	assert_int_equal(l.tcp.data.n, RANGES_MAX);
	assert_int_equal(out.n_sacks, 3);
	assert_int_equal(out.sack[0].from, 2 * RANGES_MAX * MSS);
}

/* Receives a packet with data at an offset; returns whether it is acknowledged immediately. */
static bool quic_hears(struct listener *l, uint64_t now_ns, uint64_t number, uint64_t offset,
	uint32_t len, struct segment *out)
{
	struct segment in = {
		.seq = number, .offset = offset, .len = len, .sent_ns = now_ns - 7 * MS};

	quic_receiver_receive(&l->quic, &l->stream, now_ns, &in);
	return quic_receiver_send(&l->quic, now_ns, out);
}

/* A packet in order waits 25 ms for another; the echo is of the largest number, with its delay. */
TEST(test_quic_ack_delay)
{
	struct listener l = begin_listening(64000, 0);
	struct segment out;

	assert_false(quic_hears(&l, 100 * MS, 0, 0, MSS, &out));
	assert_int_equal(l.quic.ack_ns, 125 * MS);
	quic_receiver_expire(&l.quic, 125 * MS - 1);
	assert_false(quic_receiver_send(&l.quic, 125 * MS, &out));
	quic_receiver_expire(&l.quic, 125 * MS);
	assert_int_equal(l.quic.ack_ns, CONN_NEVER);
	assert_true(quic_receiver_send(&l.quic, 126 * MS, &out));
	assert_int_equal(out.ack, 1);
	assert_true(out.is_ack);
	assert_int_equal(out.echo_ns, (93 + 26) * MS);
	assert_int_equal(out.sent_ns, 126 * MS);
	assert_int_equal(out.n_sacks, 1);
	assert_int_equal(out.sack[0].to, 1);
	assert_false(quic_receiver_send(&l.quic, 126 * MS, &out));
	assert_false(quic_hears(&l, 130 * MS, 1, MSS, MSS, &out));
	assert_true(quic_hears(&l, 132 * MS, 2, 2 * MSS, MSS, &out));
	assert_int_equal(out.echo_ns, 125 * MS);
	assert_int_equal(l.quic.ack_ns, CONN_NEVER);
	assert_int_equal(l.quic.unanswered, 0);
	/* An overtaken packet is acknowledged immediately, with the echo of the largest number. */
	assert_true(quic_hears(&l, 140 * MS, 4, 4 * MSS, MSS, &out));
	assert_false(quic_hears(&l, 141 * MS, 4, 4 * MSS, MSS, &out)); /* repeated */
	assert_true(quic_hears(&l, 150 * MS, 3, 3 * MSS, MSS, &out));
	assert_int_equal(out.ack, 5);
	assert_int_equal(out.echo_ns, 143 * MS);
	assert_int_equal(l.stream.stats.delivered, 5 * MSS);
}

/* A repeated packet, or one beyond the window, is ignored. */
TEST(test_quic_what_counts)
{
	static const struct {
		uint64_t number, offset;
		uint32_t len;
		bool heard;
		uint64_t delivered;
	} rows[] = {
		{3, 3000, 1000, true, 1000},
		{3, 4000, 1000, true, 1000},
		{3, 4001, 1000, false, 1000},
		{3, 5000, 1, false, 1000},
		{3, 5001, 1, false, 1000},
		{3, 1000, 0, false, 1000},
		{3, 1000, 4000, true, 5000},
		{3, 0, 1000, true, 1000},     /* the same data in another packet */
		{0, 1000, 1000, false, 1000}, /* a repeated number */
		{UINT64_C(1) << 32, 1000, 1000, false, 1000},
		{UINT32_MAX, 1000, 1000, true, 2000},
	};

	for (size_t i = 0; i < N; i++) {
		struct listener l = begin_listening(4000, 0);
		struct segment out;

		assert_false(quic_hears(&l, 10 * MS, 0, 0, MSS, &out));
		assert_int_equal(
			quic_hears(&l, 20 * MS, rows[i].number, rows[i].offset, rows[i].len, &out),
			rows[i].heard);
		assert_int_equal(l.stream.stats.delivered, rows[i].delivered);
		assert_int_equal(l.quic.unanswered, !rows[i].heard);
	}
}

/* The end of the data is acknowledged immediately. */
TEST(test_quic_fin)
{
	struct listener l = begin_listening(4000, 0);
	struct segment in = {.len = 10, .fin = true, .sent_ns = MS}, out;

	quic_receiver_receive(&l.quic, &l.stream, 2 * MS, &in);
	assert_true(quic_receiver_send(&l.quic, 2 * MS, &out));
}

/* At most four ranges, the latest first; the oldest is the one below all holes. */
TEST(test_quic_blocks)
{
	static const uint64_t numbers[] = {0, 2, 4, 6, 8};
	struct listener l = begin_listening(64000, 0);
	struct segment out;

	for (size_t i = 0; i < 5; i++) {
		quic_hears(&l, MS, numbers[i], i * MSS, MSS, &out);
		if (i == 0)
			continue;
		assert_int_equal(out.n_sacks, i < 4 ? i + 1 : 4);
		for (size_t k = 0; k < out.n_sacks; k++) {
			assert_int_equal(out.sack[k].from, numbers[i - k]);
			assert_int_equal(out.sack[k].to, numbers[i - k] + 1);
		}
	}
}

/* One hole too many: numbers below it are no longer acknowledged, all above it are. */
TEST(test_quic_floor)
{
	struct listener l = begin_listening(64000, 0);
	struct segment out;

	quic_hears(&l, MS, 0, 0, MSS, &out);
	for (uint64_t i = 1; i <= RANGES_MAX + 1; i++)
		quic_hears(&l, MS, 10 * i, 0, MSS, &out);
	assert_int_equal(l.quic.floor, 10);
	assert_int_equal(l.quic.numbers.base, 11);
	for (uint64_t i = 21; i <= 10 * RANGES_MAX + 10; i++)
		quic_hears(&l, MS, i, 0, MSS, &out);
	l.quic.ack_now = true;
	assert_true(quic_receiver_send(&l.quic, MS, &out));
	assert_int_equal(out.n_sacks, 1);
	assert_int_equal(out.sack[0].from, 20); /* again one hole too many */
	assert_int_equal(out.sack[0].to, 10 * RANGES_MAX + 11);
}

/* Sizes of IP packets: SYNs, and acknowledgements with up to four ranges, for each transport. */
TEST(test_bytes_of_kinds)
{
	static const struct {
		struct segment segment;
		uint32_t tcp, quic;
	} rows[] = {
		{{.len = 1}, 53, 57},
		{{.syn = true}, 60, 1228},
		{{.syn = true, .is_ack = true}, 60, 1228},
		{{.is_ack = true}, 52, 56},
		{{.is_ack = true, .n_sacks = 1}, 64, 56},
		{{.is_ack = true, .n_sacks = 2}, 72, 59},
		{{.is_ack = true, .n_sacks = 4}, 88, 65},
		{{.is_ack = true, .n_sacks = 9}, 88, 65},
	};
	struct conn_params tcp = {.transport = TRANSPORT_NEWRENO};
	struct conn_params quic = {.transport = TRANSPORT_QUIC};

	for (size_t i = 0; i < N; i++) {
		assert_int_equal(segment_bytes(&tcp, &rows[i].segment), rows[i].tcp);
		assert_int_equal(segment_bytes(&quic, &rows[i].segment), rows[i].quic);
	}
}
