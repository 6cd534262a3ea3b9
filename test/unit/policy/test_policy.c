/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Policies of a configuration: each key, and keys in combination, in pairs of values that are just
 * accepted and just refused.
 */
#include "check.h"
#include "scope.h"

#include "config_cases.h"

#include "config/load.h"
#include "policy/kind.h"

END_POINTER(config_free, struct config *)

TEST(test_policy)
{
#define LIMIT(text) POLICY(", 'limit': " text)
	static const struct config_case cases[] = {
		{LIMIT("'8kbit/s'"), ""},
		{LIMIT("'7999bit/s'"), "p0.limit: out_of_range: 8kbit/s to 400Gbit/s"},
		{LIMIT("'400Gbit/s'"), ""},
		{LIMIT("'400.000000001Gbit/s'"), "p0.limit: out_of_range: 8kbit/s to 400Gbit/s"},
		{LIMIT("'0bit/s'"), "p0.limit: out_of_range: 8kbit/s to 400Gbit/s"},
		{LIMIT("'-10Mbit/s'"), "p0.limit: out_of_range: 8kbit/s to 400Gbit/s"},
		{LIMIT("'20000000Tbit/s'"), "p0.limit: out_of_range: 8kbit/s to 400Gbit/s"},
		{LIMIT("'10Mbit'"), "p0.limit: wrong_value: *did you mean '10Mbit/s'?"},
		{LIMIT("'1MB'"), "p0.limit: wrong_value"},
		{LIMIT("10000000"), "p0.limit: wrong_value"},
		{LIMIT("null"), "p0.limit: wrong_value"},
		{LIMIT("['10Mbit/s']"), "p0.limit: wrong_value"},
		{POLICY(""), "p0.limit: wrong_value"},
		{LIMIT("'10000.0001kbit/s'"), "p0.limit: not_multiple: bit/s"},
		{LIMITED(", 'burst': '4GiB'"), ""},
		{LIMITED(", 'burst': '4294967297B'"), "p0.burst: out_of_range: 1B to 4GiB"},
		{LIMITED(", 'burst': '0B'"), "p0.burst: out_of_range: 1B to 4GiB"},
		{LIMITED(", 'burst': '1518B', 'match': {'proto': 'udp'}"), ""},
		{LIMITED(", 'burst': '1517B', 'match': {'proto': 'udp'}"),
			"warning: p0.burst: burst_below_frame: 1518"},
		{LIMITED(", 'burst': '12kbit'"), "p0.burst: wrong_value"},
		{LIMITED(", 'allocator': 'static'"), ""},
		{LIMITED(", 'allocator': 'magic'"), "p0.allocator: not_one_of"},
		{LIMITED(", 'allocator': 3"), "p0.allocator: not_one_of"},
		{LIMITED(", 'allocator': 'central', 'meter': 'token-bucket', 'action': 'drop'"),
			""},
		{LIMITED(", 'meter': 'leaky', 'action': 'delay', 'accounting': 'L3'"),
			"p0.meter: wrong_choice: *did you mean 'token-bucket'?\n"
			"p0.action: wrong_choice: *did you mean 'shape'?\n"
			"p0.accounting: wrong_choice: *did you mean 'l3'?"},
		{LIMITED(", 'ewma': 0"), ""},
		{LIMITED(", 'ewma': 0.999"), ""},
		{LIMITED(", 'ewma': 1"), "p0.ewma: number_range: 0, less than , 1"},
		{LIMITED(", 'ewma': -0.001"), "p0.ewma: number_range: 0, less than , 1"},
		{LIMITED(", 'ewma': '0.1'"), "p0.ewma: number_range: 0, less than , 1"},
		{LIMITED(", 'limt': 1"), "p0.limt: unknown_key: did you mean 'limit'?"},
		{GOSSIP("'key_file': 'k', 'roster': [" GROUP2 "]"), ""},
		{"{'limiter': 'me', " PORTS WIRES ", 'gossip': {'key_file': 'k', 'roster': [" GROUP2
		 "]}, 'policies': [{'name': 'p', 'limit': '1Mbit/s', 'allocator': 'central'}]}",
			"p0.allocator: allocator_not_shared: 2"},
		{0},
	};

	run_cases(cases);
}

