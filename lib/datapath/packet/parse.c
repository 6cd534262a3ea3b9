/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Parses a packet's first bytes into the fields that Weir needs.
 */
#include "packet/parse.h"

#include <stdbool.h>

#include "base/layer2.h"
#include "base/math.h"
#include "base/wire.h"
#include "packet/layers.h"
#include "policy/policy.h"

#define LABEL_BOTTOM  2      /* byte of a label with the bottom-of-stack bit */
#define PPPOE_LENGTH  4      /* offset of its payload's length */
#define PPPOE_SESSION 0x1100 /* version 1, type 1, code 0 */
#define IPV4_LEN      20
#define IPV6_LEN      40
#define V4_FIRST_MIN  0x45 /* first byte: version, and words of the header */
#define V4_FIRST_MAX  0x4f
#define ADDR_OFF_V4   PACKET_IPV4_SRC
#define ADDR_OFF_V6   PACKET_IPV6_SRC
#define ID_OFF_V4     4
#define EXTENSION     8  /* shortest IPv6 extension header, and its fixed part */
#define EXTENSIONS    64 /* longest chain followed: its steps take at least 512 bytes */
#define ID_OFF_V6     4  /* in the fragment header */
#define TRANSPORT     4  /* shortest transport header, which has the ports */
#define TCP_FLAGS     13 /* offset in the TCP header */

/* Masks of the fragment offset, and of the offset and the more-fragments flag. */
#define V4_FRAGMENT        0x3fff
#define V4_FRAGMENT_OFFSET 0x1fff
#define V6_FRAGMENT        0xfff9
#define V6_FRAGMENT_OFFSET 0xfff8

#define ETHERTYPE_VLAN   0x8100
#define ETHERTYPE_QINQ   0x88a8 /* 802.1ad */
#define ETHERTYPE_9100   0x9100 /* QinQ before the standard */
#define ETHERTYPE_MPLS   0x8847
#define ETHERTYPE_MPLS_M 0x8848 /* multicast in the past, upstream-assigned labels now (RFC 5332) */
#define ETHERTYPE_PPPOE  0x8864
#define PPP_IPV4         0x0021
#define PPP_IPV6         0x0057
#define PPP_COMPRESSED \
	0x0100 /* in the first byte: one byte only (RFC 1661, 6.5); receivers accept it */

enum {
	PROTO_HOP_BY_HOP = 0,
	PROTO_ROUTING = 43,
	PROTO_FRAGMENT = 44,
	PROTO_AH = 51,
	PROTO_NO_NEXT = 59,
	PROTO_DESTINATION = 60,
};

static inline void take_ports(const uint8_t *transport, struct packet *out)
{
	const uint32_t ports = read_be32(transport);

	out->src_port = ports >> 16;
	out->dst_port = ports & 0xffff;
}

static void parse_authenticated(
	const uint8_t *data, uint32_t end, uint32_t off, struct packet *out);

/* Parses the transport header of a packet that is not a fragment. Nearly all are TCP and UDP. */
static inline void parse_transport(
	const uint8_t *data, uint32_t end, uint32_t off, uint8_t proto, struct packet *out)
{
	if (off + TRANSPORT > end || proto == PROTO_NO_NEXT) {
		if (proto == PROTO_AH)
			parse_authenticated(data, end, off, out);
		return;
	}
	out->l4_off = off;
	if (proto == PROTO_TCP) {
		take_ports(data + off, out);
		if (off + TCP_FLAGS < end)
			out->tcp_flags = data[off + TCP_FLAGS];
	} else if (proto_has_ports(proto)) {
		take_ports(data + off, out);
	} else if (proto == PROTO_AH) {
		parse_authenticated(data, end, off, out);
	}
}

/* Bytes of a protocol's header that must be in the first fragment; 0 if no caller needs any. */
static uint32_t transport_bytes(uint8_t proto)
{
	switch (proto) {
	case PROTO_TCP:
		return 20;
	case PROTO_SCTP:
	case PROTO_DCCP:
		return 12;
	default:
		return proto_has_ports(proto) ? 8 : 0;
	}
}

