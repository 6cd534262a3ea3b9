/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * "ledger": the store, the lease, the overlay of neighbours, and etcd.
 */
#include "check.h"

#include "config_cases.h"

#include "config/load.h"

#define MEMBER(name, host) "{'name': '" name "', 'address': '10.0.0." host ":1'}"
#define ROSTER4            MEMBER("a", "1") "," MEMBER("b", "2") "," MEMBER("c", "3") "," MEMBER("d", "4")
#define POLICY_P           "{'name': 'p', 'limit': '10Mbit/s', 'guarantee': 'hard'}"
#define IN_GROUP(gossip, members, policies)                                                 \
	"{'limiter': 'a', " PORTS WIRES ", 'gossip': {'key_file': 'k', 'roster': [" ROSTER4 \
	"]" gossip "}, 'ledger': {" members "}, 'policies': [" policies "]}"
#define LEDGER(members)           IN_GROUP("", members, POLICY_P)
#define TIMEOUT(timeout, members) IN_GROUP(", 'timeout': '" timeout "'", members, POLICY_P)
#define ALONE(members)                                                                        \
	"{'limiter': 'a', " PORTS WIRES ", 'gossip': {'key_file': 'k', 'roster': [" MEMBER(   \
		"a", "1") "]}, 'ledger': {" members "}, 'policies': [{'name': 'p', 'limit': " \
			  "'10Mbit/s', 'guarantee': 'hard', 'interval': '60ms'}]}"
#define EDGES(edges)  LEDGER("'overlay': {'edges': " edges "}")
#define ETCD(members) LEDGER("'etcd': {" members "}")
#define ENDPOINT(url) ETCD("'endpoints': ['" url "']")
#define TLS(members)  ETCD("'endpoints': ['https://e']" members)

TEST(test_store)
{
	static const struct config_case cases[] = {
		{LEDGER(""), ""},
		{LEDGER("'store': '/srv/weir'"), ""},
		{LEDGER("'store': ''"), "ledger.store: text_length: *3999"},
		{LEDGER("'store': 3"), "ledger.store: text_length: *3999"},
		{LEDGER("'store': '/run/weir/x'"), "warning: ledger.store: store_volatile"},
		{LEDGER("'store': '/running'"), ""},
		/* Without a policy that needs the store, its path does not matter. */
		{IN_GROUP("", "'store': '/run/weir/x'", "{'name': 'p', 'limit': '1Mbit/s'}"), ""},
		{LEDGER("'stor': '/x'"), "ledger.stor: unknown_key: did you mean 'store'?"},
		{IN_GROUP("", "'lease': '5s'}, 'ledger': {'lease': '6s'", POLICY_P),
			"ledger: duplicate_key"},
		{0},
	};

	run_cases(cases);
}

/* The longest path to which the store can append its file names. */
TEST(test_long_store)
{
	for (size_t n = 3999; n <= 4000; n++) {
		char *document, *messages;
		struct config *config;
		int len = asprintf(&document,
			"{\"limiter\": \"me\", \"ledger\": {\"store\": \"%0*d\"}}", (int)n, 0);

		assert_true(len > 0);
		assert_int_equal(parse_config_case(document, (size_t)len, &messages, &config),
			n == 3999 ? 0 : -EINVAL);
		config_free(config);
		free(messages);
		free(document);
	}
}

