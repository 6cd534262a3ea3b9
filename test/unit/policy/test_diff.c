/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Two configurations of one limiter: the changes that are possible while packets flow, key by key.
 */
#include "check.h"
#include "scope.h"

#include "config_cases.h"

#include "config/compare.h"
#include "config/keys.h"
#include "config/load.h"
#include "policy/matches.h"

END_POINTER(config_diff_free, struct config_diff *)

#define KEYS                                                                                    \
	"'workers': [1], 'idle': 'poll', 'control': {'cpu': 0, 'socket': '/run/w'}, 'gossip': " \
	"{'roster': [" GROUP2 "], 'key_file': '/k'}, "
#define THREE                           \
	"'gossip': {'roster': [" GROUP2 \
	", {'name': 'they', 'address': '10.0.0.3:3'}], 'key_file': '/k'}, "
#define LIMITER(members, policies) \
	"{'limiter': 'me', " PORTS WIRES ", " members "'policies': [" policies "]}"

static void accept_itself(const struct config *config)
{
	ENDED_BY(config_diff_free_at) struct config_diff *diff;

	assert_int_equal(config_diff(config, config, "w.json", stderr, &diff), 0);
}

/*
 * Refuses the change in both directions, with this place in the message. A configuration has no
 * difference from itself.
 */
static void refuse_change(const char *a, const char *b, const char *place)
{
	struct config *configs[2] = {must_read(a), must_read(b)};
	char expected[256];

	snprintf(expected, sizeof(expected),
		"w.json: %s: cannot change while the limiter runs: restart it\n", place);
	for (int i = 0; i < 2; i++) {
		struct config_diff *diff;
		char *messages = NULL;
		size_t size;
		FILE *err = open_memstream(&messages, &size);
		int rc = config_diff(configs[i], configs[!i], "w.json", err, &diff);

		fclose(err);
		assert_int_equal(rc, -EINVAL);
		assert_null(diff);
		assert_string_equal(messages, expected);
		free(messages);
		accept_itself(configs[i]);
	}
	config_free(configs[0]);
	config_free(configs[1]);
}

/*
 * The message for a file that differs from a running limiter has a line number like any other
 * error.
 */
TEST(test_lines)
{
	static const char before[] = "{'limiter': 'me', 'ports': {'a.b': {'device': 'net_null0'}}, "
				     "'gossip': {'roster': [" GROUP2 "], 'insecure': true}}";
	static const struct {
		const char *after, *said;
	} cases[] = {
		{"{'limiter': 'me', 'ports': {\n'a.b': {'device': 'net_null1'}}, 'gossip': "
		 "{'roster': [" GROUP2 "], 'insecure': true}}",
			":2: ports[\"a.b\"].device: "},
		{"{'limiter': 'me',\n'idle': 'sleep', 'ports': {'a.b': {'device': 'net_null0'}}, "
		 "'gossip': {'roster': [" GROUP2 "], 'insecure': true}}",
			":2: idle: "},
	};
	char path[] = "/tmp/test_diff_XXXXXX", expected[256];
	struct config *running = must_read(before), *config;
	int fd = mkstemp(path);

	assert_true(fd >= 0);
	for (size_t i = 0; i < COUNT(cases); i++) {
		char *text = with_quotes(cases[i].after), *messages = NULL;
		size_t size;
		FILE *err = open_memstream(&messages, &size);

		assert_int_equal(ftruncate(fd, 0), 0);
		assert_int_equal(pwrite(fd, text, strlen(text), 0), strlen(text));
		assert_int_equal(config_load_for_running(path, running, err, &config), -EINVAL);
		assert_null(config);
		fclose(err);
		snprintf(expected, sizeof(expected),
			"%s%scannot change while the limiter runs: restart it\n", path,
			cases[i].said);
		assert_string_equal(messages, expected);
		free(messages);
		free(text);
	}
	config_free(running);
	close(fd);
	unlink(path);
}

#define KNOWN_GROUP2                                                          \
	"{'name': 'me', 'address': '10.0.0.1:1', 'public_key': '" ONES "'}, " \
	"{'name': 'you', 'address': '10.0.0.2:1', 'public_key': '" ONES "'}"
#define ONES "1111111111111111111111111111111111111111111111111111111111111111"

