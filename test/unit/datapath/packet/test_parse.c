/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Frames are built from layers, parsed whole and cut at every length. Each parse gets a heap copy
 * of exactly the bytes that it may read, so that AddressSanitizer detects any other read.
 */
#include "check.h"

#include "frame_layers.h"

struct parse_case {
	const char *name;
	layer layers[LAYERS_MAX];
	struct packet expect; /* without the hash and the TCP flags */
};

/* Parses a copy that ends where the packet does. */
static struct packet parse_exactly(const uint8_t *bytes, uint32_t len)
{
	const uint32_t readable = len < PARSE_BYTES_MAX ? len : PARSE_BYTES_MAX;
	uint8_t *copy = malloc(readable);
	struct packet packet;

	if (readable > 0)
		memcpy(copy, bytes, readable);
	memset(&packet, 0xee, sizeof(packet));
	packet_parse(copy, len, &packet);
	assert_int_equal(packet.flow_hash, 0);
	packet.flow_hash = packet_flow_hash(&packet, copy);
	free(copy);
	return packet;
}

static struct packet parse_layers(const layer *layers)
{
	struct frame frame;

	build_frame(layers, &frame);
	return parse_exactly(frame.bytes, frame.len);
}

static const struct parse_case cases[] = {
	{"arp", {{ETHER, T_ARP}, {PAYLOAD, 46}}, OTHER(14, NO_TAG)},
	{"802.3 length and LLC", {{ETHER, 100}, {PAYLOAD, 100}}, OTHER(14, NO_TAG)},
	{"ethernet only", {{ETHER, T_IPV4}}, OTHER(14, NO_TAG)},

	{"tcp", {{ETHER, T_IPV4}, {V4, TCP}, {PAYLOAD, 20}}, PACKET_V4(14, NO_TAG, TCP, 34)},
	{"udp", {{ETHER, T_IPV4}, {V4, UDP}, {PAYLOAD, 8}}, PACKET_V4(14, NO_TAG, UDP, 34)},
	{"sctp", {{ETHER, T_IPV4}, {V4, SCTP}, {PAYLOAD, 12}}, PACKET_V4(14, NO_TAG, SCTP, 34)},
	{"udp-lite", {{ETHER, T_IPV4}, {V4, UDP_LITE}, {PAYLOAD, 8}},
		PACKET_V4(14, NO_TAG, UDP_LITE, 34)},
	{"dccp", {{ETHER, T_IPV4}, {V4, DCCP}, {PAYLOAD, 12}}, PACKET_V4(14, NO_TAG, DCCP, 34)},
	{"icmp", {{ETHER, T_IPV4}, {V4, ICMP}, {PAYLOAD, 8}}, PACKET_V4(14, NO_TAG, ICMP, 34)},
	{"AH", {{ETHER, T_IPV4}, {V4, AH}, {EXT, TCP, 4, 24}, {PAYLOAD, 20}},
		PACKET_V4(14, NO_TAG, TCP, 58)},
	{"two AH", {{ETHER, T_IPV4}, {V4, AH}, {EXT, AH, 1, 12}, {EXT, UDP, 4, 24}, {PAYLOAD, 8}},
		PACKET_V4(14, NO_TAG, UDP, 70)},
	{"AH in a first fragment",
		{{ETHER, T_IPV4}, {V4, AH, 0, 0x2000}, {EXT, UDP, 4, 24}, {PAYLOAD, 64}},
		FRAGMENT_V4(FIRST, UDP, 58)},
	{"AH in a later fragment", {{ETHER, T_IPV4}, {V4, AH, 0, 0x0010}, {PAYLOAD, 64}},
		FRAGMENT_V4(LATER, AH, 0)},
	{"one option", {{ETHER, T_IPV4}, {V4, TCP, 1}, {PAYLOAD, 20}},
		PACKET_V4(14, NO_TAG, TCP, 38)},
	{"ten options", {{ETHER, T_IPV4}, {V4, UDP, 10}, {PAYLOAD, 8}},
		PACKET_V4(14, NO_TAG, UDP, 74)},
	{"no payload but padding", {{ETHER, T_IPV4}, {V4, UDP}, {PADDING, 26}},
		PACKET_V4(14, NO_TAG, UDP, 0)},
	{"three bytes of ports", {{ETHER, T_IPV4}, {V4, UDP}, {PAYLOAD, 3}, {PADDING, 23}},
		PACKET_V4(14, NO_TAG, UDP, 0)},
	{"don't fragment", {{ETHER, T_IPV4}, {V4, TCP, 0, 0x4000}, {PAYLOAD, 20}},
		PACKET_V4(14, NO_TAG, TCP, 34)},
	{"first fragment", {{ETHER, T_IPV4}, {V4, UDP, 0, 0x2000}, {PAYLOAD, 64}},
		FRAGMENT_V4(FIRST, UDP, 34)},
	{"first fragment with options", {{ETHER, T_IPV4}, {V4, TCP, 3, 0x2000}, {PAYLOAD, 64}},
		FRAGMENT_V4(FIRST, TCP, 46)},
	{"first fragment without ports",
		{{ETHER, T_IPV4}, {V4, UDP, 0, 0x2000}, {PAYLOAD, 3}, {PADDING, 23}},
		FRAGMENT_V4(FIRST, UDP, 0)},
	{"later fragment", {{ETHER, T_IPV4}, {V4, UDP, 0, 0x2010}, {PAYLOAD, 64}},
		FRAGMENT_V4(LATER, UDP, 0)},
	{"last fragment", {{ETHER, T_IPV4}, {V4, UDP, 0, 0x0001}, {PAYLOAD, 64}},
		FRAGMENT_V4(LATER, UDP, 0)},
	{"last fragment, high offset", {{ETHER, T_IPV4}, {V4, UDP, 0, 0x1000}, {PAYLOAD, 64}},
		FRAGMENT_V4(LATER, UDP, 0)},
	{"total length beyond the frame",
		{{ETHER, T_IPV4}, {V4, TCP}, {PAYLOAD, 20}, {PATCH, 16, 0xff}},
		PACKET_V4(14, NO_TAG, TCP, 34)},
	{"version 5", {{ETHER, T_IPV4}, {V4, TCP}, {PAYLOAD, 20}, {PATCH, 14, 0x55}},
		OTHER(14, NO_TAG)},
	{"version 6 as IPv4", {{ETHER, T_IPV4}, {V6, TCP}, {PAYLOAD, 20}}, OTHER(14, NO_TAG)},
	{"IHL 4", {{ETHER, T_IPV4}, {V4, TCP}, {PAYLOAD, 20}, {PATCH, 14, 0x44}},
		OTHER(14, NO_TAG)},
	{"IHL beyond the frame", {{ETHER, T_IPV4}, {V4, TCP}, {PAYLOAD, 20}, {PATCH, 14, 0x4f}},
		OTHER(14, NO_TAG)},
	{"total length below the header", {{ETHER, T_IPV4}, {V4, TCP}, {PATCH, 17, 19}},
		OTHER(14, NO_TAG)},

	{"vlan", {{ETHER, T_VLAN}, {TAG, 0x6123, T_IPV4}, {V4, TCP}, {PAYLOAD, 20}},
		PACKET_V4(18, 0x123, TCP, 38)},
	{"priority tag", {{ETHER, T_VLAN}, {TAG, 0xe000, T_IPV4}, {V4, TCP}, {PAYLOAD, 20}},
		PACKET_V4(18, 0, TCP, 38)},
	{"QinQ", {{ETHER, T_QINQ}, {TAG, 100, T_VLAN}, {TAG, 7, T_IPV4}, {V4, TCP}, {PAYLOAD, 20}},
		PACKET_V4(22, 100, TCP, 42)},
	{"QinQ of old",
		{{ETHER, T_9100}, {TAG, 101, T_VLAN}, {TAG, 7, T_IPV6}, {V6, UDP}, {PAYLOAD, 8}},
		PACKET_V6(22, 101, UDP, 62)},
	{"vlan and arp", {{ETHER, T_VLAN}, {TAG, 9, T_ARP}, {PAYLOAD, 46}}, OTHER(18, 9)},
	{"vlan and LLC", {{ETHER, T_VLAN}, {TAG, 9, 46}, {PAYLOAD, 46}}, OTHER(18, 9)},
	{"four tags",
		{{ETHER, T_QINQ}, {TAG, 1, T_QINQ}, {TAG, 2, T_9100}, {TAG, 3, T_VLAN},
			{TAG, 4, T_IPV4}, {V4, UDP}, {PAYLOAD, 8}},
		PACKET_V4(30, 1, UDP, 50)},
	{"five tags",
		{{ETHER, T_QINQ}, {TAG, 1, T_QINQ}, {TAG, 2, T_VLAN}, {TAG, 3, T_VLAN},
			{TAG, 4, T_VLAN}, {TAG, 5, T_IPV4}, {V4, UDP}, {PAYLOAD, 8}},
		OTHER(30, 1)},

	{"v6 tcp", {{ETHER, T_IPV6}, {V6, TCP}, {PAYLOAD, 20}}, PACKET_V6(14, NO_TAG, TCP, 54)},
	{"v6 vlan", {{ETHER, T_VLAN}, {TAG, 4094, T_IPV6}, {V6, UDP}, {PAYLOAD, 8}},
		PACKET_V6(18, 4094, UDP, 58)},
	{"v6 version 4", {{ETHER, T_IPV6}, {V4, TCP}, {PAYLOAD, 60}}, OTHER(14, NO_TAG)},
	{"v6 no payload but padding", {{ETHER, T_IPV6}, {V6, UDP}, {PADDING, 20}},
		PACKET_V6(14, NO_TAG, UDP, 0)},
	{"v6 hop-by-hop", {{ETHER, T_IPV6}, {V6, HOP}, EXT8(UDP), {PAYLOAD, 8}},
		PACKET_V6(14, NO_TAG, UDP, 62)},
	{"v6 routing", {{ETHER, T_IPV6}, {V6, ROUTING}, {EXT, TCP, 2, 24}, {PAYLOAD, 20}},
		PACKET_V6(14, NO_TAG, TCP, 78)},
	{"v6 destination options", {{ETHER, T_IPV6}, {V6, DEST}, {EXT, SCTP, 1, 16}, {PAYLOAD, 20}},
		PACKET_V6(14, NO_TAG, SCTP, 70)},
	{"v6 AH", {{ETHER, T_IPV6}, {V6, AH}, {EXT, TCP, 4, 24}, {PAYLOAD, 20}},
		PACKET_V6(14, NO_TAG, TCP, 78)},
	{"v6 shortest AH", {{ETHER, T_IPV6}, {V6, AH}, {EXT, TCP, 1, 12}, {PAYLOAD, 20}},
		PACKET_V6(14, NO_TAG, TCP, 66)},
	{"v6 one of each",
		{{ETHER, T_IPV6}, {V6, HOP}, EXT8(DEST), EXT8(ROUTING), {EXT, AH, 1, 16},
			{EXT, DEST, 2, 16}, EXT8(UDP), {PAYLOAD, 8}},
		PACKET_V6(14, NO_TAG, UDP, 110)},
	{"v6 hop-by-hop cut by the payload length",
		{{ETHER, T_IPV6}, {V6, HOP}, {EXT, UDP, 9, 8}, {PADDING, 90}},
		PACKET_V6(14, NO_TAG, UDP, 0)},
	{"v6 second header cut by the payload length",
		{{ETHER, T_IPV6}, {V6, DEST}, EXT8(DEST), {PAYLOAD, 7}, {PADDING, 90}},
		PACKET_V6(14, NO_TAG, 0, 0)},
	{"v6 eight headers",
		{{ETHER, T_IPV6}, {V6, HOP}, EXT8(DEST), EXT8(DEST), EXT8(DEST), EXT8(DEST),
			EXT8(DEST), EXT8(DEST), EXT8(DEST), EXT8(UDP), {PAYLOAD, 8}},
		PACKET_V6(14, NO_TAG, UDP, 118)},
	{"v6 nine headers",
		{{ETHER, T_IPV6}, {V6, HOP}, EXT8(DEST), EXT8(DEST), EXT8(DEST), EXT8(DEST),
			EXT8(DEST), EXT8(DEST), EXT8(DEST), EXT8(DEST), EXT8(UDP), {PAYLOAD, 8}},
		PACKET_V6(14, NO_TAG, UDP, 126)},
	{"v6 extension beyond 256 bytes",
		{{ETHER, T_IPV6}, {V6, DEST}, {EXT, TCP, 31, 256}, {PAYLOAD, 20}},
		PACKET_V6(14, NO_TAG, TCP, 310)},
	{"v6 ports beyond 256 bytes",
		{{ETHER, T_IPV6}, {V6, DEST}, {EXT, TCP, 24, 200}, {PAYLOAD, 20}},
		PACKET_V6(14, NO_TAG, TCP, 254)},
	{"v6 ports around 256 bytes",
		{{ETHER, T_IPV6}, {V6, AH}, {EXT, TCP, 47, 196}, {PAYLOAD, 20}},
		PACKET_V6(14, NO_TAG, TCP, 250)},
	{"v6 ESP", {{ETHER, T_IPV6}, {V6, HOP}, EXT8(ESP), {PAYLOAD, 20}},
		PACKET_V6(14, NO_TAG, ESP, 62)},
	{"v6 no next header", {{ETHER, T_IPV6}, {V6, DEST}, EXT8(NO_NEXT), {PAYLOAD, 20}},
		PACKET_V6(14, NO_TAG, NO_NEXT, 0)},
	{"v6 unknown header", {{ETHER, T_IPV6}, {V6, MOBILITY}, EXT8(UDP), {PAYLOAD, 8}},
		PACKET_V6(14, NO_TAG, MOBILITY, 54)},
	{"v6 first fragment", {{ETHER, T_IPV6}, {V6, FRAGMENT}, {V6FRAG, UDP, 1}, {PAYLOAD, 64}},
		FRAGMENT_V6(FIRST, UDP, 58, 62)},
	{"v6 later fragment", {{ETHER, T_IPV6}, {V6, FRAGMENT}, {V6FRAG, UDP, 8}, {PAYLOAD, 64}},
		FRAGMENT_V6(LATER, UDP, 58, 0)},
	{"v6 fragment after others",
		{{ETHER, T_IPV6}, {V6, HOP}, EXT8(FRAGMENT), {V6FRAG, TCP, 9}, {PAYLOAD, 64}},
		FRAGMENT_V6(LATER, TCP, 66, 0)},
	{"v6 fragment before others",
		{{ETHER, T_IPV6}, {V6, FRAGMENT}, {V6FRAG, DEST, 1}, EXT8(TCP), {PAYLOAD, 64}},
		FRAGMENT_V6(FIRST, TCP, 58, 70)},
	{"v6 later fragment of others",
		{{ETHER, T_IPV6}, {V6, FRAGMENT}, {V6FRAG, DEST, 8}, EXT8(TCP), {PAYLOAD, 64}},
		FRAGMENT_V6(LATER, 0, 58, 0)},
	{"v6 first fragment that ends in its headers",
		{{ETHER, T_IPV6}, {V6, FRAGMENT}, {V6FRAG, DEST, 1}, {PAYLOAD, 4}, {PADDING, 4}},
		FRAGMENT_V6(FIRST, 0, 58, 0)},
	{"v6 first fragment without ports",
		{{ETHER, T_IPV6}, {V6, FRAGMENT}, {V6FRAG, UDP, 1}, {PAYLOAD, 3}, {PADDING, 9}},
		FRAGMENT_V6(FIRST, UDP, 58, 0)},
	{"v6 first fragment of nothing",
		{{ETHER, T_IPV6}, {V6, FRAGMENT}, {V6FRAG, NO_NEXT, 1}, {PAYLOAD, 64}},
		FRAGMENT_V6(FIRST, NO_NEXT, 58, 0)},
	{"v6 the one and only fragment",
		{{ETHER, T_IPV6}, {V6, FRAGMENT}, {V6FRAG, DEST, 6}, EXT8(TCP), {PAYLOAD, 64}},
		PACKET_V6(14, NO_TAG, TCP, 70)},
	{"v6 fragment within a fragment",
		{{ETHER, T_IPV6}, {V6, FRAGMENT}, {V6FRAG, FRAGMENT, 1}, {V6FRAG, UDP, 1},
			{PAYLOAD, 64}},
		FRAGMENT_V6(FIRST, 0, 58, 0)},
	{"v6 later fragment within a fragment",
		{{ETHER, T_IPV6}, {V6, FRAGMENT}, {V6FRAG, FRAGMENT, 1}, {V6FRAG, UDP, 8},
			{PAYLOAD, 64}},
		FRAGMENT_V6(FIRST, 0, 58, 0)},
	{"v6 jumbogram",
		{{ETHER, T_IPV6}, {V6, HOP}, {PADDING, 28}, {PATCH, 54, TCP}, {PATCH, 55, 0}},
		PACKET_V6(14, NO_TAG, TCP, 62)},

	{"mpls", {{ETHER, T_MPLS}, {LABEL, 100, 1}, {V4, TCP}, {PAYLOAD, 20}},
		PACKET_V4(18, NO_TAG, TCP, 38)},
	{"mpls, v6", {{ETHER, T_MPLS}, {LABEL, 100, 1}, {V6, UDP}, {PAYLOAD, 8}},
		PACKET_V6(18, NO_TAG, UDP, 58)},
	{"mpls of upstream's labels", {{ETHER, T_MPLS_M}, {LABEL, 100, 1}, {V4, UDP}, {PAYLOAD, 8}},
		PACKET_V4(18, NO_TAG, UDP, 38)},
	{"mpls in vlan",
		{{ETHER, T_VLAN}, {TAG, 9, T_MPLS}, {LABEL, 3, 0}, {LABEL, 4, 1}, {V4, UDP, 2},
			{PAYLOAD, 8}},
		PACKET_V4(26, 9, UDP, 54)},
	{"eight labels",
		{{ETHER, T_MPLS}, {LABEL, 1, 0}, {LABEL, 2, 0}, {LABEL, 3, 0}, {LABEL, 4, 0},
			{LABEL, 5, 0}, {LABEL, 6, 0}, {LABEL, 7, 0}, {LABEL, 8, 1}, {V4, UDP},
			{PAYLOAD, 8}},
		PACKET_V4(46, NO_TAG, UDP, 66)},
	{"nine labels",
		{{ETHER, T_MPLS}, {LABEL, 1, 0}, {LABEL, 2, 0}, {LABEL, 3, 0}, {LABEL, 4, 0},
			{LABEL, 5, 0}, {LABEL, 6, 0}, {LABEL, 7, 0}, {LABEL, 8, 0}, {LABEL, 9, 1},
			{V4, UDP}, {PAYLOAD, 8}},
		OTHER(14, NO_TAG)},
	{"mpls without a bottom", {{ETHER, T_MPLS}, {LABEL, 1, 0}, {LABEL, 2, 0}},
		OTHER(14, NO_TAG)},
	{"mpls and nothing", {{ETHER, T_VLAN}, {TAG, 9, T_MPLS}, {LABEL, 1, 1}}, OTHER(18, 9)},
	{"pseudowire with a control word",
		{{ETHER, T_MPLS}, {LABEL, 1, 1}, {LABEL, 0, 0}, {ETHER, T_IPV4}, {V4, UDP},
			{PAYLOAD, 8}},
		OTHER(14, NO_TAG)},
	{"pseudowire to an address that begins with 4",
		{{ETHER, T_MPLS}, {LABEL, 1, 1}, {ETHER, T_IPV4}, {V4, UDP}, {PAYLOAD, 8},
			{PATCH, 18, 0x44}},
		OTHER(14, NO_TAG)},
	{"mpls fragment", {{ETHER, T_MPLS}, {LABEL, 1, 1}, {V4, UDP, 0, 1}, {PAYLOAD, 8}},
		{.family = 4,
			.dscp = DSCP_EF,
			.ecn = ECT1,
			.proto = UDP,
			.fragment = LATER,
			.l2_len = 18,
			.vlan = NO_TAG,
			.src_off = 30,
			.dst_off = 34,
			.id_off = 22}},

	{"pppoe", {{ETHER, T_PPPOE}, {PPPOE, PPP_IPV4}, {V4, TCP}, {PAYLOAD, 20}},
		PACKET_V4(22, NO_TAG, TCP, 42)},
	{"pppoe, v6, in two vlans",
		{{ETHER, T_QINQ}, {TAG, 10, T_VLAN}, {TAG, 20, T_PPPOE}, {PPPOE, PPP_IPV6},
			{V6, TCP}, {PAYLOAD, 20}},
		PACKET_V6(30, 10, TCP, 70)},
	{"pppoe, link control", {{ETHER, T_PPPOE}, {PPPOE, PPP_LCP}, {V4, TCP}, {PAYLOAD, 20}},
		OTHER(14, NO_TAG)},
	{"pppoe, version 2",
		{{ETHER, T_PPPOE}, {PPPOE, PPP_IPV4}, {V4, TCP}, {PAYLOAD, 20}, {PATCH, 14, 0x21}},
		OTHER(14, NO_TAG)},
	{"pppoe, no session data",
		{{ETHER, T_PPPOE}, {PPPOE, PPP_IPV4}, {V4, TCP}, {PAYLOAD, 20}, {PATCH, 15, 0xa7}},
		OTHER(14, NO_TAG)},
	{"pppoe, v6 as IPv4", {{ETHER, T_PPPOE}, {PPPOE, PPP_IPV4}, {V6, TCP}, {PAYLOAD, 20}},
		OTHER(14, NO_TAG)},
	{"mpls in pppoe",
		{{ETHER, T_PPPOE}, {PPPOE, 0x281}, {LABEL, 1, 1}, {V4, TCP}, {PAYLOAD, 20}},
		OTHER(14, NO_TAG)},
};

