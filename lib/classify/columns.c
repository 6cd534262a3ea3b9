/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * From frames to columns. A plain frame is Ethernet with no tag or one, then IPv4 without options
 * that is no fragment, or IPv6 with its transport header right behind; and no tunnel, if those are
 * entered. It is told by two words and never parsed. Mostly all frames of a burst are plain in the
 * same way, which is found out without a branch on any of them.
 */
#include <endian.h>
#include <string.h>

#include "classify/burst.h"

#define ETHER_LEN 14
#define VLAN_LEN  4
#define TAGGED    (ETHER_LEN + VLAN_LEN)

#define IPV4_LEN 20
#define IPV4_SRC 12
#define IPV4_DST 16
#define IPV6_LEN 40
#define IPV6_SRC 8
#define IPV6_DST 24

#define ETHERTYPE_IPV4 0x0800
#define ETHERTYPE_IPV6 0x86dd
#define ETHERTYPE_VLAN 0x8100
#define ETHERTYPE_QINQ 0x88a8
#define ETHERTYPE_9100 0x9100

/* How the frames begin: EtherType, version, and of IPv4 the header's length in words. */
#define PLAIN_V4       (ETHERTYPE_IPV4 << 8 | 0x45)
#define PLAIN_V4_SHIFT 40
#define PLAIN_V6       (ETHERTYPE_IPV6 << 4 | 6)
#define PLAIN_V6_SHIFT 44
#define V4_FRAGMENT    0x3fff /* more-fragments flag and offset */
#define PORTS_LEN      4

/* Next headers of IPv6 that are none of a transport; all of them are below 64. */
#define EXTENSIONS                                                            \
	(UINT64_C(1) << IPPROTO_HOPOPTS | UINT64_C(1) << IPPROTO_ROUTING |    \
		UINT64_C(1) << IPPROTO_FRAGMENT | UINT64_C(1) << IPPROTO_AH | \
		UINT64_C(1) << IPPROTO_DSTOPTS)

static inline uint16_t be16(const uint8_t *p)
{
	uint16_t word;

	memcpy(&word, p, sizeof(word));
	return be16toh(word);
}

static inline uint32_t be32(const uint8_t *p)
{
	uint32_t word;

	memcpy(&word, p, sizeof(word));
	return be32toh(word);
}

static inline uint64_t be64(const uint8_t *p)
{
	uint64_t word;

	memcpy(&word, p, sizeof(word));
	return be64toh(word);
}

/* Whether what lies behind l2 bytes, at least IPV4_LEN, is plain IPv4. No branch. */
static inline bool is_plain4(const uint8_t *data, unsigned l2)
{
	const uint64_t begin = be64(data + l2 - 2); /* EtherType, version, TOS, length, ID */

	return (begin >> PLAIN_V4_SHIFT == PLAIN_V4) & ((begin >> 16 & 0xffff) >= IPV4_LEN) &
	       ((be16(data + l2 + 6) & V4_FRAGMENT) == 0);
}

/* Likewise, of at least IPV6_LEN. */
static inline bool is_plain6(const uint8_t *data, unsigned l2)
{
	const uint64_t begin = be64(data + l2 - 2); /* EtherType, version, class, label, length */
	const uint8_t next = data[l2 + 6];

	return (begin >> PLAIN_V6_SHIFT == PLAIN_V6) &
	       ((next > 63) | !(EXTENSIONS >> (next & 63) & 1));
}

static inline bool is_tag(uint16_t type)
{
	return (type == ETHERTYPE_VLAN) | (type == ETHERTYPE_QINQ) | (type == ETHERTYPE_9100);
}

/* The L2 length of a frame if it could be plain, by its EtherType. */
static inline unsigned likely_l2(const uint8_t *data, uint32_t len)
{
	return len >= TAGGED && is_tag(be16(data + ETHER_LEN - 2)) ? TAGGED : ETHER_LEN;
}

static bool all_hold(const struct frames *frames, unsigned n, uint32_t bytes)
{
	bool good = true;

	for (unsigned i = 0; i < n; i++)
		good &= frames->len[i] >= bytes;
	return good;
}

/*
 * The addresses of n frames that are plain IPv4 behind l2 bytes each, or false. Inline with l2
 * known, as the other is below.
 */
static inline __attribute__((always_inline)) bool plain4(
	struct burst *burst, const struct frames *frames, unsigned l2, unsigned off)
{
	bool good = true;

	if (!all_hold(frames, burst->n, l2 + IPV4_LEN))
		return false;
	for (unsigned i = 0; i < burst->n; i++) {
		const uint8_t *data = frames->data[i];

		good &= is_plain4(data, l2);
		good &= l2 == ETHER_LEN || is_tag(be16(data + ETHER_LEN - 2));
		burst->addr4[i] = be32(data + l2 + off);
	}
	burst->n4 = burst->n;
	return good;
}

