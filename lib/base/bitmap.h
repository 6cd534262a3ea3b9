/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Sets of small numbers, one bit for each number. Suited to searches for the next member of a
 * sparse set. Bits from n on can have any value. One thread.
 */
#ifndef WEIR_BASE_BITMAP_H
#define WEIR_BASE_BITMAP_H

#include <stdbool.h>
#include <stdint.h>

/* Returns the number of words for n bits; at least one. */
static inline unsigned bitmap_words(unsigned n)
{
	return n / 64 + 1;
}

static inline void bitmap_set(uint64_t *bits, unsigned i)
{
	bits[i / 64] |= UINT64_C(1) << i % 64;
}

static inline void bitmap_clear(uint64_t *bits, unsigned i)
{
	bits[i / 64] &= ~(UINT64_C(1) << i % 64);
}

static inline bool bitmap_has(const uint64_t *bits, unsigned i)
{
	return bits[i / 64] >> i % 64 & 1;
}

/* Returns the first set bit from `from` on, or n. `from` is at most n. */
static inline unsigned bitmap_next(const uint64_t *bits, unsigned n, unsigned from)
{
	uint64_t word = bits[from / 64] & UINT64_MAX << from % 64;
	unsigned at = from / 64, found;

	while (!word && at < n / 64)
		word = bits[++at];
	found = word ? at * 64 + (unsigned)__builtin_ctzll(word) : n;
	return found < n ? found : n;
}

#endif
