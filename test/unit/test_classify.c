/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The order of precedence from tables, and random policies against a reference that knows nothing
 * but the documented order.
 */
#include <errno.h>
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <arpa/inet.h>

#include <cmocka.h>

#include <rte_eal.h>
#include <rte_malloc.h>

#include "classify/classify.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))
#define BURST    64
#define SRC_OFF  3 /* odd, as addresses in packets are not aligned */
#define DST_OFF  21
#define NAMED(n) ((n) + 1) /* so that 0, left out, is "any" */
#define ROWS_MAX 12
#define NOTHING  (-1)

/* A policy's match, or a packet, as a row of a table. */
struct row {
	bool used;
	const char *dst, *src; /* a packet without is not IP */
	int vlan, dscp, wire;  /* NAMED() */
	enum direction direction;
	int expect; /* index of a policy or NOTHING */
};

struct scenario {
	const char *name;
	struct row policies[ROWS_MAX];
	struct row packets[ROWS_MAX];
};

struct frame {
	uint8_t bytes[DST_OFF + 16];
	struct packet packet;
};

static struct prefix make_prefix(const char *text)
{
	struct prefix prefix = {0};
	char addr[64];
	const char *slash;

	if (text == NULL)
		return prefix;
	slash = strchr(text, '/');
	assert_non_null(slash);
	snprintf(addr, sizeof(addr), "%.*s", (int)(slash - text), text);
	prefix.family = strchr(addr, ':') != NULL ? 6 : 4;
	prefix.length = atoi(slash + 1);
	assert_int_equal(inet_pton(prefix.family == 6 ? AF_INET6 : AF_INET, addr, prefix.addr), 1);
	return prefix;
}

static struct policy make_policy(const struct row *row)
{
	return (struct policy){
		.match =
			{
				.wire = row->wire - 1,
				.vlan = row->vlan - 1,
				.dscp = row->dscp - 1,
				.direction = row->direction,
				.dst = make_prefix(row->dst),
				.src = make_prefix(row->src),
			},
	};
}

static uint8_t put_address(const char *text, uint8_t *out)
{
	const uint8_t family = strchr(text, ':') != NULL ? 6 : 4;

	assert_int_equal(inet_pton(family == 6 ? AF_INET6 : AF_INET, text, out), 1);
	return family;
}

static void make_frame(const struct row *row, struct frame *frame)
{
	*frame = (struct frame){0};
	frame->packet.vlan = row->vlan != 0 ? row->vlan - 1 : PARSE_NO_VLAN;
	if (row->dst == NULL)
		return;
	frame->packet.dscp = row->dscp != 0 ? row->dscp - 1 : 0;
	frame->packet.src_off = SRC_OFF;
	frame->packet.dst_off = DST_OFF;
	frame->packet.family = put_address(row->dst, frame->bytes + DST_OFF);
	if (row->src != NULL)
		put_address(row->src, frame->bytes + SRC_OFF);
}

/* Every place of a burst must get the same answer as the first alone. */
static void check_packet(
	const struct classifier *classifier, const struct row *row, const char *name, unsigned nth)
{
	const uint32_t expect = row->expect == NOTHING ? CLASSIFY_NONE : (uint32_t)row->expect;
	struct packet packets[BURST];
	const uint8_t *data[BURST];
	uint32_t policies[BURST + 1];
	struct frame frame;

	make_frame(row, &frame);
	for (unsigned i = 0; i < BURST; i++) {
		packets[i] = frame.packet;
		data[i] = frame.bytes;
	}
	for (unsigned n = 0; n <= BURST; n = n * 2 + 1) {
		memset(policies, 0xa5, sizeof(policies));
		classify_burst(classifier, row->wire != 0 ? row->wire - 1 : 0, row->direction,
			packets, data, n, policies);
		for (unsigned i = 0; i < n; i++)
			if (policies[i] != expect)
				fail_msg("%s: packet %u: policy %d, not %d", name, nth,
					(int)policies[i], (int)expect);
		assert_int_equal(policies[n], 0xa5a5a5a5);
	}
}

