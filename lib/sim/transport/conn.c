/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * One transport connection with both its ends, as a pure state machine in virtual time.
 */
#include "transport/conn_state.h"

#include <errno.h>
#include <string.h>

#include "base/time.h"
#include "transport/rtt.h"

#define DOUBLINGS_MAX 6

void handshake_init(struct handshake *h, bool wanted, uint64_t clock_ns)
{
	struct handshake_end end = {.open = !wanted, .timer_ns = CONN_NEVER};

	h->end[CONN_SENDER] = h->end[CONN_RECEIVER] = end;
	h->end[CONN_SENDER].due = wanted;
	h->clock_ns = clock_ns;
}

bool handshake_send(struct handshake *h, enum conn_end end, uint64_t now_ns, struct segment *out)
{
	struct handshake_end *e = &h->end[end];
	unsigned doublings = e->tries < DOUBLINGS_MAX ? e->tries : DOUBLINGS_MAX;

	if (!e->due)
		return false;
	e->due = false;
	*out = (struct segment){
		.syn = end == CONN_RECEIVER || !e->open,
		.is_ack = e->answered,
		.sent_ns = now_ns,
		.echo_ns = e->echo_ns,
	};
	if (e->open)
		return true;
	e->tries += e->tries < UINT8_MAX;
	e->timer_ns = ticks_deadline(now_ns, SECOND_NS << doublings, h->clock_ns);
	return true;
}

static void receive_syn(struct handshake *h, enum conn_end end, const struct segment *in)
{
	struct handshake_end *e = &h->end[end];

	if ((end == CONN_RECEIVER) == in->is_ack)
		return;
	/* A repeated SYN is answered again, and so is a repeated SYN-ACK. */
	if (e->open && (end == CONN_RECEIVER || !e->answered))
		return;
	e->answered = true;
	e->due = true;
	e->echo_ns = in->sent_ns;
}

bool handshake_receive(struct handshake *h, enum conn_end end, uint64_t now_ns,
	const struct segment *in, bool *opened, uint64_t *rtt_ns)
{
	struct handshake_end *e = &h->end[end];
	bool opens = end == CONN_SENDER ? in->syn && in->is_ack
					: !in->syn && e->answered && e->tries > 0;

	*opened = !e->open && opens;
	if (*opened) {
		e->open = true;
		e->due = false;
		e->timer_ns = CONN_NEVER;
		*rtt_ns = in->echo_ns && in->echo_ns <= now_ns ? now_ns - in->echo_ns : 0;
	}
	if (in->syn) {
		if (*opened)
			e->answered = true;
		receive_syn(h, end, in);
		return false;
	}
	return e->open;
}

void handshake_expire(struct handshake *h, uint64_t now_ns)
{
	for (unsigned i = 0; i < 2; i++) {
		struct handshake_end *e = &h->end[i];

		if (now_ns < e->timer_ns)
			continue;
		e->timer_ns = CONN_NEVER;
		e->due = true;
	}
}

void handshake_stop(struct handshake *h)
{
	struct handshake_end *e = &h->end[CONN_SENDER];

	e->due = false;
	e->timer_ns = CONN_NEVER;
}

#define IPV4_HEADER    20
#define TCP_HEADER     20
#define TCP_TIMESTAMPS 12 /* including padding */
#define TCP_SYN_MORE   8  /* MSS, window scale; SACK-permitted is in the padding */
#define UDP_HEADER     8
#define QUIC_HEADER    20 /* flags, packet number of 3, no connection id, authentication tag */
#define QUIC_HELLO     1200
#define QUIC_STREAM    8 /* a STREAM frame's header */
#define QUIC_ACK       8 /* an ACK frame with its first range */
#define QUIC_RANGE     3 /* per further range */

static bool is_quic(const struct conn *conn)
{
	return conn->transport == TRANSPORT_QUIC;
}

int conn_init(struct conn *conn, const struct conn_params *params, uint64_t now_ns)
{
	int err;

	(void)now_ns;
	if (params->transport > TRANSPORT_BBR)
		return -EINVAL;
	memset(conn, 0, sizeof(*conn));
	err = stream_init(&conn->stream, params);
	if (err)
		return err;
	conn->transport = params->transport;
	handshake_init(&conn->handshake, params->handshake, params->clock_ns);
	if (is_quic(conn)) {
		quic_sender_init(&conn->quic.sender, params->mss);
		quic_receiver_init(&conn->quic.receiver);
	} else {
		tcp_sender_init(&conn->tcp.sender, params->transport, params->clock_ns);
		if (params->ecn && params->transport <= TRANSPORT_CUBIC)
			conn->tcp.sender.ecn.ect = ECT_0;
		tcp_receiver_init(&conn->tcp.receiver, params->clock_ns);
	}
	return 0;
}

static bool send_data(struct conn *conn, uint64_t now_ns, struct segment *out)
{
	if (!conn->handshake.end[CONN_SENDER].open)
		return false;
	if (is_quic(conn))
		return quic_sender_send(&conn->quic.sender, &conn->stream, now_ns, out);
	return tcp_sender_send(&conn->tcp.sender, &conn->stream, now_ns, out);
}

