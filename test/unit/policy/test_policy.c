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
		{LIMIT("'7999bit/s'"), "w.json:1: policies[0] 'p'.limit: '7999bit/s': " RATE_RANGE},
		{LIMIT("'400Gbit/s'"), ""},
		{LIMIT("'400.000000001Gbit/s'"),
			"w.json:1: policies[0] 'p'.limit: '400.000000001Gbit/s': " RATE_RANGE},
		{LIMIT("'0bit/s'"), "w.json:1: policies[0] 'p'.limit: '0bit/s': " RATE_RANGE},
		{LIMIT("'-10Mbit/s'"), "w.json:1: policies[0] 'p'.limit: '-10Mbit/s': " RATE_RANGE},
		{LIMIT("'20000000Tbit/s'"),
			"w.json:1: policies[0] 'p'.limit: '20000000Tbit/s': " RATE_RANGE},
		{LIMIT("'10Mbit'"),
			"w.json:1: policies[0] 'p'.limit: '10Mbit': " MEANT_RATE("10Mbit/s")},
		{LIMIT("'1MB'"), "w.json:1: policies[0] 'p'.limit: '1MB': " EXPECTED_RATE},
		{LIMIT("10000000"), "w.json:1: policies[0] 'p'.limit: 10000000: " EXPECTED_RATE},
		{LIMIT("null"), "w.json:1: policies[0] 'p'.limit: null: " EXPECTED_RATE},
		{LIMIT("['10Mbit/s']"),
			"w.json:1: policies[0] 'p'.limit: an array: " EXPECTED_RATE},
		{POLICY(""), "w.json:1: policies[0] 'p'.limit: missing: " EXPECTED_RATE},
		{LIMIT("'10000.0001kbit/s'"),
			"w.json:1: policies[0] 'p'.limit: '10000.0001kbit/s': "
			"expected a whole number of bit/s\n"},
		{LIMITED(", 'burst': '4GiB'"), ""},
		{LIMITED(", 'burst': '4294967297B'"),
			"w.json:1: policies[0] 'p'.burst: '4294967297B': expected 1B to 4GiB\n"},
		{LIMITED(", 'burst': '0B'"),
			"w.json:1: policies[0] 'p'.burst: '0B': expected 1B to 4GiB\n"},
		{LIMITED(", 'burst': '1518B', 'match': {'proto': 'udp'}"), ""},
		{LIMITED(", 'burst': '1517B', 'match': {'proto': 'udp'}"),
			"w.json:1: warning: policies[0] 'p'.burst: '1517B': less than 1518 bytes, so the "
			"largest frames never pass\n"},
		{LIMITED(", 'burst': '12kbit'"),
			"w.json:1: policies[0] 'p'.burst: '12kbit': expected "
			"bytes such as '75kB' or '64KiB'\n"},
		{LIMITED(", 'allocator': 'static'"), ""},
		{LIMITED(", 'allocator': 'magic'"),
			"w.json:1: policies[0] 'p'.allocator: 'magic': expected one of @\n"},
		{LIMITED(", 'allocator': 3"),
			"w.json:1: policies[0] 'p'.allocator: 3: expected one of @\n"},
		{LIMITED(", 'allocator': 'central', 'meter': 'token-bucket', 'action': 'drop'"),
			""},
		{LIMITED(", 'meter': 'leaky', 'action': 'delay', 'accounting': 'L3'"),
			"w.json:1: policies[0] 'p'.meter: 'leaky': expected ^*\n"
			"w.json:1: policies[0] 'p'.action: 'delay': expected 'drop' or 'mark' or "
			"'count' or 'shape': did you mean 'shape'?\n"
			"w.json:1: policies[0] 'p'.accounting: 'L3': expected 'l3' or 'l2' or 'wire': did you mean 'l3'?\n"},
		{LIMITED(", 'interval': '10ms'"), ""},
		{LIMITED(", 'interval': '9999us'"),
			"w.json:1: policies[0] 'p'.interval: '9999us': expected 10ms to 1s\n"},
		{LIMITED(", 'interval': '1s'"), ""},
		{LIMITED(", 'interval': '1.000000001s'"),
			"w.json:1: policies[0] 'p'.interval: '1.000000001s': expected 10ms to 1s\n"},
		{LIMITED(", 'ewma': 0"), ""},
		{LIMITED(", 'ewma': 0.999"), ""},
		{LIMITED(", 'ewma': 1"),
			"w.json:1: policies[0] 'p'.ewma: 1: expected a number from 0 to less than 1\n"},
		{LIMITED(", 'ewma': -0.001"),
			"w.json:1: policies[0] 'p'.ewma: -0.001: expected a number from 0 to less than "
			"1\n"},
		{LIMITED(", 'ewma': '0.1'"),
			"w.json:1: policies[0] 'p'.ewma: '0.1': expected a number from 0 to less than "
			"1\n"},
		{LIMITED(", 'limt': 1"),
			"w.json:1: policies[0] 'p'.limt: unknown key: did you mean 'limit'?\n"},
		{GOSSIP("'key_file': 'k', 'roster': [" GROUP2 "]"), ""},
		{"{'limiter': 'me', " PORTS WIRES ", 'gossip': {'key_file': 'k', 'roster': [" GROUP2
		 "]}, 'policies': [{'name': 'p', 'limit': '1Mbit/s', 'allocator': 'central'}]}",
			"w.json:1: policies[0] 'p'.allocator: 'central': expected an allocator that can "
			"share the limit between 2 limiters\n"},
		{0},
	};

	run_cases(cases);
}

