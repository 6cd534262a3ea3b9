/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The fields of a packet that classify.bpf.h uses. Both sides compile it.
 */
#ifndef WEIR_XDP_PLANE_FACTS_H
#define WEIR_XDP_PLANE_FACTS_H

#include <linux/types.h>

#define FACTS_NO_VLAN 0xffff /* PARSE_NO_VLAN */
#define FACTS_IPV4    4
#define FACTS_IPV6    6

enum plane_parsed {
	PLANE_ASIDE,  /* not parsed here: a worker decides */
	PLANE_NOT_IP, /* certain not to be IP */
	PLANE_PARSED,
};

struct plane_facts {
	__u64 src[2], dst[2]; /* network order; IPv4 in the first four bytes, then zeros */
	__u32 wire;           /* set by the caller, like direction: as in classify_burst() */
	__u32 len;            /* frame length */
	__u16 l2_len;
	__u16 vlan; /* outermost, or FACTS_NO_VLAN */
	__u16 src_port, dst_port;
	__u8 family; /* 0: not IP */
	__u8 dscp;   /* 0 if not IP, as in struct packet */
	__u8 proto;
	__u8 direction;
	__u32 padding; /* packet_padding(); fills the struct, so copies have no undefined byte */
};

#endif
