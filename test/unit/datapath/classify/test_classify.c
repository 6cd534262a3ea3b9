/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Tests of a classifier's tables: values at their limits, and the frames that need the parser.
 */
#include "classify_world.h"
#include "scope.h"

END_POINTER(classifier_destroy, struct classifier *)

#define ROWS_MAX 12

struct scenario {
	const char *name;
	struct row policies[ROWS_MAX];
	struct row packets[ROWS_MAX];
};

static void check_scenario(const struct scenario *scenario)
{
	struct policy policies[ROWS_MAX];
	ENDED_BY(classifier_destroy_at) struct classifier *classifier = NULL;
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

/* Values at their limits; test_classify_random.c compares the order of precedence. */
static const struct scenario scenarios[] = {
	{"no policy", {{.used = false}},
		{X(NOTHING, A_TO_B), X(NOTHING, .dst = "10.1.2.3", A_TO_B)}},
	{"match all", {P(), P()},
		{X(0, A_TO_B), X(0, .dst = "10.1.2.3", B_TO_A), X(0, .dst = "2001:db8::1", A_TO_B),
			X(0, .vlan = NAMED(5), A_TO_B)}},
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
	{"ports before wire and direction",
		{P(.wire = NAMED(0), A_TO_B), P(.sport = {1, 65535}), P(.dport = {65535, 65535})},
		{X(2, .dst = "::1", .proto = 17, .sport = {1, 1}, .dport = {65535, 65535}, A_TO_B),
			X(1, .dst = "::1", .proto = 132, .sport = {1, 1}, .dport = {65534, 65534},
				A_TO_B),
			X(0, .dst = "::1", .proto = 132, .sport = {0, 0}, .dport = {1, 1}, A_TO_B),
			X(0, .dst = "::1", .proto = 58, .sport = {1, 1}, .dport = {1, 1}, A_TO_B),
			X(0, A_TO_B)}},
};

TEST(test_scenarios)
{
	for (unsigned i = 0; i < COUNT(scenarios); i++)
		check_scenario(&scenarios[i]);
}

/* Checks that of n frames only the last is parsed, if `parsed`, or none. */
static void check_parsed(const struct classifier *classifier, const struct tunnels *tunnels,
	const struct frame *sent, unsigned n, bool parsed)
{
	struct frames frames;

	copy_frames(sent, n, &frames);
	frames.tunnels = tunnels;
	frames.wide = classify_has_wide();
	classify_frames(classifier, 0, DIRECTION_A_TO_B, &frames, n);
	if (frames.parsed != (uint64_t)parsed << (n - 1))
		fail_msg("form %d, protocol %u: parsed %#" PRIx64 " of %u", sent[n - 1].form,
			sent[n - 1].proto, frames.parsed, n);
	free_frames(&frames, n);
}

/*
 * Frames are parsed if the parser can find out more about them, for example inside a tunnel. Plain
 * frames are not parsed.
 */
TEST(test_who_is_parsed)
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
		/* Alone, and after a frame of another kind. */
		for (unsigned n = 1; n <= 2; n++) {
			check_parsed(classifier, NULL, sent + 2 - n, n, rows[i].parsed);
			check_parsed(classifier, &tunnels, sent + 2 - n, n, rows[i].by_tunnels);
		}
	}
	classifier_destroy(classifier);
}

TEST_GROUP(start_eal, stop_eal)
