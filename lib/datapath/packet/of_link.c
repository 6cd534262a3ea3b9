/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Protocols between the two ends of a link, which the link needs to work.
 */
#include "packet/parse.h"

#include <netinet/in.h>

#include "base/wire.h"

#define TYPE_IPV4 0x0800
#define TYPE_IPV6 0x86dd

#define ETHER_LEN 14
#define IPV4_DST  16
#define IPV6_LEN  40
#define IPV6_SRC  8
#define IPV6_DST  24

#define FORWARDED_BY_NONE 255 /* a hop limit that no router has decremented */
#define ND_FIRST          133 /* router solicitation; the last one is redirect (RFC 4861) */
#define ND_LAST           137

static bool ipv4_is_of_link(const uint8_t *ip)
{
	const uint32_t dst = read_be32(ip + IPV4_DST);

	return (dst & 0xffffff00) == 0xe0000000 || dst == INADDR_BROADCAST;
}

static bool is_link_local6(const uint8_t *addr)
{
	return addr[0] == 0xfe && (addr[1] & 0xc0) == 0x80;
}

/*
 * Returns whether a packet is neighbour discovery. whole: the transport header directly follows the
 * IP header, so its first byte is within the packet.
 */
static bool is_discovery(const uint8_t *ip, bool whole)
{
	return whole && ip[6] == IPPROTO_ICMPV6 && ip[7] == FORWARDED_BY_NONE &&
	       ip[IPV6_LEN] >= ND_FIRST && ip[IPV6_LEN] <= ND_LAST;
}

static bool ipv6_is_of_link(const uint8_t *ip, bool whole)
{
	const uint8_t *dst = ip + IPV6_DST;

	return (dst[0] == 0xff && (dst[1] & 0x0f) == 2) || is_link_local6(dst) ||
	       is_link_local6(ip + IPV6_SRC) || is_discovery(ip, whole);
}

static bool is_ip_type(const struct packet *packet, const uint8_t *data)
{
	uint16_t type;

	if (packet->l2_len < ETHER_LEN)
		return false;
	type = read_be16(data + packet->l2_len - 2);
	return type == TYPE_IPV4 || type == TYPE_IPV6;
}

bool packet_is_of_link(const struct packet *packet, const uint8_t *data)
{
	const uint8_t *ip = data + packet->l2_len;

	if (packet->unparsed != UNPARSED_NONE)
		return false;
	if (packet->family == PACKET_OTHER)
		return !is_ip_type(packet, data);
	if (ip[0] >> 4 == 4)
		return ipv4_is_of_link(ip);
	return ipv6_is_of_link(ip, packet->l4_off == packet->l2_len + IPV6_LEN);
}
