/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Packets that cannot be parsed completely. The classifier must find the same policy as a walk over
 * all policies, in the order of precedence and of the strictness that classify.h defines.
 */

#include "base/prng.h"
#include "scope.h"
#include "classify_world.h"

END_POINTER(classifier_destroy, struct classifier *)

#define POLICIES 24
#define PACKETS  64
#define WORLDS   3000
#define NONE     CLASSIFY_NONE

static struct policy any_policy(void)
{
	return (struct policy){
		.match = {.wire = CONFIG_ANY, .vlan = CONFIG_ANY, .dscp = CONFIG_ANY},
		.limit_bps = 1000000};
}

/* Draws from few values of everything, so that matches overlap. */
static struct policy random_policy(struct prng *prng)
{
	static const uint8_t protos[] = {0, 0, IPPROTO_UDP, IPPROTO_TCP, IPPROTO_ICMP};
	struct policy policy = any_policy();
	struct match *match = &policy.match;

	if (prng_percent(prng, 60))
		match->dst = (struct prefix){.family = 4,
			.length = (uint8_t)(8 * prng_below(prng, 5)),
			.addr = {10, (uint8_t)prng_below(prng, 2)}};
	if (prng_percent(prng, 30))
		match->src = (struct prefix){
			.family = 4, .length = 16, .addr = {20, (uint8_t)prng_below(prng, 2)}};
	memset(match->dst.addr + match->dst.length / 8, 0, 16 - match->dst.length / 8u);
	match->proto = protos[prng_below(prng, sizeof(protos))];
	if (prng_percent(prng, 30))
		match->vlan = (int)prng_below(prng, 2);
	if (prng_percent(prng, 20))
		match->dscp = (int)prng_below(prng, 2);
	if (prng_percent(prng, 40)) {
		match->dst_port.first = (uint16_t)(1 + prng_below(prng, 3));
		match->dst_port.last = (uint16_t)(match->dst_port.first + prng_below(prng, 3));
	}
	policy.count = (enum counting)prng_below(prng, 3);
	policy.action = (enum action)prng_below(prng, 4);
	policy.limit_bps = prng_percent(prng, 10) ? 0 : 1000 << prng_below(prng, 12);
	return policy;
}

/* Within one class of actions a policy is stricter if a packet takes it more seconds. */
static double strictness_of(const struct policy *policy, bool opens)
{
	static const int classes[] = {
		[ACTION_DROP] = 2, [ACTION_SHAPE] = 2, [ACTION_MARK] = 1, [ACTION_COUNT] = 0};
	const double bits = (double)policy->limit_bps;
	double seconds = policy->count == COUNT_BYTES ? 12000 / bits : 8 / bits;

	if (policy->count == COUNT_FLOWS && !opens)
		seconds = 0;
	return classes[policy->action] * 1e9 + fmin(seconds, 1e8);
}

static bool prefix_holds(const struct prefix *prefix, const uint8_t *addr)
{
	return prefix->family == 0 || memcmp(prefix->addr, addr, prefix->length / 8) == 0;
}

struct question {
	uint8_t addresses[8];
	struct packet packet;
};

/*
 * Returns true if the policy's match agrees with all parsed fields. Sets *sure if it names no
 * unknown field.
 */
static bool could_match(const struct policy *policy, const struct question *q, bool *sure)
{
	const struct match *match = &policy->match;
	const struct packet *packet = &q->packet;
	const bool proto = packet->unknown & PACKET_UNKNOWN_PROTO;
	const bool ports = packet->unknown & PACKET_UNKNOWN_PORTS;

	*sure = !(proto && match->proto != 0) && !(ports && match->dst_port.first != 0);
	return prefix_holds(&match->src, q->addresses) &&
	       prefix_holds(&match->dst, q->addresses + 4) &&
	       (match->vlan == CONFIG_ANY || match->vlan == packet->vlan) &&
	       (match->dscp == CONFIG_ANY || match->dscp == packet->dscp) &&
	       (proto || match->proto == 0 || match->proto == packet->proto) &&
	       (ports || match->dst_port.first == 0 ||
		       (packet->dst_port >= match->dst_port.first &&
			       packet->dst_port <= match->dst_port.last));
}

