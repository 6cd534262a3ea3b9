/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The slots of a timing wheel that are not empty: a bitmap of three levels, so that the next one is
 * found in a few steps, however far it is. And comparisons of ticks, which wrap as slots do.
 *
 * Private to this folder.
 */
#ifndef WEIR_SHAPE_OCCUPANCY_H
#define WEIR_SHAPE_OCCUPANCY_H

#include <stdbool.h>
#include <stdint.h>

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

#endif
