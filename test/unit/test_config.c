/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Configuration: tables of a document and every message that it gets, to the letter, in pairs of
 * just accepted and just refused. In the tables ' stands for ", and @ for the allocators' names.
 */
#include <errno.h>
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <arpa/inet.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "allocate/allocate.h"
#include "policy/config.h"
#include "policy/read.h"

#define PORTS  "'ports': {'lan': {'device': 'net_null0'}, 'wan': {'device': 'net_null1'}}, "
#define WIRES  "'wires': [{'name': 'w', 'a': 'lan', 'b': 'wan'}]"
#define GROUP2 "{'name': 'me', 'address': '10.0.0.1:1'}, {'name': 'you', 'address': '10.0.0.2:1'}"

/* Documents that are complete but for the part under test. */
#define DOC(members)                                                     \
	"{'limiter': 'me', " PORTS WIRES ", 'policies': [{'name': 'p', " \
	"'limit': '10Mbit/s'}]" members "}"
#define POLICY(members)  POLICIES("{'name': 'p'" members "}")
#define LIMITED(members) POLICY(", 'limit': '10Mbit/s'" members)
#define MATCH(members)   LIMITED(", 'match': {" members "}")
#define POLICIES(list)   "{'limiter': 'me', " PORTS WIRES ", 'policies': [" list "]}"
#define GOSSIP(members)  DOC(", 'gossip': {" members "}")
#define NET(members)                                                 \
	"{'limiter': 'me', " members ", 'policies': [{'name': 'p', " \
	"'limit': '10Mbit/s'}]}"

#define NAME63    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_"
#define TEN(text) text text text text text text text text text text

struct config_case {
	const char *document;
	const char *messages; /* all of them; without one that is no warning it is accepted */
};

static char *with_quotes(const char *text)
{
	char *copy = NULL;
	size_t size;
	FILE *out = open_memstream(&copy, &size);

	assert_non_null(out);
	for (; *text != '\0'; text++) {
		if (*text == '@')
			fputs(allocator_names(), out);
		else
			fputc(*text == '\'' ? '"' : *text, out);
	}
	fclose(out);
	return copy;
}

/* Parses as file "w.json"; the messages are the caller's to free. */
static int parse(const char *text, size_t len, char **messages, struct config **out)
{
	size_t size;
	FILE *err = open_memstream(messages, &size);
	int rc;

	assert_non_null(err);
	rc = config_parse(text, len, "w.json", err, out);
	fclose(err);
	assert_true((rc == 0) == (*out != NULL));
	return rc;
}

static bool has_error(const char *messages)
{
	for (const char *line = messages; *line != '\0'; line = strchr(line, '\n') + 1) {
		if (strncmp(line, "w.json: warning: ", strlen("w.json: warning: ")) != 0)
			return true;
	}
	return false;
}

static void run_cases(const struct config_case *cases)
{
	for (; cases->document != NULL; cases++) {
		char *document = with_quotes(cases->document),
		     *expected = with_quotes(cases->messages);
		char *messages;
		struct config *config;
		int rc = parse(document, strlen(document), &messages, &config);

		if (strcmp(messages, expected) != 0)
			fail_msg("%s\ngot:\n%sexpected:\n%s", document, messages, expected);
		if (rc != (has_error(expected) ? -EINVAL : 0))
			fail_msg("%s\nrc %d", document, rc);
		config_free(config);
		free(messages);
		free(document);
		free(expected);
	}
}

static struct config *must_parse(const char *document)
{
	char *text = with_quotes(document), *messages;
	struct config *config;

	parse(text, strlen(text), &messages, &config);
	if (config == NULL || *messages != '\0')
		fail_msg("%s\n%s", text, messages);
	free(text);
	free(messages);
	return config;
}

static void test_document(void **state)
{
	static const struct config_case cases[] = {
		{DOC(""), ""},
		{"", "w.json: empty: expected a JSON object\n"},
		{" \n\t", "w.json: empty: expected a JSON object\n"},
		{"[]", "w.json: an empty array: expected an object\n"},
		{"3", "w.json: 3: expected an object\n"},
		{"'x'", "w.json: 'x': expected an object\n"},
		{"null", "w.json: null: expected an object\n"},
		{"{}", "w.json: limiter: missing: expected a name of 1 to 63 characters "
		       "A-Z a-z 0-9 _ . -\n"},
		{"{'limiter': 'me'}",
			"w.json: warning: wires: missing: no packet is forwarded without a wire\n"
			"w.json: warning: policies: missing: every packet passes without a "
			"policy\n"},
		{"{'limiter': 'me', 'wires': [], 'policies': []}",
			"w.json: warning: wires: an empty array: no packet is forwarded without a "
			"wire\n"
			"w.json: warning: policies: an empty array: every packet passes without a "
			"policy\n"},
		{DOC(", 'worker': [1]"), "w.json: worker: unknown key: did you mean 'workers'?\n"},
		{DOC(", 'polices': [1]"),
			"w.json: polices: unknown key: did you mean 'policies'?\n"},
		{DOC(", 'gissop': {}"), "w.json: gissop: unknown key: did you mean 'gossip'?\n"},
		{DOC(", 'elastic': 1"), "w.json: elastic: unknown key\n"},
		{DOC(", 'ea': 1"), "w.json: ea: unknown key: did you mean 'eal'?\n"},
		{DOC(", 'e': 1"), "w.json: e: unknown key\n"},
		{DOC(", 'a b': 1, '\\u001b[2J': 2"),
			"w.json: ['a b']: unknown key\nw.json: ['\\u001B[2J']: unknown key\n"},
		{DOC(", '" TEN("xxxxxxxxxx") "': 1"),
			"w.json: ['" TEN("xxxxxx") "xxx...']: unknown key\n"},
		{0},
	};

	(void)state;
	run_cases(cases);
}

static void test_limiter(void **state)
{
	static const struct config_case cases[] = {
		{"{'limiter': '" NAME63 "', " PORTS WIRES ", 'policies': "
		 "[{'name': '" NAME63 "', 'limit': '10Mbit/s'}]}",
			""},
		{"{'limiter': '" NAME63 "x'}",
			"w.json: limiter: '" NAME63 "...': expected a name of 1 to 63 characters "
			"A-Z a-z 0-9 _ . -\n"},
		{"{'limiter': ''}", "w.json: limiter: '': expected a name of 1 to 63 characters "
				    "A-Z a-z 0-9 _ . -\n"},
		{"{'limiter': 'a b'}", "w.json: limiter: 'a b': expected a name of 1 to 63 "
				       "characters A-Z a-z 0-9 _ . -\n"},
		{"{'limiter': 'caf\xc3\xa9'}",
			"w.json: limiter: 'caf\\u00E9': expected a name of 1 to 63 characters "
			"A-Z a-z 0-9 _ . -\n"},
		{"{'limiter': 3}", "w.json: limiter: 3: expected a name of 1 to 63 characters "
				   "A-Z a-z 0-9 _ . -\n"},
		{0},
	};

	(void)state;
	run_cases(cases);
}

