/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * "ledger": the store, the lease, the overlay of neighbours, and etcd.
 */
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

#define NAME_OF "expected the name of a limiter in 'gossip'.'roster'\n"
#define TWO     "expected two limiters of 'gossip'.'roster', such as ['ams-1', 'fra-1']\n"

static void test_store(void **state)
{
	static const struct config_case cases[] = {
		{LEDGER(""), ""},
		{LEDGER("'store': '/srv/weir'"), ""},
		{LEDGER("'store': ''"), "w.json:1: ledger.store: '': expected a path of 1 to 3999 "
					"printable characters\n"},
		{LEDGER("'store': 3"), "w.json:1: ledger.store: 3: expected a path of 1 to 3999 "
				       "printable characters\n"},
		{LEDGER("'store': '/run/weir/x'"),
			"w.json:1: warning: ledger.store: '/run/weir/x': *reboot*\n"},
		{LEDGER("'store': '/running'"), ""},
		/* Without a policy that needs the store, its path does not matter. */
		{IN_GROUP("", "'store': '/run/weir/x'", "{'name': 'p', 'limit': '1Mbit/s'}"), ""},
		{LEDGER("'stor': '/x'"),
			"w.json:1: ledger.stor: unknown key: did you mean 'store'?\n"},
		{IN_GROUP("", "'lease': '5s'}, 'ledger': {'lease': '6s'", POLICY_P),
			"w.json:1: ledger: duplicate key: expected it once: line 1 has it too\n"},
		{0},
	};

	(void)state;
	run_cases(cases);
}