static bool has_ports(const struct packet *packet)
{
	return packet->l4_off != 0 && !packet->fragment &&
	       (packet->proto == TCP || packet->proto == UDP || packet->proto == SCTP ||
		       packet->proto == UDP_LITE || packet->proto == DCCP);
}

static uint16_t word_at(const uint8_t *bytes, unsigned at)
{
	return (uint16_t)(bytes[at] << 8 | bytes[at + 1]);
}

static void expect_ports(const char *name, const struct packet *packet, const uint8_t *bytes)
{
	const bool has = has_ports(packet);

	if (packet->src_port != (has ? word_at(bytes, packet->l4_off) : 0) ||
		packet->dst_port != (has ? word_at(bytes, packet->l4_off + 2U) : 0))
		fail_msg("%s: ports %u and %u", name, packet->src_port, packet->dst_port);
}

TEST(test_fields)
{
	struct packet packet;
	struct frame frame;

	for (unsigned i = 0; i < COUNT(cases); i++) {
		build_frame(cases[i].layers, &frame);
		packet = parse_exactly(frame.bytes, frame.len);
		expect_fields(cases[i].name, &packet, &cases[i].expect);
		expect_ports(cases[i].name, &packet, frame.bytes);
	}
}

/* Checks the conditions that hold for any bytes. */
static void check_sound(const struct packet *packet, uint32_t len)
{
	const unsigned size = packet->family == PACKET_IPV4 ? 4 : 16;

	if (len > PARSE_BYTES_MAX)
		len = PARSE_BYTES_MAX;
	assert_true(packet->l2_len <= len);
	assert_true(len >= 14 || packet->l2_len == len);
	assert_true(packet->vlan == PARSE_NO_VLAN || packet->vlan < 4096);
	assert_true(packet->dscp < 64);
	assert_true(packet->ecn < 4);
	assert_true(packet->l4_off == 0 || packet->l4_off + 4u <= len);
	if (packet->family == PACKET_OTHER) {
		assert_int_equal(packet->src_off | packet->dst_off | packet->l4_off, 0);
		assert_int_equal(packet->dscp | packet->proto | packet->fragment, 0);
		assert_int_equal(packet->tcp_flags | packet->ecn | packet->id_off, 0);
		return;
	}
	assert_true(packet->family == PACKET_IPV4 || packet->family == PACKET_IPV6);
	assert_true(packet->src_off > packet->l2_len);
	assert_int_equal(packet->dst_off, packet->src_off + size);
	assert_true(packet->dst_off + size <= len);
	assert_false(packet->fragment == LATER && packet->l4_off != 0);
	assert_true((packet->fragment != PACKET_WHOLE) == (packet->id_off != 0));
	assert_true(packet->fragment == PACKET_WHOLE ||
		    packet->id_off + (packet->family == PACKET_IPV4 ? 2U : 4U) <= len);
	if (packet->tcp_flags != 0) {
		assert_int_equal(packet->proto, TCP);
		assert_true(packet->l4_off != 0 && packet->l4_off + (uint32_t)TCP_FLAGS < len);
	}
}

