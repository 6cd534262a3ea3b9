/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Configuration of the limiter and its group, in pairs of just accepted and just refused. Policies:
 * test_policy.c; invalid JSON: test_syntax.c.
 */
#include "check.h"

#include <time.h>

#include <arpa/inet.h>
#include <sys/stat.h>

#include "config/load.h"
#include "config_cases.h"

#include "allocate/allocate.h"

#include "json/read.h"
#include "policy/value.h"

TEST(test_document)
{
	static const struct config_case cases[] = {
		{DOC(""), ""},
		{"", "empty_document"},
		{" \n\t", "empty_document"},
		{"[]", "not_object"},
		{"3", "not_object"},
		{"'x'", "not_object"},
		{"null", "not_object"},
		{"{}", "limiter: wrong_name"},
		{"{'limiter': 'me'}", "warning: wires: no_wires\n"
				      "warning: policies: no_policies"},
		{"{'limiter': 'me', 'wires': [], 'policies': []}",
			"warning: wires: no_wires\n"
			"warning: policies: no_policies"},
		{DOC(", 'worker': [1]"), "worker: unknown_key: did you mean 'workers'?"},
		{DOC(", 'polices': [1]"), "polices: unknown_key: did you mean 'policies'?"},
		{DOC(", 'gissop': {}"), "gissop: unknown_key: did you mean 'gossip'?"},
		{DOC(", 'elastic': 1"), "elastic: unknown_key: *see*"},
		{DOC(", 'ea': 1"), "ea: unknown_key: did you mean 'eal'?"},
		{DOC(", 'e': 1"), "e: unknown_key: *see*"},
		{DOC(", 'a b': 1, '\\u001b[2J': 2"), "['a b']: unknown_key: *see*\n"
						     "['\\u001B[2J']: unknown_key: *see*"},
		{DOC(", '" TEN("xxxxxxxxxx") "': 1"),
			"['xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx...']: unknown_key: *see*"},
		{0},
	};

	run_cases(cases);
}

TEST(test_host)
{
#define PORT_OF(lan, wan) NET("'ports': {'lan': {" lan "}, 'wan': {" wan "}}, " WIRES)
#define LAN_XDP(more) \
	PORT_OF("'device': 'net_af_xdp0,iface=a'" more, "'device': 'net_af_xdp1,iface=b'" more)
	static const struct config_case cases[] = {
		{DOC(", 'eal': ['-l', '2']"), "eal[0]: eal_argument: *-l"},
		{PORT_OF("'device': 'net_af_xdp0'", "'device': 'net_null1'"),
			"ports.lan.device: af_xdp_without_interface: *net_af_xdp0"},
		{LAN_XDP(", 'mtu': 9000"),
			"ports.lan.mtu: af_xdp_mtu: 3262\nports.wan.mtu: af_xdp_mtu: 3262"},
		{LAN_XDP(", 'buffer_size': 16384"),
			"ports.lan.buffer_size: af_xdp_buffer: 3584\nports.wan.buffer_size: af_xdp_buffer: 3584"},
		{DOC(", 'control': {'socket': 'weir.sock'}"),
			"warning: control.socket: socket_relative"},
		{GOSSIP("'key_file': 'k', 'roster': [{'name': 'me', 'address': '10.0.0.1:1'}, {'name': 'you', 'address': '127.0.0.1:1'}]"),
			"warning: gossip.roster[1].address: peer_loopback"},
		{POLICIES("{'name': '-p', 'limit': '1Mbit/s'}"), "p0.name: name_like_option"},
		{0},
	};

	run_cases(cases);
}

/* A key that cannot change while a limiter runs. */
TEST(test_running)
{
	char *text = with_quotes(DOC(", 'workers': [3]"));
	struct config *running = must_parse(DOC("")), *config;
	struct message_lines lines;
	struct config_load load = {
		.path = "w.json", .text = text, .len = strlen(text), .running = running};
	char *got;

	load.diagnostics = message_lines_begin(&lines);
	assert_int_equal(config_load_with(&load, &config), -EINVAL);
	got = message_lines_end(&lines);
	assert_lines(
		got, "workers: cannot_apply: restart it, cannot change while the limiter runs");
	free(got);
	free(text);
	config_free(running);
}

TEST(test_limiter)
{
	static const struct config_case cases[] = {
		{"{'limiter': '" NAME63 "', " PORTS WIRES ", 'policies': "
		 "[{'name': '" NAME63 "', 'limit': '10Mbit/s'}]}",
			""},
		{"{'limiter': '" NAME63 "x'}", "limiter: wrong_name"},
		{"{'limiter': ''}", "limiter: wrong_name"},
		{"{'limiter': 'a b'}", "limiter: wrong_name"},
		{"{'limiter': 'caf\xc3\xa9'}", "limiter: wrong_name"},
		{"{'limiter': 3}", "limiter: wrong_name"},
		{0},
	};

	run_cases(cases);
}

