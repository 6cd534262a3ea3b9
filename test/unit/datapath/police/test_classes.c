/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * A policy whose classes share it: from "classes" in a configuration to verdicts.
 */
#include "check.h"
#include "scope.h"

#include "config_cases.h"

#include "config/describe.h"
#include "config/load.h"
#include "lane.h"
#include "config/compare.h"

END_POINTER(config_free, struct config *)

#define FRAME 1014    /* bytes, 1000 of L3 */
#define LIMIT 1000000 /* byte/s */

#define PHANTOM(members) LIMITED(", 'meter': 'phantom'" members)
#define CLASSES(members) PHANTOM(", 'classes': {" members "}")

TEST(test_keys)
{
	static const struct config_case cases[] = {
		{PHANTOM(""), ""},
		{PHANTOM(", 'burst': '75kB', 'action': 'count'"), ""},
		{PHANTOM(", 'guarantee': 'hard'"), ""},
		{CLASSES("'by': 'flow'"), ""},
		{CLASSES("'by': 'flow', 'n': 16"), ""},
		{CLASSES("'by': 'flow', 'n': 8"), "p0.classes.n: classes_number"},
		{CLASSES("'by': 'flow', 'n': 1024"), ""},
		{CLASSES("'by': 'flow', 'n': 2048"), "p0.classes.n: classes_number"},
		{CLASSES("'by': 'flow', 'n': 63"), "p0.classes.n: classes_number"},
		{CLASSES("'by': 'dscp'"), ""},
		{CLASSES("'by': 'dscp', 'weights': {}"), ""},
		{CLASSES("'by': 'dscp', 'weights': {'46': 4, '0': 1, '63': 100}"), ""},
		{CLASSES("'by': 'dscp', 'weights': {'46': 101}"),
			"p0.classes.weights.46: weight_range"},
		{CLASSES("'by': 'dscp', 'weights': {'46': 0}"),
			"p0.classes.weights.46: weight_range"},
		{CLASSES("'by': 'dscp', 'weights': {'64': 1}"),
			"p0.classes.weights.64: not_dscp_key"},
		{CLASSES("'by': 'dscp', 'weights': {'08': 1}"),
			"p0.classes.weights.08: not_dscp_key"},
		{CLASSES("'by': 'dscp', 'weights': 4"), "p0.classes.weights: weights_type"},
		{CLASSES("'by': 'dscp', 'n': 64"), "p0.classes.n: key_required: 'by': 'flow'"},
		{CLASSES("'by': 'flow', 'weights': {'0': 1}"),
			"p0.classes.weights: key_required: 'by': 'dscp'"},
		{CLASSES("'by': 'port'"), "p0.classes.by: wrong_choice"},
		{CLASSES(""), "p0.classes.by: wrong_choice"},
		{PHANTOM(", 'classes': 64"), "p0.classes: not_object"},
		{LIMITED(", 'classes': {'by': 'flow'}"),
			"p0.classes: key_required: 'meter': 'phantom'"},
		{PHANTOM(", 'per': 'src'"), "p0.meter: meter_excludes_per"},
		{POLICY(", 'meter': 'phantom', 'count': 'packets', 'limit': '5/s'"), ""},
		{POLICY(", 'meter': 'phantom', 'count': 'flows', 'limit': '5/s'"),
			"p0.meter: meter_excludes_flows"},
		{PHANTOM(", 'burst': '1517B'"), "warning: p0.burst: burst_below_frame: 1518"},
		{0},
	};

	run_cases(cases);
}

TEST(test_defaults)
{
	ENDED_BY(config_free_at)
	struct config *config = must_parse(
		POLICIES("{'name': 'a', 'limit': '1Mbit/s', 'meter': 'phantom', 'match': {'vlan': "
			 "1}}, {'name': 'b', 'limit': '1Mbit/s', 'meter': 'phantom', 'classes': "
			 "{'by': 'dscp', 'weights': {'46': 4}}}"));
	const struct classes_config *a = &config->policies[0].classes;
	const struct classes_config *b = &config->policies[1].classes;

	assert_int_equal(a->by, CLASSES_BY_FLOW);
	assert_int_equal(a->n, 64);
	assert_int_equal(b->by, CLASSES_BY_DSCP);
	assert_int_equal(b->n, 64);
	assert_int_equal(b->weights[46], 4);
	assert_int_equal(b->weights[0], 1);
}

