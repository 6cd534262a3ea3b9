/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Random policies against a reference that knows nothing but the documented order, on frames of
 * every form.
 */
#include "classify_world.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

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
		expect[i] = reference_policy(policies, n_policies, &frames[i], wire, direction);
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
	classify_world_seed(seed);
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_random),
		cmocka_unit_test(test_l2_lengths),
	};

	return cmocka_run_group_tests(tests, start_eal, stop_eal);
}
