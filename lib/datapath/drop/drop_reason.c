/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The reasons why a received packet is not transmitted.
 */
#include "drop/drop_reason.h"

const char *drop_reason_name(enum drop_reason reason)
{
	static const char *const names[DROP_REASONS] = {
		[DROP_LIMIT] = "limit",
		[DROP_QUOTA] = "quota",
		[DROP_UNMARKABLE] = "unmarkable",
		[DROP_UNPARSED] = "unparsed",
		[DROP_UNMATCHED] = "unmatched",
		[DROP_TX_FULL] = "tx_full",
		[DROP_RING_FULL] = "ring_full",
		[DROP_OVERSIZE] = "oversize",
		[DROP_TRUNCATED] = "truncated",
		[DROP_QUEUE_FULL] = "queue_full",
		[DROP_POOL_FULL] = "pool_full",
		[DROP_CODEL] = "codel",
		[DROP_DELAY_EXCEEDED] = "delay_exceeded",
		[DROP_STOPPED] = "stopped",
	};

	return names[reason];
}
