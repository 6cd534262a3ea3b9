/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The size of draws from an external quota: enough for the rate, a small part of the quota, and
 * less and less towards its end.
 */
#include "check.h"

#include "etcd_share.h"

#define TOTAL  UINT64_C(100000000)
#define CHUNK  UINT64_C(65536)
#define PACKET UINT64_C(6000)
#define PACE   UINT64_C(1000) /* one unit per second */

TEST(test_stock)
{
	static const struct {
		uint64_t total, left, pace, stock;
	} rows[] = {
		/* The stock is ten seconds of the rate and at least a chunk, */
		{TOTAL, TOTAL, 20000 * PACE, 200000},
		{TOTAL, TOTAL, 0, CHUNK},
		{TOTAL, TOTAL, CHUNK / 10 * PACE, CHUNK},
		/* at most a hundredth of the quota, */
		{TOTAL, TOTAL, 100000 * PACE, TOTAL / 100},
		{TOTAL, TOTAL, 100001 * PACE, TOTAL / 100},
		{TOTAL, TOTAL, UINT64_MAX, TOTAL / 100},
		{100 * PACKET, 100 * PACKET, 0, PACKET},
		/* at most an eighth of the remaining units, */
		{TOTAL, 1600000, 20000 * PACE, 200000},
		{TOTAL, 1599992, 20000 * PACE, 199999},
		/* at least some packets. */
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

/* A draw fills the stock if at least a quarter of it is missing. */
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

/* A group that uses all that it draws reaches the end in a bounded number of draws. */
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
