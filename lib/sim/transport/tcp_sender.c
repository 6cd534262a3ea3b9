/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * A TCP sender: its start, the segments that it sends, and expired timers.
 */
#include "transport/tcp_parts.h"

void tcp_sender_init(struct tcp_sender *t, enum transport transport, uint64_t clock_ns)
{
	*t = (struct tcp_sender){
		.rack = {.reordering = 3, .steps = 1},
		.rto_us = RTO_INIT_US,
		.timer_ns = CONN_NEVER,
		.pace_ns = CONN_NEVER,
		.clock_ns = clock_ns,
		.ecn = {.ect = transport == TRANSPORT_DCTCP ? ECT_1 : NOT_ECT, .alpha = 1},
		.bbr.on = transport == TRANSPORT_BBR,
		.serial = 1, /* 0 in struct rack precedes all sendings */
	};
	window_init(&t->window, transport == TRANSPORT_CUBIC ? &cubic : &newreno);
}

void tcp_sender_open(struct tcp_sender *t, unsigned tries, uint32_t rtt_us)
{
	if (tries > 2) /* more than one SYN had to be sent again */
		t->window.cwnd = 1;
	if (t->bbr.on)
		bbr_open(t, rtt_us);
	if (rtt_us == 0)
		return;
	rtt_sample_least(&t->rtt, rtt_us);
	rtt_sample(&t->rtt, rtt_us, 0, 0);
	t->rto_us = rtt_timeout(&t->rtt);
}

/* Makes a separate span of a segment that is sent again now; returns false if there is no room. */
static bool tcp_retransmit_span(
	struct tcp_sender *t, struct stream *stream, uint32_t seg, uint64_t now_ns, uint32_t marks)
{
	unsigned first, last;

	if (!board_cut(&t->board, seg, seg + 1, &first, &last))
		return false;
	t->board.spans[first].marks |= marks | SEG_REPEATED;
	t->board.spans[first].serial = t->serial++;
	t->board.spans[first].sent_us = tcp_us(now_ns);
	board_settle(&t->board);
	stream->stats.resent++;
	t->sent_ns = now_ns;
	return true;
}

/* Returns the first lost segment that is not in flight again, or `next`. */
static uint32_t first_lost(const struct board *board)
{
	for (unsigned i = 0; board->lost && i < board->n; i++) {
		uint32_t marks = board->spans[i].marks;

		if ((marks & (SEG_LOST | SEG_RESENT)) == SEG_LOST)
			return board_start(board, i);
	}
	return board->next;
}

static bool tcp_resend_lost(
	struct tcp_sender *t, struct stream *stream, uint64_t now_ns, struct segment *out)
{
	uint32_t seg = first_lost(&t->board);

	if (seg == t->board.next || !tcp_retransmit_span(t, stream, seg, now_ns, SEG_RESENT))
		return false;
	t->undo.resent = t->undo.resent < 0 ? 1 : t->undo.resent + 1;
	if (t->undo.first_ns == 0)
		t->undo.first_ns = now_ns;
	t->prr_out += tcp_reduces(t);
	if (seg == t->board.una && t->timer != TCP_TIMER_REORDER)
		tcp_timer_start(t, TCP_TIMER_RTO, now_ns, t->rto_us);
	stream_segment(stream, seg, now_ns, out);
	return true;
}

static bool tcp_send_new(
	struct tcp_sender *t, struct stream *stream, uint64_t now_ns, struct segment *out)
{
	uint32_t seg = t->board.next;
	bool idle = board_out(&t->board) == 0;
	uint64_t quiet_us = (now_ns - t->sent_ns) / 1000;

	if (!stream_has(stream, t->board.una, seg) ||
		!board_append(&t->board, t->serial, tcp_us(now_ns)))
		return false;
	t->serial++;
	if (idle && t->sent_ns && quiet_us > t->rto_us)
		window_restart(&t->window, quiet_us, t->rto_us);
	t->sent_ns = now_ns;
	t->fresh = true;
	t->prr_out += tcp_reduces(t);
	if (idle || t->timer == TCP_TIMER_PROBE)
		tcp_timer_rto(t, now_ns);
	stream_segment(stream, seg, now_ns, out);
	out->ecn = t->ecn.ect;
	return true;
}