TEST(test_match)
{
#define DST_REFUSED(text)                                                                   \
	{                                                                                   \
		MATCH("'dst': '" text "'"),                                                 \
			"w.json:1: policies[0] 'p'.match.dst: '" text "': " EXPECTED_PREFIX \
	}
#define DST_ADVISED(text, remedy)                                                                 \
	{                                                                                         \
		MATCH("'dst': '" text "'"),                                                       \
			"w.json:1: policies[0] 'p'.match.dst: '" text                             \
			"': expected a prefix such as '192.0.2.0/24' or '2001:db8::/32': " remedy \
			"\n"                                                                      \
	}
#define MAPPED(text, right)                                                                      \
	{                                                                                        \
		MATCH("'dst': '" text "'"),                                                      \
			"w.json:1: policies[0] 'p'.match.dst: '" text                            \
			"': expected an IPv4 prefix as such: packets do not have it as an IPv6 " \
			"address" MEANT(right)                                                   \
	}
#define EXPECTED_PROTO    "expected a protocol such as 'tcp' or 'udp', or its number from 1 to 255\n"
#define EXPECTED_NO_PORTS "*'proto'*'tcp'*\n"
#define PORTS_REFUSED(text)                                                               \
	{                                                                                 \
		MATCH("'dst-port': " text),                                               \
			"w.json:1: policies[0] 'p'.match.dst-port: " text                 \
			": expected a port such as 443, or a range such as '1024-2047'\n" \
	}
#define HOST_BITS(text, right)                                                              \
	{                                                                                   \
		MATCH("'dst': '" text "'"), "w.json:1: policies[0] 'p'.match.dst: '" text   \
					    "': expected no host bits, as in '" right "'\n" \
	}
	static const struct config_case cases[] = {
		{MATCH(""), ""},
		{MATCH("'wire': 'w', 'direction': 'b-to-a', 'vlan': 4094, 'dscp': 63"), ""},
		{MATCH("'vlan': 0, 'dscp': 0"), ""},
		{MATCH("'wire': 'x', 'direction': 'any', 'vlan': 4095, 'dscp': 64"),
			"w.json:1: policies[0] 'p'.match.wire: 'x': expected the name of a wire in "
			"'wires'\n"
			"w.json:1: policies[0] 'p'.match.direction: 'any': expected 'a-to-b' or "
			"'b-to-a'\n"
			"w.json:1: policies[0] 'p'.match.vlan: 4095: expected a whole number from 0 to "
			"4094\n"
			"w.json:1: policies[0] 'p'.match.dscp: 64: expected a DSCP from 0 to 63, or its name such as 'ef', 'af41' or 'cs5'\n"},
		{MATCH("'vlan': -1, 'dscp': null"),
			"w.json:1: policies[0] 'p'.match.vlan: -1: expected a whole number from 0 to "
			"4094\n"
			"w.json:1: policies[0] 'p'.match.dscp: null: expected a DSCP from 0 to 63, or its name such as 'ef', 'af41' or 'cs5'\n"},
		{MATCH("'proto': 'tcp', 'dst-port': 443, 'src-port': '1024-65535'"), ""},
		{MATCH("'proto': 1"), ""},
		{MATCH("'proto': 255"), ""},
		{MATCH("'dst-port': '80'"), ""},
		{MATCH("'dst-port': '80-80'"), ""},
		{MATCH("'proto': 0"), "w.json:1: policies[0] 'p'.match.proto: 0: " EXPECTED_PROTO},
		{MATCH("'proto': 256"),
			"w.json:1: policies[0] 'p'.match.proto: 256: " EXPECTED_PROTO},
		{MATCH("'proto': '6'"),
			"w.json:1: policies[0] 'p'.match.proto: '6': " EXPECTED_PROTO},
		{MATCH("'proto': 6.0"),
			"w.json:1: policies[0] 'p'.match.proto: 6.0: " EXPECTED_PROTO},
		{MATCH("'proto': 'tpc'"),
			"w.json:1: policies[0] 'p'.match.proto: 'tpc': expected a protocol such as "
			"'tcp' or 'udp', or its number from 1 to 255" MEANT("tcp")},
		{MATCH("'wire': 'W'"),
			"w.json:1: policies[0] 'p'.match.wire: 'W': expected the name of a wire in "
			"'wires'" MEANT("w")},
		{MATCH("'wire': 7"),
			"w.json:1: policies[0] 'p'.match.wire: 7: expected the name of a wire in "
			"'wires'\n"},
		/* An error of one key is not reported for the others. */
		{MATCH("'vlan': -1, 'src': '10.0.0.0/8', 'dst': '::/0'"),
			"w.json:1: policies[0] 'p'.match.vlan: -1: expected a whole number from 0 to "
			"4094\n"},
		{MATCH("'dst-port': 1, 'src-port': 65535"), ""},
		PORTS_REFUSED("0"),
		PORTS_REFUSED("65536"),
		PORTS_REFUSED("80.5"),
		{MATCH("'dst-port': '80-20'"),
			"w.json:1: policies[0] 'p'.match.dst-port: '80-20': expected a port such as 443, or a range such as '1024-2047'" MEANT(
				"20-80")},
		PORTS_REFUSED("'0-20'"),
		PORTS_REFUSED("'20-65536'"),
		PORTS_REFUSED("'020'"),
		PORTS_REFUSED("'20-'"),
		PORTS_REFUSED("'20 - 80'"),
		PORTS_REFUSED("'20-80,443'"),
		PORTS_REFUSED("''"),
		{MATCH("'proto': 'icmp', 'dst-port': 80"),
			"w.json:1: policies[0] 'p'.match*'dst-port'" EXPECTED_NO_PORTS},
		{MATCH("'proto': 50, 'src-port': 80"),
			"w.json:1: policies[0] 'p'.match*'src-port'" EXPECTED_NO_PORTS},
		{MATCH("'dts': '10.0.0.0/8'"),
			"w.json:1: policies[0] 'p'.match.dts: unknown key: did you mean 'dst'?\n"},
		{LIMITED(", 'match': 'all'"), "w.json:1: policies[0] 'p'.match: 'all': expected an "
					      "object\n"},
		{MATCH("'src': '10.0.0.0/8', 'dst': '192.0.2.255/32'"), ""},
		{MATCH("'dst': '0.0.0.0/0'"), ""},
		{MATCH("'dst': '::/0'"), ""},
		{MATCH("'src': '::1/128', 'dst': '2001:db8::/32'"), ""},
		{MATCH("'src': '10.0.0.0/8', 'dst': '::/0'"),
			"w.json:1: policies[0] 'p'.match: *src is IPv4*dst is IPv6*\n"},
		{MATCH("'src': '::/0', 'dst': '0.0.0.0/0'"),
			"w.json:1: policies[0] 'p'.match: *src is IPv6*dst is IPv4*\n"},
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
#define SAME_MATCH       "same match*policies[0] 'a' (w.json:1)*unique*\n"
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
			"w.json:1: policies[1] 'b'.match: " SAME_MATCH},
		{POLICIES(P("a", "") ", " PM("b", "")),
			"w.json:1: policies[1] 'b'.match: " SAME_MATCH},
		{POLICIES(PM("a", "'vlan': 7, 'dst': '10.0.0.0/8'") ", " PM(
			 "b", "'vlan': 8, 'dst': '10.0.0.0/8'") ", " PM("c",
			 "'dst': '10.0.0.0/8', 'vlan': 7")),
			"w.json:1: policies[2] 'c'.match: " SAME_MATCH},
		{POLICIES(PM("a", "'dst-port': 80") ", " PM("b", "'src-port': 80") ", " PM(
			 "c", "'dst-port': '80-81'") ", " PM("d",
			 "'proto': 17, 'dst-port': 80") ", " PM("e", "'src-port': 81")),
			""},
		{POLICIES(PM("a", "'proto': 'udp', 'dst-port': 80") ", " PM(
			 "b", "'proto': 17, 'dst-port': '80-80'")),
			"w.json:1: policies[1] 'b'.match: " SAME_MATCH},
		/* A match that was refused is not compared. */
		{POLICIES(PM("a", "'dst': 'x'") ", " PM("b", "'dst': 'y'")),
			"w.json:1: policies[0] 'a'.match.dst: 'x': " EXPECTED_PREFIX
			"w.json:1: policies[1] 'b'.match.dst: 'y': " EXPECTED_PREFIX},
		{POLICIES(P("a", "") ", " PM("a", "'vlan': 1") ", " PM("a", "'vlan': 2")),
			"w.json:1: policies[1] 'a'.name: same*policies[0] 'a' (w.json:1)*unique*\n"
			"w.json:1: policies[2] 'a'.name: same*policies[0] 'a' (w.json:1)*unique*\n"},
		/* Two names with the same 32-bit FNV-1a hash are different. */
		{POLICIES(P("costarring", "") ", " PM("liquid", "'vlan': 1")), ""},
		{POLICIES("[], " P("b", "")), "w.json:1: policies[0]: an empty array: expected an "
					      "object\n"},
		{0},
	};

	run_cases(cases);
}

