/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The fields that packet_enter_tunnels() changes to those inside, and the others. Each
 * parse gets a heap copy of exactly the bytes that it may read, so that AddressSanitizer detects
 * any other read.
 */
#include "check.h"

#include "base/prng.h"
#include "packet/parse.h"
#include "frame_layers.h"
#include "packet/mark.h"

/* Outer headers: Ethernet 14, IPv4 20, then GRE at 34; IPv6 40, then GRE at 54. */
#define OUTER4(p)        \
	{ETHER, T_IPV4}, \
	{                \
		V4, (p)  \
	}
#define OUTER6(p)        \
	{ETHER, T_IPV6}, \
	{                \
		V6, (p)  \
	}

#define INNER4(outside, l3, p, l4)                                                            \
	{                                                                                     \
		.family = 4, .dscp = DSCP_EF, .ecn = ECT1, .proto = (p), .l2_len = (outside), \
		.vlan = NO_TAG, .src_off = (l3) + 12, .dst_off = (l3) + 16, .l4_off = (l4)    \
	}
#define INNER6(outside, l3, p, l4)                                                            \
	{                                                                                     \
		.family = 6, .dscp = DSCP_EF, .ecn = ECT1, .proto = (p), .l2_len = (outside), \
		.vlan = NO_TAG, .src_off = (l3) + 8, .dst_off = (l3) + 24, .l4_off = (l4)     \
	}

static const struct tunnels tunnels = {.classify = TUNNELS_INNER, .vxlan_port = VXLAN};