static void check_scenario(const struct scenario *scenario)
{
	struct policy policies[ROWS_MAX];
	struct classifier *classifier = NULL;
	unsigned n = 0;

	while (n < ROWS_MAX && scenario->policies[n].used) {
		policies[n] = make_policy(&scenario->policies[n]);
		n++;
	}
	assert_int_equal(classifier_create(policies, n, -1, &classifier), 0);
	for (unsigned i = 0; i < ROWS_MAX && scenario->packets[i].used; i++)
		check_packet(classifier, &scenario->packets[i], scenario->name, i);
	classifier_destroy(classifier);
}

#define P(...)                            \
	{                                 \
		.used = true, __VA_ARGS__ \
	}
#define X(expected, ...)                                        \
	{                                                       \
		.used = true, .expect = (expected), __VA_ARGS__ \
	}
#define A_TO_B .direction = DIRECTION_A_TO_B
#define B_TO_A .direction = DIRECTION_B_TO_A

static const struct scenario scenarios[] = {
	{"no policy", {{.used = false}},
		{X(NOTHING, A_TO_B), X(NOTHING, .dst = "10.1.2.3", A_TO_B)}},
	{"match all", {P(), P()},
		{X(0, A_TO_B), X(0, .dst = "10.1.2.3", B_TO_A), X(0, .dst = "2001:db8::1", A_TO_B),
			X(0, .vlan = NAMED(5), A_TO_B)}},
	{"wires and directions only",
		{P(A_TO_B), P(.wire = NAMED(2)), P(.wire = NAMED(2), B_TO_A),
			P(.wire = NAMED(3), A_TO_B)},
		{X(0, .wire = NAMED(0), A_TO_B), X(NOTHING, .wire = NAMED(0), B_TO_A),
			X(1, .wire = NAMED(2), A_TO_B), X(2, .wire = NAMED(2), B_TO_A),
			X(3, .wire = NAMED(3), A_TO_B), X(NOTHING, .wire = NAMED(3), B_TO_A),
			X(2, .wire = NAMED(2), .dst = "10.0.0.1", B_TO_A)}},
	{"a longer destination before all else",
		{P(.dst = "10.1.0.0/16", .src = "192.0.2.1/32", .vlan = NAMED(1), .dscp = NAMED(2),
			 .wire = NAMED(0), A_TO_B),
			P(.dst = "10.1.0.0/17")},
		{X(1, .dst = "10.1.127.255", .src = "192.0.2.1", .vlan = NAMED(1), .dscp = NAMED(2),
			 A_TO_B),
			X(0, .dst = "10.1.128.0", .src = "192.0.2.1", .vlan = NAMED(1),
				.dscp = NAMED(2), A_TO_B)}},
	{"any destination before the longest source",
		{P(.src = "192.0.2.1/32", .vlan = NAMED(1)), P(.dst = "10.0.0.0/8")},
		{X(1, .dst = "10.0.0.1", .src = "192.0.2.1", .vlan = NAMED(1), A_TO_B),
			X(0, .dst = "11.0.0.1", .src = "192.0.2.1", .vlan = NAMED(1), A_TO_B)}},
	{"among equals the longest source",
		{P(.dst = "10.0.0.0/8", .vlan = NAMED(1), .dscp = NAMED(2), .wire = NAMED(0),
			 A_TO_B),
			P(.dst = "10.0.0.0/8", .src = "192.0.2.0/24", .vlan = NAMED(1)),
			P(.dst = "10.0.0.0/8", .src = "192.0.2.0/25")},
		{X(2, .dst = "10.0.0.1", .src = "192.0.2.127", .vlan = NAMED(1), .dscp = NAMED(2),
			 A_TO_B),
			X(1, .dst = "10.0.0.1", .src = "192.0.2.128", .vlan = NAMED(1),
				.dscp = NAMED(2), A_TO_B),
			X(0, .dst = "10.0.0.1", .src = "192.0.3.0", .vlan = NAMED(1),
				.dscp = NAMED(2), A_TO_B),
			X(NOTHING, .dst = "10.0.0.1", .src = "192.0.3.0", A_TO_B)}},
	{"a source before VLAN and all behind it",
		{P(.vlan = NAMED(1), .dscp = NAMED(2), .wire = NAMED(0), A_TO_B),
			P(.src = "0.0.0.0/0")},
		{X(1, .dst = "10.0.0.1", .vlan = NAMED(1), .dscp = NAMED(2), A_TO_B),
			X(0, .dst = "2001:db8::1", .vlan = NAMED(1), .dscp = NAMED(2), A_TO_B)}},
	{"VLAN before DSCP, wire and direction",
		{P(.dst = "10.0.0.0/8", .dscp = NAMED(2), .wire = NAMED(0), A_TO_B),
			P(.dst = "10.0.0.0/8", .vlan = NAMED(1)),
			P(.dscp = NAMED(2), .wire = NAMED(0), A_TO_B), P(.vlan = NAMED(1))},
		{X(1, .dst = "10.0.0.1", .vlan = NAMED(1), .dscp = NAMED(2), A_TO_B),
			X(0, .dst = "10.0.0.1", .vlan = NAMED(2), .dscp = NAMED(2), A_TO_B),
			X(3, .dst = "11.0.0.1", .vlan = NAMED(1), .dscp = NAMED(2), A_TO_B),
			X(2, .dst = "11.0.0.1", .vlan = NAMED(2), .dscp = NAMED(2), A_TO_B)}},
	{"DSCP before wire and direction", {P(.wire = NAMED(0), A_TO_B), P(.dscp = NAMED(2))},
		{X(1, .dst = "10.0.0.1", .dscp = NAMED(2), A_TO_B),
			X(0, .dst = "10.0.0.1", .dscp = NAMED(3), A_TO_B)}},
	{"wire before direction",
		{P(.src = "10.0.0.0/8", A_TO_B), P(.src = "10.0.0.0/8", .wire = NAMED(1))},
		{X(1, .dst = "1.1.1.1", .src = "10.0.0.1", .wire = NAMED(1), A_TO_B),
			X(0, .dst = "1.1.1.1", .src = "10.0.0.1", .wire = NAMED(0), A_TO_B)}},
	{"direction before none, and the first of equals",
		{P(.dst = "10.0.0.0/8"), P(.dst = "10.0.0.0/8", B_TO_A),
			P(.dst = "10.0.0.0/8", B_TO_A)},
		{X(1, .dst = "10.0.0.1", B_TO_A), X(0, .dst = "10.0.0.1", A_TO_B)}},
	{"just inside and just outside of v4 prefixes",
		{P(.dst = "10.1.2.0/23"), P(.dst = "10.1.3.4/30"), P(.dst = "10.1.3.7/32"),
			P(.src = "10.1.2.0/23")},
		{X(NOTHING, .dst = "10.1.1.255", .src = "10.1.1.255", A_TO_B),
			X(0, .dst = "10.1.2.0", A_TO_B), X(0, .dst = "10.1.3.3", A_TO_B),
			X(1, .dst = "10.1.3.4", A_TO_B), X(1, .dst = "10.1.3.6", A_TO_B),
			X(2, .dst = "10.1.3.7", A_TO_B), X(0, .dst = "10.1.3.8", A_TO_B),
			X(0, .dst = "10.1.3.255", A_TO_B),
			X(NOTHING, .dst = "10.1.4.0", .src = "10.1.4.0", A_TO_B),
			X(3, .dst = "10.1.4.0", .src = "10.1.2.0", A_TO_B),
			X(3, .dst = "10.1.4.0", .src = "10.1.3.255", A_TO_B)}},
	{"just inside and just outside of v6 prefixes",
		{P(.dst = "2001:db8:1::/47"), P(.dst = "2001:db8:1:2::/64"),
			P(.dst = "2001:db8:1:2::8/126"), P(.dst = "2001:db8:1:2::9/128"),
			P(.src = "2001:db8:8::/45")},
		{X(0, .dst = "2001:db8:0:ffff::", A_TO_B), X(1, .dst = "2001:db8:1:2::7", A_TO_B),
			X(2, .dst = "2001:db8:1:2::8", A_TO_B),
			X(3, .dst = "2001:db8:1:2::9", A_TO_B),
			X(2, .dst = "2001:db8:1:2::b", A_TO_B),
			X(1, .dst = "2001:db8:1:2::c", A_TO_B),
			X(0, .dst = "2001:db8:1:3::", A_TO_B),
			X(NOTHING, .dst = "2001:db8:2::", A_TO_B),
			X(4, .dst = "2001:db8:2::", .src = "2001:db8:f:ffff::", A_TO_B),
			X(NOTHING, .dst = "2001:db8:2::", .src = "2001:db8:10::", A_TO_B)}},
	{"back to enclosing prefixes, the source, and nothing named",
		{P(.dst = "10.0.0.0/8"), P(.dst = "10.1.0.0/16", .vlan = NAMED(1)),
			P(.dst = "10.1.1.0/24", .src = "192.0.2.0/24"),
			P(.dst = "11.0.0.0/8", .dscp = NAMED(1)), P(.src = "192.0.2.0/25", B_TO_A),
			P(.src = "192.0.0.0/16", .vlan = NAMED(2)), P(.dscp = NAMED(9))},
		{X(2, .dst = "10.1.1.1", .src = "192.0.2.1", .vlan = NAMED(1), A_TO_B),
			X(1, .dst = "10.1.1.1", .src = "192.0.3.1", .vlan = NAMED(1), A_TO_B),
			X(0, .dst = "10.1.1.1", .src = "192.0.3.1", .vlan = NAMED(2), A_TO_B),
			X(3, .dst = "11.1.1.1", .src = "192.0.2.1", .dscp = NAMED(1), B_TO_A),
			X(4, .dst = "11.1.1.1", .src = "192.0.2.1", .vlan = NAMED(2), B_TO_A),
			X(5, .dst = "11.1.1.1", .src = "192.0.2.1", .vlan = NAMED(2), A_TO_B),
			X(6, .dst = "11.1.1.1", .src = "192.0.2.1", .vlan = NAMED(3),
				.dscp = NAMED(9), A_TO_B),
			X(NOTHING, .dst = "11.1.1.1", .src = "192.0.2.1", .vlan = NAMED(3),
				A_TO_B)}},
	{"/0 is of its family, and more than nothing",
		{P(.vlan = NAMED(1)), P(.dst = "0.0.0.0/0", .dscp = NAMED(1)),
			P(.dst = "::/0", .dscp = NAMED(2)), P(.src = "0.0.0.0/0", .dscp = NAMED(3)),
			P(.dst = "10.0.0.0/8", .dscp = NAMED(4)),
			P(.src = "::/0", .dscp = NAMED(3))},
		{X(0, .vlan = NAMED(1), A_TO_B),
			X(1, .dst = "10.0.0.1", .vlan = NAMED(1), .dscp = NAMED(1), A_TO_B),
			X(1, .dst = "11.0.0.1", .vlan = NAMED(1), .dscp = NAMED(1), A_TO_B),
			X(2, .dst = "2001:db8::1", .vlan = NAMED(1), .dscp = NAMED(2), A_TO_B),
			X(0, .dst = "2001:db8::1", .vlan = NAMED(1), .dscp = NAMED(1), A_TO_B),
			X(0, .dst = "10.0.0.1", .vlan = NAMED(1), .dscp = NAMED(2), A_TO_B),
			X(3, .dst = "10.0.0.1", .vlan = NAMED(1), .dscp = NAMED(3), A_TO_B),
			X(5, .dst = "::", .vlan = NAMED(1), .dscp = NAMED(3), A_TO_B),
			X(4, .dst = "10.0.0.1", .vlan = NAMED(1), .dscp = NAMED(4), A_TO_B),
			X(NOTHING, .dst = "11.0.0.1", .dscp = NAMED(4), A_TO_B),
			X(NOTHING, A_TO_B)}},
	{"VLANs from the lowest to the highest",
		{P(.vlan = NAMED(0)), P(.vlan = NAMED(4094)), P(.vlan = NAMED(257)),
			P(.vlan = NAMED(256), B_TO_A), P(.dscp = NAMED(7))},
		{X(0, .vlan = NAMED(0), A_TO_B),
			X(1, .vlan = NAMED(4094), .dst = "10.0.0.1", A_TO_B),
			X(2, .vlan = NAMED(257), A_TO_B), X(3, .vlan = NAMED(256), B_TO_A),
			X(NOTHING, .vlan = NAMED(256), A_TO_B),
			X(4, .vlan = NAMED(256), .dst = "10.0.0.1", .dscp = NAMED(7), A_TO_B),
			X(4, .dst = "10.0.0.1", .dscp = NAMED(7), A_TO_B),
			X(4, .vlan = NAMED(4095), .dst = "::1", .dscp = NAMED(7), A_TO_B),
			X(NOTHING, .vlan = NAMED(4095), A_TO_B), X(NOTHING, A_TO_B)}},
	{"what is not IP has no address and no DSCP",
		{P(.dscp = NAMED(0)), P(.dst = "0.0.0.0/0"), P(.src = "::/0"),
			P(.wire = NAMED(1), B_TO_A)},
		{X(NOTHING, A_TO_B), X(3, .wire = NAMED(1), B_TO_A),
			X(NOTHING, .wire = NAMED(1), A_TO_B), X(1, .dst = "0.0.0.0", A_TO_B),
			X(2, .dst = "::", A_TO_B)}},
	{"DSCP 0 is a DSCP", {P(.dscp = NAMED(0)), P(.dscp = NAMED(63))},
		{X(0, .dst = "10.0.0.1", A_TO_B),
			X(NOTHING, .dst = "10.0.0.1", .dscp = NAMED(1), A_TO_B),
			X(1, .dst = "::1", .dscp = NAMED(63), A_TO_B), X(NOTHING, A_TO_B)}},
	{"addresses of two families never match",
		{P(.dst = "0.0.0.0/0", .src = "::/0"), P(.dst = "::/0", .src = "0.0.0.0/0")},
		{X(NOTHING, .dst = "10.0.0.1", A_TO_B), X(NOTHING, .dst = "::1", A_TO_B),
			X(NOTHING, A_TO_B)}},
	{"v6 sources beside a destination",
		{P(.dst = "2001:db8::/32", .src = "2001:db8:1::/48"),
			P(.dst = "2001:db8::/32", .src = "2001:db8:1::1:0/113"),
			P(.dst = "2001:db8::/32", .src = "::/0", .vlan = NAMED(3))},
		{X(0, .dst = "2001:db8::1", .src = "2001:db8:1:ffff::", A_TO_B),
			X(1, .dst = "2001:db8::1", .src = "2001:db8:1::1:7fff", A_TO_B),
			X(0, .dst = "2001:db8::1", .src = "2001:db8:1::1:8000", A_TO_B),
			X(NOTHING, .dst = "2001:db8::1", .src = "2001:db8:2::", A_TO_B),
			X(2, .dst = "2001:db8::1", .src = "2001:db8:2::", .vlan = NAMED(3),
				A_TO_B)}},
};

