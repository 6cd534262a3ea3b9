/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Packets as captured on any link → Ethernet frames as the appliance would receive them. Pure.
 */
#ifndef WEIR_CAPTURE_LINK_H
#define WEIR_CAPTURE_LINK_H

#include <stdbool.h>
#include <stdint.h>

#include "capture/capture.h"
#include "packet/parse.h"

/* As many as a worker gathers where a frame is in pieces. */
#define FRAME_BYTES 2048

/* A frame as far as a worker looks at it. */
struct frame {
	uint64_t time_ns;
	uint64_t index;    /* of the packet in the capture, from 1 */
	uint32_t bytes;    /* of the whole frame on the wire, without its FCS */
	uint32_t captured; /* of these, bytes that are in data */
	bool cut;          /* the capture has not all of them */
	uint8_t data[FRAME_BYTES];
};

/* Whether link_frame() knows this DLT_: Ethernet and raw IP. */
bool link_supported(int link);

/*
 * Fills in the frame but for its index. A raw IP packet gets the Ethernet header that it would have
 * without a VLAN: 14 bytes more, which only "l2" and "wire" accounting charge.
 */
void link_frame(const struct capture_packet *packet, struct frame *frame);

#endif
