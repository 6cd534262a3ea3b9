/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Configuration of the limiter and its group, in pairs of just accepted and just refused. Policies:
 * test_policy.c; invalid JSON: test_syntax.c.
 */
#include <time.h>

#include <arpa/inet.h>
#include <sys/stat.h>
#include <unistd.h>

#include "config/load.h"
#include "config_cases.h"

#include "json/read.h"
#include "policy/value.h"

static void test_document(void **state)
{
	static const struct config_case cases[] = {
		{DOC(""), ""},
		{"", "w.json: empty: expected a JSON object\n"},
		{" \n\t", "w.json: empty: expected a JSON object\n"},
		{"[]", "w.json:1: an empty array: expected an object\n"},
		{"3", "w.json:1: 3: expected an object\n"},
		{"'x'", "w.json:1: 'x': expected an object\n"},
		{"null", "w.json:1: null: expected an object\n"},
		{"{}", "w.json:1: limiter: missing: expected a name of 1 to 63 characters "
		       "A-Z a-z 0-9 _ . -\n"},
		{"{'limiter': 'me'}",
			"w.json:1: warning: wires: missing: no packet is forwarded without a wire\n"
			"w.json:1: warning: policies: missing: every packet passes without a "
			"policy\n"},
		{"{'limiter': 'me', 'wires': [], 'policies': []}",
			"w.json:1: warning: wires: an empty array: no packet is forwarded without a "
			"wire\n"
			"w.json:1: warning: policies: an empty array: every packet passes without a "
			"policy\n"},
		{DOC(", 'worker': [1]"),
			"w.json:1: worker: unknown key: did you mean 'workers'?\n"},
		{DOC(", 'polices': [1]"),
			"w.json:1: polices: unknown key: did you mean 'policies'?\n"},
		{DOC(", 'gissop': {}"), "w.json:1: gissop: unknown key: did you mean 'gossip'?\n"},
		{DOC(", 'elastic': 1"), "w.json:1: elastic: " UNKNOWN_KEY},
		{DOC(", 'ea': 1"), "w.json:1: ea: unknown key: did you mean 'eal'?\n"},
		{DOC(", 'e': 1"), "w.json:1: e: " UNKNOWN_KEY},
		{DOC(", 'a b': 1, '\\u001b[2J': 2"),
			"w.json:1: ['a b']: " UNKNOWN_KEY "w.json:1: ['\\u001B[2J']: " UNKNOWN_KEY},
		{DOC(", '" TEN("xxxxxxxxxx") "': 1"),
			"w.json:1: ['" TEN("xxxxxx") "xxx...']: " UNKNOWN_KEY},
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
			"w.json:1: limiter: '" NAME63 "...': expected a name of 1 to 63 characters "
			"A-Z a-z 0-9 _ . -\n"},
		{"{'limiter': ''}", "w.json:1: limiter: '': expected a name of 1 to 63 characters "
				    "A-Z a-z 0-9 _ . -\n"},
		{"{'limiter': 'a b'}", "w.json:1: limiter: 'a b': expected a name of 1 to 63 "
				       "characters A-Z a-z 0-9 _ . -\n"},
		{"{'limiter': 'caf\xc3\xa9'}",
			"w.json:1: limiter: 'caf\\u00E9': expected a name of 1 to 63 characters "
			"A-Z a-z 0-9 _ . -\n"},
		{"{'limiter': 3}", "w.json:1: limiter: 3: expected a name of 1 to 63 characters "
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
#define DEVICE_MEANT(text)                                                         \
	"expected a PCI address such as '0000:03:00.0', a virtual device such as " \
	"'net_af_packet0,iface=eth1' or an interface such as 'xdp:eth1'" MEANT(text)
#define EXPECTED_DEVICE                                                            \
	"expected a PCI address such as '0000:03:00.0', a virtual device such as " \
	"'net_af_packet0,iface=eth1' or an interface such as 'xdp:eth1'\n"
#define OFFLOADS(mode)                                                    \
	NET("'ports': {'lan': {'device': 'net_null0', 'offloads': '" mode \
	    "'}, 'wan': {'device': 'net_null1'}}, " WIRES)
#define UNEVEN                                                                               \
	": packets that are too large for the other end are dropped, and their senders get " \
	"no ICMP message\n"
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
#define EXCEEDED "w.json:1: wires[1] 'w'.fail: 'open': expected 'closed'*'x'*\n"
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
			"w.json:1: ports.lan.device: '03:00.0': " DEVICE_MEANT("0000:03:00.0")},
		{DEVICES("0000:03:00.8", "0000:03:00.1"),
			"w.json:1: ports.lan.device: '0000:03:00.8': " EXPECTED_DEVICE},
		{DEVICES("0000:03:00.00", "0000:03:00.1"),
			"w.json:1: ports.lan.device: '0000:03:00.00': " EXPECTED_DEVICE},
		{DEVICES("eth0", "net_"),
			"w.json:1: ports.lan.device: 'eth0': " DEVICE_MEANT(
				"net_af_packet0,iface=eth0") "w.json:1: ports.wan.device: 'net_': " EXPECTED_DEVICE},
		{DEVICES("net_null0", "net_null 1"),
			"w.json:1: ports.wan.device: 'net_null 1': " EXPECTED_DEVICE},
		{DEVICES("net_null0,x=1", "net_null0,x=2"),
			"w.json:1: ports.wan.device: same*ports.lan (w.json:1)*unique*\n"},
		{DEVICES("0000:0A:00.0", "0000:0a:00.0"),
			"w.json:1: ports.wan.device: same*ports.lan (w.json:1)*unique*\n"},
		{DEVICES("net_null" TEN("01234") "12345", "net_null1"), ""},
		{DEVICES("net_null" TEN("01234") "123456", "net_null1"),
			"w.json:1: ports.lan.device: 'net_null" TEN(
				"01234") "12345...': " EXPECTED_DEVICE},
		{FAIL("net_af_xdp", "'fail': 'open'"), ""},
		{FAIL("net_af_packet", "'fail': 'open', 'fail_after': '20ms'"), ""},
		{FAIL("net_null", "'fail': 'closed'"), ""},
		{FAIL("net_null", "'fail': 'open'"),
			"w.json:1: wires[0] 'w'.fail: 'open': expected 'closed'*'lan'*net_af_xdp*\n"},
		{PLANE("xdp:eth0", "xdp:eth1", "'fail': 'last-limits', 'fail_after': '20ms'"), ""},
		{PLANE("xdp:eth0", "xdp:eth1", "'fail': 'closed', 'fail_after': '20ms'"), ""},
		{PLANE("xdp:eth0", "xdp:eth0123456789ab", "'fail': 'open'"), ""},
		{PLANE("xdp:eth0", "xdp:eth0123456789abc", "'link': 'keep'"),
			"w.json:1: ports.wan.device: 'xdp:eth0123456789abc': " EXPECTED_DEVICE},
		{PLANE("xdp:", "xdp:eth1,queues=1", "'link': 'keep'"),
			"w.json:1: ports.lan.device: 'xdp:': " EXPECTED_DEVICE
			"w.json:1: ports.wan.device: 'xdp:eth1,queues=1': " EXPECTED_DEVICE},
		{PLANE("xdp:eth0', 'queues': 2, 'mtu': 1500, 'note': '", "xdp:eth1",
			 "'link': 'keep'"),
			"w.json:1: ports.lan*'queues': 2*'xdp:...'*ethtool -L\n"},
		{PLANE("xdp:eth0', 'generic': true, 'note': '", "xdp:eth1", "'link': 'keep'"),
			"w.json:1: wires[0] 'w'.b: 'wan': expected*'generic'*'lan'\n"},
		{PLANE("xdp:eth0", "xdp:eth1', 'generic': true, 'note': '", "'link': 'keep'"),
			"w.json:1: wires[0] 'w'.b: 'wan': expected*'generic'*'wan'\n"},
		{PLANE("xdp:eth0', 'generic': true, 'note': '",
			 "xdp:eth1', 'generic': true, 'note': '", "'link': 'keep'"),
			""},
		{LAN("'generic': true"), "w.json:1: ports.lan*'generic'*'device' 'xdp:...'\n"},
		{PLANE("net_af_xdp0,iface=eth0", "net_null1", "'fail': 'open'"),
			"w.json:1: wires[0] 'w'.fail: 'open': expected 'closed'*'wan'*net_af_xdp*\n"},
		{PLANE("xdp:eth0", "xdp:eth1", "'fail_after': '20ms'"), ""},
		{PLANE("xdp:eth0", "net_af_xdp1,iface=eth1", "'link': 'keep'"),
			"w.json:1: wires[0] 'w'.b: 'wan': expected another port whose device is "
			"'xdp:...' with port 'lan'\n"},
		{PLANE("net_af_xdp1,iface=eth1", "xdp:eth0", "'link': 'keep'"),
			"w.json:1: wires[0] 'w'.b: 'wan': expected another port whose device is "
			"'xdp:...' with port 'wan'\n"},
		{FAIL("net_af_xdp", "'fail': 'last-limits'"),
			"w.json:1: wires[0] 'w'.fail: 'last-limits': expected 'closed' or 'open'*'xdp:...'*\n"},
		{FAIL_WITH("'limit': '8Mbit/s', 'guarantee': 'hard'"), EXCEEDED},
		{FAIL_WITH("'limit': '8Mbit/s', 'guarantee': 'hard', 'match': {'wire': 'w'}"),
			EXCEEDED},
		{FAIL_WITH("'limit': '8Mbit/s', 'guarantee': 'hard', 'match': {'wire': 'v'}"), ""},
		{FAIL_WITH("'allocator': 'quota', 'total': '1GB'"), EXCEEDED},
		{FAIL("net_af_xdp", "'fail': 'wire'"),
			"w.json:1: warning: wires[0] 'w'.fail: 'wire': renamed to 'open'; the former "
			"word is valid until version 1.0\n"},
		{FAIL("net_af_xdp", "'fail': 'bypass'"),
			"w.json:1: wires[0] 'w'.fail: 'bypass': expected 'closed' or 'open' or "
			"'last-limits': did you mean 'open'?\n"},
		{FAIL("net_af_xdp", "'fail': 'open', 'fail_after': '19ms'"),
			"w.json:1: wires[0] 'w'.fail_after: '19ms': expected 20ms to 10s\n"},
		{FAIL("net_af_xdp", "'fail': 'open', 'fail_after': '10s'"), ""},
		{FAIL("net_af_xdp", "'fail': 'open', 'fail_after': '10.000000001s'"),
			"w.json:1: wires[0] 'w'.fail_after: '10.000000001s': expected 20ms to 10s\n"},
		{FAIL("net_af_xdp", "'link': 'up'"),
			"w.json:1: wires[0] 'w'.link: 'up': expected 'keep' or 'follow': did you mean 'keep'?\n"},
		{FAIL("net_af_xdp", "'fail_after': '100ms'"),
			"w.json:1: wires[0] 'w'*'fail_after'*'fail': 'open'\n"},
		{MTU("1500"), ""},
		{MTU("64"),
			"w.json:1: warning: wires[0] 'w': lan has an MTU of 64 and wan one of 1500" UNEVEN},
		{MTU("63"), "w.json:1: ports.lan.mtu: 63: expected a whole number from 64 to "
			    "16000\n"},
		{MTU("9000"),
			"w.json:1: warning: wires[0] 'w': lan has an MTU of 9000 and wan one of 1500" UNEVEN},
		{MTU("16001"), "w.json:1: ports.lan.mtu: 16001: expected a whole number from 64 to "
			       "16000\n"},
		{MTU("1500.0"),
			"w.json:1: ports.lan.mtu: 1500.0: expected a whole number from 64 to "
			"16000\n"},
		{MTU("'1500'"),
			"w.json:1: ports.lan.mtu: '1500': expected a whole number from 64 to "
			"16000\n"},
		{LAN("'queues': 1"), ""},
		{LAN("'queues': 64, 'buffer_size': 2048"), ""},
		{LAN("'buffer_size': 16384"), ""},
		{LAN("'buffers': 4096"), ""},
		{LAN("'buffers': '100M'"), ""},
		{LAN("'buffers': 4095"),
			"w.json:1: ports.lan.buffers: 4095: expected 4096 to 100M\n"},
		{LAN("'buffers': 100000001"),
			"w.json:1: ports.lan.buffers: 100000001: expected 4096 to 100M\n"},
		{LAN("'buffers': 'many'"), "w.json:1: ports.lan.buffers: 'many': expected a number "
					   "such as 20000 or '2M'\n"},
		{LAN("'generic': 1"), "w.json:1: ports.lan.generic: 1: expected true or false\n"},
		{LAN("'queues': 0"), "w.json:1: ports.lan.queues: 0: expected a whole number from "
				     "1 to 64\n"},
		{LAN("'queues': 65"),
			"w.json:1: ports.lan.queues: 65: expected a whole number from "
			"1 to 64\n"},
		{LAN("'buffer_size': 2047"),
			"w.json:1: ports.lan.buffer_size: 2047: expected a whole number from 2048 to "
			"16384\n"},
		{LAN("'buffer_size': 16385"),
			"w.json:1: ports.lan.buffer_size: 16385: expected a whole number from 2048 "
			"to 16384\n"},
		{OFFLOADS("fix"), ""},
		{OFFLOADS("refuse"), ""},
		{OFFLOADS("ignore"), ""},
		{OFFLOADS("off"),
			"w.json:1: ports.lan.offloads: 'off': expected 'fix' or 'refuse' or "
			"'ignore': did you mean 'fix'?\n"},
		/* A port whose name was refused cannot be named in a clash. */
		{NET("'ports': {'a b': {'device': 'net_null0'}, 'c': {'device': 'net_null0'}}"),
			"w.json:1: ports['a b']: the key: expected a name of 1 to 63 characters "
			"A-Z a-z 0-9 _ . -\n"},
		{NET("'ports': []"),
			"w.json:1: ports: an empty array: expected an object of ports by "
			"name\n"},
		{NET("'ports': {'a.b': {'mtu': 1}, 'a b': 3}"),
			"w.json:1: ports['a.b'].device: missing: " EXPECTED_DEVICE
			"w.json:1: ports['a.b'].mtu: 1: expected a whole number from 64 to 16000\n"
			"w.json:1: ports['a b']: the key: expected a name of 1 to 63 characters "
			"A-Z a-z 0-9 _ . -\n"
			"w.json:1: ports['a b']: 3: expected an object\n"},
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
			"w.json:1: warning: ports.p2: in no wire, so it is not used\n"
			"w.json:1: warning: ports.p3: in no wire, so it is not used\n"},
		{P4(W("x", "p2", "p3")),
			"w.json:1: warning: ports.p0: in no wire, so it is not used\n"
			"w.json:1: warning: ports.p1: in no wire, so it is not used\n"},
		{P4(W("x", "p0", "p1") ", " W("y", "p2", "p1")),
			"w.json:1: wires[1] 'y'.b: same*wires[0] 'x' (w.json:1)*unique*\n"},
		{P4(W("x", "p0", "p1") ", " W("y", "p2", "p3") ", " W("z", "p3", "p0")),
			"w.json:1: wires[2] 'z'.a: same*wires[1] 'y' (w.json:1)*unique*\n"
			"w.json:1: wires[2] 'z'.b: same*wires[0] 'x' (w.json:1)*unique*\n"},
		{P4(W("x", "p0", "p0")),
			"w.json:1: wires[0] 'x'.b: 'p0': expected another port than at the other end\n"},
		{P4(W("x", "p0", "p9")),
			"w.json:1: wires[0] 'x'.b: 'p9': expected the name of a port in 'ports'\n"},
		{P4(W("x", "p0", "p1") ", " W("x", "p2", "p3")),
			"w.json:1: wires[1] 'x'.name: same*wires[0] 'x' (w.json:1)*unique*\n"},
		{P4("{'name': 'x', 'a': 'p0'}"),
			"w.json:1: wires[0] 'x'.b: missing: expected the name of a port in 'ports'\n"},
		{P4("3"), "w.json:1: wires[0]: 3: expected an object\n"},
		/* A name that could control a terminal is no suggestion. */
		{NET("'wires': [{'name': 'w', 'a': 'lan', 'b': 'uplink'}], 'ports': {'lan': "
		     "{'device': 'net_null0'}, 'up\\u001blink': {'device': 'net_null1'}}"),
			"w.json:1: ports['up\\u001Blink']: the key: expected a name of 1 to 63 characters A-Z a-z 0-9 _ . -\n"
			"w.json:1: wires[0] 'w'.b: 'uplink': expected the name of a port in 'ports'\n"},
		/* The order of the keys does not matter. */
		{NET("'wires': [{'b': 'wan', 'a': 'lan', 'name': 'w'}], 'ports': {'lan': "
		     "{'device': 'net_null0'}, 'wan': {'device': 'net_null1'}}"),
			""},
		{NET("'wires': {}"),
			"w.json:1: wires: an empty object: expected an array of wires\n"},
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
#define ARGS32 TEN("'-a',") TEN("'-b',") TEN("'-w',") "'-d','-e'"
#define BOX(members, keys)                                                                     \
	"{'limiter': 'me', " PORTS WIRES ", " members ", 'policies': [{'name': 'p', 'limit': " \
	"'10Mbit/s', " keys "}]}"