static void test_scenarios(void **state)
{
	(void)state;
	for (unsigned i = 0; i < COUNT(scenarios); i++)
		check_scenario(&scenarios[i]);
}

/* The reference: whether one policy matches one packet, and which of two goes first. */

static bool in_prefix(const struct prefix *prefix, const struct frame *frame, unsigned off)
{
	if (prefix->family == 0)
		return true;
	if (prefix->family != frame->packet.family)
		return false;
	for (unsigned bit = 0; bit < prefix->length; bit++)
		if ((prefix->addr[bit / 8] ^ frame->bytes[off + bit / 8]) & 0x80 >> bit % 8)
			return false;
	return true;
}

static bool matches(const struct match *match, const struct frame *frame, unsigned wire,
	enum direction direction)
{
	if (match->vlan != CONFIG_ANY && match->vlan != frame->packet.vlan)
		return false;
	if (match->dscp != CONFIG_ANY &&
		(frame->packet.family == PACKET_OTHER || match->dscp != frame->packet.dscp))
		return false;
	if (match->wire != CONFIG_ANY && (unsigned)match->wire != wire)
		return false;
	if (match->direction != DIRECTION_ANY && match->direction != direction)
		return false;
	return in_prefix(&match->dst, frame, DST_OFF) && in_prefix(&match->src, frame, SRC_OFF);
}