/* Returns true if policy a is more specific than b. Both match one packet. */
static bool precedes(const struct policy *policies, uint32_t a, uint32_t b)
{
	const struct match *x = &policies[a].match, *y = &policies[b].match;
	const int keys[][2] = {
		{x->dst.family ? x->dst.length : -1, y->dst.family ? y->dst.length : -1},
		{x->src.family ? x->src.length : -1, y->src.family ? y->src.length : -1},
		{x->vlan != CONFIG_ANY, y->vlan != CONFIG_ANY},
		{x->dscp != CONFIG_ANY, y->dscp != CONFIG_ANY},
		{x->proto != 0, y->proto != 0},
		{x->dst_port.first ? x->dst_port.first - x->dst_port.last : -UINT16_MAX,
			y->dst_port.first ? y->dst_port.first - y->dst_port.last : -UINT16_MAX},
	};

	for (unsigned i = 0; i < COUNT(keys); i++)
		if (keys[i][0] != keys[i][1])
			return keys[i][0] > keys[i][1];
	return a < b;
}

static uint32_t naive_strictest(
	const struct policy *policies, const uint32_t *order, const struct question *q)
{
	const bool opens = q->packet.fragment != PACKET_FRAGMENT_LATER ||
			   q->packet.unknown & PACKET_UNKNOWN_FLAGS;
	uint32_t best = NONE;

	for (unsigned i = 0; i < POLICIES; i++) {
		const struct policy *policy = &policies[order[i]];
		bool sure;

		if (!could_match(policy, q, &sure))
			continue;
		if (best == NONE ||
			strictness_of(policy, opens) > strictness_of(&policies[best], opens))
			best = order[i];
		if (sure)
			break;
	}
	return best;
}

static void sort_policies(const struct policy *policies, uint32_t *order)
{
	for (uint32_t i = 0; i < POLICIES; i++) {
		uint32_t at = i;

		for (; at > 0 && precedes(policies, i, order[at - 1]); at--)
			order[at] = order[at - 1];
		order[at] = i;
	}
}

static struct question random_question(struct prng *prng)
{
	static const uint8_t protos[] = {IPPROTO_UDP, IPPROTO_TCP, IPPROTO_ICMP};
	struct question q = {.packet = {.family = PACKET_IPV4, .dst_off = 4}};
	struct packet *packet = &q.packet;

	memcpy(q.addresses, (const uint8_t[]){20, 0, 0, 0, 10, 0, 0, 0}, 8);
	q.addresses[1] = (uint8_t)prng_below(prng, 3);
	q.addresses[5] = (uint8_t)prng_below(prng, 3);
	packet->vlan = (uint16_t)prng_below(prng, 3);
	packet->dscp = (uint8_t)prng_below(prng, 3);
	packet->proto = protos[prng_below(prng, 3)];
	packet->dst_port = (uint16_t)(packet->proto == IPPROTO_ICMP ? 0 : prng_below(prng, 6));
	packet->fragment = (uint8_t)prng_below(prng, 3);
	if (prng_percent(prng, 25))
		return q;
	packet->unparsed = UNPARSED_CHAIN_CUT;
	packet->unknown = (uint8_t)prng_below(prng, 8);
	if (packet->unknown & PACKET_UNKNOWN_PROTO) {
		packet->proto = 0;
		packet->unknown |= PACKET_UNKNOWN_PORTS;
	}
	if (packet->unknown & PACKET_UNKNOWN_PORTS)
		packet->dst_port = 0;
	return q;
}

