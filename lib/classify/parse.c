/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "classify/parse.h"

#include <endian.h>
#include <stdbool.h>
#include <string.h>

#define ETHER_LEN   14
#define VLAN_LEN    4
#define VLANS_MAX   4 /* twice what QinQ needs; a longer chain is nobody's network */
#define IPV4_LEN    20
#define IPV6_LEN    40
#define ADDR_OFF_V4 12
#define ADDR_OFF_V6 8
#define EXTENSION   8      /* bytes of the shortest IPv6 extension header, and its fixed part */
#define EXTENSIONS  8      /* longest chain followed */
#define TRANSPORT   4      /* the shortest transport header; also where the ports of all are */
#define TCP_FLAGS   13     /* where they are in the TCP header */
#define V4_FRAGMENT 0x3fff /* more-fragments flag and offset */
#define V6_FRAGMENT 0xfff9 /* offset and more-fragments flag, without the reserved bits */

#define ETHERTYPE_IPV4 0x0800
#define ETHERTYPE_IPV6 0x86dd
#define ETHERTYPE_VLAN 0x8100
#define ETHERTYPE_QINQ 0x88a8 /* 802.1ad */
#define ETHERTYPE_9100 0x9100 /* QinQ before there was a standard */

enum {
	PROTO_HOP_BY_HOP = 0,
	PROTO_TCP = 6,
	PROTO_UDP = 17,
	PROTO_DCCP = 33,
	PROTO_ROUTING = 43,
	PROTO_FRAGMENT = 44,
	PROTO_AH = 51,
	PROTO_NO_NEXT = 59,
	PROTO_DESTINATION = 60,
	PROTO_SCTP = 132,
	PROTO_UDP_LITE = 136,
};

static uint16_t be16(const uint8_t *p)
{
	uint16_t word;

	memcpy(&word, p, sizeof(word));
	return be16toh(word);
}

static uint32_t raw32(const uint8_t *p)
{
	uint32_t word;

	memcpy(&word, p, sizeof(word));
	return word;
}

static uint64_t raw64(const uint8_t *p)
{
	uint64_t word;

	memcpy(&word, p, sizeof(word));
	return word;
}