static int bits_named(const struct prefix *prefix)
{
	return prefix->family == 0 ? -1 : prefix->length;
}

static bool goes_before(const struct match *a, const struct match *b)
{
	const int order[][2] = {
		{bits_named(&a->dst), bits_named(&b->dst)},
		{bits_named(&a->src), bits_named(&b->src)},
		{a->vlan != CONFIG_ANY, b->vlan != CONFIG_ANY},
		{a->dscp != CONFIG_ANY, b->dscp != CONFIG_ANY},
		{a->wire != CONFIG_ANY, b->wire != CONFIG_ANY},
		{a->direction != DIRECTION_ANY, b->direction != DIRECTION_ANY},
	};

	for (unsigned i = 0; i < COUNT(order); i++)
		if (order[i][0] != order[i][1])
			return order[i][0] > order[i][1];
	return false;
}

static uint32_t reference(const struct policy *policies, unsigned n, const struct frame *frame,
	unsigned wire, enum direction direction)
{
	uint32_t best = CLASSIFY_NONE;

	for (uint32_t i = 0; i < n; i++) {
		const struct match *match = &policies[i].match;

		if (matches(match, frame, wire, direction) &&
			(best == CLASSIFY_NONE || goes_before(match, &policies[best].match)))
			best = i;
	}
	return best;
}

