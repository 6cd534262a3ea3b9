/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The timing wheel of a shaper: queues by the tick at which something happens to their first
 * packet. One level of slots, each a ring of queues; a queue that is due beyond the horizon (some
 * 100 ms) lies in the last slot and is filed again when that is opened. Bits, in three levels, say
 * which slots are not empty: the next one is found in a few steps, however far it is.
 *
 * Not for others than this folder.
 */
#ifndef WEIR_SHAPE_WHEEL_H
#define WEIR_SHAPE_WHEEL_H

#include "shape/shape.h"

#define WHEEL_BITS  16
#define WHEEL_SLOTS (1u << WHEEL_BITS)
#define WHEEL_WORDS (WHEEL_SLOTS / 64)
#define WHEEL_NONE  WHEEL_SLOTS

#define WHEEL_PARTS 19                  /* a slot is about a second over 2^this */
#define WHEEL_FAR   (UINT64_C(1) << 62) /* ticks: never */

struct wheel {
	uint64_t base; /* tick at which the first slot begins that may not be empty */
	uint64_t soon; /* nothing is to be done before this tick */
	uint64_t top;  /* bits of words of `middle` that are not 0 */
	uint64_t middle[WHEEL_WORDS / 64];
	uint64_t low[WHEEL_WORDS];
	unsigned shift; /* ticks of a slot, log2 */
	struct shape_queue *slots[WHEEL_SLOTS];
};

/* Ticks of a counter that wraps are compared by how far they are apart. */
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

static inline uint64_t wheel_slot_start(const struct wheel *wheel, uint64_t tick)
{
	return tick >> wheel->shift << wheel->shift;
}

static inline unsigned wheel_slot(const struct wheel *wheel, uint64_t tick)
{
	return (unsigned)(tick >> wheel->shift) % WHEEL_SLOTS;
}

static inline void wheel_mark(struct wheel *wheel, unsigned slot)
{
	wheel->low[slot / 64] |= UINT64_C(1) << slot % 64;
	wheel->middle[slot / 4096] |= UINT64_C(1) << slot / 64 % 64;
	wheel->top |= UINT64_C(1) << slot / 4096;
}

static inline void wheel_unmark(struct wheel *wheel, unsigned slot)
{
	if (wheel->low[slot / 64] &= ~(UINT64_C(1) << slot % 64))
		return;
	if (wheel->middle[slot / 4096] &= ~(UINT64_C(1) << slot / 64 % 64))
		return;
	wheel->top &= ~(UINT64_C(1) << slot / 4096);
}

/* The first slot from `from` on, around the wheel, that is not empty; or WHEEL_NONE. */
static inline unsigned wheel_first(const struct wheel *wheel, unsigned from)
{
	uint64_t word = wheel->low[from / 64] & UINT64_MAX << from % 64, middle, top;
	unsigned at = from / 64;

	if (word)
		return at * 64 + (unsigned)__builtin_ctzll(word);
	middle = wheel->middle[at / 64] & UINT64_MAX << 1 << at % 64;
	if (!middle) {
		if (!wheel->top)
			return WHEEL_NONE;
		top = wheel->top & UINT64_MAX << 1 << at / 64;
		at = (unsigned)__builtin_ctzll(top ? top : wheel->top) * 64;
		middle = wheel->middle[at / 64];
	}
	at = at / 64 * 64 + (unsigned)__builtin_ctzll(middle);
	return at * 64 + (unsigned)__builtin_ctzll(wheel->low[at]);
}

/* The tick at which that slot begins; `slot` is not empty. */
static inline uint64_t wheel_start(const struct wheel *wheel, unsigned slot)
{
	unsigned steps = (slot - wheel_slot(wheel, wheel->base)) % WHEEL_SLOTS;

	return wheel->base + ((uint64_t)steps << wheel->shift);
}

static inline void wheel_init(struct wheel *wheel, uint64_t hz, uint64_t now)
{
	wheel->shift = hz >> WHEEL_PARTS ? 63 - (unsigned)__builtin_clzll(hz >> WHEEL_PARTS) : 0;
	wheel->base = wheel_slot_start(wheel, now);
	wheel->soon = now + WHEEL_FAR;
}

