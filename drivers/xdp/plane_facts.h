/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * What classify.bpf.h knows of a packet. Both sides compile it.
 */
#ifndef WEIR_XDP_PLANE_FACTS_H
#define WEIR_XDP_PLANE_FACTS_H

#include <linux/types.h>

#define FACTS_NO_VLAN 0xffff /* as PARSE_NO_VLAN */
#define FACTS_IPV4    4
#define FACTS_IPV6    6

enum plane_parsed {
	PLANE_ASIDE,  /* not understood here: a worker may */
	PLANE_NOT_IP, /* and that is for sure */
	PLANE_PARSED,
};

struct plane_facts {
	__u64 src[2], dst[2]; /* as in the packet; IPv4 in the first four bytes; zero behind */
	__u32 wire;           /* the caller's, like direction: of classify_burst() */
	__u32 len;            /* of the frame */
	__u16 l2_len;
	__u16 vlan; /* outermost, or FACTS_NO_VLAN */
	__u16 src_port, dst_port;
	__u8 family; /* 0: no IP */
	__u8 dscp;   /* 0 where there is no IP, as in struct packet */
	__u8 proto;
	__u8 direction;
	__u32 padding; /* packet_padding(); fills the struct, so that copies have no unknown byte */
};

#endif
