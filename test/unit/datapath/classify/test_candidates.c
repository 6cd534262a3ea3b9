/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Compares classify_candidate() with the classifier, for packets of which some fields are given. If
 * all fields are given, the first candidate that takes all is the packet's policy. If fewer are
 * given, no packet that agrees goes to a policy that is no candidate. Neither does one go to a
 * policy after the first that takes all.
 */
#include "classify_world.h"

#include "classify/candidates.h"

#define POLICIES 24
#define ROUNDS_N ROUNDS(300)
#define PACKETS  60

static const char *const dsts[] = {NULL, "10.0.0.0/8", "10.1.0.0/16", "10.1.1.0/24", "10.1.1.1/32",
	"0.0.0.0/0", "2001:db8::/32", "2001:db8:1::/48", "::/0"};
static const char *const srcs[] = {NULL, NULL, "192.0.2.0/24", "192.0.2.128/25", "2001:db8:2::/48"};

#define ANY_OF(array) ((array)[random_next() % COUNT(array)])

static struct row random_policy(void)
{
	static const struct port_range ranges[] = {{0, 0}, {0, 0}, {80, 80}, {1, 1024}, {53, 80}};
	struct row row = {.used = true,
		.dst = ANY_OF(dsts),
		.src = ANY_OF(srcs),
		.vlan = one_in(4) ? NAMED((int)(random_next() % 2)) : 0,
		.dscp = one_in(5) ? NAMED((int)(random_next() % 2)) : 0,
		.wire = one_in(6) ? NAMED(1) : 0,
		.proto = one_in(2) ? (one_in(2) ? 6 : 17) : 0,
		.direction = one_in(5) ? DIRECTION_A_TO_B : DIRECTION_ANY};

	if (row.proto) {
		row.dport = ANY_OF(ranges);
		row.sport = ANY_OF(ranges);
	}
	return row;
}

static struct row random_packet(void)
{
	static const char *const to4[] = {
		"10.1.1.1", "10.1.1.2", "10.1.2.1", "10.9.0.1", "11.0.0.1"};
	static const char *const from4[] = {"192.0.2.1", "192.0.2.200", "198.51.100.1"};
	static const char *const to6[] = {"2001:db8::1", "2001:db8:1::1", "2001:dba::1"};
	static const char *const from6[] = {"2001:db8:2::1", "2001:db8:3::1"};
	bool v6 = one_in(3);

	return (struct row){.used = true,
		.dst = v6 ? ANY_OF(to6) : ANY_OF(to4),
		.src = v6 ? ANY_OF(from6) : ANY_OF(from4),
		.vlan = one_in(2) ? NAMED((int)(random_next() % 2)) : 0,
		.dscp = NAMED((int)(random_next() % 3)),
		.proto = one_in(2) ? 6 : 17,
		.sport = {one_in(2) ? 80 : 2000, 0},
		.dport = {one_in(2) ? 53 : 80, 0}};
}

static uint32_t policy_of_packet(const struct classifier *classifier, const struct row *row,
	unsigned wire, enum direction direction)
{
	struct frame frame;
	struct frames frames = {0};

	make_frame(row, PLAIN, &frame);
	copy_frames(&frame, 1, &frames);
	classify_frames(classifier, wire, direction, &frames, 1);
	free_frames(&frames, 1);
	return frames.policy[0];
}

/* Returns all fields of the packet, or each with a probability of one half. */
static struct match question_of(
	const struct row *row, unsigned wire, enum direction direction, bool all)
{
	struct match any = make_policy(&(struct row){.used = true}).match;
	bool v6 = strchr(row->dst, ':') != NULL;
	struct row whole = *row;
	char dst[64], src[64];
	struct match match;

	snprintf(dst, sizeof(dst), "%s/%d", row->dst, v6 ? 128 : 32);
	snprintf(src, sizeof(src), "%s/%d", row->src, v6 ? 128 : 32);
	whole.dst = dst;
	whole.src = src;
	match = make_policy(&whole).match;
	match.src_port.last = match.src_port.first;
	match.dst_port.last = match.dst_port.first;
	match.wire = (int)wire;
	match.direction = direction;
	if (row->vlan == 0)
		match.vlan = PARSE_NO_VLAN;
	if (!all && one_in(2))
		match.src = any.src;
	if (!all && one_in(2))
		match.dst = any.dst;
	if (!all && one_in(2))
		match.vlan = any.vlan;
	if (!all && one_in(2))
		match.dscp = any.dscp;
	if (!all && one_in(2))
		match.proto = 0;
	if (!all && one_in(2))
		match.dst_port = any.dst_port;
	if (!all && one_in(2))
		match.wire = CONFIG_ANY;
	return match;
}

