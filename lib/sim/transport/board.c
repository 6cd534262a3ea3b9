/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * A sender's scoreboard: the segments that it has sent, and their state.
 */
#include "transport/board.h"

#define NO_SERIAL (UINT32_C(1) << 31)
#define SPARE     4 /* spans that sending leaves free for acknowledgements */

static uint32_t board_span_length(const struct board *board, unsigned i)
{
	return board->spans[i].end - board_start(board, i);
}

static bool in_a_row(const struct board *board, unsigned i)
{
	return board->spans[i].serial + board_span_length(board, i) == board->spans[i + 1].serial;
}

/* Returns true if span i and the next differ only in their position. */
static bool spans_alike(const struct board *board, unsigned i)
{
	const struct span *a = &board->spans[i], *b = a + 1;

	return a->marks == b->marks &&
	       ((a->marks & SEG_SACKED) || (a->sent_us == b->sent_us && in_a_row(board, i)));
}

static void remove_spans(struct board *board, unsigned first, unsigned count)
{
	for (unsigned i = first; i + count < board->n; i++)
		board->spans[i] = board->spans[i + count];
	board->n -= count;
}

/* Joins span i and the next. The result has the time and the last serial of the later one. */
static void join_spans(struct board *board, unsigned i)
{
	struct span *a = &board->spans[i], *b = a + 1;

	if (!in_a_row(board, i)) {
		uint32_t last_a = a->serial + board_span_length(board, i) - 1;
		uint32_t last_b = b->serial + board_span_length(board, i + 1) - 1;
		uint32_t last = (int32_t)(last_a - last_b) > 0 ? last_a : last_b;

		a->serial = last - (b->end - board_start(board, i)) + 1;
	}
	if ((int32_t)(b->sent_us - a->sent_us) > 0)
		a->sent_us = b->sent_us;
	a->end = b->end;
	remove_spans(board, i + 1, 1);
}

/* Joins the two neighbours whose times of sending differ least. */
static bool squeeze_board(struct board *board)
{
	uint32_t least = UINT32_MAX;
	unsigned best = 0;

	for (unsigned i = 0; i + 1 < board->n; i++) {
		const struct span *a = &board->spans[i], *b = a + 1;
		int32_t apart = (int32_t)(b->sent_us - a->sent_us);
		uint32_t blur = apart < 0 ? -(uint32_t)apart : (uint32_t)apart;

		if (a->marks != b->marks || (board->exact && !in_a_row(board, i)))
			continue;
		if (blur < least) {
			least = blur;
			best = i;
		}
	}
	if (least == UINT32_MAX)
		return false;
	join_spans(board, best);
	return true;
}

static unsigned find_span(const struct board *board, uint32_t at)
{
	unsigned i = 0;

	while (board->spans[i].end <= at)
		i++;
	return i;
}

static bool is_edge(const struct board *board, uint32_t at)
{
	return at == board->next || board_start(board, find_span(board, at)) == at;
}

/* Cuts a span. Requires a free span. */
static void cut_at(struct board *board, uint32_t at)
{
	struct span *span;
	unsigned i;

	if (is_edge(board, at))
		return;
	i = find_span(board, at);
	for (unsigned k = board->n; k > i; k--)
		board->spans[k] = board->spans[k - 1];
	board->n++;
	span = &board->spans[i];
	span[1].serial += at - board_start(board, i);
	span[0].end = at;
}

uint32_t board_highest_sacked(const struct board *board)
{
	for (unsigned i = board->n; i > 0; i--)
		if (board->spans[i - 1].marks & SEG_SACKED)
			return board->spans[i - 1].end;
	return board->una;
}

bool board_append(struct board *board, uint32_t serial, uint32_t now_us)
{
	struct span *last = &board->spans[board->n];

	if (board->n && last[-1].marks == 0 && last[-1].sent_us == now_us &&
		last[-1].serial + board_span_length(board, board->n - 1) == serial) {
		last[-1].end = ++board->next;
		return true;
	}
	if (board->n >= BOARD_SPANS - SPARE && !squeeze_board(board))
		return false;
	board->next++;
	board->spans[board->n++] = (struct span){
		.end = board->next,
		.serial = serial,
		.sent_us = now_us,
	};
	return true;
}

