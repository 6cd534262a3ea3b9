/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Classification of packets inside a tunnel: GRE (RFC 2784, 2890), VXLAN (RFC 7348), IP in IP.
 */
#include "packet/parse.h"

#include <stdbool.h>

#include "base/wire.h"
#include "packet/layers.h"

#define TUNNELS_MAX 2 /* for example VXLAN in GRE; deeper ones are other networks */

#define GRE_LEN      4
#define GRE_WORD     4      /* bytes that each of these adds, in this order */
#define GRE_CHECKSUM 0x8000 /* with a reserved half */
#define GRE_KEY      0x2000
#define GRE_SEQUENCE 0x1000
#define GRE_REFUSED  0x4fff /* routing (RFC 1701), unused bits, other versions (PPTP) */

#define UDP_LEN    8
#define VXLAN_LEN  8
#define VXLAN_VNI  0x08 /* the bit that is always set (RFC 7348) */
#define VXLAN_NEXT 0x04 /* VXLAN-GPE: any payload */

/* Parses GRE. Flags and type are within the packet, because l4_off is set. */
static void open_gre(const uint8_t *data, uint32_t end, uint32_t off, struct packet *inner)
{
	const uint16_t flags = read_be16(data + off), type = read_be16(data + off + 2);
	uint32_t way;

	if (flags & GRE_REFUSED)
		return;
	off += GRE_LEN;
	off += (flags & GRE_CHECKSUM) != 0 ? GRE_WORD : 0;
	way = off;
	off += (flags & GRE_KEY) != 0 ? GRE_WORD : 0;
	if (flags & GRE_SEQUENCE) {
		off += GRE_WORD;
		way = off;
	}
	if (type == ETHERTYPE_ETHER)
		layers_ethernet(data, end, off, inner);
	else
		layers_payload(data, end, off, type, inner);
	inner->way_off = (uint16_t)way;
}

static void open_vxlan(const uint8_t *data, uint32_t end, uint32_t off, struct packet *inner)
{
	off += UDP_LEN;
	if (off + VXLAN_LEN > end || (data[off] & (VXLAN_VNI | VXLAN_NEXT)) != VXLAN_VNI)
		return;
	layers_ethernet(data, end, off + VXLAN_LEN, inner);
	inner->way_off = (uint16_t)off;
}

/* Parses the packet within the IP packet `outer`. Leaves *inner unchanged if there is none. */
static void open_tunnel(const uint8_t *data, uint32_t end, const struct tunnels *tunnels,
	const struct packet *outer, struct packet *inner)
{
	switch (outer->proto) {
	case PROTO_IPV4:
		layers_payload(data, end, outer->l4_off, ETHERTYPE_IPV4, inner);
		inner->way_off = outer->l4_off;
		break;
	case PROTO_IPV6:
		layers_payload(data, end, outer->l4_off, ETHERTYPE_IPV6, inner);
		inner->way_off = outer->l4_off;
		break;
	case PROTO_GRE:
		open_gre(data, end, outer->l4_off, inner);
		break;
	case PROTO_UDP:
		if (outer->dst_port == tunnels->vxlan_port)
			open_vxlan(data, end, outer->l4_off, inner);
		break;
	default:
		break;
	}
}

/* Copies the inner fields. VLAN, DSCP, ECN and l2_len stay those of the outermost headers. */
static void take_inside(struct packet *packet, const struct packet *inner, unsigned depth)
{
	packet->family = inner->family;
	packet->proto = inner->proto;
	packet->fragment = inner->fragment;
	packet->src_off = inner->src_off;
	packet->dst_off = inner->dst_off;
	packet->l4_off = inner->l4_off;
	packet->id_off = inner->id_off;
	packet->tcp_flags = inner->tcp_flags;
	packet->src_port = inner->src_port;
	packet->dst_port = inner->dst_port;
	packet->unparsed = inner->unparsed;
	packet->unknown = inner->unknown;
	packet->way_off = depth == 0 ? inner->way_off : 0;
}

void packet_enter_tunnels(
	const uint8_t *data, uint32_t len, const struct tunnels *tunnels, struct packet *packet)
{
	uint32_t end = len < PARSE_BYTES_MAX ? len : PARSE_BYTES_MAX;

	for (unsigned depth = 0; depth < TUNNELS_MAX; depth++) {
		struct packet inner = {.vlan = PARSE_NO_VLAN};

		if (packet->l4_off == 0 || packet->fragment)
			return;
		end = layers_ip_end(data, end, packet);
		open_tunnel(data, end, tunnels, packet, &inner);
		if (inner.family == PACKET_OTHER) {
			if (inner.unparsed)
				packet->unparsed = inner.unparsed;
			packet->unknown |= inner.unknown; /* in addition to the outer ones */
			return;
		}
		take_inside(packet, &inner, depth);
	}
}

/* Returns whether packets of this protocol and port can be tunnels. */
static bool carries_packets(const struct tunnels *tunnels, const struct packet *packet)
{
	switch (packet->proto) {
	case PROTO_IPV4:
	case PROTO_IPV6:
	case PROTO_GRE:
		return true;
	case PROTO_UDP:
		return packet->dst_port == tunnels->vxlan_port ||
		       packet->unknown & PACKET_UNKNOWN_PORTS;
	default:
		return packet->unknown & PACKET_UNKNOWN_PROTO;
	}
}

void packet_doubt_tunnels(const struct tunnels *tunnels, struct packet *packet)
{
	if (!(packet->fragment || packet->unparsed) || !carries_packets(tunnels, packet))
		return;
	packet->unknown |= PACKET_UNKNOWN_ADDRESS;
	if (packet->unparsed == UNPARSED_NONE)
		packet->unparsed = UNPARSED_TUNNEL_FRAGMENT;
}
