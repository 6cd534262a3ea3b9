/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * What packets wait, counted in bins that grow with the time: 8 to each power of two, so that a
 * quantile is off by at most 1 in 8, from a microsecond to half a minute, in one kilobyte. One
 * writer; anybody may read meanwhile, with atomics.
 */
#ifndef WEIR_SHAPE_DELAY_H
#define WEIR_SHAPE_DELAY_H

#include <stdint.h>

#define DELAY_SHIFT 3 /* bins to a power of two, log2 */
#define DELAY_BINS  200

/* Bins of ticks >> unit, where 2^unit ticks are about a quarter of a microsecond. */
struct delay_bins {
	uint32_t bins[DELAY_BINS];
};

#endif
