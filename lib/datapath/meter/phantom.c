/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The table of reciprocals for phantom.h, which replaces divisions on the workers by products. The
 * rest of the meter is inline in phantom.h.
 */
#include "meter/phantom.h"

/*
 * All policies share the table. A policy reads entries up to the weight of its backlogged classes,
 * so only these entries are in the cache.
 */
#define ONE(w)        UINT64_MAX / (w)
#define FOUR(w)       ONE(w), ONE((w) + 1), ONE((w) + 2), ONE((w) + 3)
#define SIXTEEN(w)    FOUR(w), FOUR((w) + 4), FOUR((w) + 8), FOUR((w) + 12)
#define SIXTY_FOUR(w) SIXTEEN(w), SIXTEEN((w) + 16), SIXTEEN((w) + 32), SIXTEEN((w) + 48)
#define FIVE_SIXTIES(w)                                                                    \
	SIXTY_FOUR(w), SIXTY_FOUR((w) + 64), SIXTY_FOUR((w) + 128), SIXTY_FOUR((w) + 192), \
		SIXTY_FOUR((w) + 256)
#define TWENTIETH(w) FIVE_SIXTIES((w)*320 + 1)

const uint64_t phantom_reciprocals[PHANTOM_WEIGHT_ALL + 1] = {0, TWENTIETH(0), TWENTIETH(1),
	TWENTIETH(2), TWENTIETH(3), TWENTIETH(4), TWENTIETH(5), TWENTIETH(6), TWENTIETH(7),
	TWENTIETH(8), TWENTIETH(9), TWENTIETH(10), TWENTIETH(11), TWENTIETH(12), TWENTIETH(13),
	TWENTIETH(14), TWENTIETH(15), TWENTIETH(16), TWENTIETH(17), TWENTIETH(18), TWENTIETH(19)};