/* Nothing lies in slots that are over, if nothing was to be done until now. */
static inline void wheel_catch_up(struct wheel *wheel, uint64_t now)
{
	if (tick_after(wheel->soon, now))
		wheel->base = wheel_slot_start(wheel, now);
}

/*
 * Goes on to the first slot that is not empty, and returns it; or WHEEL_NONE, when that has not
 * begun, and knows when it does.
 */
static inline unsigned wheel_advance(struct wheel *wheel, uint64_t now)
{
	unsigned slot = wheel_first(wheel, wheel_slot(wheel, wheel->base));
	uint64_t start = slot == WHEEL_NONE ? now + WHEEL_FAR : wheel_start(wheel, slot);

	if (tick_after(start, now)) {
		wheel->soon = start;
		return WHEEL_NONE;
	}
	wheel->base = start;
	return slot;
}

/*
 * After the slot at the base has been opened, and those of its queues that still wait are filed:
 * the slots after it. And if it was not looked through, so is there something to do right now.
 */
static inline void wheel_look_on(struct wheel *wheel, unsigned slot, bool rest)
{
	unsigned next = wheel_first(wheel, (slot + 1) % WHEEL_SLOTS);

	if (next != WHEEL_NONE && next != slot)
		wheel->soon = tick_earlier(wheel->soon, wheel_start(wheel, next));
	if (rest)
		wheel->soon = wheel->base;
}

/* Puts a queue behind the others of the slot in which it is due, or of the nearest there is. */
static inline void wheel_file(struct wheel *wheel, struct shape_queue *queue)
{
	uint64_t ahead = queue->due - wheel->base, steps = ahead >> wheel->shift;
	uint64_t soon = queue->due;
	struct shape_queue *first;
	unsigned slot;

	if (steps >= WHEEL_SLOTS) {
		steps = (int64_t)ahead < 0 ? 0 : WHEEL_SLOTS - 1;
		soon = tick_earlier(soon, wheel->base + (steps << wheel->shift));
	}
	slot = (wheel_slot(wheel, wheel->base) + (unsigned)steps) % WHEEL_SLOTS;
	first = wheel->slots[slot];
	queue->slot = (uint16_t)slot;
	wheel->soon = tick_earlier(wheel->soon, soon);
	if (first) {
		queue->next = first;
		queue->prev = first->prev;
		first->prev->next = queue;
		first->prev = queue;
		return;
	}
	queue->next = queue->prev = queue;
	wheel->slots[slot] = queue;
	wheel_mark(wheel, slot);
}

static inline void wheel_unfile(struct wheel *wheel, struct shape_queue *queue)
{
	unsigned slot = queue->slot;

	if (queue->next == queue) {
		wheel->slots[slot] = NULL;
		wheel_unmark(wheel, slot);
		return;
	}
	queue->next->prev = queue->prev;
	queue->prev->next = queue->next;
	if (wheel->slots[slot] == queue)
		wheel->slots[slot] = queue->next;
}

/* Takes all queues out of a slot that is not empty: a list from `first` to `first->prev`. */
static inline struct shape_queue *wheel_open(struct wheel *wheel, unsigned slot)
{
	struct shape_queue *first = wheel->slots[slot];

	wheel->slots[slot] = NULL;
	wheel_unmark(wheel, slot);
	return first;
}

/* Puts the rest of such a list back before what has been filed in its slot meanwhile. */
static inline void wheel_close(
	struct wheel *wheel, unsigned slot, struct shape_queue *first, struct shape_queue *last)
{
	struct shape_queue *others = wheel->slots[slot];

	first->prev = last;
	last->next = first;
	if (others) {
		first->prev = others->prev;
		others->prev->next = first;
		others->prev = last;
		last->next = others;
	}
	wheel->slots[slot] = first;
	wheel_mark(wheel, slot);
}

#endif