TEST(test_ports)
{
#define DEVICES(a, b) \
	NET("'ports': {'lan': {'device': '" a "'}, 'wan': {'device': '" b "'}}, " WIRES)
#define OFFLOADS(mode)                                                    \
	NET("'ports': {'lan': {'device': 'net_null0', 'offloads': '" mode \
	    "'}, 'wan': {'device': 'net_null1'}}, " WIRES)
#define FAIL(device, keys)                                                                      \
	NET("'ports': {'lan': {'device': '" device "0,iface=eth0'}, 'wan': {'device': '" device \
	    "1,iface=eth1'}}, 'wires': [{'name': 'w', 'a': 'lan', 'b': 'wan', " keys "}]")
#define PLANE(lan, wan, keys)                                                 \
	NET("'ports': {'lan': {'device': '" lan "'}, 'wan': {'device': '" wan \
	    "'}}, 'wires': [{'name': 'w', 'a': 'lan', 'b': 'wan', " keys "}]")
#define FAIL_WITH(policy)                                                             \
	"{'limiter': 'me', 'ports': {'lan': {'device': 'net_af_xdp0,iface=eth0'}, "   \
	"'wan': {'device': 'net_af_xdp1,iface=eth1'}, 'p': {'device': 'net_null0'}, " \
	"'q': {'device': 'net_null1'}}, 'wires': ["                                   \
	"{'name': 'v', 'a': 'p', 'b': 'q'}, "                                         \
	"{'name': 'w', 'a': 'lan', 'b': 'wan', 'fail': 'open'}], "                    \
	"'policies': [{'name': 'x', " policy "}]}"
#define MTU(mtu)                                                   \
	NET("'ports': {'lan': {'device': 'net_null0', 'mtu': " mtu \
	    "}, 'wan': {'device': 'net_null1'}}, " WIRES)
#define LAN(key)                                            \
	NET("'ports': {'lan': {'device': 'net_null0', " key \
	    "}, 'wan': {'device': 'net_null1'}}, " WIRES)
	static const struct config_case cases[] = {
		{DEVICES("0000:03:00.0", "0000:03:00.1"), ""},
		{DEVICES("0000:03:00.0,promisc=1", "10000:e1:00.7"), ""},
		{DEVICES("net_af_packet0,iface=eth1", "net_af_packet1,iface=eth1"), ""},
		{DEVICES("03:00.0", "0000:03:00.1"),
			"ports.lan.device: wrong_value: *did you mean '0000:03:00.0'?"},
		{DEVICES("0000:03:00.8", "0000:03:00.1"), "ports.lan.device: wrong_value"},
		{DEVICES("0000:03:00.00", "0000:03:00.1"), "ports.lan.device: wrong_value"},
		{DEVICES("eth0", "net_"),
			"ports.lan.device: wrong_value: *did you mean 'net_af_packet0,iface=eth0'?\n"
			"ports.wan.device: wrong_value"},
		{DEVICES("net_null0", "net_null 1"), "ports.wan.device: wrong_value"},
		{DEVICES("net_null0,x=1", "net_null0,x=2"),
			"ports.wan.device: not_unique: device, *ports.lan (w.json:1)"},
		{DEVICES("0000:0A:00.0", "0000:0a:00.0"),
			"ports.wan.device: not_unique: device, *ports.lan (w.json:1)"},
		{DEVICES("net_null" TEN("01234") "12345", "net_null1"), ""},
		{DEVICES("net_null" TEN("01234") "123456", "net_null1"),
			"ports.lan.device: wrong_value"},
		{FAIL("net_af_xdp", "'fail': 'open'"), ""},
		{FAIL("net_af_packet", "'fail': 'open', 'fail_after': '20ms'"), ""},
		{FAIL("net_null", "'fail': 'closed'"), ""},
		{FAIL("net_null", "'fail': 'open'"), "wires[0].fail: fail_needs_kernel_port: lan"},
		{PLANE("xdp:eth0", "xdp:eth1", "'fail': 'last-limits', 'fail_after': '20ms'"), ""},
		{PLANE("xdp:eth0", "xdp:eth1", "'fail': 'closed', 'fail_after': '20ms'"), ""},
		{PLANE("xdp:eth0", "xdp:eth0123456789ab", "'fail': 'open'"), ""},
		{PLANE("xdp:eth0", "xdp:eth0123456789abc", "'link': 'keep'"),
			"ports.wan.device: wrong_value"},
		{PLANE("xdp:", "xdp:eth1,queues=1", "'link': 'keep'"),
			"ports.lan.device: wrong_value\n"
			"ports.wan.device: wrong_value"},
		{PLANE("xdp:eth0', 'queues': 2, 'mtu': 1500, 'note': '", "xdp:eth1",
			 "'link': 'keep'"),
			"ports.lan.queues: queues_of_xdp"},
		{PLANE("xdp:eth0', 'generic': true, 'note': '", "xdp:eth1", "'link': 'keep'"),
			"wires[0].b: wire_mixes_generic: lan"},
		{PLANE("xdp:eth0", "xdp:eth1', 'generic': true, 'note': '", "'link': 'keep'"),
			"wires[0].b: wire_mixes_generic: wan"},
		{PLANE("xdp:eth0', 'generic': true, 'note': '",
			 "xdp:eth1', 'generic': true, 'note': '", "'link': 'keep'"),
			""},
		{LAN("'generic': true"), "ports.lan.generic: needs_xdp"},
		{PLANE("net_af_xdp0,iface=eth0", "net_null1", "'fail': 'open'"),
			"wires[0].fail: fail_needs_kernel_port: wan"},
		{PLANE("xdp:eth0", "xdp:eth1", "'fail_after': '20ms'"), ""},
		{PLANE("xdp:eth0", "net_af_xdp1,iface=eth1", "'link': 'keep'"),
			"wires[0].b: wire_mixes_xdp: lan"},
		{PLANE("net_af_xdp1,iface=eth1", "xdp:eth0", "'link': 'keep'"),
			"wires[0].b: wire_mixes_xdp: wan"},
		{FAIL("net_af_xdp", "'fail': 'last-limits'"),
			"wires[0].fail: last_limits_need_xdp"},
		{FAIL_WITH("'limit': '8Mbit/s', 'guarantee': 'hard'"),
			"wires[1].fail: fail_open_hard: x"},
		{FAIL_WITH("'limit': '8Mbit/s', 'guarantee': 'hard', 'match': {'wire': 'w'}"),
			"wires[1].fail: fail_open_hard: x"},
		{FAIL_WITH("'limit': '8Mbit/s', 'guarantee': 'hard', 'match': {'wire': 'v'}"), ""},
		{FAIL_WITH("'allocator': 'quota', 'total': '1GB'"),
			"wires[1].fail: fail_open_hard: x"},
		{FAIL("net_af_xdp", "'fail': 'wire'"),
			"warning: wires[0].fail: word_renamed: open"},
		{FAIL("net_af_xdp", "'fail': 'bypass'"),
			"wires[0].fail: wrong_choice: *did you mean 'open'?"},
		{FAIL("net_af_xdp", "'fail': 'open', 'fail_after': '10s'"), ""},
		{FAIL("net_af_xdp", "'link': 'up'"),
			"wires[0].link: wrong_choice: *did you mean 'keep'?"},
		{FAIL("net_af_xdp", "'fail_after': '100ms'"),
			"wires[0].fail_after: fail_after_needs_open"},
		{MTU("1500"), ""},
		{MTU("64"), "warning: wires[0]: mtu_uneven: lan, 64, wan, 1500"},
		{MTU("63"), "ports.lan.mtu: integer_range: 64, 16000"},
		{MTU("9000"), "warning: wires[0]: mtu_uneven: lan, 9000, wan, 1500"},
		{MTU("16001"), "ports.lan.mtu: integer_range: 64, 16000"},
		{MTU("1500.0"), "ports.lan.mtu: integer_range: 64, 16000"},
		{MTU("'1500'"), "ports.lan.mtu: integer_range: 64, 16000"},
		{LAN("'queues': 1"), ""},
		{LAN("'queues': 64, 'buffer_size': 2048"), ""},
		{LAN("'buffer_size': 16384"), ""},
		{LAN("'buffers': 'many'"), "ports.lan.buffers: wrong_value"},
		{LAN("'generic': 1"), "ports.lan.generic: not_bool"},
		{LAN("'queues': 0"), "ports.lan.queues: integer_range: 1, 64"},
		{LAN("'queues': 65"), "ports.lan.queues: integer_range: 1, 64"},
		{LAN("'buffer_size': 2047"), "ports.lan.buffer_size: integer_range: 2048, 16384"},
		{LAN("'buffer_size': 16385"), "ports.lan.buffer_size: integer_range: 2048, 16384"},
		{OFFLOADS("fix"), ""},
		{OFFLOADS("refuse"), ""},
		{OFFLOADS("ignore"), ""},
		{OFFLOADS("off"), "ports.lan.offloads: wrong_choice: *did you mean 'fix'?"},
		/* A port whose name was refused cannot be named in a clash. */
		{NET("'ports': {'a b': {'device': 'net_null0'}, 'c': {'device': 'net_null0'}}"),
			"ports['a b']: wrong_key_name"},
		{NET("'ports': []"), "ports: wrong_value"},
		{NET("'ports': {'a.b': {'mtu': 1}, 'a b': 3}"),
			"ports['a.b'].device: wrong_value\n"
			"ports['a.b'].mtu: integer_range: 64, 16000\n"
			"ports['a b']: wrong_key_name\n"
			"ports['a b']: not_object"},
		{0},
	};

	run_cases(cases);
}