/* A change of the classes restarts the policy. */
TEST(test_diff)
{
	static const struct {
		const char *from, *to;
		uint8_t change;
	} cases[] = {
		{CLASSES("'by': 'flow', 'n': 64"), PHANTOM(""), 0},
		{CLASSES("'by': 'flow', 'n': 64"), CLASSES("'by': 'flow', 'n': 128"),
			POLICY_RESTARTS},
		{CLASSES("'by': 'flow'"), CLASSES("'by': 'dscp'"), POLICY_RESTARTS},
		{CLASSES("'by': 'dscp', 'weights': {'1': 2}"), CLASSES("'by': 'dscp'"),
			POLICY_RESTARTS},
		{CLASSES("'by': 'dscp', 'weights': {'1': 1}"), CLASSES("'by': 'dscp'"), 0},
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		struct config *from = must_parse(cases[i].from), *to = must_parse(cases[i].to);
		struct config_diff *diff;

		assert_int_equal(config_diff(from, to, "w.json", stderr, &diff), 0);
		assert_int_equal(diff->changes[0], cases[i].change);
		config_diff_free(diff);
		config_free(from);
		config_free(to);
	}
}

TEST(test_words)
{
	static const struct {
		const char *document, *words;
	} cases[] = {
		{PHANTOM(""), "(phantom queues)\n  shared fairly by flows, 64 at a time\n"},
		{CLASSES("'by': 'dscp', 'weights': {'46': 4, '0': 1, '8': 2}"),
			"(phantom queues)\n  shared fairly by DSCPs, of weight 1, 8 of weight 2, 46 "
			"of weight 4\n"},
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		struct config *config = must_parse(cases[i].document);
		char *text = NULL;
		size_t size;
		FILE *out = open_memstream(&text, &size);

		config_describe(config, out);
		fclose(out);
		if (!strstr(text, cases[i].words))
			fail_msg("%s\nhas no\n%s", text, cases[i].words);
		free(text);
		config_free(config);
	}
}

static struct limiter_view view_of(double limit, uint64_t burst)
{
	return (struct limiter_view){.local_limit = limit, .local_burst = burst};
}

static void lane_start(struct lane *lane, const char *document)
{
	ENDED_BY(config_free_at) struct config *config = must_parse(document);
	struct limiter_view view = view_of(LIMIT, 50000);

	lane_make(lane, &config->policies[0], &view,
		&(struct policy_start){.hz = GHZ, .secret = 99, .seed = 1});
}

static enum verdict send_one(struct lane *lane, uint32_t flow, uint8_t dscp, uint64_t now)
{
	const struct packet packet = {
		.family = PACKET_IPV4, .l2_len = 14, .dscp = dscp, .flow_hash = flow};
	uint32_t cost = police_cost(&lane->state, &packet, NULL, FRAME, now);

	return police_charge(&lane->state, &packet, NULL, cost, now);
}

/* Runs two classes for a second. One sends ten times the limit, the other exactly the limit. */
static void compete_one_second(struct lane *lane, uint64_t now, unsigned passed[2])
{
	passed[0] = passed[1] = 0;
	for (unsigned i = 0; i < 11000; i++, now += GHZ / 11000) {
		unsigned who = i % 11 == 10;
		uint8_t dscp = who ? 46 : 0;

		passed[who] += send_one(lane, 1000 + who, dscp, now) == VERDICT_PASS;
	}
}

