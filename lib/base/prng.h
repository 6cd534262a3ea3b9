/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * A small seeded generator (xoshiro256**, Blackman and Vigna 2018): the same seed gives the same
 * numbers everywhere, so that a simulated run replays. Not for keys. One owner an instance.
 */
#ifndef WEIR_BASE_PRNG_H
#define WEIR_BASE_PRNG_H

#include <stdbool.h>
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

/* Uniform in [0, bound), in steps of a double's resolution. */
static inline uint64_t prng_within(struct prng *prng, uint64_t bound)
{
	return (uint64_t)(prng_unit(prng) * (double)bound);
}

/* True with a probability of `percent` / 100. */
static inline bool prng_percent(struct prng *prng, unsigned percent)
{
	return prng_below(prng, 100) < percent;
}

#endif