/* Key files and public keys can change in a reload. */
TEST(test_keys_may_change)
{
	static const char *const documents[] = {
		LIMITER("'gossip': {'roster': [" GROUP2 "], 'key_file': '/k'}, ", ""),
		LIMITER("'gossip': {'roster': [" GROUP2 "], 'key_file': '/l'}, ", ""),
		LIMITER("'gossip': {'roster': [" GROUP2 "], 'key_files': ['/k', '/l']}, ", ""),
		LIMITER("'gossip': {'roster': [" KNOWN_GROUP2 "], 'key_file': '/k', "
			"'identity_file': '/i'}, ",
			""),
		LIMITER("'gossip': {'roster': [" KNOWN_GROUP2 "], 'key_file': '/k', "
			"'identity_file': '/j', 'identities': 'optional'}, ",
			""),
	};
	const unsigned n = COUNT(documents);

	for (unsigned i = 0; i < n * n; i++) {
		struct config *old = must_read(documents[i / n]);
		struct config *config = must_read(documents[i % n]);
		struct config_diff *diff;

		assert_int_equal(config_diff(old, config, "w.json", stderr, &diff), 0);
		assert_int_equal(diff->added + diff->removed + diff->changed, 0);
		config_diff_free(diff);
		config_free(old);
		config_free(config);
	}
}

