/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Fragments that get the ports of their first fragment, with a fake clock, and the entries that a
 * flood can evict.
 */
#include "check.h"
#include "scope.h"

#include "base/prng.h"
#include "packet/fragment.h"
#include "classify/frames.h"
#include "frame_layers.h"

#define HZ         UINT64_C(2500000000)
#define SECRET     UINT64_C(0x0123456789abcdef)
#define SRC_PORT   (PATTERN << 8 | (PATTERN + 1)) /* source port of built packets */
#define DST_PORT   ((PATTERN + 2) << 8 | (PATTERN + 3))
#define ADDRESS_V4 26
#define ID_V4      18

static const layer first4[LAYERS_MAX] = {{ETHER, T_IPV4}, {V4, UDP, 0, 0x2000}, {PAYLOAD, 64}};
/* There is a gap between the first fragment and this one. */
static const layer apart4[LAYERS_MAX] = {{ETHER, T_IPV4}, {V4, UDP, 0, 0x0010}, {PAYLOAD, 9}};
/* These follow the first fragment directly, and last4 is the last of the packet. */
static const layer later4[LAYERS_MAX] = {{ETHER, T_IPV4}, {V4, UDP, 0, 0x2008}, {PAYLOAD, 64}};
static const layer last4[LAYERS_MAX] = {{ETHER, T_IPV4}, {V4, UDP, 0, 0x0008}, {PAYLOAD, 9}};
static const layer first6[LAYERS_MAX] = {
	{ETHER, T_IPV6}, {V6, FRAGMENT}, {V6FRAG, UDP, 1}, {PAYLOAD, 64}};
static const layer later6[LAYERS_MAX] = {
	{ETHER, T_IPV6}, {V6, FRAGMENT}, {V6FRAG, UDP, 64 | 1}, {PAYLOAD, 64}};

static struct fragments *table_new(uint64_t secret)
{
	struct fragments *table = aligned_alloc(64, sizeof(*table));

	assert_non_null(table);
	fragments_init(table, secret, HZ);
	return table;
}

/* Looks up the ports of a frame, without changes to it. */
static struct packet see_exactly(struct fragments *table, const struct frame *frame, uint64_t now)
{
	struct packet packet;

	packet_parse(frame->bytes, frame->len, &packet);
	assert_int_not_equal(packet.fragment, PACKET_WHOLE);
	fragments_ports(table, frame->bytes, frame->len, now, &packet);
	packet.flow_hash = packet_flow_hash(&packet, frame->bytes);
	return packet;
}

static struct packet see_frame(struct fragments *table, const struct frame *frame, uint64_t now)
{
	struct frame sound = *frame;

	if (sound.n_ip > 0 && !sound.ipv6[0])
		put_checksum(sound.bytes, sound.l3[0]);
	return see_exactly(table, &sound, now);
}

static struct packet see_fragment(struct fragments *table, const layer *layers, uint64_t now)
{
	struct frame frame;

	build_frame(layers, &frame);
	return see_frame(table, &frame, now);
}

static void expect_ports(const char *name, const struct packet *packet, bool known)
{
	if (packet->src_port != (known ? SRC_PORT : 0) ||
		packet->dst_port != (known ? DST_PORT : 0))
		fail_msg("%s: ports %u and %u", name, packet->src_port, packet->dst_port);
}

