/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The outermost VLAN tag on ports of DPDK's af_packet driver. The kernel takes the tag off a frame,
 * and the driver puts it back as 802.1Q (0x8100), also if it was 802.1ad (0x88a8).
 */
#ifndef WEIR_DRIVERS_AF_PACKET_TAGS_H
#define WEIR_DRIVERS_AF_PACKET_TAGS_H

#include <stdint.h>

/*
 * Keeps the kind of outermost tags that so many queues of a port receive from now on. Main thread,
 * after the port is started. 0, or -ENOTSUP if the driver is not as expected.
 */
int af_packet_keep_tags(uint16_t port, uint16_t queues);

#endif