TEST(test_fixed)
{
	static const struct {
		const char *document, *place;
	} cases[] = {
		{LIMITER("'workers': [2], 'idle': 'poll', 'control': {'cpu': 0, 'socket': "
			 "'/run/w'}, 'gossip': {'roster': [" GROUP2 "], 'key_file': '/k'}, ",
			 ""),
			"workers"},
		{LIMITER("'workers': [1], 'idle': 'sleep', 'control': {'cpu': 0, 'socket': "
			 "'/run/w'}, 'gossip': {'roster': [" GROUP2 "], 'key_file': '/k'}, ",
			 ""),
			"idle"},
		{LIMITER("'control': {'cpu': 2, 'socket': '/run/w'}, 'gossip': {'roster': [" GROUP2
			 "], 'key_file': '/k'}, ",
			 ""),
			"control.cpu"},
		{LIMITER("'control': {'cpu': 0, 'socket': '/run/w', 'watchdog': '3s'}, 'gossip': "
			 "{'roster': [" GROUP2 "], 'key_file': '/k'}, ",
			 ""),
			"control.watchdog"},
		{LIMITER("'shape': {'pool': '30%'}, " KEYS, ""), "shape.pool"},
		{LIMITER("'unparsed': 'drop', " KEYS, ""), "unparsed"},
		{"{'limiter': 'me', 'ports': {'lan': {'device': 'net_null0'}, 'wan': {'device': "
		 "'net_null1'}, 'far': {'device': 'net_null2'}}, " WIRES ", " KEYS
		 "'policies': []}",
			"ports"},
		{"{'limiter': 'me', 'ports': {'lan': {'device': 'net_null0'}, 'wan': {'device': "
		 "'net_null2'}}, " WIRES ", " KEYS "'policies': []}",
			"ports.wan.device"},
		{LIMITER("'control': {'socket': '/run/v'}, 'gossip': {'roster': [" GROUP2
			 "], 'key_file': '/k'}, ",
			 ""),
			"control.socket"},
		{LIMITER(KEYS "'eal': ['--no-huge'], ", ""), "eal"},
		{LIMITER(KEYS "'tunnels': {'classify': 'inner'}, ", ""), "tunnels.classify"},
		{LIMITER("'control': {'socket': '/run/w'}, 'gossip': {'roster': [" GROUP2
			 "], 'insecure': true}, ",
			 ""),
			"gossip.insecure"},
		{LIMITER("'control': {'socket': '/run/w'}, 'gossip': {'roster': [" GROUP2
			 "], 'key_file': '/k', 'listen': '0.0.0.0:1'}, ",
			 ""),
			"gossip.listen"},
		{LIMITER("'control': {'socket': '/run/w'}, 'gossip': {'roster': [" GROUP2
			 "], 'key_file': '/k', 'branching': 4}, ",
			 ""),
			"gossip.branching"},
		{LIMITER("'control': {'socket': '/run/w'}, 'gossip': {'roster': [" GROUP2
			 "], 'key_file': '/k', 'timeout': '2s'}, ",
			 ""),
			"gossip.timeout"},
		{LIMITER("'control': {'socket': '/run/w'}, 'gossip': {'roster': [" GROUP2
			 "], 'key_file': '/k', 'datagram': '1400B'}, ",
			 ""),
			"gossip.datagram"},
		{LIMITER("'control': {'socket': '/run/w'}, 'gossip': {'roster': [" GROUP2
			 "], 'key_file': '/k', 'estimator': 'tree', 'branching': 3}, ",
			 ""),
			"gossip.estimator"},
		{LIMITER(KEYS "'ledger': {'store': '/s'}, ", ""), "ledger.store"},
		{LIMITER(KEYS "'ledger': {'lease': '6s'}, ", ""), "ledger.lease"},
		{LIMITER(KEYS "'ledger': {'promise': 49}, ", ""), "ledger.promise"},
		{LIMITER(KEYS "'ledger': {'drift': 999}, ", ""), "ledger.drift"},
		{LIMITER(KEYS "'ledger': {'overlay': 'ring'}, ", ""), "ledger.overlay"},
		{LIMITER(KEYS "'ledger': {'overlay': {'degree': 2}}, ", ""), "ledger.overlay"},
		{LIMITER(KEYS "'ledger': {'overlay': {'edges': [['me', 'you']]}}, ", ""),
			"ledger.overlay"},
		{LIMITER(KEYS "'ledger': {'tree': {'degree': 2}}, ", ""), "ledger.tree.degree"},
		{LIMITER(KEYS "'ledger': {'etcd': {'endpoints': ['https://e']}}, ", ""),
			"ledger.etcd.endpoints"},
	};

#define ETCD(members) LIMITER(KEYS "'ledger': {'etcd': {'endpoints': [" members "}}, ", "")
	static const struct {
		const char *document, *key;
	} etcds[] = {
		{ETCD("'https://f']"), "endpoints"},
		{ETCD("'https://e', 'https://f']"), "endpoints"},
		{ETCD("'https://e'], 'prefix': '/p'"), "prefix"},
		{ETCD("'https://e'], 'ca': '/p'"), "ca"},
		{ETCD("'https://e'], 'insecure': true"), "insecure"},
	};

	for (size_t i = 0; i < COUNT(cases); i++)
		refuse_change(LIMITER(KEYS, ""), cases[i].document, cases[i].place);
	refuse_change(LIMITER(KEYS "'ledger': {'overlay': {'edges': [['me', 'you']]}}, ", ""),
		LIMITER(KEYS "'ledger': {'overlay': {'edges': [['you', 'me']]}}, ", ""),
		"ledger.overlay");
	/* Equal edges come before a different one. */
	refuse_change(LIMITER(THREE "'ledger': {'overlay': {'edges': [['me', 'you'], ['you', "
				    "'they']]}}, ",
			      ""),
		LIMITER(THREE "'ledger': {'overlay': {'edges': [['me', 'you'], ['me', 'they']]}}, ",
			""),
		"ledger.overlay");
	for (size_t i = 0; i < COUNT(etcds); i++) {
		char place[64];

		snprintf(place, sizeof(place), "ledger.etcd.%s", etcds[i].key);
		refuse_change(ETCD("'https://e']"), etcds[i].document, place);
	}
	refuse_change(ETCD("'https://e'], 'user': 'a', 'password_file': '/p'"),
		ETCD("'https://e'], 'user': 'b', 'password_file': '/p'"), "ledger.etcd.user");
	refuse_change(ETCD("'https://e'], 'user': 'a', 'password_file': '/p'"),
		ETCD("'https://e'], 'user': 'a', 'password_file': '/q'"),
		"ledger.etcd.password_file");
	refuse_change(NET(PORTS WIRES),
		NET("'ports': {'lan': {'device': 'net_null0'}, 'wan': {'device': 'net_null2'}}, " WIRES),
		"ports.wan.device");
	refuse_change(NET(PORTS WIRES),
		NET("'ports': {'lan': {'device': 'net_null0'}, 'wan': {'device': 'net_null1', "
		    "'offloads': 'ignore'}}, " WIRES),
		"ports.wan.offloads");
	refuse_change(NET(PORTS WIRES),
		NET("'ports': {'lan': {'device': 'net_null0', 'queues': 1}, "
		    "'wan': {'device': 'net_null1'}}, " WIRES),
		"ports.lan.queues");
	refuse_change(NET(PORTS WIRES),
		NET("'ports': {'lan': {'device': 'net_null0', 'buffer_size': 9000}, "
		    "'wan': {'device': 'net_null1'}}, " WIRES),
		"ports.lan.buffer_size");
	refuse_change(NET("'ports': {'lan': {'device': 'xdp:a'}}, 'wires': []"),
		NET("'ports': {'lan': {'device': 'xdp:a', 'generic': true}}, 'wires': []"),
		"ports.lan.generic");
	refuse_change(NET(PORTS WIRES),
		NET(PORTS "'wires': [{'name': 'v', 'a': 'lan', 'b': 'wan'}]"), "wires[0].name");
	refuse_change(NET(PORTS WIRES),
		NET(PORTS "'wires': [{'name': 'w', 'a': 'lan', 'b': 'wan', 'distribute': true}]"),
		"wires[0].distribute");
	refuse_change(NET(PORTS WIRES),
		NET(PORTS "'wires': [{'name': 'w', 'a': 'lan', 'b': 'wan', 'link': 'follow'}]"),
		"wires[0].link");
	refuse_change(NET(PORTS WIRES), NET(PORTS "'wires': []"), "wires");
}