static const struct tunnel_case {
	const char *name;
	layer layers[LAYERS_MAX];
	struct packet expect;
} cases[] = {
	{"no tunnel", {OUTER4(UDP), {UDP_HEADER, 53}, {PAYLOAD, 40}},
		PACKET_V4(14, NO_TAG, UDP, 34)},
	{"gre", {OUTER4(GRE), {GRE_HEADER, 0, T_IPV4}, {V4, UDP}, {PAYLOAD, 8}},
		INNER4(14, 38, UDP, 58)},
	{"gre over v6", {OUTER6(GRE), {GRE_HEADER, 0, T_IPV4}, {V4, TCP}, {PAYLOAD, 20}},
		INNER4(14, 58, TCP, 78)},
	{"gre, v6 in v4", {OUTER4(GRE), {GRE_HEADER, 0, T_IPV6}, {V6, TCP}, {PAYLOAD, 20}},
		INNER6(14, 38, TCP, 78)},
	{"gre with a key", {OUTER4(GRE), {GRE_HEADER, 0x2000, T_IPV4}, {V4, UDP}, {PAYLOAD, 8}},
		INNER4(14, 42, UDP, 62)},
	{"gre with a checksum",
		{OUTER4(GRE), {GRE_HEADER, 0x8000, T_IPV4}, {V4, UDP}, {PAYLOAD, 8}},
		INNER4(14, 42, UDP, 62)},
	{"gre with a sequence number",
		{OUTER4(GRE), {GRE_HEADER, 0x1000, T_IPV4}, {V4, UDP}, {PAYLOAD, 8}},
		INNER4(14, 42, UDP, 62)},
	{"gre with everything",
		{OUTER4(GRE), {GRE_HEADER, 0xb000, T_IPV4}, {V4, UDP}, {PAYLOAD, 8}},
		INNER4(14, 50, UDP, 70)},
	{"gre with routing", {OUTER4(GRE), {GRE_HEADER, 0x4000, T_IPV4}, {V4, UDP}, {PAYLOAD, 8}},
		PACKET_V4(14, NO_TAG, GRE, 34)},
	{"gre, version 1", {OUTER4(GRE), {GRE_HEADER, 0x2001, 0x880b}, {PAYLOAD, 40}},
		PACKET_V4(14, NO_TAG, GRE, 34)},
	{"gre, a flag of the future",
		{OUTER4(GRE), {GRE_HEADER, 0x0100, T_IPV4}, {V4, UDP}, {PAYLOAD, 8}},
		PACKET_V4(14, NO_TAG, GRE, 34)},
	{"gre of no IP", {OUTER4(GRE), {GRE_HEADER, 0, T_ARP}, {PAYLOAD, 28}},
		PACKET_V4(14, NO_TAG, GRE, 34)},
	{"gre, Ethernet",
		{OUTER4(GRE), {GRE_HEADER, 0x2000, T_BRIDGED}, {ETHER, T_IPV4}, {V4, TCP},
			{PAYLOAD, 20}},
		INNER4(14, 56, TCP, 76)},
	{"gre, Ethernet with a tag",
		{OUTER4(GRE), {GRE_HEADER, 0, T_BRIDGED}, {ETHER, T_VLAN}, {TAG, 77, T_IPV6},
			{V6, TCP}, {PAYLOAD, 20}},
		INNER6(14, 56, TCP, 96)},
	{"gre, Ethernet of no IP",
		{OUTER4(GRE), {GRE_HEADER, 0, T_BRIDGED}, {ETHER, T_ARP}, {PAYLOAD, 46}},
		PACKET_V4(14, NO_TAG, GRE, 34)},
	{"gre, mpls",
		{OUTER4(GRE), {GRE_HEADER, 0, T_MPLS}, {LABEL, 1, 1}, {V4, UDP}, {PAYLOAD, 8}},
		INNER4(14, 42, UDP, 62)},
	{"gre, an inner header that is none",
		{OUTER4(GRE), {GRE_HEADER, 0, T_IPV4}, {V4, UDP}, {PAYLOAD, 8}, {PATCH, 38, 0x55}},
		PACKET_V4(14, NO_TAG, GRE, 34)},
	{"gre behind an extension header",
		{OUTER6(DEST), EXT8(GRE), {GRE_HEADER, 0, T_IPV6}, {V6, UDP}, {PAYLOAD, 8}},
		INNER6(14, 66, UDP, 106)},
	{"gre in a tagged frame",
		{{ETHER, T_VLAN}, {TAG, 5, T_IPV4}, {V4, GRE}, {GRE_HEADER, 0, T_IPV4}, {V4, UDP},
			{PAYLOAD, 8}},
		{.family = 4,
			.dscp = DSCP_EF,
			.ecn = ECT1,
			.proto = UDP,
			.l2_len = 18,
			.vlan = 5,
			.src_off = 54,
			.dst_off = 58,
			.l4_off = 62}},
	{"gre under mpls",
		{{ETHER, T_MPLS}, {LABEL, 5, 1}, {V4, GRE}, {GRE_HEADER, 0, T_IPV4}, {V4, UDP},
			{PAYLOAD, 8}},
		INNER4(18, 42, UDP, 62)},

	{"vxlan",
		{OUTER4(UDP), {UDP_HEADER, VXLAN}, {VXLAN_HEADER, 8}, {ETHER, T_IPV4}, {V4, TCP},
			{PAYLOAD, 20}},
		INNER4(14, 64, TCP, 84)},
	{"vxlan over v6",
		{OUTER6(UDP), {UDP_HEADER, VXLAN}, {VXLAN_HEADER, 8}, {ETHER, T_IPV6}, {V6, UDP},
			{PAYLOAD, 8}},
		INNER6(14, 84, UDP, 124)},
	{"vxlan, reserved bits and a group policy",
		{OUTER4(UDP), {UDP_HEADER, VXLAN}, {VXLAN_HEADER, 0x89}, {ETHER, T_IPV4}, {V4, UDP},
			{PAYLOAD, 8}},
		INNER4(14, 64, UDP, 84)},
	{"vxlan without a network",
		{OUTER4(UDP), {UDP_HEADER, VXLAN}, {VXLAN_HEADER, 0}, {ETHER, T_IPV4}, {V4, UDP},
			{PAYLOAD, 8}},
		PACKET_V4(14, NO_TAG, UDP, 34)},
	{"vxlan-gpe",
		{OUTER4(UDP), {UDP_HEADER, VXLAN}, {VXLAN_HEADER, 0xc}, {ETHER, T_IPV4}, {V4, UDP},
			{PAYLOAD, 8}},
		PACKET_V4(14, NO_TAG, UDP, 34)},
	{"vxlan on another port",
		{OUTER4(UDP), {UDP_HEADER, VXLAN + 1}, {VXLAN_HEADER, 8}, {ETHER, T_IPV4},
			{V4, UDP}, {PAYLOAD, 8}},
		PACKET_V4(14, NO_TAG, UDP, 34)},
	{"vxlan over TCP's port",
		{OUTER4(TCP), {UDP_HEADER, VXLAN}, {VXLAN_HEADER, 8}, {ETHER, T_IPV4}, {V4, UDP},
			{PAYLOAD, 8}},
		PACKET_V4(14, NO_TAG, TCP, 34)},
	{"vxlan, no IP",
		{OUTER4(UDP), {UDP_HEADER, VXLAN}, {VXLAN_HEADER, 8}, {ETHER, T_ARP},
			{PAYLOAD, 46}},
		PACKET_V4(14, NO_TAG, UDP, 34)},

	{"v4 in v4", {OUTER4(IPIP), {V4, UDP}, {PAYLOAD, 8}}, INNER4(14, 34, UDP, 54)},
	{"v6 in v4", {OUTER4(SIXIN4), {V6, TCP}, {PAYLOAD, 20}}, INNER6(14, 34, TCP, 74)},
	{"v4 in v6", {OUTER6(IPIP), {V4, UDP}, {PAYLOAD, 8}}, INNER4(14, 54, UDP, 74)},
	{"v6 in v6", {OUTER6(SIXIN4), {V6, UDP}, {PAYLOAD, 8}}, INNER6(14, 54, UDP, 94)},
	{"v6 that says it is v4", {OUTER4(IPIP), {V6, UDP}, {PAYLOAD, 8}},
		PACKET_V4(14, NO_TAG, IPIP, 34)},

	{"two deep", {OUTER4(IPIP), {V4, GRE}, {GRE_HEADER, 0, T_IPV4}, {V4, UDP}, {PAYLOAD, 8}},
		INNER4(14, 58, UDP, 78)},
	{"three deep", {OUTER4(IPIP), {V4, IPIP}, {V4, IPIP}, {V4, UDP}, {PAYLOAD, 8}},
		INNER4(14, 54, IPIP, 74)},

	{"a fragment of the tunnel, first",
		{{ETHER, T_IPV4}, {V4, IPIP, 0, 0x2000}, {V4, UDP}, {PAYLOAD, 8}},
		FRAGMENT_V4(PACKET_FRAGMENT_FIRST, IPIP, 34)},
	{"a fragment of the tunnel, later",
		{{ETHER, T_IPV4}, {V4, IPIP, 0, 2}, {V4, UDP}, {PAYLOAD, 8}},
		FRAGMENT_V4(PACKET_FRAGMENT_LATER, IPIP, 0)},
	{"a fragment in the tunnel", {OUTER4(IPIP), {V4, UDP, 0, 2}, {PAYLOAD, 8}},
		{.family = 4,
			.dscp = DSCP_EF,
			.ecn = ECT1,
			.proto = UDP,
			.fragment = PACKET_FRAGMENT_LATER,
			.l2_len = 14,
			.vlan = NO_TAG,
			.src_off = 46,
			.dst_off = 50,
			.id_off = 38}},
	{"the outer packet ends before the inner header",
		{OUTER4(IPIP), {PAYLOAD, 19}, {PADDING, 30}, {PATCH, 34, 0x45}, {PATCH, 37, 20}},
		PACKET_V4(14, NO_TAG, IPIP, 34)},
	{"the outer packet ends before the inner ports",
		{OUTER4(IPIP), {PAYLOAD, 23}, {PADDING, 30}, {PATCH, 34, 0x45}, {PATCH, 35, 0},
			{PATCH, 36, 0}, {PATCH, 37, 40}, {PATCH, 40, 0}, {PATCH, 41, 0},
			{PATCH, 43, UDP}},
		INNER4(14, 34, UDP, 0)},
};

