/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The outermost VLAN tag on ports of DPDK's af_packet driver. The kernel removes the tag from a
 * frame. The driver restores it as 802.1Q (0x8100), even if it was 802.1ad (0x88a8).
 */
#ifndef WEIR_DRIVERS_AF_PACKET_TAGS_H
#define WEIR_DRIVERS_AF_PACKET_TAGS_H

#include <stdint.h>

/*
 * Preserves the type of outermost tags that the first `queues` queues of a port receive from now
 * on. Main thread, after the port is started. Returns 0, or -ENOTSUP if the driver's structure
 * differs.
 */
int af_packet_keep_tags(uint16_t port, uint16_t queues);

#endif
