/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * What Weir wants to know of a packet, from its first bytes. Pure; no DPDK. Any lcore.
 */
#ifndef WEIR_CLASSIFY_PARSE_H
#define WEIR_CLASSIFY_PARSE_H

#include <stdint.h>

#define PARSE_BYTES_MAX 256 /* never looks further into a packet */
#define PARSE_NO_VLAN   0xffff

enum packet_family { PACKET_OTHER = 0, PACKET_IPV4 = 4, PACKET_IPV6 = 6 };

struct packet {
	uint8_t family;   /* enum packet_family; PACKET_OTHER never matches an address or a DSCP */
	uint8_t dscp;     /* 0–63; 0 for PACKET_OTHER */
	uint8_t proto;    /* transport protocol after extension headers; 0 unknown */
	uint8_t fragment; /* 1 when the packet is a fragment (any of them) */
	uint16_t l2_len;  /* bytes before the L3 header: Ethernet and VLAN tags */
	uint16_t vlan;    /* outermost VLAN id, or PARSE_NO_VLAN */
	uint16_t src_off; /* offset of the source address; valid for IPv4 and IPv6 */
	uint16_t dst_off;
	uint16_t l4_off;   /* offset of the transport header; 0 when unknown */
	uint8_t tcp_flags; /* byte 13 of the TCP header; 0 when it is not TCP or not all there */
	uint8_t ecn;       /* 0–3: the two bits below the DSCP; 0 for PACKET_OTHER */
	uint16_t src_port; /* 0 when the protocol has none, or it is not known: a fragment's */
	uint16_t dst_port;
	uint32_t flow_hash; /* packet_flow_hash() is how to read it */
};

/*
 * Parses the first len bytes of a frame (of which at most PARSE_BYTES_MAX are read). Never fails:
 * what cannot be understood is PACKET_OTHER, and a header cut short ends the parse at the layer
 * before it.
 */
void packet_parse(const uint8_t *data, uint32_t len, struct packet *out);

/*
 * Hash of the 5-tuple; of addresses and protocol for fragments; of MACs and EtherType for
 * PACKET_OTHER. `data` is what the packet was parsed from.
 */
static inline uint32_t packet_flow_hash(const struct packet *packet, const uint8_t *data)
{
	(void)data;
	return packet->flow_hash;
}

#endif
