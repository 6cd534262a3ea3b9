/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Marks a packet instead of dropping it: congestion experienced (RFC 3168), or another DSCP (RFC
 * 2474).
 */
#include "packet/mark.h"

#include "base/wire.h"
#include "packet/mark_core.h"
#include "policy/policy.h"

#define IPV4_LEN      20u
#define IPV6_LEN      40u
#define IPV4_CHECKSUM 10 /* offset in the header */

static bool mark_byte(uint8_t before, int mark, uint8_t *after)
{
	return mark_class(before, mark == MARK_ECN, (uint8_t)mark, after);
}

static bool mark_ipv4(uint8_t *ip, int mark)
{
	uint16_t before = read_be16(ip), checksum = read_be16(ip + IPV4_CHECKSUM);
	uint8_t tos;

	if (!mark_byte(ip[1], mark, &tos))
		return false;
	if (tos == ip[1])
		return true;
	ip[1] = tos;
	wire_put16(ip + IPV4_CHECKSUM, checksum_update(checksum, before, read_be16(ip)));
	return true;
}

/* The traffic class is in the first two bytes, between version and flow label. */
static bool mark_ipv6(uint8_t *ip, int mark)
{
	uint16_t word = read_be16(ip);
	uint8_t traffic_class;

	if (!mark_byte(word >> 4 & 0xff, mark, &traffic_class))
		return false;
	wire_put16(ip, (word & 0xf00f) | (uint16_t)(traffic_class << 4));
	return true;
}

bool mark_understood(const uint8_t *data, uint32_t len, const struct packet *packet)
{
	const uint8_t *ip = data + packet->l2_len;
	uint32_t there = packet->l2_len < len ? len - packet->l2_len : 0;

	if (packet->family == PACKET_OTHER || there < IPV4_LEN)
		return false;
	if (ip[0] >> 4 == 4)
		return (ip[1] & ECN_BITS) != NOT_ECT;
	return there >= IPV6_LEN && (read_be16(ip) >> 4 & ECN_BITS) != NOT_ECT;
}

bool mark_frame(uint8_t *data, uint32_t len, const struct packet *packet, int mark)
{
	uint8_t *ip = data + packet->l2_len;
	uint32_t there = packet->l2_len < len ? len - packet->l2_len : 0;

	if (packet->family == PACKET_OTHER || there < IPV4_LEN)
		return false;
	/* packet->family can be that of a packet inside a tunnel. This is the outermost header. */
	if (ip[0] >> 4 == 4)
		return mark_ipv4(ip, mark);
	return there >= IPV6_LEN && mark_ipv6(ip, mark);
}
