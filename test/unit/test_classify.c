/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The order of precedence from tables, and random policies against a reference that knows nothing
 * but the documented order. All on real frames, of which the reference knows what was put into
 * them: each goes through the parser and classify_burst(), and through classify_frames().
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
#include <pthread.h>

#include <cmocka.h>

#include <rte_eal.h>
#include <rte_malloc.h>

#include "classify/frames.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))
#define BURST    64
#define NAMED(n) ((n) + 1) /* so that 0, left out, is "any" */
#define ROWS_MAX 12
#define NOTHING  (-1)

/* A policy's match, or a packet, as a row of a table. */
struct row {
	bool used;
	const char *dst, *src; /* a packet without is not IP */
	int vlan, dscp, wire;  /* NAMED() */
	uint8_t proto;
	struct port_range sport, dport; /* of a packet the first is its port */
	enum direction direction;
	int expect; /* index of a policy or NOTHING */
};

struct scenario {
	const char *name;
	struct row policies[ROWS_MAX];
	struct row packets[ROWS_MAX];
};

/* How a frame differs from what most are. */
enum form {
	PLAIN,
	SECOND_TAG,
	OPTIONS,  /* or an IPv6 extension header */
	FRAGMENT, /* the first one */
	EMPTY,    /* nothing behind the IP header but padding */
	CUT,      /* in the IP header, which then is none */
	SHORT,    /* an IPv4 length of less than its header, which then is none */
	NO_TAG,   /* another EtherType where that of a tag is, or of IP */
	FORMS
};

/* A frame, and what was put into it. */
struct frame {
	enum form form;
	uint8_t family, proto, dscp;
	uint8_t src[16], dst[16];
	uint16_t sport, dport;
	int vlan; /* CONFIG_ANY: no tag */
	unsigned l2_len, len;
	uint8_t bytes[160];
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
				.proto = row->proto,
				.src_port = row->sport,
				.dst_port = row->dport,
			},
	};
}

static uint8_t put_address(const char *text, uint8_t *out)
{
	const uint8_t family = strchr(text, ':') != NULL ? 6 : 4;

	assert_int_equal(inet_pton(family == 6 ? AF_INET6 : AF_INET, text, out), 1);
	return family;
}

static uint64_t random_state = 1;

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

static void put(struct frame *frame, const void *bytes, unsigned n)
{
	assert_true(frame->len + n <= sizeof(frame->bytes));
	memcpy(frame->bytes + frame->len, bytes, n);
	frame->len += n;
}

static void put8(struct frame *frame, unsigned byte)
{
	put(frame, &(uint8_t){(uint8_t)byte}, 1);
}

static void put16(struct frame *frame, unsigned word)
{
	put8(frame, word >> 8);
	put8(frame, word);
}

static void put_random(struct frame *frame, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		put8(frame, random_next());
}

static void put_ethernet(struct frame *frame)
{
	static const uint16_t tags[] = {0x8100, 0x8100, 0x88a8, 0x9100};

	put_random(frame, 12);
	if (frame->vlan != CONFIG_ANY) {
		put16(frame, tags[random_next() % COUNT(tags)]);
		put16(frame, (random_next() & 0xf) << 12 | (unsigned)frame->vlan);
	}
	if (frame->vlan != CONFIG_ANY && frame->form == SECOND_TAG) {
		put16(frame, 0x8100);
		put16(frame, random_next());
	}
	put16(frame, frame->family == 4 ? 0x0800 : frame->family == 6 ? 0x86dd : 0x0806);
	frame->l2_len = frame->len;
}

static void put_ipv4(struct frame *frame, unsigned payload)
{
	const bool options = frame->form == OPTIONS;

	put8(frame, options ? 0x46 : 0x45);
	put8(frame, frame->dscp << 2 | (random_next() & 3));
	put16(frame, frame->form == SHORT ? 19 : (options ? 24 : 20) + payload);
	put16(frame, random_next());
	put16(frame, frame->form == FRAGMENT ? 0x2000 : one_in(2) << 14);
	put8(frame, random_next());
	put8(frame, frame->proto);
	put_random(frame, 2);
	put(frame, frame->src, 4);
	put(frame, frame->dst, 4);
	put_random(frame, options ? 4 : 0);
}

static void put_ipv6(struct frame *frame, unsigned payload)
{
	const bool more = frame->form == OPTIONS || frame->form == FRAGMENT;

	put16(frame, 6u << 12 | frame->dscp << 6 | (random_next() & 0x3f));
	put_random(frame, 2);
	put16(frame, payload + (more ? 8 : 0));
	put8(frame, frame->form == FRAGMENT ? 44 : more ? 60 : frame->proto);
	put8(frame, random_next());
	put(frame, frame->src, 16);
	put(frame, frame->dst, 16);
	if (!more)
		return;
	put8(frame, frame->proto);
	put8(frame, 0);
	put16(frame, frame->form == FRAGMENT);
	put_random(frame, 4);
}

