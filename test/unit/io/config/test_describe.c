/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * What is said in words of a configuration that was accepted.
 */
#include "config_cases.h"

#include "config/describe.h"
#include "config/load.h"
#include "policy/value.h"

static const char *const described[] = {
	"limiter me\n  1 worker on CPU 1, always polling\n",
	"  control on CPU 0, socket /run/weir/me.sock\n",
	"    read by group of that user, changed by root and its own user\n",
	"port lan: net_null0, MTU 1500\n",
	"wire w: a is lan, b is wan\n",
	"group: N = 2 limiters\n  me at 10.0.0.1:1 (this limiter)\n  you at 10.0.0.2:1\n",
	"gossip: sealed with the key in k\n  listens on 10.0.0.1:1\n",
	"  tells 1 peer an interval, in datagrams of at most 1200 bytes\n",
	"counts as lost and takes 1/2 of each limit with it\n",
	"tunnels: packets inside GRE, VXLAN (UDP port 4789) and IP in IP are classified\n",
	"policy p\n  takes wire w, from 10.0.0.0/8, DSCP 0\n",
	"policy q\n  takes udp, from port 53, to port 1024-65535\n",
	"policy r\n  takes protocol 89\n",
	"  limit 10Mbit/s of L3 bytes (without Ethernet and VLAN headers), over all 2 limiters\n",
	"  burst 312.5kB",
	"  allocator fps every 50ms",
	"  at a full partition, and at the start: 5Mbit/s here (limit/2)\n",
};

static char *describe_to_text(const struct config *config)
{
	char *text;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	assert_non_null(out);
	config_describe(config, out);
	fclose(out);
	return text;
}

static void test_describe(void **state)
{
	struct config *config = must_parse(
		"{'limiter': 'me', " PORTS WIRES ", 'gossip': {'key_file': 'k', 'roster': [" GROUP2
		"]}, 'tunnels': {'classify': 'inner'}, 'policies': "
		"[{'name': 'p', 'limit': '10Mbit/s', 'match': {'wire': 'w', 'src': "
		"'10.0.0.0/8', 'dscp': 0}}, {'name': 'q', 'limit': '10Mbit/s', 'match': {'proto': "
		"'udp', 'src-port': 53, 'dst-port': '1024-65535'}}, {'name': 'r', 'limit': "
		"'10Mbit/s', 'match': {'proto': 89}}]}");
	char *text = describe_to_text(config);

	(void)state;
	for (size_t i = 0; i < sizeof(described) / sizeof(described[0]); i++) {
		if (strstr(text, described[i]) == NULL)
			fail_msg("not in\n%s\n: %s", text, described[i]);
	}
	free(text);
	config->gossip.n_key_files = 0;
	text = describe_to_text(config);
	assert_non_null(strstr(text, "gossip: NOT SEALED (insecure)"));
	free(text);
	config_free(config);
}