static void check_world(struct prng *prng, uint64_t seed)
{
	struct policy policies[POLICIES];
	struct question questions[PACKETS];
	struct packet packets[PACKETS];
	const uint8_t *data[PACKETS];
	uint32_t order[POLICIES], got[PACKETS], of[POLICIES];
	struct policy joined[POLICIES];
	struct match matches[POLICIES];
	ENDED_BY(classifier_destroy_at) struct classifier *classifier;
	bool joins[POLICIES];
	unsigned n_joined;

	for (unsigned i = 0; i < POLICIES; i++) {
		policies[i] = random_policy(prng);
		joins[i] = prng_percent(prng, (unsigned)(seed % 4) * 25);
	}
	n_joined = join_rows(policies, joins, POLICIES, matches, joined, of);
	sort_policies(policies, order);
	assert_int_equal(classifier_create(joined, n_joined, -1, &classifier), 0);
	for (unsigned i = 0; i < PACKETS; i++) {
		questions[i] = random_question(prng);
		packets[i] = questions[i].packet;
		data[i] = questions[i].addresses;
	}
	assert_int_equal(
		classify_burst(classifier, 0, DIRECTION_A_TO_B, packets, data, PACKETS, got), 0);
	for (unsigned i = 0; i < PACKETS; i++) {
		const uint32_t row = naive_strictest(policies, order, &questions[i]);
		const uint32_t want = row != NONE ? of[row] : NONE;

		if (got[i] != want)
			fail_msg("seed %#" PRIx64 ", packet %u: policy %d, not %d", seed, i,
				(int)got[i], (int)want);
	}
}

TEST(test_strictest)
{
	for (uint64_t seed = 1; seed <= ROUNDS(WORLDS); seed++) {
		struct prng prng;

		prng_seed(&prng, seed);
		check_world(&prng, seed);
	}
}

/* Tests the order of two policies with one port each for packets with unknown ports. */
TEST(test_order_of_strictness)
{
	static const struct {
		const char *name;
		struct policy stricter, other;
		bool later;
	} rows[] = {
#define POLICY(...) {.match = {.proto = IPPROTO_UDP}, __VA_ARGS__}
		{"less", POLICY(.limit_bps = 999), POLICY(.limit_bps = 1000), true},
		{"nothing", POLICY(.limit_bps = 0), POLICY(.limit_bps = 1), true},
		{"drops", POLICY(.limit_bps = 1000), POLICY(.limit_bps = 1, .action = ACTION_MARK),
			true},
		{"waits", POLICY(.limit_bps = 9, .action = ACTION_SHAPE), POLICY(.limit_bps = 10),
			true},
		{"marks", POLICY(.limit_bps = 1000, .action = ACTION_MARK),
			POLICY(.limit_bps = 1, .action = ACTION_COUNT), true},
		{"a minute", POLICY(.limit_bps = 600, .limit_s = 60), POLICY(.limit_bps = 11),
			true},
		{"packets", POLICY(.limit_bps = 8, .count = COUNT_PACKETS),
			POLICY(.limit_bps = 12001), true},
		{"bytes", POLICY(.limit_bps = 11999),
			POLICY(.limit_bps = 8, .count = COUNT_PACKETS), true},
		{"flows", POLICY(.limit_bps = 8, .count = COUNT_FLOWS), POLICY(.limit_bps = 12001),
			false},
		{"no flow begins", POLICY(.limit_bps = 1 << 30),
			POLICY(.limit_bps = 8, .count = COUNT_FLOWS), true},
		{"a total",
			POLICY(.total = 1000000, .period = PERIOD_FIXED,
				.period_ns = UINT64_C(1000000000000)),
			POLICY(.limit_bps = 8001), true},
		{"a month", POLICY(.total = 30 * 86400 * 10, .period = PERIOD_MONTH),
			POLICY(.limit_bps = 81), true},
		{"and next to it", POLICY(.limit_bps = 40),
			POLICY(.total = 86400 * 30, .limit_bps = 33), true},
	};

	for (unsigned swap = 0; swap < 2; swap++)
		for (unsigned i = 0; i < COUNT(rows); i++) {
			struct policy policies[2];
			const uint8_t addresses[8] = {0};
			const uint8_t *data = addresses;
			struct packet packet = {.family = PACKET_IPV4,
				.dst_off = 4,
				.proto = IPPROTO_UDP,
				.fragment = rows[i].later ? PACKET_FRAGMENT_LATER : PACKET_WHOLE,
				.unparsed = UNPARSED_FRAGMENT_UNKNOWN,
				.unknown = PACKET_UNKNOWN_PORTS};
			struct classifier *classifier;
			uint32_t policy;

			policies[swap] = rows[i].stricter;
			policies[!swap] = rows[i].other;
			for (unsigned k = 0; k < 2; k++) {
				policies[k].match.wire = CONFIG_ANY;
				policies[k].match.vlan = CONFIG_ANY;
				policies[k].match.dscp = CONFIG_ANY;
				policies[k].match.dst_port = (struct port_range){
					(uint16_t)(k + 1), (uint16_t)(k + 1)};
			}
			assert_int_equal(classifier_create(policies, 2, -1, &classifier), 0);
			classify_burst(classifier, 0, DIRECTION_A_TO_B, &packet, &data, 1, &policy);
			if (policy != swap)
				fail_msg("%s: policy %d, not %u", rows[i].name, (int)policy, swap);
			classifier_destroy(classifier);
		}
}