static bool has_ports(uint8_t proto)
{
	return proto == 6 || proto == 17 || proto == 33 || proto == 132 || proto == 136;
}

/* Bytes from the rest of the frame; and what of that nobody can see is taken from it again. */
static void put_frame(struct frame *frame)
{
	const unsigned payload = frame->form == EMPTY ? random_next() % 4 : 20;

	frame->len = 0;
	put_ethernet(frame);
	if (frame->family == 4)
		put_ipv4(frame, payload);
	else if (frame->family == 6)
		put_ipv6(frame, payload);
	if (frame->form == NO_TAG) {
		frame->bytes[13] = 0x06;
		frame->l2_len = 14;
		frame->vlan = CONFIG_ANY;
	}
	if (frame->form != CUT) {
		put16(frame, frame->sport);
		put16(frame, frame->dport);
		put_random(frame, 16 + random_next() % 20);
	} else if (frame->family != 0) {
		frame->len = frame->l2_len + random_next() % 20;
	}
	if (frame->form == CUT || frame->form == NO_TAG ||
		(frame->form == SHORT && frame->family == 4))
		frame->family = 0;
	if (frame->family == 0)
		frame->proto = 0;
	if (!has_ports(frame->proto) || frame->form == FRAGMENT || frame->form == EMPTY) {
		frame->sport = 0;
		frame->dport = 0;
	}
}

static void make_frame(const struct row *row, enum form form, struct frame *frame)
{
	*frame = (struct frame){.form = form, .vlan = row->vlan - 1, .proto = row->proto};
	frame->dscp = row->dscp != 0 ? row->dscp - 1 : 0;
	frame->sport = row->sport.first;
	frame->dport = row->dport.first;
	if (row->dst != NULL)
		frame->family = put_address(row->dst, frame->dst);
	if (row->src != NULL)
		put_address(row->src, frame->src);
	put_frame(frame);
}

/* Exactly the bytes of each frame, so that AddressSanitizer sees any that is read behind them. */
static void copy_frames(const struct frame *from, unsigned n, struct frames *to)
{
	memset(to, 0xa5, sizeof(*to));
	to->tunnels = NULL;
	to->fragments = NULL;
	for (unsigned i = 0; i < n; i++) {
		uint8_t *copy = malloc(from[i].len);

		assert_non_null(copy);
		memcpy(copy, from[i].bytes, from[i].len);
		to->data[i] = copy;
		to->len[i] = from[i].len;
	}
}

static void free_frames(struct frames *frames, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		free((void *)(uintptr_t)frames->data[i]);
}

/* Whether the policies are those expected, and the L2 lengths are right, if there are any. */
static void check_policies(const char *name, const struct frame *sent, unsigned n,
	const struct frames *frames, const uint32_t *expect)
{
	for (unsigned i = 0; i < n; i++) {
		if (frames->policy[i] != expect[i])
			fail_msg("%s: frame %u of %u, form %d: policy %d, not %d", name, i, n,
				sent[i].form, (int)frames->policy[i], (int)expect[i]);
		if (frames->l2_len[i] != 0 && frames->l2_len[i] != sent[i].l2_len)
			fail_msg("%s: frame %u of %u, form %d: L2 length %u, not %u", name, i, n,
				sent[i].form, frames->l2_len[i], sent[i].l2_len);
	}
}

/* Both ways to the same policies. */
static void classify_both(const char *name, const struct classifier *classifier, unsigned wire,
	enum direction direction, const struct frame *sent, unsigned n, const uint32_t *expect)
{
	struct packet packets[BURST];
	struct frames frames;

	copy_frames(sent, n, &frames);
	classify_frames(classifier, wire, direction, &frames, n);
	check_policies(name, sent, n, &frames, expect);
	for (unsigned i = 0; i < n; i++) {
		packet_parse(frames.data[i], frames.len[i], &packets[i]);
		frames.l2_len[i] = packets[i].l2_len;
	}
	memset(frames.policy, 0xa5, sizeof(frames.policy));
	classify_burst(classifier, wire, direction, packets, frames.data, n, frames.policy);
	check_policies(name, sent, n, &frames, expect);
	if (n < BURST)
		assert_int_equal(frames.policy[n], 0xa5a5a5a5);
	free_frames(&frames, n);
}

