/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Link-local packets, which only the ends of a link exchange, in pairs of one that is link-local
 * and one that barely is not.
 */
#include "check.h"

#include "frame_layers.h"
#include "packet/parse.h"
#include "policy/config.h"

/* Offsets in a frame without a tag: addresses, the hop limit, the type of ICMPv6. */
enum { DST4 = 30, LIMIT6 = 21, SRC6 = 22, DST6 = 38, TYPE6 = 54 };
enum { ICMP6 = 58, NONE_FORWARDS = 255 };

#define TO4(a, b, c, d)                                                                    \
	{ETHER, T_IPV4}, {V4, UDP}, {PAYLOAD, 20}, {PATCH, DST4, a}, {PATCH, DST4 + 1, b}, \
		{PATCH, DST4 + 2, c},                                                      \
	{                                                                                  \
		PATCH, DST4 + 3, d                                                         \
	}
#define FROM6(proto, at, a, b)                                       \
	{ETHER, T_IPV6}, {V6, proto}, {PAYLOAD, 20}, {PATCH, at, a}, \
	{                                                            \
		PATCH, (at) + 1, b                                   \
	}
#define ND(type, limit)                                                      \
	{ETHER, T_IPV6}, {V6, ICMP6}, {PAYLOAD, 20}, {PATCH, LIMIT6, limit}, \
	{                                                                    \
		PATCH, TYPE6, type                                           \
	}

static const struct {
	const char *name;
	layer layers[LAYERS_MAX];
	bool of_link;
} rows[] = {
	{"arp", {{ETHER, T_ARP}, {PAYLOAD, 46}}, true},
	{"tagged arp", {{ETHER, T_VLAN}, {TAG, 7, T_ARP}, {PAYLOAD, 46}}, true},
	{"lldp", {{ETHER, 0x88cc}, {PAYLOAD, 46}}, true},
	{"a length, as spanning tree has", {{ETHER, 38}, {PAYLOAD, 46}}, true},
	{"a runt", {{PADDING, 9}}, true},
	{"the echo of a session", {{ETHER, T_PPPOE}, {PPPOE, PPP_LCP}, {PAYLOAD, 20}}, true},
	{"udp", {{ETHER, T_IPV4}, {V4, UDP}, {PAYLOAD, 20}}, false},
	{"udp in a session", {{ETHER, T_PPPOE}, {PPPOE, PPP_IPV4}, {V4, UDP}, {PAYLOAD, 20}},
		false},
	{"udp under a label", {{ETHER, T_MPLS}, {LABEL, 7, 1}, {V4, UDP}, {PAYLOAD, 20}}, false},
	{"ospf", {TO4(224, 0, 0, 5)}, true},
	{"its last", {TO4(224, 0, 0, 255)}, true},
	{"multicast that is forwarded", {TO4(224, 0, 1, 0)}, false},
	{"what looks like it", {TO4(225, 0, 0, 5)}, false},
	{"a broadcast", {TO4(255, 255, 255, 255)}, true},
	{"a subnet's broadcast", {TO4(255, 255, 255, 254)}, false},
	{"no header", {{ETHER, T_IPV4}, {PADDING, 46}, {PATCH, 14, 0x44}}, false},
	{"no header of IPv6", {{ETHER, T_IPV6}, {PADDING, 46}, {PATCH, 14, 0x40}}, false},
	{"a header that is cut", {{ETHER, T_IPV4}, {PADDING, 19}}, false},
	{"a tag too many",
		{{ETHER, T_VLAN}, {TAG, 1, T_VLAN}, {TAG, 2, T_VLAN}, {TAG, 3, T_VLAN},
			{TAG, 4, T_VLAN}, {TAG, 5, T_ARP}, {PAYLOAD, 46}},
		false},
	{"ff02::", {FROM6(UDP, DST6, 0xff, 2)}, true},
	{"ff12::", {FROM6(UDP, DST6, 0xff, 0x12)}, true},
	{"ff05::", {FROM6(UDP, DST6, 0xff, 5)}, false},
	{"fe02::", {FROM6(UDP, DST6, 0xfe, 2)}, false},
	{"to fe80::", {FROM6(UDP, DST6, 0xfe, 0x80)}, true},
	{"to febf::", {FROM6(UDP, DST6, 0xfe, 0xbf)}, true},
	{"to fec0::", {FROM6(UDP, DST6, 0xfe, 0xc0)}, false},
	{"from fe80::", {FROM6(UDP, SRC6, 0xfe, 0x80)}, true},
	{"from fe7f::", {FROM6(UDP, SRC6, 0xfe, 0x7f)}, false},
	{"solicitation of a router", {ND(133, NONE_FORWARDS)}, true},
	{"redirect", {ND(137, NONE_FORWARDS)}, true},
	{"of a listener", {ND(132, NONE_FORWARDS)}, false},
	{"of a name", {ND(138, NONE_FORWARDS)}, false},
	{"discovery from afar", {ND(135, 254)}, false},
	{"discovery that is UDP",
		{{ETHER, T_IPV6}, {V6, UDP}, {PAYLOAD, 20}, {PATCH, LIMIT6, NONE_FORWARDS},
			{PATCH, TYPE6, 135}},
		false},
	{"discovery behind a header",
		{{ETHER, T_IPV6}, {V6, DEST}, EXT8(ICMP6), {PAYLOAD, 20},
			{PATCH, LIMIT6, NONE_FORWARDS}, {PATCH, TYPE6 + 8, 135}},
		false},
};

TEST(test_rows)
{
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct packet packet;
		struct frame frame;

		build_frame(rows[i].layers, &frame);
		packet_parse(frame.bytes, frame.len, &packet);
		if (packet_is_of_link(&packet, frame.bytes) != rows[i].of_link)
			fail_msg("%s", rows[i].name);
	}
}

/* The outer addresses of a tunnel decide if it is link-local. */
TEST(test_inside)
{
	static const layer layers[] = {
		{ETHER, T_IPV4}, {V4, IPIP}, {V4, UDP}, {PAYLOAD, 20}, {END}};
	const struct tunnels tunnels = {.classify = TUNNELS_INNER};
	struct packet packet;
	struct frame frame;

	build_frame(layers, &frame);
	memcpy(frame.bytes + DST4 + 20, (const uint8_t[]){224, 0, 0, 5}, 4);
	packet_parse(frame.bytes, frame.len, &packet);
	packet_enter_tunnels(frame.bytes, frame.len, &tunnels, &packet);
	assert_int_equal(packet.dst_off, DST4 + 20);
	assert_false(packet_is_of_link(&packet, frame.bytes));
	memcpy(frame.bytes + DST4, (const uint8_t[]){224, 0, 0, 5}, 4);
	assert_true(packet_is_of_link(&packet, frame.bytes));
}
