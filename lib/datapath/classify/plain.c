/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Checks all frames of a burst together: collects the differences from a plain frame, and checks
 * them after the loop.
 */
#include "classify/plain.h"

#include <string.h>

/* A byte per protocol, so that a check is one load. */
static const uint8_t is_extension[256] = {
	[IPPROTO_HOPOPTS] = 1,
	[IPPROTO_ROUTING] = 1,
	[IPPROTO_FRAGMENT] = 1,
	[IPPROTO_AH] = 1,
	[IPPROTO_DSTOPTS] = 1,
};

/* The difference between a frame's tag, if it has one, and the first frame's. */
static inline uint32_t other_tag(const uint8_t *data, unsigned l2, uint16_t tag)
{
	return l2 == ETHER_LEN ? 0 : read_raw16(data + ETHER_LEN - 2) ^ tag;
}

/*
 * all_plain4() for a constant l2, which makes the inlined code faster. all_plain_ipv6() is the same
 * for IPv6.
 */
static inline __attribute__((always_inline)) bool all_plain_ipv4(
	const uint8_t *const *data, unsigned n, unsigned l2, unsigned at, uint32_t *addr)
{
	const uint16_t tag = read_raw16(data[0] + ETHER_LEN - 2);
	uint64_t begin = 0;
	uint32_t fragment = 0, tags = 0;

	for (unsigned i = 0; i < n; i++) {
		const uint8_t *frame = data[i];

		begin |= (read_be64(frame + l2 - 2) & PLAIN_V4_MASK) - PLAIN_V4;
		fragment |= read_raw16(frame + l2 + 6);
		tags |= other_tag(frame, l2, tag);
		addr[i] = read_be32(frame + l2 + at);
	}
	return (begin >> 32 | (fragment & htobe16(V4_FRAGMENT)) | tags) == 0;
}

static inline __attribute__((always_inline)) bool all_plain_ipv6(
	const uint8_t *const *data, unsigned n, unsigned l2, unsigned at, struct lpm6_addr *addr)
{
	const uint16_t tag = read_raw16(data[0] + ETHER_LEN - 2);
	uint32_t begin = 0, extension = 0, tags = 0;

	for (unsigned i = 0; i < n; i++) {
		const uint8_t *frame = data[i];

		begin |= read_raw32(frame + l2 - 2) ^ htobe32(PLAIN_V6);
		extension |= is_extension[frame[l2 + 6]];
		tags |= other_tag(frame, l2, tag);
		memcpy(&addr[i], frame + l2 + at, sizeof(addr[i]));
	}
	return ((begin & htobe32(PLAIN_V6_MASK)) | extension | tags) == 0;
}

bool all_plain4(const uint8_t *const *data, const uint32_t *len, unsigned n, unsigned l2,
	unsigned at, uint32_t *addr)
{
	if (len != NULL && !all_hold(len, n, l2 + IPV4_LEN))
		return false;
	return l2 == ETHER_LEN ? all_plain_ipv4(data, n, ETHER_LEN, at, addr)
			       : all_plain_ipv4(data, n, TAGGED, at, addr);
}

bool all_plain6(const uint8_t *const *data, const uint32_t *len, unsigned n, unsigned l2,
	unsigned at, struct lpm6_addr *addr)
{
	if (len != NULL && !all_hold(len, n, l2 + IPV6_LEN))
		return false;
	return l2 == ETHER_LEN ? all_plain_ipv6(data, n, ETHER_LEN, at, addr)
			       : all_plain_ipv6(data, n, TAGGED, at, addr);
}
