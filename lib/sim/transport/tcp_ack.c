/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * A TCP sender receives an acknowledgement.
 */
#include "transport/tcp_parts.h"

/*
 * Round trip times in an acknowledgement: for the first and the last segment that it delivers, by
 * una and by SACK.
 */
struct times {
	uint32_t una_first_us, una_last_us, sack_first_us, sack_last_us;
	bool una, sack, ambiguous; /* ambiguous: una passed retransmitted segments */
};

struct ack_reading {
	struct news news;
	struct times times;
	uint32_t ack;     /* new una */
	uint32_t highest; /* one past the highest segment SACKed before */
	uint32_t lowest;  /* lowest segment below it that was sent once and is delivered now */
	uint32_t now_us;
};

/* Reads the delivery of segments, up to `to` in span i, that were sent once. */
static void read_original(struct tcp_sender *t, struct ack_reading *r, unsigned i, uint32_t to)
{
	uint32_t from = board_start(&t->board, i);

	if (from < r->highest && from < r->lowest)
		r->lowest = from;
	if (to <= t->high)
		r->news.original = true;
}

static void read_sacked_span(struct tcp_sender *t, struct ack_reading *r, unsigned i)
{
	struct span *span = &t->board.spans[i];
	uint32_t count = span->end - board_start(&t->board, i);
	uint32_t rtt_us = r->now_us - span->sent_us;

	rack_delivered(t, span, span->serial + count - 1, r->now_us);
	if (!(span->marks & (SEG_RESENT | SEG_REPEATED))) {
		read_original(t, r, i, span->end);
		if (!r->times.sack)
			r->times.sack_first_us = rtt_us;
		r->times.sack_last_us = rtt_us;
		r->times.sack = true;
	}
	*span = (struct span){.end = span->end, .marks = SEG_SACKED};
	r->news.delivered += count;
	r->news.sacked = true;
}

static void read_sack_block(struct tcp_sender *t, struct ack_reading *r, uint32_t from, uint32_t to)
{
	unsigned first, last;

	from = from > t->board.una ? from : t->board.una;
	to = to < t->board.next ? to : t->board.next;
	if (from >= to || !board_cut(&t->board, from, to, &first, &last))
		return;
	for (unsigned i = first; i < last; i++)
		if (!(t->board.spans[i].marks & SEG_SACKED))
			read_sacked_span(t, r, i);
	board_settle(&t->board);
}

/* Returns true if the first block reports data that was received twice (RFC 2883). */
static bool is_twice(const struct segment *in)
{
	return in->n_sacks > 0 && in->sack[0].from < in->sack[0].to &&
	       (in->sack[0].to <= in->ack ||
		       (in->n_sacks > 1 && in->sack[1].from <= in->sack[0].from &&
			       in->sack[0].to <= in->sack[1].to));
}

static void read_sacks(struct tcp_sender *t, struct stream *stream, struct ack_reading *r,
	const struct segment *in)
{
	unsigned i = 0;

	if (is_twice(in)) {
		uint32_t to = stream_above(stream, in->sack[0].to);

		r->news.twice = true;
		r->news.probe_twice = t->probe.out && to == t->probe.high;
		t->rack.repeated = !r->news.probe_twice;
		if (t->undo.armed && t->undo.resent > 0 && to > t->undo.from && to <= t->board.una)
			t->undo.resent--;
		i = 1;
	}
	for (; i < in->n_sacks && i < CONN_SACKS; i++) {
		uint32_t from = stream_above(stream, in->sack[i].from);
		uint32_t to = stream_below(stream, in->sack[i].to);

		read_sack_block(t, r, from, to);
	}
}

/* Reads the acknowledgement of span i up to `to`. */
static void read_acked_span(struct tcp_sender *t, struct ack_reading *r, unsigned i, uint32_t to)
{
	const struct span *span = &t->board.spans[i];
	uint32_t count = to - board_start(&t->board, i);
	uint32_t rtt_us = r->now_us - span->sent_us;

	if (span->marks & SEG_SACKED)
		return;
	r->news.delivered += count;
	if (span->marks & (SEG_RESENT | SEG_REPEATED)) {
		r->times.ambiguous = true;
		/* This acknowledges an earlier sending than the latest. Its time is not stored. */
		if ((int32_t)(tcp_us(r->news.echo_ns) - span->sent_us) < 0)
			return;
	} else {
		read_original(t, r, i, to);
		if (!r->times.una)
			r->times.una_first_us = rtt_us;
		r->times.una_last_us = rtt_us;
		r->times.una = true;
	}
	rack_delivered(t, span, span->serial + count - 1, r->now_us);
}