TEST(test_wires)
{
#define P4(...)                                                                        \
	NET("'ports': {'p0': {'device': 'net_null0'}, 'p1': {'device': 'net_null1'}, " \
	    "'p2': {'device': 'net_null2'}, 'p3': {'device': 'net_null3'}}, "          \
	    "'wires': [" __VA_ARGS__ "]")
#define W(name, a, b) "{'name': '" name "', 'a': '" a "', 'b': '" b "'}"
	static const struct config_case cases[] = {
		{P4(W("x", "p0", "p1") ", " W("y", "p2", "p3")), ""},
		{P4(W("x", "p0", "p1")), "warning: ports.p2: port_unused\n"
					 "warning: ports.p3: port_unused"},
		{P4(W("x", "p2", "p3")), "warning: ports.p0: port_unused\n"
					 "warning: ports.p1: port_unused"},
		{P4(W("x", "p0", "p1") ", " W("y", "p2", "p1")),
			"wires[1].b: wire_port_taken: wires[0] 'x' (w.json:1)"},
		{P4(W("x", "p0", "p1") ", " W("y", "p2", "p3") ", " W("z", "p3", "p0")),
			"wires[2].a: wire_port_taken: wires[1] 'y' (w.json:1)\n"
			"wires[2].b: wire_port_taken: wires[0] 'x' (w.json:1)"},
		{P4(W("x", "p0", "p0")), "wires[0].b: wire_ends_same"},
		{P4(W("x", "p0", "p9")), "wires[0].b: no_such_port"},
		{P4(W("x", "p0", "p1") ", " W("x", "p2", "p3")),
			"wires[1].name: not_unique: name, *wires[0] 'x' (w.json:1)"},
		{P4("{'name': 'x', 'a': 'p0'}"), "wires[0].b: no_such_port"},
		{P4("3"), "wires[0]: not_object"},
		/* A name that could control a terminal is no suggestion. */
		{NET("'wires': [{'name': 'w', 'a': 'lan', 'b': 'uplink'}], 'ports': {'lan': "
		     "{'device': 'net_null0'}, 'up\\u001blink': {'device': 'net_null1'}}"),
			"ports['up\\u001Blink']: wrong_key_name\n"
			"wires[0].b: no_such_port"},
		/* The order of the keys does not matter. */
		{NET("'wires': [{'b': 'wan', 'a': 'lan', 'name': 'w'}], 'ports': {'lan': "
		     "{'device': 'net_null0'}, 'wan': {'device': 'net_null1'}}"),
			""},
		{NET("'wires': {}"), "wires: wrong_value"},
		{0},
	};

	run_cases(cases);
}

TEST(test_process)
{
#define CPUS64                                                                                     \
	"2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31,32,33," \
	"34,35,36,37,38,39,40,41,42,43,44,45,46,47,48,49,50,51,52,53,54,55,56,57,58,59,60,61,62,"  \
	"63,64,65"
#define ARGS32 TEN("'-a',") TEN("'-b',") TEN("'-w',") "'-d','-e'"
#define BOX(members, keys)                                                                     \
	"{'limiter': 'me', " PORTS WIRES ", " members ", 'policies': [{'name': 'p', 'limit': " \
	"'10Mbit/s', " keys "}]}"
#define PATH107 TEN("/123456789") "/123456"
	static const struct config_case cases[] = {
		{DOC(", 'workers': [1, 2]"), ""},
		{DOC(", 'workers': [1, 2, 1]"), "workers[2]: worker_twice"},
		{DOC(", 'workers': [1, 2, 2, 1]"), "workers[2]: worker_twice\n"
						   "workers[3]: worker_twice"},
		{DOC(", 'workers': [1, 2, 1], 'idle': 'sleep'"), ""},
		{DOC(", 'workers': []"), "workers: wrong_value"},
		{DOC(", 'workers': [" CPUS64 "]"), ""},
		{DOC(", 'workers': [1, " CPUS64 "]"), "workers: wrong_value"},
		{DOC(", 'workers': 1"), "workers: wrong_value"},
		{DOC(", 'workers': [1023]"), ""},
		{DOC(", 'workers': [1024, -1, 1.0]"), "workers[0]: cpu_range: 1023\n"
						      "workers[1]: cpu_range: 1023\n"
						      "workers[2]: cpu_range: 1023"},
		{DOC(", 'workers': [1, 0]"), "warning: workers[1]: control_shares_cpu"},
		{DOC(", 'workers': [0, 1]"), "warning: workers[0]: control_shares_cpu"},
		{DOC(", 'workers': '0-1'"), "warning: workers: control_shares_cpu"},
		{BOX("'workers': [1, 2]", "'per': 'src'"), "warning: p0.per: per_of_workers: 2, 2"},
		{BOX("'workers': [1]", "'per': 'src'"), ""},
		{BOX("'unparsed': 'pass'", "'match': {'vlan': 7}"), ""},
		{BOX("'unparsed': 'drop'", "'match': {'dst-port': 7}"), ""},
		{BOX("'unparsed': 'pass'", "'match': {'dst-port': 7}"),
			"warning: unparsed: unparsed_passes"},
		{DOC(", 'workers': [0], 'idle': 'sleep'"), ""},
		{DOC(", 'workers': [0], 'control': {'cpu': 1}"), ""},
		{DOC(", 'idle': 'poll'"), ""},
		{DOC(", 'idle': 'doze'"), "idle: wrong_choice"},
		{DOC(", 'idle': false"), "idle: wrong_choice"},
		{DOC(", 'eal': [" ARGS32 "]"), ""},
		{DOC(", 'eal': [" ARGS32 ",'-f']"), "eal: wrong_value"},
		{DOC(", 'eal': ['', 3]"), "eal[0]: text_not_printable\n"
					  "eal[1]: text_not_printable"},
		{DOC(", 'eal': ['caf\\u00e9', '\\u007f', '\\u009b2J', '\\n']"),
			"eal[1]: text_not_printable\n"
			"eal[2]: text_not_printable\n"
			"eal[3]: text_not_printable"},
		{DOC(", 'control': {'socket': 'a\\u001b[2J'}"),
			"control.socket: text_length: *107"},
		{DOC(", 'eal': '--no-huge'"), "eal: wrong_value"},
		{DOC(", 'control': {'group': 'monitors', 'operators': 'weir-admins'}"), ""},
		{DOC(", 'control': {'group': '', 'operators': 7}"),
			"control.group: text_length: *63\n"
			"control.operators: text_length: *63"},
		{DOC(", 'control': {'socket': '" PATH107 "'}"), ""},
		{DOC(", 'control': {'socket': '" PATH107 "7'}"),
			"control.socket: text_length: *107"},
		{DOC(", 'control': {'socket': '', 'cpu': true}"),
			"control.socket: text_length: *107\n"
			"control.cpu: integer_range: 0, 1023"},
		{DOC(", 'control': {'cpu': 1023, 'watchdog': '500ms'}"), ""},
		{DOC(", 'control': {'cpu': 1024, 'watchdog': '499999999ns'}"),
			"control.cpu: integer_range: 0, 1023\n"
			"control.watchdog: out_of_range: 500ms to 3600s"},
		{DOC(", 'control': {'watchdog': '3600s'}"), ""},
		{DOC(", 'workers': '1,2,1'"), "workers: worker_twice"},
		{DOC(", 'workers': '1-1024'"), "workers: workers_value"},
		{DOC(", 'log': {'level': 'warning', 'format': 'text'}"), ""},
		{DOC(", 'log': {'level': 'loud', 'format': 'xml'}"), "log.level: wrong_choice\n"
								     "log.format: wrong_choice"},
		{DOC(", 'on_refused': 'go', 'unparsed': 'lose', 'shadow': 'on'"),
			"on_refused: wrong_choice\n"
			"shadow: not_bool\n"
			"unparsed: wrong_choice"},
		{DOC(", 'control': 'x'"), "control: not_object"},
		{DOC(", 'control': {'sockte': 'x'}"),
			"control.sockte: unknown_key: did you mean 'socket'?"},
		{0},
	};

	run_cases(cases);
}

