/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Parses a packet's first bytes into the fields that Weir needs, also inside of a tunnel. Pure; no
 * DPDK. Any lcore.
 */
#ifndef WEIR_PACKET_PARSE_H
#define WEIR_PACKET_PARSE_H

#include <stdbool.h>
#include <stdint.h>

#include "policy/config.h"

#define PARSE_BYTES_MAX UINT16_MAX /* most bytes parsed: offsets have 16 bits */
#define PARSE_NO_VLAN   0xffff

struct source_key;

enum packet_family { PACKET_OTHER = 0, PACKET_IPV4 = 4, PACKET_IPV6 = 6 };

/* Offsets of fields in the IP header. */
#define PACKET_IPV4_SRC   12
#define PACKET_IPV6_SRC   8
#define PACKET_IPV4_PROTO 9

enum packet_fragment { PACKET_WHOLE = 0, PACKET_FRAGMENT_FIRST, PACKET_FRAGMENT_LATER };

/*
 * Why some fields of a packet, or its flow, are unknown, although its receiver might find them out.
 * enum unparsed_action (policy/config.h) configures the handling of such packets.
 */
enum packet_unparsed {
	UNPARSED_NONE,
	UNPARSED_FRAGMENT_UNKNOWN,   /* a later fragment whose first was not received */
	UNPARSED_FRAGMENT_TINY,      /* transport header is not all in the first (RFC 1858) */
	UNPARSED_FRAGMENT_CONFLICT,  /* another first fragment of the same packet */
	UNPARSED_FRAGMENT_NESTED,    /* a fragment of a fragment */
	UNPARSED_FRAGMENT_MALFORMED, /* no receiver accepts it: checksum, length or offset */
	UNPARSED_CHAIN_LONG,         /* more IPv6 extension headers than the parser follows */
	UNPARSED_CHAIN_CUT,          /* the packet, or the captured part, ends within them */
	UNPARSED_TUNNEL_FRAGMENT,    /* a fragment of a tunnel packet, which cannot be entered */
	UNPARSED_TOO_DEEP,           /* more VLAN tags or MPLS labels than the parser follows */
	UNPARSED_REASONS
};

/* Unknown fields of a packet, a bit each. */
#define PACKET_UNKNOWN_PORTS   1
#define PACKET_UNKNOWN_PROTO   2
#define PACKET_UNKNOWN_FLAGS   4 /* packet might begin a TCP connection */
#define PACKET_UNKNOWN_ADDRESS 8 /* inner addresses: any policy could match */
#define PACKET_UNKNOWN_TRANSPORT \
	(PACKET_UNKNOWN_PORTS | PACKET_UNKNOWN_PROTO | PACKET_UNKNOWN_FLAGS)

/*
 * l2_len, vlan, dscp and ecn are those of the outermost headers. The other fields are those of the
 * packet to classify. It is the outermost one too, unless packet_enter_tunnels() entered a tunnel.
 */
struct packet {
	uint8_t family;   /* enum packet_family; PACKET_OTHER never matches an address or a DSCP */
	uint8_t dscp;     /* 0–63; 0 for PACKET_OTHER */
	uint8_t fragment; /* enum packet_fragment */
	uint8_t unparsed; /* enum packet_unparsed; next to `fragment`: checked together */
	uint16_t l2_len;  /* bytes before the L3 header: Ethernet, VLAN tags, MPLS or PPPoE */
	uint16_t vlan;    /* outermost VLAN id, or PARSE_NO_VLAN */
	uint16_t src_off; /* offset of the source address; valid for IPv4 and IPv6 */
	uint16_t dst_off;
	uint16_t l4_off;   /* offset of the transport header; 0 when unknown */
	uint8_t tcp_flags; /* byte 13 of the TCP header; 0 if it is not TCP or is cut off */
	uint8_t ecn;       /* 0–3: the two bits below the DSCP; 0 for PACKET_OTHER */
	uint16_t src_port; /* host order; 0 if the protocol has none or it is unknown: fragments */
	uint16_t dst_port;
	uint8_t proto;      /* transport protocol after extension headers; 0: unknown */
	uint8_t unknown;    /* PACKET_UNKNOWN_ bits; 0 if no field is unknown */
	uint16_t id_off;    /* offset of a fragment's identification (IPv4: 2 bytes, IPv6: 4) */
	uint16_t way_off;   /* in one tunnel: offset of the inner link layer or key, or 0 */
	uint8_t padding;    /* packet_padding() after the outermost IP packet */
	uint32_t flow_hash; /* from the device; 0: packet_flow_hash() computes it */
};