/* Checks that a cut frame has fewer parsed fields than the whole one, but no different ones. */
static void check_cut(const struct packet *cut, const struct packet *whole)
{
	assert_true(cut->vlan == whole->vlan || cut->vlan == PARSE_NO_VLAN);
	assert_true(cut->l2_len <= whole->l2_len);
	if (cut->family == PACKET_OTHER)
		return;
	assert_int_equal(cut->family, whole->family);
	assert_int_equal(cut->dscp, whole->dscp);
	assert_int_equal(cut->ecn, whole->ecn);
	assert_true(cut->tcp_flags == whole->tcp_flags || cut->tcp_flags == 0);
	assert_int_equal(cut->l2_len, whole->l2_len);
	assert_int_equal(cut->vlan, whole->vlan);
	assert_int_equal(cut->src_off, whole->src_off);
	assert_int_equal(cut->dst_off, whole->dst_off);
	assert_true(cut->proto == whole->proto || cut->proto == 0);
	assert_true(cut->fragment == whole->fragment || cut->fragment == PACKET_WHOLE);
	assert_true(cut->l4_off == whole->l4_off || cut->l4_off == 0);
	if (cut->fragment || cut->l4_off != 0) {
		assert_int_equal(cut->flow_hash, whole->flow_hash);
	}
}