/* Fragments of the same packet as the first one, and others that differ in one field. */
TEST(test_belongs)
{
	static const struct {
		const char *name;
		layer first[LAYERS_MAX], later[LAYERS_MAX];
		bool known;
	} rows[] = {
#define FIRST4 {{ETHER, T_IPV4}, {V4, UDP, 0, 0x2000}, {PAYLOAD, 64}}
#define FIRST6                                                     \
	{                                                          \
		{ETHER, T_IPV6}, {V6, FRAGMENT}, {V6FRAG, UDP, 1}, \
		{                                                  \
			PAYLOAD, 64                                \
		}                                                  \
	}
#define LATER6(next, ...)                                                                         \
	{                                                                                         \
		{ETHER, T_IPV6}, {V6, FRAGMENT}, {V6FRAG, (next), 64}, {PAYLOAD, 64}, __VA_ARGS__ \
	}
		{"v4", FIRST4, {{ETHER, T_IPV4}, {V4, UDP, 0, 0x2008}, {PAYLOAD, 64}}, true},
		{"v4, last", FIRST4, {{ETHER, T_IPV4}, {V4, UDP, 0, 8}, {PAYLOAD, 3}}, true},
		{"v4, options in the first only",
			{{ETHER, T_IPV4}, {V4, UDP, 4, 0x2000}, {PAYLOAD, 64}},
			{{ETHER, T_IPV4}, {V4, UDP, 0, 8}, {PAYLOAD, 3}}, false},
		{"v4, another link address", FIRST4,
			{{ETHER, T_IPV4}, {V4, UDP, 0, 8}, {PAYLOAD, 64}, {PATCH, 1, 0x35}}, false},
		{"v4, another inner VLAN",
			{{ETHER, T_VLAN}, {TAG, 1, T_VLAN}, {TAG, 1, T_IPV4}, {V4, UDP, 0, 0x2000},
				{PAYLOAD, 64}},
			{{ETHER, T_VLAN}, {TAG, 1, T_VLAN}, {TAG, 2, T_IPV4}, {V4, UDP, 0, 8},
				{PAYLOAD, 64}},
			false},
		{"v4, another protocol", FIRST4, {{ETHER, T_IPV4}, {V4, TCP, 0, 8}, {PAYLOAD, 64}},
			false},
		{"v4, another identification", FIRST4,
			{{ETHER, T_IPV4}, {V4, UDP, 0, 8}, {PAYLOAD, 64}, {PATCH, 19, 0x35}},
			false},
		{"v4, another source", FIRST4,
			{{ETHER, T_IPV4}, {V4, UDP, 0, 8}, {PAYLOAD, 64}, {PATCH, 29, 0}}, false},
		{"v4, another destination", FIRST4,
			{{ETHER, T_IPV4}, {V4, UDP, 0, 8}, {PAYLOAD, 64}, {PATCH, 33, 0}}, false},
		{"v4, another VLAN",
			{{ETHER, T_VLAN}, {TAG, 1, T_IPV4}, {V4, UDP, 0, 0x2000}, {PAYLOAD, 64}},
			{{ETHER, T_VLAN}, {TAG, 2, T_IPV4}, {V4, UDP, 0, 8}, {PAYLOAD, 64}}, false},
		{"v4, cut before the ports", {{ETHER, T_IPV4}, {V4, UDP, 0, 0x2000}, {PAYLOAD, 3}},
			{{ETHER, T_IPV4}, {V4, UDP, 0, 8}, {PAYLOAD, 64}}, false},
		{"v4, no ports", {{ETHER, T_IPV4}, {V4, ICMP, 0, 0x2000}, {PAYLOAD, 64}},
			{{ETHER, T_IPV4}, {V4, ICMP, 0, 8}, {PAYLOAD, 64}}, false},
		{"v6", FIRST6, LATER6(UDP, {END}), true},
		{"v6, headers before",
			{{ETHER, T_IPV6}, {V6, HOP}, EXT8(FRAGMENT), {V6FRAG, UDP, 1},
				{PAYLOAD, 64}},
			{{ETHER, T_IPV6}, {V6, HOP}, EXT8(FRAGMENT), {V6FRAG, UDP, 64},
				{PAYLOAD, 64}},
			false},
		{"v6, a lie about the next header", FIRST6, LATER6(TCP, {END}), true},
		{"v6, another identification", FIRST6, LATER6(UDP, {PATCH, 61, 2}), false},
		{"v6, its upper half", FIRST6, LATER6(UDP, {PATCH, 58, 2}), false},
		{"v6, another source", FIRST6, LATER6(UDP, {PATCH, 22, 0}), false},
		{"v6, its end", FIRST6, LATER6(UDP, {PATCH, 37, 0}), false},
		{"v6, another destination", FIRST6, LATER6(UDP, {PATCH, 38, 0}), false},
		{"v6, its end too", FIRST6, LATER6(UDP, {PATCH, 53, 0}), false},
	};
	struct packet first, later;

	for (unsigned i = 0; i < COUNT(rows); i++) {
		struct fragments *table = table_new(SECRET);

		first = see_fragment(table, rows[i].first, 1000);
		later = see_fragment(table, rows[i].later, 1000);
		expect_ports(rows[i].name, &later, rows[i].known);
		if (rows[i].known) {
			expect_ports(rows[i].name, &first, true);
			assert_int_equal(later.proto, UDP);
			assert_int_equal(later.flow_hash, first.flow_hash);
		}
		/* No receiver accepts a first fragment of three bytes that is not the last. */
		if (first.unparsed == UNPARSED_FRAGMENT_MALFORMED)
			assert_string_equal(rows[i].name, "v4, cut before the ports");
		assert_int_equal(table->first, first.unparsed != UNPARSED_FRAGMENT_MALFORMED);
		assert_int_equal(table->found + table->unknown, 1);
		free(table);
	}
}