#define PLANE(wire)                                                                     \
	NET("'ports': {'lan': {'device': 'xdp:eth0'}, 'wan': {'device': 'xdp:eth1'}}, " \
	    "'wires': [{'name': 'w', 'a': 'lan', 'b': 'wan'" wire "}]")
#define ALONE(members) GOSSIP("'roster': [{'name': 'me', 'address': '10.0.0.1:1'}]" members)
#define NAMED(name)                                                                     \
	"{'limiter': '" name "', " PORTS WIRES ", 'control': {'socket': '/run/w'}, "    \
	"'gossip': {'roster': [" GROUP2 "], 'key_file': '/k', 'listen': '0.0.0.0:1'}, " \
	"'ledger': {'store': '/s'}}"

static void check_table(const char *above, const struct key *keys)
{
	for (const struct key *key = keys; key->name != NULL; key++) {
		char place[128];

		snprintf(place, sizeof(place), "%s.%s", above, key->name);
		if (key->read == read_object)
			check_table(place, key->detail);
		else if (key->change == 0)
			fail_msg("%s: its row has no effect of a reload", place);
		if (key->change == KEY_ELEMENTS || key->read == read_list)
			check_table(place, ((const struct list *)key->detail)->keys);
	}
}

/* A key without an effect of a reload would be ignored. */
TEST(test_each_row)
{
	check_table("", config_keys);
}

/* Each part of a fixed setting is fixed. */
TEST(test_fixed_parts)
{
	static const struct {
		const char *a, *b, *place;
	} cases[] = {
		{NAMED("me"), NAMED("you"), "limiter"},
		{DOC(", 'eal': ['-a', '-b']"), DOC(", 'eal': ['-a', '-v']"), "eal"},
		{DOC(", 'workers': [1, 2]"), DOC(", 'workers': [1, 3]"), "workers"},
		{DOC(", 'workers': [1, 2]"), DOC(", 'workers': [1]"), "workers"},
		{DOC(", 'tunnels': {'classify': 'inner'}"),
			DOC(", 'tunnels': {'classify': 'inner', 'vxlan-port': 8472}"),
			"tunnels.vxlan-port"},
		{NET(PORTS WIRES),
			NET("'ports': {'lan': {'device': 'net_null0', 'mtu': 1501}, 'wan': "
			    "{'device': 'net_null1'}}, " WIRES),
			"ports.lan.mtu"},
		{PLANE(""), PLANE(", 'fail': 'open'"), "wires[0].fail"},
		{PLANE(", 'fail': 'open'"), PLANE(", 'fail': 'open', 'fail_after': '21ms'"),
			"wires[0].fail_after"},
		/* A single limiter can be without a key, and without "insecure" as well. */
		{ALONE(""), ALONE(", 'key_file': '/k'"), "gossip.key_file"},
		{ALONE(""), ALONE(", 'sources': 'any'"), "gossip.sources"},
		{ALONE(""), ALONE(", 'estimator': 'tree', 'branching': 3"), "gossip.estimator"},
		{ALONE(""), ALONE(", 'loans': 'all'"), "gossip.loans"},
	};

	for (size_t i = 0; i < COUNT(cases); i++)
		refuse_change(cases[i].a, cases[i].b, cases[i].place);
}

