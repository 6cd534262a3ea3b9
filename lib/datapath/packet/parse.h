/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * What Weir wants to know of a packet, from its first bytes. Pure; no DPDK. Any lcore.
 */
#ifndef WEIR_CLASSIFY_PARSE_H
#define WEIR_CLASSIFY_PARSE_H

#include <stdint.h>

#define PARSE_BYTES_MAX UINT16_MAX /* never looks further into a packet: offsets end there */
#define PARSE_NO_VLAN   0xffff

struct source_key;

enum packet_family { PACKET_OTHER = 0, PACKET_IPV4 = 4, PACKET_IPV6 = 6 };

/* Where in the header of IP the source address is. */
#define PACKET_IPV4_SRC   12
#define PACKET_IPV6_SRC   8
#define PACKET_IPV4_PROTO 9

enum packet_fragment { PACKET_WHOLE = 0, PACKET_FRAGMENT_FIRST, PACKET_FRAGMENT_LATER };

/*
 * Why it is not known of a packet what it is, or belongs to, though its receiver may find out. What
 * becomes of such packets says enum unparsed_action (policy/config.h).
 */
enum packet_unparsed {
	UNPARSED_NONE,
	UNPARSED_FRAGMENT_UNKNOWN,   /* a later fragment whose first was not seen */
	UNPARSED_FRAGMENT_TINY,      /* a first one ends before its transport header does, or TCP's
				        later one writes there (RFC 1858) */
	UNPARSED_FRAGMENT_CONFLICT,  /* another first of a packet of which one is known */
	UNPARSED_FRAGMENT_NESTED,    /* a fragment of a fragment */
	UNPARSED_FRAGMENT_MALFORMED, /* no receiver takes it: checksum, length or offset */
	UNPARSED_CHAIN_LONG,         /* more IPv6 extension headers than are followed */
	UNPARSED_CHAIN_CUT,          /* the packet, or what is there of it, ends within them */
	UNPARSED_TUNNEL_FRAGMENT,    /* a tunnel is to be entered, but this is a piece of it */
	UNPARSED_TOO_DEEP,           /* more VLAN tags or MPLS labels than are followed */
	UNPARSED_REASONS
};

/* What is not known of it, a bit each. */
#define PACKET_UNKNOWN_PORTS   1
#define PACKET_UNKNOWN_PROTO   2
#define PACKET_UNKNOWN_FLAGS   4 /* it may begin a TCP connection */
#define PACKET_UNKNOWN_ADDRESS 8 /* of what is to be classified: any policy could be meant */
#define PACKET_UNKNOWN_TRANSPORT \
	(PACKET_UNKNOWN_PORTS | PACKET_UNKNOWN_PROTO | PACKET_UNKNOWN_FLAGS)

/*
 * l2_len, vlan, dscp and ecn are of the outermost headers; all else is of the packet that is to be
 * classified, which is the outermost too unless packet_enter_tunnels() went in.
 */
struct packet {
	uint8_t family;   /* enum packet_family; PACKET_OTHER never matches an address or a DSCP */
	uint8_t dscp;     /* 0–63; 0 for PACKET_OTHER */
	uint8_t fragment; /* enum packet_fragment */
	uint8_t unparsed; /* enum packet_unparsed; beside it, as both are asked for at once */
	uint16_t l2_len;  /* bytes before the L3 header: Ethernet, VLAN tags, MPLS or PPPoE */
	uint16_t vlan;    /* outermost VLAN id, or PARSE_NO_VLAN */
	uint16_t src_off; /* offset of the source address; valid for IPv4 and IPv6 */
	uint16_t dst_off;
	uint16_t l4_off;   /* offset of the transport header; 0 when unknown */
	uint8_t tcp_flags; /* byte 13 of the TCP header; 0 when it is not TCP or not all there */
	uint8_t ecn;       /* 0–3: the two bits below the DSCP; 0 for PACKET_OTHER */
	uint16_t src_port; /* host order; 0 when the protocol has none, or unknown: a fragment's */
	uint16_t dst_port;
	uint8_t proto;      /* transport protocol after extension headers; 0 unknown */
	uint8_t unknown;    /* PACKET_UNKNOWN_ bits; 0 where all is known that could be */
	uint16_t id_off;    /* offset of a fragment's identification (IPv4: 2 bytes, IPv6: 4) */
	uint16_t way_off;   /* in one tunnel: offset of the inner link layer or key, or 0 */
	uint8_t padding;    /* packet_padding() behind the outermost IP packet */
	uint32_t flow_hash; /* what the device told; 0 when it told nothing: packet_flow_hash() */
};

/*
 * Parses the first len bytes of a frame (of which at most PARSE_BYTES_MAX are read). Never fails:
 * what cannot be understood is PACKET_OTHER, and a header cut short ends the parse at the layer
 * before it. IPv6 extension headers, and authentication headers of IPv4, are followed to their
 * end, 64 of them at most. Under up to 8
 * MPLS labels and in PPPoE sessions, IP is found; l2_len of anything else there ends before the
 * label or session, and of a runt where it does.
 */
void packet_parse(const uint8_t *data, uint32_t len, struct packet *out);

/*
 * The offset, from the start of the frame, where its IP packet ends by its own header, which may be
 * behind the frame's end; 0 of what is no IP and of what does not say (a jumbogram). `data` is what
 * the packet was parsed from, and no tunnel was entered.
 */
uint32_t packet_ip_end(const struct packet *packet, const uint8_t *data);

#define PACKET_PADDED_MOST 46 /* bytes of the smallest payload of an Ethernet frame */

/*
 * Returns the bytes of Ethernet's padding behind an IP packet, if `there` bytes follow the L2
 * header and are at most PACKET_PADDED_MOST. 0 without a sound IP header. A longer frame has no
 * padding: the bytes behind its IP packet are data. Any lcore.
 */
uint32_t packet_padding(const uint8_t *ip, uint32_t there);

/* As telemetry has it: "chain_long" and so on. Any thread. */
const char *packet_unparsed_name(enum packet_unparsed reason);

/* The computing half of packet_flow_hash(). */
uint32_t packet_hash(const struct packet *packet, const uint8_t *data);

/*
 * Which flow a packet belongs to: what stands in flow_hash unless that is 0, else a hash of the
 * 5-tuple; of addresses and protocol for fragments without ports; of MACs and EtherType for
 * PACKET_OTHER. Few
 * packets are asked for it, so parsing leaves it alone. `data` is what the packet was parsed from;
 * it is not looked at when flow_hash is not 0. Any lcore.
 *
 * No secret: anybody can make as many flows as he likes that share it. For what he would gain by
 * that there is packet_keyed_hash().
 */
static inline uint32_t packet_flow_hash(const struct packet *packet, const uint8_t *data)
{
	return packet->flow_hash != 0 ? packet->flow_hash : packet_hash(packet, data);
}

/*
 * Which flow a packet of IPv4 or IPv6 belongs to, by a hash of the same that nobody can aim at who
 * does not know the key; whatever the device told. `data` as above. Any lcore.
 */
uint32_t packet_keyed_hash(
	const struct source_key *key, const struct packet *packet, const uint8_t *data);

#endif