/* A flow has the same hash in whole packets and in fragments. */
TEST(test_hash)
{
	const layer whole[LAYERS_MAX] = {{ETHER, T_IPV4}, {V4, UDP}, {PAYLOAD, 64}};
	ENDED_BY(free_at) struct fragments *table = table_new(SECRET);
	struct packet packet;
	struct frame frame;

	build_frame(whole, &frame);
	packet_parse(frame.bytes, frame.len, &packet);
	see_fragment(table, first4, 0);
	assert_int_equal(
		see_fragment(table, later4, 0).flow_hash, packet_flow_hash(&packet, frame.bytes));
}

/* Returns true if a first fragment lends its ports after this time. */
static bool lends_after(uint64_t hz, double seconds)
{
	const uint64_t start = hz * 7 + 12345;
	struct fragments *table = aligned_alloc(64, sizeof(*table));
	struct packet packet;

	fragments_init(table, SECRET, hz);
	see_fragment(table, first6, start);
	packet = see_fragment(table, later6, start + (uint64_t)(int64_t)(seconds * (double)hz));
	free(table);
	return packet.src_port == SRC_PORT;
}

/* For every clock rate, just in time and just too late, and with a clock that stepped back. */
TEST(test_time)
{
	static const uint64_t rates[] = {1000000000, 2499998000, 3700000000};

	for (unsigned i = 0; i < COUNT(rates); i++) {
		assert_true(lends_after(rates[i], FRAGMENT_LEND_S));
		assert_false(lends_after(rates[i], FRAGMENT_LEND_S + 0.25));
		assert_true(lends_after(rates[i], -0.5));
	}
}

static struct packet see_other_first(struct fragments *table, uint64_t now)
{
	struct frame frame;

	build_frame(first4, &frame);
	frame.bytes[35] = 0x77;
	return see_frame(table, &frame, now);
}

/* Ports are found for fragments in order, and for none after any other fragment of the packet. */
TEST(test_order)
{
	static const layer malformed[LAYERS_MAX] = {
		{ETHER, T_IPV4}, {V4, UDP, 0, 0x2010}, {PAYLOAD, 3}};
	static const struct {
		const char *name;
		const layer *before, *between;
		bool known;
	} rows[] = {
		{"in order", NULL, NULL, true},
		{"after one that came before the first", last4, NULL, false},
		{"after a gap", NULL, apart4, false},
		{"after itself", NULL, later4, false},
		{"after the first came again", NULL, first4, false},
		{"after one that no receiver takes", NULL, malformed, false},
	};

	for (unsigned i = 0; i < COUNT(rows); i++) {
		struct fragments *table = table_new(SECRET);
		struct packet packet;

		if (rows[i].before)
			see_fragment(table, rows[i].before, 5);
		see_fragment(table, first4, 6);
		if (rows[i].between)
			see_fragment(table, rows[i].between, 7);
		packet = see_fragment(table, later4, 8);
		expect_ports(rows[i].name, &packet, rows[i].known);
		packet = see_other_first(table, 9);
		assert_int_equal(packet.unparsed, UNPARSED_FRAGMENT_CONFLICT);
		assert_int_equal(packet.unknown, 0); /* no field is unknown */
		assert_int_equal(table->conflict, 1);
		free(table);
	}
}

/* The last fragment ends a packet. Later fragments belong to another packet. */
TEST(test_whole)
{
	ENDED_BY(free_at) struct fragments *table = table_new(SECRET);
	struct packet packet;

	see_fragment(table, first4, 5);
	packet = see_fragment(table, last4, 6);
	expect_ports("the end", &packet, true);
	/* Another packet with the same identification, with the same ports or later. */
	see_fragment(table, first4, 7);
	packet = see_fragment(table, last4, 8);
	expect_ports("of the next packet", &packet, true);
	assert_int_equal(see_other_first(table, 9).unparsed, UNPARSED_FRAGMENT_CONFLICT);
	assert_int_equal(see_other_first(table, 3 * HZ).unparsed, UNPARSED_NONE);
	packet = see_fragment(table, apart4, 3 * HZ);
	expect_ports("after a gap", &packet, false);
	assert_int_equal(packet.unparsed, UNPARSED_FRAGMENT_UNKNOWN);
}

static void set_id(struct frame *frame, uint32_t id)
{
	frame->bytes[ID_V4] = id >> 8;
	frame->bytes[ID_V4 + 1] = id;
}