static struct config_diff *diff_of(const char *a, const char *b)
{
	struct config *old = must_read(a), *config = must_read(b);
	struct config_diff *diff;

	assert_int_equal(config_diff(old, config, "w.json", stderr, &diff), 0);
	config_free(old);
	config_free(config);
	return diff;
}

#define GDRL            ", 'allocator': 'gdrl'"
#define QUOTA           ", 'allocator': 'quota', 'total': '5TB'"
#define SRTCM(members)  ", 'meter': 'srtcm', 'colours': {" members "}"
#define SHAPED(members) ", 'action': 'shape', 'shape': {" members "}"
#define CODEL(members)  SHAPED("'drop': 'codel'" members)
#define SPREAD(members) SHAPED("") ", 'slo': {'p99': '1ms'}, 'place': {" members "}"

/* One key of one policy, and the kind of change. */
TEST(test_keys)
{
	static const struct {
		const char *before, *after;
		unsigned changes;
	} cases[] = {
		{"", "", 0},
		{"", ", 'burst': '1MiB'", POLICY_TERMS},
		{"", ", 'interval': '100ms'", POLICY_TERMS},
		{"", ", 'ewma': 0.5", POLICY_TERMS},
		{", 'allocator': 'adaptor'", ", 'allocator': 'adaptor', 'history': '5s'",
			POLICY_TERMS},
		{", 'allocator': 'adaptor'", ", 'allocator': 'adaptor', 'step': '500ms'",
			POLICY_TERMS},
		{", 'allocator': 'adaptor'", ", 'allocator': 'adaptor', 'history': '10s'", 0},
		{"", ", 'action': 'count'", POLICY_TERMS},
		{", 'action': 'mark'", ", 'action': 'mark', 'mark': 8", POLICY_TERMS},
		{"", ", 'accounting': 'wire'", POLICY_TERMS},
		{", 'meter': 'hybrid', 'window': '1s'", ", 'meter': 'hybrid', 'window': '2s'",
			POLICY_TERMS},
		{", 'allocator': 'fps'", ", 'allocator': 'fps', 'weigh': 'tcp'", POLICY_TERMS},
		{"", ", 'match': {'wire': 'w'}", POLICY_MATCH},
		{"", ", 'match': {'direction': 'a-to-b'}", POLICY_MATCH},
		{"", ", 'match': {'vlan': 0}", POLICY_MATCH},
		{"", ", 'match': {'dscp': 0}", POLICY_MATCH},
		{"", ", 'match': {'src': '0.0.0.0/0'}", POLICY_MATCH},
		{"", ", 'match': {'proto': 'tcp'}", POLICY_MATCH},
		{"", ", 'match': {'src-port': 53}", POLICY_MATCH},
		{", 'match': {'dst-port': 53}", ", 'match': {'dst-port': '53-54'}", POLICY_MATCH},
		{", 'match': {'dst-port': 53}", ", 'match': {'src-port': 53}", POLICY_MATCH},
		{", 'match': {'dst': '10.0.0.0/8'}", ", 'match': {'dst': '11.0.0.0/8'}",
			POLICY_MATCH},
		{", 'match': {'dst': '10.0.0.0/8'}", ", 'match': {'dst': '10.0.0.0/9'}",
			POLICY_MATCH},
		{"", ", 'match': [{}]", 0},
		{", 'match': {'src': '10.0.0.0/8'}", ", 'match': {'src': ['10.0.0.0/8']}", 0},
		{", 'match': [{'vlan': 1}]", ", 'match': [{'vlan': 1}, {'vlan': 2}]", POLICY_MATCH},
		{", 'match': [{'vlan': 1}, {'vlan': 3}]", ", 'match': [{'vlan': 1}, {'vlan': 2}]",
			POLICY_MATCH},
		{"", ", 'meter': 'gcra'", POLICY_RESTARTS},
		{"", ", 'allocator': 'static'", POLICY_RESTARTS},
		{"", ", 'per': 'src'", POLICY_RESTARTS},
		{", 'per': 'src'", ", 'per': 'src/24'", POLICY_RESTARTS},
		{", 'per': 'src'", ", 'per': 'src/56'", POLICY_RESTARTS},
		{", 'per': 'src'", ", 'per': 'src', 'sources': 2048", POLICY_RESTARTS},
		{"", ", 'guarantee': 'hard'", POLICY_RESTARTS},
		{", 'guarantee': 'hard'", ", 'guarantee': 'hard', 'ewma': 0.5", POLICY_TERMS},
		{GDRL, GDRL ", 'indicator': 'loss'", POLICY_TERMS},
		{GDRL, GDRL ", 'indicator': 'spare'", 0},
		{GDRL, GDRL ", 'eta': 0.5", POLICY_TERMS},
		{QUOTA, QUOTA ", 'period': 'none'", 0},
		{QUOTA, ", 'allocator': 'quota', 'total': '6TB'", POLICY_TERMS},
		{QUOTA, QUOTA ", 'period': 'month'", POLICY_RESTARTS},
		{QUOTA ", 'period': '24h'", QUOTA ", 'period': '12h'", POLICY_RESTARTS},
		{QUOTA, "", POLICY_RESTARTS | POLICY_TERMS},
		{SHAPED("'delay': '10ms'"), SHAPED("'delay': '11ms'"), POLICY_TERMS},
		{SHAPED("'delay': '10ms'"), SHAPED("'delay': '10ms', 'queue': '1MB'"),
			POLICY_TERMS},
		{SHAPED("'delay': '10ms'"), SHAPED("'delay': '10ms', 'drop': 'codel'"),
			POLICY_TERMS},
		{CODEL(""), CODEL(", 'target': '4ms'"), POLICY_TERMS},
		{CODEL(""), CODEL(", 'interval': '90ms'"), POLICY_TERMS},
		{CODEL(""), CODEL(", 'ecn': true"), POLICY_TERMS},
		{SPREAD(""), SHAPED(""), POLICY_TERMS},
		{SPREAD("'key': 'src/24'"), SPREAD("'key': 'src/25'"), POLICY_TERMS},
		/* All bits of IPv4 in both, and different bits of IPv6. */
		{SPREAD("'key': 'src/32'"), SPREAD("'key': 'src/33'"), POLICY_TERMS},
		{SPREAD("'round': '1s'"), SPREAD("'round': '2s'"), POLICY_TERMS},
		{SPREAD(""), SPREAD("'concentrate': false"), POLICY_TERMS},
		{SPREAD(""), SPREAD("'max-min': false"), POLICY_TERMS},
		{SPREAD(""), SPREAD("'correlate': false"), POLICY_TERMS},
		{SRTCM(""), SRTCM("'green': 'count'"), POLICY_TERMS},
		{SRTCM("'yellow': {'mark': 'af11'}"), SRTCM("'yellow': {'mark': 'af12'}"),
			POLICY_TERMS},
		{SRTCM(""), SRTCM("'aware': true"), POLICY_TERMS},
		{SRTCM("'aware': true, 'dscp': {'ef': 'red'}"),
			SRTCM("'aware': true, 'dscp': {'ef': 'yellow'}"), POLICY_TERMS},
		{"", ", 'match': {'vlan': 1}, 'meter': 'gcra', 'ewma': 0",
			POLICY_MATCH | POLICY_TERMS | POLICY_RESTARTS},
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		for (int back = 0; back < 2; back++) {
			char documents[2][512];
			struct config_diff *diff;

			snprintf(documents[0], sizeof(documents[0]), "%s%s}]}",
				"{'limiter': 'me', " PORTS WIRES ", 'policies': [{'name': 'p', "
				"'limit': '10Mbit/s'",
				cases[i].before);
			snprintf(documents[1], sizeof(documents[1]), "%s%s}]}",
				"{'limiter': 'me', " PORTS WIRES ", 'policies': [{'name': 'p', "
				"'limit': '10Mbit/s'",
				cases[i].after);
			diff = diff_of(documents[back], documents[!back]);
			if (diff->changes[0] != cases[i].changes)
				fail_msg("%s to %s: %u, expected %u", documents[back],
					documents[!back], diff->changes[0], cases[i].changes);
			assert_int_equal(diff->from[0], 0);
			assert_int_equal(diff->changed, cases[i].changes != 0);
			config_diff_free(diff);
		}
	}
}