TEST(test_cut_everywhere)
{
	struct packet cut, whole;
	struct frame frame;

	for (unsigned i = 0; i < COUNT(cases); i++) {
		build_frame(cases[i].layers, &frame);
		whole = parse_exactly(frame.bytes, frame.len);
		for (unsigned len = 0; len <= frame.len; len++) {
			cut = parse_exactly(frame.bytes, len);
			check_sound(&cut, len);
			check_cut(&cut, &whole);
		}
	}
}

/* The exact lengths at which fields can be parsed: one byte less, and enough. */
TEST(test_cut_exactly)
{
	static const struct {
		unsigned kind, len;
		struct packet expect;
	} rows[] = {
		{4, 33, OTHER(18, 5)},
		{4, 37, OTHER(18, 5)},
		{4, 38, PACKET_V4(18, 5, TCP, 0)},
		{4, 41, PACKET_V4(18, 5, TCP, 0)},
		{4, 42, PACKET_V4(18, 5, TCP, 38)},
		{4, 18, OTHER(18, 5)},
		{4, 17, OTHER(14, NO_TAG)},
		{4, 14, OTHER(14, NO_TAG)},
		{4, 13, OTHER(13, NO_TAG)},
		{4, 0, OTHER(0, NO_TAG)},
		{44, 41, OTHER(18, 5)},
		{44, 42, PACKET_V4(18, 5, TCP, 0)},
		{6, 57, OTHER(18, 5)},
		{6, 58, PACKET_V6(18, 5, 0, 0)},
		{6, 65, PACKET_V6(18, 5, 0, 0)},
		{6, 66, PACKET_V6(18, 5, UDP, 0)},
		{6, 69, PACKET_V6(18, 5, UDP, 0)},
		{6, 70, PACKET_V6(18, 5, UDP, 66)},
	};
	static const layer v4[LAYERS_MAX] = {
		{ETHER, T_VLAN}, {TAG, 5, T_IPV4}, {V4, TCP}, {PAYLOAD, 20}};
	static const layer v4_option[LAYERS_MAX] = {
		{ETHER, T_VLAN}, {TAG, 5, T_IPV4}, {V4, TCP, 1}, {PAYLOAD, 20}};
	static const layer v6[LAYERS_MAX] = {
		{ETHER, T_VLAN}, {TAG, 5, T_IPV6}, {V6, HOP}, EXT8(UDP), {PAYLOAD, 8}};
	struct packet packet;
	struct frame frame;
	char name[32];

	for (unsigned i = 0; i < COUNT(rows); i++) {
		build_frame(rows[i].kind == 4 ? v4 : rows[i].kind == 44 ? v4_option : v6, &frame);
		packet = parse_exactly(frame.bytes, rows[i].len);
		snprintf(name, sizeof(name), "v%u of %u bytes", rows[i].kind, rows[i].len);
		expect_fields(name, &packet, &rows[i].expect);
	}
}

