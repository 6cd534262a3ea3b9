/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "capture/link.h"

#include <string.h>

#include <pcap/dlt.h>

#define ETHER_LEN  14
#define ETHER_TYPE 12 /* offset of the EtherType */

#define RAW_OF_OPENBSD 14 /* DLT_RAW as OpenBSD writes it */

static bool link_is_raw(int link)
{
	return link == DLT_RAW || link == DLT_IPV4 || link == DLT_IPV6 || link == RAW_OF_OPENBSD;
}

bool link_supported(int link)
{
	return link == DLT_EN10MB || link_is_raw(link);
}

/*
 * Writes an Ethernet header for a raw IP packet, without addresses. The first byte of the packet
 * gives the type. Returns its length. If nothing was captured, the header ends before the type.
 */
static uint32_t ether_header(const struct capture_packet *packet, uint8_t *data)
{
	static const uint8_t type4[] = {0x08, 0x00}, type6[] = {0x86, 0xdd};
	uint8_t version;

	memset(data, 0, ETHER_LEN);
	if (packet->captured == 0)
		return ETHER_TYPE;
	version = packet->data[0] >> 4;
	if (version == 4 || version == 6)
		memcpy(data + ETHER_TYPE, version == 4 ? type4 : type6, sizeof(type4));
	return ETHER_LEN;
}

void link_frame(const struct capture_packet *packet, struct frame *frame)
{
	bool raw = link_is_raw(packet->link);
	uint32_t header = raw ? ether_header(packet, frame->data) : 0;
	uint32_t room = sizeof(frame->data) - header;
	uint32_t n = packet->captured < room ? packet->captured : room;

	memcpy(frame->data + header, packet->data, n);
	frame->time_ns = packet->time_ns;
	frame->bytes = packet->bytes + (raw ? ETHER_LEN : 0);
	frame->captured = header + n;
	frame->cut = packet->captured < packet->bytes;
}