static void read_ack(struct tcp_sender *t, struct ack_reading *r)
{
	struct board *board = &t->board;

	if (r->ack == board->una)
		return;
	for (unsigned i = 0; i < board->n && board_start(board, i) < r->ack; i++) {
		uint32_t end = board->spans[i].end;

		read_acked_span(t, r, i, end < r->ack ? end : r->ack);
	}
	board_advance(board, r->ack);
	r->news.advanced = r->news.rearm = true;
	t->timed_out = false;
}

/* Takes the best available measurement: segments, otherwise timestamps. */
static void ack_rtt_sample(struct tcp_sender *t, struct ack_reading *r, uint64_t now_ns)
{
	const struct times *times = &r->times;
	uint32_t us, last_us;

	if (times->una && !times->ambiguous) {
		us = times->una_first_us;
		last_us = times->una_last_us;
	} else if (times->sack) {
		us = times->sack_first_us;
		last_us = times->sack_last_us;
	} else if (r->news.advanced && r->news.echo_ns && r->news.echo_ns <= now_ns) {
		us = last_us = (uint32_t)((now_ns - r->news.echo_ns) / 1000);
	} else {
		return;
	}
	rtt_sample_least(&t->rtt, last_us);
	rtt_sample(&t->rtt, us, t->board.una, t->board.next);
	t->rto_us = rtt_timeout(&t->rtt);
}

static void check_reordering(struct tcp_sender *t, const struct ack_reading *r)
{
	uint32_t highest = board_highest_sacked(&t->board);

	if (r->highest > highest)
		highest = r->highest;
	if (r->lowest < r->highest)
		rack_reordered(t, highest - r->lowest);
}

/* Evaluates the outcome of the loss probe. */
static void check_probe(struct tcp_sender *t, struct ack_reading *r, uint64_t now_ns)
{
	const struct news *news = &r->news;

	if (!t->probe.out || r->ack < t->probe.high)
		return;
	if (!t->probe.resent || news->probe_twice) {
		t->probe.out = false;
	} else if (r->ack > t->probe.high) {
		t->probe.out = false;
		tcp_probe_repaired(t, now_ns);
	} else if (!news->advanced && !news->sacked) {
		t->probe.out = false; /* the probe and the data that it repeats both arrived */
	}
}

void tcp_sender_receive(
	struct tcp_sender *t, struct stream *stream, uint64_t now_ns, const struct segment *in)
{
	struct ack_reading r = {
		.news.echo_ns = in->echo_ns,
		.ack = stream_below(stream, in->ack),
		.highest = board_highest_sacked(&t->board),
		.lowest = UINT32_MAX,
		.now_us = tcp_us(now_ns),
	};
	struct news *news = &r.news;

	if (!in->is_ack || r.ack < t->board.una || r.ack > t->board.next)
		return;
	t->new_first = false;
	read_sacks(t, stream, &r, in);
	read_ack(t, &r);
	rack_adapt(t);
	check_reordering(t, &r);
	ack_rtt_sample(t, &r, now_ns);
	/* SACKed data restarts the timer only if it was sent before the first segment (Linux). */
	news->rearm |= r.times.sack && t->board.n &&
		       r.times.sack_first_us > r.now_us - t->board.spans[0].sent_us;
	check_probe(t, &r, now_ns);
	if (!news->advanced || news->sacked || news->twice || t->state != TCP_OPEN)
		tcp_react(t, stream, news, now_ns);
	if (news->rearm && !tcp_timer_probe(t, now_ns, true))
		tcp_timer_rto(t, now_ns);
	if (t->ecn.ect)
		tcp_read_marks(t, news, in->marks, now_ns);
	tcp_adjust_window(t, news, now_ns);
	if (t->bbr.on)
		bbr_acked(t, news, &in->stamp, now_ns);
}