TEST(test_verdicts)
{
	static const struct {
		const char *document;
		unsigned first, second; /* shares, in thousandths */
	} cases[] = {
		{PHANTOM(""), 500, 500},
		{CLASSES("'by': 'dscp'"), 500, 500},
		{CLASSES("'by': 'dscp', 'weights': {'46': 3}"), 250, 750},
		{CLASSES("'by': 'dscp', 'weights': {'0': 4}"), 800, 200},
		{PHANTOM(", 'action': 'count'"), 500, 500},
		{PHANTOM(", 'guarantee': 'hard'"), 500, 500},
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		struct limiter_view half = view_of(LIMIT / 2.0, 20000);
		unsigned passed[2];
		struct lane lane;

		lane_start(&lane, cases[i].document);
		compete_one_second(&lane, 0, passed); /* includes their bursts */
		compete_one_second(&lane, GHZ, passed);
		assert_in_range(passed[0], cases[i].first - 20, cases[i].first + 20);
		assert_in_range(passed[1], cases[i].second - 20, cases[i].second + 20);
		/* Half the limit: each class gets half as much. */
		lane_limit(&lane, &half, 2 * GHZ);
		compete_one_second(&lane, 2 * GHZ, passed);
		compete_one_second(&lane, 3 * GHZ, passed);
		assert_in_range(passed[0], cases[i].first / 2 - 20, cases[i].first / 2 + 20);
		assert_in_range(passed[1], cases[i].second / 2 - 20, cases[i].second / 2 + 20);
		assert_int_equal(lane.state.packets, 44000);
		assert_int_equal(police_dropped_bytes(&lane.state),
			UINT64_C(1000) * lane.state.dropped_packets);
		lane_stop(&lane);
	}
}

/* Flows with a queue count while they send, and no longer after a second without packets. */
TEST(test_backlogged)
{
	static const char *const documents[] = {PHANTOM(""), PHANTOM(", 'action': 'count'")};

	for (size_t i = 0; i < COUNT(documents); i++) {
		unsigned passed[2];
		struct lane lane;

		lane_start(&lane, documents[i]);
		for (unsigned k = 0; k < 6; k++) { /* 6000 of 50000 bytes: no flow counts */
			assert_int_equal(send_one(&lane, k, 0, 0), VERDICT_PASS);
			assert_int_equal(police_backlogged(&lane.state), 0);
		}
		assert_int_equal(send_one(&lane, 7, 0, 0), VERDICT_PASS);
		assert_int_equal(police_backlogged(&lane.state), 1);
		compete_one_second(&lane, GHZ, passed);
		assert_int_equal(police_backlogged(&lane.state), 2);
		/* The two flows have ended; the next one is alone. */
		for (unsigned k = 0; k < 7; k++)
			assert_int_equal(send_one(&lane, 8, 0, 4 * GHZ), VERDICT_PASS);
		assert_int_equal(police_backlogged(&lane.state), 1);
		lane_stop(&lane);
	}
}

/* After spending no class passes immediately. Later each passes the share it earned. */
TEST(test_spent)
{
	ENDED_BY(lane_stop) struct lane lane;

	lane_start(&lane, PHANTOM(""));
	policy_state_spend(&lane.state, GHZ);
	assert_int_equal(send_one(&lane, 1, 0, GHZ), VERDICT_DROP);
	assert_int_equal(send_one(&lane, 2, 0, GHZ + 999000), VERDICT_DROP);
	assert_int_equal(send_one(&lane, 2, 0, GHZ + 1000001), VERDICT_PASS);
	assert_int_equal(send_one(&lane, 1, 0, GHZ + 1000001), VERDICT_DROP);
}

/* Flows in one burst: each passes a little, and all are counted. */
TEST(test_flows_at_once)
{
	static const uint32_t bytes[] = {1000, 400, 400, 300}, hashes[] = {1, 2, 3, 4};
	ENDED_BY(lane_stop) struct lane lane;

	lane_start(&lane, PHANTOM(""));
	assert_int_equal(police_charge_flows(&lane.state, bytes, hashes, 4, GHZ), 0xf);
	assert_int_equal(lane.state.dropped_packets, 0);
	policy_state_spend(&lane.state, GHZ);
	assert_int_equal(police_charge_flows(&lane.state, bytes, hashes, 4, GHZ), 0);
	assert_int_equal(police_charge_flows(&lane.state, bytes, hashes, 4, GHZ + 750000), 10);
	assert_int_equal(lane.state.packets, 12);
	assert_int_equal(lane.state.bytes, 6300);
	assert_int_equal(lane.state.dropped_packets, 6);
	assert_int_equal(police_dropped_bytes(&lane.state), 3500);
}
