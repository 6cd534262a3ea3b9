/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "share_size.h"

#include "base/math.h"

#define AHEAD_S   10   /* what is drawn lasts so long */
#define PACE_UNIT 1000 /* what rates of lib/control/quota are in */

#define PART_OF_TOTAL 100
#define PART_OF_LEFT  8

/* It is drawn before all is spent: when so much of the stock is gone. */
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
