/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Extracts columns from frames. A plain frame is Ethernet with at most one tag, then IPv4 without
 * options and not fragmented, or IPv6 directly followed by its transport header. It is not a tunnel
 * that the parser enters. A plain frame is recognized by two words and is not parsed. Usually all
 * frames of a burst are plain in the same way, and that is checked without a branch per frame.
 */
#include <string.h>

#include "classify/burst.h"
#include "classify/plain.h"
#include "classify/wide.h"

#define PORTS_LEN 4

static inline bool is_tag(uint16_t type)
{
	return (type == ETHERTYPE_VLAN) | (type == ETHERTYPE_QINQ) | (type == ETHERTYPE_9100);
}

/* The L2 length of a frame, if it is plain, by its EtherType. */
static inline unsigned likely_l2(const uint8_t *data, uint32_t len)
{
	return len >= TAGGED && is_tag(read_be16(data + ETHER_LEN - 2)) ? TAGGED : ETHER_LEN;
}

/* Returns whether a plain frame could be a tunnel that the parser enters. */
static bool is_tunnel(const struct tunnels *tunnels, const uint8_t *ip, uint32_t len)
{
	const bool v4 = ip[0] >> 4 == 4;
	const uint8_t proto = v4 ? ip[9] : ip[6];
	const unsigned port = (v4 ? IPV4_LEN : IPV6_LEN) + 2;

	if (proto == IPPROTO_UDP)
		return len >= port + 2 && read_be16(ip + port) == tunnels->vxlan_port;
	return proto == IPPROTO_GRE || proto == IPPROTO_IPIP || proto == IPPROTO_IPV6;
}

static bool is_plain(const struct tunnels *tunnels, const uint8_t *data, uint32_t len, unsigned l2)
{
	if (!(len >= l2 + IPV4_LEN && not_plain4(data, l2) == 0) &&
		!(len >= l2 + IPV6_LEN && not_plain6(data, l2) == 0))
		return false;
	return tunnels == NULL || !is_tunnel(tunnels, data + l2, len - l2);
}

void frames_look_further(struct frames *frames, unsigned i)
{
	const struct tunnels *tunnels = frames->tunnels;
	struct packet *packet = &frames->packet[i];

	if (tunnels != NULL)
		packet_enter_tunnels(frames->data[i], frames->len[i], tunnels, packet);
	if (packet->fragment && frames->fragments != NULL)
		fragments_ports(
			frames->fragments, frames->data[i], frames->whole[i], frames->now, packet);
	if (tunnels != NULL)
		packet_doubt_tunnels(tunnels, packet);
	frames->unparsed |= (uint64_t)(packet->unparsed != UNPARSED_NONE) << i;
}

/* Checks frame by frame: a plain frame gets its L2 length; any other frame is parsed. */
static void find_l2_lengths(struct frames *frames, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		const uint8_t *data = frames->data[i];
		const unsigned l2 = likely_l2(data, frames->len[i]);

		frames->l2_len[i] = is_plain(frames->tunnels, data, frames->len[i], l2)
					    ? (uint16_t)l2
					    : frames_packet(frames, i)->l2_len;
	}
}

/* Parses all frames of a burst. None has been parsed yet. */
static void parse_all(struct frames *frames, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		frames_parse(frames, i);
		frames->l2_len[i] = frames->packet[i].l2_len;
	}
	frames->parsed = UINT64_MAX >> (FRAMES_MAX - n);
}

/* Fills in all FRAMES_MAX places, because a few wide stores cost less than counting. */
static void fill_l2(struct frames *frames, unsigned l2)
{
	for (unsigned i = 0; i < FRAMES_MAX; i++)
		frames->l2_len[i] = (uint16_t)l2;
}

/* Returns whether all frames are plain like the first, and their columns are filled in. */
static bool all_frames_plain(
	struct burst *burst, struct frames *frames, unsigned l2, enum side side)
{
	const unsigned n = burst->n;
	const uint32_t *len; /* NULL: long enough */

