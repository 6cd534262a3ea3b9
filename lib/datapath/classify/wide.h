/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Plain IPv4 with 512-bit vectors: the same results as all_plain4() and fib4_lookup(). Uses no
 * gather instructions, because they are slow on CPUs with a microcode fix for them. Private to this
 * folder.
 */
#ifndef WEIR_CLASSIFY_WIDE_H
#define WEIR_CLASSIFY_WIDE_H

#include <stdbool.h>
#include <stdint.h>

#include "classify/fib4.h"

#define WIDE_STEP 16 /* frames per step */

/*
 * all_plain4() for destinations of untagged frames that all have at least 46 bytes after the
 * Ethernet header. n is a multiple of WIDE_STEP. Worker lcores, on a CPU with classify_has_wide().
 */
bool wide_plain4(const uint8_t *const *data, unsigned n, uint32_t *addr);

/*
 * fib4_lookup() for n addresses, a multiple of WIDE_STEP, in a fib4 with blocks. Sets *all to the
 * word that fib4_lookup() returns. Returns false, without answers, if an address leads to a table.
 * Worker lcores, on a CPU with classify_has_wide().
 */
bool wide_lookup4(const struct fib4 *fib, const uint32_t *addr, unsigned n, const void *lines,
	uint32_t *answers, uint32_t *all);

#endif