/* The flags are parsed if their byte is in the frame, in the IP packet and in the parsed bytes. */
TEST(test_tcp_flags)
{
	enum { FLAGS = PATTERN + TCP_FLAGS };
	static const struct {
		const char *name;
		layer layers[LAYERS_MAX];
		unsigned cut; /* bytes missing at the end */
		uint8_t expect;
	} rows[] = {
		{"v4", {{ETHER, T_IPV4}, {V4, TCP}, {PAYLOAD, 20}}, 0, FLAGS},
		{"v4 options", {{ETHER, T_IPV4}, {V4, TCP, 10}, {PAYLOAD, 20}}, 0, FLAGS},
		{"v4 just there", {{ETHER, T_IPV4}, {V4, TCP}, {PAYLOAD, 20}}, 6, FLAGS},
		{"v4 just cut", {{ETHER, T_IPV4}, {V4, TCP}, {PAYLOAD, 20}}, 7, 0},
		{"v4 just in the packet",
			{{ETHER, T_IPV4}, {V4, TCP}, {PAYLOAD, 14}, {PADDING, 12}}, 0, FLAGS},
		{"v4 padding", {{ETHER, T_IPV4}, {V4, TCP}, {PAYLOAD, 13}, {PADDING, 13}}, 0, 0},
		{"v4 udp", {{ETHER, T_IPV4}, {V4, UDP}, {PAYLOAD, 20}}, 0, 0},
		{"v4 first fragment", {{ETHER, T_IPV4}, {V4, TCP, 0, 0x2000}, {PAYLOAD, 24}}, 0,
			FLAGS},
		{"v4 tiny fragment", {{ETHER, T_IPV4}, {V4, TCP, 0, 0x2000}, {PAYLOAD, 16}}, 0, 0},
		{"v4 later fragment", {{ETHER, T_IPV4}, {V4, TCP, 0, 0x2002}, {PAYLOAD, 24}}, 0, 0},
		{"v6", {{ETHER, T_IPV6}, {V6, TCP}, {PAYLOAD, 20}}, 0, FLAGS},
		{"v6 after a header", {{ETHER, T_IPV6}, {V6, HOP}, EXT8(TCP), {PAYLOAD, 20}}, 0,
			FLAGS},
		{"v6 before 256 bytes",
			{{ETHER, T_IPV6}, {V6, AH}, {EXT, TCP, 45, 188}, {PAYLOAD, 20}}, 0, FLAGS},
		{"v6 behind 256 bytes",
			{{ETHER, T_IPV6}, {V6, AH}, {EXT, TCP, 46, 192}, {PAYLOAD, 20}}, 0, FLAGS},
		{"v6 sctp", {{ETHER, T_IPV6}, {V6, SCTP}, {PAYLOAD, 20}}, 0, 0},
	};
	struct packet packet;
	struct frame frame;

	for (unsigned i = 0; i < COUNT(rows); i++) {
		build_frame(rows[i].layers, &frame);
		packet = parse_exactly(frame.bytes, frame.len - rows[i].cut);
		if (packet.tcp_flags != rows[i].expect)
			fail_msg("%s: flags %#x, not %#x", rows[i].name, packet.tcp_flags,
				rows[i].expect);
	}
}

TEST(test_ecn)
{
	for (unsigned ecn = 0; ecn < 4; ecn++) {
		const layer v4[LAYERS_MAX] = {
			{ETHER, T_IPV4}, {V4, UDP}, {PAYLOAD, 20}, {PATCH, 15, DSCP_EF << 2 | ecn}};
		const layer v6[LAYERS_MAX] = {{ETHER, T_IPV6}, {V6, UDP}, {PAYLOAD, 20},
			{PATCH, 15, (DSCP_EF & 3) << 6 | ecn << 4 | 0xf}};

		assert_int_equal(parse_layers(v4).ecn, ecn);
		assert_int_equal(parse_layers(v6).ecn, ecn);
		assert_int_equal(parse_layers(v4).dscp, DSCP_EF);
		assert_int_equal(parse_layers(v6).dscp, DSCP_EF);
	}
}

/* The hash of a packet with a cut header covers the other fields. It is the same for all ports. */
TEST(test_cut_hash)
{
	const layer layers[LAYERS_MAX] = {{ETHER, T_IPV4}, {V4, UDP}, {PAYLOAD, 20}};
	struct packet whole, cut, bare;
	struct frame frame;

	build_frame(layers, &frame);
	whole = parse_exactly(frame.bytes, frame.len);
	cut = parse_exactly(frame.bytes, 34);
	bare = parse_exactly(frame.bytes, 37);
	assert_int_equal(cut.flow_hash, bare.flow_hash);
	assert_int_not_equal(cut.flow_hash, whole.flow_hash);
}

TEST(test_long_frame)
{
	const layer layers[LAYERS_MAX] = {{ETHER, T_IPV4}, {V4, UDP}, {PAYLOAD, 500}};
	static uint8_t bytes[PARSE_BYTES_MAX];
	struct packet packet, shorter;
	struct frame frame;

	build_frame(layers, &frame);
	memcpy(bytes, frame.bytes, frame.len);
	packet = parse_exactly(bytes, 9000);
	shorter = parse_exactly(bytes, PARSE_BYTES_MAX);
	assert_memory_equal(&packet, &shorter, sizeof(packet));
	packet = parse_exactly(bytes, UINT32_MAX);
	assert_memory_equal(&packet, &shorter, sizeof(packet));
}