/* The longest path to which the store can append its file names. */
static void test_long_store(void **state)
{
	(void)state;
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

static void test_lease(void **state)
{
	static const struct config_case cases[] = {
		{LEDGER("'lease': '1001ms'"), ""},
		{LEDGER("'lease': '1s'"),
			"w.json:1: ledger.lease: '1s': expected more than the timeout of gossip, "
			"1s\n"},
		{TIMEOUT("1500ms", "'lease': '1501ms'"), ""},
		{TIMEOUT("1500ms", "'lease': '1500ms'"),
			"w.json:1: ledger.lease: '1500ms': expected more than the timeout of gossip, "
			"1.5s\n"},
		{TIMEOUT("3600s", ""), ""},
		{LEDGER("'lease': '24h'"), ""},
		{LEDGER("'lease': '25h'"),
			"w.json:1: ledger.lease: '25h': expected 200ms to 24h\n"},
		{TIMEOUT("160ms", "'lease': '200ms'"), ""},
		{TIMEOUT("160ms", "'lease': '199ms'"),
			"w.json:1: ledger.lease: '199ms': expected 200ms to 24h\n"},
		{IN_GROUP(", 'timeout': '210ms'", "'lease': '240ms'",
			 "{'name': 'p', 'limit': '1Mbit/s', 'guarantee': 'hard', 'interval': "
			 "'60ms'}"),
			""},
		{IN_GROUP(", 'timeout': '210ms'", "'lease': '239ms'",
			 "{'name': 'p', 'limit': '1Mbit/s', 'guarantee': 'hard', 'interval': "
			 "'60ms'}"),
			"w.json:1: warning: ledger.lease: '239ms': less than 4 intervals of 60ms: *late message*\n"},
		{IN_GROUP(", 'timeout': '210ms'", "'lease': '239ms', 'promise': 0",
			 "{'name': 'p', 'limit': '1Mbit/s', 'guarantee': 'hard', 'interval': "
			 "'60ms'}"),
			""},
		/* A limiter without peers needs no lease. */
		{ALONE("'lease': '1s'"), ""},
		{ALONE("'lease': '200ms'"), ""},
		{LEDGER("'promise': 100, 'drift': 0"), ""},
		{LEDGER("'promise': 101"), "w.json:1: ledger.promise: 101: expected a whole number "
					   "from 0 to 100\n"},
		{LEDGER("'drift': 100000"), ""},
		{LEDGER("'drift': 100001"),
			"w.json:1: ledger.drift: 100001: expected a whole number "
			"from 0 to 100000\n"},
		{0},
	};

	(void)state;
	run_cases(cases);
}

static void test_overlay(void **state)
{
#define DOUBLE(again, first) \
	"w.json:1: ledger.overlay.edges[" again "]: same ends*edges[" first "]*once\n"
#define EXPECTED_OVERLAY "expected 'ring', {'degree': N} or {'edges': [['A', 'B'], ...]}\n"
	static const struct config_case cases[] = {
		{LEDGER("'overlay': 'ring'"), ""},
		{LEDGER("'overlay': 'star'"),
			"w.json:1: ledger.overlay: 'star': " EXPECTED_OVERLAY},
		{LEDGER("'overlay': {'degree': 2}"), ""},
		{LEDGER("'overlay': {'degree': 64}"), ""},
		{LEDGER("'overlay': {'degree': 1}"),
			"w.json:1: ledger.overlay.degree: 1: expected a whole number from 2 to 64\n"},
		{LEDGER("'overlay': {'degree': 65}"),
			"w.json:1: ledger.overlay.degree: 65: expected a whole number from 2 to 64\n"},
		{LEDGER("'overlay': {}"),
			"w.json:1: ledger.overlay: an empty object: " EXPECTED_OVERLAY},
		{LEDGER("'overlay': {'degree': 2, 'edges': [['a', 'b']]}"),
			"w.json:1: ledger.overlay: an object: " EXPECTED_OVERLAY},
		{LEDGER("'overlay': {'width': 2}"),
			"w.json:1: ledger.overlay.width: unknown key: expected*'degree' or 'edges'*\n"},
		{EDGES("[['a', 'b'], ['c', 'b'], ['d', 'a']]"), ""},
		{EDGES("[]"),
			"w.json:1: ledger.overlay.edges: an empty array: expected an array of "
			"pairs of limiters\n"},
		{EDGES("'ab'"),
			"w.json:1: ledger.overlay.edges: 'ab': expected an array of pairs of "
			"limiters\n"},
		{EDGES("[['a', 'b'], ['b', 'c', 'd']]"),
			"w.json:1: ledger.overlay.edges[1]: an array: " TWO},
		{EDGES("['ab']"), "w.json:1: ledger.overlay.edges[0]: 'ab': " TWO},
		{EDGES("[['a', 'b'], ['c', 'e'], [7, 'd']]"),
			"w.json:1: ledger.overlay.edges[1][1]: 'e': " NAME_OF
			"w.json:1: ledger.overlay.edges[2][0]: 7: " NAME_OF},
		{EDGES("[['a', 'b'], ['c', 'D']]"),
			"w.json:1: ledger.overlay.edges[1][1]: 'D': expected the name of a limiter in "
			"'gossip'.'roster'" MEANT("d")},
		{EDGES("[['a', 'b'], ['c', 'c'], ['c', 'd']]"),
			"w.json:1: ledger.overlay.edges[1]: from a limiter to itself: " TWO},
		{EDGES("[['a', 'b'], ['b', 'c'], ['d', 'c'], ['b', 'a'], ['c', 'd'], ['a', 'b']]"),
			"w.json:1: ledger.overlay.edges[3]: same ends*ledger.overlay.edges[0]*once\n"
			"w.json:1: ledger.overlay.edges[5]: same ends*ledger.overlay.edges[0]*once\n"
			"w.json:1: ledger.overlay.edges[4]: same ends*ledger.overlay.edges[2]*once\n"},
		{EDGES("[['a', 'b'], ['c', 'd'], ['a', 'd'], ['b', 'c'], ['a', 'c'], ['b', 'd'], "
		       "['d', 'b'], ['c', 'a'], ['c', 'b'], ['d', 'a'], ['d', 'c'], ['b', 'a']]"),
			DOUBLE("11", "0") DOUBLE("7", "4") DOUBLE("9", "2") DOUBLE("8", "3")
				DOUBLE("6", "5") DOUBLE("10", "1")},
		{EDGES("[['c', 'd'], ['a', 'd'], ['b', 'a']]"), ""},
		{EDGES("[['a', 'b'], ['d', 'c']]"),
			"w.json:1: ledger.overlay.edges: an array: expected a path*'a'*'c'*\n"},
		{EDGES("[['d', 'c'], ['b', 'c']]"),
			"w.json:1: ledger.overlay.edges: an array: expected a path*'a'*'b'*\n"},
		{LEDGER("'tree': {'degree': 2}"), ""},
		{LEDGER("'tree': {'degree': 1}"),
			"w.json:1: ledger.tree.degree: 1: expected a whole number from 2 to 64\n"},
		{LEDGER("'tree': 2"), "w.json:1: ledger.tree: 2: expected an object\n"},
		{0},
	};

	(void)state;
	run_cases(cases);
}

static void test_etcd(void **state)
{
#define NAME255   TEN("abcde") TEN("abcde") TEN("abcde") TEN("abcde") TEN("abcde") "abcde"
#define PREFIX106 TEN("abcdef") TEN("abcd") "abcdef"
#define URL(url)                                                                     \
	{                                                                            \
		ENDPOINT(url), "w.json:1: ledger.etcd.endpoints[0]: '" url           \
			       "': expected a URL such as 'https://192.0.2.1:2379'," \
			       " of a host and a port alone\n"                       \
	}
#define IN_CLEAR(url)                                                      \
	{                                                                  \
		ENDPOINT(url), "w.json:1: ledger.etcd.endpoints[0]: '" url \
			       "': expected https*'insecure': true*\n"     \
	}
#define PREFIX(prefix) TLS(", 'prefix': '" prefix "'")
#define NO_PREFIX(prefix)                                                                        \
	{                                                                                        \
		PREFIX(prefix),                                                                  \
			"w.json:1: ledger.etcd.prefix: '" prefix                                 \
			"': expected where keys begin, such as '/weir', of 2 to 107 characters " \
			"A-Z a-z 0-9 _ . - /\n"                                                  \
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
		{ENDPOINT("https://" NAME255 "a"),
			"w.json:1: ledger.etcd.endpoints[0]: 'https://" TEN(
				"abcde") "abcde...': "
					 "expected a URL such as 'https://192.0.2.1:2379', of a host and a port "
					 "alone\n"},
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
			"w.json:1: ledger.etcd.endpoints[1]: 'http://192.0.2.1': expected https*'insecure': true*\n"},
		{ETCD("'endpoints': ['http://192.0.2.1:2379'], 'insecure': true"),
			"w.json:1: warning: ledger.etcd.endpoints[0]: 'http://192.0.2.1:2379': not encrypted*\n"},
		{TLS(", 'user': 'edge', 'password_file': '/p'"), ""},
		{TLS(", 'user': 'edge'"), "w.json:1: ledger.etcd*'user'*'password_file'\n"},
		{TLS(", 'password_file': '/p'"), "w.json:1: ledger.etcd*'password_file'*'user'\n"},
		{ETCD("'endpoints': ['https://1', 'https://2', 'https://3', 'https://4', "
		      "'https://5', 'https://6', 'https://7', 'https://8', 'https://9']"),
			""},
		{ETCD("'endpoints': ['https://1', 'https://2', 'https://3', 'https://4', "
		      "'https://5', 'https://6', 'https://7', 'https://8', 'https://9', 'https://10']"),
			"w.json:1: ledger.etcd.endpoints: an array: expected an array of 1 to 9 "
			"URLs\n"},
		{ETCD("'endpoints': []"),
			"w.json:1: ledger.etcd.endpoints: an empty array: expected "
			"an array of 1 to 9 URLs\n"},
		{ETCD(""), "w.json:1: ledger.etcd.endpoints: missing: expected an array of 1 to 9 "
			   "URLs\n"},
		{ETCD("'endpoints': ['https://1', 'https://1']"),
			"w.json:1: ledger.etcd.endpoints[1]: 'https://1': expected each endpoint "
			"once\n"},
		{PREFIX("/w"), ""},
		{PREFIX("/weir/test.1"), ""},
		{PREFIX("/" PREFIX106), ""},
		{PREFIX("/" PREFIX106 "x"),
			"w.json:1: ledger.etcd.prefix: '/" TEN(
				"abcdef") "ab...': expected where keys "
					  "begin, such as '/weir', of 2 to 107 characters A-Z a-z 0-9 _ . - /\n"},
		NO_PREFIX("/"),
		NO_PREFIX("weir"),
		NO_PREFIX("/weir/"),
		NO_PREFIX("/we ir"),
		NO_PREFIX(""),
		{TLS(", 'ca': '/c', 'cert': '/d', 'key': '/e'"), ""},
		{TLS(", 'ca': '/c'"), ""},
		{TLS(", 'cert': '/c'"), "w.json:1: ledger.etcd*'cert'*'key'\n"},
		{TLS(", 'key': '/c'"), "w.json:1: ledger.etcd*'key'*'cert'\n"},
		{ETCD("'endpoints': ['http://localhost'], 'ca': '/c', 'cert': '/d', 'key': '/e'"),
			"w.json:1: ledger.etcd*'ca'*https*'endpoints'\n"
			"w.json:1: ledger.etcd*'cert'*https*'endpoints'\n"
			"w.json:1: ledger.etcd*'key'*https*'endpoints'\n"},
		{ETCD("'endpoints': ['http://localhost', 'https://e'], 'ca': '/c'"), ""},
		{0},
	};

	(void)state;
	run_cases(cases);
}

static void test_defaults(void **state)
{
	struct config *config = must_parse(POLICIES("{'name': 'p', 'limit': '1Mbit/s'}"));

	(void)state;
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

static void test_values(void **state)
{
	struct config *config = must_parse(IN_GROUP("",
		"'store': '/s', 'lease': '9s', 'promise': 90, 'drift': 7, 'overlay': {'edges': "
		"[['b', 'a'], ['c', 'd'], ['d', 'a']]}, 'tree': {'degree': 3}, 'etcd': "
		"{'endpoints': ['https://x', 'https://y:1'], 'prefix': '/z', 'ca': '/ca', 'cert': "
		"'/ce', 'key': '/ke'}",
		POLICY_P ", {'name': 'q', 'allocator': 'quota', 'total': '5GB', 'match': "
			 "{'vlan': 1}}"));
	const struct ledger_config *ledger = &config->ledger;

	(void)state;
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_store),
		cmocka_unit_test(test_long_store),
		cmocka_unit_test(test_lease),
		cmocka_unit_test(test_overlay),
		cmocka_unit_test(test_etcd),
		cmocka_unit_test(test_defaults),
		cmocka_unit_test(test_values),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