static uint64_t random_state;

static uint64_t random_next(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return random_state >> 8;
}

static bool one_in(unsigned n)
{
	return random_next() % n == 0;
}

/* Few bits are ever set, and those near where prefixes end, so that most prefixes nest. */
static void random_address(uint8_t family, uint8_t *addr)
{
	static const uint8_t bits4[] = {4, 7, 15, 16, 22, 23, 24, 25, 30, 31};
	static const uint8_t bits6[] = {3, 23, 24, 31, 32, 47, 48, 55, 63, 64, 95, 120, 126, 127};
	const uint8_t *bits = family == 4 ? bits4 : bits6;
	const unsigned n = family == 4 ? sizeof(bits4) : sizeof(bits6);

	memset(addr, 0, 16);
	addr[0] = 0x20;
	for (unsigned i = random_next() % 5; i > 0; i--) {
		const unsigned bit = bits[random_next() % n];

		addr[bit / 8] ^= 0x80 >> bit % 8;
	}
}

static struct prefix random_prefix(uint8_t family)
{
	const unsigned max = family == 4 ? 32 : 128;
	struct prefix prefix = {.family = family};

	random_address(family, prefix.addr);
	prefix.length = one_in(12) ? 0 : one_in(6) ? max : random_next() % (max + 1);
	for (unsigned bit = prefix.length; bit < 128; bit++)
		prefix.addr[bit / 8] &= ~(0x80 >> bit % 8);
	return prefix;
}