static void test_ports(void **state)
{
#define DEVICES(a, b) \
	NET("'ports': {'lan': {'device': '" a "'}, 'wan': {'device': '" b "'}}, " WIRES)
#define EXPECTED_DEVICE                                                              \
	"expected a PCI address such as '0000:03:00.0' or a virtual device such as " \
	"'net_af_packet0,iface=eth1'\n"
#define MTU(mtu)                                                   \
	NET("'ports': {'lan': {'device': 'net_null0', 'mtu': " mtu \
	    "}, 'wan': {'device': 'net_null1'}}, " WIRES)
	static const struct config_case cases[] = {
		{DEVICES("0000:03:00.0", "0000:03:00.1"), ""},
		{DEVICES("0000:03:00.0,promisc=1", "10000:e1:00.7"), ""},
		{DEVICES("net_af_packet0,iface=eth1", "net_af_packet1,iface=eth1"), ""},
		{DEVICES("03:00.0", "0000:03:00.1"),
			"w.json: ports.lan.device: '03:00.0': " EXPECTED_DEVICE},
		{DEVICES("0000:03:00.8", "0000:03:00.1"),
			"w.json: ports.lan.device: '0000:03:00.8': " EXPECTED_DEVICE},
		{DEVICES("0000:03:00.00", "0000:03:00.1"),
			"w.json: ports.lan.device: '0000:03:00.00': " EXPECTED_DEVICE},
		{DEVICES("eth0", "net_"), "w.json: ports.lan.device: 'eth0': " EXPECTED_DEVICE
					  "w.json: ports.wan.device: 'net_': " EXPECTED_DEVICE},
		{DEVICES("net_null0", "net_null 1"),
			"w.json: ports.wan.device: 'net_null 1': " EXPECTED_DEVICE},
		{DEVICES("net_null0,x=1", "net_null0,x=2"),
			"w.json: ports.wan.device: 'net_null0,x=2': expected a device of its own, "
			"ports.lan has the same\n"},
		{DEVICES("0000:0A:00.0", "0000:0a:00.0"),
			"w.json: ports.wan.device: '0000:0a:00.0': expected a device of its own, "
			"ports.lan has the same\n"},
		{DEVICES("net_null" TEN("01234") "12345", "net_null1"), ""},
		{DEVICES("net_null" TEN("01234") "123456", "net_null1"),
			"w.json: ports.lan.device: 'net_null" TEN(
				"01234") "12345...': " EXPECTED_DEVICE},
		{MTU("64"), ""},
		{MTU("63"), "w.json: ports.lan.mtu: 63: expected a whole number from 64 to "
			    "16000\n"},
		{MTU("9000"), ""},
		{MTU("16001"), "w.json: ports.lan.mtu: 16001: expected a whole number from 64 to "
			       "16000\n"},
		{MTU("1500.0"), "w.json: ports.lan.mtu: 1500.0: expected a whole number from 64 to "
				"16000\n"},
		{MTU("'1500'"), "w.json: ports.lan.mtu: '1500': expected a whole number from 64 to "
				"16000\n"},
		/* A port whose name was refused has no place that a clash could name. */
		{NET("'ports': {'a b': {'device': 'net_null0'}, 'c': {'device': 'net_null0'}}"),
			"w.json: ports['a b']: the key: expected a name of 1 to 63 characters "
			"A-Z a-z 0-9 _ . -\n"},
		{NET("'ports': []"),
			"w.json: ports: an empty array: expected an object of ports by "
			"name\n"},
		{NET("'ports': {'a.b': {'mtu': 1}, 'a b': 3}"),
			"w.json: ports['a.b'].device: missing: " EXPECTED_DEVICE
			"w.json: ports['a.b'].mtu: 1: expected a whole number from 64 to 16000\n"
			"w.json: ports['a b']: the key: expected a name of 1 to 63 characters "
			"A-Z a-z 0-9 _ . -\n"
			"w.json: ports['a b']: 3: expected an object\n"},
		{0},
	};

	(void)state;
	run_cases(cases);
}

static void test_wires(void **state)
{
#define P4(...)                                                                        \
	NET("'ports': {'p0': {'device': 'net_null0'}, 'p1': {'device': 'net_null1'}, " \
	    "'p2': {'device': 'net_null2'}, 'p3': {'device': 'net_null3'}}, "          \
	    "'wires': [" __VA_ARGS__ "]")
#define W(name, a, b) "{'name': '" name "', 'a': '" a "', 'b': '" b "'}"
	static const struct config_case cases[] = {
		{P4(W("x", "p0", "p1") ", " W("y", "p2", "p3")), ""},
		{P4(W("x", "p0", "p1")),
			"w.json: warning: ports.p2: in no wire, so it is not used\n"
			"w.json: warning: ports.p3: in no wire, so it is not used\n"},
		{P4(W("x", "p0", "p1") ", " W("y", "p2", "p1")),
			"w.json: wires[1].b: 'p1': expected a port of its own, wires[0] has the "
			"same\n"},
		{P4(W("x", "p0", "p0")),
			"w.json: wires[0].b: 'p0': expected another port than at the other end\n"},
		{P4(W("x", "p0", "p9")),
			"w.json: wires[0].b: 'p9': expected the name of a port in 'ports'\n"},
		{P4(W("x", "p0", "p1") ", " W("x", "p2", "p3")),
			"w.json: wires[1].name: 'x': expected a name of its own, wires[0] has the "
			"same\n"},
		{P4("{'name': 'x', 'a': 'p0'}"),
			"w.json: wires[0].b: missing: expected the name of a port in 'ports'\n"},
		{P4("3"), "w.json: wires[0]: 3: expected an object\n"},
		/* The order of the keys does not matter. */
		{NET("'wires': [{'b': 'wan', 'a': 'lan', 'name': 'w'}], 'ports': {'lan': "
		     "{'device': 'net_null0'}, 'wan': {'device': 'net_null1'}}"),
			""},
		{NET("'wires': {}"),
			"w.json: wires: an empty object: expected an array of wires\n"},
		{0},
	};

	(void)state;
	run_cases(cases);
}