TEST(test_gossip)
{
#define ROSTER(...)  GOSSIP("'key_file': 'k', 'roster': [" __VA_ARGS__ "]")
#define TUNED(tuned) GOSSIP("'key_file': 'k', 'roster': [" GROUP2 "], " tuned)
#define TIMEOUT(time)                                                                      \
	"{'limiter': 'me', " PORTS WIRES ", 'gossip': {'key_file': 'k', 'timeout': '" time \
	"', 'roster': [" GROUP2 "]}, 'policies': [{'name': 'a', 'limit': '1Mbit/s', "      \
	"'interval': '100ms', 'match': {'vlan': 1}}, {'name': 'b', 'limit': '1Mbit/s', "   \
	"'interval': '40ms', 'match': {'vlan': 2}}, {'name': 'c', 'limit': '1Mbit/s', "    \
	"'match': {'vlan': 3}}]}"
#define LISTEN_ADVISED(text, remedy)                                                   \
	{                                                                              \
		TUNED("'listen': '" text "'"), "gossip.listen: wrong_address: " remedy \
	}
#define LISTEN_REFUSED(text)                                                  \
	{                                                                     \
		TUNED("'listen': '" text "'"), "gossip.listen: wrong_address" \
	}
	static const struct config_case cases[] = {
		{ROSTER(GROUP2), ""},
		{GOSSIP("'roster': [{'name': 'me', 'address': '10.0.0.1:1'}]"), ""},
		{GOSSIP(""), "gossip.roster: wrong_value"},
		{DOC(", 'gossip': []"), "gossip: not_object"},
		{ROSTER(""), "gossip.roster: limiter_not_in_roster: me*"},
		{ROSTER("{'name': 'you', 'address': '10.0.0.1:1'}"),
			"gossip.roster: limiter_not_in_roster: me*"},
		{GOSSIP("'key_file': 'k', 'listen': '[::1]:5', 'roster': [" GROUP2 "]"),
			"gossip.roster[0].address: peer_family: IPv6\n"
			"gossip.roster[1].address: peer_family: IPv6"},
		{GOSSIP("'key_file': 'k', 'listen': '10.0.0.1:5', 'roster': [" GROUP2
			", {'name': 'she', 'address': '[::1]:7'}]"),
			"gossip.roster[2].address: peer_family: IPv4"},
		{GOSSIP("'key_file': 'k', 'roster': [{'name': 'you', 'address': '10.0.0.2:1'}, {'address': '10.0.0.1:1'}]"),
			"gossip.roster[1].name: wrong_name"},
		{GOSSIP("'key_files': [], 'roster': [" GROUP2 "]"),
			"gossip.key_files: wrong_value"},
		{GOSSIP("'key_files': ['a', 'b', 'c'], 'roster': [" GROUP2 "]"),
			"gossip.key_files: wrong_value"},
		{GOSSIP("'key_files': ['a', 2], 'roster': [" GROUP2 "]"),
			"gossip.key_files[1]: text_length: *4095"},
		{GOSSIP("'key_files': ['a', 'b'], 'roster': [" GROUP2 "]"), ""},
		{ROSTER(GROUP2 ", {'name': 'you', 'address': '10.0.0.2:1'}"),
			"gossip.roster[2].name: not_unique: name, *gossip.roster[1] 'you' (w.json:1)\n"
			"gossip.roster[2].address: not_unique: address, *gossip.roster[1] 'you' (w.json:1)"},
		{ROSTER(GROUP2 ", {'name': 'he', 'address': '10.0.0.2:2'}"), ""},
		{ROSTER(GROUP2 ", {'name': 'liquid', 'address': '10.0.0.3:1'}, "
			       "{'name': 'costarring', 'address': '10.0.0.4:1'}"),
			"gossip.roster[3].name: not_unique: 32-bit FNV-1a hash of the name, *gossip.roster[2] 'liquid' (w.json:1)"},
		{ROSTER(GROUP2 ", {'name': 'v6', 'address': '[::1]:1'}"),
			"gossip.roster[2].address: peer_family: IPv4"},
		{TUNED("'listen': '[::]:1'"), "gossip.roster[0].address: peer_family: IPv6\n"
					      "gossip.roster[1].address: peer_family: IPv6"},
		{ROSTER(GROUP2 ", {'name': 'he', 'address': '0.0.0.0:1'}"),
			"gossip.roster[2].address: address_not_reachable"},
		{ROSTER(GROUP2 ", {'name': 'he', 'address': '224.0.0.1:1'}"),
			"gossip.roster[2].address: address_not_host"},
		{ROSTER(GROUP2 ", {'name': 'he', 'address': '255.255.255.255:1'}"),
			"gossip.roster[2].address: address_not_host"},
		{ROSTER(GROUP2 ", {'name': 'he', 'address': '[ff02::1]:1'}"),
			"gossip.roster[2].address: address_not_host"},
		{ROSTER(GROUP2 ", {'nme': 'he'}"),
			"gossip.roster[2].nme: unknown_key: did you mean 'name'?\n"
			"gossip.roster[2].name: wrong_name\n"
			"gossip.roster[2].address: wrong_address"},
		{TUNED("'listen': '0.0.0.0:65535'"), ""},
		LISTEN_REFUSED("0.0.0.0:65536"),
		LISTEN_REFUSED("10.0.0.1:0"),
		LISTEN_ADVISED("10.0.0.1", "write a colon and the port behind it"),
		LISTEN_REFUSED("10.0.0.1:"),
		LISTEN_REFUSED(":1"),
		LISTEN_REFUSED("10.0.0.1:1x"),
		LISTEN_REFUSED("10.0.0.1:-1"),
		LISTEN_REFUSED("10.0.0.1:000001"),
		LISTEN_REFUSED("10.0.0:1"),
		LISTEN_REFUSED("010.0.0.1:1"),
		LISTEN_ADVISED("localhost:1", "names are not looked up: write the address"),
		LISTEN_ADVISED(
			"2001:db8::1:1", "an IPv6 address is written in brackets before its port"),
		LISTEN_REFUSED("[2001:db8::1]"),
		LISTEN_REFUSED("[2001:db8::1:1"),
		LISTEN_REFUSED("[2001:db8::1]1"),
		LISTEN_REFUSED("[fe80::1%eth0]:1"),
		LISTEN_REFUSED("[10.0.0.1]:1"),
		LISTEN_REFUSED("[" TEN("00000") "]:1"),
		LISTEN_REFUSED(""),
		{TUNED("'branching': 1"), ""},
		{TUNED("'branching': 0"), "gossip.branching: integer_range: 1, 64"},
		{TUNED("'branching': 64"), ""},
		{TUNED("'branching': 65"), "gossip.branching: integer_range: 1, 64"},
		{TUNED("'timeout': '150ms'"), ""},
		{TUNED("'timeout': '149999999ns'"),
			"warning: gossip.timeout: timeout_short: 3, 50ms"},
		/*
		 * The shortest interval of all policies counts; a configuration without a policy
		 * has none.
		 */
		{TIMEOUT("120ms"), ""},
		{TIMEOUT("119ms"), "warning: gossip.timeout: timeout_short: 3, 40ms"},
		{"{'limiter': 'me', " PORTS WIRES ", 'gossip': {'key_file': 'k', 'roster': [" GROUP2
		 "]}}",
			"warning: policies: no_policies"},
		{TUNED("'differs_alarm': 60"), "gossip.differs_alarm: wrong_value"},
		{TUNED("'timeout': '1 mn'"), "gossip.timeout: wrong_value"},
		{TUNED("'timeout': '200000000.5ns'"), "gossip.timeout: not_multiple: ns"},
		{TUNED("'estimator': 'state'"), ""},
		{TUNED("'estimator': 'tree'"), ""},
		{TUNED("'estimator': 'tree', 'loans': 'none'"), ""},
		{TUNED("'estimator': 'tree', 'loans': 'all'"),
			"gossip.loans: key_required: 'estimator': 'state'"},
		{TUNED("'estimator': 'push-sum'"), "gossip.estimator: estimator_simulated"},
		{TUNED("'estimator': 'compensated-push-sum', 'loans': 'soft'"),
			"gossip.estimator: estimator_simulated"},
		{TUNED("'estimator': 'flow-updating'"), "gossip.estimator: estimator_simulated"},
		{TUNED("'estimator': 'trees'"),
			"gossip.estimator: wrong_choice: *did you mean 'tree'?"},
		{TUNED("'datagram': 1200"), "gossip.datagram: wrong_value"},
		{0},
	};

	run_cases(cases);
}