static bool comes_before(const struct policy *policies, unsigned a, unsigned b)
{
	const struct precedence of_a = classify_precedence(&policies[a].match);
	const struct precedence of_b = classify_precedence(&policies[b].match);
	int differ = memcmp(&of_a, &of_b, sizeof(of_a));

	return differ ? differ < 0 : a < b;
}

/* Returns the first policy that takes all packets, or CLASSIFY_NONE. */
static uint32_t first_that_takes_all(const struct policy *policies, const struct match *question)
{
	uint32_t first = CLASSIFY_NONE;

	for (unsigned i = 0; i < POLICIES; i++)
		if (classify_candidate(question, &policies[i].match) == CANDIDATE_ALL &&
			(first == CLASSIFY_NONE || comes_before(policies, i, first)))
			first = i;
	return first;
}

static void try_packet(const struct classifier *classifier, const struct policy *policies)
{
	const struct row packet = random_packet();
	unsigned wire = random_next() % 2;
	enum direction direction = one_in(2) ? DIRECTION_A_TO_B : DIRECTION_B_TO_A;
	uint32_t got = policy_of_packet(classifier, &packet, wire, direction), all;
	struct match question = question_of(&packet, wire, direction, true);

	assert_int_equal(first_that_takes_all(policies, &question), got);
	for (unsigned i = 0; i < POLICIES; i++)
		assert_int_not_equal(
			classify_candidate(&question, &policies[i].match), CANDIDATE_SOME);
	question = question_of(&packet, wire, direction, false);
	all = first_that_takes_all(policies, &question);
	if (all != CLASSIFY_NONE)
		assert_true(
			got != CLASSIFY_NONE && (got == all || comes_before(policies, got, all)));
	if (got != CLASSIFY_NONE)
		assert_int_not_equal(
			classify_candidate(&question, &policies[got].match), CANDIDATE_NONE);
}

TEST(random_questions)
{
	classify_world_seed(11);
	for (unsigned round = 0; round < ROUNDS_N; round++) {
		struct policy policies[POLICIES];
		struct classifier *classifier;

		for (unsigned i = 0; i < POLICIES; i++) {
			struct row row = random_policy();

			policies[i] = make_policy(&row);
		}
		assert_int_equal(classifier_create(policies, POLICIES, -1, &classifier), 0);
		for (unsigned i = 0; i < PACKETS; i++)
			try_packet(classifier, policies);
		classifier_destroy(classifier);
	}
}

/* One address determines the family of the other. */
TEST(other_address)
{
	static const struct {
		const char *dst, *src, *named_dst, *named_src;
		enum candidate expect;
	} rows[] = {
		{"10.1.1.0/24", NULL, NULL, "2001:db8::/32", CANDIDATE_NONE},
		{NULL, "10.1.1.0/24", "2001:db8::/32", NULL, CANDIDATE_NONE},
		{"10.1.1.0/24", NULL, NULL, "192.0.2.0/24", CANDIDATE_SOME},
		{NULL, "10.1.1.0/24", "192.0.2.0/24", NULL, CANDIDATE_SOME},
		{NULL, NULL, "192.0.2.0/24", NULL, CANDIDATE_SOME},
		{NULL, NULL, "2001:db8::/32", NULL, CANDIDATE_SOME},
		{"10.1.1.0/24", "192.0.2.1/32", "10.0.0.0/8", "192.0.2.0/24", CANDIDATE_ALL},
		{"10.1.1.0/24", "192.0.2.1/32", "10.0.0.0/8", "192.0.2.2/32", CANDIDATE_NONE},
		{"10.1.1.0/24", "192.0.2.0/24", "10.0.0.0/8", "192.0.2.2/32", CANDIDATE_SOME},
		{"10.0.0.0/8", "192.0.2.2/32", "10.1.0.0/16", "192.0.2.0/24", CANDIDATE_SOME},
	};

	for (unsigned i = 0; i < COUNT(rows); i++) {
		const struct match asked = make_policy(
			&(struct row){.used = true, .dst = rows[i].dst, .src = rows[i].src})
						   .match;
		const struct match named = make_policy(
			&(struct row){
				.used = true, .dst = rows[i].named_dst, .src = rows[i].named_src})
						   .match;

		if (classify_candidate(&asked, &named) != rows[i].expect)
			fail_msg("row %u", i);
	}
}

