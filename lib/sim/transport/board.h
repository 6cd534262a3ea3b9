/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * A sender's scoreboard: what it has sent and what is known of it. Segments are numbered from 0;
 * those from `una` on are kept as spans of neighbours with the same marks that were sent together.
 * Of constant size: when spans run out, neighbours with the same marks share the later one's time
 * of sending, and when that does not help the news is not taken; so nothing is ever believed
 * delivered that was not, and at worst something is sent again.
 */
#ifndef WEIR_SIM_BOARD_H
#define WEIR_SIM_BOARD_H

#include <stdbool.h>
#include <stdint.h>

#define BOARD_SPANS 52

enum {
	SEG_SACKED = 1,   /* delivered, above una */
	SEG_LOST = 2,     /* its last sending, or for TCP the first, is thought lost */
	SEG_RESENT = 4,   /* a copy is under way (TCP) */
	SEG_REPEATED = 8, /* was sent more than once (TCP) */
};

struct span {
	uint32_t end;     /* one past its last segment; it starts where the one before it ends */
	uint32_t serial;  /* its first segment was the connection's serial'th sending, and so on */
	uint32_t sent_us; /* when, in µs modulo 2^32 */
	uint32_t marks;   /* SEG_* */
};

struct board {
	uint32_t una, next;            /* first segment not acknowledged, first not sent */
	uint32_t sacked, lost, resent; /* segments with these marks */
	uint16_t n;
	bool exact; /* serials must stay right (QUIC): only what was sent in a row is joined */
	struct span spans[BOARD_SPANS];
};

static inline uint32_t board_start(const struct board *board, unsigned i)
{
	return i ? board->spans[i - 1].end : board->una;
}

static inline uint32_t board_out(const struct board *board)
{
	return board->next - board->una;
}

/* The segment after the last one that was SACKed; una when none is. */
uint32_t board_highest_sacked(const struct board *board);

/* One more segment, sent now. False when there is no room: nothing may be sent until news comes. */
bool board_append(struct board *board, uint32_t serial, uint32_t now_us);

/*
 * Cuts spans so that segments [from, to), not empty and within [una, next), are the whole spans
 * [*first, *last). False when there is no room for the cuts. The caller may change their marks,
 * serials and times, and then calls board_settle().
 */
bool board_cut(struct board *board, uint32_t from, uint32_t to, unsigned *first, unsigned *last);

/* Joins what can be joined and counts the marks again. Indices of spans change. */
void board_settle(struct board *board);

/* Everything below una is acknowledged. */
void board_advance(struct board *board, uint32_t una);

/* Everything out has these marks and nothing else is known of it. */
void board_forget(struct board *board, uint32_t marks);

#endif