static void test_process(void **state)
{
#define CPUS64                                                                                     \
	"2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31,32,33," \
	"34,35,36,37,38,39,40,41,42,43,44,45,46,47,48,49,50,51,52,53,54,55,56,57,58,59,60,61,62,"  \
	"63,64,65"
#define ARGS32  TEN("'-a',") TEN("'-b',") TEN("'-c',") "'-d','-e'"
#define PATH107 TEN("/123456789") "/123456"
	static const struct config_case cases[] = {
		{DOC(", 'workers': [1, 2]"), ""},
		{DOC(", 'workers': [1, 2, 1]"), "w.json: workers[2]: 1: expected each CPU once\n"},
		{DOC(", 'workers': []"),
			"w.json: workers: an empty array: expected an array of 1 to 64 CPU "
			"numbers\n"},
		{DOC(", 'workers': [" CPUS64 "]"), ""},
		{DOC(", 'workers': [1, " CPUS64 "]"),
			"w.json: workers: an array: expected an array of 1 to 64 CPU numbers\n"},
		{DOC(", 'workers': 1"),
			"w.json: workers: 1: expected an array of 1 to 64 CPU numbers\n"},
		{DOC(", 'workers': [1023]"), ""},
		{DOC(", 'workers': [1024, -1, 1.0]"),
			"w.json: workers[0]: 1024: expected a CPU number from 0 to 1023\n"
			"w.json: workers[1]: -1: expected a CPU number from 0 to 1023\n"
			"w.json: workers[2]: 1.0: expected a CPU number from 0 to 1023\n"},
		{DOC(", 'workers': [1, 0]"),
			"w.json: warning: workers[1]: 0: control has this CPU too, and a polling "
			"worker leaves it little\n"},
		{DOC(", 'workers': [0], 'idle': 'sleep'"), ""},
		{DOC(", 'workers': [0], 'control': {'cpu': 1}"), ""},
		{DOC(", 'idle': 'poll'"), ""},
		{DOC(", 'idle': 'doze'"), "w.json: idle: 'doze': expected 'poll' or 'sleep'\n"},
		{DOC(", 'idle': false"), "w.json: idle: false: expected 'poll' or 'sleep'\n"},
		{DOC(", 'eal': [" ARGS32 "]"), ""},
		{DOC(", 'eal': [" ARGS32 ",'-f']"),
			"w.json: eal: an array: expected an array of at most 32 strings\n"},
		{DOC(", 'eal': ['', 3]"),
			"w.json: eal[0]: '': expected a printable string, not empty\n"
			"w.json: eal[1]: 3: expected a printable string, not empty\n"},
		{DOC(", 'eal': ['caf\\u00e9', '\\u007f', '\\u009b2J', '\\n']"),
			"w.json: eal[1]: '\\u007F': expected a printable string, not empty\n"
			"w.json: eal[2]: '\\u009B2J': expected a printable string, not empty\n"
			"w.json: eal[3]: '\\n': expected a printable string, not empty\n"},
		{DOC(", 'control': {'socket': 'a\\u001b[2J'}"),
			"w.json: control.socket: 'a\\u001B[2J': expected a path of 1 to 107 "
			"printable characters\n"},
		{DOC(", 'eal': '--no-huge'"),
			"w.json: eal: '--no-huge': expected an array of at most 32 strings\n"},
		{DOC(", 'control': {'socket': '" PATH107 "'}"), ""},
		{DOC(", 'control': {'socket': '" PATH107 "7'}"),
			"w.json: control.socket: '/123456789/123456789/123456789/123456789/"
			"123456789/123456789/12...': expected a path of 1 to 107 printable characters\n"},
		{DOC(", 'control': {'socket': '', 'cpu': true}"),
			"w.json: control.socket: '': expected a path of 1 to 107 printable characters\n"
			"w.json: control.cpu: true: expected a whole number from 0 to 1023\n"},
		{DOC(", 'control': 'x'"), "w.json: control: 'x': expected an object\n"},
		{DOC(", 'control': {'sockte': 'x'}"),
			"w.json: control.sockte: unknown key: did you mean 'socket'?\n"},
		{0},
	};

	(void)state;
	run_cases(cases);
}

static void test_gossip(void **state)
{
#define ROSTER(...)  GOSSIP("'key_file': 'k', 'roster': [" __VA_ARGS__ "]")
#define TUNED(tuned) GOSSIP("'key_file': 'k', 'roster': [" GROUP2 "], " tuned)
#define EXPECTED_ADDRESS \
	"expected an address and port such as '10.0.0.1:7946' or '[2001:db8::1]:7946'\n"
#define LISTEN_REFUSED(text)                                                   \
	{                                                                      \
		TUNED("'listen': '" text "'"),                                 \
			"w.json: gossip.listen: '" text "': " EXPECTED_ADDRESS \
	}
	static const struct config_case cases[] = {
		{ROSTER(GROUP2), ""},
		{GOSSIP("'roster': [{'name': 'me', 'address': '10.0.0.1:1'}]"), ""},
		{GOSSIP(""),
			"w.json: gossip.roster: missing: expected an array of the limiters of the group, "
			"this one included\n"},
		{DOC(", 'gossip': []"), "w.json: gossip: an empty array: expected an object\n"},
		{ROSTER(""), "w.json: gossip.roster: an empty array: expected this limiter, "
			     "'me', in it\n"},
		{ROSTER("{'name': 'you', 'address': '10.0.0.1:1'}"),
			"w.json: gossip.roster: an array: expected this limiter, 'me', in it\n"},
		{ROSTER(GROUP2 ", {'name': 'you', 'address': '10.0.0.2:1'}"),
			"w.json: gossip.roster[2].name: 'you': expected a name of its own, "
			"gossip.roster[1] has the same\n"
			"w.json: gossip.roster[2].address: '10.0.0.2:1': expected an address of "
			"its own, gossip.roster[1] has the same\n"},
		{ROSTER(GROUP2 ", {'name': 'he', 'address': '10.0.0.2:2'}"), ""},
		{ROSTER(GROUP2 ", {'name': 'liquid', 'address': '10.0.0.3:1'}, "
			       "{'name': 'costarring', 'address': '10.0.0.4:1'}"),
			"w.json: gossip.roster[3].name: 'costarring': expected a name with a "
			"32-bit FNV-1a hash of its own, gossip.roster[2] has the same\n"},
		{ROSTER(GROUP2 ", {'name': 'v6', 'address': '[::1]:1'}"),
			"w.json: gossip.roster[2].address: '[::1]:1': expected IPv4, as this "
			"limiter listens on\n"},
		{TUNED("'listen': '[::]:1'"),
			"w.json: gossip.roster[0].address: '10.0.0.1:1': expected IPv6, as this "
			"limiter listens on\n"
			"w.json: gossip.roster[1].address: '10.0.0.2:1': expected IPv6, as this "
			"limiter listens on\n"},
		{ROSTER(GROUP2 ", {'name': 'he', 'address': '0.0.0.0:1'}"),
			"w.json: gossip.roster[2].address: '0.0.0.0:1': expected an address that "
			"the other limiters can send to\n"},
		{ROSTER(GROUP2 ", {'name': 'he', 'address': '224.0.0.1:1'}"),
			"w.json: gossip.roster[2].address: '224.0.0.1:1': expected the address of "
			"one host\n"},
		{ROSTER(GROUP2 ", {'name': 'he', 'address': '255.255.255.255:1'}"),
			"w.json: gossip.roster[2].address: '255.255.255.255:1': expected the "
			"address of one host\n"},
		{ROSTER(GROUP2 ", {'name': 'he', 'address': '[ff02::1]:1'}"),
			"w.json: gossip.roster[2].address: '[ff02::1]:1': expected the address of "
			"one host\n"},
		{ROSTER(GROUP2 ", {'nme': 'he'}"),
			"w.json: gossip.roster[2].nme: unknown key: did you mean 'name'?\n"
			"w.json: gossip.roster[2].name: missing: expected a name of 1 to 63 "
			"characters A-Z a-z 0-9 _ . -\n"
			"w.json: gossip.roster[2].address: missing: " EXPECTED_ADDRESS},
		{TUNED("'listen': '0.0.0.0:65535'"), ""},
		LISTEN_REFUSED("0.0.0.0:65536"),
		LISTEN_REFUSED("10.0.0.1:0"),
		LISTEN_REFUSED("10.0.0.1"),
		LISTEN_REFUSED("10.0.0.1:"),
		LISTEN_REFUSED(":1"),
		LISTEN_REFUSED("10.0.0.1:1x"),
		LISTEN_REFUSED("10.0.0.1:-1"),
		LISTEN_REFUSED("10.0.0.1:000001"),
		LISTEN_REFUSED("10.0.0:1"),
		LISTEN_REFUSED("010.0.0.1:1"),
		LISTEN_REFUSED("localhost:1"),
		LISTEN_REFUSED("2001:db8::1:1"),
		LISTEN_REFUSED("[2001:db8::1]"),
		LISTEN_REFUSED("[2001:db8::1:1"),
		LISTEN_REFUSED("[2001:db8::1]1"),
		LISTEN_REFUSED("[fe80::1%eth0]:1"),
		LISTEN_REFUSED("[10.0.0.1]:1"),
		LISTEN_REFUSED("[" TEN("00000") "]:1"),
		LISTEN_REFUSED(""),
		{TUNED("'branching': 1"), ""},
		{TUNED("'branching': 0"),
			"w.json: gossip.branching: 0: expected a whole number from 1 to 64\n"},
		{TUNED("'branching': 64"), ""},
		{TUNED("'branching': 65"),
			"w.json: gossip.branching: 65: expected a whole number from 1 to 64\n"},
		{TUNED("'timeout': '150ms'"), ""},
		{TUNED("'timeout': '149999999ns'"),
			"w.json: warning: gossip.timeout: '149999999ns': less than 3 intervals of "
			"50ms: a late message makes a peer lost\n"},
		{TUNED("'timeout': '99ms'"),
			"w.json: gossip.timeout: '99ms': expected 100ms to 3600s\n"},
		{TUNED("'timeout': '3600s'"), ""},
		{TUNED("'timeout': '3601s'"),
			"w.json: gossip.timeout: '3601s': expected 100ms to 3600s\n"},
		{TUNED("'timeout': '1 min'"),
			"w.json: gossip.timeout: '1 min': expected a time such as '50ms'\n"},
		{TUNED("'timeout': '200000000.5ns'"),
			"w.json: gossip.timeout: '200000000.5ns': expected a whole number of ns\n"},
		{TUNED("'datagram': '256B'"), ""},
		{TUNED("'datagram': '255B'"),
			"w.json: gossip.datagram: '255B': expected 256B to 8972B\n"},
		{TUNED("'datagram': '8972B'"), ""},
		{TUNED("'datagram': '8973B'"),
			"w.json: gossip.datagram: '8973B': expected 256B to 8972B\n"},
		{TUNED("'datagram': 1200"),
			"w.json: gossip.datagram: 1200: expected bytes such as '75kB' or "
			"'64KiB'\n"},
		{0},
	};

	(void)state;
	run_cases(cases);
}