/* Enters tunnels in a copy that ends where the packet does. */
static struct packet enter_exactly(const uint8_t *bytes, uint32_t len, const struct tunnels *how)
{
	const uint32_t readable = len < PARSE_BYTES_MAX ? len : PARSE_BYTES_MAX;
	uint8_t *copy = malloc(readable);
	struct packet packet;

	if (readable > 0)
		memcpy(copy, bytes, readable);
	packet_parse(copy, len, &packet);
	packet_enter_tunnels(copy, len, how, &packet);
	packet.flow_hash = packet_flow_hash(&packet, copy);
	free(copy);
	return packet;
}

TEST(test_fields)
{
	struct packet packet;
	struct frame frame;

	for (unsigned i = 0; i < COUNT(cases); i++) {
		build_frame(cases[i].layers, &frame);
		packet = enter_exactly(frame.bytes, frame.len, &tunnels);
		expect_fields(cases[i].name, &packet, &cases[i].expect);
	}
}

static bool same_addresses(const struct packet *a, const struct packet *b)
{
	return a->family == b->family && a->src_off == b->src_off && a->dst_off == b->dst_off;
}

/* A cut frame has the fields of its outer packet, or some of its inner packet, and no others. */
TEST(test_cut_everywhere)
{
	struct packet cut, whole, outside;
	struct frame frame;

	for (unsigned i = 0; i < COUNT(cases); i++) {
		build_frame(cases[i].layers, &frame);
		whole = enter_exactly(frame.bytes, frame.len, &tunnels);
		for (unsigned len = 0; len <= frame.len; len++) {
			cut = enter_exactly(frame.bytes, len, &tunnels);
			packet_parse(frame.bytes, len, &outside);
			assert_int_equal(cut.l2_len, outside.l2_len);
			assert_int_equal(cut.vlan, outside.vlan);
			assert_int_equal(cut.dscp, outside.dscp);
			assert_int_equal(cut.ecn, outside.ecn);
			if (same_addresses(&cut, &outside))
				continue;
			if (!same_addresses(&cut, &whole) && strcmp(cases[i].name, "two deep") &&
				strcmp(cases[i].name, "three deep"))
				fail_msg("%s, cut at %u", cases[i].name, len);
			assert_true(cut.dst_off + (cut.family == 4 ? 4U : 16U) <= len);
		}
	}
}

