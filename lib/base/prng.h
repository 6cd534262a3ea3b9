/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * A small seeded generator (xoshiro256**, Blackman and Vigna 2018): the same seed gives the same
 * numbers everywhere, so that a simulated run replays. Not for keys. One owner an instance.
 */
#ifndef WEIR_BASE_PRNG_H
#define WEIR_BASE_PRNG_H

#include <stdint.h>

struct prng {
	uint64_t s[4];
};

void prng_seed(struct prng *prng, uint64_t seed);

uint64_t prng_next(struct prng *prng);

/* Uniform in [0, bound), without modulo bias; bound at least 1. */
uint32_t prng_below(struct prng *prng, uint32_t bound);

/* Uniform in [0, 1). */
double prng_unit(struct prng *prng);

#endif
