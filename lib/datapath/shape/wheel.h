/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The timing wheel of a shaper: queues by the tick of their first packet's next event. It has one
 * level of FIFO slots. A queue that is due beyond the horizon (some 50 ms) is in the last slot and
 * is filed again when that slot is opened.
 *
 * A slot's queues are not linked to each other. They are listed in cache lines of seven. So filing
 * or taking a queue touches no other queue. And a reader can prefetch many queues at a time; with
 * links it would wait for one after the other.
 *
 * Private to this folder.
 */
#ifndef WEIR_SHAPE_WHEEL_H
#define WEIR_SHAPE_WHEEL_H

#include <stdbool.h>
#include <stdint.h>

#include "shape/shape.h"

/*
 * The slots of a timing wheel that are not empty: a bitmap of three levels, so that the next one is
 * found in a few steps, however far it is. And comparisons of ticks, which wrap as slots do.
 *
 * Private to this folder.
 */

#define SLOTS_MOST      (1u << 17) /* most slots of a wheel */
#define OCCUPANCY_WORDS (SLOTS_MOST / 64)
#define SLOTS_NONE      SLOTS_MOST

#define TICK_FAR (UINT64_C(1) << 62) /* ticks: never */

struct occupancy {
	uint64_t top; /* bits of words of `middle` that are not 0 */
	uint64_t middle[OCCUPANCY_WORDS / 64];
	uint64_t low[OCCUPANCY_WORDS];
};

/* Compares ticks of a counter that wraps: by the sign of their distance. */
static inline bool tick_after(uint64_t a, uint64_t b)
{
	return (int64_t)(a - b) > 0;
}

static inline uint64_t tick_later(uint64_t a, uint64_t b)
{
	return tick_after(a, b) ? a : b;
}

static inline uint64_t tick_earlier(uint64_t a, uint64_t b)
{
	return tick_after(a, b) ? b : a;
}

static inline void occupancy_mark(struct occupancy *slots, unsigned slot)
{
	slots->low[slot / 64] |= UINT64_C(1) << slot % 64;
	slots->middle[slot / 4096] |= UINT64_C(1) << slot / 64 % 64;
	slots->top |= UINT64_C(1) << slot / 4096;
}

static inline void occupancy_unmark(struct occupancy *slots, unsigned slot)
{
	if (slots->low[slot / 64] &= ~(UINT64_C(1) << slot % 64))
		return;
	if (slots->middle[slot / 4096] &= ~(UINT64_C(1) << slot / 64 % 64))
		return;
	slots->top &= ~(UINT64_C(1) << slot / 4096);
}

/* The first slot from `from` on, around the wheel, that is not empty; or SLOTS_NONE. */
static inline unsigned occupancy_first(const struct occupancy *slots, unsigned from)
{
	uint64_t word = slots->low[from / 64] & UINT64_MAX << from % 64, middle, top;
	unsigned at = from / 64;

	if (word)
		return at * 64 + (unsigned)__builtin_ctzll(word);
	middle = slots->middle[at / 64] & UINT64_MAX << 1 << at % 64;
	if (!middle) {
		if (!slots->top)
			return SLOTS_NONE;
		top = slots->top & UINT64_MAX << 1 << at / 64;
		at = (unsigned)__builtin_ctzll(top ? top : slots->top) * 64;
		middle = slots->middle[at / 64];
	}
	at = at / 64 * 64 + (unsigned)__builtin_ctzll(middle);
	return at * 64 + (unsigned)__builtin_ctzll(slots->low[at]);
}

#define WHEEL_SLOTS SLOTS_MOST

/*
 * A slot is about a second divided by 2^this. Each call checks all queues of the slot at the base
 * that are not due yet, so slots are as short as the horizon allows.
 */
#define WHEEL_PARTS 21

#define WHEEL_LINE 7

/*
 * Queues of a slot: queues[from] to queues[to - 1]. `next` is the next line of the slot, in a ring.
 * In a free line it is the next free one.
 */
struct wheel_line {
	struct shape_queue *queues[WHEEL_LINE];
	uint32_t next;
	uint8_t from, to;
} __attribute__((aligned(64)));

