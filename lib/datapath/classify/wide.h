/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Plain IPv4 by vectors of 512 bits: the same results as all_plain4() and fib4_lookup(). There are
 * no gathers, which are slow on CPUs that have them repaired by microcode. Private to this folder.
 */
#ifndef WEIR_CLASSIFY_WIDE_H
#define WEIR_CLASSIFY_WIDE_H

#include <stdbool.h>
#include <stdint.h>

#include "classify/fib4.h"

#define WIDE_STEP 16 /* frames are worked on by so many */

/*
 * all_plain4() of destinations of untagged frames that all have at least 46 bytes behind their
 * Ethernet header. n is a multiple of WIDE_STEP. Worker lcores, on a CPU that
 * classify_has_wide().
 */
bool wide_plain4(const uint8_t *const *data, unsigned n, uint32_t *addr);

/*
 * fib4_lookup() of n addresses, a multiple of WIDE_STEP, in a fib4 that has blocks. Sets *all to
 * the word that fib4_lookup() returns. Returns false if an address leads to a table, and has
 * no answers then. Worker lcores, on such a CPU.
 */
bool wide_lookup4(const struct fib4 *fib, const uint32_t *addr, unsigned n, const void *lines,
	uint32_t *answers, uint32_t *all);

#endif