TEST(test_lease)
{
	static const struct config_case cases[] = {
		{LEDGER("'lease': '1001ms'"), ""},
		{LEDGER("'lease': '1s'"), "ledger.lease: lease_below_timeout: 1s"},
		{TIMEOUT("1500ms", "'lease': '1501ms'"), ""},
		{TIMEOUT("1500ms", "'lease': '1500ms'"), "ledger.lease: lease_below_timeout: 1.5s"},
		{TIMEOUT("3600s", ""), ""},
		{LEDGER("'lease': '24h'"), ""},
		{LEDGER("'lease': '25h'"), "ledger.lease: out_of_range: 200ms to 24h"},
		{TIMEOUT("160ms", "'lease': '200ms'"), ""},
		{TIMEOUT("160ms", "'lease': '199ms'"), "ledger.lease: out_of_range: 200ms to 24h"},
		{IN_GROUP(", 'timeout': '210ms'", "'lease': '240ms'",
			 "{'name': 'p', 'limit': '1Mbit/s', 'guarantee': 'hard', 'interval': "
			 "'60ms'}"),
			""},
		{IN_GROUP(", 'timeout': '210ms'", "'lease': '239ms'",
			 "{'name': 'p', 'limit': '1Mbit/s', 'guarantee': 'hard', 'interval': "
			 "'60ms'}"),
			"warning: ledger.lease: lease_short: 4, 60ms"},
		{IN_GROUP(", 'timeout': '210ms'", "'lease': '239ms', 'promise': 0",
			 "{'name': 'p', 'limit': '1Mbit/s', 'guarantee': 'hard', 'interval': "
			 "'60ms'}"),
			""},
		/* A limiter without peers needs no lease. */
		{ALONE("'lease': '1s'"), ""},
		{ALONE("'lease': '200ms'"), ""},
		{LEDGER("'promise': 100, 'drift': 0"), ""},
		{LEDGER("'promise': 101"), "ledger.promise: integer_range: 0, 100"},
		{LEDGER("'drift': 100000"), ""},
		{LEDGER("'drift': 100001"), "ledger.drift: integer_range: 0, 100000"},
		{0},
	};

	run_cases(cases);
}

TEST(test_overlay)
{
	static const struct config_case cases[] = {
		{LEDGER("'overlay': 'ring'"), ""},
		{LEDGER("'overlay': 'star'"), "ledger.overlay: wrong_value"},
		{LEDGER("'overlay': {'degree': 2}"), ""},
		{LEDGER("'overlay': {'degree': 64}"), ""},
		{LEDGER("'overlay': {'degree': 1}"), "ledger.overlay.degree: integer_range: 2, 64"},
		{LEDGER("'overlay': {'degree': 65}"),
			"ledger.overlay.degree: integer_range: 2, 64"},
		{LEDGER("'overlay': {}"), "ledger.overlay: wrong_value"},
		{LEDGER("'overlay': {'degree': 2, 'edges': [['a', 'b']]}"),
			"ledger.overlay: wrong_value"},
		{LEDGER("'overlay': {'width': 2}"), "ledger.overlay.width: unknown_key: *see*"},
		{EDGES("[['a', 'b'], ['c', 'b'], ['d', 'a']]"), ""},
		{EDGES("[]"), "ledger.overlay.edges: wrong_value"},
		{EDGES("'ab'"), "ledger.overlay.edges: wrong_value"},
		{EDGES("[['a', 'b'], ['b', 'c', 'd']]"), "ledger.overlay.edges[1]: wrong_edge"},
		{EDGES("['ab']"), "ledger.overlay.edges[0]: wrong_edge"},
		{EDGES("[['a', 'b'], ['c', 'e'], [7, 'd']]"),
			"ledger.overlay.edges[1][1]: no_such_limiter\n"
			"ledger.overlay.edges[2][0]: no_such_limiter"},
		{EDGES("[['a', 'b'], ['c', 'D']]"),
			"ledger.overlay.edges[1][1]: no_such_limiter: did you mean 'd'?"},
		{EDGES("[['a', 'b'], ['c', 'c'], ['c', 'd']]"),
			"ledger.overlay.edges[1]: edge_to_itself"},
		{EDGES("[['a', 'b'], ['b', 'c'], ['d', 'c'], ['b', 'a'], ['c', 'd'], ['a', 'b']]"),
			"ledger.overlay.edges[3]: edge_twice: 0\n"
			"ledger.overlay.edges[5]: edge_twice: 0\n"
			"ledger.overlay.edges[4]: edge_twice: 2"},
		{EDGES("[['a', 'b'], ['c', 'd'], ['a', 'd'], ['b', 'c'], ['a', 'c'], ['b', 'd'], "
		       "['d', 'b'], ['c', 'a'], ['c', 'b'], ['d', 'a'], ['d', 'c'], ['b', 'a']]"),
			"ledger.overlay.edges[11]: edge_twice: 0\n"
			"ledger.overlay.edges[7]: edge_twice: 4\n"
			"ledger.overlay.edges[9]: edge_twice: 2\n"
			"ledger.overlay.edges[8]: edge_twice: 3\n"
			"ledger.overlay.edges[6]: edge_twice: 5\n"
			"ledger.overlay.edges[10]: edge_twice: 1"},
		{EDGES("[['c', 'd'], ['a', 'd'], ['b', 'a']]"), ""},
		{EDGES("[['a', 'b'], ['d', 'c']]"),
			"ledger.overlay.edges: edges_unconnected: a, c"},
		{EDGES("[['d', 'c'], ['b', 'c']]"),
			"ledger.overlay.edges: edges_unconnected: a, b"},
		{LEDGER("'tree': {'degree': 2}"), ""},
		{LEDGER("'tree': {'degree': 1}"), "ledger.tree.degree: integer_range: 2, 64"},
		{LEDGER("'tree': 2"), "ledger.tree: not_object"},
		{0},
	};

	run_cases(cases);
}

