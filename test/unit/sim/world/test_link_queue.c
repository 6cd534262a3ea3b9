/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "check.h"

#include "base/prng.h"
#include "world/simnet.h"

#define MBIT UINT64_C(1000000)

/*
 * An idle link accepts any packet; a busy one only a packet that fits into its room, to the byte.
 */
TEST(test_room)
{
	/* 8 Mbit/s is a byte a microsecond. */
	static const struct {
		uint64_t now_us, bytes, left_us; /* left_us 0: full */
	} rows[] = {
		{0, 1500, 1500}, /* larger than the room, but the link is idle */
		{500, 1, 0},     /* 1000 still wait */
		{501, 1, 1501},  /* 999 still wait */
		{501, 1, 0},
		{1001, 500, 2001}, /* 500 still wait: exactly the room */
		{1001, 1, 0},
		{2001, 1001, 3002}, /* idle again, at this instant */
		{9000, 10, 9010},
	};
	struct link_queue queue = {0};

	for (size_t i = 0; i < COUNT(rows); i++) {
		uint64_t left = link_queue_pass(
			&queue, rows[i].now_us * 1000, rows[i].bytes, 8 * MBIT, 1000);

		assert_int_equal(left, rows[i].left_us ? rows[i].left_us * 1000 : LINK_QUEUE_FULL);
	}
}

/* A link that is never idle has exactly its rate, with packets of any size. */
TEST(test_exact)
{
	static const uint64_t rates[] = {1000, 7 * MBIT, 400000 * MBIT, 399999999999};

	for (size_t i = 0; i < COUNT(rates); i++) {
		struct link_queue queue = {0};
		struct prng prng;
		uint64_t bytes = 0, left = 0;

		prng_seed(&prng, 3);
		for (unsigned k = 0; k < 10000; k++) {
			uint64_t size = 64 + prng_below(&prng, 1437);

			bytes += size;
			left = link_queue_pass(&queue, 0, size, rates[i], UINT64_MAX);
		}
		assert_int_equal(
			left, (uint64_t)((unsigned __int128)bytes * 8000000000 / rates[i]));
	}
}
