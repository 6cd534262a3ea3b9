/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Random policies of one match and of several, on frames of every form. The reference implements
 * only the documented order.
 */
#include "classify_lots.h"

#include "packet/parse.h"

/* The reference: does a policy match a packet, and which of two takes precedence? */

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

static bool frame_matches(const struct match *match, const struct frame *frame, unsigned wire,
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

/* Fewer ports make a match more specific. */
static int ports_left_out(const struct port_range *range)
{
	return range->first == 0 ? -65536 : range->first - range->last;
}

static bool goes_before(const struct match *a, const struct match *b)
{
	const int order[][2] = {
		{!a->last, !b->last},
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

static uint32_t reference_policy(const struct policy *policies, unsigned n,
	const struct frame *frame, unsigned wire, enum direction direction)
{
	uint32_t best = CLASSIFY_NONE;

	for (uint32_t i = 0; i < n; i++) {
		const struct match *match = &policies[i].match;

		if (frame_matches(match, frame, wire, direction) &&
			(best == CLASSIFY_NONE || goes_before(match, &policies[best].match)))
			best = i;
	}
	return best;
}

/* Rows for the reference, and the policies that they belong to. */
struct world {
	struct policy *rows, *joined;
	struct match *matches;
	uint32_t *of;
	bool *joins;
	unsigned n, n_joined;
	bool wide;
};

static void check_burst(const struct classifier *classifier, const struct world *world)
{
	const enum direction direction = one_in(2) ? DIRECTION_A_TO_B : DIRECTION_B_TO_A;
	const unsigned wire = random_next() % 3, n = random_next() % (BURST + 1);
	struct frame frames[BURST];
	uint32_t expect[BURST];

	random_frames(world->rows, world->n, world->wide, frames, n);
	for (unsigned i = 0; i < n; i++) {
		expect[i] = reference_policy(world->rows, world->n, &frames[i], wire, direction);
		if (expect[i] != CLASSIFY_NONE)
			expect[i] = world->of[expect[i]];
	}
	classify_both("random", classifier, wire, direction, frames, n, expect);
}

static void make_world(
	struct world *world, unsigned n, unsigned alone, const struct flavour *flavour)
{
	*world = (struct world){.rows = calloc(n, sizeof(*world->rows)),
		.joined = calloc(n, sizeof(*world->joined)),
		.matches = calloc(n, sizeof(*world->matches)),
		.of = calloc(n, sizeof(*world->of)),
		.joins = calloc(n, sizeof(*world->joins)),
		.n = n,
		.wide = flavour->wide};
	assert_true(world->rows && world->joined && world->matches && world->of && world->joins);
	for (unsigned i = 0; i < n; i++) {
		world->rows[i] = random_policy(flavour);
		world->joins[i] = alone > 0 && !one_in(alone);
	}
	world->n_joined = join_rows(
		world->rows, world->joins, n, world->matches, world->joined, world->of);
}

static void free_world(struct world *world)
{
	free(world->rows);
	free(world->joined);
	free(world->matches);
	free(world->of);
	free(world->joins);
}

/* One row in `alone` begins another policy. With 0, every row does. */
static void check_random(
	unsigned n_rows, unsigned alone, unsigned bursts, const struct flavour *flavour)
{
	struct classifier *classifier = NULL;
	struct world world;

	make_world(&world, n_rows, alone, flavour);
	assert_int_equal(classifier_create(world.joined, world.n_joined, -1, &classifier), 0);
	for (unsigned i = 0; i < bursts; i++)
		check_burst(classifier, &world);
	classifier_destroy(classifier);
	free_world(&world);
}

/* To repeat a failure, set WEIR_SEED to the printed seed. */
TEST(test_random)
{
	const char *text = getenv("WEIR_SEED");
	const uint64_t seed = text != NULL ? strtoull(text, NULL, 0) : 0x5eed0002;
	struct flavour flavour;

	print_message("seed %#" PRIx64 " (WEIR_SEED changes it)\n", seed);
	classify_world_seed(seed);
	for (unsigned round = 0; round < ROUNDS(200); round++) {
		flavour = random_flavour();
		check_random(1 + random_next() % (round < 100 ? 8 : 100), round % 4, 40, &flavour);
	}
	flavour = (struct flavour){
		true, true, true, true, true, true, true, true, true, true, false, false, false};
	check_random(5000, 0, 50, &flavour);
	check_random(5000, 4, 50, &flavour);
	flavour.wide = true;
	check_random(100000, 0, 8, &flavour);
	check_random(100000, 3, 8, &flavour);
}

/*
 * Returns true if a frame without a policy must be refused on a wire that drops such packets.
 * Packets of the link itself are never refused.
 */
static bool is_refused(const struct frames *frames, unsigned i)
{
	struct packet packet;

	packet_parse(frames->data[i], frames->len[i], &packet);
	return frames->policy[i] == CLASSIFY_NONE && !packet_is_of_link(&packet, frames->data[i]);
}

static void check_drops(const struct classifier *classifier, const struct world *world,
	uint32_t wires, unsigned *refused)
{
	const unsigned wire = random_next() % 3, n = 1 + random_next() % BURST;
	struct frame sent[BURST];
	struct frames frames;

	random_frames(world->rows, world->n, world->wide, sent, n);
	copy_frames(sent, n, &frames);
	frames.wide = classify_has_wide();
	classify_frames(classifier, wire, DIRECTION_A_TO_B, &frames, n);
	for (unsigned i = 0; i < n; i++) {
		const bool is = frames.refused >> i & 1,
			   want = wires >> wire & 1 && is_refused(&frames, i);

		if (is != want)
			fail_msg("wires %u, wire %u: frame %u: %d, not %d", wires, wire, i, is,
				want);
		*refused += is;
	}
	assert_true(n == 64 || frames.refused >> n == 0);
	free_frames(&frames, n);
}

/* Wires that drop packets without a policy, for all policies and forms of bursts. */
TEST(test_drops)
{
	unsigned refused = 0;

	for (unsigned round = 0; round < ROUNDS(200); round++) {
		const struct flavour flavour = random_flavour();
		const uint32_t wires = random_next() % 8;
		struct classifier *classifier = NULL;
		struct world world;

		make_world(&world, 1 + random_next() % 4, 2, &flavour);
		assert_int_equal(
			classifier_create(world.joined, world.n_joined, -1, &classifier), 0);
		classifier_set_drops(classifier, wires);
		assert_int_equal(classifier_drops(classifier), wires);
		for (unsigned i = 0; i < 20; i++)
			check_drops(classifier, &world, wires, &refused);
		classifier_destroy(classifier);
		free_world(&world);
	}
	assert_in_range(refused, 1000, UINT32_MAX);
}

/* Frames have their L2 lengths if any policy needs them. */
TEST(test_l2_lengths)
{
	struct policy policies[] = {make_policy(&(struct row){.used = true}),
		make_policy(&(struct row){.dst = "10.0.0.0/8"})};
	struct classifier *classifier = NULL;
	struct frame sent[BURST];
	struct frames frames;

	policies[0].accounting = ACCOUNTING_L3;
	for (unsigned n_policies = 1; n_policies <= COUNT(policies); n_policies++) {
		assert_int_equal(classifier_create(policies, n_policies, -1, &classifier), 0);
		for (unsigned round = 0; round < ROUNDS(200); round++) {
			random_frames(policies, n_policies, false, sent, BURST);
			copy_frames(sent, BURST, &frames);
			frames.wide = classify_has_wide();
			classify_frames(classifier, 0, DIRECTION_A_TO_B, &frames, BURST);
			for (unsigned i = 0; i < BURST; i++)
				assert_int_equal(frames.l2_len[i], sent[i].l2_len);
			free_frames(&frames, BURST);
		}
		classifier_destroy(classifier);
	}
}

TEST_GROUP(start_eal, stop_eal)