/* What the policies of one round may name; the fewer, the more of a classifier is left out. */
struct flavour {
	bool dst, src, v4, v6, vlan, dscp, wire, direction;
};

static struct flavour random_flavour(void)
{
	return (struct flavour){
		.dst = !one_in(4),
		.src = one_in(2),
		.v4 = !one_in(3),
		.v6 = one_in(2),
		.vlan = one_in(2),
		.dscp = one_in(2),
		.wire = one_in(2),
		.direction = one_in(2),
	};
}

static struct policy random_policy(const struct flavour *flavour)
{
	const uint8_t family = !flavour->v6 || (flavour->v4 && one_in(2)) ? 4 : 6;
	struct match match = {.vlan = CONFIG_ANY, .dscp = CONFIG_ANY, .wire = CONFIG_ANY};

	if (flavour->dst && !one_in(4))
		match.dst = random_prefix(family);
	if (flavour->src && one_in(2))
		match.src = random_prefix(one_in(50) ? 10 - family : family);
	if (flavour->vlan && one_in(3))
		match.vlan = random_next() % 4;
	if (flavour->dscp && one_in(3))
		match.dscp = random_next() % 3;
	if (flavour->wire && one_in(3))
		match.wire = random_next() % 3;
	if (flavour->direction && one_in(3))
		match.direction = one_in(2) ? DIRECTION_A_TO_B : DIRECTION_B_TO_A;
	return (struct policy){.match = match};
}

static void random_frame(struct frame *frame)
{
	static const uint8_t families[] = {4, 4, 6, 6, PACKET_OTHER};
	uint8_t addr[16];

	*frame = (struct frame){0};
	frame->packet.family = families[random_next() % sizeof(families)];
	frame->packet.vlan = one_in(2) ? PARSE_NO_VLAN : random_next() % 5;
	if (frame->packet.family == PACKET_OTHER)
		return;
	frame->packet.dscp = random_next() % 4;
	frame->packet.src_off = SRC_OFF;
	frame->packet.dst_off = DST_OFF;
	random_address(frame->packet.family, addr);
	memcpy(frame->bytes + SRC_OFF, addr, frame->packet.family == 4 ? 4 : 16);
	random_address(frame->packet.family, addr);
	memcpy(frame->bytes + DST_OFF, addr, frame->packet.family == 4 ? 4 : 16);
}