/* A limit of packets or flows is a number per time, wherever "count" is in the object. */
TEST(test_count)
{
#define COUNTED(what, members) POLICY(", 'count': '" what "', " members)
#define EXPECTED_COUNT_RATE \
	"expected a number per time such as '500/s', '100/min', '10k/h' or '5/d'*\n"
#define COUNT_RANGE "expected 1/d to 1G/s\n"
	static const struct config_case cases[] = {
		{COUNTED("bytes", "'limit': '10Mbit/s', 'burst': '512KiB'"), ""},
		{COUNTED("packets", "'limit': '500/s'"), ""},
		{COUNTED("flows", "'limit': '500/s'"), ""},
		{POLICY(", 'limit': '10k/s', 'burst': 100, 'count': 'packets'"), ""},
		{POLICY(", 'burst': '512KiB', 'limit': '10Mbit/s', 'count': 'bytes'"), ""},
		{COUNTED("packets", "'limit': '600/min', 'burst': '100'"), ""},
		{COUNTED("packets", "'limit': '900/h', 'burst': '10k'"), ""},
		{COUNTED("bytes", "'limit': '500/s'"),
			"w.json:1: policies[0] 'p'.limit: '500/s': " EXPECTED_RATE},
		{COUNTED("packets", "'limit': '10Mbit/s'"),
			"w.json:1: policies[0] 'p'.limit: '10Mbit/s': " EXPECTED_COUNT_RATE},
		{COUNTED("packets", "'limit': 500"),
			"w.json:1: policies[0] 'p'.limit: 500: " EXPECTED_COUNT_RATE},
		{COUNTED("flows", "'limit': '500'"),
			"w.json:1: policies[0] 'p'.limit: '500': " EXPECTED_COUNT_RATE},
		{POLICY(", 'count': 'flows'"),
			"w.json:1: policies[0] 'p'.limit: missing: " EXPECTED_COUNT_RATE},
		{COUNTED("packets", "'limit': '0.125/s'"), ""},
		{COUNTED("packets", "'limit': '450/h'"), ""},
		{COUNTED("packets", "'limit': '0/s'"),
			"w.json:1: policies[0] 'p'.limit: '0/s': " COUNT_RANGE},
		{COUNTED("packets", "'limit': '-1/s'"),
			"w.json:1: policies[0] 'p'.limit: '-1/s': " COUNT_RANGE},
		{COUNTED("packets", "'limit': '1G/s'"), ""},
		{COUNTED("packets", "'limit': '1000000000.125/s'"),
			"w.json:1: policies[0] 'p'.limit: '1000000000.125/s': " COUNT_RANGE},
		{COUNTED("packets", "'limit': '100/min'"), ""},
		{COUNTED("flows", "'limit': '1000/h'"), ""},
		{COUNTED("packets", "'limit': '5/min'"), ""},
		{COUNTED("packets", "'limit': '10k/h'"), ""},
		{COUNTED("packets", "'limit': '1/d'"), ""},
		{COUNTED("packets", "'limit': '0.125/h'"), ""},
		{COUNTED("packets", "'limit': '0.875/d'"),
			"w.json:1: policies[0] 'p'.limit: '0.875/d': " COUNT_RANGE},
		{COUNTED("packets", "'limit': '60G/min'"), ""},
		{COUNTED("packets", "'limit': '60000000000.125/min'"),
			"w.json:1: policies[0] 'p'.limit: '60000000000.125/min': " COUNT_RANGE},
		{COUNTED("packets", "'limit': '99999999999999999999/d'"),
			"w.json:1: policies[0] 'p'.limit: '99999999999999999999/d': " COUNT_RANGE},
		{COUNTED("packets", "'limit': '5/week'"),
			"w.json:1: policies[0] 'p'.limit: '5/week': " EXPECTED_COUNT_RATE},
		{COUNTED("bytes", "'limit': '100/min'"),
			"w.json:1: policies[0] 'p'.limit: '100/min': " EXPECTED_RATE},
		{COUNTED("flows", "'limit': '0.3/s'"),
			"w.json:1: policies[0] 'p'.limit: '0.3/s': expected whole numbers, halves, "
			"quarters or eighths, such as '0.25/s'\n"},
		{COUNTED("flows", "'limit': '10.3/min'"),
			"w.json:1: policies[0] 'p'.limit: '10.3/min': expected whole numbers, halves, "
			"quarters or eighths, such as '10.25/min'\n"},
		{COUNTED("packets", "'limit': '1/s', 'burst': 1"), ""},
		{COUNTED("packets", "'limit': '1/s', 'burst': 0"),
			"w.json:1: policies[0] 'p'.burst: 0: expected 1 to 1G\n"},
		{COUNTED("packets", "'limit': '1/s', 'burst': '0'"),
			"w.json:1: policies[0] 'p'.burst: '0': expected 1 to 1G\n"},
		{COUNTED("packets", "'limit': '1/s', 'burst': 1000000000"), ""},
		{COUNTED("packets", "'limit': '1/s', 'burst': 1000000001"),
			"w.json:1: policies[0] 'p'.burst: 1000000001: expected 1 to 1G\n"},
		{COUNTED("packets", "'limit': '1/s', 'burst': '64KiB'"),
			"w.json:1: policies[0] 'p'.burst: '64KiB': expected a number such as 100 or '10k'*\n"},
		{COUNTED("packets", "'limit': '1/s', 'burst': 1.5"),
			"w.json:1: policies[0] 'p'.burst: 1.5: expected a number such as 100 or '10k'*\n"},
		{COUNTED("packets", "'limit': '1/s', 'burst': '1.5'"),
			"w.json:1: policies[0] 'p'.burst: '1.5': expected a whole number of packets or "
			"flows\n"},
		{COUNTED("bytes", "'limit': '1Mbit/s', 'burst': 100000"),
			"w.json:1: policies[0] 'p'.burst: 100000: expected bytes such as '75kB' or "
			"'64KiB'\n"},
		/* Values in the unit of a wrong "count" are not checked. */
		{COUNTED("requests", "'limit': '10Mbit/s', 'burst': '64KiB'"),
			"w.json:1: policies[0] 'p'.count: 'requests': expected 'bytes' or 'packets' or "
			"'flows'\n"},
		{COUNTED("flows", "'limit': '5/s', 'meter': 'phantom'"),
			"w.json:1: policies[0] 'p'*'meter'*'count': 'flows'*another meter\n"},
		{COUNTED("flows", "'limit': '5/s', 'meter': 'srtcm'"),
			"w.json:1: policies[0] 'p'*'meter'*'count': 'flows'*another meter\n"},
		{COUNTED("requests", "'limit': '10k/s', 'burst': 100, 'accounting': 'l2'"),
			"w.json:1: policies[0] 'p'.count: 'requests': expected 'bytes' or 'packets' or "
			"'flows'\n"},
		{COUNTED("bytes", "'limit': '1Mbit/s', 'accounting': 'l2'"), ""},
		{COUNTED("packets", "'limit': '1/s', 'accounting': 'l3'"),
			"w.json:1: policies[0] 'p'*'accounting'*'count': 'bytes'\n"},
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
#define WHOLE(text) "expected a time in which the limit is a whole number, such as '" text "'\n"
	static const struct config_case cases[] = {
		{METER("token-bucket"), ""},
		{METER("gcra"), ""},
		{METER("random-drop"), ""},
		{WINDOW("fixed-window", "1s"), ""},
		{WINDOW("hybrid", "1s"), ""},
		{METER("fixed-window"),
			"w.json:1: policies[0] 'p'.window: missing: expected a time such "
			"as '1s' for this meter\n"},
		{METER("hybrid"),
			"w.json:1: policies[0] 'p'.window: missing: expected a time such as "
			"'1s' for this meter\n"},
		{LIMITED(", 'window': '1s'"),
			"w.json:1: policies[0] 'p'*'window'*'meter': 'fixed-window' or 'hybrid'\n"},
		{WINDOW("gcra", "1s"),
			"w.json:1: policies[0] 'p'*'window'*'meter': 'fixed-window' or 'hybrid'\n"},
		{WINDOW("leaky", "1s"), "w.json:1: policies[0] 'p'.meter: 'leaky': expected ^*\n"},
		{WINDOW("hybrid", "10ms"), ""},
		{WINDOW("hybrid", "9.999999ms"),
			"w.json:1: policies[0] 'p'.window: '9.999999ms': expected 10ms to 24h\n"},
		{WINDOW("hybrid", "24h"), ""},
		{WINDOW("hybrid", "86400.000000001s"),
			"w.json:1: policies[0] 'p'.window: '86400.000000001s': expected 10ms to 24h\n"},
		{WINDOW("hybrid", "1 day"),
			"w.json:1: policies[0] 'p'.window: '1 day': expected a time such as '50ms'\n"},
		{LIMITED(", 'meter': 'gcra', 'burst': '512KiB'"), ""},
		{LIMITED(", 'meter': 'random-drop', 'burst': '64KiB'"),
			"w.json:1: policies[0] 'p'*'burst'*'meter': 'token-bucket', 'gcra', 'phantom', 'srtcm', 'trtcm' or 'trtcm-4115'\n"},
		{LIMITED(", 'burst': '64KiB', 'window': '1s', 'meter': 'hybrid'"),
			"w.json:1: policies[0] 'p'*'burst'*'meter': 'token-bucket', 'gcra', 'phantom', 'srtcm', 'trtcm' or 'trtcm-4115'\n"},
		/* A frame of the largest size must fit into a window. */
		{POLICY(", 'limit': '1214400bit/s', 'meter': 'hybrid', 'window': '10ms'"), ""},
		{POLICY(", 'limit': '1214399bit/s', 'meter': 'hybrid', 'window': '10ms'"),
			"w.json:1: warning: policies[0] 'p'.window: '10ms': the limit is 1517 bytes in "
			"it, less than 1518, so the largest frames never pass\n"},
		{PACKETS("500/s", "10ms"), ""},
		{PACKETS("500/s", "11ms"),
			"w.json:1: policies[0] 'p'.window: '11ms': " WHOLE("12ms")},
		{PACKETS("500/s", "10.9ms"),
			"w.json:1: policies[0] 'p'.window: '10.9ms': " WHOLE("10ms")},
		{PACKETS("500/s", "10.000001ms"),
			"w.json:1: policies[0] 'p'.window: '10.000001ms': " WHOLE("10ms")},
		{PACKETS("600/min", "1min"), ""},
		{PACKETS("10/s", "10ms"),
			"w.json:1: policies[0] 'p'.window: '10ms': " WHOLE("100ms")},
		{PACKETS("0.125/s", "8s"), ""},
		{PACKETS("0.125/s", "10ms"),
			"w.json:1: policies[0] 'p'.window: '10ms': " WHOLE("8s")},
		{PACKETS("0.375/s", "24h"), ""},
		{PACKETS("0.375/s", "86399s"),
			"w.json:1: policies[0] 'p'.window: '86399s': " WHOLE("24h")},
		{PACKETS("1G/s", "10.000001ms"), ""},
		{PACKETS("3/s", "333333333ns"),
			"w.json:1: policies[0] 'p'.window: '333333333ns': " WHOLE("1s")},
		{PACKETS("100/min", "1min"), ""},
		{PACKETS("100/min", "3s"), ""},
		{PACKETS("100/min", "1s"),
			"w.json:1: policies[0] 'p'.window: '1s': " WHOLE("1.2s")},
		{PACKETS("7/h", "1min"), "w.json:1: policies[0] 'p'.window: '1min': " WHOLE("1h")},
		{PACKETS("10k/h", "1h"), ""},
		{PACKETS("1/d", "24h"), ""},
		{PACKETS("1/d", "12h"), "w.json:1: policies[0] 'p'.window: '12h': " WHOLE("24h")},
		{PACKETS("7.5/d", "24h"),
			"w.json:1: policies[0] 'p'.limit: '7.5/d': expected a whole number in a day, the "
			"longest window, for this meter\n"},
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
#define EXPECTED_GTB      "expected 'token-bucket' with the allocator 'gtb'\n"
#define GTB_WARNS         "w.json:1: warning: policies[0] 'p'.allocator: 'gtb': *'fps'*\n"
#define EXPECTED_GRD      "expected 'token-bucket' or 'random-drop' with the allocator 'grd'\n"
	static const struct config_case cases[] = {
		{FEW("2/min", "fixed-window"), ""},
		{FEW("1/min", "token-bucket"), ""},
		{FEW("1/min", "hybrid"),
			"w.json:1: warning: policies[0] 'p'.limit: '1/min': 1 in a window, of which each "
			"worker of 2 limiters lets one pass, 2 in all: a token bucket divides it "
			"exactly\n"},
		{FEW_BY(TWO_WORKERS, "4/min", "hybrid"), ""},
		{FEW_BY(TWO_WORKERS, "3/min", "hybrid"),
			"w.json:1: warning: policies[0] 'p'.limit: '3/min': 3 in a window, of which each "
			"worker of 2 limiters lets one pass, 4 in all: a token bucket divides it "
			"exactly\n"},
		{PAIR("gtb", "token-bucket"), GTB_WARNS},
		{PAIR("gtb", "gcra"), "w.json:1: policies[0] 'p'.meter: 'gcra': " EXPECTED_GTB},
		{PAIR("gtb", "random-drop"),
			"w.json:1: policies[0] 'p'.meter: 'random-drop': " EXPECTED_GTB},
		{IN_GROUP(", 'window': '1s', 'meter': 'hybrid', 'allocator': 'gtb'"),
			"w.json:1: policies[0] 'p'.meter: 'hybrid': " EXPECTED_GTB},
		{IN_GROUP(", 'allocator': 'grd'"), ""},
		{PAIR("grd", "random-drop"), ""},
		{PAIR("grd", "token-bucket"), ""},
		{PAIR("grd", "gcra"), "w.json:1: policies[0] 'p'.meter: 'gcra': " EXPECTED_GRD},
		{PAIR("fps", "random-drop"), ""},
		{PAIR("static", "random-drop"), ""},
		{LIMITED(", 'allocator': 'central', 'meter': 'random-drop'"), ""},
		{PAIR("fps", "gcra"), ""},
		{PAIR("static", "gcra"), ""},
		{IN_GROUP(", 'window': '1s', 'meter': 'hybrid'"), ""},
		/* A burst is checked with the default meter, also when no meter is given. */
		{IN_GROUP(", 'allocator': 'grd', 'burst': '64KiB'"),
			"w.json:1: policies[0] 'p'*'burst' requires 'meter': 'token-bucket' with 'allocator': 'grd'\n"},
		{IN_GROUP(", 'allocator': 'gtb', 'burst': '512KiB'"), GTB_WARNS},
		{IN_GROUP(", 'weigh': 'tcp'"), ""},
		{IN_GROUP(", 'weigh': 'all', 'allocator': 'fps'"), ""},
		{IN_GROUP(", 'weigh': 'all', 'allocator': 'gtb'"),
			"w.json:1: policies[0] 'p'*'weigh'*'allocator': 'fps'\n"},
		{LIMITED(", 'weigh': 'tcp'"),
			"w.json:1: policies[0] 'p'*'weigh'*'allocator': 'fps'\n"},
		{IN_GROUP(", 'weigh': 'udp'"),
			"w.json:1: policies[0] 'p'.weigh: 'udp': expected 'all' or 'tcp'\n"},
		{IN_GROUP(", 'weigh': 'tcp', 'allocator': 'magic', 'meter': 'gcra'"),
			"w.json:1: policies[0] 'p'.allocator: 'magic': expected one of @\n"},
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
			"w.json:1: policies[0] 'p'.meter: 'random-drop': expected 'token-bucket' or 'gcra' "
			"with the allocator 'adaptor'\n"},
		{ADAPTOR(", 'per': 'src'"),
			"w.json:1: policies[0] 'p'*'per'*'allocator': 'static'*\n"},
		{ADAPTOR(", 'guarantee': 'hard', 'history': '20s', 'step': '2s'"), ""},
		{ADAPTOR(", 'history': '2s'"), ""},
		{ADAPTOR(", 'history': '64s'"), ""},
		{ADAPTOR(", 'history': '1s'"),
			"w.json:1: policies[0] 'p'.history: '1s': expected 2 to 64 times 'step', 1s\n"},
		{ADAPTOR(", 'history': '65s'"),
			"w.json:1: policies[0] 'p'.history: '65s': expected 2 to 64 times 'step', 1s\n"},
		{ADAPTOR(", 'history': '10s', 'step': '3s'"),
			"w.json:1: policies[0] 'p'.history: '10s': expected 2 to 64 times 'step', 3s\n"},
		{ADAPTOR(", 'history': '1s', 'step': '100ms', 'interval': '100ms'"), ""},
		{ADAPTOR(", 'history': '1s', 'step': '100ms', 'interval': '101ms'"),
			"w.json:1: policies[0] 'p'.step: '100ms': expected at least 'interval', 101ms\n"},
		{ADAPTOR(", 'step': '99ms'"),
			"w.json:1: policies[0] 'p'.step: '99ms': expected 100ms to 600s\n"},
		{IN_GROUP(", 'history': '10s'"),
			"w.json:1: policies[0] 'p'*'history'*'allocator': 'adaptor'\n"},
		{IN_GROUP(", 'step': '1s', 'allocator': 'static'"),
			"w.json:1: policies[0] 'p'*'step'*'allocator': 'adaptor'\n"},
		{0},
	};

	run_cases(cases);
}

TEST(test_per)
{
#define PER(per)     LIMITED(", 'per': " per)
#define EXPECTED_PER "expected 'src', or 'src/N' with N from 1 to 128 bits\n"
#define PER_REFUSED(per)                                                          \
	{                                                                         \
		PER(per), "w.json:1: policies[0] 'p'.per: " per ": " EXPECTED_PER \
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
			"w.json:1: policies[0] 'p'.sources: 1023: expected a whole number from 1024 to "
			"16777216\n"},
		{LIMITED(", 'per': 'src', 'sources': 16777216"), ""},
		{LIMITED(", 'per': 'src', 'sources': 16777217"),
			"w.json:1: policies[0] 'p'.sources: 16777217: expected a whole number from 1024 "
			"to 16777216\n"},
		{LIMITED(", 'sources': 1024"), "w.json:1: policies[0] 'p'*'sources'*'per'\n"},
		{LIMITED(", 'sources': 1024, 'per': 'dst'"),
			"w.json:1: policies[0] 'p'.per: 'dst': " EXPECTED_PER},
		{LIMITED(", 'per': 'src', 'allocator': 'central'"), ""},
		{LIMITED(", 'per': 'src', 'allocator': 'static'"), ""},
		{LIMITED(", 'per': 'src', 'allocator': 'fps'"),
			"w.json:1: policies[0] 'p'*'per'*'allocator': 'central' or 'static'*\n"},
		{IN_GROUP(", 'per': 'src', 'allocator': 'static'"), ""},
		{IN_GROUP(", 'per': 'src'"),
			"w.json:1: policies[0] 'p'*'per'*'allocator': 'static'*\n"},
		{IN_GROUP(", 'per': 'src', 'allocator': 'magic'"),
			"w.json:1: policies[0] 'p'.allocator: 'magic': expected one of @\n"},
		{IN_GROUP(", 'per': 'src', 'allocator': 'gtb'"),
			"w.json:1: policies[0] 'p'*'per'*'allocator': 'static'*\n"},
		{IN_GROUP(", 'per': 'src', 'allocator': 'central'"),
			"w.json:1: policies[0] 'p'.allocator: 'central': expected an allocator that can "
			"share the limit between 2 limiters\n"},
		{LIMITED(", 'per': 'src', 'meter': 'gcra'"), ""},
		{LIMITED(", 'per': 'src', 'meter': 'random-drop'"),
			"w.json:1: policies[0] 'p'*'meter'*'per'*another meter\n"},
		{"{'limiter': 'me', " PORTS WIRES ", 'workers': [1, 2, 3], 'policies': [{'name': "
		 "'p', 'limit': '1Mbit/s', 'per': 'src'}]}",
			"w.json:1: warning: policies[0] 'p'.per: 'src': a source whose flows are spread "
			"over 3 workers may get up to 3 times its limit\n"},
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
		{MARK("64"),
			"w.json:1: policies[0] 'p'.mark: 64: expected 'ecn' or a DSCP from 0 to 63, or its name such as 'af41'\n"},
		{MARK("-1"),
			"w.json:1: policies[0] 'p'.mark: -1: expected 'ecn' or a DSCP from 0 to 63, or its name such as 'af41'\n"},
		{MARK("'eff'"),
			"w.json:1: policies[0] 'p'.mark: 'eff': expected 'ecn' or a DSCP from 0 to 63, or its name such as 'af41'\n"},
		{MARK("1.0"),
			"w.json:1: policies[0] 'p'.mark: 1.0: expected 'ecn' or a DSCP from 0 to 63, or its name such as 'af41'\n"},
		{LIMITED(", 'mark': 'ecn'"), "w.json:1: policies[0] 'p'*'mark'*'action': 'mark'\n"},
		{LIMITED(", 'mark': 8, 'action': 'count'"),
			"w.json:1: policies[0] 'p'*'mark'*'action': 'mark'\n"},
		{LIMITED(", 'mark': 8, 'action': 'delay'"),
			"w.json:1: policies[0] 'p'.action: 'delay': expected 'drop' or 'mark' or "
			"'count' or 'shape': did you mean 'shape'?\n"},
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