	fill_l2(frames, l2);
	burst->tall = all_hold(frames->len, n, l2 + PACKET_PADDED_MOST + 1);
	len = burst->tall ? NULL : frames->len;
	if (frames->data[0][l2] >> 4 == 4) {
		burst->n4 = n;
		if (burst->wide && burst->tall && l2 == ETHER_LEN && side == SIDE_DST)
			return wide_plain4(frames->data, n, burst->addr4);
		return all_plain4(frames->data, len, n, l2, side == SIDE_DST ? IPV4_DST : IPV4_SRC,
			burst->addr4);
	}
	burst->n6 = n;
	return all_plain6(
		frames->data, len, n, l2, side == SIDE_DST ? IPV6_DST : IPV6_SRC, burst->addr6);
}

/*
 * Finds the headers of all frames. Returns whether their columns are filled in too. If the first
 * frame is not plain, no frame is checked for being plain: so a flood of such frames costs only
 * their parsing.
 */
static bool find_headers(struct burst *burst, struct frames *frames, enum side side)
{
	const uint8_t *first = frames->data[0];
	const unsigned l2 = likely_l2(first, frames->len[0]);

	if (!is_plain(frames->tunnels, first, frames->len[0], l2)) {
		parse_all(frames, burst->n);
		return false;
	}
	if (frames->tunnels == NULL && all_frames_plain(burst, frames, l2, side))
		return true;
	find_l2_lengths(frames, burst->n);
	return false;
}

static void add_column4(struct burst *burst, uint8_t i, const uint8_t *addr)
{
	burst->addr4[burst->n4] = read_be32(addr);
	burst->who4[burst->n4++] = i;
}

static void add_column6(struct burst *burst, uint8_t i, const uint8_t *addr)
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
		add_column4(burst, i, addr);
	else if (packet->family == PACKET_IPV6)
		add_column6(burst, i, addr);
	else
		burst->other[burst->n_other++] = i;
}

static void add_plain(struct burst *burst, uint8_t i, enum side side)
{
	const uint8_t *ip = burst->data[i] + burst->l2_len[i];

	if (ip[0] >> 4 == 4)
		add_column4(burst, i, ip + (side == SIDE_DST ? IPV4_DST : IPV4_SRC));
	else
		add_column6(burst, i, ip + (side == SIDE_DST ? IPV6_DST : IPV6_SRC));
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
	burst->tall = false;
	burst->n4 = 0;
	burst->n6 = 0;
	burst->n_other = 0;
	if (burst->n == 0)
		return;
	if (find_headers(burst, frames, side)) {
		frames->plain = UINT64_MAX >> (FRAMES_MAX - burst->n);
		return;
	}
	burst->tall = false;
	frames->plain = ~frames->parsed;
	burst->parsed = frames->parsed;
	for (unsigned i = 0; i < burst->n; i++)
		all[i] = (uint8_t)i;
	columns_of(burst, all, burst->n, side);
}

static uint64_t packet_key(uint64_t vlan, uint64_t dscp, uint64_t proto)
{
	return vlan | dscp << KEY_DSCP_SHIFT | proto << KEY_PROTO_SHIFT;
}

