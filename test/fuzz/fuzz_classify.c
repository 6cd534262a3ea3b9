/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Policies and frames from bytes. The classifier's result for a burst equals that of a walk over
 * all policies in the order of precedence, also for packets that are not understood. A policy is
 * ROW bytes, a frame is 64 of the bytes after all policies.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <rte_eal.h>

#include "classify/frames.h"
#include "policy/config.h"

#define POLICIES 40
#define ROW      11
#define FRAME    64

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_classifier(int condition)
{
	if (!condition)
		abort();
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	char *eal[] = {(char[]){"fuzz_classify"}, (char[]){"--no-huge"}, (char[]){"-m"},
		(char[]){"512"}, (char[]){"--no-pci"}, (char[]){"--no-telemetry"},
		(char[]){"--no-shconf"}, (char[]){"--log-level=1"}, (char[]){"-l"}, (char[]){"0"}};

	(void)argc;
	(void)argv;
	check_classifier(rte_eal_init(sizeof(eal) / sizeof(eal[0]), eal) >= 0);
	return 0;
}

/* Two bits of a byte make each byte of an address: 0, 0x41, 0x82 or 0xc3. */
static struct prefix make_prefix(bool v6, uint8_t length, uint8_t addr)
{
	static const uint8_t lengths[][8] = {
		{0, 8, 9, 16, 23, 24, 31, 32}, {0, 8, 33, 47, 48, 64, 127, 128}};
	struct prefix prefix = {.family = v6 ? 6 : 4, .length = lengths[v6][length & 7]};

	if (length & 8)
		return (struct prefix){0};
	for (unsigned bit = 0; bit < prefix.length; bit++)
		prefix.addr[bit / 8] |= (addr >> bit / 8 % 4 * 2 & 3) * 0x41 & (0x80 >> bit % 8);
	return prefix;
}

static struct policy make_policy(const uint8_t *bytes)
{
	static const uint8_t protos[] = {0, IPPROTO_UDP, IPPROTO_TCP, IPPROTO_ICMP};
	struct policy policy = {
		.match = {.wire = CONFIG_ANY, .vlan = CONFIG_ANY, .dscp = CONFIG_ANY},
		.limit_bps = UINT64_C(1) << bytes[6] % 40,
		.action = (enum action)(bytes[7] & 3),
		.count = (enum counting)((bytes[7] >> 2) % 3),
		.accounting = bytes[7] & 0x40 ? ACCOUNTING_L3 : ACCOUNTING_L2};
	struct match *match = &policy.match;

	match->dst = make_prefix(bytes[10] & 1, bytes[0], bytes[1]);
	match->src = make_prefix(bytes[10] & 1, bytes[8], bytes[9]);
	match->dscp = bytes[10] & 2 ? bytes[10] >> 2 : CONFIG_ANY;
	match->vlan = bytes[2] & 1 ? bytes[2] >> 1 & 3 : CONFIG_ANY;
	match->proto = protos[bytes[3] & 3];
	if (bytes[4] & 1)
		match->dst_port = (struct port_range){(uint16_t)(1 + (bytes[4] >> 1 & 3)),
			(uint16_t)(1 + (bytes[4] >> 1 & 3) + bytes[5] % 3)};
	return policy;
}

static bool prefix_holds(const struct prefix *prefix, uint8_t family, const uint8_t *addr)
{
	bool same = prefix->family == 0 || family == prefix->family;

	for (unsigned bit = 0; same && bit < prefix->length; bit++)
		same = ((prefix->addr[bit / 8] ^ addr[bit / 8]) & (0x80 >> bit % 8)) == 0;
	return same;
}

/*
 * Returns whether a policy can match a packet by its parsed fields; *sure if it needs no other
 * field.
 */