struct wheel {
	uint64_t base;               /* start of the first slot that can have queues */
	uint64_t soon;               /* tick before which there is nothing to do */
	struct occupancy full;       /* slots that have queues */
	unsigned shift;              /* log2 of a slot's ticks */
	uint32_t free;               /* free lines, last used first; 0: none */
	uint32_t used;               /* lines ever used; later ones are untouched */
	uint32_t slots[WHEEL_SLOTS]; /* last line of each; 0: slot is empty */
	struct wheel_line lines[];   /* lines[0] is not used */
};

/*
 * Returns the most lines that so many queues need. All lines of a slot except the first and last
 * are full. No line is empty, except one while its last queue is served and filed elsewhere.
 */
static inline size_t wheel_lines(uint32_t queues)
{
	size_t dense = queues / WHEEL_LINE + 2 * WHEEL_SLOTS;

	return 2 + (queues < dense ? queues : dense);
}

static inline uint64_t wheel_slot_start(const struct wheel *wheel, uint64_t tick)
{
	return tick >> wheel->shift << wheel->shift;
}

static inline unsigned wheel_slot(const struct wheel *wheel, uint64_t tick)
{
	return (unsigned)(tick >> wheel->shift) % WHEEL_SLOTS;
}

/* Returns the tick at which `slot`, which is not empty, begins. */
static inline uint64_t wheel_start(const struct wheel *wheel, unsigned slot)
{
	unsigned steps = (slot - wheel_slot(wheel, wheel->base)) % WHEEL_SLOTS;

	return wheel->base + ((uint64_t)steps << wheel->shift);
}

static inline void wheel_init(struct wheel *wheel, uint64_t hz, uint64_t now)
{
	wheel->shift = hz >> WHEEL_PARTS ? 63 - (unsigned)__builtin_clzll(hz >> WHEEL_PARTS) : 0;
	wheel->base = wheel_slot_start(wheel, now);
	wheel->soon = now + TICK_FAR;
}

/* Moves the base to the slot of `now` if nothing was due before: all earlier slots are empty. */
static inline void wheel_catch_up(struct wheel *wheel, uint64_t now)
{
	if (tick_after(wheel->soon, now))
		wheel->base = wheel_slot_start(wheel, now);
}

/*
 * Moves the base to the first slot that is not empty, and returns that slot. If it has not begun,
 * sets `soon` to its begin and returns SLOTS_NONE.
 */
static inline unsigned wheel_advance(struct wheel *wheel, uint64_t now)
{
	unsigned slot = occupancy_first(&wheel->full, wheel_slot(wheel, wheel->base));
	uint64_t start = slot == SLOTS_NONE ? now + TICK_FAR : wheel_start(wheel, slot);

	if (tick_after(start, now)) {
		wheel->soon = start;
		return SLOTS_NONE;
	}
	wheel->base = start;
	return slot;
}

/*
 * Updates `soon` after the slot at the base was opened and its waiting queues were filed. It is the
 * next slot's begin. rest: some queues of the slot were not served, so there is something to do
 * now.
 */
static inline void wheel_look_on(struct wheel *wheel, unsigned slot, bool rest)
{
	unsigned next = occupancy_first(&wheel->full, (slot + 1) % WHEEL_SLOTS);

	if (next != SLOTS_NONE && next != slot)
		wheel->soon = tick_earlier(wheel->soon, wheel_start(wheel, next));
	if (rest)
		wheel->soon = wheel->base;
}

static inline uint32_t wheel_line_new(struct wheel *wheel)
{
	uint32_t line = wheel->free;

	if (!line)
		return ++wheel->used;
	wheel->free = wheel->lines[line].next;
	return line;
}

/* Appends a line to a slot. last: the slot's last line, or 0. Returns the line. */
static inline uint32_t wheel_lengthen(struct wheel *wheel, unsigned slot, uint32_t last)
{
	uint32_t line = wheel_line_new(wheel);
	struct wheel_line *fresh = &wheel->lines[line];

	fresh->from = fresh->to = 0;
	fresh->next = line;
	if (last) {
		fresh->next = wheel->lines[last].next;
		wheel->lines[last].next = line;
	} else {
		occupancy_mark(&wheel->full, slot);
	}
	wheel->slots[slot] = line;
	return line;
}

