/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Loss detection by time (RFC 8985). When a segment is delivered, all segments sent before it
 * should have arrived. They are lost after a short wait, which allows for reordering on the path.
 * Until the path is seen to reorder, there is no wait during a recovery, or after three segments
 * above were delivered, as in RFC 6675.
 */
#include "transport/tcp_parts.h"

#define REORDERING_MAX 300
#define STEPS_MAX      255
#define KEEP           16 /* recoveries */

static bool serial_later(uint32_t a, uint32_t b)
{
	return (int32_t)(a - b) > 0;
}

void rack_delivered(struct tcp_sender *t, const struct span *span, uint32_t serial, uint32_t now_us)
{
	uint32_t rtt_us = now_us - span->sent_us;

	/* Faster than possible: this acknowledges an earlier sending. */
	if ((span->marks & (SEG_RESENT | SEG_REPEATED)) && rtt_us < t->rtt.least)
		return;
	t->rack.advanced = true;
	t->rack.rtt_us = rtt_us;
	if (serial_later(serial, t->rack.serial))
		t->rack.serial = serial;
}

void rack_reordered(struct tcp_sender *t, uint32_t by)
{
	t->rack.reordered = true;
	by = by < REORDERING_MAX ? by : REORDERING_MAX;
	if (by > t->rack.reordering)
		t->rack.reordering = by;
}

void rack_adapt(struct tcp_sender *t)
{
	struct rack *rack = &t->rack;

	if (rack->repeated && t->board.una >= rack->settled) {
		rack->steps += rack->steps < STEPS_MAX;
		rack->settled = t->board.next;
		rack->keep = KEEP;
	} else if (!rack->repeated && !rack->keep) {
		rack->steps = 1;
	}
	rack->repeated = false;
}

/* Returns the extra time that a segment can be late, µs. */
static uint32_t reorder_grace(const struct tcp_sender *t)
{
	uint32_t us = t->rtt.least / 4 * t->rack.steps;

	if (!t->rack.reordered &&
		(t->state >= TCP_RECOVERY || t->board.sacked >= t->rack.reordering))
		return 0;
	return us < rtt_smoothed(&t->rtt) ? us : rtt_smoothed(&t->rtt);
}

static uint32_t rack_span_length(const struct board *board, unsigned i)
{
	return board->spans[i].end - board_start(board, i);
}

static void mark_lost(struct board *board, unsigned i, struct news *news)
{
	struct span *span = &board->spans[i];

	if (span->marks & SEG_SACKED)
		return;
	if (!(span->marks & SEG_LOST)) {
		span->marks |= SEG_LOST;
		news->lost += rack_span_length(board, i);
	} else if (span->marks & SEG_RESENT) {
		span->marks &= ~(uint32_t)SEG_RESENT;
		news->lost += rack_span_length(board, i);
		news->lost_again = true;
	}
}

uint32_t rack_detect(struct tcp_sender *t, struct news *news, uint32_t now_us)
{
	uint32_t after_us = t->rack.rtt_us + reorder_grace(t), most = 0;

	for (unsigned i = 0; i < t->board.n; i++) {
		const struct span *span = &t->board.spans[i];
		uint32_t elapsed = now_us - span->sent_us;
		const bool decided = (span->marks & SEG_SACKED) ||
				     (span->marks & (SEG_LOST | SEG_RESENT)) == SEG_LOST;

		/* Looks at those that were sent before the latest delivered segment. */
		if (decided || !serial_later(t->rack.serial,
				       span->serial + rack_span_length(&t->board, i) - 1))
			continue;
		if (elapsed >= after_us)
			mark_lost(&t->board, i, news);
		else if (after_us - elapsed > most)
			most = after_us - elapsed;
	}
	board_settle(&t->board);
	return most;
}

void rack_timeout(struct tcp_sender *t, uint32_t now_us)
{
	struct board *board = &t->board;
	struct news news = {0};
	unsigned first, last;

	/*
	 * The receiver has dropped SACKed data, or there is no room to mark single segments: all
	 * are lost.
	 */
	if ((board->spans[0].marks & SEG_SACKED) ||
		!board_cut(board, board->una, board->una + 1, &first, &last)) {
		board_forget(board, SEG_LOST | SEG_REPEATED);
		return;
	}
	for (unsigned i = 0; i < board->n; i++)
		if (i == 0 || now_us - board->spans[i].sent_us >= t->rack.rtt_us)
			mark_lost(board, i, &news);
	board_settle(board);
}