TEST(test_match)
{
#define DST_REFUSED(text)                                                \
	{                                                                \
		MATCH("'dst': '" text "'"), "p0.match.dst: wrong_prefix" \
	}
#define DST_ADVISED(text, remedy)                                                 \
	{                                                                         \
		MATCH("'dst': '" text "'"), "p0.match.dst: wrong_prefix: " remedy \
	}
#define MAPPED(text, right)                                                      \
	{                                                                        \
		MATCH("'dst': '" text "'"),                                      \
			"p0.match.dst: prefix_mapped: did you mean '" right "'?" \
	}
#define PORTS_REFUSED(text)                                                  \
	{                                                                    \
		MATCH("'dst-port': " text), "p0.match.dst-port: wrong_ports" \
	}
#define HOST_BITS(text, right)                                                       \
	{                                                                            \
		MATCH("'dst': '" text "'"), "p0.match.dst: prefix_host_bits: " right \
	}
	static const struct config_case cases[] = {
		{MATCH(""), ""},
		{MATCH("'wire': 'w', 'direction': 'b-to-a', 'vlan': 4094, 'dscp': 63"), ""},
		{MATCH("'vlan': 0, 'dscp': 0"), ""},
		{MATCH("'wire': 'x', 'direction': 'any', 'vlan': 4095, 'dscp': 64"),
			"p0.match.wire: no_such_wire\n"
			"p0.match.direction: wrong_choice\n"
			"p0.match.vlan: integer_range: 0, 4094\n"
			"p0.match.dscp: wrong_dscp"},
		{MATCH("'vlan': -1, 'dscp': null"), "p0.match.vlan: integer_range: 0, 4094\n"
						    "p0.match.dscp: wrong_dscp"},
		{MATCH("'proto': 'tcp', 'dst-port': 443, 'src-port': '1024-65535'"), ""},
		{MATCH("'proto': 1"), ""},
		{MATCH("'proto': 255"), ""},
		{MATCH("'dst-port': '80'"), ""},
		{MATCH("'dst-port': '80-80'"), ""},
		{MATCH("'proto': 0"), "p0.match.proto: wrong_proto"},
		{MATCH("'proto': 256"), "p0.match.proto: wrong_proto"},
		{MATCH("'proto': '6'"), "p0.match.proto: wrong_proto"},
		{MATCH("'proto': 6.0"), "p0.match.proto: wrong_proto"},
		{MATCH("'proto': 'tpc'"), "p0.match.proto: wrong_proto: *did you mean 'tcp'?"},
		{MATCH("'wire': 'W'"), "p0.match.wire: no_such_wire: did you mean 'w'?"},
		{MATCH("'wire': 7"), "p0.match.wire: no_such_wire"},
		/* An error of one key is not reported for the others. */
		{MATCH("'vlan': -1, 'src': '10.0.0.0/8', 'dst': '::/0'"),
			"p0.match.vlan: integer_range: 0, 4094"},
		{MATCH("'dst-port': 1, 'src-port': 65535"), ""},
		PORTS_REFUSED("0"),
		PORTS_REFUSED("65536"),
		PORTS_REFUSED("80.5"),
		{MATCH("'dst-port': '80-20'"),
			"p0.match.dst-port: wrong_ports: did you mean '20-80'?"},
		PORTS_REFUSED("'0-20'"),
		PORTS_REFUSED("'20-65536'"),
		PORTS_REFUSED("'020'"),
		PORTS_REFUSED("'20-'"),
		PORTS_REFUSED("'20 - 80'"),
		PORTS_REFUSED("'20-80,443'"),
		PORTS_REFUSED("''"),
		{MATCH("'proto': 'icmp', 'dst-port': 80"), "p0.match.dst-port: ports_need_proto"},
		{MATCH("'proto': 50, 'src-port': 80"), "p0.match.src-port: ports_need_proto"},
		{MATCH("'dts': '10.0.0.0/8'"), "p0.match.dts: unknown_key: did you mean 'dst'?"},
		{LIMITED(", 'match': 'all'"), "p0.match: not_object"},
		{MATCH("'src': '10.0.0.0/8', 'dst': '192.0.2.255/32'"), ""},
		{MATCH("'dst': '0.0.0.0/0'"), ""},
		{MATCH("'dst': '::/0'"), ""},
		{MATCH("'src': '::1/128', 'dst': '2001:db8::/32'"), ""},
		{MATCH("'src': '10.0.0.0/8', 'dst': '::/0'"), "p0.match: families_differ: 4, 6"},
		{MATCH("'src': '::/0', 'dst': '0.0.0.0/0'"), "p0.match: families_differ: 6, 4"},
		DST_ADVISED("192.0.2.0/33", "a prefix of IPv4 has at most 32 bits"),
		DST_ADVISED("2001:db8::/129", "a prefix of IPv6 has at most 128 bits"),
		DST_ADVISED("192.0.2.0", "did you mean '192.0.2.0/32'?"),
		DST_ADVISED("2001:db8::1", "did you mean '2001:db8::1/128'?"),
		DST_REFUSED("192.0.2.0/"),
		DST_REFUSED("192.0.2.0/-1"),
		DST_REFUSED("192.0.2.0/24x"),
		DST_REFUSED("192.0.2.0/32x"),
		MAPPED("::ffff:0:0/96", "0.0.0.0/0"),
		MAPPED("::ffff:10.0.0.0/104", "10.0.0.0/8"),
		MAPPED("::ffff:192.0.2.7/128", "192.0.2.7/32"),
		{MATCH("'dst': '::fffe:0:0/96'"), ""},
		{MATCH("'dst': '::feff:0:0/96'"), ""},
		{MATCH("'dst': '::1:ffff:0:0/96'"), ""},
		{MATCH("'dst': '1::ffff:0:0/96'"), ""},
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

	run_cases(cases);
}

TEST(test_policies)
{
#define P(name, members) "{'name': '" name "', 'limit': '10Mbit/s'" members "}"
#define PM(name, match)  P(name, ", 'match': {" match "}")
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
			"p1.match: duplicate_match: policies[0] 'a' (w.json:1)"},
		{POLICIES(P("a", "") ", " PM("b", "")),
			"p1.match: duplicate_match: policies[0] 'a' (w.json:1)"},
		{POLICIES(PM("a", "'vlan': 7, 'dst': '10.0.0.0/8'") ", " PM(
			 "b", "'vlan': 8, 'dst': '10.0.0.0/8'") ", " PM("c",
			 "'dst': '10.0.0.0/8', 'vlan': 7")),
			"p2.match: duplicate_match: policies[0] 'a' (w.json:1)"},
		{POLICIES(PM("a", "'dst-port': 80") ", " PM("b", "'src-port': 80") ", " PM(
			 "c", "'dst-port': '80-81'") ", " PM("d",
			 "'proto': 17, 'dst-port': 80") ", " PM("e", "'src-port': 81")),
			""},
		{POLICIES(PM("a", "'proto': 'udp', 'dst-port': 80") ", " PM(
			 "b", "'proto': 17, 'dst-port': '80-80'")),
			"p1.match: duplicate_match: policies[0] 'a' (w.json:1)"},
		/* A match that was refused is not compared. */
		{POLICIES(PM("a", "'dst': 'x'") ", " PM("b", "'dst': 'y'")),
			"p0.match.dst: wrong_prefix\n"
			"p1.match.dst: wrong_prefix"},
		{POLICIES(P("a", "") ", " PM("a", "'vlan': 1") ", " PM("a", "'vlan': 2")),
			"p1.name: not_unique: name, *policies[0] 'a' (w.json:1)\n"
			"p2.name: not_unique: name, *policies[0] 'a' (w.json:1)"},
		/* Two names with the same 32-bit FNV-1a hash are different. */
		{POLICIES(P("costarring", "") ", " PM("liquid", "'vlan': 1")), ""},
		{POLICIES("[], " P("b", "")), "p0: not_object"},
		{0},
	};

	run_cases(cases);
}