static void test_sealing(void **state)
{
#define SEALED(members) GOSSIP("'roster': [" GROUP2 "]" members)
	static const struct config_case cases[] = {
		{SEALED(", 'key_file': '/etc/weir/key'"), ""},
		{SEALED(", 'key_file': '/etc/weir/key', 'insecure': false"), ""},
		{SEALED(""), "w.json: gossip.key_file: missing: expected the path of the key that "
			     "the 2 limiters share, or 'insecure': true\n"},
		{SEALED(", 'insecure': false"),
			"w.json: gossip.key_file: missing: expected the path of the key that the 2 "
			"limiters share, or 'insecure': true\n"},
		{SEALED(", 'insecure': true"),
			"w.json: warning: gossip.insecure: true: gossip is not sealed: whoever can "
			"send to this limiter can move its limits\n"},
		{SEALED(", 'insecure': true, 'key_file': 'k'"),
			"w.json: gossip.insecure: true: expected false beside a 'key_file'\n"},
		{SEALED(", 'insecure': 1, 'key_file': ''"),
			"w.json: gossip.key_file: '': expected a path of 1 to 4095 printable characters\n"
			"w.json: gossip.insecure: 1: expected true or false\n"},
		{0},
	};

	(void)state;
	run_cases(cases);
}

static void test_policy(void **state)
{
#define LIMIT(text)   POLICY(", 'limit': " text)
#define EXPECTED_RATE "expected bit/s such as '10Mbit/s'\n"
#define RATE_RANGE    "expected 8kbit/s to 400Gbit/s\n"
	static const struct config_case cases[] = {
		{LIMIT("'8kbit/s'"), ""},
		{LIMIT("'7999bit/s'"), "w.json: policies[0].limit: '7999bit/s': " RATE_RANGE},
		{LIMIT("'400Gbit/s'"), ""},
		{LIMIT("'400.000000001Gbit/s'"),
			"w.json: policies[0].limit: '400.000000001Gbit/s': " RATE_RANGE},
		{LIMIT("'0bit/s'"), "w.json: policies[0].limit: '0bit/s': " RATE_RANGE},
		{LIMIT("'-10Mbit/s'"), "w.json: policies[0].limit: '-10Mbit/s': " RATE_RANGE},
		{LIMIT("'20000000Tbit/s'"),
			"w.json: policies[0].limit: '20000000Tbit/s': " RATE_RANGE},
		{LIMIT("'10Mbit'"), "w.json: policies[0].limit: '10Mbit': " EXPECTED_RATE},
		{LIMIT("'1MB'"), "w.json: policies[0].limit: '1MB': " EXPECTED_RATE},
		{LIMIT("10000000"), "w.json: policies[0].limit: 10000000: " EXPECTED_RATE},
		{LIMIT("null"), "w.json: policies[0].limit: null: " EXPECTED_RATE},
		{LIMIT("['10Mbit/s']"), "w.json: policies[0].limit: an array: " EXPECTED_RATE},
		{POLICY(""), "w.json: policies[0].limit: missing: " EXPECTED_RATE},
		{LIMIT("'10000.0001kbit/s'"), "w.json: policies[0].limit: '10000.0001kbit/s': "
					      "expected a whole number of bit/s\n"},
		{LIMITED(", 'burst': '4GiB'"), ""},
		{LIMITED(", 'burst': '4294967297B'"),
			"w.json: policies[0].burst: '4294967297B': expected 1B to 4GiB\n"},
		{LIMITED(", 'burst': '0B'"),
			"w.json: policies[0].burst: '0B': expected 1B to 4GiB\n"},
		{LIMITED(", 'burst': '1518B'"), ""},
		{LIMITED(", 'burst': '1517B'"),
			"w.json: warning: policies[0].burst: '1517B': less than 1518 bytes, so the "
			"largest frames never pass\n"},
		{LIMITED(", 'burst': '12kbit'"), "w.json: policies[0].burst: '12kbit': expected "
						 "bytes such as '75kB' or '64KiB'\n"},
		{LIMITED(", 'allocator': 'static'"), ""},
		{LIMITED(", 'allocator': 'magic'"),
			"w.json: policies[0].allocator: 'magic': expected one of @\n"},
		{LIMITED(", 'allocator': 3"),
			"w.json: policies[0].allocator: 3: expected one of @\n"},
		{LIMITED(", 'allocator': 'central', 'meter': 'token-bucket', 'action': 'drop'"),
			""},
		{LIMITED(", 'meter': 'gcra', 'action': 'shape', 'accounting': 'L3'"),
			"w.json: policies[0].meter: 'gcra': expected 'token-bucket'\n"
			"w.json: policies[0].action: 'shape': expected 'drop'\n"
			"w.json: policies[0].accounting: 'L3': expected 'l3' or 'l2' or 'wire'\n"},
		{LIMITED(", 'interval': '10ms'"), ""},
		{LIMITED(", 'interval': '9999us'"),
			"w.json: policies[0].interval: '9999us': expected 10ms to 1s\n"},
		{LIMITED(", 'interval': '1s'"), ""},
		{LIMITED(", 'interval': '1.000000001s'"),
			"w.json: policies[0].interval: '1.000000001s': expected 10ms to 1s\n"},
		{LIMITED(", 'ewma': 0"), ""},
		{LIMITED(", 'ewma': 0.999"), ""},
		{LIMITED(", 'ewma': 1"),
			"w.json: policies[0].ewma: 1: expected a number from 0 to less than 1\n"},
		{LIMITED(", 'ewma': -0.001"),
			"w.json: policies[0].ewma: -0.001: expected a number from 0 to less than "
			"1\n"},
		{LIMITED(", 'ewma': '0.1'"),
			"w.json: policies[0].ewma: '0.1': expected a number from 0 to less than "
			"1\n"},
		{LIMITED(", 'limt': 1"),
			"w.json: policies[0].limt: unknown key: did you mean 'limit'?\n"},
		{GOSSIP("'key_file': 'k', 'roster': [" GROUP2 "]"), ""},
		{"{'limiter': 'me', " PORTS WIRES ", 'gossip': {'key_file': 'k', 'roster': [" GROUP2
		 "]}, 'policies': [{'name': 'p', 'limit': '1Mbit/s', 'allocator': 'central'}]}",
			"w.json: policies[0].allocator: 'central': expected an allocator that can "
			"share the limit between 2 limiters\n"},
		{0},
	};

	(void)state;
	run_cases(cases);
}