TEST(test_etcd)
{
#define NAME255   TEN("abcde") TEN("abcde") TEN("abcde") TEN("abcde") TEN("abcde") "abcde"
#define PREFIX106 TEN("abcdef") TEN("abcd") "abcdef"
#define URL(url)                                                          \
	{                                                                 \
		ENDPOINT(url), "ledger.etcd.endpoints[0]: wrong_endpoint" \
	}
#define IN_CLEAR(url)                                                    \
	{                                                                \
		ENDPOINT(url), "ledger.etcd.endpoints[0]: etcd_insecure" \
	}
#define PREFIX(prefix) TLS(", 'prefix': '" prefix "'")
#define NO_PREFIX(prefix)                                                   \
	{                                                                   \
		PREFIX(prefix), "ledger.etcd.prefix: path_characters: *107" \
	}
	static const struct config_case cases[] = {
		{ENDPOINT("https://etcd-1.example.net:2379"), ""},
		{ENDPOINT("https://[2001:db8::1]:2379"), ""},
		{ENDPOINT("https://192.0.2.1"), ""},
		{ENDPOINT("https://192.0.2.1:65535"), ""},
		URL("https://192.0.2.1:65536"),
		URL("https://192.0.2.1:0"),
		{ENDPOINT("https://192.0.2.1:02379"), ""},
		URL("https://192.0.2.1:002379"),
		URL("http:/x192.0.2.1"),
		URL("https:/x192.0.2.1"),
		{ENDPOINT("https://" NAME255), ""},
		{ENDPOINT("https://" NAME255 "a"), "ledger.etcd.endpoints[0]: wrong_endpoint"},
		URL("https://192.0.2.1:"),
		URL("https://192.0.2.1:2379/"),
		URL("https://192.0.2.1/v3"),
		URL("https://[2001:db8::1:2379"),
		URL("https://[192.0.2.1]:2379"),
		URL("https://"),
		URL("etcd://192.0.2.1:2379"),
		URL("192.0.2.1:2379"),
		{ENDPOINT("http://127.0.0.1:2379"), ""},
		{ENDPOINT("http://127.9.9.9"), ""},
		{ENDPOINT("http://[::1]:2379"), ""},
		{ENDPOINT("http://LOCALHOST:2379"), ""},
		IN_CLEAR("http://192.0.2.1:2379"),
		IN_CLEAR("http://127.example.net"),
		IN_CLEAR("http://localhost.example.net"),
		IN_CLEAR("http://[2001:db8::1]"),
		{ETCD("'endpoints': ['https://e', 'http://192.0.2.1']"),
			"ledger.etcd.endpoints[1]: etcd_insecure"},
		{ETCD("'endpoints': ['http://192.0.2.1:2379'], 'insecure': true"),
			"warning: ledger.etcd.endpoints[0]: etcd_unencrypted"},
		{TLS(", 'user': 'edge', 'password_file': '/p'"), ""},
		{TLS(", 'user': 'edge'"), "ledger.etcd.user: key_required: 'password_file'"},
		{TLS(", 'password_file': '/p'"), "ledger.etcd.password_file: key_required: 'user'"},
		{ETCD("'endpoints': ['https://1', 'https://2', 'https://3', 'https://4', "
		      "'https://5', 'https://6', 'https://7', 'https://8', 'https://9']"),
			""},
		{ETCD("'endpoints': ['https://1', 'https://2', 'https://3', 'https://4', "
		      "'https://5', 'https://6', 'https://7', 'https://8', 'https://9', 'https://10']"),
			"ledger.etcd.endpoints: wrong_value"},
		{ETCD("'endpoints': []"), "ledger.etcd.endpoints: wrong_value"},
		{ETCD(""), "ledger.etcd.endpoints: wrong_value"},
		{ETCD("'endpoints': ['https://1', 'https://1']"),
			"ledger.etcd.endpoints[1]: endpoint_twice"},
		{PREFIX("/w"), ""},
		{PREFIX("/weir/test.1"), ""},
		{PREFIX("/" PREFIX106), ""},
		{PREFIX("/" PREFIX106 "x"), "ledger.etcd.prefix: path_characters"},
		NO_PREFIX("/"),
		NO_PREFIX("weir"),
		NO_PREFIX("/weir/"),
		NO_PREFIX("/we ir"),
		NO_PREFIX(""),
		{TLS(", 'ca': '/c', 'cert': '/d', 'key': '/e'"), ""},
		{TLS(", 'ca': '/c'"), ""},
		{TLS(", 'cert': '/c'"), "ledger.etcd.cert: key_required: 'key'"},
		{TLS(", 'key': '/c'"), "ledger.etcd.key: key_required: 'cert'"},
		{ETCD("'endpoints': ['http://localhost'], 'ca': '/c', 'cert': '/d', 'key': '/e'"),
			"ledger.etcd.ca: needs_https\n"
			"ledger.etcd.cert: needs_https\n"
			"ledger.etcd.key: needs_https"},
		{ETCD("'endpoints': ['http://localhost', 'https://e'], 'ca': '/c'"), ""},
		{0},
	};

	run_cases(cases);
}