/* A limit of packets or flows is a number per time, wherever "count" is in the object. */
TEST(test_count)
{
#define COUNTED(what, members) POLICY(", 'count': '" what "', " members)
	static const struct config_case cases[] = {
		{COUNTED("bytes", "'limit': '10Mbit/s', 'burst': '512KiB'"), ""},
		{COUNTED("packets", "'limit': '500/s'"), ""},
		{COUNTED("flows", "'limit': '500/s'"), ""},
		{POLICY(", 'limit': '10k/s', 'burst': 100, 'count': 'packets'"), ""},
		{POLICY(", 'burst': '512KiB', 'limit': '10Mbit/s', 'count': 'bytes'"), ""},
		{COUNTED("packets", "'limit': '600/min', 'burst': '100'"), ""},
		{COUNTED("packets", "'limit': '900/h', 'burst': '10k'"), ""},
		{COUNTED("bytes", "'limit': '500/s'"), "p0.limit: wrong_value"},
		{COUNTED("packets", "'limit': '10Mbit/s'"), "p0.limit: wrong_count_rate: packets"},
		{COUNTED("packets", "'limit': 500"), "p0.limit: wrong_count_rate: packets"},
		{COUNTED("flows", "'limit': '500'"), "p0.limit: wrong_count_rate: flows"},
		{POLICY(", 'count': 'flows'"), "p0.limit: wrong_count_rate: flows"},
		{COUNTED("packets", "'limit': '0.125/s'"), ""},
		{COUNTED("packets", "'limit': '450/h'"), ""},
		{COUNTED("packets", "'limit': '0/s'"), "p0.limit: out_of_range: 1/d to 1G/s"},
		{COUNTED("packets", "'limit': '-1/s'"), "p0.limit: out_of_range: 1/d to 1G/s"},
		{COUNTED("packets", "'limit': '1G/s'"), ""},
		{COUNTED("packets", "'limit': '1000000000.125/s'"),
			"p0.limit: out_of_range: 1/d to 1G/s"},
		{COUNTED("packets", "'limit': '100/min'"), ""},
		{COUNTED("flows", "'limit': '1000/h'"), ""},
		{COUNTED("packets", "'limit': '5/min'"), ""},
		{COUNTED("packets", "'limit': '10k/h'"), ""},
		{COUNTED("packets", "'limit': '1/d'"), ""},
		{COUNTED("packets", "'limit': '0.125/h'"), ""},
		{COUNTED("packets", "'limit': '0.875/d'"), "p0.limit: out_of_range: 1/d to 1G/s"},
		{COUNTED("packets", "'limit': '60G/min'"), ""},
		{COUNTED("packets", "'limit': '60000000000.125/min'"),
			"p0.limit: out_of_range: 1/d to 1G/s"},
		{COUNTED("packets", "'limit': '99999999999999999999/d'"),
			"p0.limit: out_of_range: 1/d to 1G/s"},
		{COUNTED("packets", "'limit': '5/week'"), "p0.limit: wrong_count_rate: packets"},
		{COUNTED("bytes", "'limit': '100/min'"), "p0.limit: wrong_value"},
		{COUNTED("flows", "'limit': '0.3/s'"), "p0.limit: count_rate_fraction: 0.25/s"},
		{COUNTED("flows", "'limit': '10.3/min'"),
			"p0.limit: count_rate_fraction: 10.25/min"},
		{COUNTED("packets", "'limit': '1/s', 'burst': 1"), ""},
		{COUNTED("packets", "'limit': '1/s', 'burst': 0"),
			"p0.burst: out_of_range: 1 to 1G"},
		{COUNTED("packets", "'limit': '1/s', 'burst': '0'"),
			"p0.burst: out_of_range: 1 to 1G"},
		{COUNTED("packets", "'limit': '1/s', 'burst': 1000000000"), ""},
		{COUNTED("packets", "'limit': '1/s', 'burst': 1000000001"),
			"p0.burst: out_of_range: 1 to 1G"},
		{COUNTED("packets", "'limit': '1/s', 'burst': '64KiB'"), "p0.burst: wrong_value"},
		{COUNTED("packets", "'limit': '1/s', 'burst': 1.5"), "p0.burst: wrong_value"},
		{COUNTED("packets", "'limit': '1/s', 'burst': '1.5'"),
			"p0.burst: not_multiple: packets or flows"},
		{COUNTED("bytes", "'limit': '1Mbit/s', 'burst': 100000"), "p0.burst: wrong_value"},
		/* Values in the unit of a wrong "count" are not checked. */
		{COUNTED("requests", "'limit': '10Mbit/s', 'burst': '64KiB'"),
			"p0.count: wrong_choice"},
		{COUNTED("flows", "'limit': '5/s', 'meter': 'phantom'"),
			"p0.meter: meter_excludes_flows"},
		{COUNTED("flows", "'limit': '5/s', 'meter': 'srtcm'"),
			"p0.meter: meter_excludes_flows"},
		{COUNTED("requests", "'limit': '10k/s', 'burst': 100, 'accounting': 'l2'"),
			"p0.count: wrong_choice"},
		{COUNTED("bytes", "'limit': '1Mbit/s', 'accounting': 'l2'"), ""},
		{COUNTED("packets", "'limit': '1/s', 'accounting': 'l3'"),
			"p0.accounting: key_required: 'count': 'bytes'"},
		{0},
	};

	run_cases(cases);
}