static void set_addresses(struct frame *frame, uint64_t addresses)
{
	memcpy(frame->bytes + ADDRESS_V4, &addresses, sizeof(addresses));
}

/* Counts the sets and entries in use. */
static void count_used(const struct fragments *table, unsigned *sets, unsigned *entries)
{
	*sets = *entries = 0;
	for (unsigned i = 0; i < FRAGMENT_SETS; i++) {
		unsigned used = 0;

		for (unsigned w = 0; w < FRAGMENT_WAYS; w++)
			used += table->sets[i].way[w].used;
		*sets += used > 0;
		*entries += used;
	}
}

/* Returns the only line in use. */
static unsigned line_of(const struct fragments *table)
{
	unsigned line = 0;

	while (!table->sets[line].way[0].used)
		line++;
	return line;
}

/* Packets between two hosts stay in their lines, in any number. The newest keep their entries. */
TEST(test_one_pair)
{
	ENDED_BY(free_at) struct fragments *table = table_new(SECRET);
	unsigned sets, entries, known = 0;
	struct frame first, later;

	build_frame(first4, &first);
	build_frame(last4, &later);
	for (uint32_t id = 0; id < 65536; id++) {
		set_id(&first, id);
		set_id(&later, id);
		see_frame(table, &first, id * 1000);
		if (id < 65536 - FRAGMENT_LINES * FRAGMENT_WAYS &&
			see_frame(table, &later, id * 1000).src_port != SRC_PORT)
			fail_msg("id %u is forgotten at once", id);
	}
	count_used(table, &sets, &entries);
	assert_int_equal(sets, FRAGMENT_LINES);
	assert_int_equal(entries, FRAGMENT_LINES * FRAGMENT_WAYS);
	/*
	 * The 32 newest keep their entries, except a few whose line was hit more than four times.
	 */
	for (uint32_t id = 65536 - FRAGMENT_LINES * FRAGMENT_WAYS; id < 65536; id++) {
		set_id(&later, id);
		known += see_frame(table, &later, 65536 * 1000).src_port == SRC_PORT;
	}
	assert_in_range(known, 20, FRAGMENT_LINES * FRAGMENT_WAYS);
}

/* Finds identifications of packets between two hosts that share a line. */
static void find_line_mates(uint32_t *ids, unsigned count)
{
	struct frame first;
	unsigned n = 0;

	build_frame(first4, &first);
	for (uint32_t id = 0; n < count; id++) {
		struct fragments *alone = table_new(SECRET);

		set_id(&first, id);
		see_frame(alone, &first, 0);
		if (line_of(alone) % FRAGMENT_LINES == 5)
			ids[n++] = id;
		free(alone);
	}
}

/*
 * The last fragments of as many packets as a line holds come first. The packets end with their
 * first fragments. Later fragments with the same identification belong to other packets.
 */
TEST(test_reversed)
{
	ENDED_BY(free_at) struct fragments *table = table_new(SECRET);
	uint32_t ids[FRAGMENT_WAYS];
	struct frame first, later;
	struct packet packet;

	find_line_mates(ids, FRAGMENT_WAYS);
	build_frame(first4, &first);
	build_frame(last4, &later);
	for (unsigned i = 0; i < FRAGMENT_WAYS; i++) {
		set_id(&later, ids[i]);
		packet = see_frame(table, &later, 1);
		expect_ports("before its first", &packet, false);
	}
	for (unsigned i = 0; i < FRAGMENT_WAYS; i++) {
		set_id(&first, ids[i]);
		see_frame(table, &first, 2);
	}
	for (unsigned i = 0; i < FRAGMENT_WAYS; i++) {
		set_id(&later, ids[i]);
		packet = see_frame(table, &later, 3);
		expect_ports("after the packet was whole", &packet, false);
	}
}

/* In a full line the oldest entry is evicted. */
TEST(test_oldest_goes)
{
	ENDED_BY(free_at) struct fragments *table = table_new(SECRET);
	uint32_t ids[FRAGMENT_WAYS + 1];
	struct frame first, later;

	build_frame(first4, &first);
	build_frame(last4, &later);
	find_line_mates(ids, FRAGMENT_WAYS + 1);
	for (unsigned i = 0; i <= FRAGMENT_WAYS; i++) {
		set_id(&first, ids[i]);
		see_frame(table, &first, 0);
	}
	for (unsigned i = 0; i <= FRAGMENT_WAYS; i++) {
		set_id(&later, ids[FRAGMENT_WAYS - i]);
		if ((see_frame(table, &later, 0).src_port == 0) != (i == FRAGMENT_WAYS))
			fail_msg("packet %u of the newest", i);
	}
}

