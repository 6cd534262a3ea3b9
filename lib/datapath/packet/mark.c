/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "packet/mark.h"

#include "base/wire.h"
#include "policy/policy.h"

#define IPV4_LEN      20u
#define IPV6_LEN      40u
#define IPV4_CHECKSUM 10 /* offset in the header */

#define ECN_BITS 0x3
#define ECN_CE   0x3
#define NOT_ECT  0x0

/* What the byte of DSCP and ECN becomes; false when the packet cannot bear the mark. */
static bool mark_byte(uint8_t traffic_class, int mark, uint8_t *out)
{
	if (mark == MARK_ECN) {
		*out = traffic_class | ECN_CE;
		return (traffic_class & ECN_BITS) != NOT_ECT;
	}
	*out = (uint8_t)(mark << 2) | (traffic_class & ECN_BITS);
	return true;
}

/*
 * RFC 1624, equation 3: the checksum after one word of what it covers has changed. The changed word
 * is never 0 (it begins with version 4), and so 0 comes out where a sum over the whole header has
 * it; a checksum that was wrong stays wrong.
 */
static uint16_t checksum_update(uint16_t checksum, uint16_t old, uint16_t new)
{
	uint32_t sum = (uint16_t)~checksum + (uint32_t)(uint16_t)~old + new;

	sum = (sum & 0xffff) + (sum >> 16);
	sum = (sum & 0xffff) + (sum >> 16);
	return (uint16_t)~sum;
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

/* The traffic class lies across the first two bytes, between version and flow label. */
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
	/* The family is that of the addresses, which may be those of inside a tunnel. */
	if (ip[0] >> 4 == 4)
		return mark_ipv4(ip, mark);
	return there >= IPV6_LEN && mark_ipv6(ip, mark);
}