TEST(test_meter)
{
#define METER(name)          LIMITED(", 'meter': '" name "'")
#define WINDOW(name, window) LIMITED(", 'meter': '" name "', 'window': '" window "'")
#define PACKETS(limit, window)                                                          \
	POLICY(", 'window': '" window "', 'meter': 'fixed-window', 'count': 'packets'," \
	       " 'limit': '" limit "'")
	static const struct config_case cases[] = {
		{METER("token-bucket"), ""},
		{METER("gcra"), ""},
		{METER("random-drop"), ""},
		{WINDOW("fixed-window", "1s"), ""},
		{WINDOW("hybrid", "1s"), ""},
		{METER("fixed-window"), "p0.window: window_missing"},
		{METER("hybrid"), "p0.window: window_missing"},
		{LIMITED(", 'window': '1s'"),
			"p0.window: key_required: 'meter': 'fixed-window' or 'hybrid'"},
		{WINDOW("gcra", "1s"),
			"p0.window: key_required: 'meter': 'fixed-window' or 'hybrid'"},
		{WINDOW("leaky", "1s"), "p0.meter: wrong_choice: *did you mean 'token-bucket'?"},
		{WINDOW("hybrid", "10ms"), ""},
		{WINDOW("hybrid", "24h"), ""},
		{WINDOW("hybrid", "1 day"), "p0.window: wrong_value"},
		{LIMITED(", 'meter': 'gcra', 'burst': '512KiB'"), ""},
		{LIMITED(", 'meter': 'random-drop', 'burst': '64KiB'"),
			"p0.burst: key_required: 'meter': 'token-bucket', 'gcra', 'phantom', 'srtcm', 'trtcm' or 'trtcm-4115'"},
		{LIMITED(", 'burst': '64KiB', 'window': '1s', 'meter': 'hybrid'"),
			"p0.burst: key_required: 'meter': 'token-bucket', 'gcra', 'phantom', 'srtcm', 'trtcm' or 'trtcm-4115'"},
		/* A frame of the largest size must fit into a window. */
		{POLICY(", 'limit': '1214400bit/s', 'meter': 'hybrid', 'window': '10ms'"), ""},
		{POLICY(", 'limit': '1214399bit/s', 'meter': 'hybrid', 'window': '10ms'"),
			"warning: p0.window: window_below_frame: 1517, 1518"},
		{PACKETS("500/s", "10ms"), ""},
		{PACKETS("500/s", "11ms"), "p0.window: window_not_whole: 12ms"},
		{PACKETS("500/s", "10.9ms"), "p0.window: window_not_whole: 10ms"},
		{PACKETS("500/s", "10.000001ms"), "p0.window: window_not_whole: 10ms"},
		{PACKETS("600/min", "1min"), ""},
		{PACKETS("10/s", "10ms"), "p0.window: window_not_whole: 100ms"},
		{PACKETS("0.125/s", "8s"), ""},
		{PACKETS("0.125/s", "10ms"), "p0.window: window_not_whole: 8s"},
		{PACKETS("0.375/s", "24h"), ""},
		{PACKETS("0.375/s", "86399s"), "p0.window: window_not_whole: 24h"},
		{PACKETS("1G/s", "10.000001ms"), ""},
		{PACKETS("3/s", "333333333ns"), "p0.window: window_not_whole: 1s"},
		{PACKETS("100/min", "1min"), ""},
		{PACKETS("100/min", "3s"), ""},
		{PACKETS("100/min", "1s"), "p0.window: window_not_whole: 1.2s"},
		{PACKETS("7/h", "1min"), "p0.window: window_not_whole: 1h"},
		{PACKETS("10k/h", "1h"), ""},
		{PACKETS("1/d", "24h"), ""},
		{PACKETS("1/d", "12h"), "p0.window: window_not_whole: 24h"},
		{PACKETS("7.5/d", "24h"), "p0.limit: window_never_whole"},
		{0},
	};

	run_cases(cases);
}