/*
 * Parses the first len bytes of a frame, of which at most PARSE_BYTES_MAX are read. Never fails:
 * packets that the parser does not understand are PACKET_OTHER, and a header that is cut short ends
 * the parse at the layer before it. Follows up to 64 IPv6 extension headers, or authentication
 * headers of IPv4. Finds IP under up to 8 MPLS labels and in PPPoE sessions. For other payloads
 * there, l2_len ends before the label or session. For a runt, l2_len is its length.
 */
void packet_parse(const uint8_t *data, uint32_t len, struct packet *out);

/*
 * Returns the offset from the start of the frame where its IP packet ends, by its own header. It
 * can be after the frame's end. 0 if it is not IP, or a jumbogram, whose header does not have the
 * length. data: the bytes that were parsed; no tunnel was entered.
 */
uint32_t packet_ip_end(const struct packet *packet, const uint8_t *data);

#define PACKET_PADDED_MOST 46 /* bytes of the smallest payload of an Ethernet frame */

/*
 * Returns the bytes of Ethernet padding after an IP packet. there: bytes after the L2 header. The
 * result is 0 if there are more than PACKET_PADDED_MOST, or no valid IP header. A longer frame has
 * no padding: the bytes after its IP packet are data. Any lcore.
 */
uint32_t packet_padding(const uint8_t *ip, uint32_t there);

/* Returns the name in telemetry, for example "chain_long". Any thread. */
const char *packet_unparsed_name(enum packet_unparsed reason);

/* Computes packet_flow_hash(). */
uint32_t packet_hash(const struct packet *packet, const uint8_t *data);

/*
 * Returns the hash of a packet's flow: flow_hash unless that is 0. Otherwise it computes a hash of
 * the 5-tuple. For fragments without ports it is a hash of addresses and protocol, for PACKET_OTHER
 * of MACs and EtherType. Few packets need it, so the parser does not compute it. data: the bytes
 * that were parsed; not read if flow_hash is not 0. Any lcore.
 *
 * The hash has no secret, so a sender can create any number of flows with equal hashes. If that
 * would be an advantage to it, use packet_keyed_hash().
 */
static inline uint32_t packet_flow_hash(const struct packet *packet, const uint8_t *data)
{
	return packet->flow_hash != 0 ? packet->flow_hash : packet_hash(packet, data);
}

/*
 * Returns a keyed hash of the flow of an IPv4 or IPv6 packet, by the same fields. Senders without
 * the key cannot choose its value. Ignores flow_hash. data: the bytes that were parsed. Any lcore.
 */
uint32_t packet_keyed_hash(
	const struct source_key *key, const struct packet *packet, const uint8_t *data);

/*
 * Returns whether a packet, parsed from `data`, belongs to the link: to a protocol between its two
 * ends, which the link needs to work. A wire that drops packets without a policy must pass them.
 * Packets other than IP do: ARP, LLDP, LACP, spanning tree. So does IP that no router forwards: to
 * 224.0.0.0/24, 255.255.255.255 or ff02::/16, from or to fe80::/10, and neighbour discovery with a
 * hop limit of 255. The outermost addresses count, also for a tunnel. A packet that is not fully
 * parsed, or whose IP header is invalid, does not belong to the link, because it could be anything.
 */
bool packet_is_of_link(const struct packet *packet, const uint8_t *data);

/* Returns the tunnels to enter, or NULL if the outermost headers are classified. */
static inline const struct tunnels *tunnels_to_enter(const struct config *config)
{
	return config->tunnels.classify == TUNNELS_INNER ? &config->tunnels : NULL;
}

/*
 * Enters tunnels. To be called after packet_parse() of the same bytes. If the packet inside is IP,
 * the fields of `packet` become those of the packet inside, except l2_len, VLAN, DSCP and ECN. The
 * flow's hash changes with them. It enters at most two nested tunnels. The outermost header is
 * marked, and lengths count from it.
 *
 * Not entered: fragments of tunnel packets (only the first could be); GRE of other versions or with
 * routing; VXLAN-GPE; packets cut off before the end of the inner IP header. The caller sets
 * packet->flow_hash to 0, because a device would compute it from the outer headers.
 */
void packet_enter_tunnels(
	const uint8_t *data, uint32_t len, const struct tunnels *tunnels, struct packet *packet);

/*
 * To be called after packet_enter_tunnels() and fragments_ports(). Marks the addresses as unknown
 * if the packet might be a fragment of a tunnel packet.
 */
void packet_doubt_tunnels(const struct tunnels *tunnels, struct packet *packet);

#endif