TEST(test_sealing)
{
#define SEALED(members) GOSSIP("'roster': [" GROUP2 "]" members)
	static const struct config_case cases[] = {
		{SEALED(", 'key_file': '/etc/weir/key'"), ""},
		{SEALED(", 'key_file': '/etc/weir/key', 'insecure': false"), ""},
		{SEALED(""), "gossip.key_file: key_file_missing: 2"},
		{SEALED(", 'insecure': false"), "gossip.key_file: key_file_missing: 2"},
		{SEALED(", 'insecure': true"), "warning: gossip.insecure: gossip_insecure"},
		{SEALED(", 'insecure': true, 'key_file': 'k'"),
			"gossip.insecure: key_excluded: 'key_file'*"},
		{SEALED(", 'key_files': ['k'], 'key_file': 'k'"),
			"gossip.key_file: key_excluded: 'key_files'*"},
		{SEALED(", 'insecure': 1, 'key_file': ''"), "gossip.key_file: text_length: *4095\n"
							    "gossip.insecure: not_bool"},
		{0},
	};

	run_cases(cases);
}

/* Either every limiter has a public key, or none. */
TEST(test_identities)
{
#define KEY60     "00112233445566778899aabbccddeeffAABBCCDDEEFF0000000000000000"
#define ZEROS63   "000000000000000000000000000000000000000000000000000000000000000"
#define ME(more)  "{'name': 'me', 'address': '10.0.0.1:1'" more "}"
#define YOU(more) "{'name': 'you', 'address': '10.0.0.2:1'" more "}"
#define KEY(text) ", 'public_key': '" text "'"
#define OWN       "'identity_file': 'i', "
#define PROVEN(members, me, you) \
	GOSSIP("'key_file': 'k', " members "'roster': [" ME(me) ", " YOU(you) "]")
	static const struct config_case cases[] = {
		{PROVEN(OWN, KEY(KEY60 "0001"), KEY(KEY60 "fFFf")), ""},
		{PROVEN(OWN "'identities': 'optional', ", KEY(KEY60 "0001"), KEY(KEY60 "0002")),
			""},
		{PROVEN(OWN, KEY(KEY60 "0001"), ""),
			"gossip.roster[1].public_key: public_key_missing"},
		/* The message names the first limiter without one. */
		{PROVEN(OWN, "", ""), "gossip.roster[0].public_key: public_key_missing"},
		{PROVEN(OWN "'identities': 'none', ", KEY(KEY60 "0001"), KEY(KEY60 "0002")),
			"gossip.identities: wrong_choice"},
		{PROVEN("'identities': 'required', ", "", ""),
			"gossip.identities: key_required: 'identity_file'"},
		{GOSSIP("'insecure': true, 'identity_file': 'i', 'roster': [" ME(
			 KEY(KEY60 "0001")) ", " YOU(KEY(KEY60 "0002")) "]"),
			"gossip.identity_file: key_required: 'key_file' or 'key_files'"},
		{PROVEN(OWN, KEY(KEY60 "0001"), KEY(KEY60 "0001a")),
			"gossip.roster[1].public_key: wrong_public_key\ngossip.roster[1].public_key: public_key_missing"},
		{PROVEN(OWN, KEY(KEY60 "0001"), KEY(KEY60 "00g0")),
			"gossip.roster[1].public_key: wrong_public_key"},
		{PROVEN(OWN, KEY(KEY60 "0001"), KEY(KEY60 "000:")),
			"gossip.roster[1].public_key: wrong_public_key"},
		{PROVEN(OWN, KEY(KEY60 "0001"), KEY("g0" KEY60 "00")),
			"gossip.roster[1].public_key: wrong_public_key\ngossip.roster[1].public_key: public_key_missing"},
		{PROVEN("", "", KEY(KEY60 "0001")), "gossip.identity_file: identity_file_missing"},
		{PROVEN(OWN, KEY(KEY60 "0001"), KEY(ZEROS63 "0")),
			"gossip.roster[1].public_key: wrong_public_key\ngossip.roster[1].public_key: public_key_missing"},
		{0},
	};

	run_cases(cases);
}

TEST(test_all_errors)
{
	static const struct config_case cases[] = {
		{"{'limiter': 'a b', 'ports': {'lan': {'device': 'net_null0', 'device': 'eth0', "
		 "'mtu': 5}, 'wan': {}}, 'wires': [{'name': 'w', 'a': 'lan', 'b': 'lan'}, 3], "
		 "'idle': 0, 'gossip': {'roster': [{'name': 'x', 'address': 'y'}, {'name': 'x', "
		 "'address': '10.0.0.1:1'}]}, 'policies': [{'limit': '1kbit/s', 'limti': 1}, "
		 "{'name': 'p', 'match': {'src': '10.0.0.1/8'}, 'burst': 'x'}], 'nonsense': []}",
			"ports.lan.device: duplicate_key\n"
			"nonsense: unknown_key: *see*\n"
			"limiter: wrong_name\n"
			"ports.lan.device: wrong_value: *did you mean 'net_af_packet0,iface=eth0'?\n"
			"ports.lan.mtu: integer_range: 64, 16000\n"
			"ports.wan.device: wrong_value\n"
			"wires[1]: not_object\n"
			"idle: wrong_choice\n"
			"gossip.roster[0].address: wrong_address: names are not looked up: write the address\n"
			"p0.limti: unknown_key: did you mean 'limit'?\n"
			"p0.name: wrong_name\n"
			"p0.limit: out_of_range: 8kbit/s to 400Gbit/s\n"
			"p1.match.src: prefix_host_bits: 10.0.0.0/8\n"
			"p1.limit: wrong_value\n"
			"p1.burst: wrong_value\n"
			"gossip.roster[1].name: not_unique: name, *gossip.roster[0] 'x' (w.json:1)\n"
			"wires[0].b: wire_ends_same\n"
			"gossip.key_file: key_file_missing: 2"},
		{0},
	};

	run_cases(cases);
}

#define MANY_POLICIES 100000

/* Makes n policies, each with its own address, and the given last one. */
static char *make_policies(unsigned n, const char *last, size_t *size)
{
	char *text = NULL;
	FILE *out = open_memstream(&text, size);

	assert_non_null(out);
	fputs("{\"limiter\":\"me\",\"policies\":[", out);
	for (unsigned i = 0; i < n; i++)
		fprintf(out,
			"{\"name\":\"p%u\",\"limit\":\"1Mbit/s\",\"match\":{\"dst\":"
			"\"10.%u.%u.%u/32\"}},",
			i, i >> 16, i >> 8 & 255, i & 255);
	fprintf(out, "%s]}", last);
	fclose(out);
	return text;
}

