/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * A classifier as lines of 64 bytes without pointers, so that a kernel program can search it. Links
 * are line numbers. Both sides compile this, so it uses kernel types only. Line 0 is the header,
 * which locates the rest. tables.h, fib4.h and lpm6.h document the contents.
 */
#ifndef WEIR_CLASSIFY_LINES_FORMAT_H
#define WEIR_CLASSIFY_LINES_FORMAT_H

#include <linux/types.h>

#define LINES_VERSION 2

/* Answers that are not policies: no policy; and a bound is exceeded, so a worker must decide. */
#define LINES_NONE  0xffffffffU
#define LINES_ASIDE 0xfffffffeU

/* Starts that are rules: these bits and the rule's number. */
#define LINES_CHAIN (3U << 30)

struct classify_line {
	__u64 word[8];
};

/* The prefixes of one of a packet's two addresses. */
struct lines_table {
	__u32 v4;           /* first line of its IPv4 prefixes; 0: all addresses have root4 */
	__u32 v6;           /* the same for IPv6; LINES_NODES lines of nodes, then its buckets */
	__u32 root4, root6; /* starts of addresses outside all prefixes */
	__u8 directions;    /* a bit for each direction that uses this table */
	__u8 few;           /* v4 is a struct lines_few */
	__u8 steps;         /* most steps of a search in v6 */
	__u8 unused;
};

struct lines_header {
	__u32 version;
	__u32 any;        /* start if no policy with addresses matches */
	__u32 by_vlan;    /* first line of starts by VLAN, used instead; 0: none */
	__u32 rules;      /* first line of rules */
	__u32 first_rule; /* number of the first exported rule */
	struct lines_table dst, src;
	__u32 drops; /* bitmap: wires that drop packets without a policy */
};

/* First address of each of few ranges of all IPv4 addresses, in order, and its start. */
#define LINES_FEW 16
struct lines_few {
	__u32 first[LINES_FEW];
	__u32 start[LINES_FEW];
};

/*
 * Other IPv4 prefixes: entries, 16 per line, by the first 16 bits of an address. A link counts in
 * units of 4 words from the first entry. It leads to 256 more entries, or to the ends of ranges
 * (each less 2^15, in 16 bits) and the starts of these.
 */
#define LINES_FURTHER     0x40000000U
#define LINES_TABLE       0x60000000U
#define LINES_PLACE       0x1fffffffU
#define LINES_UNIT_WORDS  4
#define LINES_UNIT_BOUNDS 8

/* A length of IPv6 prefixes: node 1 is the root, 2i and 2i + 1 are its children. */
struct lines_node {
	__u64 mask[2];
	__u32 first, n_buckets;
	__u64 unused;
};
#define LINES_NODES 128 /* lines of two nodes each */

#define LINES_SLOTS       3
#define LINES_FURTHER_MAX 2 /* overflow buckets; LINES_ASIDE beyond these */
struct lines_bucket {
	__u64 addr[LINES_SLOTS][2];
	__u32 start[LINES_SLOTS];
	__u32 further; /* index of its overflow bucket; 0: none */
};

struct lines_rule {
	__u64 key, mask;
	__u32 policy, next;
	__u16 src_first, src_last, dst_first, dst_last;
	__u64 src[2], src_mask[2];
};

/* Returns which of n_buckets an IPv6 address is in. */
static inline __attribute__((always_inline)) __u32 lines_hash6(
	__u64 high, __u64 low, __u32 n_buckets)
{
	__u64 h = high * 0x9e3779b97f4a7c15ULL;

	h = (h ^ h >> 32 ^ low) * 0xd6e8feb86659fd93ULL;
	return (__u32)((h >> 32) * n_buckets >> 32);
}

#endif