/* Every place of a burst must get the same answer as the first alone. */
static void check_packet(const struct classifier *classifier, const struct row *row,
	const char *name, enum form form)
{
	struct frame sent[BURST];
	uint32_t expect[BURST];

	for (unsigned i = 0; i < BURST; i++) {
		make_frame(row, form, &sent[i]);
		expect[i] = row->expect == NOTHING ? CLASSIFY_NONE : (uint32_t)row->expect;
	}
	for (unsigned n = 0; n <= BURST; n = n * 2 + 1)
		classify_both(name, classifier, row->wire != 0 ? row->wire - 1 : 0, row->direction,
			sent, n, expect);
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
	for (unsigned i = 0; i < ROWS_MAX && scenario->packets[i].used; i++) {
		check_packet(classifier, &scenario->packets[i], scenario->name, PLAIN);
		check_packet(classifier, &scenario->packets[i], scenario->name, SECOND_TAG);
	}
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
	{"from the first address to the last",
		{P(.dst = "0.0.0.0/1"), P(.dst = "0.0.0.0/32"), P(.dst = "128.0.0.0/1"),
			P(.dst = "255.255.255.0/24"), P(.dst = "255.255.255.128/25"),
			P(.dst = "255.255.255.255/32")},
		{X(1, .dst = "0.0.0.0", A_TO_B), X(0, .dst = "0.0.0.1", A_TO_B),
			X(0, .dst = "127.255.255.255", A_TO_B), X(2, .dst = "128.0.0.0", A_TO_B),
			X(2, .dst = "255.255.254.255", A_TO_B),
			X(3, .dst = "255.255.255.127", A_TO_B),
			X(4, .dst = "255.255.255.128", A_TO_B),
			X(4, .dst = "255.255.255.254", A_TO_B),
			X(5, .dst = "255.255.255.255", A_TO_B), X(NOTHING, .dst = "::", A_TO_B)}},
	{"DSCP 0 is a DSCP", {P(.dscp = NAMED(0)), P(.dscp = NAMED(63))},
		{X(0, .dst = "10.0.0.1", A_TO_B),
			X(NOTHING, .dst = "10.0.0.1", .dscp = NAMED(1), A_TO_B),
			X(1, .dst = "::1", .dscp = NAMED(63), A_TO_B), X(NOTHING, A_TO_B)}},
	{"addresses of two families never match",
		{P(.dst = "0.0.0.0/0", .src = "::/0"), P(.dst = "::/0", .src = "0.0.0.0/0")},
		{X(NOTHING, .dst = "10.0.0.1", A_TO_B), X(NOTHING, .dst = "::1", A_TO_B),
			X(NOTHING, A_TO_B)}},
	{"DSCP before protocol, protocol before ports",
		{P(.dst = "10.0.0.0/8", .dscp = NAMED(2)), P(.dst = "10.0.0.0/8", .proto = 6),
			P(.dst = "10.0.0.0/8", .dport = {80, 80}, .sport = {9, 9}, .wire = NAMED(0),
				A_TO_B)},
		{X(0, .dst = "10.0.0.1", .dscp = NAMED(2), .proto = 6, .dport = {80, 80},
			 .sport = {9, 9}, A_TO_B),
			X(1, .dst = "10.0.0.1", .proto = 6, .dport = {80, 80}, .sport = {9, 9},
				A_TO_B),
			X(2, .dst = "10.0.0.1", .proto = 17, .dport = {80, 80}, .sport = {9, 9},
				A_TO_B),
			X(NOTHING, .dst = "10.0.0.1", .proto = 1, .dport = {80, 80},
				.sport = {9, 9}, A_TO_B)}},
	{"the narrower range of destination ports, then of source ports",
		{P(.proto = 6, .dport = {80, 89}, .sport = {1, 1}),
			P(.proto = 6, .dport = {85, 93}), P(.proto = 6, .dport = {93, 101}),
			P(.proto = 6, .sport = {1000, 1001}), P(.proto = 6, .sport = {1001, 1001}),
			P(.proto = 6, .wire = NAMED(0), A_TO_B)},
		{X(0, .dst = "::1", .proto = 6, .dport = {84, 84}, .sport = {1, 1}, A_TO_B),
			X(1, .dst = "::1", .proto = 6, .dport = {85, 85}, .sport = {1, 1}, A_TO_B),
			X(1, .dst = "1.1.1.1", .proto = 6, .dport = {93, 93}, A_TO_B),
			X(2, .dst = "1.1.1.1", .proto = 6, .dport = {94, 94}, A_TO_B),
			X(2, .dst = "1.1.1.1", .proto = 6, .dport = {101, 101}, A_TO_B),
			X(5, .dst = "1.1.1.1", .proto = 6, .dport = {102, 102}, A_TO_B),
			X(3, .dst = "::1", .proto = 6, .sport = {1000, 1000}, .dport = {79, 79},
				A_TO_B),
			X(4, .dst = "::1", .proto = 6, .sport = {1001, 1001}, .dport = {79, 79},
				A_TO_B),
			X(5, .dst = "::1", .proto = 6, .sport = {1002, 1002}, .dport = {79, 79},
				A_TO_B),
			X(NOTHING, .dst = "::1", .proto = 17, .sport = {1001, 1001}, A_TO_B)}},
	{"ports before wire and direction",
		{P(.wire = NAMED(0), A_TO_B), P(.sport = {1, 65535}), P(.dport = {65535, 65535})},
		{X(2, .dst = "::1", .proto = 17, .sport = {1, 1}, .dport = {65535, 65535}, A_TO_B),
			X(1, .dst = "::1", .proto = 132, .sport = {1, 1}, .dport = {65534, 65534},
				A_TO_B),
			X(0, .dst = "::1", .proto = 132, .sport = {0, 0}, .dport = {1, 1}, A_TO_B),
			X(0, .dst = "::1", .proto = 58, .sport = {1, 1}, .dport = {1, 1}, A_TO_B),
			X(0, A_TO_B)}},
	{"a protocol beside prefixes, VLANs and nothing",
		{P(.dst = "10.0.0.0/8", .proto = 17), P(.src = "10.0.0.0/8", .proto = 17),
			P(.vlan = NAMED(1), .proto = 17), P(.proto = 17), P()},
		{X(0, .dst = "10.0.0.1", .src = "10.0.0.1", .proto = 17, A_TO_B),
			X(1, .dst = "11.0.0.1", .src = "10.0.0.1", .proto = 17, A_TO_B),
			X(2, .dst = "11.0.0.1", .vlan = NAMED(1), .proto = 17, A_TO_B),
			X(3, .dst = "11.0.0.1", .vlan = NAMED(2), .proto = 17, A_TO_B),
			X(4, .dst = "10.0.0.1", .src = "10.0.0.1", .proto = 50, A_TO_B),
			X(4, .vlan = NAMED(1), A_TO_B)}},
	{"each direction its own side, and the rest",
		{P(.dst = "10.0.0.0/8", B_TO_A), P(.src = "10.0.0.0/8", A_TO_B),
			P(.dst = "10.1.0.0/16", .dscp = NAMED(1), B_TO_A), P()},
		{X(0, .dst = "10.1.0.1", .src = "10.1.0.1", B_TO_A),
			X(1, .dst = "10.1.0.1", .src = "10.1.0.1", A_TO_B),
			X(2, .dst = "10.1.0.1", .dscp = NAMED(1), B_TO_A),
			X(3, .dst = "11.0.0.1", .src = "10.0.0.1", B_TO_A),
			X(3, .dst = "10.0.0.1", .src = "11.0.0.1", A_TO_B), X(3, A_TO_B)}},
	{"one direction only", {P(.dst = "10.0.0.0/8", B_TO_A), P(.dst = "::/0", B_TO_A)},
		{X(0, .dst = "10.1.0.1", B_TO_A), X(NOTHING, .dst = "10.1.0.1", A_TO_B),
			X(1, .dst = "::1", B_TO_A), X(NOTHING, .dst = "::1", A_TO_B)}},
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

static bool in_prefix(const struct prefix *prefix, const struct frame *frame, const uint8_t *addr)
{
	if (prefix->family == 0)
		return true;
	if (prefix->family != frame->family)
		return false;
	for (unsigned bit = 0; bit < prefix->length; bit++)
		if ((prefix->addr[bit / 8] ^ addr[bit / 8]) & 0x80 >> bit % 8)
			return false;
	return true;
}

static bool in_range(const struct port_range *range, uint16_t port)
{
	return range->first == 0 || (port >= range->first && port <= range->last);
}

static bool matches(const struct match *match, const struct frame *frame, unsigned wire,
	enum direction direction)
{
	if (match->vlan != CONFIG_ANY && match->vlan != frame->vlan)
		return false;
	if (match->dscp != CONFIG_ANY && (frame->family == 0 || match->dscp != frame->dscp))
		return false;
	if (match->proto != 0 && match->proto != frame->proto)
		return false;
	if (!in_range(&match->src_port, frame->sport) || !in_range(&match->dst_port, frame->dport))
		return false;
	if (match->wire != CONFIG_ANY && (unsigned)match->wire != wire)
		return false;
	if (match->direction != DIRECTION_ANY && match->direction != direction)
		return false;
	return in_prefix(&match->dst, frame, frame->dst) &&
	       in_prefix(&match->src, frame, frame->src);
}

static int bits_named(const struct prefix *prefix)
{
	return prefix->family == 0 ? -1 : prefix->length;
}

/* The fewer, the more is named. */
static int ports_left_out(const struct port_range *range)
{
	return range->first == 0 ? -65536 : range->first - range->last;
}

static bool goes_before(const struct match *a, const struct match *b)
{
	const int order[][2] = {
		{bits_named(&a->dst), bits_named(&b->dst)},
		{bits_named(&a->src), bits_named(&b->src)},
		{a->vlan != CONFIG_ANY, b->vlan != CONFIG_ANY},
		{a->dscp != CONFIG_ANY, b->dscp != CONFIG_ANY},
		{a->proto != 0, b->proto != 0},
		{ports_left_out(&a->dst_port), ports_left_out(&b->dst_port)},
		{ports_left_out(&a->src_port), ports_left_out(&b->src_port)},
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

/* Few bits are ever set, and those near where prefixes end, so that most prefixes nest. */
static void random_address(uint8_t family, bool wide, uint8_t *addr)
{
	static const uint8_t bits4[] = {4, 7, 15, 16, 22, 23, 24, 25, 30, 31};
	static const uint8_t bits6[] = {3, 23, 24, 31, 32, 47, 48, 55, 63, 64, 95, 120, 126, 127};
	const uint8_t *bits = family == 4 ? bits4 : bits6;
	const unsigned n = family == 4 ? sizeof(bits4) : sizeof(bits6);

	memset(addr, 0, 16);
	addr[0] = 0x20;
	for (unsigned i = 1; wide && i < (family == 4 ? 4 : 16); i++)
		addr[i] = random_next();
	for (unsigned i = random_next() % 5; i > 0; i--) {
		const unsigned bit = bits[random_next() % n];

		addr[bit / 8] ^= 0x80 >> bit % 8;
	}
}

static struct prefix random_prefix(uint8_t family, bool wide)
{
	const unsigned max = family == 4 ? 32 : 128;
	struct prefix prefix = {.family = family};

	random_address(family, wide, prefix.addr);
	prefix.length = one_in(12) ? 0 : one_in(6) ? max : random_next() % (max + 1);
	for (unsigned bit = prefix.length; bit < 128; bit++)
		prefix.addr[bit / 8] &= ~(0x80 >> bit % 8);
	return prefix;
}

/* What the policies of one round may name; the fewer, the more of a classifier is left out. */
struct flavour {
	bool dst, src, v4, v6, vlan, dscp, proto, ports, wire, direction;
	bool wide;     /* addresses from everywhere, so that most prefixes do not nest */
	bool two_ways; /* destinations in one direction, sources in the other */
	bool l3;       /* L2 lengths are asked for */
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
		.proto = one_in(2),
		.ports = one_in(2),
		.wire = one_in(2),
		.direction = one_in(2),
		.wide = one_in(3),
		.two_ways = one_in(4),
		.l3 = one_in(2),
	};
}

static uint8_t random_proto(void)
{
	static const uint8_t protos[] = {6, 6, 6, 17, 17, 1, 58, 132, 50, 59, 33, 136};

	return protos[random_next() % sizeof(protos)];
}

static struct port_range random_range(void)
{
	const uint16_t first = 1 + random_next() % 8;

	return (struct port_range){first, first + random_next() % 4};
}

static void random_transport(const struct flavour *flavour, struct match *match)
{
	if (flavour->proto && one_in(3))
		match->proto = random_proto();
	if (flavour->ports && one_in(3))
		match->dst_port = random_range();
	if (flavour->ports && one_in(3))
		match->src_port = random_range();
}

static void random_place(const struct flavour *flavour, struct match *match)
{
	if (flavour->wire && one_in(3))
		match->wire = random_next() % 3;
	if (flavour->two_ways && match->dst.family != 0)
		match->direction = DIRECTION_B_TO_A;
	else if (flavour->two_ways && match->src.family != 0)
		match->direction = DIRECTION_A_TO_B;
	else if (flavour->direction && one_in(3))
		match->direction = one_in(2) ? DIRECTION_A_TO_B : DIRECTION_B_TO_A;
}

static struct policy random_policy(const struct flavour *flavour)
{
	const uint8_t family = !flavour->v6 || (flavour->v4 && one_in(2)) ? 4 : 6;
	struct match match = {.vlan = CONFIG_ANY, .dscp = CONFIG_ANY, .wire = CONFIG_ANY};

	if (flavour->dst && !one_in(4))
		match.dst = random_prefix(family, flavour->wide);
	if (flavour->src && one_in(2))
		match.src = random_prefix(one_in(50) ? 10 - family : family, flavour->wide);
	if (flavour->vlan && one_in(3))
		match.vlan = random_next() % 4;
	if (flavour->dscp && one_in(3))
		match.dscp = random_next() % 3;
	random_transport(flavour, &match);
	random_place(flavour, &match);
	return (struct policy){
		.match = match, .accounting = flavour->l3 ? ACCOUNTING_L3 : ACCOUNTING_L2};
}

/* The address of some policy, if it has one, and behind its prefix any other. */
static void borrow_address(const struct prefix *prefix, uint8_t family, uint8_t *addr)
{
	if (prefix->family != family)
		return;
	for (unsigned bit = 0; bit < prefix->length; bit++) {
		addr[bit / 8] &= ~(0x80 >> bit % 8);
		addr[bit / 8] |= prefix->addr[bit / 8] & 0x80 >> bit % 8;
	}
}

static void random_frame(const struct policy *model, uint8_t family, bool tag, enum form form,
	bool wide, struct frame *frame)
{
	*frame = (struct frame){
		.form = form,
		.family = family,
		.proto = random_proto(),
		.dscp = random_next() % 4,
		.vlan = tag ? (int)(random_next() % 5) : CONFIG_ANY,
		.sport = random_next() % 12,
		.dport = random_next() % 12,
	};
	random_address(family, wide, frame->src);
	random_address(family, wide, frame->dst);
	if (one_in(2)) {
		borrow_address(&model->match.src, family, frame->src);
		borrow_address(&model->match.dst, family, frame->dst);
	}
	put_frame(frame);
}

/* Bursts of one kind, nearly of one kind, and of anything. */
static void random_frames(const struct policy *policies, unsigned n_policies, bool wide,
	struct frame *frames, unsigned n)
{
	static const uint8_t families[] = {4, 4, 6, 6, 0};
	const uint8_t family = families[random_next() % sizeof(families)];
	const bool tag = one_in(2);
	const enum form form = one_in(2) ? PLAIN : random_next() % FORMS;
	const unsigned odd = one_in(3) ? 0 : one_in(2) ? 1 : 30;

	for (unsigned i = 0; i < n; i++) {
		const struct policy *model = &policies[random_next() % n_policies];

		if (odd == 0 || !one_in(odd))
			random_frame(model, family, tag, form, wide, &frames[i]);
		else
			random_frame(model, families[random_next() % sizeof(families)], one_in(2),
				random_next() % FORMS, wide, &frames[i]);
	}
}

static void check_burst(const struct classifier *classifier, const struct policy *policies,
	unsigned n_policies, bool wide)
{
	const enum direction direction = one_in(2) ? DIRECTION_A_TO_B : DIRECTION_B_TO_A;
	const unsigned wire = random_next() % 3, n = random_next() % (BURST + 1);
	struct frame frames[BURST];
	uint32_t expect[BURST];

	random_frames(policies, n_policies, wide, frames, n);
	for (unsigned i = 0; i < n; i++)
		expect[i] = reference(policies, n_policies, &frames[i], wire, direction);
	classify_both("random", classifier, wire, direction, frames, n, expect);
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
		check_burst(classifier, policies, n_policies, flavour->wide);
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
		check_random(1 + random_next() % (round < 50 ? 8 : 100), 40, &flavour);
	}
	flavour = (struct flavour){
		true, true, true, true, true, true, true, true, true, true, false, false, false};
	check_random(5000, 50, &flavour);
	flavour.wide = true;
	check_random(100000, 8, &flavour);
}

/* The L2 lengths are there if a policy charges without them, whatever else is asked. */
static void test_l2_lengths(void **state)
{
	struct policy policies[] = {make_policy(&(struct row){.used = true}),
		make_policy(&(struct row){.dst = "10.0.0.0/8"})};
	struct classifier *classifier = NULL;
	struct frame sent[BURST];
	struct frames frames;

	(void)state;
	policies[0].accounting = ACCOUNTING_L3;
	for (unsigned n_policies = 1; n_policies <= COUNT(policies); n_policies++) {
		assert_int_equal(classifier_create(policies, n_policies, -1, &classifier), 0);
		for (unsigned round = 0; round < 200; round++) {
			random_frames(policies, n_policies, false, sent, BURST);
			copy_frames(sent, BURST, &frames);
			classify_frames(classifier, 0, DIRECTION_A_TO_B, &frames, BURST);
			for (unsigned i = 0; i < BURST; i++)
				assert_int_equal(frames.l2_len[i], sent[i].l2_len);
			free_frames(&frames, BURST);
		}
		classifier_destroy(classifier);
	}
}

/* Whether the last of n frames, and no other, is parsed. */
static void check_parsed(const struct classifier *classifier, const struct tunnels *tunnels,
	const struct frame *sent, unsigned n, bool parsed)
{
	struct frames frames;

	copy_frames(sent, n, &frames);
	frames.tunnels = tunnels;
	classify_frames(classifier, 0, DIRECTION_A_TO_B, &frames, n);
	if (frames.parsed != (uint64_t)parsed << (n - 1))
		fail_msg("form %d, protocol %u: parsed %#" PRIx64 " of %u", sent[n - 1].form,
			sent[n - 1].proto, frames.parsed, n);
	free_frames(&frames, n);
}

/* What the parser knows more of, or might, it is asked about; what is plain it is not. */
static void test_who_is_parsed(void **state)
{
	static const struct {
		enum form form;
		uint8_t family, proto;
		bool tag, parsed, by_tunnels;
	} rows[] = {
		{PLAIN, 4, 6, false, false, false},
		{PLAIN, 4, 6, true, false, false},
		{PLAIN, 6, 6, false, false, false},
		{PLAIN, 6, 6, true, false, false},
		{PLAIN, 6, 58, false, false, false},
		{PLAIN, 6, 132, false, false, false},
		{PLAIN, 4, 17, false, false, true}, /* VXLAN's port */
		{PLAIN, 6, 17, true, false, true},
		{PLAIN, 4, 47, false, false, true}, /* GRE */
		{PLAIN, 6, 47, true, false, true},
		{PLAIN, 4, 4, false, false, true}, /* IP in IP */
		{PLAIN, 4, 41, false, false, true},
		{PLAIN, 0, 0, false, true, true},
		{SECOND_TAG, 4, 6, true, true, true},
		{OPTIONS, 4, 6, false, true, true},
		{OPTIONS, 6, 6, false, true, true},
		{FRAGMENT, 4, 17, false, true, true},
		{FRAGMENT, 6, 17, true, true, true},
		{CUT, 4, 6, false, true, true},
		{SHORT, 4, 6, false, true, true},
		{NO_TAG, 4, 6, true, true, true},
	};
	const struct tunnels tunnels = {.classify = TUNNELS_INNER, .vxlan_port = 4789};
	const struct policy policy = make_policy(&(struct row){.dst = "10.0.0.0/8"});
	struct classifier *classifier = NULL;
	struct frame sent[2];

	(void)state;
	assert_int_equal(classifier_create(&policy, 1, -1, &classifier), 0);
	for (unsigned i = 0; i < COUNT(rows); i++) {
		make_frame(
			&(struct row){.dst = rows[i].family == 6 ? "1.1.1.1" : "::1", .proto = 6},
			PLAIN, &sent[0]);
		sent[1] = (struct frame){.form = rows[i].form,
			.family = rows[i].family,
			.proto = rows[i].proto,
			.dport = tunnels.vxlan_port,
			.vlan = rows[i].tag ? 7 : CONFIG_ANY};
		put_frame(&sent[1]);
		/* Alone, and behind a frame of another kind. */
		for (unsigned n = 1; n <= 2; n++) {
			check_parsed(classifier, NULL, sent + 2 - n, n, rows[i].parsed);
			check_parsed(classifier, &tunnels, sent + 2 - n, n, rows[i].by_tunnels);
		}
	}
	classifier_destroy(classifier);
}

/* Prefixes that share nothing below 24 bits need as many groups of slots as there are of them. */
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

/* The policy of a packet to 10.0.group.last. */
static uint32_t policy_of(const struct classifier *classifier, uint8_t group, uint8_t last)
{
	const struct packet packet = {.family = PACKET_IPV4, .vlan = PARSE_NO_VLAN};
	const uint8_t addr[] = {10, 0, group, last}, *data = addr;
	uint32_t policy;

	classify_burst(classifier, 0, DIRECTION_A_TO_B, &packet, &data, 1, &policy);
	return policy;
}

/* As many groups of slots as there is room for, and in each a prefix that ends with its group. */
static void test_full_groups(void **state)
{
	static const unsigned counts[] = {1, 63, 64, 65, 128};
	struct policy policies[128];
	struct classifier *classifier = NULL;

	(void)state;
	for (unsigned i = 0; i < COUNT(policies); i++) {
		policies[i] = make_policy(&(struct row){.dst = "10.0.0.128/25"});
		policies[i].match.dst.addr[2] = i;
	}
	for (unsigned c = 0; c < COUNT(counts); c++) {
		assert_int_equal(classifier_create(policies, counts[c], -1, &classifier), 0);
		for (unsigned i = 0; i < COUNT(policies); i++) {
			assert_int_equal(policy_of(classifier, i, 127), CLASSIFY_NONE);
			assert_int_equal(
				policy_of(classifier, i, 128), i < counts[c] ? i : CLASSIFY_NONE);
		}
		classifier_destroy(classifier);
	}
}

static void check_one(const struct classifier *classifier, const char *dst, int expect)
{
	const struct row row = {.dst = dst, .direction = DIRECTION_A_TO_B, .expect = expect};

	check_packet(classifier, &row, dst, PLAIN);
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

/*
 * What it answers is the caller's; who wins is decided by the order of the policies all the same.
 */
static void test_answers(void **state)
{
	struct policy policies[] = {make_policy(&(struct row){.dst = "10.0.0.0/8"}),
		make_policy(&(struct row){.dst = "10.0.0.0/9", .direction = DIRECTION_A_TO_B}),
		make_policy(&(struct row){.dst = "2001:db8::/32"})};
	const uint32_t answers[] = {7, 5, (1u << 30) - 1};
	const struct row both = {.dst = "10.1.0.0",
		.proto = 6,
		.sport = {9, 9},
		.direction = DIRECTION_A_TO_B,
		.expect = 7};
	struct classifier *classifier = NULL;

	(void)state;
	assert_int_equal(classifier_create_as(policies, answers, 3, -1, &classifier), 0);
	check_one(classifier, "10.128.0.0", 7);
	check_one(classifier, "10.127.0.0", 5);
	check_one(classifier, "2001:db8::1", (1u << 30) - 1);
	check_one(classifier, "11.0.0.0", NOTHING);
	classifier_destroy(classifier);
	/* Ranges that overlap: the first in the file takes what is in both. */
	for (unsigned i = 0; i < 2; i++)
		policies[i] = make_policy(&(struct row){.proto = 6, .sport = {9 - i, 10 - i}});
	assert_int_equal(classifier_create_as(policies, answers, 2, -1, &classifier), 0);
	check_packet(classifier, &both, "both", PLAIN);
	classifier_destroy(classifier);
}

static unsigned allocations(void)
{
	struct rte_malloc_socket_stats stats;

	assert_int_equal(rte_malloc_get_socket_stats(0, &stats), 0);
	return stats.alloc_count;
}

/* What a thread that is none of EAL's does a few times: returns how often it failed. */
static void *build_some(void *arg)
{
	const struct policy *policy = arg;
	struct classifier *classifier = NULL;
	uintptr_t failed = 0;

	for (unsigned i = 0; i < 8; i++) {
		if (classifier_create(policy, 1, -1, &classifier) == 0 &&
			policy_of(classifier, 0, 1) == 0 &&
			policy_of(classifier, 1, 1) == CLASSIFY_NONE)
			classifier_destroy(classifier);
		else
			failed++;
	}
	return (void *)failed;
}

/* Nothing is left of those built by two other threads at once, and lookups here go on. */
static void test_built_aside(void **state)
{
	struct policy used = make_policy(&(struct row){.dst = "10.0.0.0/23"});
	struct policy other = make_policy(&(struct row){.dst = "10.0.0.1/32"});
	struct classifier *classifier = NULL;
	unsigned before;
	pthread_t threads[2];
	void *failed;

	(void)state;
	assert_int_equal(classifier_create(&used, 1, -1, &classifier), 0);
	before = allocations();
	for (unsigned i = 0; i < COUNT(threads); i++)
		assert_int_equal(pthread_create(&threads[i], NULL, build_some, &other), 0);
	for (unsigned i = 0; i < COUNT(threads); i++) {
		while (pthread_tryjoin_np(threads[i], &failed) != 0)
			assert_int_equal(policy_of(classifier, 1, 1), 0);
		assert_null(failed);
	}
	assert_int_equal(allocations(), before);
	classifier_destroy(classifier);
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
	fill_memory(v4, COUNT(v4), 1 << 12);
	fill_memory(v6, COUNT(v6), 1 << 12);
	fill_memory(all, COUNT(all), 1 << 12);
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
		cmocka_unit_test(test_l2_lengths),
		cmocka_unit_test(test_who_is_parsed),
		cmocka_unit_test(test_scattered_prefixes),
		cmocka_unit_test(test_full_groups),
		cmocka_unit_test(test_two_at_once),
		cmocka_unit_test(test_built_aside),
		cmocka_unit_test(test_answers),
		cmocka_unit_test(test_out_of_memory),
		cmocka_unit_test(test_too_many),
	};

	return cmocka_run_group_tests(tests, start_eal, stop_eal);
}