#define P(name, rate, vlan) "{'name': '" name "', 'limit': '" rate "', 'match': {'vlan': " vlan "}}"

/* Policies are matched by name, in any order. */
TEST(test_names)
{
	ENDED_BY(config_diff_free_at)
	struct config_diff *diff = diff_of(POLICIES(P("a", "1Mbit/s", "1") "," P(
						   "b", "2Mbit/s", "2") "," P("c", "3Mbit/s", "3")),
		POLICIES(P("d", "1Mbit/s", "1") "," P("c", "3Mbit/s", "3") "," P(
			"a", "9Mbit/s", "4")));

	assert_int_equal(diff->n, 3);
	assert_int_equal(diff->from[0], POLICY_NEW);
	assert_int_equal(diff->from[1], 2);
	assert_int_equal(diff->from[2], 0);
	assert_int_equal(diff->changes[0], POLICY_ADDED);
	assert_int_equal(diff->changes[1], 0);
	assert_int_equal(diff->changes[2], POLICY_TERMS | POLICY_MATCH);
	assert_int_equal(diff->added, 1);
	assert_int_equal(diff->removed, 1); /* b */
	assert_int_equal(diff->changed, 1);
	config_diff_free(diff);
	diff = diff_of(POLICIES(P("a", "1Mbit/s", "1")), POLICIES(""));
	assert_int_equal(diff->n, 0);
	assert_int_equal(diff->removed, 1);
}