bool board_cut(struct board *board, uint32_t from, uint32_t to, unsigned *first, unsigned *last)
{
	while (board->n + !is_edge(board, from) + !is_edge(board, to) > BOARD_SPANS)
		if (!squeeze_board(board))
			return false;
	cut_at(board, from);
	cut_at(board, to);
	*first = find_span(board, from);
	*last = find_span(board, to - 1) + 1;
	return true;
}

void board_settle(struct board *board)
{
	unsigned n = 0;

	board->sacked = board->lost = board->resent = 0;
	for (unsigned i = 0; i < board->n; i++) {
		uint32_t count = board_span_length(board, i), marks = board->spans[i].marks;

		board->sacked += marks & SEG_SACKED ? count : 0;
		board->lost += marks & SEG_LOST ? count : 0;
		board->resent += marks & SEG_RESENT ? count : 0;
	}
	for (unsigned i = 0; i < board->n; i++) {
		struct span *here = &board->spans[n];

		*here = board->spans[i];
		while (i + 1 < board->n) {
			here[1] = board->spans[i + 1];
			if (!spans_alike(board, n))
				break;
			here->end = here[1].end;
			i++;
		}
		n++;
	}
	board->n = n;
}

void board_advance(struct board *board, uint32_t una)
{
	unsigned gone = 0;

	while (gone < board->n && board->spans[gone].end <= una)
		gone++;
	if (gone < board->n)
		board->spans[gone].serial += una > board_start(board, gone)
						     ? una - board_start(board, gone)
						     : 0;
	remove_spans(board, 0, gone);
	board->una = una;
	board_settle(board);
}

void board_forget(struct board *board, uint32_t marks)
{
	if (board->n == 0)
		return;
	/* No sending had this serial, so a late acknowledgement of an old one cannot match it. */
	board->spans[0] = (struct span){.end = board->next, .serial = NO_SERIAL, .marks = marks};
	board->n = 1;
	board_settle(board);
}

/* --- ranges ----------------------------------------------------------------------------------- */

static void remove_ranges(struct ranges *ranges, unsigned first, unsigned count)
{
	for (unsigned i = first; i + count < ranges->n; i++)
		ranges->at[i] = ranges->at[i + count];
	ranges->n -= count;
}

/* Raises base; no range may be below the new one. */
static void ranges_rebase(struct ranges *ranges, uint32_t up)
{
	ranges->base += up;
	for (unsigned i = 0; i < ranges->n; i++) {
		ranges->at[i].from -= up;
		ranges->at[i].to -= up;
	}
}

void ranges_skip_hole(struct ranges *ranges)
{
	uint32_t up;

	if (ranges->n == 0)
		return;
	up = ranges->at[0].to;
	remove_ranges(ranges, 0, 1);
	ranges_rebase(ranges, up);
}

/* Adds [from, to), relative to base and not adjacent to it. */
static enum ranges_verdict add_above(struct ranges *ranges, uint32_t from, uint32_t to)
{
	unsigned i = 0, last;

	while (i < ranges->n && ranges->at[i].to < from)
		i++;
	if (i == ranges->n || to < ranges->at[i].from) { /* touches no other range */
		if (ranges->n == RANGES_MAX)
			return RANGES_FULL;
		for (unsigned k = ranges->n; k > i; k--)
			ranges->at[k] = ranges->at[k - 1];
		ranges->n++;
		ranges->at[i].from = from;
		ranges->at[i].to = to;
		return RANGES_NEW;
	}
	if (ranges->at[i].from <= from && to <= ranges->at[i].to)
		return RANGES_HAD;
	if (from < ranges->at[i].from)
		ranges->at[i].from = from;
	for (last = i; last + 1 < ranges->n && ranges->at[last + 1].from <= to;)
		last++;
	ranges->at[i].to = to > ranges->at[last].to ? to : ranges->at[last].to;
	remove_ranges(ranges, i + 1, last - i);
	return RANGES_NEW;
}

enum ranges_verdict ranges_add(struct ranges *ranges, uint64_t from, uint64_t to)
{
	uint32_t up;

	if (to <= ranges->base)
		return RANGES_HAD;
	if (from > ranges->base)
		return add_above(
			ranges, (uint32_t)(from - ranges->base), (uint32_t)(to - ranges->base));
	up = (uint32_t)(to - ranges->base);
	while (ranges->n && ranges->at[0].from <= up) {
		up = up > ranges->at[0].to ? up : ranges->at[0].to;
		remove_ranges(ranges, 0, 1);
	}
	ranges_rebase(ranges, up);
	return RANGES_NEW;
}