/* The exact lengths at which the ports of the inner packet can be parsed. */
TEST(test_cut_exactly)
{
	static const layer gre[LAYERS_MAX] = {
		OUTER4(GRE), {GRE_HEADER, 0xb000, T_IPV4}, {V4, UDP}, {PAYLOAD, 8}};
	static const layer vxlan[LAYERS_MAX] = {OUTER4(UDP), {UDP_HEADER, VXLAN}, {VXLAN_HEADER, 8},
		{ETHER, T_IPV4}, {V4, TCP}, {PAYLOAD, 20}};
	static const struct {
		const layer *layers;
		unsigned len;
		struct packet expect;
	} rows[] = {
		{gre, 69, PACKET_V4(14, NO_TAG, GRE, 34)},
		{gre, 70, INNER4(14, 50, UDP, 0)},
		{gre, 73, INNER4(14, 50, UDP, 0)},
		{gre, 74, INNER4(14, 50, UDP, 70)},
		{vxlan, 83, PACKET_V4(14, NO_TAG, UDP, 34)},
		{vxlan, 84, INNER4(14, 64, TCP, 0)},
		{vxlan, 88, INNER4(14, 64, TCP, 84)},
	};
	struct packet packet;
	struct frame frame;

	for (unsigned i = 0; i < COUNT(rows); i++) {
		build_frame(rows[i].layers, &frame);
		packet = enter_exactly(frame.bytes, rows[i].len, &tunnels);
		expect_fields("cut", &packet, &rows[i].expect);
	}
}