static void test_match(void **state)
{
#define EXPECTED_PREFIX "expected a prefix such as '192.0.2.0/24' or '2001:db8::/32'\n"
#define DST_REFUSED(text)                                                             \
	{                                                                             \
		MATCH("'dst': '" text "'"),                                           \
			"w.json: policies[0].match.dst: '" text "': " EXPECTED_PREFIX \
	}
#define HOST_BITS(text, right)                                                              \
	{                                                                                   \
		MATCH("'dst': '" text "'"), "w.json: policies[0].match.dst: '" text         \
					    "': expected no host bits, as in '" right "'\n" \
	}
	static const struct config_case cases[] = {
		{MATCH(""), ""},
		{MATCH("'wire': 'w', 'direction': 'b-to-a', 'vlan': 4094, 'dscp': 63"), ""},
		{MATCH("'vlan': 0, 'dscp': 0"), ""},
		{MATCH("'wire': 'x', 'direction': 'any', 'vlan': 4095, 'dscp': 64"),
			"w.json: policies[0].match.wire: 'x': expected the name of a wire in "
			"'wires'\n"
			"w.json: policies[0].match.direction: 'any': expected 'a-to-b' or "
			"'b-to-a'\n"
			"w.json: policies[0].match.vlan: 4095: expected a whole number from 0 to "
			"4094\n"
			"w.json: policies[0].match.dscp: 64: expected a whole number from 0 to "
			"63\n"},
		{MATCH("'vlan': -1, 'dscp': null"),
			"w.json: policies[0].match.vlan: -1: expected a whole number from 0 to "
			"4094\n"
			"w.json: policies[0].match.dscp: null: expected a whole number from 0 to "
			"63\n"},
		{MATCH("'dts': '10.0.0.0/8'"),
			"w.json: policies[0].match.dts: unknown key: did you mean 'dst'?\n"},
		{LIMITED(", 'match': 'all'"), "w.json: policies[0].match: 'all': expected an "
					      "object\n"},
		{MATCH("'src': '10.0.0.0/8', 'dst': '192.0.2.255/32'"), ""},
		{MATCH("'dst': '0.0.0.0/0'"), ""},
		{MATCH("'dst': '::/0'"), ""},
		{MATCH("'src': '::1/128', 'dst': '2001:db8::/32'"), ""},
		{MATCH("'src': '10.0.0.0/8', 'dst': '::/0'"),
			"w.json: policies[0].match.dst: '::/0': expected IPv4 as in src\n"},
		{MATCH("'src': '::/0', 'dst': '0.0.0.0/0'"),
			"w.json: policies[0].match.dst: '0.0.0.0/0': expected IPv6 as in src\n"},
		DST_REFUSED("192.0.2.0/33"),
		DST_REFUSED("2001:db8::/129"),
		DST_REFUSED("192.0.2.0"),
		DST_REFUSED("192.0.2.0/"),
		DST_REFUSED("192.0.2.0/-1"),
		DST_REFUSED("192.0.2.0/24x"),
		DST_REFUSED("192.0.2.0/0024"),
		DST_REFUSED("192.0.2/24"),
		DST_REFUSED("/24"),
		DST_REFUSED(""),
		DST_REFUSED("any"),
		DST_REFUSED("2001:db8:/32"),
		DST_REFUSED(TEN("0000:") "/32"),
		HOST_BITS("192.0.2.1/24", "192.0.2.0/24"),
		HOST_BITS("192.0.2.128/24", "192.0.2.0/24"),
		HOST_BITS("10.0.0.1/0", "0.0.0.0/0"),
		HOST_BITS("10.255.255.255/31", "10.255.255.254/31"),
		HOST_BITS("2001:db8::1/32", "2001:db8::/32"),
		HOST_BITS("2001:db8:8000::/32", "2001:db8::/32"),
		HOST_BITS("2001:db8::3/127", "2001:db8::2/127"),
		{0},
	};

	(void)state;
	run_cases(cases);
}

static void test_policies(void **state)
{
#define P(name, members) "{'name': '" name "', 'limit': '10Mbit/s'" members "}"
#define PM(name, match)  P(name, ", 'match': {" match "}")
#define SAME_MATCH       "expected a match of its own, policies[0] has the same\n"
	static const struct config_case cases[] = {
		{POLICIES(PM("a", "'dst': '10.0.0.0/8'") ", " PM("b", "'src': '10.0.0.0/8'")), ""},
		{POLICIES(PM("a", "'dst': '10.0.0.0/8'") ", " PM("b", "'dst': '10.0.0.0/9'")), ""},
		{POLICIES(PM("a", "'dst': '0.0.0.0/0'") ", " PM("b", "'dst': '::/0'") ", " P(
			 "c", "")),
			""},
		{POLICIES(PM("a", "'vlan': 0") ", " PM("b", "'dscp': 0") ", " PM(
			 "c", "'wire': 'w'") ", " PM("d", "'direction': 'a-to-b'")),
			""},
		{POLICIES(P("a", "") ", " P("b", "")),
			"w.json: policies[1].match: missing: " SAME_MATCH},
		{POLICIES(P("a", "") ", " PM("b", "")),
			"w.json: policies[1].match: an empty object: " SAME_MATCH},
		{POLICIES(PM("a", "'vlan': 7, 'dst': '10.0.0.0/8'") ", " PM(
			 "b", "'vlan': 8, 'dst': '10.0.0.0/8'") ", " PM("c",
			 "'dst': '10.0.0.0/8', 'vlan': 7")),
			"w.json: policies[2].match: an object: " SAME_MATCH},
		/* A match that was refused is not compared. */
		{POLICIES(PM("a", "'dst': 'x'") ", " PM("b", "'dst': 'y'")),
			"w.json: policies[0].match.dst: 'x': " EXPECTED_PREFIX
			"w.json: policies[1].match.dst: 'y': " EXPECTED_PREFIX},
		{POLICIES(P("a", "") ", " PM("a", "'vlan': 1") ", " PM("a", "'vlan': 2")),
			"w.json: policies[1].name: 'a': expected a name of its own, policies[0] "
			"has the same\n"
			"w.json: policies[2].name: 'a': expected a name of its own, policies[0] "
			"has the same\n"},
		{POLICIES(P("costarring", "") ", " PM("liquid", "'vlan': 1")),
			"w.json: policies[1].name: 'liquid': expected a name with a 32-bit FNV-1a "
			"hash of its own, policies[0] has the same\n"},
		{POLICIES(P("costarring", "") ", " PM("Liquid", "'vlan': 1")), ""},
		{POLICIES("[], " P("b", "")), "w.json: policies[0]: an empty array: expected an "
					      "object\n"},
		{0},
	};

	(void)state;
	run_cases(cases);
}

