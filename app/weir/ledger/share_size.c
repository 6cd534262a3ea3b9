/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "share_size.h"

#include "base/math.h"

#define AHEAD_S   10   /* seconds that drawn units last */
#define PACE_UNIT 1000 /* unit of the rates of lib/control/quota */

#define PART_OF_TOTAL 100
#define PART_OF_LEFT  8

/* Part of the stock that must be spent before the next draw. */
#define PART_GONE 4

uint64_t etcd_share_stock(const struct etcd_share_need *need)
{
	uint64_t ahead = need->pace / PACE_UNIT;

	ahead = ahead < UINT64_MAX / AHEAD_S ? ahead * AHEAD_S : UINT64_MAX;
	ahead = min_u64(max_u64(ahead, need->chunk), need->total / PART_OF_TOTAL);
	return max_u64(min_u64(ahead, need->left / PART_OF_LEFT), need->packet);
}

uint64_t share_size(const struct etcd_share_need *need)
{
	uint64_t stock = etcd_share_stock(need);

	return need->held <= stock - stock / PART_GONE ? stock - need->held : 0;
}