/* Appends a queue to a slot. */
static inline void wheel_append(struct wheel *wheel, struct shape_queue *queue, unsigned slot)
{
	uint32_t line = wheel->slots[slot];
	struct wheel_line *last;

	if (line == 0 || wheel->lines[line].to == WHEEL_LINE)
		line = wheel_lengthen(wheel, slot, line);
	last = &wheel->lines[line];
	queue->slot = slot;
	queue->place = line * 8 + last->to;
	last->queues[last->to++] = queue;
}

/* Files a queue in the slot in which it is due, or in the nearest slot within the horizon. */
static inline void wheel_file(struct wheel *wheel, struct shape_queue *queue)
{
	uint64_t ahead = queue->due - wheel->base, steps = ahead >> wheel->shift;
	uint64_t soon = queue->due;

	if (__builtin_expect(steps >= WHEEL_SLOTS, 0)) {
		steps = (int64_t)ahead < 0 ? 0 : WHEEL_SLOTS - 1;
		soon = tick_earlier(soon, wheel->base + (steps << wheel->shift));
	}
	wheel->soon = tick_earlier(wheel->soon, soon);
	wheel_append(
		wheel, queue, (wheel_slot(wheel, wheel->base) + (unsigned)steps) % WHEEL_SLOTS);
}

/* The first line of a slot that is not empty. */
static inline struct wheel_line *wheel_head(struct wheel *wheel, unsigned slot)
{
	return &wheel->lines[wheel->lines[wheel->slots[slot]].next];
}

/* The first queue of a slot that is not empty. */
static inline struct shape_queue *wheel_queue(struct wheel *wheel, unsigned slot)
{
	const struct wheel_line *head = wheel_head(wheel, slot);

	return head->queues[head->from];
}

/* Lists the queues of a slot that is not empty, at most n. Returns their number. */
static inline unsigned wheel_list(
	struct wheel *wheel, unsigned slot, struct shape_queue **queues, unsigned n)
{
	const struct wheel_line *line = wheel_head(wheel, slot);
	const struct wheel_line *last = &wheel->lines[wheel->slots[slot]];
	unsigned count = 0;

	for (;; line = &wheel->lines[line->next]) {
		for (unsigned i = line->from; i < line->to; i++) {
			if (count == n)
				return count;
			queues[count++] = line->queues[i];
		}
		if (line == last)
			return count;
	}
}

/*
 * Lists the queues of all slots that have begun by `now`, from `slot` on, at most n. `slot` is at
 * the base and is not empty. Returns their number.
 */
static inline unsigned wheel_peek(
	struct wheel *wheel, unsigned slot, uint64_t now, struct shape_queue **queues, unsigned n)
{
	unsigned first = slot, count = 0;

	do {
		count += wheel_list(wheel, slot, queues + count, n - count);
		if (count == n)
			break;
		slot = occupancy_first(&wheel->full, (slot + 1) % WHEEL_SLOTS);
	} while (slot != first && !tick_after(wheel_start(wheel, slot), now));
	return count;
}

/* Removes the first line, which is empty, from a slot. */
static inline void wheel_shorten(struct wheel *wheel, unsigned slot)
{
	uint32_t last = wheel->slots[slot], first = wheel->lines[last].next;

	if (first == last) {
		wheel->slots[slot] = 0;
		occupancy_unmark(&wheel->full, slot);
	} else {
		wheel->lines[last].next = wheel->lines[first].next;
	}
	wheel->lines[first].next = wheel->free;
	wheel->free = first;
}

/* Removes the first queue from a slot that is not empty. */
static inline struct shape_queue *wheel_take(struct wheel *wheel, unsigned slot)
{
	struct wheel_line *head = wheel_head(wheel, slot);
	struct shape_queue *queue = head->queues[head->from++];

	if (head->from == head->to)
		wheel_shorten(wheel, slot);
	return queue;
}

/* Removes any queue from its slot. The slot's first queue moves to its place. */
static inline void wheel_unfile(struct wheel *wheel, const struct shape_queue *queue)
{
	uint32_t place = queue->place;
	struct shape_queue *first = wheel_take(wheel, queue->slot);

	if (first == queue)
		return;
	first->place = place;
	wheel->lines[place / 8].queues[place % 8] = first;
}

#endif
