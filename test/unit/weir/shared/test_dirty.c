/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "check.h"
#include "scope.h"

#include "slot_map.h"

#define SLOTS 130

/* However often a slot is marked or cleared, it is in the set once or not at all. */
TEST(test_set)
{
	ENDED_BY(dirty_free) struct dirty dirty;

	assert_int_equal(dirty_init(&dirty, SLOTS), 0);
	assert_true(dirty_is_empty(&dirty));
	dirty_clear(&dirty, 5);
	dirty_mark(&dirty, 5);
	dirty_mark(&dirty, 5);
	dirty_mark(&dirty, SLOTS - 1);
	dirty_clear(&dirty, 5);
	assert_false(dirty_is_empty(&dirty));
	assert_int_equal(dirty_next(&dirty), SLOTS - 1);
	dirty_published(&dirty, SLOTS - 1);
	assert_true(dirty_is_empty(&dirty));
	dirty_mark(&dirty, 0); /* after the last slot comes the first */
	assert_int_equal(dirty_next(&dirty), 0);
}

/* A slot that is marked again and again does not keep others from their turn. */
TEST(test_turns)
{
	ENDED_BY(dirty_free) struct dirty dirty;
	unsigned told[3] = {0};

	assert_int_equal(dirty_init(&dirty, SLOTS), 0);
	for (unsigned i = 0; i < 30; i++) {
		uint32_t slot;

		for (unsigned n = 0; n < 3; n++)
			dirty_mark(&dirty, 60 * n);
		slot = dirty_next(&dirty);
		told[slot / 60]++;
		dirty_published(&dirty, slot);
	}
	for (unsigned n = 0; n < 3; n++)
		assert_int_equal(told[n], 10);
}
