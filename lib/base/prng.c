/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * A small seeded generator (xoshiro256**, Blackman and Vigna 2018): the same seed gives the same
 * numbers everywhere, so that a simulated run replays.
 */
#include "base/prng.h"

#include "base/hash.h"

static uint64_t rotate_left(uint64_t x, int k)
{
	return (x << k) | (x >> (64 - k));
}

/* SplitMix64 spreads a small seed over the whole state; the authors of xoshiro advise it. */
void prng_seed(struct prng *prng, uint64_t seed)
{
	for (int i = 0; i < 4; i++)
		prng->s[i] = splitmix64_next(&seed);
}

uint64_t prng_next(struct prng *prng)
{
	uint64_t *s = prng->s;
	uint64_t result = rotate_left(s[1] * 5, 7) * 9, t = s[1] << 17;

	s[2] ^= s[0];
	s[3] ^= s[1];
	s[1] ^= s[2];
	s[0] ^= s[3];
	s[2] ^= t;
	s[3] = rotate_left(s[3], 45);
	return result;
}

uint32_t prng_below(struct prng *prng, uint32_t bound)
{
	/* Lemire's method: rejects the few values that would make some results more likely. */
	uint32_t reject = -bound % bound;
	uint64_t m;

	do
		m = (prng_next(prng) >> 32) * bound;
	while ((uint32_t)m < reject);
	return (uint32_t)(m >> 32);
}

double prng_unit(struct prng *prng)
{
	return (double)(prng_next(prng) >> 11) * 0x1p-53;
}