static void test_duplicate_keys(void **state)
{
#define DUPLICATE ": duplicate key: expected it once\n"
	static const struct config_case cases[] = {
		{DOC(", 'idle': 'poll', 'idle': 'sleep'"), "w.json: idle" DUPLICATE},
		{DOC(", 'idle': 'poll', 'idle': 'poll', 'idle': 'poll'"),
			"w.json: idle" DUPLICATE "w.json: idle" DUPLICATE},
		{LIMITED(", 'limit': '10Mbit/s'"), "w.json: policies[0].limit" DUPLICATE},
		/* However it is spelt. */
		{LIMITED(", 'l\\u0069mit': '10Mbit/s'"), "w.json: policies[0].limit" DUPLICATE},
		{LIMITED(", 'a\\/\\n\\u00e9\\ud83d\\ude00': 1, 'a/\\u000a\xc3\xa9\xf0\x9f\x98\x80': 1"),
			"w.json: policies[0]['a/\\n\\u00E9\\uD83D\\uDE00']" DUPLICATE
			"w.json: policies[0]['a/\\n\\u00E9\\uD83D\\uDE00']: unknown key\n"},
		{DOC(", 'gossip': {'roster': [{'name': 'me', 'address': '10.0.0.1:1'}, "
		     "{'name': 'me', 'name': 'you', 'address': '10.0.0.2:1'}], 'key_file': 'k', "
		     "'key_file': 'k'}, 'eal': ['name', 'name', ',', '{', ':'], 'eal': []"),
			"w.json: gossip.roster[1].name" DUPLICATE
			"w.json: gossip.key_file" DUPLICATE "w.json: eal" DUPLICATE},
		{DOC(", 'x': [[{}, {'y': [1, 2, {'z': 1, 'z': 'z'}]}]]"),
			"w.json: x[0][1].y[2].z" DUPLICATE "w.json: x: unknown key\n"},
		{NET("'ports': {'lan': {'device': 'net_null0'}, 'wan': {'device': 'net_null1'}, "
		     "'lan': {'device': 'net_null2'}}, " WIRES),
			"w.json: ports.lan" DUPLICATE},
		{"[{'a': 1, 'a': 2}]",
			"w.json: [0].a" DUPLICATE "w.json: an array: expected an object\n"},
		{0},
	};

	(void)state;
	run_cases(cases);
}

static void test_all_errors(void **state)
{
	static const struct config_case cases[] = {
		{"{'limiter': 'a b', 'ports': {'lan': {'device': 'net_null0', 'device': 'eth0', "
		 "'mtu': 5}, 'wan': {}}, 'wires': [{'name': 'w', 'a': 'lan', 'b': 'lan'}, 3], "
		 "'idle': 0, 'gossip': {'roster': [{'name': 'x', 'address': 'y'}, {'name': 'x', "
		 "'address': '10.0.0.1:1'}]}, 'policies': [{'limit': '1kbit/s', 'limti': 1}, "
		 "{'name': 'p', 'match': {'src': '10.0.0.1/8'}, 'burst': 'x'}], 'nonsense': []}",
			"w.json: ports.lan.device: duplicate key: expected it once\n"
			"w.json: nonsense: unknown key\n"
			"w.json: limiter: 'a b': expected a name of 1 to 63 characters "
			"A-Z a-z 0-9 _ . -\n"
			"w.json: ports.lan.device: 'eth0': " EXPECTED_DEVICE
			"w.json: ports.lan.mtu: 5: expected a whole number from 64 to 16000\n"
			"w.json: ports.wan.device: missing: " EXPECTED_DEVICE
			"w.json: wires[1]: 3: expected an object\n"
			"w.json: idle: 0: expected 'poll' or 'sleep'\n"
			"w.json: gossip.roster[0].address: 'y': " EXPECTED_ADDRESS
			"w.json: policies[0].limti: unknown key: did you mean 'limit'?\n"
			"w.json: policies[0].name: missing: expected a name of 1 to 63 characters "
			"A-Z a-z 0-9 _ . -\n"
			"w.json: policies[0].limit: '1kbit/s': " RATE_RANGE
			"w.json: policies[1].match.src: '10.0.0.1/8': expected no host bits, as in "
			"'10.0.0.0/8'\n"
			"w.json: policies[1].limit: missing: " EXPECTED_RATE
			"w.json: policies[1].burst: 'x': expected bytes such as '75kB' or "
			"'64KiB'\n"
			"w.json: gossip.roster[1].name: 'x': expected a name of its own, "
			"gossip.roster[0] has the same\n"
			"w.json: wires[0].b: 'lan': expected another port than at the other end\n"
			"w.json: gossip.key_file: missing: expected the path of the key that the 2 "
			"limiters share, or 'insecure': true\n"},
		{0},
	};

	(void)state;
	run_cases(cases);
}

/* Nothing but one clean line, with a place, for what is not JSON. */
static void refuse_syntax(const char *text, size_t len, const char *start)
{
	struct config *config;
	char *messages;

	assert_int_equal(parse(text, len, &messages, &config), -EINVAL);
	if (strncmp(messages, start, strlen(start)) != 0)
		fail_msg("got %s, expected %s", messages, start);
	assert_ptr_equal(strchr(messages, '\n'), messages + strlen(messages) - 1);
	for (const char *at = messages; *at != '\n'; at++)
		assert_in_range(*at, ' ', '~');
	free(messages);
}