/* The last of very many policies is read and compared with all others, like the first. */
TEST(test_many_policies)
{
	static const struct config_case cases[] = {
		{"{'name':'last','limit':'1Mbit/s'}", "warning: wires: no_wires"},
		{"{'name':'last','limit':'1Mbit'}",
			"p100000.limit: wrong_value: *did you mean '1Mbit/s'?"},
		{"{'name':'p77777','limit':'1Mbit/s'}",
			"p100000.name: not_unique: name, *policies[77777] 'p77777' *"},
		{"{'name':'last','limit':'1Mbit/s','match':{'dst':'10.1.0.0/32'}}",
			"p100000.match: duplicate_match: policies[65536] 'p65536' *"},
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		char *last = with_quotes(cases[i].document), *text;
		size_t size;

		text = make_policies(MANY_POLICIES, last, &size);
		expect_messages(text, size, cases[i].messages);
		free(last);
		free(text);
	}
}

/* One more than the maximum: refused before any policy is checked. */
TEST(test_too_many_policies)
{
	static const char head[] = "{\"limiter\":\"me\",\"policies\":[0";
	size_t size = sizeof(head) - 1 + (size_t)CONFIG_POLICIES_MAX * 2 + 2;
	char *text = malloc(size + 1), *at = text;

	assert_non_null(text);
	at += sprintf(at, "%s", head);
	for (unsigned i = 0; i < CONFIG_POLICIES_MAX; i++)
		at += sprintf(at, ",0");
	sprintf(at, "]}");
	expect_messages(text, size, "policies: list_too_long: 1000000, 1000001");
	free(text);
}

/*
 * A wire to the last of too many ports: only the list has a message, and the wire's end is not set.
 */
TEST(test_many_ports)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	assert_non_null(out);
	fputs("{\"limiter\":\"me\",\"ports\":{", out);
	for (unsigned i = 0; i <= CONFIG_PORTS_MAX; i++)
		fprintf(out, "%s\"p%u\":{\"device\":\"net_null%u\"}", i > 0 ? "," : "", i, i);
	fprintf(out, "},\"wires\":[{\"name\":\"w\",\"a\":\"p0\",\"b\":\"p%u\"}]}",
		CONFIG_PORTS_MAX);
	fclose(out);
	expect_messages(text, size, "ports: list_too_long: 32, 33");
	free(text);
}

static char *make_group(unsigned n, const char *members, size_t *size)
{
	char *text = NULL;
	FILE *out = open_memstream(&text, size);

	assert_non_null(out);
	fprintf(out, "{\"limiter\":\"l%u\",\"gossip\":{%s\"key_file\":\"k\",\"roster\":[", n - 1,
		members);
	for (unsigned i = 0; i < n; i++)
		fprintf(out, "%s{\"name\":\"l%u\",\"address\":\"10.0.%u.%u:7946\"}",
			i > 0 ? "," : "", i, i / 256, i % 256);
	fputs("]}}", out);
	fclose(out);
	return text;
}

/* Groups for which an allocator does not hold its limit: a warning at the key to change. */
TEST(test_allocator_risks)
{
#define NO_WIRES  "warning: wires: no_wires"
#define WARNS(at) NO_WIRES "\nwarning: " at
	static const struct {
		unsigned n;
		const char *members, *messages;
	} cases[] = {
		{1, "\"allocator\":\"central\"", NO_WIRES},
		{50, "\"allocator\":\"fps\",\"interval\":\"1s\"",
			WARNS("gossip.timeout: timeout_short: 3, 1s")},
		{2, "\"allocator\":\"gtb\"", WARNS("p0.allocator: gtb_unfair")},
		{2, "\"allocator\":\"grd\",\"interval\":\"100ms\"", NO_WIRES},
		{2, "\"allocator\":\"grd\",\"interval\":\"101ms\"", WARNS("p0.interval: grd_late")},
		{31, "\"allocator\":\"grd\"", NO_WIRES},
		{32, "\"allocator\":\"grd\"", WARNS("p0.ewma: grd_oscillates")},
		{32, "\"allocator\":\"grd\",\"ewma\":0.75", NO_WIRES},
	};

	for (size_t c = 0; c < COUNT(cases); c++) {
		char *text, *group;
		size_t size;

		group = make_group(cases[c].n, "", &size);
		assert_true(
			asprintf(&text,
				"%.*s,\"policies\":[{\"name\":\"p\",\"limit\":\"10Mbit/s\",%s}]}",
				(int)size - 1, group, cases[c].members) > 0);
		expect_messages(text, strlen(text), cases[c].messages);
		free(group);
		free(text);
	}
}

/* Ten thousand limiters, all checked for clashes, in far less than a second. */
TEST(test_many_limiters)
{
	char *text, *messages;
	struct config *config;
	clock_t began;
	size_t size;

	text = make_group(10000, "", &size);
	began = clock();
	assert_int_equal(parse_config_case(text, size, &messages, &config), 0);
	assert_in_range(clock() - began, 0, CLOCKS_PER_SEC);
	assert_int_equal(config->gossip.n_roster, 10000);
	assert_int_equal(config->gossip.self, 9999);
	config_free(config);
	free(text);
	free(messages);

	text = make_group(CONFIG_ROSTER_MAX + 1, "", &size);
	expect_messages(text, size, "gossip.roster: list_too_long: 16384, 16385");
	free(text);
}

/* Groups of up to 64 limiters keep all records and lend tokens; larger groups sum along a tree. */
TEST(test_default_estimator)
{
	for (unsigned n = 63; n <= 65; n++) {
		char *text, *messages;
		struct config *config;
		size_t size;

		text = make_group(n, "", &size);
		assert_int_equal(parse_config_case(text, size, &messages, &config), 0);
		assert_int_equal(
			config->gossip.estimator, n <= 64 ? ESTIMATOR_STATE : ESTIMATOR_TREE);
		assert_int_equal(config->gossip.loans, n <= 64 ? LOANS_SOFT : LOANS_NONE);
		assert_int_equal(strstr(messages, "estimator_by_size") != NULL, n > 64);
		config_free(config);
		free(messages);
		free(text);

		text = make_group(n, "\"estimator\":\"tree\",", &size);
		assert_int_equal(parse_config_case(text, size, &messages, &config), 0);
		assert_int_equal(config->gossip.estimator, ESTIMATOR_TREE);
		assert_int_equal(config->gossip.loans, LOANS_NONE);
		assert_null(strstr(messages, "estimator_by_size"));
		config_free(config);
		free(messages);
		free(text);
	}
}

TEST(test_defaults)
{
	struct config *config = must_parse(DOC(""));
	const struct policy *policy = &config->policies[0];

	assert_string_equal(config->limiter, "me");
	assert_int_equal(config->n_eal, 0);
	assert_int_equal(config->ports[0].mtu, 1500);
	assert_int_equal(config->ports[0].queues, 0);
	assert_int_equal(config->ports[0].buffer_size, 0);
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
	assert_int_equal(policy->match.proto, 0);
	assert_int_equal(policy->match.src_port.first | policy->match.dst_port.first, 0);
	assert_int_equal(policy->match.direction, DIRECTION_ANY);
	assert_int_equal(policy->match.src.family, 0);
	assert_int_equal(policy->limit_bps, 10000000);
	assert_int_equal(policy->burst_bytes, 312500);
	assert_string_equal(policy->allocator->name, "central");
	assert_int_equal(policy->accounting, ACCOUNTING_L3);
	assert_int_equal(policy->interval_ns, 50000000);
	assert_float_equal(policy->keep_per_second, 0.1, 0);
	config_free(config);
}