/* The range includes its first port. A field that is not given can have any value. */
TEST(ports)
{
	static const struct {
		uint16_t asked;
		struct port_range named;
		enum candidate expect;
	} rows[] = {
		{1, {1, 1024}, CANDIDATE_ALL},
		{1, {2, 1024}, CANDIDATE_NONE},
		{1024, {1, 1024}, CANDIDATE_ALL},
		{1025, {1, 1024}, CANDIDATE_NONE},
		{65535, {65535, 65535}, CANDIDATE_ALL},
		{0, {1, 1024}, CANDIDATE_SOME},
		{0, {0, 0}, CANDIDATE_ALL},
		{1, {0, 0}, CANDIDATE_ALL},
	};

	for (unsigned i = 0; i < COUNT(rows); i++)
		for (unsigned source = 0; source <= 1; source++) {
			struct row ask = {.used = true, .proto = 17}, name = ask;
			struct match asked, named;

			*(source ? &name.sport : &name.dport) = rows[i].named;
			asked = make_policy(&ask).match;
			named = make_policy(&name).match;
			*(source ? &asked.src_port : &asked.dst_port) = (struct port_range){
				rows[i].asked, rows[i].asked};
			if (classify_candidate(&asked, &named) != rows[i].expect)
				fail_msg("row %u, %s", i, source ? "source" : "destination");
		}
}

/* Prefixes that contain the question's or lie in it; equal ones; both families. */
TEST(prefixes)
{
	static const struct {
		const char *asked, *named;
		enum candidate expect;
	} rows[] = {
		{"10.1.1.0/24", "10.1.0.0/16", CANDIDATE_ALL},
		{"10.1.1.0/24", "10.1.1.0/24", CANDIDATE_ALL},
		{"10.1.1.0/24", "10.1.1.128/25", CANDIDATE_SOME},
		{"10.1.1.0/24", "10.1.2.0/24", CANDIDATE_NONE},
		{"10.1.1.0/24", "138.1.1.0/24", CANDIDATE_NONE}, /* the first bit */
		{"10.1.1.0/24", "128.0.0.0/1", CANDIDATE_NONE},
		{"10.1.1.0/24", "0.0.0.0/1", CANDIDATE_ALL},
		{"1.0.0.0/8", "0.0.0.0/4", CANDIDATE_ALL}, /* no bit after the length */
		{"10.1.1.255/32", "10.1.1.254/31", CANDIDATE_ALL},
		{"10.1.1.255/32", "10.1.1.254/32", CANDIDATE_NONE},
		{"10.1.1.0/24", "2001:db8::/32", CANDIDATE_NONE},
		{"10.1.1.0/24", NULL, CANDIDATE_ALL},
		{"2001:db8:1::/48", "2001:db8::/32", CANDIDATE_ALL},
		{"2001:db8:1::/48", "2001:db8:1:2::/64", CANDIDATE_SOME},
		{"2001:db8:1::/48", "0.0.0.0/0", CANDIDATE_NONE},
	};

	for (unsigned i = 0; i < COUNT(rows); i++) {
		const struct match asked =
			make_policy(&(struct row){.used = true, .dst = rows[i].asked}).match;
		const struct match named =
			make_policy(&(struct row){.used = true, .dst = rows[i].named}).match;

		if (classify_candidate(&asked, &named) != rows[i].expect)
			fail_msg("%s of %s", rows[i].asked, rows[i].named ? rows[i].named : "any");
	}
}

TEST_GROUP(start_eal, stop_eal)
