/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * From frames to policies in cases that need more than the headers: packets inside tunnels, and
 * fragments. Covers all paths of the classifier: uniform bursts, which it parses only if it must,
 * and mixed ones.
 */
#include "check.h"
#include "scope.h"

#include <rte_eal.h>

#include "classify/frames.h"
#include "frame_layers.h"

END_POINTER(classifier_destroy, struct classifier *)

#define BURST 32

/* The builder's addresses: of the first IP packet in a frame and of the second. */
enum { OUTSIDE, INSIDE, OUTSIDE_PORT, INSIDE_PORT, POLICIES };
#define NONE CLASSIFY_NONE
#define PORT ((PATTERN + 2) << 8 | (PATTERN + 3))

static struct policy to_host(const uint8_t *addr, bool port)
{
	struct policy policy = {.match = {.wire = CONFIG_ANY,
					.vlan = CONFIG_ANY,
					.dscp = CONFIG_ANY,
					.dst = {.family = 4, .length = 32}}};

	memcpy(policy.match.dst.addr, addr, 4);
	if (port)
		policy.match.dst_port = (struct port_range){PORT, PORT};
	return policy;
}

#define OUTER                 \
	{                     \
		ETHER, T_IPV4 \
	}
static const struct {
	const char *name;
	layer layers[LAYERS_MAX];
	uint32_t outer, inner; /* policy with "classify": "outer", "inner" */
} cases[] = {
	{"tcp", {OUTER, {V4, TCP}, {PAYLOAD, 20}}, OUTSIDE_PORT, OUTSIDE_PORT},
	{"udp", {OUTER, {V4, UDP}, {PAYLOAD, 20}}, OUTSIDE_PORT, OUTSIDE_PORT},
	{"icmp", {OUTER, {V4, ICMP}, {PAYLOAD, 20}}, OUTSIDE, OUTSIDE},
	{"v6", {{ETHER, T_IPV6}, {V6, UDP}, {PAYLOAD, 20}}, NONE, NONE},
	{"arp", {{ETHER, T_ARP}, {PAYLOAD, 46}}, NONE, NONE},
	{"mpls", {{ETHER, T_MPLS}, {LABEL, 7, 1}, {V4, UDP}, {PAYLOAD, 20}}, OUTSIDE_PORT,
		OUTSIDE_PORT},
	{"pppoe", {{ETHER, T_PPPOE}, {PPPOE, PPP_IPV4}, {V4, ICMP}, {PAYLOAD, 20}}, OUTSIDE,
		OUTSIDE},
	{"gre", {OUTER, {V4, GRE}, {GRE_HEADER, 0, T_IPV4}, {V4, TCP}, {PAYLOAD, 20}}, OUTSIDE,
		INSIDE_PORT},
	{"gre, tagged",
		{{ETHER, T_VLAN}, {TAG, 7, T_IPV4}, {V4, GRE}, {GRE_HEADER, 0, T_IPV4}, {V4, ICMP},
			{PAYLOAD, 20}},
		OUTSIDE, INSIDE},
	{"v4 in v4", {OUTER, {V4, IPIP}, {V4, UDP}, {PAYLOAD, 20}}, OUTSIDE, INSIDE_PORT},
	{"v6 in v4", {OUTER, {V4, SIXIN4}, {V6, UDP}, {PAYLOAD, 20}}, OUTSIDE, NONE},
	{"v4 in v6", {{ETHER, T_IPV6}, {V6, IPIP}, {V4, UDP}, {PAYLOAD, 20}}, NONE, INSIDE_PORT},
	{"vxlan",
		{OUTER, {V4, UDP}, {UDP_HEADER, VXLAN}, {VXLAN_HEADER, 8}, {ETHER, T_IPV4},
			{V4, TCP}, {PAYLOAD, 20}},
		OUTSIDE, INSIDE_PORT},
	{"vxlan over v6",
		{{ETHER, T_IPV6}, {V6, UDP}, {UDP_HEADER, VXLAN}, {VXLAN_HEADER, 8},
			{ETHER, T_IPV4}, {V4, ICMP}, {PAYLOAD, 20}},
		NONE, INSIDE},
};

static struct classifier *make_classifier(void)
{
	const uint8_t outside[] = {14, 15, 16, 17}, inside[] = {24, 25, 26, 27};
	const struct policy policies[POLICIES] = {
		[OUTSIDE] = to_host(outside, false),
		[INSIDE] = to_host(inside, false),
		[OUTSIDE_PORT] = to_host(outside, true),
		[INSIDE_PORT] = to_host(inside, true),
	};
	struct classifier *classifier;