static inline __attribute__((always_inline)) bool plain6(
	struct burst *burst, const struct frames *frames, unsigned l2, unsigned off)
{
	bool good = true;

	if (!all_hold(frames, burst->n, l2 + IPV6_LEN))
		return false;
	for (unsigned i = 0; i < burst->n; i++) {
		const uint8_t *data = frames->data[i];

		good &= is_plain6(data, l2);
		good &= l2 == ETHER_LEN || is_tag(be16(data + ETHER_LEN - 2));
		memcpy(&burst->addr6[i], data + l2 + off, sizeof(burst->addr6[i]));
	}
	burst->n6 = burst->n;
	return good;
}

/* Whether a plain frame could be a tunnel that the parser enters. */
static bool is_tunnel(const struct tunnels *tunnels, const uint8_t *ip, uint32_t len)
{
	const bool v4 = ip[0] >> 4 == 4;
	const uint8_t proto = v4 ? ip[9] : ip[6];
	const unsigned port = (v4 ? IPV4_LEN : IPV6_LEN) + 2;

	if (proto == IPPROTO_UDP)
		return len >= port + 2 && be16(ip + port) == tunnels->vxlan_port;
	return proto == IPPROTO_GRE || proto == IPPROTO_IPIP || proto == IPPROTO_IPV6;
}

static bool is_plain(const struct tunnels *tunnels, const uint8_t *data, uint32_t len, unsigned l2)
{
	if (!(len >= l2 + IPV4_LEN && is_plain4(data, l2)) &&
		!(len >= l2 + IPV6_LEN && is_plain6(data, l2)))
		return false;
	return tunnels == NULL || !is_tunnel(tunnels, data + l2, len - l2);
}

/* Frame by frame: a plain one's L2 length, or all that the parser finds. */
static void tell_apart(struct frames *frames, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		const uint8_t *data = frames->data[i];
		const unsigned l2 = likely_l2(data, frames->len[i]);

		frames->l2_len[i] = is_plain(frames->tunnels, data, frames->len[i], l2)
					    ? (uint16_t)l2
					    : frames_packet(frames, i)->l2_len;
	}
}

static void parse_all(struct frames *frames, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		frames->l2_len[i] = frames_packet(frames, i)->l2_len;
}

/* Whether all frames are plain in the way in which the first is. */
static bool all_alike(struct burst *burst, struct frames *frames, unsigned l2, enum side side)
{
	const unsigned off4 = side == SIDE_DST ? IPV4_DST : IPV4_SRC;
	const unsigned off6 = side == SIDE_DST ? IPV6_DST : IPV6_SRC;

	for (unsigned i = 0; i < burst->n; i++)
		frames->l2_len[i] = (uint16_t)l2;
	if (frames->data[0][l2] >> 4 == 4)
		return l2 == ETHER_LEN ? plain4(burst, frames, ETHER_LEN, off4)
				       : plain4(burst, frames, TAGGED, off4);
	return l2 == ETHER_LEN ? plain6(burst, frames, ETHER_LEN, off6)
			       : plain6(burst, frames, TAGGED, off6);
}

/*
 * Finds out where everything is in all frames; returns whether their columns are filled in too.
 * The first frame stands for the burst: if that is not plain, none is tried, so that a flood of
 * such frames costs their parsing and no more.
 */
static bool find_headers(struct burst *burst, struct frames *frames, enum side side)
{
	const uint8_t *first = frames->data[0];
	const unsigned l2 = likely_l2(first, frames->len[0]);

	if (!is_plain(frames->tunnels, first, frames->len[0], l2)) {
		parse_all(frames, burst->n);
		return false;
	}
	if (frames->tunnels == NULL && all_alike(burst, frames, l2, side))
		return true;
	tell_apart(frames, burst->n);
	return false;
}

static void add4(struct burst *burst, uint8_t i, const uint8_t *addr)
{
	burst->addr4[burst->n4] = be32(addr);
	burst->who4[burst->n4++] = i;
}

static void add6(struct burst *burst, uint8_t i, const uint8_t *addr)
{
	memcpy(&burst->addr6[burst->n6], addr, sizeof(burst->addr6[0]));
	burst->who6[burst->n6++] = i;
}

static bool is_parsed(const struct burst *burst, unsigned i)
{
	return burst->parsed >> i & 1;
}

static void add_parsed(struct burst *burst, uint8_t i, enum side side)
{
	const struct packet *packet = &burst->packets[i];
	const uint8_t *addr = burst->data[i] +
			      (side == SIDE_DST ? packet->dst_off : packet->src_off);

	if (packet->family == PACKET_IPV4)
		add4(burst, i, addr);
	else if (packet->family == PACKET_IPV6)
		add6(burst, i, addr);
	else
		burst->other[burst->n_other++] = i;
}