/* Returns whether two matches can match the same packet, in both orders. */
TEST(test_overlaps)
{
	static const struct {
		const char *a, *b;
		bool overlaps;
	} rows[] = {
		{"", "'vlan': 1", true},
		{"'vlan': 1", "'vlan': 2", false},
		{"'dscp': 0", "'dscp': 8", false},
		{"'vlan': 1", "'dscp': 8", true},
		{"'direction': 'a-to-b'", "'direction': 'b-to-a'", false},
		{"'wire': 'w', 'direction': 'a-to-b'", "'direction': 'a-to-b'", true},
		{"'dst': '10.0.0.0/8'", "'dst': '10.1.0.0/16'", true},
		{"'dst': '10.0.0.0/8'", "'dst': '11.0.0.0/8'", false},
		{"'dst': '10.0.0.0/25'", "'dst': '10.0.0.128/25'", false},
		{"'dst': '10.0.0.0/24'", "'dst': '10.0.0.128/25'", true},
		{"'dst': '16.0.0.0/4'", "'dst': '32.0.0.0/4'", false},
		{"'dst': '10.0.0.0/14'", "'dst': '10.4.0.0/14'", false},
		{"'dst': '10.0.0.0/13'", "'dst': '10.7.0.0/16'", true},
		{"'dst': '10.0.0.0/13'", "'dst': '10.8.0.0/16'", false},
		{"'dst': '10.2.0.0/15'", "'dst': '10.3.0.0/16'", true},
		{"'dst': '10.2.0.0/15'", "'dst': '10.1.0.0/16'", false},
		{"'dst': '10.0.0.0/24'", "'src': '10.0.1.0/24'", true},
		{"'src': '10.0.0.0/32'", "'src': '10.0.0.1/32'", false},
		{"'src': '2001:db8::/33'", "'src': '2001:db8:8000::/33'", false},
		{"'src': '2001:db8::/32'", "'src': '10.0.0.0/8'", false},
		{"'proto': 'tcp', 'dst-port': '80-90'", "'proto': 'tcp', 'dst-port': '90-99'",
			true},
		{"'proto': 'tcp', 'dst-port': '80-90'", "'proto': 'tcp', 'dst-port': '91-99'",
			false},
		{"'proto': 'tcp', 'dst-port': '80'", "'proto': 'udp', 'dst-port': '80'", false},
		{"'proto': 'tcp', 'dst-port': '80'", "'proto': 'tcp', 'src-port': '81'", true},
		{"'proto': 'tcp'", "'dst': '10.0.0.0/8'", true},
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		char documents[2][1024];
		struct config *configs[2];
		const char *members[] = {rows[i].a, rows[i].b};

		for (unsigned k = 0; k < 2; k++) {
			snprintf(documents[k], sizeof(documents[k]),
				POLICIES("{'name': 'p', 'limit': '10Mbit/s', 'match': {%s}}"),
				members[k]);
			configs[k] = must_read(documents[k]);
		}
		for (unsigned k = 0; k < 2; k++)
			if (match_overlaps(&configs[k]->policies[0].match,
				    &configs[!k]->policies[0].match) != rows[i].overlaps)
				fail_msg("row %zu: {%s} and {%s}", i, rows[i].a, rows[i].b);
		config_free(configs[0]);
		config_free(configs[1]);
	}
}