/*
 * Follows authentication headers of IPv4, which do not encrypt. Returns the offset of the header
 * after them, and sets out->proto to its protocol.
 */
static uint32_t skip_authentication(
	const uint8_t *data, uint32_t end, uint32_t off, struct packet *out)
{
	for (unsigned seen = 0; out->proto == PROTO_AH; seen++) {
		if (seen == EXTENSIONS || off + EXTENSION > end) {
			out->unparsed = seen == EXTENSIONS ? UNPARSED_CHAIN_LONG
							   : UNPARSED_CHAIN_CUT;
			out->unknown = PACKET_UNKNOWN_TRANSPORT;
			out->proto = 0;
			break;
		}
		out->proto = data[off];
		off += (data[off + 1] + 2) * 4;
	}
	return off;
}

/* Parses the first fragment of a packet, which has the transport header unless it is too short. */
static __attribute__((noinline)) void parse_first(
	const uint8_t *data, uint32_t end, uint32_t off, struct packet *out)
{
	uint32_t wanted;

	if (out->proto == PROTO_AH)
		off = skip_authentication(data, end, off, out);
	if (out->unparsed != UNPARSED_NONE)
		return;
	wanted = transport_bytes(out->proto);
	if (out->proto != 0 && out->proto != PROTO_NO_NEXT && off + TRANSPORT <= end)
		out->l4_off = off;
	if (off + wanted > end) {
		out->unparsed = UNPARSED_FRAGMENT_TINY;
		out->unknown = PACKET_UNKNOWN_FLAGS;
		out->unknown |= out->l4_off == 0 ? PACKET_UNKNOWN_PORTS : 0;
	} else if (out->proto == PROTO_TCP) {
		out->tcp_flags = data[off + TCP_FLAGS];
	}
}

/*
 * Parses a fragment. No fragment gets ports, not even the first, because later ones have none, and
 * all must be classified and hashed to the same result. packet/fragment.h sets ports if they
 * matter.
 */
static inline void parse_fragment(const uint8_t *data, uint32_t end, uint32_t off, bool later,
	uint32_t id, struct packet *out)
{
	out->fragment = later ? PACKET_FRAGMENT_LATER : PACKET_FRAGMENT_FIRST;
	out->id_off = id;
	if (!later)
		parse_first(data, end, off, out);
}

/* The end of the packet. Bytes after it are Ethernet padding, not ports. */
static inline uint32_t ipv4_end(const uint8_t *ip, uint32_t l3, uint32_t len)
{
	return min_u32(len, l3 + read_be16(ip + 2));
}

