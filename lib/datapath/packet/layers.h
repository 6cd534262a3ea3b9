/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Parsing from the middle of a packet on, for what carries packets in packets. Private to this
 * folder. Pure; any lcore.
 *
 * Everywhere: nothing is read at or beyond data[len]; *out is an empty packet ({.vlan =
 * PARSE_NO_VLAN}) and stays PACKET_OTHER unless there is an IP header, whole and sound.
 */
#ifndef WEIR_CLASSIFY_LAYERS_H
#define WEIR_CLASSIFY_LAYERS_H

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

/* An Ethernet header at data[off], and all that follows. */
void layers_ethernet(const uint8_t *data, uint32_t len, uint32_t off, struct packet *out);

/* What an EtherType says is at data[off]: off may be beyond len. */
void layers_payload(
	const uint8_t *data, uint32_t len, uint32_t off, uint16_t type, struct packet *out);

/*
 * The offset of the length in the PPPoE header of a frame with an IP header behind l2_len bytes; 0
 * if it has none.
 */
uint32_t layers_pppoe_length(const uint8_t *data, uint32_t l2_len);

/* Where the IP packet ends whose addresses `packet` has, but never behind len. */
uint32_t layers_ip_end(const uint8_t *data, uint32_t len, const struct packet *packet);

#endif
