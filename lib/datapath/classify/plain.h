/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * What a plain frame is: Ethernet with no tag or one, then IPv4 without options that is no
 * fragment, or IPv6 with its transport header right behind. It is told by two words. Private to
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
 * How plain IPv4 begins: EtherType, version and the header's length in words, TOS, which is masked,
 * total length and ID. What is at least the least one of these exceeds it by less than 32 bits.
 */
#define PLAIN_V4_MASK (~(UINT64_C(0xff) << 32))
#define PLAIN_V4      (UINT64_C(0x08004500) << 32 | IPV4_LEN << 16)
#define V4_FRAGMENT   0x3fff /* more-fragments flag and offset */

/* And IPv6: EtherType and version. */
#define PLAIN_V6_MASK UINT32_C(0xfffff000)
#define PLAIN_V6      UINT32_C(0x86dd6000)

/* Next headers of IPv6 that are none of a transport; all of them are below 64. */
#define EXTENSIONS                                                            \
	(UINT64_C(1) << IPPROTO_HOPOPTS | UINT64_C(1) << IPPROTO_ROUTING |    \
		UINT64_C(1) << IPPROTO_FRAGMENT | UINT64_C(1) << IPPROTO_AH | \
		UINT64_C(1) << IPPROTO_DSTOPTS)

/* By how much what lies behind l2 bytes, at least IPV4_LEN, is not plain IPv4; 0 if it is. */
static inline uint64_t not_plain4(const uint8_t *data, unsigned l2)
{
	const uint64_t begin = (read_be64(data + l2 - 2) & PLAIN_V4_MASK) - PLAIN_V4;

	return begin >> 32 | (read_raw16(data + l2 + 6) & htobe16(V4_FRAGMENT));
}

/* Not 0 unless it is plain IPv6, of at least IPV6_LEN. */
static inline uint32_t not_plain6(const uint8_t *data, unsigned l2)
{
	const uint8_t next = data[l2 + 6];

	return ((read_raw32(data + l2 - 2) ^ htobe32(PLAIN_V6)) & htobe32(PLAIN_V6_MASK)) |
	       (next < 64 && EXTENSIONS >> next & 1);
}

/*
 * Whether n frames, at least one, are all plain IPv4 behind l2 bytes, of which a tag is the first
 * one's; and if so, the 4 bytes `at` bytes behind those as words of the host. No branch on a frame.
 * `len` is NULL if all frames have 46 bytes behind l2. Worker lcores.
 */
bool all_plain4(const uint8_t *const *data, const uint32_t *len, unsigned n, unsigned l2,
	unsigned at, uint32_t *addr);

/* Whether all are plain IPv6, and 16 bytes of each as they are. */
bool all_plain6(const uint8_t *const *data, const uint32_t *len, unsigned n, unsigned l2,
	unsigned at, struct lpm6_addr *addr);

/* Whether n frames all have `bytes`. */
static inline bool all_hold(const uint32_t *len, unsigned n, uint32_t bytes)
{
	uint32_t missing = 0; /* in the uppermost bit: no frame has 2 GB */

	for (unsigned i = 0; i < n; i++)
		missing |= len[i] - bytes;
	return missing >> 31 == 0;
}

#endif
