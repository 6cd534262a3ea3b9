/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The structure of a fib4: fib4.c and wide.c search it, and lines.c exports it. Private to this
 * folder.
 */
#ifndef WEIR_CLASSIFY_FIB4_PRIVATE_H
#define WEIR_CLASSIFY_FIB4_PRIVATE_H

#include <stddef.h>
#include <stdint.h>

#include <rte_prefetch.h>

#include "classify/classify.h"
#include "classify/fib4.h"

#define FIB4_BLOCK_BITS 16
#define FIB4_BLOCKS     (UINT32_C(1) << FIB4_BLOCK_BITS)
#define FIB4_UNIT_WORDS 4
#define FIB4_FEW        16 /* ranges that are compared in turn */

/*
 * An entry is an answer, whose upper two bits are equal. Or it is a link: bits 01, a bit for ranges
 * (0) or a table (1), and where these begin, in units from the first entry.
 */
#define FIB4_FURTHER UINT32_C(0x40000000)
#define FIB4_TABLE   UINT32_C(0x60000000)
#define FIB4_PLACE   UINT32_C(0x1fffffff)

/*
 * One of few ranges of all addresses: the last address before it, less 2^31, and the XOR of its
 * answer and that of the range before. The first has its answer.
 */
struct fib_edge {
	int32_t before;
	uint32_t change;
};

struct fib4 {
	unsigned n_few; /* ranges, if `few` has all; 0: see entries */
	struct fib_edge few[FIB4_FEW];
	size_t n_units;                                  /* units of entries */
	uint32_t entries[] __attribute__((aligned(64))); /* first those of all blocks */
};

/* Prefetches the line of an answer. An answer without a line prefetches the first one. */
static inline void fib4_fetch_line(const char *lines, uint32_t answer)
{
	const uint32_t none = (uint32_t)((int32_t)answer >> 31);

	rte_prefetch0(lines + (size_t)(answer & ~none) * CLASSIFY_LINE);
}

#endif