/* Ports and flags are those of the inner packet. None of the outer packet remain. */
TEST(test_transport)
{
	const layer tcp[LAYERS_MAX] = {OUTER4(UDP), {UDP_HEADER, VXLAN}, {VXLAN_HEADER, 8},
		{ETHER, T_IPV4}, {V4, TCP}, {PAYLOAD, 20}};
	const layer icmp[LAYERS_MAX] = {OUTER4(UDP), {UDP_HEADER, VXLAN}, {VXLAN_HEADER, 8},
		{ETHER, T_IPV4}, {V4, ICMP}, {PAYLOAD, 20}};
	struct packet packet;
	struct frame frame;

	build_frame(tcp, &frame);
	packet = enter_exactly(frame.bytes, frame.len, &tunnels);
	assert_int_equal(packet.src_port, PATTERN << 8 | (PATTERN + 1));
	assert_int_equal(packet.dst_port, (PATTERN + 2) << 8 | (PATTERN + 3));
	assert_int_equal(packet.tcp_flags, PATTERN + TCP_FLAGS);
	build_frame(icmp, &frame);
	packet = enter_exactly(frame.bytes, frame.len, &tunnels);
	assert_int_equal(packet.src_port | packet.dst_port | packet.tcp_flags, 0);
}

TEST(test_port)
{
	const layer layers[LAYERS_MAX] = {OUTER4(UDP), {UDP_HEADER, 8472}, {VXLAN_HEADER, 8},
		{ETHER, T_IPV4}, {V4, TCP}, {PAYLOAD, 20}};
	const struct tunnels linux_of_old = {.classify = TUNNELS_INNER, .vxlan_port = 8472};
	struct packet packet;
	struct frame frame;

	build_frame(layers, &frame);
	packet = enter_exactly(frame.bytes, frame.len, &linux_of_old);
	assert_int_equal(packet.src_off, 76);
	packet = enter_exactly(frame.bytes, frame.len, &tunnels);
	assert_int_equal(packet.src_off, 26);
}

/* The flow is the inner one: the hash is that of the bare packet, in any tunnel. */
TEST(test_hash)
{
	static const layer bare[LAYERS_MAX] = {OUTER4(UDP), {PAYLOAD, 20}};
	static const layer around[][LAYERS_MAX] = {
		{OUTER4(IPIP), {V4, UDP}, {PAYLOAD, 20}},
		{OUTER6(GRE), {GRE_HEADER, 0x2000, T_IPV4}, {V4, UDP}, {PAYLOAD, 20}},
		{OUTER4(UDP), {UDP_HEADER, VXLAN}, {VXLAN_HEADER, 8}, {ETHER, T_IPV4}, {V4, UDP},
			{PAYLOAD, 20}},
	};
	struct packet packet;
	struct frame frame;
	uint32_t want;

	build_frame(bare, &frame);
	want = enter_exactly(frame.bytes, frame.len, &tunnels).flow_hash;
	for (unsigned i = 0; i < COUNT(around); i++) {
		build_frame(around[i], &frame);
		packet = enter_exactly(frame.bytes, frame.len, &tunnels);
		/*
		 * The builder gives every IP packet other addresses, so restore those of the bare
		 * packet.
		 */
		for (unsigned b = 0; b < 8; b++)
			frame.bytes[packet.src_off + b] = 10 + b;
		packet = enter_exactly(frame.bytes, frame.len, &tunnels);
		assert_int_equal(packet.flow_hash, want);
	}
}

