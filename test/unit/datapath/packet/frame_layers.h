/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Builds frames from layers for tests of parsing, and compares the parsed fields.
 */
#ifndef WEIR_TEST_FRAME_LAYERS_H
#define WEIR_TEST_FRAME_LAYERS_H

#include "check.h"

#include "packet/parse.h"

#define LAYERS_MAX 14

enum { HOP = 0, ICMP = 1, TCP = 6, UDP = 17, DCCP = 33, ROUTING = 43, FRAGMENT = 44, GRE = 47 };
enum { ESP = 50, AH = 51, NO_NEXT = 59, DEST = 60, MOBILITY = 135, SCTP = 132, UDP_LITE = 136 };
enum { T_IPV4 = 0x0800, T_ARP = 0x0806, T_VLAN = 0x8100, T_IPV6 = 0x86dd, T_QINQ = 0x88a8 };
enum { T_MPLS = 0x8847, T_MPLS_M = 0x8848, T_PPPOE = 0x8864, T_BRIDGED = 0x6558 };
enum { PPP_IPV4 = 0x21, PPP_IPV6 = 0x57, PPP_LCP = 0xc021, IPIP = 4, SIXIN4 = 41, VXLAN = 4789 };
enum { T_9100 = 0x9100, DSCP_EF = 46, ECT1 = 1, PATTERN = 0x50, TCP_FLAGS = 13 };

enum layer_kind {
	END,
	ETHER,        /* EtherType */
	TAG,          /* TCI, next EtherType */
	V4,           /* protocol, words of options, flags and fragment offset */
	V6,           /* next header */
	EXT,          /* next header, length byte, bytes */
	V6FRAG,       /* next header, offset and flag */
	LABEL,        /* MPLS: label, bottom-of-stack bit */
	PPPOE,        /* PPP protocol of a session */
	GRE_HEADER,   /* flags and version, type; includes all fields that the flags announce */
	UDP_HEADER,   /* destination port */
	VXLAN_HEADER, /* flags */
	PAYLOAD,      /* bytes, counted in the IP lengths */
	PADDING,      /* bytes, not counted */
	PATCH,        /* offset in the frame, byte: overwritten at the end */
};

/* A layer's kind and the values listed after it above. In an array zeros can be left out. */
typedef unsigned layer[4];

struct frame {
	uint8_t bytes[600];
	unsigned len, end;             /* end: of the IP packets */
	unsigned n_ip, l3[4], ipv6[4]; /* IP packets, outermost first */
};

#define PACKET_V4(l2, id, p, l4)                                                         \
	{                                                                                \
		.family = 4, .dscp = DSCP_EF, .ecn = ECT1, .proto = (p), .l2_len = (l2), \
		.vlan = (id), .src_off = (l2) + 12, .dst_off = (l2) + 16, .l4_off = (l4) \
	}
#define PACKET_V6(l2, id, p, l4)                                                         \
	{                                                                                \
		.family = 6, .dscp = DSCP_EF, .ecn = ECT1, .proto = (p), .l2_len = (l2), \
		.vlan = (id), .src_off = (l2) + 8, .dst_off = (l2) + 24, .l4_off = (l4)  \
	}
#define FRAGMENT_V4(which, p, l4)                                                                  \
	{                                                                                          \
		.family = 4, .dscp = DSCP_EF, .ecn = ECT1, .proto = (p), .fragment = (which),      \
		.l2_len = 14, .vlan = PARSE_NO_VLAN, .src_off = 26, .dst_off = 30, .l4_off = (l4), \
		.id_off = 18                                                                       \
	}
#define FRAGMENT_V6(which, p, id, l4)                                                              \
	{                                                                                          \
		.family = 6, .dscp = DSCP_EF, .ecn = ECT1, .proto = (p), .fragment = (which),      \
		.l2_len = 14, .vlan = PARSE_NO_VLAN, .src_off = 22, .dst_off = 38, .l4_off = (l4), \
		.id_off = (id)                                                                     \
	}
#define FIRST PACKET_FRAGMENT_FIRST
#define LATER PACKET_FRAGMENT_LATER
#define OTHER(l2, id)                        \
	{                                    \
		.l2_len = (l2), .vlan = (id) \
	}
#define NO_TAG PARSE_NO_VLAN
#define EXT8(n)                \
	{                      \
		EXT, (n), 0, 8 \
	}

/* Builds a frame from the layers before the first END. Sets the lengths. */
void build_frame(const layer *layers, struct frame *frame);

/* Writes the checksum of the IPv4 header at offset l3. The builder leaves it 0. */
void put_checksum(uint8_t *bytes, unsigned l3);

/* Compares all fields except ports, flags and hash. */
void expect_fields(const char *name, const struct packet *got, const struct packet *want);

#endif