static uint32_t min32(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

/*
 * Each step is a bijection of h ^ word, so two keys that differ in one word only never collide in
 * the 64 bits. The odd multiplier (2^64 / golden ratio) carries differences upwards, the shift
 * brings them back down.
 */
static uint64_t hash_step(uint64_t h, uint64_t word)
{
	h = (h ^ word) * UINT64_C(0x9e3779b97f4a7c15);
	return h ^ (h >> 32);
}

/* One more round, of which only the upper half has seen every bit of the last word. */
static uint32_t hash_end(uint64_t h)
{
	return h * UINT64_C(0xd6e8feb86659fd93) >> 32;
}

static uint64_t transport_word(uint8_t proto, uint32_t ports)
{
	return (uint64_t)proto << 32 | ports;
}

static uint32_t hash_ethernet(const uint8_t *data, uint16_t type)
{
	uint64_t h = hash_step(0, raw64(data));

	return hash_end(hash_step(h, (uint64_t)type << 32 | raw32(data + 8)));
}

static uint32_t hash_runt(const uint8_t *data, uint32_t len)
{
	uint8_t padded[16] = {0};
	uint64_t h;

	if (len > 0)
		memcpy(padded, data, len);
	padded[15] = len;
	h = hash_step(0, raw64(padded));
	return hash_end(hash_step(h, raw64(padded + 8)));
}

static bool is_vlan(uint16_t type)
{
	return type == ETHERTYPE_VLAN || type == ETHERTYPE_QINQ || type == ETHERTYPE_9100;
}

/* Sets l2_len and vlan; returns the innermost EtherType, or the TPID of a tag cut short. */
static uint16_t parse_ethernet(const uint8_t *data, uint32_t len, struct packet *out)
{
	uint16_t type = be16(data + ETHER_LEN - 2);
	uint32_t off = ETHER_LEN;

	for (unsigned tags = 0; is_vlan(type) && tags < VLANS_MAX; tags++) {
		if (off + VLAN_LEN > len)
			break;
		if (tags == 0)
			out->vlan = be16(data + off) & 0xfff;
		type = be16(data + off + 2);
		off += VLAN_LEN;
	}
	out->l2_len = off;
	return type;
}

static bool has_ports(uint8_t proto)
{
	return proto == PROTO_TCP || proto == PROTO_UDP || proto == PROTO_SCTP ||
	       proto == PROTO_UDP_LITE || proto == PROTO_DCCP;
}

/*
 * Returns the ports as they lie in the packet, or 0. No fragment gets any, the first one neither:
 * the later ones have none, and all of them must hash alike.
 */
static uint32_t parse_transport(const uint8_t *data, uint32_t end, uint32_t off, struct packet *out)
{
	if (out->fragment || out->proto == PROTO_NO_NEXT || off + TRANSPORT > end)
		return 0;
	out->l4_off = off;
	if (out->proto == PROTO_TCP && off + TCP_FLAGS < end)
		out->tcp_flags = data[off + TCP_FLAGS];
	if (!has_ports(out->proto))
		return 0;
	out->src_port = be16(data + off);
	out->dst_port = be16(data + off + 2);
	return raw32(data + off);
}

/* False, with *out untouched, when this is no whole and sound IPv4 header. */
static bool parse_ipv4(const uint8_t *data, uint32_t len, struct packet *out)
{
	const uint32_t l3 = out->l2_len;
	const uint8_t *ip = data + l3;
	uint32_t header, total, ports;

	if (l3 + IPV4_LEN > len || ip[0] >> 4 != 4)
		return false;
	header = (ip[0] & 0xf) * 4;
	total = be16(ip + 2);
	if (header < IPV4_LEN || header > total || l3 + header > len)
		return false;
	out->family = PACKET_IPV4;
	out->dscp = ip[1] >> 2;
	out->ecn = ip[1] & 0x3;
	out->proto = ip[9];
	out->fragment = (be16(ip + 6) & V4_FRAGMENT) != 0;
	out->src_off = l3 + ADDR_OFF_V4;
	out->dst_off = out->src_off + 4;
	/* Bytes behind the total length are Ethernet's padding, not ports. */
	ports = parse_transport(data, min32(len, l3 + total), l3 + header, out);
	out->flow_hash = hash_end(hash_step(
		hash_step(0, raw64(data + out->src_off)), transport_word(out->proto, ports)));
	return true;
}

static bool is_extension(uint8_t next)
{
	return next == PROTO_HOP_BY_HOP || next == PROTO_ROUTING || next == PROTO_FRAGMENT ||
	       next == PROTO_DESTINATION || next == PROTO_AH;
}

static uint32_t extension_len(uint8_t type, const uint8_t *header)
{
	if (type == PROTO_FRAGMENT)
		return EXTENSION;
	if (type == PROTO_AH)
		return (header[1] + 2) * 4;
	return (header[1] + 1) * 8;
}

/*
 * Sets proto and fragment; returns where the transport header would be. proto stays 0 when the
 * chain is cut short or too long. A fragment header ends the walk, as what follows it is only
 * in the first fragment; one that says "offset 0, no more" (RFC 6946) is no fragment.
 */
static uint32_t parse_extensions(
	const uint8_t *data, uint32_t end, uint32_t off, uint8_t next, struct packet *out)
{
	unsigned seen;
	uint8_t type;

	for (seen = 0; is_extension(next) && !out->fragment; seen++) {
		if (seen == EXTENSIONS || off + EXTENSION > end)
			return off;
		type = next;
		next = data[off];
		if (type == PROTO_FRAGMENT)
			out->fragment = (be16(data + off + 2) & V6_FRAGMENT) != 0;
		off += extension_len(type, data + off);
	}
	out->proto = is_extension(next) ? 0 : next;
	return off;
}

/* Where the packet ends: behind it is padding. A jumbogram's length is in an option: no limit. */
static uint32_t ipv6_end(const uint8_t *ip, uint32_t l3, uint32_t len)
{
	const uint32_t payload = be16(ip + 4);

	if (payload == 0 && ip[6] == PROTO_HOP_BY_HOP)
		return len;
	return min32(len, l3 + IPV6_LEN + payload);
}

static uint32_t hash_ipv6(const uint8_t *addresses, uint64_t transport)
{
	uint64_t h = hash_step(0, raw64(addresses));

	h = hash_step(h, raw64(addresses + 8));
	h = hash_step(h, raw64(addresses + 16));
	h = hash_step(h, raw64(addresses + 24));
	return hash_end(hash_step(h, transport));
}

/* False, with *out untouched, when this is no whole IPv6 header. */
static bool parse_ipv6(const uint8_t *data, uint32_t len, struct packet *out)
{
	const uint32_t l3 = out->l2_len;
	const uint8_t *ip = data + l3;
	uint32_t end, off, ports;

	if (l3 + IPV6_LEN > len || ip[0] >> 4 != 6)
		return false;
	out->family = PACKET_IPV6;
	out->dscp = be16(ip) >> 6 & 0x3f;
	out->ecn = be16(ip) >> 4 & 0x3;
	out->src_off = l3 + ADDR_OFF_V6;
	out->dst_off = out->src_off + 16;
	end = ipv6_end(ip, l3, len);
	off = parse_extensions(data, end, l3 + IPV6_LEN, ip[6], out);
	ports = out->proto != 0 ? parse_transport(data, end, off, out) : 0;
	out->flow_hash = hash_ipv6(data + out->src_off, transport_word(out->proto, ports));
	return true;
}

void packet_parse(const uint8_t *data, uint32_t len, struct packet *out)
{
	uint16_t type;

	*out = (struct packet){.vlan = PARSE_NO_VLAN};
	len = min32(len, PARSE_BYTES_MAX);
	if (len < ETHER_LEN) {
		out->l2_len = len;
		out->flow_hash = hash_runt(data, len);
		return;
	}
	type = parse_ethernet(data, len, out);
	if (type == ETHERTYPE_IPV4 && parse_ipv4(data, len, out))
		return;
	if (type == ETHERTYPE_IPV6 && parse_ipv6(data, len, out))
		return;
	out->flow_hash = hash_ethernet(data, type);
}
