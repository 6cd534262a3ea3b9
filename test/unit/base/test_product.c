/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Products from halves of words, and parts of an amount, against the compiler's 128-bit numbers.
 */
#include "check.h"

#include "base/expiry.h"
#include "base/prng.h"
#include "base/math.h"

#define RUNS 200000

/* A word of any length; often all ones below its highest bit, or one more than that. */
static uint64_t draw_word(struct prng *prng)
{
	uint64_t word = prng_next(prng) >> prng_below(prng, 64);

	switch (prng_below(prng, 4)) {
	case 0:
		return UINT64_MAX >> prng_below(prng, 64);
	case 1:
		return UINT64_C(1) << prng_below(prng, 64);
	default:
		return word;
	}
}

TEST(test_products)
{
	struct prng prng;

	prng_seed(&prng, 1);
	for (unsigned i = 0; i < RUNS; i++) {
		uint64_t a = draw_word(&prng), b = draw_word(&prng);
		wide_t product = wide_by_halves(a, b);

		assert_true(product == (wide_t)a * b);
		assert_true(product == wide_multiply(a, b));
	}
}

TEST(test_parts)
{
	struct prng prng;

	prng_seed(&prng, 1);
	for (unsigned i = 0; i < RUNS; i++) {
		uint64_t amount = draw_word(&prng);
		uint8_t ending = (uint8_t)prng_below(&prng, 256);
		wide_t left = (wide_t)amount * (EXPIRY_PARTS - ending) / EXPIRY_PARTS;

		assert_true(expiry_left(amount, ending) == left);
	}
}