/* Meters that fit an allocator. */
TEST(test_allocators)
{
#define IN_GROUP(members)                                                                   \
	"{'limiter': 'me', " PORTS WIRES ", 'gossip': {'key_file': 'k', 'roster': [" GROUP2 \
	"]}, 'policies': [{'name': 'p', 'limit': '10Mbit/s'" members "}]}"
#define PAIR(allocator, meter) IN_GROUP(", 'meter': '" meter "', 'allocator': '" allocator "'")
#define FEW_BY(workers, limit, meter)                                                             \
	"{'limiter': 'me', " workers PORTS WIRES                                                  \
	", 'gossip': {'key_file': 'k', 'roster': [" GROUP2                                        \
	"]}, 'policies': [{'name': 'p', 'count': 'flows', 'limit': '" limit "', 'meter': '" meter \
	"'}]}"
#define FEW(limit, meter) FEW_BY("", limit, meter)
#define TWO_WORKERS       "'workers': [1, 2], "
	static const struct config_case cases[] = {
		{FEW("2/min", "fixed-window"), ""},
		{FEW("1/min", "token-bucket"), ""},
		{FEW("1/min", "hybrid"), "warning: p0.limit: window_divided: 1, 2, 2"},
		{FEW_BY(TWO_WORKERS, "4/min", "hybrid"), ""},
		{FEW_BY(TWO_WORKERS, "3/min", "hybrid"),
			"warning: p0.limit: window_divided: 3, 2, 4"},
		{PAIR("gtb", "token-bucket"), "warning: p0.allocator: gtb_unfair"},
		{PAIR("gtb", "gcra"), "p0.meter: meter_of_allocator: 'token-bucket', gtb"},
		{PAIR("gtb", "random-drop"), "p0.meter: meter_of_allocator: 'token-bucket', gtb"},
		{IN_GROUP(", 'window': '1s', 'meter': 'hybrid', 'allocator': 'gtb'"),
			"p0.meter: meter_of_allocator: 'token-bucket', gtb"},
		{IN_GROUP(", 'allocator': 'grd'"), ""},
		{PAIR("grd", "random-drop"), ""},
		{PAIR("grd", "token-bucket"), ""},
		{PAIR("grd", "gcra"),
			"p0.meter: meter_of_allocator: 'token-bucket' or 'random-drop', grd"},
		{PAIR("fps", "random-drop"), ""},
		{PAIR("static", "random-drop"), ""},
		{LIMITED(", 'allocator': 'central', 'meter': 'random-drop'"), ""},
		{PAIR("fps", "gcra"), ""},
		{PAIR("static", "gcra"), ""},
		{IN_GROUP(", 'window': '1s', 'meter': 'hybrid'"), ""},
		/* A burst is checked with the default meter, also when no meter is given. */
		{IN_GROUP(", 'allocator': 'grd', 'burst': '64KiB'"),
			"p0.burst: key_required: 'meter': 'token-bucket' with 'allocator': 'grd'"},
		{IN_GROUP(", 'allocator': 'gtb', 'burst': '512KiB'"),
			"warning: p0.allocator: gtb_unfair"},
		{IN_GROUP(", 'weigh': 'tcp'"), ""},
		{IN_GROUP(", 'weigh': 'all', 'allocator': 'fps'"), ""},
		{IN_GROUP(", 'weigh': 'all', 'allocator': 'gtb'"),
			"p0.weigh: key_required: 'allocator': 'fps'"},
		{LIMITED(", 'weigh': 'tcp'"), "p0.weigh: key_required: 'allocator': 'fps'"},
		{IN_GROUP(", 'weigh': 'udp'"), "p0.weigh: wrong_choice"},
		{IN_GROUP(", 'weigh': 'tcp', 'allocator': 'magic', 'meter': 'gcra'"),
			"p0.allocator: not_one_of"},
		{0},
	};

	run_cases(cases);
}