/*
 * Returns whether a change interrupts placed policies. The comparison stops after a number of
 * pairs.
 */
TEST(test_retargets)
{
#define PLACED(vlan)                                                              \
	"{'name': 'a" vlan "', 'limit': '1Mbit/s', 'match': {'vlan': " vlan "}, " \
	"'action': 'shape', 'slo': {'p99': '1ms'}}, "
#define ALSO(vlan)                                                                          \
	"{'name': 'also', 'limit': '1Mbit/s', 'match': [{'vlan': 8}, {'vlan': " vlan "}], " \
	"'action': 'shape', 'slo': {'p99': '1ms'}}, "
#define MORE(other)       "{'name': 'b', 'limit': '1Mbit/s', 'match': [{'vlan': 3}, {" other "}]}"
#define TWO(x, y)         P(x, "1Mbit/s", "5") ", " P(y, "1Mbit/s", "6")
#define WITH_PLACED(vlan) PLACED("1") PLACED("2") P("b", "1Mbit/s", vlan)
	static const struct {
		const char *before, *after;
		uint64_t pairs;
		bool retargets;
	} rows[] = {
		/* The changed match, before and after, with two placed ones, before and after. */
		{WITH_PLACED("3"), WITH_PLACED("4"), 8, false},
		{WITH_PLACED("3"), WITH_PLACED("4"), 7, true},
		{WITH_PLACED("3"), WITH_PLACED("2, 'dscp': 8"), 8, true},
		{WITH_PLACED("3"), WITH_PLACED("3"), 0, false},
		{P("b", "1Mbit/s", "3"), P("b", "1Mbit/s", "4"), 0, false},
		/* Each match of the changed policy and of the placed ones. */
		{WITH_PLACED("3"), PLACED("1") PLACED("2") MORE("'vlan': 4"), 12, false},
		{WITH_PLACED("3"), PLACED("1") PLACED("2") MORE("'vlan': 4"), 11, true},
		{WITH_PLACED("3"), PLACED("1") PLACED("2") MORE("'vlan': 2, 'dscp': 8"), 12, true},
		{ALSO("9") WITH_PLACED("3"), ALSO("9") WITH_PLACED("4"), 16, false},
		{ALSO("9") WITH_PLACED("3"), ALSO("9") WITH_PLACED("9, 'dscp': 8"), 16, true},
		/*
		 * Among equal matches the first policy wins, so their order counts, for any
		 * matches.
		 */
		{PLACED("1") TWO("b", "c"), PLACED("1") TWO("b", "c"), 0, false},
		{PLACED("1") TWO("b", "c"), PLACED("1") TWO("c", "b"), 99, true},
		/* A removed policy. */
		{P("a", "1Mbit/s", "2, 'dscp': 8") ", " WITH_PLACED("3"), WITH_PLACED("3"), 99,
			true},
		{P("a", "1Mbit/s", "4") ", " WITH_PLACED("3"), WITH_PLACED("3"), 99, false},
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		static const bool keeps[] = {true, true, true, true};
		char documents[2][2048];
		struct config *old, *new;
		struct config_diff *diff;

		snprintf(documents[0], sizeof(documents[0]), POLICIES("%s"), rows[i].before);
		snprintf(documents[1], sizeof(documents[1]), POLICIES("%s"), rows[i].after);
		old = must_read(documents[0]);
		new = must_read(documents[1]);
		diff = diff_of(documents[0], documents[1]);
		if (policies_retarget(diff, old->policies, old->n_policies, new->policies, keeps,
			    rows[i].pairs) != rows[i].retargets)
			fail_msg("row %zu", i);
		config_diff_free(diff);
		config_free(old);
		config_free(new);
	}
}