static struct facts parsed_facts(const struct burst *burst, unsigned i, const struct packet *packet)
{
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

/* Parses the headers after an authentication header, which a plain frame can rarely have. */
static __attribute__((cold)) struct facts authenticated_facts(const struct burst *burst, unsigned i)
{
	struct packet packet;

	packet_parse(burst->data[i], burst->len[i], &packet);
	return parsed_facts(burst, i, &packet);
}

/* Sets the ports if they are within the packet, not in the padding after its end. */
static void add_fact_ports(struct facts *facts, uint8_t proto, const uint8_t *l4, uint32_t bytes)
{
	if (bytes < PORTS_LEN || !proto_has_ports(proto))
		return;
	facts->src_port = read_be16(l4);
	facts->dst_port = read_be16(l4 + 2);
}

static uint32_t min_length(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

static struct facts simple_facts(const struct burst *burst, unsigned i)
{
	const unsigned l2 = burst->l2_len[i];
	const uint8_t *ip = burst->data[i] + l2;
	const uint32_t len = burst->len[i] - l2;
	const uint16_t vlan = l2 == TAGGED ? read_be16(burst->data[i] + ETHER_LEN) & 0xfff
					   : PARSE_NO_VLAN;
	struct facts facts = {.family = ip[0] >> 4};

	if (facts.family == PACKET_IPV4) {
		if (__builtin_expect(ip[9] == IPPROTO_AH, 0))
			return authenticated_facts(burst, i);
		facts.key = burst->key | packet_key(vlan, ip[1] >> 2, ip[9]);
		facts.src = ip + IPV4_SRC;
		add_fact_ports(&facts, ip[9], ip + IPV4_LEN,
			min_length(len, read_be16(ip + 2)) - IPV4_LEN);
	} else {
		facts.key = burst->key | packet_key(vlan, read_be16(ip) >> 6 & 0x3f, ip[6]);
		facts.src = ip + IPV6_SRC;
		add_fact_ports(&facts, ip[6], ip + IPV6_LEN,
			min_length(len - IPV6_LEN, read_be16(ip + 4)));
	}
	return facts;
}

struct facts facts_of(const struct burst *burst, unsigned i)
{
	return is_parsed(burst, i) ? parsed_facts(burst, i, &burst->packets[i])
				   : simple_facts(burst, i);
}

/* Returns whether a frame is untagged IP, so that its L2 header ends after the first EtherType. */
static inline bool is_untagged_ip(const uint8_t *data)
{
	const uint16_t type = read_be16(data + ETHER_LEN - 2);

	return (type == ETHERTYPE_IPV4) | (type == ETHERTYPE_IPV6);
}

/* Returns whether all frames are untagged IP with the same EtherType as the first. */
static bool all_untagged_ip(const struct frames *frames, unsigned n)
{
	const uint16_t first = read_raw16(frames->data[0] + ETHER_LEN - 2);
	uint32_t different = 0;

	for (unsigned i = 0; i < n; i++)
		different |= read_raw16(frames->data[i] + ETHER_LEN - 2) ^ first;
	return different == 0 && is_untagged_ip(frames->data[0]);
}

bool l2_lengths(struct frames *frames, unsigned n)
{
	bool tall;

	if (n == 0)
		return true;
	fill_l2(frames, ETHER_LEN);
	tall = all_hold(frames->len, n, ETHER_LEN + PACKET_PADDED_MOST + 1);
	if ((tall || all_hold(frames->len, n, ETHER_LEN)) && all_untagged_ip(frames, n))
		return tall;
	for (unsigned i = 0; i < n; i++)
		if (frames->len[i] < ETHER_LEN || !is_untagged_ip(frames->data[i]))
			frames->l2_len[i] = frames_packet(frames, i)->l2_len;
	return false;
}

static uint32_t padding_of(struct frames *frames, unsigned i)
{
	const uint8_t *data = frames->data[i];

	if (frames->plain >> i & 1 || (frames->l2_len[i] == ETHER_LEN && is_untagged_ip(data)))
		return packet_padding(data + frames->l2_len[i], frames->len[i] - frames->l2_len[i]);
	return frames_packet(frames, i)->padding;
}

/* Returns whether any frame is short enough for Ethernet padding. */
static bool any_short(const struct frames *frames, unsigned n)
{
	uint32_t any = 0; /* sign bit: a frame is short */

	for (unsigned i = 0; i < n; i++)
		any |= frames->len[i] - frames->l2_len[i] - (PACKET_PADDED_MOST + 1);
	return any >> 31;
}

void find_uncharged(struct frames *frames, unsigned n, bool tall)
{
	memcpy(frames->uncharged, frames->l2_len, sizeof(frames->uncharged));
	if (tall || !any_short(frames, n))
		return;
	for (unsigned i = 0; i < n; i++)
		if (frames->len[i] - frames->l2_len[i] <= PACKET_PADDED_MOST)
			frames->uncharged[i] += (uint16_t)padding_of(frames, i);
}