/* The history of the allocator "adaptor". */
TEST(test_history)
{
#define ADAPTOR(members) IN_GROUP(", 'allocator': 'adaptor'" members)
	static const struct config_case cases[] = {
		{ADAPTOR(""), ""},
		{ADAPTOR(", 'meter': 'gcra'"), ""},
		{ADAPTOR(", 'meter': 'random-drop'"),
			"p0.meter: meter_of_allocator: 'token-bucket' or 'gcra', adaptor"},
		{ADAPTOR(", 'per': 'src'"), "p0.per: per_needs_static:  in a group"},
		{ADAPTOR(", 'guarantee': 'hard', 'history': '20s', 'step': '2s'"), ""},
		{ADAPTOR(", 'history': '2s'"), ""},
		{ADAPTOR(", 'history': '64s'"), ""},
		{ADAPTOR(", 'history': '1s'"), "p0.history: history_steps: 2, 64, 1s"},
		{ADAPTOR(", 'history': '65s'"), "p0.history: history_steps: 2, 64, 1s"},
		{ADAPTOR(", 'history': '10s', 'step': '3s'"),
			"p0.history: history_steps: 2, 64, 3s"},
		{ADAPTOR(", 'history': '1s', 'step': '100ms', 'interval': '100ms'"), ""},
		{ADAPTOR(", 'history': '1s', 'step': '100ms', 'interval': '101ms'"),
			"p0.step: step_below_interval: 101ms"},
		{IN_GROUP(", 'history': '10s'"),
			"p0.history: key_required: 'allocator': 'adaptor'"},
		{IN_GROUP(", 'step': '1s', 'allocator': 'static'"),
			"p0.step: key_required: 'allocator': 'adaptor'"},
		{0},
	};

	run_cases(cases);
}

TEST(test_per)
{
#define PER(per) LIMITED(", 'per': " per)
#define PER_REFUSED(per)                      \
	{                                     \
		PER(per), "p0.per: wrong_per" \
	}
	static const struct config_case cases[] = {
		{PER("'src'"), ""},
		{PER("'src/1'"), ""},
		{PER("'src/128'"), ""},
		PER_REFUSED("'src/0'"),
		PER_REFUSED("'src/129'"),
		PER_REFUSED("'src/024'"),
		PER_REFUSED("'src/'"),
		PER_REFUSED("'src/24x'"),
		PER_REFUSED("'src/-1'"),
		PER_REFUSED("'src24'"),
		PER_REFUSED("'srcs'"),
		PER_REFUSED("'dst'"),
		PER_REFUSED("''"),
		PER_REFUSED("32"),
		{LIMITED(", 'per': 'src', 'sources': 1024"), ""},
		{LIMITED(", 'per': 'src', 'sources': 1023"),
			"p0.sources: integer_range: 1024, 16777216"},
		{LIMITED(", 'per': 'src', 'sources': 16777216"), ""},
		{LIMITED(", 'per': 'src', 'sources': 16777217"),
			"p0.sources: integer_range: 1024, 16777216"},
		{LIMITED(", 'sources': 1024"), "p0.sources: key_required: 'per'"},
		{LIMITED(", 'sources': 1024, 'per': 'dst'"), "p0.per: wrong_per"},
		{LIMITED(", 'per': 'src', 'allocator': 'central'"), ""},
		{LIMITED(", 'per': 'src', 'allocator': 'static'"), ""},
		{LIMITED(", 'per': 'src', 'allocator': 'fps'"),
			"p0.per: per_needs_static: 'central' or "},
		{IN_GROUP(", 'per': 'src', 'allocator': 'static'"), ""},
		{IN_GROUP(", 'per': 'src'"), "p0.per: per_needs_static:  in a group"},
		{IN_GROUP(", 'per': 'src', 'allocator': 'magic'"), "p0.allocator: not_one_of"},
		{IN_GROUP(", 'per': 'src', 'allocator': 'gtb'"),
			"p0.per: per_needs_static:  in a group"},
		{IN_GROUP(", 'per': 'src', 'allocator': 'central'"),
			"p0.allocator: allocator_not_shared: 2"},
		{LIMITED(", 'per': 'src', 'meter': 'gcra'"), ""},
		{LIMITED(", 'per': 'src', 'meter': 'random-drop'"), "p0.meter: meter_excludes_per"},
		{"{'limiter': 'me', " PORTS WIRES ", 'workers': [1, 2, 3], 'policies': [{'name': "
		 "'p', 'limit': '1Mbit/s', 'per': 'src'}]}",
			"warning: p0.per: per_of_workers: 3, 3"},
		{0},
	};

	run_cases(cases);
}