TEST(test_fragments_hash_alike)
{
	const layer v4[][LAYERS_MAX] = {
		{{ETHER, T_IPV4}, {V4, UDP, 0, 0x2000}, {PAYLOAD, 64}},
		{{ETHER, T_IPV4}, {V4, UDP, 0, 0x2008}, {PADDING, 1}, {PAYLOAD, 64}},
		{{ETHER, T_IPV4}, {V4, UDP, 2, 0x0010}, {PADDING, 2}, {PAYLOAD, 3}},
	};
	const layer v6[][LAYERS_MAX] = {
		{{ETHER, T_IPV6}, {V6, FRAGMENT}, {V6FRAG, UDP, 1}, {PAYLOAD, 64}},
		{{ETHER, T_IPV6}, {V6, FRAGMENT}, {V6FRAG, UDP, 9}, {PADDING, 1}, {PAYLOAD, 64}},
		{{ETHER, T_IPV6}, {V6, FRAGMENT}, {V6FRAG, UDP, 16}, {PADDING, 2}, {PAYLOAD, 3}},
	};
	const layer whole[LAYERS_MAX] = {{ETHER, T_IPV4}, {V4, UDP}, {PAYLOAD, 64}};
	const layer tcp[LAYERS_MAX] = {{ETHER, T_IPV4}, {V4, TCP, 0, 1}, {PAYLOAD, 64}};

	for (unsigned i = 1; i < COUNT(v4); i++) {
		assert_int_equal(parse_layers(v4[i]).flow_hash, parse_layers(v4[0]).flow_hash);
		assert_int_equal(parse_layers(v6[i]).flow_hash, parse_layers(v6[0]).flow_hash);
	}
	assert_int_not_equal(parse_layers(whole).flow_hash, parse_layers(v4[0]).flow_hash);
	assert_int_not_equal(parse_layers(tcp).flow_hash, parse_layers(v4[0]).flow_hash);
}

/* Checks which bytes of a frame are in the hash: the 5-tuple and no others. */
static void check_hash_bytes(const layer *layers, unsigned len, const uint8_t *tuple)
{
	struct frame frame;
	uint32_t before, after;

	build_frame(layers, &frame);
	before = parse_exactly(frame.bytes, frame.len).flow_hash;
	for (unsigned i = 0; i < len; i++) {
		frame.bytes[i] ^= 1;
		after = parse_exactly(frame.bytes, frame.len).flow_hash;
		frame.bytes[i] ^= 1;
		if ((after != before) != tuple[i])
			fail_msg("byte %u %s the hash", i, tuple[i] ? "misses in" : "changes");
	}
}

TEST(test_hash_bytes)
{
	const layer v4[LAYERS_MAX] = {{ETHER, T_IPV4}, {V4, UDP}, {PAYLOAD, 40}};
	const layer v6[LAYERS_MAX] = {{ETHER, T_IPV6}, {V6, UDP}, {PAYLOAD, 40}};
	const layer arp[LAYERS_MAX] = {{ETHER, T_ARP}, {PAYLOAD, 46}};
	uint8_t tuple[100];

	memset(tuple, 0, sizeof(tuple));
	memset(tuple, 1, 14);
	check_hash_bytes(arp, 60, tuple);

	memset(tuple, 0, sizeof(tuple));
	memset(tuple + 12, 1, 3); /* EtherType, version: another kind of packet */
	memset(tuple + 23, 1, 1); /* protocol */
	memset(tuple + 26, 1, 12);
	tuple[20] = 1; /* offset: a fragment */
	tuple[21] = 1;
	check_hash_bytes(v4, 70, tuple);

	memset(tuple, 0, sizeof(tuple));
	memset(tuple + 12, 1, 2);
	memset(tuple + 20, 1, 1);
	memset(tuple + 22, 1, 36);
	check_hash_bytes(v6, 90, tuple);
}

TEST(test_hash_ignores_tags)
{
	const layer plain[LAYERS_MAX] = {{ETHER, T_IPV4}, {V4, UDP, 0}, {PAYLOAD, 40}};
	const layer tagged[LAYERS_MAX] = {
		{ETHER, T_VLAN}, {TAG, 5, T_IPV4}, {V4, UDP, 3}, {PAYLOAD, 40}};

	assert_int_equal(parse_layers(plain).flow_hash, parse_layers(tagged).flow_hash);
}

/* The protocol determines if the first four bytes of a transport header are ports. */
TEST(test_hash_ports)
{
	static const struct {
		unsigned proto;
		bool ports;
	} rows[] = {{TCP, true}, {UDP, true}, {SCTP, true}, {UDP_LITE, true}, {DCCP, true},
		{ICMP, false}, {GRE, false}, {ESP, false}};
	uint32_t one, other;

	for (unsigned i = 0; i < COUNT(rows); i++) {
		const layer v4[][LAYERS_MAX] = {
			{{ETHER, T_IPV4}, {V4, rows[i].proto}, {PAYLOAD, 20}},
			{{ETHER, T_IPV4}, {V4, rows[i].proto}, {PAYLOAD, 20}, {PATCH, 34, 1}},
		};
		one = parse_layers(v4[0]).flow_hash;
		other = parse_layers(v4[1]).flow_hash;
		if ((one != other) != rows[i].ports)
			fail_msg("protocol %u", rows[i].proto);
	}
}

/*
 * The end of the IP packet in a frame according to its header. It is 0 for a jumbogram and for
 * other frames.
 */
TEST(test_ip_end)
{
	enum { HOP_BY_HOP = 0 };
	static const struct {
		uint8_t family;
		uint16_t l2_len, length;
		uint8_t next;
		uint32_t end;
	} rows[] = {
		{PACKET_IPV4, 14, 20, 0, 34},
		{PACKET_IPV4, 18, 1500, 0, 1518},
		{PACKET_IPV4, 14, 0, 0, 14},
		{PACKET_IPV6, 14, 1, UDP, 55},
		{PACKET_IPV6, 18, 65535, UDP, 65593},
		{PACKET_IPV6, 14, 0, UDP, 54},
		{PACKET_IPV6, 14, 1, HOP_BY_HOP, 55},
		{PACKET_IPV6, 14, 0, HOP_BY_HOP, 0},
		{PACKET_OTHER, 14, 20, UDP, 0},
		{PACKET_OTHER, 14, 0, HOP_BY_HOP, 0},
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		const struct packet packet = {
			.family = rows[i].family, .l2_len = (uint8_t)rows[i].l2_len};
		uint8_t frame[64] = {0}, *ip = frame + rows[i].l2_len;
		unsigned at = rows[i].family == PACKET_IPV4 ? 2 : 4;

		ip[at] = (uint8_t)(rows[i].length >> 8);
		ip[at + 1] = (uint8_t)rows[i].length;
		if (rows[i].family != PACKET_IPV4)
			ip[6] = rows[i].next;
		if (packet_ip_end(&packet, frame) != rows[i].end)
			fail_msg("row %zu: %u", i, packet_ip_end(&packet, frame));
	}
}

TEST(test_runts)
{
	const uint8_t zeros[14] = {0};
	struct packet packet;
	uint32_t hashes[14];

	for (unsigned len = 0; len < 14; len++) {
		packet = parse_exactly(zeros, len);
		expect_fields("runt", &packet, &(struct packet)OTHER(len, NO_TAG));
		hashes[len] = packet.flow_hash;
		for (unsigned i = 0; i < len; i++)
			assert_int_not_equal(hashes[i], hashes[len]);
	}
}

#define FLOWS         65536
#define HASH_BITS_TOP 27