	assert_int_equal(classifier_create(policies, POLICIES, -1, &classifier), 0);
	return classifier;
}

/* Checks the frames first, first + step, first + 2 · step … of the cases as one burst. */
static void check_burst(const struct classifier *classifier, const struct tunnels *tunnels,
	unsigned first, unsigned step)
{
	static struct frame built[BURST];
	static struct frames frames;

	memset(&frames, 0xa5, sizeof(frames));
	frames.tunnels = tunnels;
	frames.fragments = NULL;
	frames.wide = classify_has_wide();
	for (unsigned i = 0; i < BURST; i++) {
		build_frame(cases[(first + i * step) % COUNT(cases)].layers, &built[i]);
		frames.data[i] = built[i].bytes;
		frames.len[i] = built[i].len;
	}
	classify_frames(classifier, 0, DIRECTION_A_TO_B, &frames, BURST);
	for (unsigned i = 0; i < BURST; i++) {
		const unsigned which = (first + i * step) % COUNT(cases);
		const uint32_t want = tunnels ? cases[which].inner : cases[which].outer;

		if (frames.policy[i] != want)
			fail_msg("%s, %s, step %u: policy %d, not %d", cases[which].name,
				tunnels ? "inner" : "outer", step, (int)frames.policy[i],
				(int)want);
	}
}

TEST(test_tunnels)
{
	const struct tunnels tunnels = {.classify = TUNNELS_INNER, .vxlan_port = VXLAN};
	ENDED_BY(classifier_destroy_at) struct classifier *classifier = make_classifier();

	for (unsigned first = 0; first < COUNT(cases); first++)
		for (unsigned step = 0; step < 4; step++) {
			check_burst(classifier, NULL, first, step);
			check_burst(classifier, &tunnels, first, step);
		}
}

/*
 * A later fragment is charged like its first one. If the first one is unknown, there are three
 * cases. The packet is charged to the stricter of its two possible policies, or like one without
 * ports, or it is refused.
 */
TEST(test_fragments)
{
	static const layer layers[][LAYERS_MAX] = {
		{OUTER, {V4, UDP, 0, 0x0020}, {PAYLOAD, 64}, {PATCH, 19, 7}},
		{OUTER, {V4, UDP, 0, 0x2000}, {PAYLOAD, 64}},
		{OUTER, {V4, UDP}, {PAYLOAD, 64}},
		{OUTER, {V4, UDP, 0, 0x0008}, {PAYLOAD, 64}},
	};
	static const uint32_t before[] = {
		[UNPARSED_STRICT] = OUTSIDE_PORT,
		[UNPARSED_DROP] = NONE,
		[UNPARSED_PASS] = OUTSIDE,
	};
	ENDED_BY(free_at) struct fragments *table = aligned_alloc(64, sizeof(*table));
	ENDED_BY(classifier_destroy_at) struct classifier *classifier = make_classifier();
	static struct frames frames;
	struct frame built[4];

	for (unsigned i = 0; i < 4; i++) {
		build_frame(layers[i], &built[i]);
		put_checksum(built[i].bytes, 14);
		frames.data[i] = built[i].bytes;
		frames.len[i] = built[i].len;
	}
	frames.fragments = table;
	frames.whole = frames.len;
	for (unsigned action = UNPARSED_STRICT; action <= UNPARSED_PASS; action++) {
		classifier_set_unparsed(classifier, action);
		fragments_init(table, 1, 1000000000);
		for (unsigned burst = 0; burst < 2; burst++) {
			classify_frames(classifier, 0, DIRECTION_A_TO_B, &frames, 4);
			for (unsigned i = 0; i < 4; i++)
				if (frames.policy[i] != (i == 0 ? before[action] : OUTSIDE_PORT))
					fail_msg("action %u, burst %u, frame %u: policy %d", action,
						burst, i, (int)frames.policy[i]);
			assert_int_equal(frames.unparsed, 1);
			assert_int_equal(frames.refused, action == UNPARSED_DROP);
		}
		assert_int_equal(table->unknown, 2);
	}
}

static int start_eal(void **state)
{
	char *args[] = {(char[]){"test_inside"}, (char[]){"--no-huge"}, (char[]){"-m"},
		(char[]){"512"}, (char[]){"--no-pci"}, (char[]){"--no-telemetry"},
		(char[]){"--no-shconf"}, (char[]){"--log-level=1"}, (char[]){"-l"}, (char[]){"0"}};

	return rte_eal_init(COUNT(args), args) < 0 ? -1 : 0;
}

static int stop_eal(void **state)
{
	return rte_eal_cleanup();
}

TEST_GROUP(start_eal, stop_eal)