TEST(test_action)
{
#define MARK(mark) LIMITED(", 'action': 'mark', 'mark': " mark)
	static const struct config_case cases[] = {
		{LIMITED(", 'action': 'drop'"), ""},
		{LIMITED(", 'action': 'count'"), ""},
		{LIMITED(", 'action': 'mark'"), ""},
		{MARK("'ecn'"), ""},
		{MARK("0"), ""},
		{MARK("63"), ""},
		{MARK("64"), "p0.mark: wrong_mark"},
		{MARK("-1"), "p0.mark: wrong_mark"},
		{MARK("'eff'"), "p0.mark: wrong_mark"},
		{MARK("1.0"), "p0.mark: wrong_mark"},
		{LIMITED(", 'mark': 'ecn'"), "p0.mark: key_required: 'action': 'mark'"},
		{LIMITED(", 'mark': 8, 'action': 'count'"),
			"p0.mark: key_required: 'action': 'mark'"},
		{LIMITED(", 'mark': 8, 'action': 'delay'"),
			"p0.action: wrong_choice: *did you mean 'shape'?"},
		{0},
	};

	run_cases(cases);
}

TEST(test_new_defaults)
{
	ENDED_BY(config_free_at) struct config *config = must_parse(LIMITED(""));
	const struct policy *policy = &config->policies[0];

	assert_int_equal(policy->count, COUNT_BYTES);
	assert_int_equal(policy->meter, METER_TOKEN_BUCKET);
	assert_int_equal(policy->window_ns, 0);
	assert_int_equal(policy->per_v4, 0);
	assert_int_equal(policy->per_v6, 0);
	assert_int_equal(policy->sources, 0);
	assert_false(policy->weigh_tcp_only);
	assert_int_equal(policy->action, ACTION_DROP);
	config_free(config);
	config = must_parse(LIMITED(", 'per': 'src', 'action': 'mark'"));
	assert_int_equal(config->policies[0].sources, 65536);
	assert_int_equal(config->policies[0].mark, MARK_ECN);
	config_free(config);
	config = must_parse(LIMITED(", 'action': 'mark', 'mark': 'ecn'"));
	assert_int_equal(config->policies[0].mark, MARK_ECN);
	config_free(config);
	config = must_parse(IN_GROUP(", 'allocator': 'grd'"));
	assert_int_equal(config->policies[0].meter, METER_RANDOM_DROP);
	config_free(config);
	config = must_parse(IN_GROUP(", 'allocator': 'static'"));
	assert_int_equal(config->policies[0].meter, METER_TOKEN_BUCKET);
}

TEST(test_new_values)
{
	ENDED_BY(config_free_at)
	struct config *config = must_parse(
		POLICY(", 'mark': 10, 'action': 'mark', 'sources': 2000000, 'per': 'src/24', "
		       "'window': '1min', 'meter': 'hybrid', 'limit': '600/min', 'count': "
		       "'flows'"));
	const struct policy *policy = &config->policies[0];

	assert_int_equal(policy->count, COUNT_FLOWS);
	assert_int_equal(policy->limit_bps, 4800);
	assert_int_equal(policy->limit_s, 60);
	assert_int_equal(policy->meter, METER_HYBRID);
	assert_int_equal(policy->window_ns, 60000000000);
	assert_int_equal(policy->sources, 2000000);
	assert_int_equal(policy->action, ACTION_MARK);
	assert_int_equal(policy->mark, 10);
	config_free(config);
	config = must_parse(POLICY(
		", 'burst': '2k', 'action': 'count', 'limit': '1.5M/s', 'count': 'packets'"));
	policy = &config->policies[0];
	assert_int_equal(policy->count, COUNT_PACKETS);
	assert_int_equal(policy->limit_bps, 12000000);
	assert_int_equal(policy->burst_bytes, 2000);
	assert_int_equal(policy->action, ACTION_COUNT);
	config_free(config);
	config = must_parse(IN_GROUP(", 'weigh': 'tcp'"));
	assert_true(config->policies[0].weigh_tcp_only);
}