/*
 * Chi-square with 31 degrees of freedom has mean 31 and deviation 7.9, so 80 is six deviations
 * away. A hash that counts would pass too, so check_collisions() is also needed.
 */
static void check_spread(const char *what, const uint32_t *hashes)
{
	const double expected = FLOWS / 32.0;
	double chi;

	for (unsigned shift = 0; shift <= HASH_BITS_TOP; shift++) {
		unsigned buckets[32] = {0};

		chi = 0;
		for (unsigned i = 0; i < FLOWS; i++)
			buckets[hashes[i] >> shift & 31]++;
		for (unsigned b = 0; b < 32; b++)
			chi += (buckets[b] - expected) * (buckets[b] - expected) / expected;
		if (chi > 80)
			fail_msg("%s: chi-square of bits %u to %u is %.1f", what, shift, shift + 4,
				chi);
	}
}

/* 65,536 values in 2^27 cells collide 16 times, plus or minus 4. */
static void check_collisions(const char *what, const uint32_t *hashes)
{
	uint8_t *seen = calloc(1u << (HASH_BITS_TOP - 3), 1);
	unsigned met = 0;

	assert_non_null(seen);
	for (unsigned i = 0; i < FLOWS; i++) {
		const uint32_t top = hashes[i] >> (32 - HASH_BITS_TOP);

		met += seen[top / 8] >> top % 8 & 1;
		seen[top / 8] |= 1 << top % 8;
	}
	free(seen);
	if (met > 40)
		fail_msg("%s: %u collisions in the top 27 bits", what, met);
}

/* Hashes a frame with all values in two of its bytes, which can be apart. */
static void check_sequence(const char *what, const layer *layers, unsigned high, unsigned low)
{
	static uint32_t hashes[FLOWS];
	struct packet packet;
	struct frame frame;

	build_frame(layers, &frame);
	for (unsigned i = 0; i < FLOWS; i++) {
		frame.bytes[high] = i >> 8;
		frame.bytes[low] = i & 0xff;
		packet_parse(frame.bytes, frame.len, &packet);
		hashes[i] = packet_flow_hash(&packet, frame.bytes);
	}
	check_spread(what, hashes);
	check_collisions(what, hashes);
}

TEST(test_hash_spreads)
{
	const layer v4[LAYERS_MAX] = {{ETHER, T_IPV4}, {V4, UDP}, {PAYLOAD, 40}};
	const layer v6[LAYERS_MAX] = {{ETHER, T_IPV6}, {V6, UDP}, {PAYLOAD, 40}};
	const layer arp[LAYERS_MAX] = {{ETHER, T_ARP}, {PAYLOAD, 46}};

	check_sequence("v4 source ports", v4, 34, 35);
	check_sequence("v4 destination ports", v4, 36, 37);
	check_sequence("v4 both ports", v4, 35, 37);
	check_sequence("v4 sources", v4, 28, 29);
	check_sequence("v4 sources, high bytes", v4, 26, 27);
	check_sequence("v4 destinations", v4, 32, 33);
	check_sequence("v4 source and destination", v4, 29, 33);
	check_sequence("v4 destination and port", v4, 33, 35);
	check_sequence("v4 source and port", v4, 29, 37);
	check_sequence("v6 source ports", v6, 54, 55);
	check_sequence("v6 sources", v6, 36, 37);
	check_sequence("v6 source subnets", v6, 28, 29);
	check_sequence("v6 destinations", v6, 52, 53);
	check_sequence("v6 destination subnets", v6, 44, 45);
	check_sequence("v6 source and destination", v6, 37, 53);
	check_sequence("MAC addresses", arp, 4, 5);
	check_sequence("both MAC addresses", arp, 5, 11);
}

/* Checks that each flipped bit of the tuple flips each bit of the hash about every other time. */
static void check_avalanche(const layer *layers, unsigned from, unsigned to)
{
	enum { ROUNDS = 4096 };
	struct packet packet;
	struct frame frame;
	uint32_t before, after;

	build_frame(layers, &frame);
	for (unsigned bit = from * 8; bit < to * 8; bit++) {
		unsigned flips[32] = {0};

		for (unsigned round = 0; round < ROUNDS; round++) {
			frame.bytes[to - 2] = round >> 8;
			frame.bytes[to - 1] = round & 0xff;
			packet_parse(frame.bytes, frame.len, &packet);
			before = packet_flow_hash(&packet, frame.bytes);
			frame.bytes[bit / 8] ^= 1 << bit % 8;
			packet_parse(frame.bytes, frame.len, &packet);
			after = packet_flow_hash(&packet, frame.bytes);
			for (unsigned b = 0; b < 32; b++)
				flips[b] += (before ^ after) >> b & 1;
		}
		for (unsigned b = 0; b < 32; b++)
			if (flips[b] < ROUNDS * 0.4 || flips[b] > ROUNDS * 0.6)
				fail_msg("bit %u flips bit %u of the hash in %u of %u", bit, b,
					flips[b], (unsigned)ROUNDS);
	}
}

TEST(test_hash_avalanche)
{
	const layer v4[LAYERS_MAX] = {{ETHER, T_IPV4}, {V4, UDP}, {PAYLOAD, 40}};
	const layer v6[LAYERS_MAX] = {{ETHER, T_IPV6}, {V6, UDP}, {PAYLOAD, 40}};

	check_avalanche(v4, 26, 38);
	check_avalanche(v6, 22, 58);
}

