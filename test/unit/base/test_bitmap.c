/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "check.h"

#include "base/bitmap.h"
#include "base/prng.h"

#define BITS 300

/* Compares each bit and each next one with an array of bools, with any bits after the end. */
static void expect_alike(const uint64_t *bits, const bool *set, unsigned n)
{
	unsigned next = n;

	assert_int_equal(bitmap_next(bits, n, n), n);
	for (unsigned i = n; i-- > 0;) {
		next = set[i] ? i : next;
		assert_int_equal(bitmap_has(bits, i), set[i]);
		assert_int_equal(bitmap_next(bits, n, i), next);
	}
}

TEST(test_random_sets)
{
	struct prng prng;

	prng_seed(&prng, 1);
	for (unsigned n = 0; n < BITS; n++) {
		uint64_t bits[BITS / 64 + 1];
		bool set[BITS];

		assert_in_range(bitmap_words(n), 1, COUNT(bits));
		memset(bits, n % 2 ? 0xff : 0, sizeof(bits)); /* odd n: all, also after n */
		memset(set, n % 2, sizeof(set));
		expect_alike(bits, set, n);
		for (unsigned i = 0; n && i < 100; i++) {
			unsigned at = prng_below(&prng, n);

			set[at] = prng_below(&prng, 4) == 0;
			(set[at] ? bitmap_set : bitmap_clear)(bits, at);
		}
		expect_alike(bits, set, n);
	}
}
