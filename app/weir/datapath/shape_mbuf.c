/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The shaper's state of a waiting packet is in its mbuf, in a dynamic field (rte_mbuf_dyn.h).
 */
#include "shape_mbuf.h"

#include <rte_errno.h>

#include "clock.h"

/* A device's time is ignored if it means that the packet was in the ring for longer. */
#define NIC_MOST_US 1000000

int shape_mbuf_offset, shape_mbuf_nic_offset;
uint64_t shape_mbuf_stamped, shape_mbuf_nic_flag;

int shape_mbuf_register(void)
{
	static const struct rte_mbuf_dynfield field = {
		.name = "weir_shape_packet",
		.size = sizeof(struct shape_packet),
		.align = __alignof__(struct shape_packet),
	};
	static const struct rte_mbuf_dynflag flag = {.name = "weir_arrival"};
	int offset = rte_mbuf_dynfield_register(&field), bit;

	if (offset < 0)
		return -rte_errno;
	bit = rte_mbuf_dynflag_register(&flag);
	if (bit < 0)
		return -rte_errno;
	if (rte_mbuf_dyn_rx_timestamp_register(&shape_mbuf_nic_offset, &shape_mbuf_nic_flag) < 0)
		return -rte_errno;
	shape_mbuf_offset = offset;
	shape_mbuf_stamped = UINT64_C(1) << bit;
	return 0;
}

void shape_mbuf_stamp_all(struct rte_mbuf **mbufs, uint16_t n, const struct nic_clock *clock,
	uint64_t now, uint64_t ticks_per_us)
{
	uint64_t most = NIC_MOST_US * ticks_per_us;
	struct nic_relation relation;

	if (!nic_clock_relation(clock, &relation))
		return;
	for (uint16_t i = 0; i < n; i++) {
		struct rte_mbuf *m = mbufs[i];
		uint64_t nic = *RTE_MBUF_DYNFIELD(m, shape_mbuf_nic_offset, uint64_t *);

		if (m->ol_flags & shape_mbuf_nic_flag)
			shape_mbuf_stamp(m, nic_clock_tick(&relation, nic, now, most));
	}
}
