/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "link.h"

#include <string.h>

#define ETHER_LEN  14
#define ETHER_TYPE 12 /* where the EtherType is */

enum link_kind { LINK_REFUSED, LINK_ETHERNET, LINK_RAW };

/* See tcpdump.org/linktypes.html; 12 and 14 are raw IP as some systems write it. */
static const struct link {
	uint16_t number;
	enum link_kind kind;
	const char *name;
} links[] = {
	{0, LINK_REFUSED, "BSD loopback"},
	{1, LINK_ETHERNET, "Ethernet"},
	{9, LINK_REFUSED, "PPP"},
	{12, LINK_RAW, "raw IP"},
	{14, LINK_RAW, "raw IP"},
	{101, LINK_RAW, "raw IP"},
	{105, LINK_REFUSED, "IEEE 802.11"},
	{108, LINK_REFUSED, "OpenBSD loopback"},
	{113, LINK_REFUSED, "Linux cooked v1"},
	{127, LINK_REFUSED, "IEEE 802.11 with radiotap"},
	{228, LINK_RAW, "raw IPv4"},
	{229, LINK_RAW, "raw IPv6"},
	{276, LINK_REFUSED, "Linux cooked v2"},
};

static const struct link *find(uint16_t number)
{
	static const struct link unknown = {.name = "unknown"};

	for (unsigned i = 0; i < sizeof(links) / sizeof(links[0]); i++)
		if (links[i].number == number)
			return &links[i];
	return &unknown;
}

bool link_supported(uint16_t link)
{
	return find(link)->kind != LINK_REFUSED;
}

const char *link_name(uint16_t link)
{
	return find(link)->name;
}

/*
 * The header of a raw IP packet, without addresses, and the type that its first byte says. Nothing
 * captured, nothing known: then the header too ends before the type.
 */
static uint32_t ether_header(const struct pcap_packet *packet, uint8_t *data)
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

void link_frame(const struct pcap_packet *packet, struct frame *frame)
{
	bool raw = find(packet->link)->kind == LINK_RAW;
	uint32_t header = raw ? ether_header(packet, frame->data) : 0;
	uint32_t room = sizeof(frame->data) - header;
	uint32_t n = packet->captured < room ? packet->captured : room;

	memcpy(frame->data + header, packet->data, n);
	frame->time_ns = packet->time_ns;
	frame->bytes = packet->bytes + (raw ? ETHER_LEN : 0);
	frame->captured = header + n;
	frame->cut = packet->captured < packet->bytes;
}