TEST(test_defaults)
{
	struct config *config = must_parse(POLICIES("{'name': 'p', 'limit': '1Mbit/s'}"));

	assert_string_equal(config->ledger.store, "/var/lib/weir/me");
	assert_int_equal(config->ledger.lease_ns, 5000000000);
	assert_int_equal(config->ledger.promise, 50);
	assert_int_equal(config->ledger.drift_ppm, 1000);
	assert_false(config->ledger.ring);
	assert_int_equal(config->ledger.degree, 0);
	assert_int_equal(config->ledger.n_edges, 0);
	assert_int_equal(config->ledger.tree_degree, 0);
	assert_int_equal(config->ledger.n_etcd, 0);
	assert_string_equal(config->ledger.etcd_prefix, "/weir");
	config_free(config);
	config = must_parse(TIMEOUT("4s", ""));
	assert_int_equal(config->ledger.lease_ns, 8000000000);
	config_free(config);
}

TEST(test_values)
{
	struct config *config = must_parse(IN_GROUP("",
		"'store': '/s', 'lease': '9s', 'promise': 90, 'drift': 7, 'overlay': {'edges': "
		"[['b', 'a'], ['c', 'd'], ['d', 'a']]}, 'tree': {'degree': 3}, 'etcd': "
		"{'endpoints': ['https://x', 'https://y:1'], 'prefix': '/z', 'ca': '/ca', 'cert': "
		"'/ce', 'key': '/ke'}",
		POLICY_P ", {'name': 'q', 'allocator': 'quota', 'total': '5GB', 'match': "
			 "{'vlan': 1}}"));
	const struct ledger_config *ledger = &config->ledger;

	assert_string_equal(ledger->store, "/s");
	assert_int_equal(ledger->lease_ns, 9000000000);
	assert_int_equal(ledger->promise, 90);
	assert_int_equal(ledger->drift_ppm, 7);
	assert_int_equal(ledger->n_edges, 3);
	assert_int_equal(ledger->edges[0].a, 1);
	assert_int_equal(ledger->edges[0].b, 0);
	assert_int_equal(ledger->edges[2].a, 3);
	assert_int_equal(ledger->tree_degree, 3);
	assert_int_equal(ledger->n_etcd, 2);
	assert_string_equal(ledger->etcd[1], "https://y:1");
	assert_string_equal(ledger->etcd_prefix, "/z");
	assert_string_equal(ledger->etcd_ca, "/ca");
	assert_string_equal(ledger->etcd_cert, "/ce");
	assert_string_equal(ledger->etcd_key, "/ke");
	assert_false(config->policies[0].drawn);
	assert_true(config->policies[1].drawn);
	config_free(config);
	config = must_parse(LEDGER("'overlay': {'degree': 7}"));
	assert_int_equal(config->ledger.degree, 7);
	config_free(config);
	config = must_parse(LEDGER("'overlay': 'ring'"));
	assert_true(config->ledger.ring);
	config_free(config);
}