/* Without "window" the window is the time unit of the limit. */
TEST(test_window_as_written)
{
	static const struct {
		const char *members;
		uint64_t window_s;
	} rows[] = {
		{", 'limit': '500/s', 'count': 'packets', 'meter': 'hybrid'", 1},
		{", 'limit': '100/min', 'count': 'packets', 'meter': 'hybrid'", 60},
		{", 'limit': '100/min', 'count': 'flows', 'meter': 'fixed-window'", 60},
		{", 'limit': '10k/h', 'count': 'flows', 'meter': 'fixed-window'", 3600},
		{", 'limit': '1/d', 'count': 'flows', 'meter': 'fixed-window'", 86400},
		{", 'limit': '1/d', 'count': 'flows'", 0},
		{", 'limit': '100/min', 'count': 'flows', 'meter': 'hybrid', 'window': '6s'", 6},
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		char text[1024];
		struct config *config;

		snprintf(text, sizeof(text),
			"{'limiter': 'me', " PORTS WIRES ", 'policies': [{'name': 'p'%s}]}",
			rows[i].members);
		config = must_parse(text);
		assert_int_equal(config->policies[0].window_ns, rows[i].window_s * 1000000000);
		config_free(config);
	}
}

/* The other address family has the length of one host. */
TEST(test_per_bits)
{
	static const struct {
		const char *per;
		unsigned v4, v6;
	} cases[] = {
		{"src", 32, 128},
		{"src/1", 1, 64},
		{"src/24", 24, 64},
		{"src/32", 32, 64},
		{"src/33", 32, 33},
		{"src/56", 32, 56},
		{"src/64", 32, 64},
		{"src/128", 32, 128},
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		struct config *config;
		char document[512];

		snprintf(document, sizeof(document), LIMITED(", 'per': '%s'"), cases[i].per);
		config = must_parse(document);
		assert_int_equal(config->policies[0].per_v4, cases[i].v4);
		assert_int_equal(config->policies[0].per_v6, cases[i].v6);
		config_free(config);
	}
}

static int parse_quietly(const char *document)
{
	char *text = with_quotes(document), *messages;
	struct config *config;
	int rc = parse_config_case(text, strlen(text), &messages, &config);

	config_free(config);
	free(text);
	free(messages);
	return rc;
}

/* Returns the keys that a meter requires. */
static const char *needs_of(enum meter_kind kind)
{
	if (meter_can(kind, METER_WINDOW))
		return ", 'window': '1s'";
	if (meter_can(kind, METER_PEAK))
		return ", 'peak': {'limit': '20Mbit/s'}";
	if (meter_can(kind, METER_EXCESS) && !meter_can(kind, METER_SPILLS))
		return ", 'excess': {'limit': '20Mbit/s'}";
	return "";
}

/*
 * Each meter is accepted with the keys of its row and refused with all others.
 */
TEST(test_meter_by_its_row)
{
	static const struct {
		const char *members;
		unsigned abilities;
	} rows[] = {
		{"", ~0u},
		{", 'per': 'src'", METER_PER_SOURCE},
		{", 'action': 'shape'", METER_SHAPES},
		{", 'classes': {'by': 'flow'}", METER_CLASSES},
		{", 'burst': '1MiB'", METER_BURST},
		{", 'colours': {'red': 'pass'}", METER_COLOURS},
		{", 'guarantee': 'hard'", METER_HARD},
	};

	for (enum meter_kind kind = 0; kind < METER_CREDIT; kind++) {
		for (size_t i = 0; i < COUNT(rows); i++) {
			unsigned abilities = rows[i].abilities;
			bool kept = abilities == METER_PER_SOURCE && kind == METER_TOKEN_BUCKET;
			char document[512];
			int rc;

			snprintf(document, sizeof(document), LIMITED(", 'meter': '%s'%s%s"),
				meter_name(kind), needs_of(kind), rows[i].members);
			rc = parse_quietly(document);
			if (rc != (kept || meter_can(kind, abilities) ? 0 : -EINVAL))
				fail_msg("%s: %d", document, rc);
		}
	}
}

/* Waiting packets have a time each, except with one of these settings. */
TEST(test_timed)
{
	static const struct {
		const char *members;
		bool timed;
	} rows[] = {
		{", 'limit': '10Mbit/s', 'action': 'shape', 'shape': {'delay': '125ms'}", true},
		{", 'limit': '10Mbit/s', 'action': 'shape', 'shape': {'delay': '126ms'}", false},
		{", 'limit': '10Mbit/s'", false},
		{", 'limit': '10Mbit/s', 'action': 'shape', 'shape': {'drop': 'codel'}", false},
		{", 'limit': '500/s', 'count': 'packets', 'action': 'shape', 'shape': {'delay': "
		 "'125ms'}",
			false},
		{", 'limit': '10Mbit/s', 'guarantee': 'hard', 'action': 'shape'", false},
		{", 'limit': '10Mbit/s', 'parent': 'top', 'action': 'shape'", false},
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		char document[512];
		struct config *config;

		snprintf(document, sizeof(document),
			POLICIES("{'name': 'p', 'match': {'vlan': 1}%s}, {'name': 'top', 'limit': "
				 "'1Gbit/s', 'match': {'vlan': 2}}"),
			rows[i].members);
		config = must_parse(document);
		if (policy_is_timed(&config->policies[0]) != rows[i].timed)
			fail_msg("%s", rows[i].members);
		config_free(config);
	}
}