static void test_syntax(void **state)
{
	static const struct {
		const char *text;
		size_t len;
		const char *start;
	} cases[] = {
#define SYNTAX(text, start) {text, sizeof(text) - 1, start}
		SYNTAX("{", "w.json:1:1: "),
		SYNTAX("{\"a\": 1,\n \"b\" 2}", "w.json:2:6: "),
		SYNTAX("{\"limiter\": \"a\",}", "w.json:1:17: "),
		SYNTAX("{} {}", "w.json:1:4: "),
		SYNTAX("{\"a\": 'b'}", "w.json:1:7: "),
		SYNTAX("{\"a\": \"\x1b[2J\"}", "w.json:1:"),
		SYNTAX("\x1b[2J", "w.json:1:"),
		SYNTAX("{\"a\": \"\xff\xfe\"}", "w.json:1:"),
		SYNTAX("{\"a\": \"\xed\xa0\x80\"}", "w.json:1:"),
		SYNTAX("{\"a\": \"\\ud800\"}", "w.json:1:"),
		SYNTAX("{\"a\": \"x\\u0000y\"}", "w.json:1:"),
		SYNTAX("{\"a\\u0000b\": 1}", "w.json:1:"),
		SYNTAX("{\"a\": \"x\0y\"}", "w.json:1:"),
		SYNTAX("\0", "w.json:1:"),
		SYNTAX("{}\0", "w.json:1:"),
		SYNTAX("{\"a\": 99999999999999999999}", "w.json:1:"),
		SYNTAX("{\"a\": 1e999}", "w.json:1:"),
		SYNTAX("\xef\xbb\xbf{}", "w.json:1:"),
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		refuse_syntax(cases[i].text, cases[i].len, cases[i].start);
}

static void test_deep_nesting(void **state)
{
	size_t len = 1000000;
	char *text = malloc(len);

	(void)state;
	assert_non_null(text);
	memset(text, '[', len);
	refuse_syntax(text, len, "w.json:1:");
	free(text);
}

/* As deep as the parser goes: the scanner and the paths must go there too. */
static void test_deep_duplicate(void **state)
{
	enum { DEPTH = 1000 };
	char *text = NULL, *messages;
	struct config *config;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	(void)state;
	assert_non_null(out);
	for (int i = 0; i < DEPTH; i++)
		fputs("{\"a\":[", out);
	fputs("{\"b\":1,\"b\":2}", out);
	for (int i = 0; i < DEPTH; i++)
		fputs("]}", out);
	fclose(out);
	assert_int_equal(parse(text, size, &messages, &config), -EINVAL);
	assert_non_null(strstr(messages, "a[0].a[0].b: duplicate key: expected it once\n"));
	free(messages);
	free(text);
}

/* A roster or a list of policies at its largest size, and one more. */
static char *make_policies(unsigned n, size_t *size)
{
	char *text = NULL;
	FILE *out = open_memstream(&text, size);

	assert_non_null(out);
	fputs("{\"limiter\":\"me\",\"policies\":[", out);
	for (unsigned i = 0; i < n; i++)
		fprintf(out,
			"%s{\"name\":\"p%u\",\"limit\":\"1Mbit/s\",\"match\":{\"dst\":"
			"\"10.%u.%u.0/24\"}}",
			i > 0 ? "," : "", i, i / 256, i % 256);
	fputs("]}", out);
	fclose(out);
	return text;
}

static void test_many_policies(void **state)
{
	char *text, *messages;
	struct config *config;
	size_t size;

	(void)state;
	text = make_policies(CONFIG_POLICIES_MAX, &size);
	assert_int_equal(parse(text, size, &messages, &config), 0);
	assert_int_equal(config->n_policies, CONFIG_POLICIES_MAX);
	config_free(config);
	free(text);
	free(messages);

	text = make_policies(CONFIG_POLICIES_MAX + 1, &size);
	assert_int_equal(parse(text, size, &messages, &config), -EINVAL);
	assert_string_equal(messages, "w.json: policies: 16385 in all: expected at most 16384\n");
	free(text);
	free(messages);
}

/* A wire to the last of too many ports: the list is refused, and no place is made for the end. */
static void test_many_ports(void **state)
{
	char *text = NULL, *messages;
	struct config *config;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	(void)state;
	assert_non_null(out);
	fputs("{\"limiter\":\"me\",\"ports\":{", out);
	for (unsigned i = 0; i <= CONFIG_PORTS_MAX; i++)
		fprintf(out, "%s\"p%u\":{\"device\":\"net_null%u\"}", i > 0 ? "," : "", i, i);
	fprintf(out, "},\"wires\":[{\"name\":\"w\",\"a\":\"p0\",\"b\":\"p%u\"}]}",
		CONFIG_PORTS_MAX);
	fclose(out);
	assert_int_equal(parse(text, size, &messages, &config), -EINVAL);
	assert_string_equal(messages, "w.json: ports: 33 in all: expected at most 32\n");
	free(text);
	free(messages);
}

/* Ten thousand limiters, and that no two of them clash, in far less than a second. */
static void test_many_limiters(void **state)
{
	char *text = NULL, *messages;
	struct config *config;
	size_t size;
	FILE *out = open_memstream(&text, &size);
	clock_t began;

	(void)state;
	assert_non_null(out);
	fputs("{\"limiter\":\"l9999\",\"gossip\":{\"key_file\":\"k\",\"roster\":[", out);
	for (unsigned i = 0; i < 10000; i++)
		fprintf(out, "%s{\"name\":\"l%u\",\"address\":\"10.0.%u.%u:7946\"}",
			i > 0 ? "," : "", i, i / 256, i % 256);
	fputs("]}}", out);
	fclose(out);
	began = clock();
	assert_int_equal(parse(text, size, &messages, &config), 0);
	assert_in_range(clock() - began, 0, CLOCKS_PER_SEC);
	assert_int_equal(config->gossip.n_roster, 10000);
	assert_int_equal(config->gossip.self, 9999);
	config_free(config);
	free(text);
	free(messages);
}

static void test_defaults(void **state)
{
	struct config *config = must_parse(DOC(""));
	const struct policy *policy = &config->policies[0];

	(void)state;
	assert_string_equal(config->limiter, "me");
	assert_int_equal(config->n_eal, 0);
	assert_int_equal(config->ports[0].mtu, 1500);
	assert_int_equal(config->n_workers, 1);
	assert_int_equal(config->workers[0], 1);
	assert_int_equal(config->idle, IDLE_POLL);
	assert_int_equal(config->control_cpu, 0);
	assert_string_equal(config->control_socket, "/run/weir/me.sock");
	assert_int_equal(config->gossip.n_roster, 1);
	assert_int_equal(config->gossip.self, 0);
	assert_string_equal(config->gossip.roster[0].name, "me");
	assert_int_equal(config->gossip.listen_len, 0);
	assert_int_equal(policy->match.wire, CONFIG_ANY);
	assert_int_equal(policy->match.vlan, CONFIG_ANY);
	assert_int_equal(policy->match.dscp, CONFIG_ANY);
	assert_int_equal(policy->match.direction, DIRECTION_ANY);
	assert_int_equal(policy->match.src.family, 0);
	assert_int_equal(policy->limit_bps, 10000000);
	assert_int_equal(policy->burst_bytes, 125000);
	assert_string_equal(policy->allocator->name, "central");
	assert_int_equal(policy->accounting, ACCOUNTING_L3);
	assert_int_equal(policy->interval_ns, 50000000);
	assert_float_equal(policy->keep_per_second, 0.1, 0);
	config_free(config);
}

static void test_group_defaults(void **state)
{
	struct config *config = must_parse(
		GOSSIP("'key_file': 'k', 'roster': [{'name': 'you', 'address': '10.0.0.2:1'}, "
		       "{'name': 'me', 'address': '10.0.0.1:7946'}]"));
	const struct sockaddr_in *at = (const struct sockaddr_in *)&config->gossip.listen;

	(void)state;
	assert_int_equal(config->gossip.n_roster, 2);
	assert_int_equal(config->gossip.self, 1);
	assert_int_equal(config->gossip.listen_len, sizeof(*at));
	assert_int_equal(at->sin_family, AF_INET);
	assert_int_equal(ntohl(at->sin_addr.s_addr), 0x0a000001);
	assert_int_equal(ntohs(at->sin_port), 7946);
	assert_int_equal(config->gossip.branching, 3);
	assert_int_equal(config->gossip.timeout_ns, 1000000000);
	assert_int_equal(config->gossip.datagram_max, 1200);
	assert_string_equal(config->gossip.key_file, "k");
	assert_string_equal(config->policies[0].allocator->name, "fps");
	config_free(config);
}

/* In a group of one there is nobody to hear, whatever the addresses. */
static void test_group_of_one(void **state)
{
	struct config *config = must_parse(
		GOSSIP("'listen': '10.0.0.1:2', 'roster': [{'name': 'me', 'address': "
		       "'10.0.0.1:1'}]"));

	(void)state;
	assert_int_equal(config->gossip.n_roster, 1);
	assert_int_equal(config->gossip.listen_len, 0);
	assert_string_equal(config->policies[0].allocator->name, "central");
	config_free(config);
}

static void test_everything(void **state)
{
	struct config *config = must_parse(
		"{'limiter': 'me', 'eal': ['--no-huge', '-m'], " PORTS WIRES
		", 'workers': [5, 4], 'idle': 'sleep', 'control': {'socket': '/tmp/s', 'cpu': 3}, "
		"'gossip': {'listen': '[::]:9', 'roster': [{'name': 'me', 'address': "
		"'[2001:db8::1]:8'}, {'name': 'you', 'address': '[2001:db8::2]:8'}], 'key_file': "
		"'/k', 'insecure': false, 'branching': 7, 'timeout': '2.5s', 'datagram': '1kB'}, "
		"'policies': [{'name': 'p', 'match': {'wire': 'w', 'direction': 'b-to-a', 'src': "
		"'2001:db8:4::/46', 'dst': '::/0', 'vlan': 7, 'dscp': 46}, 'limit': '1.5Gbit/s', "
		"'burst': '64KiB', 'allocator': 'static', 'meter': 'token-bucket', 'action': "
		"'drop', 'accounting': 'wire', 'interval': '100ms', 'ewma': 0.25}]}");
	const struct sockaddr_in6 *at = (const struct sockaddr_in6 *)&config->gossip.listen;
	const struct policy *policy = &config->policies[0];
	char text[64];

	(void)state;
	assert_int_equal(config->n_eal, 2);
	assert_string_equal(config->eal[1], "-m");
	assert_int_equal(config->wires[0].a, 0);
	assert_int_equal(config->wires[0].b, 1);
	assert_int_equal(config->workers[0], 5);
	assert_int_equal(config->workers[1], 4);
	assert_int_equal(config->idle, IDLE_SLEEP);
	assert_string_equal(config->control_socket, "/tmp/s");
	assert_int_equal(config->control_cpu, 3);
	assert_true(IN6_IS_ADDR_UNSPECIFIED(&at->sin6_addr));
	assert_int_equal(ntohs(at->sin6_port), 9);
	assert_int_equal(config->gossip.branching, 7);
	assert_int_equal(config->gossip.timeout_ns, 2500000000);
	assert_int_equal(config->gossip.datagram_max, 1000);
	assert_int_equal(policy->match.wire, 0);
	assert_int_equal(policy->match.direction, DIRECTION_B_TO_A);
	assert_int_equal(policy->match.vlan, 7);
	assert_int_equal(policy->match.dscp, 46);
	assert_string_equal(
		prefix_format(&policy->match.src, text, sizeof(text)), "2001:db8:4::/46");
	assert_string_equal(prefix_format(&policy->match.dst, text, sizeof(text)), "::/0");
	assert_int_equal(policy->limit_bps, 1500000000);
	assert_int_equal(policy->burst_bytes, 65536);
	assert_string_equal(policy->allocator->name, "static");
	assert_int_equal(policy->accounting, ACCOUNTING_WIRE);
	assert_int_equal(policy->interval_ns, 100000000);
	assert_float_equal(policy->keep_per_second, 0.25, 0);
	config_free(config);
}

/* 100 ms of the limit, but neither less than ten packets nor more than any burst may be. */
static void test_default_burst(void **state)
{
	static const struct {
		const char *limit;
		uint64_t burst;
	} cases[] = {
		{"8kbit/s", 15000},
		{"1.2Mbit/s", 15000},
		{"1200080bit/s", 15001},
		{"10Gbit/s", 125000000},
		{"343Gbit/s", 4287500000},
		{"400Gbit/s", 4294967296},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct config *config;
		char document[512];

		snprintf(document, sizeof(document), POLICY(", 'limit': '%s'"), cases[i].limit);
		config = must_parse(document);
		assert_int_equal(config->policies[0].burst_bytes, cases[i].burst);
		config_free(config);
	}
}

static void refuse_file(const char *path, int rc, const char *message)
{
	struct config *config = (struct config *)&config;
	char *messages;
	size_t size;
	FILE *err = open_memstream(&messages, &size);

	assert_non_null(err);
	assert_int_equal(config_load(path, err, &config), rc);
	assert_null(config);
	fclose(err);
	assert_string_equal(messages, message);
	free(messages);
}

static void test_files(void **state)
{
	char path[] = "/tmp/weir-config-XXXXXX";
	char message[128];
	int fd = mkstemp(path);

	(void)state;
	assert_true(fd >= 0);
	refuse_file("/", -EISDIR, "/: Is a directory\n");
	refuse_file(
		"/nonexistent/w.json", -ENOENT, "/nonexistent/w.json: No such file or directory\n");
	snprintf(message, sizeof(message), "%s: empty: expected a JSON object\n", path);
	refuse_file(path, -EINVAL, message);
	assert_int_equal(ftruncate(fd, READER_FILE_MAX + 1), 0);
	snprintf(message, sizeof(message), "%s: File too large\n", path);
	refuse_file(path, -EFBIG, message);
	close(fd);
	unlink(path);
}

/* The examples, found from where this file was compiled from, without an error or a warning. */
static void test_examples(void **state)
{
	static const char *const names[] = {"single.json", "group-of-two.json"};
	int root = (int)(strlen(__FILE__) - strlen("test/unit/test_config.c"));

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		struct config *config;
		char path[512];

		snprintf(path, sizeof(path), "%.*sconfig/%s", root, __FILE__, names[i]);
		assert_int_equal(config_load(path, stderr, &config), 0);
		assert_true(config->n_policies > 0);
		config_free(config);
	}
}

