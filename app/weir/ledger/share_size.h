/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * How many units to draw of a total that is kept elsewhere (lib/io/etcd): what the group spends
 * until there is time to draw again, and no more than that, as what is held by a limiter that dies
 * is missing until it is back. So never more than a hundredth of the total, and near its end a part
 * of what is left.
 *
 * Pure; control.
 */
#ifndef WEIR_APP_SHARE_SIZE_H
#define WEIR_APP_SHARE_SIZE_H

#include <stdint.h>

struct etcd_share_need {
	uint64_t total;  /* units a period */
	uint64_t left;   /* of it, drawn by nobody */
	uint64_t held;   /* by the group: drawn and not spent */
	uint64_t pace;   /* at which the group spends, in 1/1000 units a second */
	uint64_t chunk;  /* what it is worth to draw, however slowly they are spent */
	uint64_t packet; /* what it takes to pass anything */
};

/* What the group is to hold: at least a packet's. */
uint64_t etcd_share_stock(const struct etcd_share_need *need);

/* To be drawn now; 0: enough is held. May be more than there are. */
uint64_t share_size(const struct etcd_share_need *need);

#endif