static uint64_t random_next(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

/* Parses the cases with a few bytes changed, cut anywhere. */
TEST(test_mutations)
{
	const uint64_t seed = 0x5eed0001;
	uint64_t random = seed;
	struct packet packet;
	struct frame frame;
	unsigned len;

	print_message("seed %#" PRIx64 "\n", seed);
	for (unsigned i = 0; i < 300000; i++) {
		build_frame(cases[i % COUNT(cases)].layers, &frame);
		for (unsigned n = random_next(&random) % 4; n > 0; n--) {
			const unsigned at = 12 + random_next(&random) % 60;

			frame.bytes[at] = random_next(&random) >> 32;
		}
		len = random_next(&random) % (frame.len + 1);
		packet = parse_exactly(frame.bytes, len);
		check_sound(&packet, len);
	}
}

#define PADDED(...)                 \
	{                           \
		__VA_ARGS__,        \
		{                   \
			PADDING, 30 \
		}                   \
	}
#define FIRST4(proto, bytes) PADDED({ETHER, T_IPV4}, {V4, (proto), 0, 0x2000}, {PAYLOAD, (bytes)})
#define FIRST6(proto, bytes) \
	PADDED({ETHER, T_IPV6}, {V6, FRAGMENT}, {V6FRAG, (proto), 1}, {PAYLOAD, (bytes)})
#define CHAIN(proto, bytes) PADDED({ETHER, T_IPV6}, {V6, DEST}, EXT8(proto), {PAYLOAD, (bytes)})
#define INSIDE(value)                                                                          \
	PADDED({ETHER, T_IPV6}, {V6, FRAGMENT}, {V6FRAG, FRAGMENT, 1}, {V6FRAG, UDP, (value)}, \
		{PAYLOAD, 64})
#define FLAGS PACKET_UNKNOWN_FLAGS
#define PORTS PACKET_UNKNOWN_PORTS
#define ALL   PACKET_UNKNOWN_TRANSPORT

/* The reasons why a packet is not parsed, and its unknown fields: barely enough, and too little. */
TEST(test_unparsed)
{
	static const struct {
		const char *name;
		layer layers[LAYERS_MAX];
		unsigned why, unknown;
	} rows[] = {
		{"all of TCP", FIRST4(TCP, 20), UNPARSED_NONE, 0},
		{"TCP without a byte", FIRST4(TCP, 19), UNPARSED_FRAGMENT_TINY, FLAGS},
		{"ports alone", FIRST4(TCP, 4), UNPARSED_FRAGMENT_TINY, FLAGS},
		{"ports but a byte", FIRST4(TCP, 3), UNPARSED_FRAGMENT_TINY, FLAGS | PORTS},
		{"all of UDP", FIRST4(UDP, 8), UNPARSED_NONE, 0},
		{"UDP without a byte", FIRST4(UDP, 7), UNPARSED_FRAGMENT_TINY, FLAGS},
		{"all of UDP-Lite", FIRST4(UDP_LITE, 8), UNPARSED_NONE, 0},
		{"UDP-Lite without a byte", FIRST4(UDP_LITE, 7), UNPARSED_FRAGMENT_TINY, FLAGS},
		{"all of SCTP", FIRST4(SCTP, 12), UNPARSED_NONE, 0},
		{"SCTP without a byte", FIRST4(SCTP, 11), UNPARSED_FRAGMENT_TINY, FLAGS},
		{"all of DCCP", FIRST4(DCCP, 12), UNPARSED_NONE, 0},
		{"DCCP without a byte", FIRST4(DCCP, 11), UNPARSED_FRAGMENT_TINY, FLAGS},
		{"no ports to know", FIRST4(ICMP, 0), UNPARSED_NONE, 0},
		{"v6, all of TCP", FIRST6(TCP, 20), UNPARSED_NONE, 0},
		{"v6, TCP without a byte", FIRST6(TCP, 19), UNPARSED_FRAGMENT_TINY, FLAGS},
		{"v6, no ports", FIRST6(UDP, 3), UNPARSED_FRAGMENT_TINY, FLAGS | PORTS},
		{"a later one",
			{{ETHER, T_IPV4}, {V4, TCP, 0, 0x2001}, {PAYLOAD, 3}, {PADDING, 30}},
			UNPARSED_NONE, 0},
		{"chain, all of TCP", CHAIN(TCP, 20), UNPARSED_NONE, 0},
		{"chain, TCP without a byte", CHAIN(TCP, 19), UNPARSED_CHAIN_CUT, FLAGS},
		{"chain, no ports", CHAIN(TCP, 3), UNPARSED_CHAIN_CUT, FLAGS | PORTS},
		{"chain, UDP without a byte", CHAIN(UDP, 7), UNPARSED_CHAIN_CUT, FLAGS},
		{"chain to no ports", CHAIN(ICMP, 0), UNPARSED_NONE, 0},
		{"no chain", {{ETHER, T_IPV6}, {V6, TCP}, {PAYLOAD, 3}, {PADDING, 30}},
			UNPARSED_NONE, 0},
		{"cut within the chain", CHAIN(DEST, 7), UNPARSED_CHAIN_CUT, ALL},
		{"cut after the chain", CHAIN(NO_NEXT, 7), UNPARSED_NONE, 0},
		{"eight headers",
			{{ETHER, T_IPV6}, {V6, HOP}, EXT8(DEST), EXT8(DEST), EXT8(DEST), EXT8(DEST),
				EXT8(DEST), EXT8(DEST), EXT8(DEST), EXT8(UDP), {PAYLOAD, 8}},
			UNPARSED_NONE, 0},
		{"a fragment within", INSIDE(1), UNPARSED_FRAGMENT_NESTED, ALL},
		{"a later one within", INSIDE(8), UNPARSED_FRAGMENT_NESTED, ALL},
		{"a whole one within", INSIDE(0), UNPARSED_NONE, 0},
		{"four tags",
			{{ETHER, T_QINQ}, {TAG, 1, T_QINQ}, {TAG, 2, T_9100}, {TAG, 3, T_VLAN},
				{TAG, 4, T_IPV4}, {V4, UDP}, {PAYLOAD, 8}},
			UNPARSED_NONE, 0},
		{"five tags",
			{{ETHER, T_QINQ}, {TAG, 1, T_QINQ}, {TAG, 2, T_VLAN}, {TAG, 3, T_VLAN},
				{TAG, 4, T_VLAN}, {TAG, 5, T_IPV4}, {V4, UDP}, {PAYLOAD, 8}},
			UNPARSED_TOO_DEEP, ALL | PACKET_UNKNOWN_ADDRESS},
		{"eight labels",
			{{ETHER, T_MPLS}, {LABEL, 1}, {LABEL, 2}, {LABEL, 3}, {LABEL, 4},
				{LABEL, 5}, {LABEL, 6}, {LABEL, 7}, {LABEL, 8, 1}, {V4, UDP},
				{PAYLOAD, 8}},
			UNPARSED_NONE, 0},
		{"nine labels",
			{{ETHER, T_MPLS}, {LABEL, 1}, {LABEL, 2}, {LABEL, 3}, {LABEL, 4},
				{LABEL, 5}, {LABEL, 6}, {LABEL, 7}, {LABEL, 8}, {LABEL, 9, 1},
				{V4, UDP}, {PAYLOAD, 8}},
			UNPARSED_TOO_DEEP, ALL | PACKET_UNKNOWN_ADDRESS},
	};

	for (unsigned i = 0; i < COUNT(rows); i++) {
		struct packet packet = parse_layers(rows[i].layers);

		if (packet.unparsed != rows[i].why || packet.unknown != rows[i].unknown)
			fail_msg("%s: %s, unknown %u", rows[i].name,
				packet_unparsed_name(packet.unparsed), packet.unknown);
	}
}

/* 64 extension headers are parsed, and no more. */
TEST(test_longest_chain)
{
	for (unsigned n = 63; n <= 65; n++) {
		const layer layers[LAYERS_MAX] = {
			{ETHER, T_IPV6}, {V6, DEST}, {PAYLOAD, 8 * n + 8}};
		struct packet packet;
		struct frame frame;

		build_frame(layers, &frame);
		for (unsigned i = 0; i < n; i++) {
			frame.bytes[54 + 8 * i] = i + 1 < n ? DEST : UDP;
			frame.bytes[55 + 8 * i] = 0;
		}
		packet = parse_exactly(frame.bytes, frame.len);
		assert_int_equal(packet.unparsed, n < 65 ? UNPARSED_NONE : UNPARSED_CHAIN_LONG);
		assert_int_equal(packet.unknown, n < 65 ? 0 : PACKET_UNKNOWN_TRANSPORT);
		assert_int_equal(packet.proto, n < 65 ? UDP : 0);
	}
}