TEST(test_group_defaults)
{
	struct config *config = must_parse(
		GOSSIP("'key_file': 'k', 'roster': [{'name': 'you', 'address': '10.0.0.2:1'}, "
		       "{'name': 'me', 'address': '10.0.0.1:7946'}]"));
	const struct sockaddr_in *at = (const struct sockaddr_in *)&config->gossip.listen;

	assert_int_equal(config->gossip.n_roster, 2);
	assert_int_equal(config->gossip.self, 1);
	assert_int_equal(config->gossip.listen_len, sizeof(*at));
	assert_int_equal(at->sin_family, AF_INET);
	assert_int_equal(ntohl(at->sin_addr.s_addr), 0x0a000001);
	assert_int_equal(ntohs(at->sin_port), 7946);
	assert_int_equal(config->gossip.branching, 3);
	assert_int_equal(config->gossip.timeout_ns, 1000000000);
	assert_int_equal(config->gossip.differs_alarm_ns, 60000000000);
	assert_int_equal(config->gossip.datagram_max, 1200);
	assert_string_equal(config->gossip.key_files[0], "k");
	assert_int_equal(config->gossip.n_key_files, 1);
	assert_string_equal(config->gossip.identity_file, "");
	assert_string_equal(config->policies[0].allocator->name, "fps");
	config_free(config);
}

/* A group of one has no peers to listen for, with any address. */
TEST(test_group_of_one)
{
	struct config *config = must_parse(
		GOSSIP("'listen': '10.0.0.1:2', 'roster': [{'name': 'me', 'address': "
		       "'10.0.0.1:1'}]"));

	assert_int_equal(config->gossip.n_roster, 1);
	assert_int_equal(config->gossip.listen_len, 0);
	assert_string_equal(config->policies[0].allocator->name, "central");
	config_free(config);
}

