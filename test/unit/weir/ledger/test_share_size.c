/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * What is drawn of a total that is kept elsewhere: enough for the rate, little of the whole, and
 * ever less towards the end.
 */
#include "check.h"

#include "share_size.h"

#define TOTAL  UINT64_C(100000000)
#define CHUNK  UINT64_C(65536)
#define PACKET UINT64_C(6000)
#define PACE   UINT64_C(1000) /* of one unit a second */

TEST(test_stock)
{
	static const struct {
		uint64_t total, left, pace, stock;
	} rows[] = {
		/* Ten seconds of it, at least a chunk, */
		{TOTAL, TOTAL, 20000 * PACE, 200000},
		{TOTAL, TOTAL, 0, CHUNK},
		{TOTAL, TOTAL, CHUNK / 10 * PACE, CHUNK},
		/* no more than a hundredth of the total, */
		{TOTAL, TOTAL, 100000 * PACE, TOTAL / 100},
		{TOTAL, TOTAL, 100001 * PACE, TOTAL / 100},
		{TOTAL, TOTAL, UINT64_MAX, TOTAL / 100},
		{100 * PACKET, 100 * PACKET, 0, PACKET},
		/* or an eighth of what is left, */
		{TOTAL, 1600000, 20000 * PACE, 200000},
		{TOTAL, 1599992, 20000 * PACE, 199999},
		/* and always some packets. */
		{TOTAL, 8 * PACKET - 8, 20000 * PACE, PACKET},
		{TOTAL, 0, 20000 * PACE, PACKET},
		{0, 0, 0, PACKET},
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		struct etcd_share_need need = {
			.total = rows[i].total,
			.left = rows[i].left,
			.pace = rows[i].pace,
			.chunk = CHUNK,
			.packet = PACKET,
		};

		if (etcd_share_stock(&need) != rows[i].stock)
			fail_msg("row %zu: %" PRIu64, i, etcd_share_stock(&need));
	}
}

/* What is missing, once a quarter of the stock is. */
TEST(test_when)
{
	static const struct {
		uint64_t held, units;
	} rows[] = {
		{0, 200000},
		{1, 199999},
		{150000, 50000},
		{150001, 0},
		{200000, 0},
		{UINT64_MAX, 0},
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		struct etcd_share_need need = {
			.total = TOTAL,
			.left = TOTAL,
			.held = rows[i].held,
			.pace = 20000 * PACE,
			.chunk = CHUNK,
			.packet = PACKET,
		};

		if (share_size(&need) != rows[i].units)
			fail_msg("row %zu: %" PRIu64, i, share_size(&need));
	}
}

/* A group that spends all that it draws comes to the end, in so many draws and no more. */
TEST(test_to_the_end)
{
	struct etcd_share_need need = {.total = TOTAL,
		.left = TOTAL,
		.pace = UINT64_MAX,
		.chunk = CHUNK,
		.packet = PACKET};
	unsigned draws = 0;

	for (; need.left > 0; draws++) {
		uint64_t units = share_size(&need);

		assert_true(units <= TOTAL / 100);
		assert_true(units >= PACKET);
		need.left -= units < need.left ? units : need.left;
	}
	assert_in_range(draws, 100, 150);
}