/* Sends one segment regardless of the window: a new one, otherwise the last one again. */
static bool send_probe(
	struct tcp_sender *t, struct stream *stream, uint64_t now_ns, struct segment *out)
{
	uint32_t seg = t->board.next - 1;

	t->probe.due = false;
	t->probe.resent = !tcp_send_new(t, stream, now_ns, out);
	if (t->probe.resent) {
		if (!tcp_retransmit_span(t, stream, seg, now_ns, 0))
			return false;
		stream_segment(stream, seg, now_ns, out);
	}
	t->probe.out = true;
	t->probe.high = t->board.next;
	tcp_timer_start(t, TCP_TIMER_RTO, now_ns, t->rto_us);
	return true;
}

/* Sends if the window has room: lost data first, unless F-RTO needs new data. */
static bool send_next(
	struct tcp_sender *t, struct stream *stream, uint64_t now_ns, struct segment *out)
{
	if (tcp_in_flight(t) >= t->window.cwnd)
		return false;
	if (!t->new_first && tcp_resend_lost(t, stream, now_ns, out))
		return true;
	if (tcp_send_new(t, stream, now_ns, out)) {
		tcp_timer_probe(t, now_ns, false);
		return true;
	}
	if (!t->new_first || t->board.next > t->high)
		return false;
	t->new_first = t->frto = false; /* there is no new data for F-RTO */
	return tcp_resend_lost(t, stream, now_ns, out);
}

bool tcp_sender_send(
	struct tcp_sender *t, struct stream *stream, uint64_t now_ns, struct segment *out)
{
	bool paced = t->bbr.on && now_ns < t->bbr.next_ns;
	bool room = tcp_in_flight(t) < t->window.cwnd;

	if ((t->probe.due && send_probe(t, stream, now_ns, out)) ||
		(!paced && send_next(t, stream, now_ns, out))) {
		if (t->bbr.on)
			bbr_sent(t, now_ns, out);
		return true;
	}
	t->pace_ns = paced && room ? t->bbr.next_ns : CONN_NEVER;
	if (t->fresh || tcp_in_flight(t) >= t->window.cwnd)
		window_used(&t->window, tcp_in_flight(t), t->board.una, t->board.next);
	t->fresh = false;
	return false;
}

void tcp_sender_expire(struct tcp_sender *t, struct stream *stream, uint64_t now_ns)
{
	enum tcp_timer timer = (enum tcp_timer)t->timer;

	if (now_ns < t->timer_ns)
		return;
	if (board_out(&t->board) == 0) {
		tcp_timer_stop(t);
		return;
	}
	if (timer == TCP_TIMER_RTO) {
		stream->stats.timeouts++;
		tcp_enter_loss(t, now_ns);
		t->rto_us = t->rto_us < RTO_MAX_US / 2 ? 2 * t->rto_us : RTO_MAX_US;
		tcp_timer_start(t, TCP_TIMER_RTO, now_ns, t->rto_us);
	} else if (timer == TCP_TIMER_PROBE && t->probe.out) {
		tcp_timer_rto(t, now_ns);
	} else if (timer == TCP_TIMER_PROBE) {
		t->probe.due = true;
		tcp_timer_start(t, TCP_TIMER_RTO, now_ns, t->rto_us);
	} else if (timer == TCP_TIMER_REORDER) {
		struct news news = {.delivered = 1};

		rack_detect(t, &news, tcp_us(now_ns));
		if (news.lost && t->state != TCP_RECOVERY) {
			tcp_enter_recovery(t, stream, now_ns);
			news.lost = 0;
			tcp_adjust_window(t, &news, now_ns);
		}
		tcp_timer_rto(t, now_ns);
	}
}
