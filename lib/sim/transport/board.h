/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * A sender's scoreboard: the segments that it has sent, and their state. Segments are numbered from
 * 0. Segments from `una` on are stored as spans: neighbours with the same marks that were sent
 * together.
 *
 * The size is constant. When spans run out, neighbours with the same marks share the later time of
 * sending. If that is not enough, the board ignores new information. So it never marks an
 * undelivered segment as delivered, and at worst the sender repeats a segment.
 */
#ifndef WEIR_SIM_BOARD_H
#define WEIR_SIM_BOARD_H

#include <stdbool.h>
#include <stdint.h>

#include "transport/conn.h"

#define BOARD_SPANS 52

enum {
	SEG_SACKED = 1,   /* delivered, above una */
	SEG_LOST = 2,     /* the last sending (for TCP, the first) is considered lost */
	SEG_RESENT = 4,   /* a copy is in flight (TCP) */
	SEG_REPEATED = 8, /* sent more than once (TCP) */
};

struct span {
	uint32_t end;     /* one past its last segment; it starts at the end of the previous span */
	uint32_t serial;  /* number of the sending of its first segment; it counts up from there */
	uint32_t sent_us; /* time of sending, µs modulo 2^32 */
	uint32_t marks;   /* SEG_* */
};

struct board {
	uint32_t una, next;            /* first segment not acknowledged, first not sent */
	uint32_t sacked, lost, resent; /* segments with these marks */
	uint16_t n;
	bool exact; /* serials must stay exact (QUIC): joins only spans sent in a row */
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

/* Returns the segment after the last SACKed one; una if there is none. */
uint32_t board_highest_sacked(const struct board *board);

/*
 * Adds one more segment, sent now. Returns false if there is no room: nothing can be sent until an
 * acknowledgement arrives.
 */
bool board_append(struct board *board, uint32_t serial, uint32_t now_us);

/*
 * Cuts spans so that segments [from, to), not empty and within [una, next), are the whole spans
 * [*first, *last). Returns false if there is no room for the cuts. The caller can change their
 * marks, serials and times, and then calls board_settle().
 */
bool board_cut(struct board *board, uint32_t from, uint32_t to, unsigned *first, unsigned *last);

/* Joins spans where possible and counts the marks again. Indices of spans change. */
void board_settle(struct board *board);

/* Records that everything below una is acknowledged. */
void board_advance(struct board *board, uint32_t una);

/* Sets these marks on all segments in flight, and drops all other information. */
void board_forget(struct board *board, uint32_t marks);

/* --- ranges ----------------------------------------------------------------------------------- */

/*
 * Received parts of a sequence: everything below `base`, and ranges above it, ascending and
 * separate. The size is constant: a further range is rejected.
 */

#define RANGES_MAX 24

enum ranges_verdict { RANGES_NEW, RANGES_HAD, RANGES_FULL };

struct ranges {
	uint64_t base;
	uint32_t n;
	struct {
		uint32_t from, to; /* relative to base */
	} at[RANGES_MAX];
};

/*
 * Adds [from, to), which is not empty and within 2^32 of base. Returns RANGES_HAD if all of it was
 * present.
 */
enum ranges_verdict ranges_add(struct ranges *ranges, uint64_t from, uint64_t to);

/* Returns range i as absolute numbers. */
static inline struct range ranges_get(const struct ranges *ranges, unsigned i)
{
	return (struct range){
		ranges->base + ranges->at[i].from,
		ranges->base + ranges->at[i].to,
	};
}

/* Raises base to at least the end of range 0, as if all data below it had arrived. */
void ranges_skip_hole(struct ranges *ranges);

#endif
