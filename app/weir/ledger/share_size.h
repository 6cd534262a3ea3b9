/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Number of units to draw of a quota in etcd (lib/io/etcd): the amount that the group spends until
 * the next draw. It is no more, because units of a limiter that dies are missing until it is back.
 * So it is at most a hundredth of the quota, and near its end a part of the rest.
 *
 * Pure; control.
 */
#ifndef WEIR_APP_SHARE_SIZE_H
#define WEIR_APP_SHARE_SIZE_H

#include <stdint.h>

struct etcd_share_need {
	uint64_t total;  /* quota: units a period */
	uint64_t left;   /* units of the quota that are not drawn */
	uint64_t held;   /* units that the group has drawn and not spent */
	uint64_t pace;   /* spending rate of the group, in 1/1000 units a second */
	uint64_t chunk;  /* smallest amount worth a draw */
	uint64_t packet; /* units to pass one packet */
};

/* Returns the amount that the group should hold: at least a packet's. */
uint64_t etcd_share_stock(const struct etcd_share_need *need);

/* Returns the units to draw now; 0: enough is held. Can be more than there are. */
uint64_t share_size(const struct etcd_share_need *need);

#endif
