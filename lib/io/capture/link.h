/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Converts captured packets of any link to Ethernet frames as Weir would receive them. Pure.
 */
#ifndef WEIR_CAPTURE_LINK_H
#define WEIR_CAPTURE_LINK_H

#include <stdbool.h>
#include <stdint.h>

#include "capture/capture.h"
#include "packet/parse.h"

/* Bytes of a frame that are kept: as many as a worker gathers of a frame in several buffers. */
#define FRAME_BYTES 2048

/* A frame, as far as a worker reads it. */
struct frame {
	uint64_t time_ns;
	uint64_t index;    /* number of the packet in the capture, from 1 */
	uint32_t bytes;    /* length of the whole frame on the wire, without its FCS */
	uint32_t captured; /* bytes in data */
	bool cut;          /* the capture does not contain all bytes */
	uint8_t data[FRAME_BYTES];
};

/* Returns true if link_frame() supports this DLT_: Ethernet and raw IP. */
bool link_supported(int link);

/*
 * Fills in the frame, except its index. A raw IP packet gets an Ethernet header without a VLAN: 14
 * more bytes, which only "l2" and "wire" accounting charge.
 */
void link_frame(const struct capture_packet *packet, struct frame *frame);

#endif