/*
 * A parent makes its child stricter. It takes no packets itself unless it has a match, so
 * packets to other ports have no policy.
 */
TEST(test_levels)
{
	struct policy policies[3] = {any_policy(), any_policy(), any_policy()};
	const uint8_t addresses[8] = {0};
	const uint8_t *const data[2] = {addresses, addresses};
	const struct packet packets[2] = {
		{.family = PACKET_IPV4,
			.dst_off = 4,
			.proto = IPPROTO_UDP,
			.unparsed = UNPARSED_FRAGMENT_UNKNOWN,
			.unknown = PACKET_UNKNOWN_PORTS},
		{.family = PACKET_IPV4, .dst_off = 4, .proto = IPPROTO_UDP, .dst_port = 3},
	};
	struct classifier *classifier;
	uint32_t got[2];

	policies[0].limit_bps = 8000;
	policies[0].children = 1;
	policies[1].parent = 0;
	policies[1].match.dst_port = (struct port_range){1, 1};
	policies[2].limit_bps = 500000;
	policies[2].match.dst_port = (struct port_range){2, 2};
	for (unsigned below = 0; below < 2; below++)
		for (unsigned unmatched = 0; unmatched < 2; unmatched++) {
			policies[0].unmatched = unmatched;
			policies[1].above = (uint8_t)below;
			assert_int_equal(classifier_create(policies, 3, -1, &classifier), 0);
			classify_burst(classifier, 0, DIRECTION_A_TO_B, packets, data, 2, got);
			assert_int_equal(got[0], below ? 1 : unmatched ? 2 : 0);
			assert_int_equal(got[1], unmatched ? NONE : 0);
			classifier_destroy(classifier);
		}
}

/* Packets with an unknown address or contradictory headers are refused. */
TEST(test_refused)
{
	struct policy policies[1] = {any_policy()};
	const uint8_t addresses[8] = {0};
	const uint8_t *const data[2] = {addresses, addresses};
	const struct packet packets[2] = {
		{.vlan = 7,
			.unparsed = UNPARSED_TOO_DEEP,
			.unknown = PACKET_UNKNOWN_TRANSPORT | PACKET_UNKNOWN_ADDRESS},
		{.vlan = 7,
			.family = PACKET_IPV4,
			.dst_off = 4,
			.unparsed = UNPARSED_FRAGMENT_CONFLICT},
	};
	struct classifier *classifier;
	uint32_t got[2];

	for (unsigned vlan = 7; vlan < 9; vlan++) {
		policies[0].match.vlan = (int)vlan;
		assert_int_equal(classifier_create(policies, 1, -1, &classifier), 0);
		assert_int_equal(
			classify_burst(classifier, 0, DIRECTION_A_TO_B, packets, data, 2, got),
			vlan == 7 ? 2 : 3);
		assert_int_equal(got[0], vlan == 7 ? 0 : NONE);
		assert_int_equal(got[1], NONE);
		classifier_set_unparsed(classifier, UNPARSED_DROP);
		assert_int_equal(
			classify_burst(classifier, 0, DIRECTION_A_TO_B, packets, data, 2, got), 3);
		classifier_set_unparsed(classifier, UNPARSED_PASS);
		assert_int_equal(
			classify_burst(classifier, 0, DIRECTION_A_TO_B, packets, data, 2, got), 0);
		assert_int_equal(got[1], vlan == 7 ? 0 : NONE);
		classifier_destroy(classifier);
	}
}

TEST_GROUP(start_eal, stop_eal)