TEST(test_everything)
{
	struct config *config = must_parse(
		"{'limiter': 'me', 'eal': ['--no-huge', '-m'], " PORTS WIRES
		", 'workers': [5, 4], 'idle': 'sleep', 'control': {'socket': '/tmp/s', 'cpu': 3}, "
		"'gossip': {'listen': '[::]:9', 'roster': [{'name': 'me', 'address': "
		"'[2001:db8::1]:8'}, {'name': 'you', 'address': '[2001:db8::2]:8'}], 'key_file': "
		"'/k', 'insecure': false, 'branching': 7, 'timeout': '2.5s', 'datagram': '1kB'}, "
		"'policies': [{'name': 'p', 'match': {'wire': 'w', 'direction': 'b-to-a', 'src': "
		"'2001:db8:4::/46', 'dst': '::/0', 'vlan': 7, 'dscp': 46, 'proto': 'sctp', "
		"'src-port': '1024-2047', 'dst-port': 7}, 'limit': '1.5Gbit/s', "
		"'burst': '64KiB', 'allocator': 'static', 'meter': 'token-bucket', 'action': "
		"'drop', 'accounting': 'wire', 'interval': '100ms', 'ewma': 0.25}]}");
	const struct sockaddr_in6 *at = (const struct sockaddr_in6 *)&config->gossip.listen;
	const struct policy *policy = &config->policies[0];
	char text[64];

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
	assert_int_equal(policy->match.proto, IPPROTO_SCTP);
	assert_int_equal(policy->match.src_port.first, 1024);
	assert_int_equal(policy->match.src_port.last, 2047);
	assert_int_equal(policy->match.dst_port.first, 7);
	assert_int_equal(policy->match.dst_port.last, 7);
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

/* Keys that are optional: their fields and their defaults. */
TEST(test_more_values)
{
	static const uint8_t first[] = {0x00, 0x11, 0x22};
	struct config *config = must_parse(
		"{'limiter': 'me', 'ports': {'lan': {'device': 'net_af_xdp0,iface=eth0', 'buffers': "
		"5000, 'buffer_size': 2049, 'queues': 3, 'offloads': 'refuse', 'mtu': 1400}, 'wan': "
		"{'device': 'net_af_xdp1,iface=eth1', 'offloads': 'ignore', 'mtu': 1400}}, 'wires': "
		"[{'name': 'w', 'a': 'wan', 'b': 'lan', 'link': 'follow', 'distribute': true, "
		"'fail': 'open', 'fail_after': '30ms'}], 'on_refused': 'stop', 'shadow': true, "
		"'unparsed': 'pass', 'log': {'level': 'debug', 'format': 'json'}, 'control': "
		"{'group': 'g', 'operators': 'o', 'watchdog': '2s'}, 'gossip': {'key_files': ['k', "
		"'l'], 'identity_file': 'i', 'identities': 'optional', 'sources': 'any', "
		"'differs_alarm': '2min', 'roster': [" ME(KEY(KEY60 "0abc")) ", " YOU(
			KEY(KEY60 "0001")) "]}, 'policies': [{'name': 'p', 'limit': '1Mbit/s'}]}");
	const uint8_t *key = config->gossip.roster[0].public_key;

	assert_int_equal(config->ports[0].buffers, 5000);
	assert_int_equal(config->ports[0].buffer_size, 2049);
	assert_int_equal(config->ports[0].queues, 3);
	assert_int_equal(config->ports[0].offloads, OFFLOADS_REFUSE);
	assert_int_equal(config->ports[1].offloads, OFFLOADS_IGNORE);
	assert_int_equal(config->wires[0].a, 1);
	assert_int_equal(config->wires[0].b, 0);
	assert_int_equal(config->wires[0].link, LINK_FOLLOW);
	assert_true(config->wires[0].distribute);
	assert_int_equal(config->wires[0].fail, FAIL_OPEN);
	assert_int_equal(config->wires[0].fail_after_ns, 30000000);
	assert_int_equal(config->on_refused, REFUSED_STOP);
	assert_true(config->shadow);
	assert_int_equal(config->unparsed, UNPARSED_PASS);
	assert_int_equal(config->log.level, LEVEL_DEBUG);
	assert_int_equal(config->log.format, FORMAT_JSON);
	assert_string_equal(config->control_group, "g");
	assert_string_equal(config->control_operators, "o");
	assert_int_equal(config->watchdog_ns, 2000000000);
	assert_int_equal(config->gossip.n_key_files, 2);
	assert_string_equal(config->gossip.key_files[0], "k");
	assert_string_equal(config->gossip.key_files[1], "l");
	assert_string_equal(config->gossip.identity_file, "i");
	assert_int_equal(config->gossip.identities, IDENTITIES_OPTIONAL);
	assert_int_equal(config->gossip.sources, SOURCES_ANY);
	assert_int_equal(config->gossip.differs_alarm_ns, 120000000000);
	assert_memory_equal(key, first, sizeof(first));
	assert_int_equal(key[15], 0xff);
	assert_int_equal(key[16], 0xaa);
	assert_int_equal(key[30], 0x0a);
	assert_int_equal(key[31], 0xbc);
	config_free(config);
	config = must_parse(DOC(""));
	assert_int_equal(config->ports[0].buffers, 0);
	assert_int_equal(config->ports[0].offloads, OFFLOADS_FIX);
	assert_false(config->ports[0].generic);
	assert_int_equal(config->wires[0].link, LINK_KEEP);
	assert_false(config->wires[0].distribute);
	assert_int_equal(wire_fail(config, &config->wires[0]), FAIL_CLOSED);
	assert_int_equal(config->wires[0].fail_after_ns, 100000000);
	assert_int_equal(config->on_refused, REFUSED_LAST_GOOD);
	assert_false(config->shadow);
	assert_int_equal(config->unparsed, UNPARSED_STRICT);
	assert_int_equal(config->log.level, LEVEL_INFO);
	assert_int_equal(config->log.format, FORMAT_TEXT);
	assert_int_equal(config->watchdog_ns, 0);
	config_free(config);
}

TEST(test_tunnels)
{
	static const struct config_case cases[] = {
		{DOC(", 'tunnels': {}"), ""},
		{DOC(", 'tunnels': {'classify': 'outer'}"), ""},
		{DOC(", 'tunnels': {'classify': 'inner'}"), ""},
		{DOC(", 'tunnels': {'classify': 'inner', 'vxlan-port': 65535}"), ""},
		{DOC(", 'tunnels': {'classify': 'both'}"), "tunnels.classify: wrong_choice"},
		{DOC(", 'tunnels': {'classify': 'both', 'vxlan-port': 1}"),
			"tunnels.classify: wrong_choice"},
		{DOC(", 'tunnels': {'classify': 'inner', 'vxlan-port': 65536}"),
			"tunnels.vxlan-port: integer_range: 1, 65535"},
		{DOC(", 'tunnels': {'classify': 'inner', 'vxlan-port': 0}"),
			"tunnels.vxlan-port: integer_range: 1, 65535"},
		{DOC(", 'tunnels': {'vxlan-port': 4789}"),
			"tunnels.vxlan-port: key_required: 'classify': 'inner'"},
		{0},
	};
	struct config *config;

	run_cases(cases);
	config = must_parse(DOC(", 'tunnels': {'classify': 'inner', 'vxlan-port': 8472}"));
	assert_int_equal(config->tunnels.classify, TUNNELS_INNER);
	assert_int_equal(config->tunnels.vxlan_port, 8472);
	config_free(config);
	config = must_parse(DOC(""));
	assert_int_equal(config->tunnels.classify, TUNNELS_OUTER);
	assert_int_equal(config->tunnels.vxlan_port, 4789);
	config_free(config);
}

TEST(test_cpu_list)
{
	static const struct {
		const char *text;
		int n;
		unsigned last;
	} rows[] = {
		{"2-5,8", 5, 8},
		{"0", 1, 0},
		{"1023", 1, 1023},
		{"1,1", 2, 1},
		{"0-63", 64, 63},
		{"0-64", -EINVAL, 0},
		{"1024", -EINVAL, 0},
		{"5-2", -EINVAL, 0},
		{"2-", -EINVAL, 0},
		{"-1", -EINVAL, 0},
		{"", -EINVAL, 0},
		{"1,", -EINVAL, 0},
		{",1", -EINVAL, 0},
		{"1 2", -EINVAL, 0},
		{"1-2-3", -EINVAL, 0},
		{"0-63,64", -EINVAL, 0},
		{"1x", -EINVAL, 0},
		{"00001", -EINVAL, 0},
	};
	unsigned cpus[CONFIG_WORKERS_MAX];
	struct config *config;

	for (size_t i = 0; i < COUNT(rows); i++) {
		int n = cpu_list_parse(rows[i].text, 1023, cpus, CONFIG_WORKERS_MAX);

		if (n != rows[i].n || (n > 0 && cpus[n - 1] != rows[i].last))
			fail_msg("%s: %d", rows[i].text, n);
	}
	config = must_parse(DOC(", 'workers': '2-3,5'"));
	assert_int_equal(config->n_workers, 3);
	assert_int_equal(config->workers[0], 2);
	assert_int_equal(config->workers[2], 5);
	config_free(config);
}

TEST(test_dscp_names)
{
	static const struct {
		const char *text;
		int dscp;
	} rows[] = {
		{"be", 0},
		{"df", 0},
		{"cs0", 0},
		{"le", 1},
		{"cs1", 8},
		{"af11", 10},
		{"af13", 14},
		{"af21", 18},
		{"AF41", 34},
		{"af43", 38},
		{"cs5", 40},
		{"va", 44},
		{"EF", 46},
		{"cs7", 56},
		{"cs8", -EINVAL},
		{"af14", -EINVAL},
		{"af51", -EINVAL},
		{"af1", -EINVAL},
		{"af111", -EINVAL},
		{"cs", -EINVAL},
		{"", -EINVAL},
		{"46", -EINVAL},
	};
	struct config *config;

	for (size_t i = 0; i < COUNT(rows); i++)
		if (dscp_parse(rows[i].text) != rows[i].dscp)
			fail_msg("%s: %d", rows[i].text, dscp_parse(rows[i].text));
	config = must_parse(MATCH("'dscp': 'ef'"));
	assert_int_equal(config->policies[0].match.dscp, 46);
	config_free(config);
	config = must_parse(LIMITED(", 'action': 'mark', 'mark': 'af41'"));
	assert_int_equal(config->policies[0].mark, 34);
	config_free(config);
	config = must_parse(LIMITED(", 'meter': 'phantom', 'classes': {'by': 'dscp', 'weights': "
				    "{'ef': 4, '8': 2}}"));
	assert_int_equal(config->policies[0].classes.weights[46], 4);
	assert_int_equal(config->policies[0].classes.weights[8], 2);
	config_free(config);
}

static void refuse_file(const char *path, int rc, const char *message)
{
	struct config *config = (struct config *)&config;
	struct message_lines lines;
	struct config_load load = {.path = path, .diagnostics = message_lines_begin(&lines)};
	char *messages, expected[128];

	assert_int_equal(config_load_with(&load, &config), rc);
	assert_null(config);
	messages = message_lines_end(&lines);
	snprintf(expected, sizeof(expected), "%s: %s", path, message);
	assert_lines(messages, expected);
	free(messages);
}

TEST(test_files)
{
	char path[] = "/tmp/weir-config-XXXXXX";
	int fd = mkstemp(path);

	assert_true(fd >= 0);
	refuse_file("/", -EISDIR, "file_is_directory: Is a directory");
	refuse_file("/nonexistent/w.json", -ENOENT, "file_missing");
	refuse_file("/dev/null/w.json", -ENOTDIR, "file_unreadable: Not a directory");
	refuse_file("/dev/zero", -EMEDIUMTYPE, "file_not_regular");
	refuse_file(path, -EINVAL, "empty_document");
	assert_int_equal(ftruncate(fd, READER_FILE_MAX + 1), 0);
	refuse_file(path, -EFBIG, "file_too_large");
	/* Root can read every file. */
	assert_int_equal(fchmod(fd, 0), 0);
	if (getuid() == 0)
		assert_int_equal(seteuid(65534), 0);
	refuse_file(path, -EACCES, "file_denied");
	assert_int_equal(seteuid(getuid()), 0);
	close(fd);
	unlink(path);
}

/* The examples, found relative to this source file, without an error or a warning. */
TEST(test_examples)
{
	static const char *const names[] = {"single.json", "group-of-two.json", "api-gateway.json",
		"prepaid.json", "shaped.json", "hierarchy.json"};
	int root = (int)(strlen(__FILE__) - strlen("test/unit/io/config/test_config.c"));

	for (size_t i = 0; i < COUNT(names); i++) {
		struct config *config;
		char path[512];

		snprintf(path, sizeof(path), "%.*sconfig/%s", root, __FILE__, names[i]);
		assert_int_equal(config_load(path, stderr, &config), 0);
		assert_true(config->n_policies > 0);
		config_free(config);
	}
}