static void add_plain(struct burst *burst, uint8_t i, enum side side)
{
	const uint8_t *ip = burst->data[i] + burst->l2_len[i];

	if (ip[0] >> 4 == 4)
		add4(burst, i, ip + (side == SIDE_DST ? IPV4_DST : IPV4_SRC));
	else
		add6(burst, i, ip + (side == SIDE_DST ? IPV6_DST : IPV6_SRC));
}

void columns_of(struct burst *burst, const uint8_t *who, unsigned n, enum side side)
{
	burst->in_order = false;
	burst->n4 = 0;
	burst->n6 = 0;
	burst->n_other = 0;
	for (unsigned k = 0; k < n; k++) {
		if (is_parsed(burst, who[k]))
			add_parsed(burst, who[k], side);
		else
			add_plain(burst, who[k], side);
	}
}

void columns_of_frames(struct burst *burst, struct frames *frames, enum side side)
{
	uint8_t all[BURST_MAX];

	burst->packets = frames->packet;
	burst->data = frames->data;
	burst->len = frames->len;
	burst->l2_len = frames->l2_len;
	burst->parsed = 0;
	burst->in_order = true;
	burst->n4 = 0;
	burst->n6 = 0;
	burst->n_other = 0;
	if (burst->n == 0 || find_headers(burst, frames, side))
		return;
	burst->parsed = frames->parsed;
	for (unsigned i = 0; i < burst->n; i++)
		all[i] = (uint8_t)i;
	columns_of(burst, all, burst->n, side);
}

static uint64_t packet_key(uint64_t vlan, uint64_t dscp, uint64_t proto)
{
	return vlan | dscp << KEY_DSCP_SHIFT | proto << KEY_PROTO_SHIFT;
}

static struct facts parsed_facts(const struct burst *burst, unsigned i)
{
	const struct packet *packet = &burst->packets[i];
	const bool other = packet->family == PACKET_OTHER;

	return (struct facts){
		.key = burst->key | packet_key(packet->vlan, other ? KEY_DSCP_NOT_IP : packet->dscp,
					    packet->proto),
		.src = burst->data[i] + packet->src_off,
		.family = packet->family,
		.src_port = packet->src_port,
		.dst_port = packet->dst_port,
	};
}

/* Ports, if they are there: not behind the end of the packet, where there is padding. */
static void add_ports(struct facts *facts, uint8_t proto, const uint8_t *l4, uint32_t bytes)
{
	if (bytes < PORTS_LEN || !proto_has_ports(proto))
		return;
	facts->src_port = be16(l4);
	facts->dst_port = be16(l4 + 2);
}

static uint32_t shorter(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

static struct facts plain_facts(const struct burst *burst, unsigned i)
{
	const unsigned l2 = burst->l2_len[i];
	const uint8_t *ip = burst->data[i] + l2;
	const uint32_t len = burst->len[i] - l2;
	const uint16_t vlan = l2 == TAGGED ? be16(burst->data[i] + ETHER_LEN) & 0xfff
					   : PARSE_NO_VLAN;
	struct facts facts = {.family = ip[0] >> 4};

	if (facts.family == PACKET_IPV4) {
		facts.key = burst->key | packet_key(vlan, ip[1] >> 2, ip[9]);
		facts.src = ip + IPV4_SRC;
		add_ports(&facts, ip[9], ip + IPV4_LEN, shorter(len, be16(ip + 2)) - IPV4_LEN);
	} else {
		facts.key = burst->key | packet_key(vlan, be16(ip) >> 6 & 0x3f, ip[6]);
		facts.src = ip + IPV6_SRC;
		add_ports(&facts, ip[6], ip + IPV6_LEN, shorter(len - IPV6_LEN, be16(ip + 4)));
	}
	return facts;
}

struct facts facts_of(const struct burst *burst, unsigned i)
{
	return is_parsed(burst, i) ? parsed_facts(burst, i) : plain_facts(burst, i);
}

/* Whether a frame's L2 header ends after the first EtherType for sure. */
static inline bool is_untagged_ip(const uint8_t *data)
{
	const uint16_t type = be16(data + ETHER_LEN - 2);

	return (type == ETHERTYPE_IPV4) | (type == ETHERTYPE_IPV6);
}

void l2_lengths(struct frames *frames, unsigned n)
{
	bool good = all_hold(frames, n, ETHER_LEN);

	for (unsigned i = 0; good && i < n; i++)
		frames->l2_len[i] = ETHER_LEN;
	for (unsigned i = 0; good && i < n; i++)
		good &= is_untagged_ip(frames->data[i]);
	for (unsigned i = 0; !good && i < n; i++)
		if (frames->len[i] >= ETHER_LEN && is_untagged_ip(frames->data[i]))
			frames->l2_len[i] = ETHER_LEN;
		else
			frames->l2_len[i] = frames_packet(frames, i)->l2_len;
}
