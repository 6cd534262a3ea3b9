/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Recognizes a plain frame: Ethernet with at most one tag, then IPv4 without options and not
 * fragmented, or IPv6 directly followed by its transport header. Two words are enough. Private to
 * this folder; pure.
 */
#ifndef WEIR_CLASSIFY_PLAIN_H
#define WEIR_CLASSIFY_PLAIN_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/wire.h"
#include "classify/lpm6.h"
#include "packet/parse.h"

#define ETHER_LEN 14
#define VLAN_LEN  4
#define TAGGED    (ETHER_LEN + VLAN_LEN)

#define IPV4_LEN 20
#define IPV4_SRC PACKET_IPV4_SRC
#define IPV4_DST 16
#define IPV6_LEN 40
#define IPV6_SRC PACKET_IPV6_SRC
#define IPV6_DST 24

#define ETHERTYPE_IPV4 0x0800
#define ETHERTYPE_IPV6 0x86dd
#define ETHERTYPE_VLAN 0x8100
#define ETHERTYPE_QINQ 0x88a8
#define ETHERTYPE_9100 0x9100

/*
 * The first bytes of plain IPv4: EtherType, version and header length in words, TOS (masked), total
 * length and ID. A plain frame exceeds the least such value by less than 2^32.
 */
#define PLAIN_V4_MASK (~(UINT64_C(0xff) << 32))
#define PLAIN_V4      (UINT64_C(0x08004500) << 32 | IPV4_LEN << 16)
#define V4_FRAGMENT   0x3fff /* more-fragments flag and offset */

/* The first bytes of plain IPv6: EtherType and version. */
#define PLAIN_V6_MASK UINT32_C(0xfffff000)
#define PLAIN_V6      UINT32_C(0x86dd6000)

/* Next headers of IPv6 that are extension headers; all of them are below 64. */
#define EXTENSIONS                                                            \
	(UINT64_C(1) << IPPROTO_HOPOPTS | UINT64_C(1) << IPPROTO_ROUTING |    \
		UINT64_C(1) << IPPROTO_FRAGMENT | UINT64_C(1) << IPPROTO_AH | \
		UINT64_C(1) << IPPROTO_DSTOPTS)

/* Returns 0 if the bytes after l2, at least IPV4_LEN, are plain IPv4. */
static inline uint64_t not_plain4(const uint8_t *data, unsigned l2)
{
	const uint64_t begin = (read_be64(data + l2 - 2) & PLAIN_V4_MASK) - PLAIN_V4;

	return begin >> 32 | (read_raw16(data + l2 + 6) & htobe16(V4_FRAGMENT));
}

/* Returns 0 if the bytes after l2, at least IPV6_LEN, are plain IPv6. */
static inline uint32_t not_plain6(const uint8_t *data, unsigned l2)
{
	const uint8_t next = data[l2 + 6];

	return ((read_raw32(data + l2 - 2) ^ htobe32(PLAIN_V6)) & htobe32(PLAIN_V6_MASK)) |
	       (next < 64 && EXTENSIONS >> next & 1);
}

/*
 * Returns whether n frames, at least one, are all plain IPv4 after l2 bytes, with the first frame's
 * tag. If so, addr[] has the 4 bytes at l2 + `at` of each, in host order. There is no branch per
 * frame. len: NULL if all frames have at least 46 bytes after l2. Worker lcores.
 */
bool all_plain4(const uint8_t *const *data, const uint32_t *len, unsigned n, unsigned l2,
	unsigned at, uint32_t *addr);

/* all_plain4() for IPv6. addr[] has 16 bytes of each frame, in network order. */
bool all_plain6(const uint8_t *const *data, const uint32_t *len, unsigned n, unsigned l2,
	unsigned at, struct lpm6_addr *addr);

/* Returns whether n frames all have at least `bytes`. */
static inline bool all_hold(const uint32_t *len, unsigned n, uint32_t bytes)
{
	uint32_t missing = 0; /* highest bit; no frame has 2 GB */

	for (unsigned i = 0; i < n; i++)
		missing |= len[i] - bytes;
	return missing >> 31 == 0;
}

#endif