/* Leaves *out unchanged if there is no complete, valid IPv4 header. */
static inline __attribute__((always_inline)) void parse_ipv4(
	const uint8_t *restrict data, uint32_t len, uint32_t l3, struct packet *restrict out)
{
	const uint8_t *ip = data + l3;
	uint32_t end, off;
	uint16_t fragment;

	if (l3 + IPV4_LEN > len || ip[0] < V4_FIRST_MIN || ip[0] > V4_FIRST_MAX)
		return;
	end = ipv4_end(ip, l3, len);
	off = l3 + (ip[0] & 0xf) * 4;
	if (off > end)
		return;
	out->family = PACKET_IPV4;
	out->dscp = ip[1] >> 2;
	out->ecn = ip[1] & 0x3;
	out->proto = ip[9];
	out->l2_len = l3;
	out->src_off = l3 + ADDR_OFF_V4;
	out->dst_off = l3 + ADDR_OFF_V4 + 4;
	fragment = read_be16(ip + 6);
	if (__builtin_expect(fragment & V4_FRAGMENT, 0))
		parse_fragment(data, end, off, fragment & V4_FRAGMENT_OFFSET, l3 + ID_OFF_V4, out);
	else
		parse_transport(data, end, off, ip[9], out);
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
 * Parses a whole packet's transport header after a chain of headers, which can extend past the
 * parsed bytes.
 */
static void parse_behind_chain(
	const uint8_t *data, uint32_t end, uint32_t off, uint8_t proto, struct packet *out)
{
	parse_transport(data, end, off, proto, out);
	if (off + transport_bytes(proto) <= end)
		return;
	out->unparsed = UNPARSED_CHAIN_CUT;
	out->unknown = PACKET_UNKNOWN_FLAGS | (out->l4_off == 0 ? PACKET_UNKNOWN_PORTS : 0);
}

static void parse_authenticated(const uint8_t *data, uint32_t end, uint32_t off, struct packet *out)
{
	out->l4_off = 0;
	off = skip_authentication(data, end, off, out);
	if (out->unparsed == UNPARSED_NONE)
		parse_behind_chain(data, end, off, out->proto, out);
}

/* Ends the parse: the headers that follow stay unknown, whether it is a fragment or not. */
static void give_up_chain(
	uint16_t fragment, uint32_t id, enum packet_unparsed why, struct packet *out)
{
	out->unparsed = (uint8_t)why;
	out->unknown = PACKET_UNKNOWN_TRANSPORT;
	out->fragment = fragment ? PACKET_FRAGMENT_FIRST : PACKET_WHOLE;
	out->id_off = id;
}

/*
 * Follows the chain of extension headers to the transport header. proto stays 0 if the chain is cut
 * short or too long. It also does if the chain has two fragment headers, because the inner one
 * belongs to a packet that is not reassembled yet. A later fragment's header ends the chain,
 * because only the first fragment has the headers that follow. A header with offset 0 and no more
 * fragments (RFC 6946) makes no fragment.
 */
static void parse_extensions(
	const uint8_t *data, uint32_t end, uint32_t off, uint8_t next, struct packet *out)
{
	uint16_t fragment = 0;
	uint32_t id = 0;

	for (unsigned seen = 0; is_extension(next) && !(fragment & V6_FRAGMENT_OFFSET); seen++) {
		uint8_t type = next;

		if (seen == EXTENSIONS || off + EXTENSION > end) {
			give_up_chain(fragment, id,
				seen == EXTENSIONS ? UNPARSED_CHAIN_LONG : UNPARSED_CHAIN_CUT, out);
			return;
		}
		next = data[off];
		if (type == PROTO_FRAGMENT && read_be16(data + off + 2) & V6_FRAGMENT) {
			if (fragment) {
				give_up_chain(fragment, id, UNPARSED_FRAGMENT_NESTED, out);
				return;
			}
			fragment = read_be16(data + off + 2) & V6_FRAGMENT;
			id = off + ID_OFF_V6;
		}
		off += extension_len(type, data + off);
	}
	out->proto = is_extension(next) ? 0 : next;
	if (fragment)
		parse_fragment(data, end, off, fragment & V6_FRAGMENT_OFFSET, id, out);
	else
		parse_behind_chain(data, end, off, next, out);
}

/*
 * The end of the packet, after which there is padding. A jumbogram has its length in an option, so
 * it has no end here.
 */
static uint32_t ipv6_end(const uint8_t *ip, uint32_t l3, uint32_t len)
{
	const uint32_t payload = read_be16(ip + 4);

	if (payload == 0 && ip[6] == PROTO_HOP_BY_HOP)
		return len;
	return min_u32(len, l3 + IPV6_LEN + payload);
}

/* Leaves *out unchanged if there is no complete IPv6 header. */
static inline void parse_ipv6(
	const uint8_t *restrict data, uint32_t len, uint32_t l3, struct packet *restrict out)
{
	const uint32_t off = l3 + IPV6_LEN;
	const uint8_t *ip = data + l3;
	uint16_t first;
	uint32_t end;

	if (off > len || ip[0] >> 4 != 6)
		return;
	first = read_be16(ip);
	out->family = PACKET_IPV6;
	out->dscp = first >> 6 & 0x3f;
	out->ecn = first >> 4 & 0x3;
	out->l2_len = l3;
	out->src_off = l3 + ADDR_OFF_V6;
	out->dst_off = l3 + ADDR_OFF_V6 + 16;
	end = ipv6_end(ip, l3, len);
	if (is_extension(ip[6])) {
		parse_extensions(data, end, off, ip[6], out);
		return;
	}
	out->proto = ip[6];
	parse_transport(data, end, off, ip[6], out);
}

/* Parses IPv4 and IPv6, which nearly all frames are. Returns whether the type was one of these. */
static inline __attribute__((always_inline)) bool parse_ip(
	const uint8_t *data, uint32_t len, uint32_t off, uint16_t type, struct packet *out)
{
	if (type == ETHERTYPE_IPV4)
		parse_ipv4(data, len, off, out);
	else if (type == ETHERTYPE_IPV6)
		parse_ipv6(data, len, off, out);
	else
		return false;
	return true;
}

/* parse_ip() out of line, if the offset is not a constant. */
static __attribute__((noinline)) void parse_ip_at(
	const uint8_t *data, uint32_t len, uint32_t off, uint16_t type, struct packet *out)
{
	parse_ip(data, len, off, type, out);
}

/* Marks a packet that can be IP, with any addresses. */
static void give_up_depth(struct packet *out)
{
	out->unparsed = UNPARSED_TOO_DEEP;
	out->unknown = PACKET_UNKNOWN_TRANSPORT | PACKET_UNKNOWN_ADDRESS;
}

/*
 * Labels do not contain the protocol under the stack. So the payload's first four bits decide, as
 * in routers (RFC 4928): 4 and 6 are IP, if the rest is a valid IP header too. A pseudowire is not
 * parsed further: its control word begins with 0, but so does every second Ethernet address of one
 * without a control word.
 */
static void parse_mpls(const uint8_t *data, uint32_t len, uint32_t off, struct packet *out)
{
	bool bottom = false;

	for (unsigned labels = 0; !bottom; labels++) {
		if (off + LABEL_LEN > len)
			return;
		if (labels == LABELS_MAX) {
			give_up_depth(out);
			return;
		}
		bottom = data[off + LABEL_BOTTOM] & 1;
		off += LABEL_LEN;
	}
	if (off < len)
		parse_ip_at(
			data, len, off, data[off] >> 4 == 6 ? ETHERTYPE_IPV6 : ETHERTYPE_IPV4, out);
}

/*
 * Parses PPPoE. PPP's protocol has two bytes (RFC 2516, section 7), or one, which PPPoE forbids but
 * receivers accept.
 */
static void parse_pppoe(const uint8_t *data, uint32_t len, uint32_t off, struct packet *out)
{
	uint16_t protocol;

	if (off + PPPOE_LEN > len || read_be16(data + off) != PPPOE_SESSION)
		return;
	off += PPPOE_LEN;
	protocol = read_be16(data + off - 2);
	if (protocol & PPP_COMPRESSED) {
		protocol >>= 8;
		off--;
	}
	if (protocol == PPP_IPV4)
		parse_ip_at(data, len, off, ETHERTYPE_IPV4, out);
	else if (protocol == PPP_IPV6)
		parse_ip_at(data, len, off, ETHERTYPE_IPV6, out);
}

void layers_payload(
	const uint8_t *data, uint32_t len, uint32_t off, uint16_t type, struct packet *out)
{
	out->l2_len = off;
	if (type == ETHERTYPE_MPLS || type == ETHERTYPE_MPLS_M)
		parse_mpls(data, len, off, out);
	else if (type == ETHERTYPE_PPPOE)
		parse_pppoe(data, len, off, out);
	else
		parse_ip_at(data, len, off, type, out);
}

static bool is_vlan(uint16_t type)
{
	return type == ETHERTYPE_VLAN || type == ETHERTYPE_QINQ || type == ETHERTYPE_9100;
}

/*
 * Parses the headers after the type of an Ethernet header. A tag that is cut short leaves its TPID
 * as the type.
 */
static __attribute__((noinline)) void parse_tagged(
	const uint8_t *data, uint32_t len, uint32_t off, uint16_t type, struct packet *out)
{
	for (unsigned tags = 0; is_vlan(type) && tags < VLANS_MAX; tags++) {
		if (off + VLAN_LEN > len)
			break;
		if (tags == 0)
			out->vlan = read_be16(data + off) & 0xfff;
		type = read_be16(data + off + 2);
		off += VLAN_LEN;
	}
	layers_payload(data, len, off, type, out);
	if (is_vlan(type) && off + VLAN_LEN <= len)
		give_up_depth(out);
}

void layers_ethernet(const uint8_t *data, uint32_t len, uint32_t off, struct packet *out)
{
	off += ETHER_LEN;
	if (off <= len)
		parse_tagged(data, len, off, read_be16(data + off - 2), out);
}

uint32_t layers_pppoe_length(const uint8_t *data, uint32_t l2_len)
{
	uint32_t off = ETHER_LEN;

	while (off + VLAN_LEN <= l2_len && is_vlan(read_be16(data + off - 2)))
		off += VLAN_LEN;
	if (off + PPPOE_LENGTH + 2 > l2_len || read_be16(data + off - 2) != ETHERTYPE_PPPOE)
		return 0;
	return off + PPPOE_LENGTH;
}

uint32_t layers_ip_end(const uint8_t *data, uint32_t len, const struct packet *packet)
{
	uint32_t l3;

	if (packet->family == PACKET_IPV4) {
		l3 = packet->src_off - ADDR_OFF_V4;
		return ipv4_end(data + l3, l3, len);
	}
	l3 = packet->src_off - ADDR_OFF_V6;
	return ipv6_end(data + l3, l3, len);
}

uint32_t packet_ip_end(const struct packet *packet, const uint8_t *data)
{
	const uint8_t *ip = data + packet->l2_len;

	if (packet->family == PACKET_IPV4)
		return packet->l2_len + read_be16(ip + 2);
	if (packet->family != PACKET_IPV6 || (read_be16(ip + 4) == 0 && ip[6] == PROTO_HOP_BY_HOP))
		return 0;
	return packet->l2_len + IPV6_LEN + read_be16(ip + 4);
}

uint32_t packet_padding(const uint8_t *ip, uint32_t there)
{
	uint32_t whole = there;

	if (there > PACKET_PADDED_MOST)
		return 0;
	if (there >= IPV4_LEN && ip[0] >= V4_FIRST_MIN && ip[0] <= V4_FIRST_MAX)
		whole = read_be16(ip + 2) >= (ip[0] & 0xf) * 4 ? read_be16(ip + 2) : there;
	else if (there >= IPV6_LEN && ip[0] >> 4 == 6)
		whole = ipv6_end(ip, 0, there);
	return there - min_u32(whole, there);
}

void packet_parse(const uint8_t *data, uint32_t len, struct packet *out)
{
	uint16_t type;

	*out = (struct packet){.vlan = PARSE_NO_VLAN};
	len = min_u32(len, PARSE_BYTES_MAX);
	if (len < ETHER_LEN) {
		out->l2_len = len;
		return;
	}
	type = read_be16(data + ETHER_LEN - 2);
	/* Without tags, offsets are compile-time constants. */
	out->l2_len = ETHER_LEN;
	if (!parse_ip(data, len, ETHER_LEN, type, out))
		parse_tagged(data, len, ETHER_LEN, type, out);
	if (out->family != PACKET_OTHER)
		out->padding = (uint8_t)packet_padding(data + out->l2_len, len - out->l2_len);
}

const char *packet_unparsed_name(enum packet_unparsed reason)
{
	static const char *const names[UNPARSED_REASONS] = {
		[UNPARSED_NONE] = "none",
		[UNPARSED_FRAGMENT_UNKNOWN] = "fragment_unknown",
		[UNPARSED_FRAGMENT_TINY] = "fragment_tiny",
		[UNPARSED_FRAGMENT_CONFLICT] = "fragment_conflict",
		[UNPARSED_FRAGMENT_NESTED] = "fragment_nested",
		[UNPARSED_FRAGMENT_MALFORMED] = "fragment_malformed",
		[UNPARSED_CHAIN_LONG] = "chain_long",
		[UNPARSED_CHAIN_CUT] = "chain_cut",
		[UNPARSED_TUNNEL_FRAGMENT] = "tunnel_fragment",
		[UNPARSED_TOO_DEEP] = "too_deep",
	};

	return names[reason];
}