static bool send_ack(struct conn *conn, uint64_t now_ns, struct segment *out)
{
	if (!conn->handshake.end[CONN_RECEIVER].open)
		return false;
	if (is_quic(conn))
		return quic_receiver_send(&conn->quic.receiver, now_ns, out);
	return tcp_receiver_send(&conn->tcp.receiver, now_ns, out);
}

bool conn_send(struct conn *conn, enum conn_end end, uint64_t now_ns, struct segment *out)
{
	if (handshake_send(&conn->handshake, end, now_ns, out))
		return true;
	return end == CONN_SENDER ? send_data(conn, now_ns, out) : send_ack(conn, now_ns, out);
}

static void open_conn_end(struct conn *conn, enum conn_end end, uint64_t rtt_ns)
{
	uint32_t rtt_us = (uint32_t)(rtt_ns / 1000);

	if (end == CONN_SENDER && is_quic(conn))
		quic_sender_open(&conn->quic.sender, rtt_us);
	else if (end == CONN_SENDER)
		tcp_sender_open(&conn->tcp.sender, conn->handshake.end[end].tries, rtt_us);
	else if (!is_quic(conn))
		tcp_receiver_open(&conn->tcp.receiver, rtt_ns);
}

void conn_receive(struct conn *conn, enum conn_end end, uint64_t now_ns, const struct segment *in)
{
	uint64_t rtt_ns = 0;
	bool opened, usable;

	usable = handshake_receive(&conn->handshake, end, now_ns, in, &opened, &rtt_ns);
	if (opened)
		open_conn_end(conn, end, rtt_ns);
	if (!usable)
		return;
	if (end == CONN_SENDER && is_quic(conn))
		quic_sender_receive(&conn->quic.sender, &conn->stream, now_ns, in);
	else if (end == CONN_SENDER)
		tcp_sender_receive(&conn->tcp.sender, &conn->stream, now_ns, in);
	else if (is_quic(conn))
		quic_receiver_receive(&conn->quic.receiver, &conn->stream, now_ns, in);
	else
		tcp_receiver_receive(&conn->tcp.receiver, &conn->stream, now_ns, in);
}

static uint64_t earlier_time(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

uint64_t conn_deadline(const struct conn *conn)
{
	const struct handshake_end *end = conn->handshake.end;
	uint64_t at = earlier_time(end[CONN_SENDER].timer_ns, end[CONN_RECEIVER].timer_ns);

	if (is_quic(conn))
		return earlier_time(
			at, earlier_time(conn->quic.sender.timer_ns, conn->quic.receiver.ack_ns));
	at = earlier_time(at, conn->tcp.sender.pace_ns);
	return earlier_time(at, earlier_time(conn->tcp.sender.timer_ns, conn->tcp.receiver.ack_ns));
}

void conn_expire(struct conn *conn, uint64_t now_ns)
{
	handshake_expire(&conn->handshake, now_ns);
	if (is_quic(conn)) {
		quic_sender_expire(&conn->quic.sender, &conn->stream, now_ns);
		quic_receiver_expire(&conn->quic.receiver, now_ns);
	} else {
		tcp_sender_expire(&conn->tcp.sender, &conn->stream, now_ns);
		tcp_receiver_expire(&conn->tcp.receiver, now_ns);
	}
}

static const struct board *board_of(const struct conn *conn)
{
	return is_quic(conn) ? &conn->quic.sender.board : &conn->tcp.sender.board;
}

void conn_stop(struct conn *conn, uint64_t now_ns)
{
	uint32_t next = board_of(conn)->next;

	(void)now_ns;
	if (next < conn->stream.total) {
		conn->stream.total = next;
		conn->stream.last = conn->stream.mss; /* only full segments were sent */
	}
	if (next == 0)
		handshake_stop(&conn->handshake);
}

bool conn_done(const struct conn *conn)
{
	return board_of(conn)->una >= conn->stream.total;
}

const struct conn_stats *conn_stats(const struct conn *conn)
{
	return &conn->stream.stats;
}

static uint32_t tcp_bytes(const struct segment *segment)
{
	uint32_t blocks = segment->n_sacks < CONN_SACKS ? segment->n_sacks : CONN_SACKS;

	return IPV4_HEADER + TCP_HEADER + TCP_TIMESTAMPS + (segment->syn ? TCP_SYN_MORE : 0) +
	       (blocks ? 4 + 8 * blocks : 0) + segment->len;
}

static uint32_t quic_bytes(const struct segment *segment)
{
	uint32_t headers = IPV4_HEADER + UDP_HEADER + QUIC_HEADER;
	uint32_t ranges = segment->n_sacks < CONN_SACKS ? segment->n_sacks : CONN_SACKS;

	if (segment->syn)
		return IPV4_HEADER + UDP_HEADER + QUIC_HELLO;
	if (segment->is_ack)
		return headers + QUIC_ACK + (ranges ? QUIC_RANGE * (ranges - 1) : 0);
	return headers + QUIC_STREAM + segment->len;
}

uint32_t segment_bytes(const struct conn_params *params, const struct segment *segment)
{
	return params->transport == TRANSPORT_QUIC ? quic_bytes(segment) : tcp_bytes(segment);
}