static void check_burst(
	const struct classifier *classifier, const struct policy *policies, unsigned n_policies)
{
	const enum direction direction = one_in(2) ? DIRECTION_A_TO_B : DIRECTION_B_TO_A;
	const unsigned wire = random_next() % 3, n = random_next() % (BURST + 1);
	struct frame frames[BURST];
	struct packet packets[BURST] = {0};
	const uint8_t *data[BURST] = {NULL};
	uint32_t got[BURST], want;

	for (unsigned i = 0; i < n; i++) {
		random_frame(&frames[i]);
		packets[i] = frames[i].packet;
		data[i] = frames[i].bytes;
	}
	classify_burst(classifier, wire, direction, packets, data, n, got);
	for (unsigned i = 0; i < n; i++) {
		want = reference(policies, n_policies, &frames[i], wire, direction);
		if (got[i] != want)
			fail_msg(
				"packet %u of %u: policy %d, not %d", i, n, (int)got[i], (int)want);
	}
}

static void check_random(unsigned n_policies, unsigned bursts, const struct flavour *flavour)
{
	struct policy *policies = calloc(n_policies, sizeof(*policies));
	struct classifier *classifier = NULL;

	assert_non_null(policies);
	for (unsigned i = 0; i < n_policies; i++)
		policies[i] = random_policy(flavour);
	assert_int_equal(classifier_create(policies, n_policies, -1, &classifier), 0);
	for (unsigned i = 0; i < bursts; i++)
		check_burst(classifier, policies, n_policies);
	classifier_destroy(classifier);
	free(policies);
}

/* A failure is repeated with the seed that is printed before it. */
static void test_random(void **state)
{
	const char *text = getenv("WEIR_SEED");
	const uint64_t seed = text != NULL ? strtoull(text, NULL, 0) : 0x5eed0002;
	struct flavour flavour;

	(void)state;
	print_message("seed %#" PRIx64 " (WEIR_SEED changes it)\n", seed);
	random_state = seed * 2 + 1;
	for (unsigned round = 0; round < 100; round++) {
		flavour = random_flavour();
		check_random(1 + random_next() % (round < 50 ? 8 : 100), 32, &flavour);
	}
	flavour = (struct flavour){true, true, true, true, true, true, true, true};
	check_random(5000, 50, &flavour);
}

/* Prefixes that share nothing below 24 bits need the most tables that rte_lpm can be made to. */
static void test_scattered_prefixes(void **state)
{
	enum { N = 2000 };
	struct policy *policies = calloc(N, sizeof(*policies));
	struct classifier *classifier = NULL;

	(void)state;
	assert_non_null(policies);
	random_state = 7;
	for (unsigned i = 0; i < N; i++) {
		struct prefix *dst = &policies[i].match.dst;

		policies[i].match = (struct match){.vlan = -1, .dscp = -1, .wire = -1};
		dst->family = i % 2 != 0 ? 4 : 6;
		dst->length = i % 2 != 0 ? 32 : 128;
		for (unsigned byte = 0; byte < dst->length / 8; byte++)
			dst->addr[byte] = random_next();
	}
	assert_int_equal(classifier_create(policies, N, -1, &classifier), 0);
	for (unsigned i = 0; i < N; i++) {
		const struct prefix *dst = &policies[i].match.dst;
		const struct packet packet = {
			.family = dst->family, .vlan = PARSE_NO_VLAN, .src_off = 0, .dst_off = 0};
		const uint8_t *data = dst->addr;
		uint32_t policy;

		classify_burst(classifier, 0, DIRECTION_A_TO_B, &packet, &data, 1, &policy);
		assert_int_equal(policy, i);
	}
	classifier_destroy(classifier);
	free(policies);
}

static void check_one(const struct classifier *classifier, const char *dst, int expect)
{
	const struct row row = {.dst = dst, .direction = DIRECTION_A_TO_B, .expect = expect};

	check_packet(classifier, &row, dst, 0);
}