/* A mark is set in the outermost header, also if the inner packet has the other family. */
TEST(test_mark)
{
	static const struct {
		layer layers[LAYERS_MAX];
		unsigned at;
		uint8_t ecn, dscp; /* byte at this place after either mark */
	} rows[] = {
		{{OUTER4(SIXIN4), {V6, TCP}, {PAYLOAD, 20}}, 15, DSCP_EF << 2 | 3, 8 << 2 | ECT1},
		{{OUTER4(IPIP), {V4, TCP}, {PAYLOAD, 20}}, 15, DSCP_EF << 2 | 3, 8 << 2 | ECT1},
		{{OUTER6(IPIP), {V4, TCP}, {PAYLOAD, 20}}, 15, 0xb0, 0x10},
		{{{ETHER, T_MPLS}, {LABEL, 5, 1}, {V4, IPIP}, {V4, UDP}, {PAYLOAD, 8}}, 19,
			DSCP_EF << 2 | 3, 8 << 2 | ECT1},
	};
	struct frame frame, before;
	struct packet packet;

	for (unsigned i = 0; i < COUNT(rows); i++)
		for (unsigned ecn = 0; ecn < 2; ecn++) {
			build_frame(rows[i].layers, &frame);
			before = frame;
			packet = enter_exactly(frame.bytes, frame.len, &tunnels);
			assert_true(packet.src_off > packet.l2_len + 20);
			assert_true(
				mark_frame(frame.bytes, frame.len, &packet, ecn ? MARK_ECN : 8));
			if (frame.bytes[rows[i].at] != (ecn ? rows[i].ecn : rows[i].dscp))
				fail_msg("row %u: %#x", i, frame.bytes[rows[i].at]);
			assert_memory_equal(frame.bytes + packet.src_off,
				before.bytes + packet.src_off, frame.len - packet.src_off);
		}
}

/*
 * Parses the cases with a few bytes changed, cut anywhere. Offsets must be inside; AddressSanitizer
 * detects other errors.
 */
TEST(test_mutations)
{
	const uint64_t seed = 0x5eed0002;
	struct packet packet;
	struct frame frame;
	struct prng prng;
	unsigned len;

	print_message("seed %#" PRIx64 "\n", seed);
	prng_seed(&prng, seed);
	for (unsigned i = 0; i < 200000; i++) {
		build_frame(cases[i % COUNT(cases)].layers, &frame);
		for (unsigned n = prng_below(&prng, 4); n > 0; n--)
			frame.bytes[12 + prng_below(&prng, 90)] = prng_next(&prng);
		len = prng_below(&prng, frame.len + 1);
		packet = enter_exactly(frame.bytes, len, &tunnels);
		if (packet.family == PACKET_OTHER)
			continue;
		assert_true(packet.dst_off + (packet.family == 4 ? 4U : 16U) <= len);
		assert_true(packet.l4_off == 0 || packet.l4_off + 4U <= len);
		assert_true(packet.src_off > packet.l2_len);
	}
}

/*
 * In a fragment of a tunnelled packet the inner address is unknown. All other unknown fields stay
 * unknown.
 */
TEST(test_doubt)
{
	static const struct {
		uint8_t proto;
		uint16_t port;
		uint8_t unknown;
		bool doubted;
	} rows[] = {
		{4, 0, 0, true},
		{41, 0, 0, true},
		{47, 0, 0, true},
		{17, VXLAN, 0, true},
		{17, VXLAN + 1, 0, false},
		{17, 0, PACKET_UNKNOWN_PORTS, true},
		{17, 0, PACKET_UNKNOWN_FLAGS, false},
		{6, VXLAN, PACKET_UNKNOWN_PORTS, false},
		{6, 0, PACKET_UNKNOWN_PROTO, true},
		{0, 0, PACKET_UNKNOWN_TRANSPORT, true},
	};

	for (unsigned i = 0; i < COUNT(rows) * 4; i++) {
		bool fragment = i & 1, unparsed = i & 2, doubted;
		struct packet packet = {.proto = rows[i / 4].proto,
			.dst_port = rows[i / 4].port,
			.unknown = rows[i / 4].unknown,
			.fragment = fragment,
			.unparsed = unparsed ? UNPARSED_TUNNEL_FRAGMENT + 1 : UNPARSED_NONE};
		struct packet before = packet;

		doubted = rows[i / 4].doubted && (fragment || unparsed);
		packet_doubt_tunnels(&tunnels, &packet);
		assert_int_equal(
			packet.unknown, before.unknown | (doubted ? PACKET_UNKNOWN_ADDRESS : 0));
		assert_int_equal(packet.unparsed,
			doubted && !unparsed ? UNPARSED_TUNNEL_FRAGMENT : before.unparsed);
	}
}