static bool could_match(
	const struct match *match, const struct packet *packet, const uint8_t *data, bool *sure)
{
	const bool proto = packet->unknown & PACKET_UNKNOWN_PROTO;
	const bool ports = packet->unknown & PACKET_UNKNOWN_PORTS;
	const bool dscp = packet->unknown && packet->family == PACKET_OTHER;

	*sure = !(proto && match->proto != 0) && !(ports && match->dst_port.first != 0) &&
		!(dscp && match->dscp != CONFIG_ANY);
	return prefix_holds(&match->dst, packet->family, data + packet->dst_off) &&
	       prefix_holds(&match->src, packet->family, data + packet->src_off) &&
	       (match->vlan == CONFIG_ANY || match->vlan == packet->vlan) &&
	       (dscp || match->dscp == CONFIG_ANY ||
		       (packet->family != PACKET_OTHER && match->dscp == packet->dscp)) &&
	       (proto || match->proto == 0 || match->proto == packet->proto) &&
	       (ports || match->dst_port.first == 0 ||
		       (packet->dst_port >= match->dst_port.first &&
			       packet->dst_port <= match->dst_port.last));
}

static int prefix_rank(const struct prefix *prefix)
{
	return prefix->family ? prefix->length : -1;
}

static bool precedes(const struct policy *policies, unsigned a, unsigned b)
{
	const struct match *x = &policies[a].match, *y = &policies[b].match;
	const int keys[][2] = {
		{prefix_rank(&x->dst), prefix_rank(&y->dst)},
		{prefix_rank(&x->src), prefix_rank(&y->src)},
		{x->vlan != CONFIG_ANY, y->vlan != CONFIG_ANY},
		{x->dscp != CONFIG_ANY, y->dscp != CONFIG_ANY},
		{x->proto != 0, y->proto != 0},
		{x->dst_port.first ? x->dst_port.first - x->dst_port.last : -UINT16_MAX,
			y->dst_port.first ? y->dst_port.first - y->dst_port.last : -UINT16_MAX},
	};

	for (unsigned i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		if (keys[i][0] != keys[i][1])
			return keys[i][0] > keys[i][1];
	return a < b;
}

/*
 * A policy is stricter if it takes longer to earn a packet; but its action counts more than that.
 */
static bool is_stricter(const struct policy *one, const struct policy *other, bool opens)
{
	static const int classes[] = {
		[ACTION_DROP] = 2, [ACTION_SHAPE] = 2, [ACTION_MARK] = 1, [ACTION_COUNT] = 0};
	const struct policy *both[] = {one, other};
	double seconds[2];

	for (unsigned i = 0; i < 2; i++) {
		seconds[i] = (both[i]->count == COUNT_BYTES ? 12000 : 8) /
			     (double)both[i]->limit_bps;
		if (both[i]->count == COUNT_FLOWS && !opens)
			seconds[i] = 0;
	}
	if (classes[one->action] != classes[other->action])
		return classes[one->action] > classes[other->action];
	return seconds[0] > seconds[1];
}

static uint32_t naive_answer(
	const struct policy *policies, unsigned n, const struct packet *packet, const uint8_t *data)
{
	const bool opens = packet->fragment != PACKET_FRAGMENT_LATER ||
			   packet->unknown & PACKET_UNKNOWN_FLAGS;
	unsigned order[POLICIES];
	uint32_t best = CLASSIFY_NONE;

	for (unsigned i = 0; i < n; i++) {
		unsigned at = i;

		for (; at > 0 && precedes(policies, i, order[at - 1]); at--)
			order[at] = order[at - 1];
		order[at] = i;
	}
	for (unsigned i = 0; i < n; i++) {
		const struct policy *policy = &policies[order[i]];
		bool sure;

		if (!could_match(&policy->match, packet, data, &sure))
			continue;
		if (best == CLASSIFY_NONE || is_stricter(policy, &policies[best], opens))
			best = order[i];
		if (sure)
			break;
	}
	return best;
}

static unsigned take_frames(struct frames *frames, const uint8_t *data, size_t size)
{
	unsigned n = 0;

	for (; n < FRAMES_MAX && size > 0; n++) {
		const size_t len = size < FRAME ? size : FRAME;
		uint8_t *copy = malloc(len); /* exactly to its last byte */

		memcpy(copy, data, len);
		frames->data[n] = copy;
		frames->len[n] = (uint32_t)len;
		data += len;
		size -= len;
	}
	return n;
}

/* Rows with one match each, for naive_answer(), and the policies that they belong to. */
struct world {
	struct policy rows[POLICIES], policies[POLICIES];
	struct match matches[POLICIES + 1];
	uint32_t of[POLICIES];
	unsigned n_rows, n;
};

/* Some rows are additional matches of the previous policy, with its terms. */
static void make_world(struct world *world, const uint8_t *data)
{
	world->n = 0;
	for (unsigned i = 0; i < world->n_rows; i++) {
		const uint8_t *bytes = data + (size_t)i * ROW;

		world->rows[i] = make_policy(bytes);
		world->matches[i] = world->rows[i].match;
		if (i == 0 || !(bytes[2] & 0x80)) {
			world->policies[world->n] = world->rows[i];
			world->policies[world->n++].more = &world->matches[i + 1];
		} else {
			world->rows[i] = world->policies[world->n - 1];
			world->rows[i].match = world->matches[i];
			world->policies[world->n - 1].n_more++;
		}
		world->of[i] = world->n - 1;
	}
}

static uint32_t naive_policy(
	const struct world *world, const struct packet *packet, const uint8_t *data)
{
	uint32_t row = naive_answer(world->rows, world->n_rows, packet, data);

	return row != CLASSIFY_NONE ? world->of[row] : CLASSIFY_NONE;
}

/* Packets that are parsed already have the same policies as their frames. */
static void check_packets(const struct classifier *classifier, const struct frames *frames,
	uint64_t refused, unsigned n)
{
	uint32_t policies[FRAMES_MAX];

	check_classifier(classify_burst(classifier, 0, DIRECTION_A_TO_B, frames->packet,
				 frames->data, n, policies) == refused);
	check_classifier(memcmp(policies, frames->policy, n * sizeof(*policies)) == 0);
}

static void check_frames(const struct classifier *classifier, const struct world *world,
	struct frames *frames, unsigned n)
{
	uint64_t refused;

	frames->wide = classify_has_wide();
	classify_frames(classifier, 0, DIRECTION_A_TO_B, frames, n);
	refused = frames->refused;
	for (unsigned i = 0; i < n; i++) {
		const struct packet *packet = frames_packet(frames, i);
		const uint32_t want = packet->unparsed == UNPARSED_FRAGMENT_CONFLICT
					      ? CLASSIFY_NONE
					      : naive_policy(world, packet, frames->data[i]);
		const bool nothing = want == CLASSIFY_NONE &&
				     (packet->unparsed == UNPARSED_FRAGMENT_CONFLICT ||
					     packet->unknown & PACKET_UNKNOWN_ADDRESS);

		check_classifier(frames->policy[i] == want);
		check_classifier(frames->l2_len[i] == 0 || frames->l2_len[i] == packet->l2_len);
		if (!classifier_drops(classifier))
			check_classifier((refused >> i & 1) == nothing);
		else /* frames between the ends of a link pass */
			check_classifier(want == CLASSIFY_NONE || !(refused >> i & 1));
	}
	check_packets(classifier, frames, refused, n);
}

/*
 * First byte: the number of policies, the secret of the fragment table, and whether the wire drops.
 */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct fragments fragments;
	static struct frames frames;
	struct classifier *classifier;
	struct world world;
	unsigned n;

	if (size < 1)
		return 0;
	world.n_rows = data[0] % POLICIES + 1;
	if (size < 1 + world.n_rows * ROW)
		return 0;
	make_world(&world, data + 1);
	check_classifier(classifier_create(world.policies, world.n, -1, &classifier) == 0);
	classifier_set_drops(classifier, data[0] / POLICIES & 1);
	fragments_init(&fragments, data[0], 1000000000);
	frames.fragments = &fragments;
	frames.whole = frames.len;
	frames.tunnels = NULL;
	frames.now = 1;
	n = take_frames(&frames, data + 1 + world.n_rows * ROW, size - 1 - world.n_rows * ROW);
	if (n > 0)
		check_frames(classifier, &world, &frames, n);
	for (unsigned i = 0; i < n; i++)
		free((void *)(uintptr_t)frames.data[i]);
	classifier_destroy(classifier);
	return 0;
}