/* As during a reload: the new one is built beside the old one, which goes away later. */
static void test_two_at_once(void **state)
{
	const struct policy old[] = {make_policy(&(struct row){.dst = "10.0.0.0/8"}),
		make_policy(&(struct row){.dst = "2001:db8::/32"})};
	const struct policy new[] = {make_policy(&(struct row){.dst = "2001:db8::/33"}),
		make_policy(&(struct row){.dst = "10.0.0.0/9"})};
	struct classifier *first = NULL, *second = NULL;

	(void)state;
	assert_int_equal(classifier_create(old, 2, -1, &first), 0);
	assert_int_equal(classifier_create(new, 2, -1, &second), 0);
	check_one(first, "10.128.0.0", 0);
	check_one(second, "10.128.0.0", NOTHING);
	classifier_destroy(first);
	check_one(second, "10.127.0.0", 1);
	check_one(second, "2001:db8::1", 0);
	classifier_destroy(second);
}

static unsigned allocations(void)
{
	struct rte_malloc_socket_stats stats;

	assert_int_equal(rte_malloc_get_socket_stats(0, &stats), 0);
	return stats.alloc_count;
}

/* Takes EAL's memory up to the last block of a size, so that it can be given back bit by bit. */
static void *hoard(size_t block)
{
	void **newest = NULL, **older;

	for (;;) {
		older = newest;
		newest = rte_malloc("hoard", block, 0);
		if (newest == NULL)
			return older;
		*newest = older;
	}
}

/*
 * A classifier that does not fit is refused, and leaves nothing behind. With ever more memory,
 * every one of its allocations is once the first that fails.
 */
static void fill_memory(const struct policy *policies, unsigned n_policies, size_t block)
{
	const unsigned before = allocations();
	void **hoarded = hoard(block), **older;
	struct classifier *classifier = NULL;
	unsigned refused = 0, held;
	int rc;

	for (;;) {
		held = allocations();
		rc = classifier_create(policies, n_policies, -1, &classifier);
		if (rc == 0)
			break;
		assert_int_equal(rc, -ENOMEM);
		assert_int_equal(allocations(), held);
		refused++;
		assert_non_null(hoarded);
		older = *hoarded;
		rte_free(hoarded);
		hoarded = older;
	}
	assert_true(refused > 0);
	check_one(classifier, "10.0.0.1", 0);
	classifier_destroy(classifier);
	for (; hoarded != NULL; hoarded = older) {
		older = *hoarded;
		rte_free(hoarded);
	}
	assert_int_equal(allocations(), before);
}

static void test_out_of_memory(void **state)
{
	const struct policy v4[] = {make_policy(&(struct row){.dst = "10.0.0.0/8"}),
		make_policy(&(struct row){.vlan = NAMED(1)})};
	const struct policy v6[] = {make_policy(&(struct row){.used = true}),
		make_policy(&(struct row){.dst = "2001:db8::/32"})};
	const struct policy all[] = {v4[0], v6[1], v4[1],
		make_policy(&(struct row){.src = "10.0.0.0/8"}),
		make_policy(&(struct row){.src = "2001:db8::/32"})};

	(void)state;
	fill_memory(v4, COUNT(v4), 1 << 20);
	fill_memory(v6, COUNT(v6), 1 << 12);
	fill_memory(all, COUNT(all), 1 << 20);
}

static void test_too_many(void **state)
{
	const struct policy policy = make_policy(&(struct row){.used = true});
	struct classifier *classifier = NULL;

	(void)state;
	assert_int_equal(classifier_create(&policy, (1u << 21) + 1, -1, &classifier), -E2BIG);
	assert_null(classifier);
	classifier_destroy(NULL);
}

static int start_eal(void **state)
{
	char *args[] = {(char[]){"test_classify"}, (char[]){"--no-huge"}, (char[]){"-m"},
		(char[]){"512"}, (char[]){"--no-pci"}, (char[]){"--no-telemetry"},
		(char[]){"--log-level=1"}, (char[]){"-l"}, (char[]){"0"}};

	(void)state;
	return rte_eal_init(COUNT(args), args) < 0 ? -1 : 0;
}

static int stop_eal(void **state)
{
	(void)state;
	return rte_eal_cleanup();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_scenarios),
		cmocka_unit_test(test_random),
		cmocka_unit_test(test_scattered_prefixes),
		cmocka_unit_test(test_two_at_once),
		cmocka_unit_test(test_out_of_memory),
		cmocka_unit_test(test_too_many),
	};

	return cmocka_run_group_tests(tests, start_eal, stop_eal);
}