/* A flood between two hosts evicts only packets in the lines of these hosts. */
TEST(test_flood_of_one_pair)
{
	enum { OTHERS = 1000 };
	const uint64_t seed = 0x5eed0003;
	ENDED_BY(free_at) struct fragments *table = table_new(SECRET);
	static uint64_t addresses[OTHERS];
	struct frame first, later;
	unsigned lost = 0;
	struct prng prng;

	prng_seed(&prng, seed);
	build_frame(first4, &first);
	build_frame(last4, &later);
	for (unsigned i = 0; i < OTHERS; i++) {
		addresses[i] = prng_next(&prng);
		set_addresses(&first, addresses[i]);
		see_frame(table, &first, 1000);
	}
	set_addresses(&first, prng_next(&prng));
	for (unsigned i = 0; i < 300000; i++) {
		set_id(&first, i);
		see_frame(table, &first, 2000);
	}
	for (unsigned i = 0; i < OTHERS; i++) {
		set_addresses(&later, addresses[i]);
		lost += see_frame(table, &later, 3000).src_port != SRC_PORT;
	}
	/* 1 in FRAGMENT_SETS / FRAGMENT_LINES shares the lines: 2 of 1000, and hardly ever 12. */
	if (lost > 12)
		fail_msg("seed %#" PRIx64 ": %u lost", seed, lost);
}

/* Packets with forged addresses fill the table evenly, so that few lines overflow. */
TEST(test_spread)
{
	const uint64_t seed = 0x5eed0004;
	ENDED_BY(free_at) struct fragments *table = table_new(SECRET);
	unsigned sets, entries;
	struct frame first;
	struct prng prng;

	prng_seed(&prng, seed);
	build_frame(first4, &first);
	for (unsigned i = 0; i < FRAGMENT_SETS; i++) {
		set_addresses(&first, prng_next(&prng));
		see_frame(table, &first, 1000);
	}
	count_used(table, &sets, &entries);
	/* 1 - 1/e of the sets are hit, with a deviation of 20; hardly any entry is evicted. */
	if (sets < FRAGMENT_SETS * 0.6 || sets > FRAGMENT_SETS * 0.66 ||
		entries < FRAGMENT_SETS * 0.99)
		fail_msg("seed %#" PRIx64 ": %u sets, %u entries", seed, sets, entries);
}

/* The line of a packet depends on the secret. */
TEST(test_secret)
{
	unsigned same = 0;

	for (uint64_t secret = 1; secret <= 16; secret++) {
		struct fragments *one = table_new(secret), *other = table_new(secret + 16);

		see_fragment(one, first4, 1);
		see_fragment(other, first4, 1);
		for (unsigned i = 0; i < FRAGMENT_SETS; i++)
			same += one->sets[i].way[0].used && other->sets[i].way[0].used;
		free(one);
		free(other);
	}
	assert_true(same <= 2);
}

/* A burst whose later fragment is looked up through frames_packet(). */
TEST(test_frames)
{
	const layer inside[2][LAYERS_MAX] = {
		{{ETHER, T_IPV4}, {V4, IPIP}, {V4, UDP, 0, 0x2000}, {PAYLOAD, 64}},
		{{ETHER, T_IPV4}, {V4, IPIP}, {V4, UDP, 0, 0x0008}, {PAYLOAD, 9}},
	};
	const unsigned inner_l3 = 34;
	const struct tunnels tunnels = {.classify = TUNNELS_INNER};
	ENDED_BY(free_at) struct fragments *table = table_new(SECRET);
	struct frames frames = {.tunnels = &tunnels, .fragments = table, .now = 1};
	struct frame built[2];

	for (unsigned i = 0; i < 2; i++) {
		build_frame(inside[i], &built[i]);
		put_checksum(built[i].bytes, inner_l3);
		frames.data[i] = built[i].bytes;
		frames.len[i] = built[i].len;
	}
	frames.whole = frames.len;
	for (unsigned i = 0; i < 2; i++) {
		expect_ports("in a tunnel", frames_packet(&frames, i), true);
		expect_ports("asked twice", frames_packet(&frames, i), true);
	}
	assert_int_equal(table->first, 1);
	assert_int_equal(table->found, 1);
	frames.parsed = 0;
	frames.fragments = NULL;
	expect_ports("nobody asks", frames_packet(&frames, 1), false);
	frames.parsed = 0;
	frames.tunnels = NULL;
	assert_int_equal(frames_packet(&frames, 1)->proto, IPIP);
}