#define PATH107 TEN("/123456789") "/123456"
	static const struct config_case cases[] = {
		{DOC(", 'workers': [1, 2]"), ""},
		{DOC(", 'workers': [1, 2, 1]"),
			"w.json:1: workers[2]: 1: expected each CPU once unless 'idle' is 'sleep'\n"},
		{DOC(", 'workers': [1, 2, 2, 1]"),
			"w.json:1: workers[2]: 2: expected each CPU once unless 'idle' is 'sleep'\n"
			"w.json:1: workers[3]: 1: expected each CPU once unless 'idle' is 'sleep'\n"},
		{DOC(", 'workers': [1, 2, 1], 'idle': 'sleep'"), ""},
		{DOC(", 'workers': []"),
			"w.json:1: workers: an empty array: expected an array of 1 to 64 CPU numbers, or a list such as '2-5,8'\n"},
		{DOC(", 'workers': [" CPUS64 "]"), ""},
		{DOC(", 'workers': [1, " CPUS64 "]"),
			"w.json:1: workers: an array: expected an array of 1 to 64 CPU numbers, or a list such as '2-5,8'\n"},
		{DOC(", 'workers': 1"),
			"w.json:1: workers: 1: expected an array of 1 to 64 CPU numbers, or a list such as '2-5,8'\n"},
		{DOC(", 'workers': [1023]"), ""},
		{DOC(", 'workers': [1024, -1, 1.0]"),
			"w.json:1: workers[0]: 1024: expected a CPU number from 0 to 1023\n"
			"w.json:1: workers[1]: -1: expected a CPU number from 0 to 1023\n"
			"w.json:1: workers[2]: 1.0: expected a CPU number from 0 to 1023\n"},
		{DOC(", 'workers': [1, 0]"),
			"w.json:1: warning: workers[1]: 0: control has this CPU too, and a polling "
			"worker leaves it little\n"},
		{DOC(", 'workers': [0, 1]"),
			"w.json:1: warning: workers[0]: 0: control has this CPU too, and a polling "
			"worker leaves it little\n"},
		{DOC(", 'workers': '0-1'"),
			"w.json:1: warning: workers: '0-1': control has this CPU too, and a polling "
			"worker leaves it little\n"},
		{BOX("'workers': [1, 2]", "'per': 'src'"),
			"w.json:1: warning: policies[0] 'p'.per: 'src': a source whose flows are "
			"spread over 2 workers may get up to 2 times its limit\n"},
		{BOX("'workers': [1]", "'per': 'src'"), ""},
		{BOX("'unparsed': 'pass'", "'match': {'vlan': 7}"), ""},
		{BOX("'unparsed': 'drop'", "'match': {'dst-port': 7}"), ""},
		{BOX("'unparsed': 'pass'", "'match': {'dst-port': 7}"),
			"w.json:1: warning: unparsed: 'pass': senders who fragment their packets are "
			"not limited by ports, protocol or new flows\n"},
		{DOC(", 'workers': [0], 'idle': 'sleep'"), ""},
		{DOC(", 'workers': [0], 'control': {'cpu': 1}"), ""},
		{DOC(", 'idle': 'poll'"), ""},
		{DOC(", 'idle': 'doze'"), "w.json:1: idle: 'doze': expected 'poll' or 'sleep'\n"},
		{DOC(", 'idle': false"), "w.json:1: idle: false: expected 'poll' or 'sleep'\n"},
		{DOC(", 'eal': [" ARGS32 "]"), ""},
		{DOC(", 'eal': [" ARGS32 ",'-f']"),
			"w.json:1: eal: an array: expected an array of at most 32 strings\n"},
		{DOC(", 'eal': ['', 3]"),
			"w.json:1: eal[0]: '': expected a printable string, not empty\n"
			"w.json:1: eal[1]: 3: expected a printable string, not empty\n"},
		{DOC(", 'eal': ['caf\\u00e9', '\\u007f', '\\u009b2J', '\\n']"),
			"w.json:1: eal[1]: '\\u007F': expected a printable string, not empty\n"
			"w.json:1: eal[2]: '\\u009B2J': expected a printable string, not empty\n"
			"w.json:1: eal[3]: '\\n': expected a printable string, not empty\n"},
		{DOC(", 'control': {'socket': 'a\\u001b[2J'}"),
			"w.json:1: control.socket: 'a\\u001B[2J': expected a path of 1 to 107 "
			"printable characters\n"},
		{DOC(", 'eal': '--no-huge'"),
			"w.json:1: eal: '--no-huge': expected an array of at most 32 strings\n"},
		{DOC(", 'control': {'group': 'monitors', 'operators': 'weir-admins'}"), ""},
		{DOC(", 'control': {'group': '', 'operators': 7}"),
			"w.json:1: control.group: '': expected the name of a group of 1 to 63 "
			"printable characters\n"
			"w.json:1: control.operators: 7: expected the name of a group of 1 to 63 "
			"printable characters\n"},
		{DOC(", 'control': {'socket': '" PATH107 "'}"), ""},
		{DOC(", 'control': {'socket': '" PATH107 "7'}"),
			"w.json:1: control.socket: '/123456789/123456789/123456789/123456789/"
			"123456789/123456789/12...': expected a path of 1 to 107 printable characters\n"},
		{DOC(", 'control': {'socket': '', 'cpu': true}"),
			"w.json:1: control.socket: '': expected a path of 1 to 107 printable characters\n"
			"w.json:1: control.cpu: true: expected a whole number from 0 to 1023\n"},
		{DOC(", 'control': {'cpu': 1023, 'watchdog': '500ms'}"), ""},
		{DOC(", 'control': {'cpu': 1024, 'watchdog': '499999999ns'}"),
			"w.json:1: control.cpu: 1024: expected a whole number from 0 to 1023\n"
			"w.json:1: control.watchdog: '499999999ns': expected 500ms to 3600s\n"},
		{DOC(", 'control': {'watchdog': '3600s'}"), ""},
		{DOC(", 'control': {'watchdog': '3601s'}"),
			"w.json:1: control.watchdog: '3601s': expected 500ms to 3600s\n"},
		{DOC(", 'workers': '1,2,1'"),
			"w.json:1: workers: '1,2,1': expected each CPU once unless 'idle' is "
			"'sleep'\n"},
		{DOC(", 'workers': '1-1024'"),
			"w.json:1: workers: '1-1024': expected 1 to 64 CPU numbers from 0 to 1023, "
			"such as '2-5,8'\n"},
		{DOC(", 'log': {'level': 'warning', 'format': 'text'}"), ""},
		{DOC(", 'log': {'level': 'loud', 'format': 'xml'}"),
			"w.json:1: log.level: 'loud': expected 'error' or 'warning' or 'info' or "
			"'debug'\n"
			"w.json:1: log.format: 'xml': expected 'text' or 'json'\n"},
		{DOC(", 'on_refused': 'go', 'unparsed': 'lose', 'shadow': 'on'"),
			"w.json:1: on_refused: 'go': expected 'last-good' or 'stop'\n"
			"w.json:1: shadow: 'on': expected true or false\n"
			"w.json:1: unparsed: 'lose': expected 'strict' or 'drop' or 'pass'\n"},
		{DOC(", 'control': 'x'"), "w.json:1: control: 'x': expected an object\n"},
		{DOC(", 'control': {'sockte': 'x'}"),
			"w.json:1: control.sockte: unknown key: did you mean 'socket'?\n"},
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
#define TIMEOUT(time)                                                                      \
	"{'limiter': 'me', " PORTS WIRES ", 'gossip': {'key_file': 'k', 'timeout': '" time \
	"', 'roster': [" GROUP2 "]}, 'policies': [{'name': 'a', 'limit': '1Mbit/s', "      \
	"'interval': '100ms', 'match': {'vlan': 1}}, {'name': 'b', 'limit': '1Mbit/s', "   \
	"'interval': '40ms', 'match': {'vlan': 2}}, {'name': 'c', 'limit': '1Mbit/s', "    \
	"'match': {'vlan': 3}}]}"
#define LISTEN_ADVISED(text, remedy)                                                  \
	{                                                                             \
		TUNED("'listen': '" text "'"),                                        \
			"w.json:1: gossip.listen: '" text                             \
			"': expected an address and port such as '10.0.0.1:7946' or " \
			"'[2001:db8::1]:7946': " remedy "\n"                          \
	}
#define LISTEN_REFUSED(text)                                                     \
	{                                                                        \
		TUNED("'listen': '" text "'"),                                   \
			"w.json:1: gossip.listen: '" text "': " EXPECTED_ADDRESS \
	}
	static const struct config_case cases[] = {
		{ROSTER(GROUP2), ""},
		{GOSSIP("'roster': [{'name': 'me', 'address': '10.0.0.1:1'}]"), ""},
		{GOSSIP(""),
			"w.json:1: gossip.roster: missing: expected an array of the limiters of the group, "
			"this one included\n"},
		{DOC(", 'gossip': []"), "w.json:1: gossip: an empty array: expected an object\n"},
		{ROSTER(""), "w.json:1: gossip.roster: *'me'*missing*add*\n"},
		{ROSTER("{'name': 'you', 'address': '10.0.0.1:1'}"),
			"w.json:1: gossip.roster: *'me'*missing*add*\n"},
		{GOSSIP("'key_file': 'k', 'listen': '[::1]:5', 'roster': [" GROUP2 "]"),
			"w.json:1: gossip.roster[0] 'me'.address: '10.0.0.1:1': expected IPv6*\n"
			"w.json:1: gossip.roster[1] 'you'.address: '10.0.0.2:1': expected IPv6*\n"},
		{GOSSIP("'key_file': 'k', 'listen': '10.0.0.1:5', 'roster': [" GROUP2
			", {'name': 'she', 'address': '[::1]:7'}]"),
			"w.json:1: gossip.roster[2] 'she'.address: '[::1]:7': expected IPv4*\n"},
		{GOSSIP("'key_file': 'k', 'roster': [{'name': 'you', 'address': '10.0.0.2:1'}, {'address': '10.0.0.1:1'}]"),
			"w.json:1: gossip.roster[1].name: missing: expected a name of 1 to 63 characters A-Z a-z 0-9 _ . -\n"},
		{GOSSIP("'key_files': [], 'roster': [" GROUP2 "]"),
			"w.json:1: gossip.key_files: an empty array: expected an array of 1 or 2 paths: of the key that seals, and of one that only opens\n"},
		{GOSSIP("'key_files': ['a', 'b', 'c'], 'roster': [" GROUP2 "]"),
			"w.json:1: gossip.key_files: an array: expected an array of 1 or 2 paths: of the key that seals, and of one that only opens\n"},
		{GOSSIP("'key_files': ['a', 2], 'roster': [" GROUP2 "]"),
			"w.json:1: gossip.key_files[1]: 2: expected a path of 1 to 4095 printable characters\n"},
		{GOSSIP("'key_files': ['a', 'b'], 'roster': [" GROUP2 "]"), ""},
		{ROSTER(GROUP2 ", {'name': 'you', 'address': '10.0.0.2:1'}"),
			"w.json:1: gossip.roster[2] 'you'.name: same*gossip.roster[1] 'you' (w.json:1)*unique*\n"
			"w.json:1: gossip.roster[2] 'you'.address: same*gossip.roster[1] 'you' (w.json:1)*unique*\n"},
		{ROSTER(GROUP2 ", {'name': 'he', 'address': '10.0.0.2:2'}"), ""},
		{ROSTER(GROUP2 ", {'name': 'liquid', 'address': '10.0.0.3:1'}, "
			       "{'name': 'costarring', 'address': '10.0.0.4:1'}"),
			"w.json:1: gossip.roster[3] 'costarring'.name: same*gossip.roster[2] 'liquid' (w.json:1)*unique*\n"},
		{ROSTER(GROUP2 ", {'name': 'v6', 'address': '[::1]:1'}"),
			"w.json:1: gossip.roster[2] 'v6'.address: '[::1]:1': expected IPv4*\n"},
		{TUNED("'listen': '[::]:1'"),
			"w.json:1: gossip.roster[0] 'me'.address: '10.0.0.1:1': expected IPv6*\n"
			"w.json:1: gossip.roster[1] 'you'.address: '10.0.0.2:1': expected IPv6*\n"},
		{ROSTER(GROUP2 ", {'name': 'he', 'address': '0.0.0.0:1'}"),
			"w.json:1: gossip.roster[2] 'he'.address: '0.0.0.0:1': expected an address that "
			"the other limiters can send to\n"},
		{ROSTER(GROUP2 ", {'name': 'he', 'address': '224.0.0.1:1'}"),
			"w.json:1: gossip.roster[2] 'he'.address: '224.0.0.1:1': expected the address of "
			"one host\n"},
		{ROSTER(GROUP2 ", {'name': 'he', 'address': '255.255.255.255:1'}"),
			"w.json:1: gossip.roster[2] 'he'.address: '255.255.255.255:1': expected the "
			"address of one host\n"},
		{ROSTER(GROUP2 ", {'name': 'he', 'address': '[ff02::1]:1'}"),
			"w.json:1: gossip.roster[2] 'he'.address: '[ff02::1]:1': expected the address of "
			"one host\n"},
		{ROSTER(GROUP2 ", {'nme': 'he'}"),
			"w.json:1: gossip.roster[2].nme: unknown key: did you mean 'name'?\n"
			"w.json:1: gossip.roster[2].name: missing: expected a name of 1 to 63 "
			"characters A-Z a-z 0-9 _ . -\n"
			"w.json:1: gossip.roster[2].address: missing: " EXPECTED_ADDRESS},
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
		{TUNED("'branching': 0"),
			"w.json:1: gossip.branching: 0: expected a whole number from 1 to 64\n"},
		{TUNED("'branching': 64"), ""},
		{TUNED("'branching': 65"),
			"w.json:1: gossip.branching: 65: expected a whole number from 1 to 64\n"},
		{TUNED("'timeout': '150ms'"), ""},
		{TUNED("'timeout': '149999999ns'"),
			"w.json:1: warning: gossip.timeout: '149999999ns': less than 3 intervals of "
			"50ms: a late message makes a peer lost\n"},
		/*
		 * The shortest interval of all policies counts; a configuration without a policy
		 * has none.
		 */
		{TIMEOUT("120ms"), ""},
		{TIMEOUT("119ms"),
			"w.json:1: warning: gossip.timeout: '119ms': less than 3 intervals of 40ms: "
			"a late message makes a peer lost\n"},
		{"{'limiter': 'me', " PORTS WIRES ", 'gossip': {'key_file': 'k', 'roster': [" GROUP2
		 "]}}",
			"w.json:1: warning: policies: missing: every packet passes without a "
			"policy\n"},
		{TUNED("'timeout': '99ms'"),
			"w.json:1: gossip.timeout: '99ms': expected 100ms to 3600s\n"},
		{TUNED("'timeout': '3600s'"), ""},
		{TUNED("'differs_alarm': '1s'"), ""},
		{TUNED("'differs_alarm': '24h'"), ""},
		{TUNED("'differs_alarm': '999ms'"),
			"w.json:1: gossip.differs_alarm: '999ms': expected 1s to 24h\n"},
		{TUNED("'differs_alarm': '25h'"),
			"w.json:1: gossip.differs_alarm: '25h': expected 1s to 24h\n"},
		{TUNED("'differs_alarm': 60"),
			"w.json:1: gossip.differs_alarm: 60: expected a time such as '50ms'\n"},
		{TUNED("'timeout': '3601s'"),
			"w.json:1: gossip.timeout: '3601s': expected 100ms to 3600s\n"},
		{TUNED("'timeout': '1 mn'"),
			"w.json:1: gossip.timeout: '1 mn': expected a time such as '50ms'\n"},
		{TUNED("'timeout': '200000000.5ns'"),
			"w.json:1: gossip.timeout: '200000000.5ns': expected a whole number of ns\n"},
		{TUNED("'estimator': 'state'"), ""},
		{TUNED("'estimator': 'tree'"), ""},
		{TUNED("'estimator': 'tree', 'loans': 'none'"), ""},
		{TUNED("'estimator': 'tree', 'loans': 'all'"),
			"w.json:1: gossip*'loans'*'estimator': 'state'\n"},
		{TUNED("'estimator': 'push-sum'"),
			"w.json:1: gossip.estimator: 'push-sum': expected 'state' or 'tree': only "
			"weirsim*\n"},
		{TUNED("'estimator': 'compensated-push-sum', 'loans': 'soft'"),
			"w.json:1: gossip.estimator: 'compensated-push-sum': expected 'state' or "
			"'tree': only weirsim*\n"},
		{TUNED("'estimator': 'flow-updating'"),
			"w.json:1: gossip.estimator: 'flow-updating': expected 'state' or 'tree': "
			"only weirsim*\n"},
		{TUNED("'estimator': 'trees'"),
			"w.json:1: gossip.estimator: 'trees': expected 'state' or 'tree': did you "
			"mean 'tree'?\n"},
		{TUNED("'datagram': '256B'"), ""},
		{TUNED("'datagram': '255B'"),
			"w.json:1: gossip.datagram: '255B': expected 256B to 8972B\n"},
		{TUNED("'datagram': '8972B'"), ""},
		{TUNED("'datagram': '8973B'"),
			"w.json:1: gossip.datagram: '8973B': expected 256B to 8972B\n"},
		{TUNED("'datagram': 1200"),
			"w.json:1: gossip.datagram: 1200: expected bytes such as '75kB' or "
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
		{SEALED(""),
			"w.json:1: gossip.key_file: missing: expected the path of the key that "
			"the 2 limiters share, or 'insecure': true\n"},
		{SEALED(", 'insecure': false"),
			"w.json:1: gossip.key_file: missing: expected the path of the key that the 2 "
			"limiters share, or 'insecure': true\n"},
		{SEALED(", 'insecure': true"),
			"w.json:1: warning: gossip.insecure: true: gossip is not encrypted: any host that can send to this limiter can change its limits\n"},
		{SEALED(", 'insecure': true, 'key_file': 'k'"),
			"w.json:1: gossip*'insecure'*'key_file'*remove one*\n"},
		{SEALED(", 'key_files': ['k'], 'key_file': 'k'"),
			"w.json:1: gossip*'key_file'*'key_files'*remove one*\n"},
		{SEALED(", 'insecure': 1, 'key_file': ''"),
			"w.json:1: gossip.key_file: '': expected a path of 1 to 4095 printable characters\n"
			"w.json:1: gossip.insecure: 1: expected true or false\n"},
		{0},
	};

	(void)state;
	run_cases(cases);
}

/* Either every limiter has a public key, or none. */
static void test_identities(void **state)
{
#define KEY60     "00112233445566778899aabbccddeeffAABBCCDDEEFF0000000000000000"
#define ZEROS63   "000000000000000000000000000000000000000000000000000000000000000"
#define ME(more)  "{'name': 'me', 'address': '10.0.0.1:1'" more "}"
#define YOU(more) "{'name': 'you', 'address': '10.0.0.2:1'" more "}"
#define KEY(text) ", 'public_key': '" text "'"
#define OWN       "'identity_file': 'i', "
#define PROVEN(members, me, you) \
	GOSSIP("'key_file': 'k', " members "'roster': [" ME(me) ", " YOU(you) "]")
#define AT_KEY(begins) "w.json:1: gossip.roster[1] 'you'.public_key: '" begins "...': expected "
#define NO_DIGITS      "64 hexadecimal digits, as written by weir --new-identity\n"
#define NO_KEY(text, begins, more)                                                       \
	{                                                                                \
		PROVEN(OWN, KEY(KEY60 "0001"), KEY(text)), AT_KEY(begins) NO_DIGITS more \
	}
#define NONE(begins) AT_KEY(begins) "*'identity_file'\n"
	static const struct config_case cases[] = {
		{PROVEN(OWN, KEY(KEY60 "0001"), KEY(KEY60 "fFFf")), ""},
		{PROVEN(OWN "'identities': 'optional', ", KEY(KEY60 "0001"), KEY(KEY60 "0002")),
			""},
		{PROVEN(OWN, KEY(KEY60 "0001"), ""),
			"w.json:1: gossip.roster[1] 'you'.public_key: missing: expected*'identity_file'\n"},
		/* The message names the first limiter without one. */
		{PROVEN(OWN, "", ""),
			"w.json:1: gossip.roster[0] 'me'.public_key: missing: expected*'identity_file'\n"},
		{PROVEN(OWN "'identities': 'none', ", KEY(KEY60 "0001"), KEY(KEY60 "0002")),
			"w.json:1: gossip.identities: 'none': expected 'required' or 'optional'\n"},
		{PROVEN("'identities': 'required', ", "", ""),
			"w.json:1: gossip*'identities'*'identity_file'\n"},
		{GOSSIP("'insecure': true, 'identity_file': 'i', 'roster': [" ME(
			 KEY(KEY60 "0001")) ", " YOU(KEY(KEY60 "0002")) "]"),
			"w.json:1: gossip*'identity_file'*'key_file' or 'key_files'\n"},
		NO_KEY(KEY60 "0001a", KEY60 "000", NONE(KEY60 "000")),
		NO_KEY(KEY60 "00g0", KEY60 "00g", ""),
		NO_KEY(KEY60 "000:", KEY60 "000", ""),
		NO_KEY("g0" KEY60 "00", "g0" KEY60 "0", NONE("g0" KEY60 "0")),
		NO_KEY(ZEROS63 "0", ZEROS63, NONE(ZEROS63)),
		{0},
	};
	char *text = with_quotes(PROVEN("", "", KEY(KEY60 "0001"))), *messages;
	struct config *config;

	(void)state;
	run_cases(cases);
	/* The message has a quote that stands for another one in tables. */
	assert_int_equal(parse_config_case(text, strlen(text), &messages, &config), -EINVAL);
	assert_parts(messages,
		"w.json:1: gossip.identity_file: missing: expected the path*\"public_key\"*\n");
	free(messages);
	free(text);
}

static void test_all_errors(void **state)
{
	static const struct config_case cases[] = {
		{"{'limiter': 'a b', 'ports': {'lan': {'device': 'net_null0', 'device': 'eth0', "
		 "'mtu': 5}, 'wan': {}}, 'wires': [{'name': 'w', 'a': 'lan', 'b': 'lan'}, 3], "
		 "'idle': 0, 'gossip': {'roster': [{'name': 'x', 'address': 'y'}, {'name': 'x', "
		 "'address': '10.0.0.1:1'}]}, 'policies': [{'limit': '1kbit/s', 'limti': 1}, "
		 "{'name': 'p', 'match': {'src': '10.0.0.1/8'}, 'burst': 'x'}], 'nonsense': []}",
			"w.json:1: ports.lan.device: duplicate key: expected it once: line 1 has it too\n"
			"w.json:1: nonsense: " UNKNOWN_KEY
			"w.json:1: limiter: 'a b': expected a name of 1 to 63 characters "
			"A-Z a-z 0-9 _ . -\n"
			"w.json:1: ports.lan.device: 'eth0': " DEVICE_MEANT(
				"net_af_packet0,iface=eth0") "w.json:1: ports.lan.mtu: 5: expected a whole number from 64 to 16000\n"
							     "w.json:1: ports.wan.device: missing: " EXPECTED_DEVICE
							     "w.json:1: wires[1]: 3: expected an object\n"
							     "w.json:1: idle: 0: expected 'poll' or 'sleep'\n"
							     "w.json:1: gossip.roster[0] 'x'.address: 'y': expected an address and port such as '10.0.0.1:7946' or '[2001:db8::1]:7946': names are not looked up: write the address\n"
							     "w.json:1: policies[0].limti: unknown key: did you mean 'limit'?\n"
							     "w.json:1: policies[0].name: missing: expected a name of 1 to 63 characters "
							     "A-Z a-z 0-9 _ . -\n"
							     "w.json:1: policies[0].limit: '1kbit/s': " RATE_RANGE
							     "w.json:1: policies[1] 'p'.match.src: '10.0.0.1/8': expected no host bits, as in "
							     "'10.0.0.0/8'\n"
							     "w.json:1: policies[1] 'p'.limit: missing: " EXPECTED_RATE
							     "w.json:1: policies[1] 'p'.burst: 'x': expected bytes such as '75kB' or '64KiB'\n"
							     "w.json:1: gossip.roster[1] 'x'.name: same*gossip.roster[0] 'x' (w.json:1)*unique*\n"
							     "w.json:1: wires[0] 'w'.b: 'lan': expected another port than at the other end\n"
							     "w.json:1: gossip.key_file: missing: expected the path of the key that the 2 limiters share, or 'insecure': true\n"},
		{0},
	};

	(void)state;
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
static void test_many_policies(void **state)
{
	static const struct {
		const char *last, *words; /* NULL: no message */
	} cases[] = {
		{"{'name':'last','limit':'1Mbit/s'}", NULL},
		{"{'name':'last','limit':'1Mbit'}",
			"w.json:1: policies[100000] 'last'.limit: '1Mbit': " MEANT_RATE("1Mbit/s")},
		{"{'name':'p77777','limit':'1Mbit/s'}",
			"w.json:1: policies[100000] 'p77777'.name: same*policies[77777] 'p77777' (w.json:1)*unique*\n"},
		{"{'name':'last','limit':'1Mbit/s','match':{'dst':'10.1.0.0/32'}}",
			"w.json:1: policies[100000] 'last'.match: same*policies[65536] 'p65536' (w.json:1)*unique*\n"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char *last = with_quotes(cases[i].last), *text, *messages;
		struct config *config;
		size_t size;
		int rc;

		text = make_policies(MANY_POLICIES, last, &size);
		rc = parse_config_case(text, size, &messages, &config);
		assert_int_equal(rc, cases[i].words != NULL ? -EINVAL : 0);
		if (rc == 0) {
			assert_string_equal(config->policies[MANY_POLICIES].name, "last");
		} else {
			char *words = with_quotes(cases[i].words);

			assert_parts(messages, words);
			free(words);
		}
		config_free(config);
		free(last);
		free(text);
		free(messages);
	}
}

/* One more than the maximum: refused before any policy is checked. */
static void test_too_many_policies(void **state)
{
	static const char head[] = "{\"limiter\":\"me\",\"policies\":[0";
	size_t size = sizeof(head) - 1 + (size_t)CONFIG_POLICIES_MAX * 2 + 2;
	char *text = malloc(size + 1), *at = text, *messages;
	struct config *config;

	(void)state;
	assert_non_null(text);
	at += sprintf(at, "%s", head);
	for (unsigned i = 0; i < CONFIG_POLICIES_MAX; i++)
		at += sprintf(at, ",0");
	sprintf(at, "]}");
	assert_int_equal(parse_config_case(text, size, &messages, &config), -EINVAL);
	assert_string_equal(
		messages, "w.json:1: policies: 1000001 in all: expected at most 1000000\n");
	free(text);
	free(messages);
}

/*
 * A wire to the last of too many ports: only the list has a message, and the wire's end is not set.
 */
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
	assert_int_equal(parse_config_case(text, size, &messages, &config), -EINVAL);
	assert_string_equal(messages, "w.json:1: ports: 33 in all: expected at most 32\n");
	free(text);
	free(messages);
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
static void test_allocator_risks(void **state)
{
	static const struct {
		unsigned n;
		const char *members, *key; /* NULL: no warning */
	} cases[] = {
		{1, "\"allocator\":\"central\"", NULL},
		{50, "\"allocator\":\"fps\",\"interval\":\"1s\"", NULL},
		{2, "\"allocator\":\"gtb\"", "allocator"},
		{2, "\"allocator\":\"grd\",\"interval\":\"100ms\"", NULL},
		{2, "\"allocator\":\"grd\",\"interval\":\"101ms\"", "interval"},
		{31, "\"allocator\":\"grd\"", NULL},
		{32, "\"allocator\":\"grd\"", "ewma"},
		{32, "\"allocator\":\"grd\",\"ewma\":0.75", NULL},
	};

	(void)state;
	for (size_t c = 0; c < sizeof(cases) / sizeof(cases[0]); c++) {
		char *text, *messages, *group, at[64] = "policies[0] \"p\".";
		struct config *config;
		size_t size;

		group = make_group(cases[c].n, "", &size);
		assert_true(
			asprintf(&text,
				"%.*s,\"policies\":[{\"name\":\"p\",\"limit\":\"10Mbit/s\",%s}]}",
				(int)size - 1, group, cases[c].members) > 0);
		assert_int_equal(parse_config_case(text, strlen(text), &messages, &config), 0);
		if (cases[c].key)
			strcat(at, cases[c].key);
		else
			strcat(at, "allocator");
		assert_int_equal(strstr(messages, at) != NULL, cases[c].key != NULL);
		assert_null(cases[c].key ? NULL : strstr(messages, "exceeds the limit"));
		config_free(config);
		free(messages);
		free(group);
		free(text);
	}
}

/* Ten thousand limiters, all checked for clashes, in far less than a second. */
static void test_many_limiters(void **state)
{
	char *text, *messages;
	struct config *config;
	clock_t began;
	size_t size;

	(void)state;
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
	assert_int_equal(parse_config_case(text, size, &messages, &config), -EINVAL);
	assert_string_equal(
		messages, "w.json:1: gossip.roster: 16385 in all: expected at most 16384\n");
	free(text);
	free(messages);
}

/* Groups of up to 64 limiters keep all records and lend tokens; larger groups sum along a tree. */
static void test_default_estimator(void **state)
{
	(void)state;
	for (unsigned n = 63; n <= 65; n++) {
		char *text, *messages;
		struct config *config;
		size_t size;

		text = make_group(n, "", &size);
		assert_int_equal(parse_config_case(text, size, &messages, &config), 0);
		assert_int_equal(
			config->gossip.estimator, n <= 64 ? ESTIMATOR_STATE : ESTIMATOR_TREE);
		assert_int_equal(config->gossip.loans, n <= 64 ? LOANS_SOFT : LOANS_NONE);
		config_free(config);
		free(messages);
		free(text);

		text = make_group(n, "\"estimator\":\"tree\",", &size);
		assert_int_equal(parse_config_case(text, size, &messages, &config), 0);
		assert_int_equal(config->gossip.estimator, ESTIMATOR_TREE);
		assert_int_equal(config->gossip.loans, LOANS_NONE);
		config_free(config);
		free(messages);
		free(text);
	}
}

static void test_defaults(void **state)
{
	struct config *config = must_parse(DOC(""));
	const struct policy *policy = &config->policies[0];

	(void)state;
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
	assert_int_equal(config->gossip.differs_alarm_ns, 60000000000);
	assert_int_equal(config->gossip.datagram_max, 1200);
	assert_string_equal(config->gossip.key_files[0], "k");
	assert_int_equal(config->gossip.n_key_files, 1);
	assert_string_equal(config->gossip.identity_file, "");
	assert_string_equal(config->policies[0].allocator->name, "fps");
	config_free(config);
}

/* A group of one has no peers to listen for, with any address. */
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
		"'2001:db8:4::/46', 'dst': '::/0', 'vlan': 7, 'dscp': 46, 'proto': 'sctp', "
		"'src-port': '1024-2047', 'dst-port': 7}, 'limit': '1.5Gbit/s', "
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
static void test_more_values(void **state)
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

	(void)state;
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

static void test_tunnels(void **state)
{
	static const struct config_case cases[] = {
		{DOC(", 'tunnels': {}"), ""},
		{DOC(", 'tunnels': {'classify': 'outer'}"), ""},
		{DOC(", 'tunnels': {'classify': 'inner'}"), ""},
		{DOC(", 'tunnels': {'classify': 'inner', 'vxlan-port': 65535}"), ""},
		{DOC(", 'tunnels': {'classify': 'both'}"),
			"w.json:1: tunnels.classify: 'both': expected 'outer' or 'inner'\n"},
		{DOC(", 'tunnels': {'classify': 'both', 'vxlan-port': 1}"),
			"w.json:1: tunnels.classify: 'both': expected 'outer' or 'inner'\n"},
		{DOC(", 'tunnels': {'classify': 'inner', 'vxlan-port': 65536}"),
			"w.json:1: tunnels.vxlan-port: 65536: expected a whole number from 1 to "
			"65535\n"},
		{DOC(", 'tunnels': {'classify': 'inner', 'vxlan-port': 0}"),
			"w.json:1: tunnels.vxlan-port: 0: expected a whole number from 1 to "
			"65535\n"},
		{DOC(", 'tunnels': {'vxlan-port': 4789}"),
			"w.json:1: tunnels*'vxlan-port'*'classify': 'inner'\n"},
		{0},
	};
	struct config *config;

	(void)state;
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

static void test_cpu_list(void **state)
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
		{"w.json:1: gossip.roster[2] 'she'.address: '[::1]:7': expected IPv4*\n", -EINVAL,
			0},
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

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
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

static void test_dscp_names(void **state)
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

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
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
	refuse_file("/", -EISDIR, "/: Is a directory: name a file in it\n");
	refuse_file("/nonexistent/w.json", -ENOENT,
		"/nonexistent/w.json: No such file or directory: is the path right?\n");
	snprintf(message, sizeof(message), "%s: empty: expected a JSON object\n", path);
	refuse_file(path, -EINVAL, message);
	assert_int_equal(ftruncate(fd, READER_FILE_MAX + 1), 0);
	snprintf(message, sizeof(message), "%s: File too large: expected at most 256 MiB\n", path);
	refuse_file(path, -EFBIG, message);
	/* Root can read every file. */
	assert_int_equal(fchmod(fd, 0), 0);
	snprintf(message, sizeof(message), "%s: Permission denied: may this user read it?\n", path);
	if (getuid() == 0)
		assert_int_equal(seteuid(65534), 0);
	refuse_file(path, -EACCES, message);
	assert_int_equal(seteuid(getuid()), 0);
	close(fd);
	unlink(path);
}

/* The examples, found relative to this source file, without an error or a warning. */
static void test_examples(void **state)
{
	static const char *const names[] = {"single.json", "group-of-two.json", "api-gateway.json",
		"prepaid.json", "shaped.json", "hierarchy.json"};
	int root = (int)(strlen(__FILE__) - strlen("test/unit/io/config/test_config.c"));

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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_document),
		cmocka_unit_test(test_cpu_list),
		cmocka_unit_test(test_dscp_names),
		cmocka_unit_test(test_limiter),
		cmocka_unit_test(test_ports),
		cmocka_unit_test(test_wires),
		cmocka_unit_test(test_process),
		cmocka_unit_test(test_gossip),
		cmocka_unit_test(test_sealing),
		cmocka_unit_test(test_identities),
		cmocka_unit_test(test_more_values),
		cmocka_unit_test(test_all_errors),
		cmocka_unit_test(test_many_policies),
		cmocka_unit_test(test_too_many_policies),
		cmocka_unit_test(test_many_ports),
		cmocka_unit_test(test_allocator_risks),
		cmocka_unit_test(test_many_limiters),
		cmocka_unit_test(test_default_estimator),
		cmocka_unit_test(test_defaults),
		cmocka_unit_test(test_group_defaults),
		cmocka_unit_test(test_group_of_one),
		cmocka_unit_test(test_everything),
		cmocka_unit_test(test_tunnels),
		cmocka_unit_test(test_files),
		cmocka_unit_test(test_examples),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