/* Every word that depends on a policy's keys. */
static void test_describe_keys(void **state)
{
	static const struct {
		const char *members, *line;
	} cases[] = {
		{"'limit': '500/s', 'count': 'packets'", "  limit 500/s of packets\n"},
		{"'limit': '500/s', 'count': 'packets'",
			"  burst 50, what is above is dropped (token bucket)\n"},
		{"'limit': '900/h', 'count': 'flows'",
			"  limit 900/h of new flows (TCP SYN, first packet of a UDP flow)\n"},
		{"'limit': '100/min', 'count': 'packets'", "  limit 100/min of packets\n"},
		{"'limit': '100/min', 'count': 'packets', 'meter': 'fixed-window'",
			"  100 in each 1min, what is above is dropped (fixed window)\n"},
		{"'limit': '1/d', 'count': 'packets'",
			"  burst 10, what is above is dropped (token bucket)\n"},
		{"'limit': '8Mbit/s', 'meter': 'gcra'",
			"  burst 250kB, what is above is dropped (GCRA)\n"},
		{"'limit': '8Mbit/s', 'meter': 'fixed-window', 'window': '1min'",
			"  60MB in each 1min, what is above is dropped (fixed window)\n"},
		{"'limit': '600/min', 'count': 'packets', 'meter': 'hybrid', 'window': '1h'",
			"  36k in each 1h, what is above is dropped (hybrid of quota and even "
			"rate)\n"},
		{"'limit': '8Mbit/s', 'meter': 'random-drop'",
			"  what is above, chosen at random, is dropped (random drop)\n"},
		{"'limit': '8Mbit/s', 'action': 'count'",
			"  burst 250kB, what is above is counted, and passes (token bucket)\n"},
		{"'limit': '8Mbit/s', 'action': 'mark'",
			"  burst 250kB, what is above is marked (ECN: congestion experienced), or "
			"dropped if it cannot be (token bucket)\n"},
		{"'limit': '8Mbit/s', 'action': 'mark', 'mark': 8",
			"  burst 250kB, what is above is marked (DSCP 8), or dropped if it cannot "
			"be (token bucket)\n"},
		{"'limit': '8Mbit/s', 'per': 'src/24'",
			"  each source for itself: IPv4 by /24, IPv6 by /64; 65536 of them a "
			"worker\n"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct config *config;
		char document[512], *text;

		snprintf(document, sizeof(document), POLICY(", %s"), cases[i].members);
		config = must_parse(document);
		text = describe_to_text(config);
		if (strstr(text, cases[i].line) == NULL)
			fail_msg("not in\n%s\n: %s", text, cases[i].line);
		free(text);
		config_free(config);
	}
}

/* What is promised, alone and in a group. */
static void test_describe_guarantee(void **state)
{
	static const struct {
		bool group;
		const char *members, *lines;
	} cases[] = {
		{true, "'limit': '8Mbit/s'",
			"  more than that may pass while news travels (soft)\n"},
		{true, "'limit': '8Mbit/s', 'guarantee': 'conserved'",
			"  never above 8Mbit/s over all 2 limiters, but for the burst (conserved)\n"},
		{true, "'limit': '8Mbit/s', 'guarantee': 'conserved'",
			"  at the very start: 4Mbit/s here (limit/2); at a partition: what it "
			"holds then\n"},
		{false, "'limit': '500/s', 'count': 'flows', 'guarantee': 'conserved'",
			"  never above 500/s, but for the burst (conserved)\n"},
		{true, "'limit': '8Mbit/s', 'allocator': 'gdrl', 'indicator': 'loss'",
			"  never above 8Mbit/s over all 2 limiters, but for the burst (conserved)\n"
			"  moves until \"loss\" is the same at all limiters\n"},
		{true,
			"'total': '500GB', 'allocator': 'quota', 'period': 'month', 'limit': "
			"'1Mbit/s'",
			"  never more than 500GB of L3 bytes (without Ethernet and VLAN headers), "
			"a month (UTC), over all 2 limiters\n"
			"  then 1Mbit/s (500kbit/s here, limit/2), burst 31.25kB, what is above is "
			"dropped\n"
			"  begins with total/2 here; a crash costs up to twice 64MiB, and "
			"what 0.1s takes\n"},
		{false,
			"'total': '5M', 'allocator': 'quota', 'count': 'packets', 'period': '24h', "
			"'action': 'mark', 'mark': 8",
			"  never more than 5M of packets, each 24h (UTC)\n"
			"  what comes then is marked (DSCP 8), or dropped if it cannot be\n"
			"  begins with all of it here; a crash costs up to twice 4.096k, and "
			"what 0.1s takes\n"},
		{false, "'total': '5GB', 'allocator': 'quota', 'limit': '1Mbit/s'",
			", once (prepaid)\n  then 1Mbit/s, burst 31.25kB, what is above is dropped\n"},
		{true, "'limit': '8Mbit/s', 'guarantee': 'conserved'",
			"ledger: store /var/lib/weir/me\n"
			"  lease 5s, 50% promised to the best friend, clocks within 1000 ppm\n"
			"  neighbours: by the size of the group\n"},
		{false, "'limit': '8Mbit/s', 'guarantee': 'conserved'",
			"ledger: store /var/lib/weir/me\npolicy p\n"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct config *config;
		char document[1024], *text;

		snprintf(document, sizeof(document), "%s%s'policies': [{'name': 'p', %s}]}",
			"{'limiter': 'me', " PORTS WIRES ", ",
			cases[i].group ? "'gossip': {'key_file': 'k', 'roster': [" GROUP2 "]}, "
				       : "",
			cases[i].members);
		config = must_parse(document);
		text = describe_to_text(config);
		if (strstr(text, cases[i].lines) == NULL)
			fail_msg("not in\n%s\n: %s", text, cases[i].lines);
		free(text);
		config_free(config);
	}
}

static void test_describe_ledger(void **state)
{
	static const struct {
		const char *members, *line;
	} cases[] = {
		{"'overlay': 'ring'", "  neighbours: a ring\n"},
		{"'overlay': {'degree': 4}", "  neighbours: a random graph of degree 4\n"},
		{"'overlay': {'edges': [['me', 'you']]}", "  neighbours: 1 given edge\n"},
		{"'tree': {'degree': 3}", "  in the tree of quotas at most 3 each\n"},
		{"'etcd': {'endpoints': ['https://x', 'https://y']}",
			"  totals in etcd below /weir: https://x https://y\n"},
		{"'etcd': {'endpoints': ['https://x']}",
			"  begins with nothing here, and draws from etcd; a crash costs up to "
			"twice 2MiB, and what 0.1s takes\n"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct config *config;
		char document[1024], *text;

		snprintf(document, sizeof(document),
			"{'limiter': 'me', " PORTS WIRES ", 'ledger': {%s}, 'gossip': {'key_file': "
			"'k', 'roster': [" GROUP2 "]}, 'policies': [{'name': 'p', 'allocator': "
			"'quota', 'total': '5GB'}]}",
			cases[i].members);
		config = must_parse(document);
		text = describe_to_text(config);
		if (strstr(text, cases[i].line) == NULL)
			fail_msg("not in\n%s\n: %s", text, cases[i].line);
		free(text);
		config_free(config);
	}
}

/* A limit that news may overshoot says nothing of a ledger. */
static void test_describe_soft(void **state)
{
	struct config *config = must_parse(LIMITED(""));
	char *text = describe_to_text(config);

	(void)state;
	assert_null(strstr(text, "ledger"));
	assert_null(strstr(text, "soft"));
	free(text);
	config_free(config);
}

static void test_describe_group(void **state)
{
	static const struct {
		const char *gossip, *line;
	} cases[] = {
		{"'estimator': 'state'",
			"  demand of the group: everybody keeps everybody's newest record\n"},
		{"'estimator': 'tree'",
			"  demand of the group: summed along a tree over the roster\n"},
		{"'estimator': 'push-sum'", "  demand of the group: summed by push-sum\n"},
		{"'estimator': 'push-sum', 'compensate': true",
			"  demand of the group: summed by push-sum, scaled for what is lost\n"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct config *config;
		char document[512], *text;

		snprintf(document, sizeof(document),
			"{'limiter': 'me', " PORTS WIRES ", 'gossip': {%s, 'key_file': 'k', "
			"'roster': [" GROUP2 "]}, 'policies': [{'name': 'p', 'count': 'packets', "
			"'limit': '1/s', 'weigh': 'tcp'}]}",
			cases[i].gossip);
		config = must_parse(document);
		text = describe_to_text(config);
		if (strstr(text, cases[i].line) == NULL)
			fail_msg("not in\n%s\n: %s", text, cases[i].line);
		assert_non_null(
			strstr(text, "  flows other than TCP are no evidence of a fair share\n"));
		assert_non_null(strstr(text, ": 0.5/s here (limit/2)\n"));
		free(text);
		config_free(config);
	}
}

static void test_describe_alone(void **state)
{
	struct config *config = must_parse(DOC(""));
	char *text = describe_to_text(config);

	(void)state;
	assert_non_null(strstr(text, "group: N = 1, no gossip"));
	assert_non_null(strstr(text, "  takes every packet that no other policy takes\n"));
	assert_null(strstr(text, "partition"));
	free(text);
	config_free(config);
}

static void test_names(void **state)
{
	struct prefix any = {0};
	char text[64];

	(void)state;
	assert_string_equal(prefix_format(&any, text, sizeof(text)), "any");
	assert_string_equal(direction_name(DIRECTION_ANY), "any");
	assert_string_equal(direction_name(DIRECTION_A_TO_B), "a-to-b");
	assert_string_equal(direction_name(DIRECTION_B_TO_A), "b-to-a");
	assert_string_equal(accounting_name(ACCOUNTING_L2), "l2");
	assert_string_equal(accounting_name(ACCOUNTING_L3), "l3");
	assert_string_equal(accounting_name(ACCOUNTING_WIRE), "wire");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_describe),
		cmocka_unit_test(test_describe_keys),
		cmocka_unit_test(test_describe_guarantee),
		cmocka_unit_test(test_describe_ledger),
		cmocka_unit_test(test_describe_soft),
		cmocka_unit_test(test_describe_group),
		cmocka_unit_test(test_describe_alone),
		cmocka_unit_test(test_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
