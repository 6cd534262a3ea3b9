/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Parsing that starts within a packet, for packets in packets. Private to this folder. Pure; any
 * lcore.
 *
 * No function reads data[len] or later. *out is an empty packet ({.vlan = PARSE_NO_VLAN}), and
 * stays PACKET_OTHER unless there is a complete, valid IP header.
 */
#ifndef WEIR_PACKET_LAYERS_H
#define WEIR_PACKET_LAYERS_H

#include <stdint.h>

#include "packet/parse.h"

#define ETHERTYPE_IPV4  0x0800
#define ETHERTYPE_IPV6  0x86dd
#define ETHERTYPE_ETHER 0x6558 /* transparent Ethernet bridging, in GRE */

enum {
	PROTO_IPV4 = 4,
	PROTO_TCP = 6,
	PROTO_UDP = 17,
	PROTO_IPV6 = 41,
	PROTO_GRE = 47,
	PROTO_SCTP = 132,
	PROTO_DCCP = 33,
};

/* Parses the Ethernet header at data[off], and all headers that follow. */
void layers_ethernet(const uint8_t *data, uint32_t len, uint32_t off, struct packet *out);

/* Parses the payload of an EtherType at data[off]. off can be greater than len. */
void layers_payload(
	const uint8_t *data, uint32_t len, uint32_t off, uint16_t type, struct packet *out);

/*
 * Returns the offset of the length field in a frame's PPPoE header, or 0 if it has none. The frame
 * has an IP header after l2_len bytes.
 */
uint32_t layers_pppoe_length(const uint8_t *data, uint32_t l2_len);

/* Returns the end of the IP packet whose addresses `packet` has, at most len. */
uint32_t layers_ip_end(const uint8_t *data, uint32_t len, const struct packet *packet);

#endif
