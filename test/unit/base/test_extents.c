/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "check.h"

#include "base/extents.h"

/* The list takes EXTENTS_MAX pieces. One more sets the overflow, and is not added. */
TEST(test_room)
{
	static const char bytes[EXTENTS_MAX + 1];
	struct extents extents = {0};

	for (unsigned i = 0; i < EXTENTS_MAX; i++) {
		extents_add(&extents, &bytes[i], 100 + i);
		assert_int_equal(extents.n, i + 1);
		assert_false(extents.overflow);
	}
	extents_add(&extents, &bytes[EXTENTS_MAX], 7);
	assert_int_equal(extents.n, EXTENTS_MAX);
	assert_true(extents.overflow);
	for (unsigned i = 0; i < EXTENTS_MAX; i++) {
		assert_ptr_equal(extents.of[i].at, &bytes[i]);
		assert_int_equal(extents.of[i].bytes, 100 + i);
	}
}

/* A piece has a length of at most 32 bits. A longer one sets the overflow; others can follow. */
TEST(test_length)
{
	struct extents extents = {0};

	extents_add(&extents, &extents, UINT32_MAX);
	assert_false(extents.overflow);
	assert_int_equal(extents.of[0].bytes, UINT32_MAX);
	extents_add(&extents, &extents, (size_t)UINT32_MAX + 1);
	assert_true(extents.overflow);
	assert_int_equal(extents.n, 1);
	extents_add(&extents, state, 3);
	assert_int_equal(extents.n, 2);
	assert_ptr_equal(extents.of[1].at, state);
	assert_int_equal(extents.of[1].bytes, 3);
	assert_true(extents.overflow);
}