static const char *const described[] = {
	"limiter me\n  1 worker on CPU 1, always polling\n",
	"  control on CPU 0, socket /run/weir/me.sock\n",
	"port lan: net_null0, MTU 1500\n",
	"wire w: a is lan, b is wan\n",
	"group: N = 2 limiters\n  me at 10.0.0.1:1 (this limiter)\n  you at 10.0.0.2:1\n",
	"gossip: sealed with the key in k\n  listens on 10.0.0.1:1\n",
	"  tells 1 peer an interval, in datagrams of at most 1200 bytes\n",
	"counts as lost and takes 1/2 of each limit with it\n",
	"policy p\n  takes wire w, from 10.0.0.0/8, DSCP 0\n",
	"  limit 10Mbit/s of L3 bytes (without Ethernet and VLAN headers), over all 2 limiters\n",
	"  burst 125kB",
	"  allocator fps every 50ms",
	"  at a full partition, and at the start: 5Mbit/s here (limit/2)\n",
};

static char *describe(const struct config *config)
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
		"]}, 'policies': "
		"[{'name': 'p', 'limit': '10Mbit/s', 'match': {'wire': 'w', 'src': "
		"'10.0.0.0/8', 'dscp': 0}}]}");
	char *text = describe(config);

	(void)state;
	for (size_t i = 0; i < sizeof(described) / sizeof(described[0]); i++) {
		if (strstr(text, described[i]) == NULL)
			fail_msg("not in\n%s\n: %s", text, described[i]);
	}
	free(text);
	config->gossip.key_file[0] = '\0';
	text = describe(config);
	assert_non_null(strstr(text, "gossip: NOT SEALED (insecure)"));
	free(text);
	config_free(config);
}

static void test_describe_alone(void **state)
{
	struct config *config = must_parse(DOC(""));
	char *text = describe(config);

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
		cmocka_unit_test(test_document),
		cmocka_unit_test(test_limiter),
		cmocka_unit_test(test_ports),
		cmocka_unit_test(test_wires),
		cmocka_unit_test(test_process),
		cmocka_unit_test(test_gossip),
		cmocka_unit_test(test_sealing),
		cmocka_unit_test(test_policy),
		cmocka_unit_test(test_match),
		cmocka_unit_test(test_policies),
		cmocka_unit_test(test_duplicate_keys),
		cmocka_unit_test(test_all_errors),
		cmocka_unit_test(test_syntax),
		cmocka_unit_test(test_deep_nesting),
		cmocka_unit_test(test_deep_duplicate),
		cmocka_unit_test(test_many_policies),
		cmocka_unit_test(test_many_ports),
		cmocka_unit_test(test_many_limiters),
		cmocka_unit_test(test_defaults),
		cmocka_unit_test(test_group_defaults),
		cmocka_unit_test(test_group_of_one),
		cmocka_unit_test(test_everything),
		cmocka_unit_test(test_default_burst),
		cmocka_unit_test(test_files),
		cmocka_unit_test(test_examples),
		cmocka_unit_test(test_describe),
		cmocka_unit_test(test_describe_alone),
		cmocka_unit_test(test_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
