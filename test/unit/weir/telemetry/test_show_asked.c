/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Commands that take more than one request, and the messages of refusals: the verdict about a
 * packet, the policies of an address, captures, overrides, other configurations.
 */
#include <poll.h>
#include <time.h>

#include "base/time.h"
#include "scope.h"
#include "clock.h"
#include "event.h"
#include "fault.h"
#include "show.h"
#include "show_world.h"
#include "store/store.h"
#include "tap.h"
#include "tap_session.h"
#include "timed.h"
#include "telemetry/server.h"
#include "tick.h"

#define POLICIES                                                                        \
	"{'name': 'each', 'match': {'vlan': 300}, 'limit': '8kbit/s', 'burst': '2kB', " \
	"'allocator': 'static', 'per': 'src', 'sources': 1024}, "                       \
	"{'name': 'dst', 'match': {'dst': '10.1.0.0/16', 'proto': 'udp'}, "             \
	"'limit': '8Mbit/s', 'burst': '3kB'}, "                                         \
	"{'name': 'src', 'match': {'src': '10.1.0.0/16'}, 'limit': '8Mbit/s', "         \
	"'action': 'shape', 'shape': {'delay': '5ms'}}, "                               \
	"{'name': 'v6', 'match': {'dst': '2001:db8::/32'}, 'limit': '60/min', 'count': 'packets'}"

#define EXPECT(w, rows) show_expect_rows(w, rows, COUNT(rows))

/* Frees the open request, like the end of the process. */
static void close_asked(struct instance_world *w)
{
	explain_stop(&w->inst);
	tap_session_stop(&w->inst);
	instance_world_turn_all(w);
	tap_session_stop(&w->inst);
	instance_world_close(w);
}

/* Requests the verdict of a worker about a packet and expects this answer. */
static void explain(struct instance_world *w, const char *question, const char *expected)
{
	const struct timespec moment = {.tv_nsec = MS_NS};
	json_t *reply = show_ask(w, "/weir/explain", question);
	char number[24];

	while (json_is_true(json_object_get(reply, "busy"))) {
		json_decref(reply);
		nanosleep(&moment, NULL);
		reply = show_ask(w, "/weir/explain", question);
	}
	assert_true(json_is_integer(json_object_get(reply, "asked")));
	snprintf(number, sizeof(number), "%d",
		(int)json_integer_value(json_object_get(reply, "asked")));
	json_decref(reply);
	show_expect(show_ask(w, "/weir/explain", number), "{'pending': true}");
	assert_null(show_ask(w, "/weir/explain", "999"));
	instance_world_turn_all(w);
	show_expect(show_ask(w, "/weir/explain", number), expected);
	assert_null(show_ask(w, "/weir/explain", number)); /* the verdict is sent one time */
}

#define ETHERNET "hex=ffffffffffff000000000001"
#define UDP_V4   "4500001c0000000040110000010203040a0106070035004500080000"
#define UDP_V6                                                                             \
	"6b8000000008114020010db800000000000000000000000120010db8000000000000000000000002" \
	"0035004500080000"
#define FRAGMENT  "4500001c00000004401100000a0106070a0206070035004500080000"
#define OTHER     "another worker might get this flow: worker=N selects one"
#define NO_IP     "no IP: only policies that name no address, DSCP, protocol or port can take it"
#define UNLIMITED "'charged': null, 'count': null"

TEST(test_explain)
{
	ENDED_BY(close_asked) struct instance_world w;

	instance_world_open(&w, POLICIES);
	assert_null(show_ask(&w, "/weir/explain", NULL));
	assert_null(show_ask(&w, "/weir/explain", "1"));
	explain(&w,
		ETHERNET "8100312c0800"
			 "4500001c0000000040110000010203040a0906070035004500080000",
		"{'verdict': 'pass', 'reason': 'conforms', 'policy': 'each', 'wire': 'w', "
		"'direction': 'a-to-b', 'worker': 0, 'charged': 28, 'count': 'bytes', "
		"'packet': {'bytes': 46, 'ethertype': 2048, 'vlans': [300], 'vlan': 300, "
		"'l2_bytes': 18, 'family': 'ipv4', 'inside_tunnel': false, 'src': '1.2.3.4', "
		"'dst': '10.9.6.7', 'dscp': 0, 'proto': 'udp', 'src_port': 53, 'dst_port': 69, "
		"'fragment': 'no', 'unparsed': null, 'unknown': []}, 'state': {"
		"'local_limit_bps': 8000, 'local_burst_bytes': 2000, 'level': null, "
		"'level_shared': null, 'colour': null}, 'notes': ['" OTHER "']}");
	/* Its workers share 3000 bytes, except a quantum of 45 that each may hold. */
	explain(&w, "worker=1 direction=b-to-a wire=w " ETHERNET "0800" UDP_V4,
		"{'policy': 'dst', 'direction': 'b-to-a', 'worker': 1, 'packet': {"
		"'ethertype': 2048, 'vlans': [], 'vlan': null, 'l2_bytes': 14, '...': 0}, "
		"'state': {'local_limit_bps': 8000000, 'local_burst_bytes': 3000, 'level': '*', "
		"'level_shared': 2912, 'colour': null}, 'notes': [], '...': 0}");
	/* Tags of all kinds, and frames that end within a header. */
	explain(&w, ETHERNET "88a8012c9100f00781003fff0800" UDP_V4,
		"{'packet': {'ethertype': 2048, 'vlans': [300, 7, 4095], '...': 0}, '...': 0}");
	explain(&w, ETHERNET,
		"{'packet': {'bytes': 12, 'ethertype': null, 'vlans': [], 'vlan': null, "
		"'...': 0}, '...': 0}");
	explain(&w, ETHERNET "8100",
		"{'packet': {'ethertype': 33024, 'vlans': [], '...': 0}, '...': 0}");
	explain(&w, ETHERNET "8100312c",
		"{'packet': {'ethertype': null, 'vlans': [300], '...': 0}, '...': 0}");
	explain(&w, ETHERNET "8100312c0800",
		"{'packet': {'ethertype': 2048, 'vlans': [300], '...': 0}, '...': 0}");
	explain(&w, ETHERNET "86dd" UDP_V6,
		"{'policy': 'v6', 'charged': 1, 'count': 'packets', 'packet': {'bytes': 62, "
		"'family': 'ipv6', 'src': '2001:db8::1', 'dst': '2001:db8::2', 'dscp': 46, "
		"'src_port': 53, 'dst_port': 69, '...': 0}, 'state': {'local_limit_per_s': 1.0, "
		"'...': 0}, '...': 0}");
	explain(&w, ETHERNET "0806000108000604",
		"{'verdict': 'pass', 'reason': 'unmatched', 'policy': null, 'packet': {"
		"'ethertype': 2054, 'family': null, 'src': null, 'dst': null, 'dscp': null, "
		"'proto': null, 'src_port': null, 'dst_port': null, '...': 0}, " UNLIMITED
		", 'state': null, 'notes': ['" OTHER "', '" NO_IP "'], '...': 0}");
	/* A later fragment has no ports. A shaped policy has its waiting packets. */
	explain(&w, ETHERNET "0800" FRAGMENT,
		"{'policy': 'src', 'packet': {'proto': 'udp', 'src_port': null, "
		"'fragment': 'later', '...': 0}, 'state': {'local_limit_bps': 8000000, "
		"'waiting_packets': 0, 'waiting_bytes': 0, '...': 0}, '...': 0}");
}

/* A packet for which its policy has tokens and the parent has none, and one with tokens of both. */
TEST(test_explain_levels)
{
	ENDED_BY(close_asked) struct instance_world w;

	instance_world_open(&w,
		"{'name': 'link', 'limit': '8kbit/s', 'burst': '1kB'}, "
		"{'name': 'client', 'parent': 'link', 'match': {'dst': '10.1.0.0/16'}, "
		"'limit': '8kbit/s', 'burst': '20kB'}");
	explain(&w, "worker=0 length=1400 " ETHERNET "0800" UDP_V4,
		"{'verdict': 'drop', 'reason': 'limit', 'policy': 'client', 'notes': ["
		"'link, which the policy is below, has no room for it'], '...': 0}");
	explain(&w, "worker=0 length=500 " ETHERNET "0800" UDP_V4,
		"{'verdict': 'pass', 'reason': 'conforms', 'policy': 'client', 'charged': 486, "
		"'notes': [], '...': 0}");
}

#define OWN "'limit': '8kbit/s', 'burst': '20kB'"

/* The parent has no room, or the quota has nothing left for any limiter. */
TEST(test_explain_over_above)
{
	static const struct {
		const char *above, *own, *answer;
	} rows[] = {
		{"'limit': '8kbit/s', 'burst': '1kB', 'action': 'count'", OWN,
			"{'verdict': 'count', 'reason': 'limit', 'notes': ["
			"'link, which the policy is below, has no room for it'], '...': 0}"},
		{"'limit': '8kbit/s', 'burst': '1kB', 'action': 'mark', 'mark': 10", OWN,
			"{'verdict': 'mark', 'reason': 'limit', 'notes': ["
			"'link, which the policy is below, has no room for it'], '...': 0}"},
		{"'allocator': 'quota', 'total': '1GB', 'limit': '8kbit/s'", OWN,
			"{'verdict': 'pass', 'reason': 'fallback', 'notes': ["
			"'link, which the policy is below, does not pay for it'], '...': 0}"},
		{"'allocator': 'quota', 'total': '1GB'", OWN,
			"{'verdict': 'drop', 'reason': 'quota', 'notes': ["
			"'link, which the policy is below, does not pay for it'], '...': 0}"},
		/* In addition to a quota above, and its own has it over. */
		{"'allocator': 'quota', 'total': '1GB', 'limit': '8kbit/s'",
			"'limit': '8kbit/s', 'burst': '1kB', 'action': 'count'",
			"{'verdict': 'count', 'reason': 'limit', 'notes': ["
			"'link, which the policy is below, does not pay for it'], '...': 0}"},
		{OWN, "'allocator': 'quota', 'total': '1GB', 'action': 'count'",
			"{'verdict': 'count', 'reason': 'quota', 'notes': [], '...': 0}"},
		/* Its quota and its parent have nothing left: the quota is reported. */
		{"'limit': '8kbit/s', 'burst': '1kB', 'action': 'count'",
			"'allocator': 'quota', 'total': '1GB', " OWN,
			"{'verdict': 'count', 'reason': 'limit', 'notes': ["
			"'link, which the policy is below, has no room for it'], '...': 0}"},
	};

	for (unsigned i = 0; i < RTE_DIM(rows); i++) {
		char top[] = "/tmp/weir-show-XXXXXX", store[64], more[128], policies[512];
		struct instance_world w;

		assert_non_null(mkdtemp(top));
		snprintf(store, sizeof(store), "%s/store", top);
		assert_int_equal(store_create(store, (struct store_identity){0, 1}), 0);
		snprintf(more, sizeof(more), "'ledger': {'store': '%s'}, ", store);
		snprintf(policies, sizeof(policies),
			"{'name': 'link', %s}, {'name': 'client', 'parent': 'link', "
			"'match': {'dst': '10.1.0.0/16'}, %s}",
			rows[i].above, rows[i].own);
		instance_world_open_more(&w, more, policies);
		explain(&w, "worker=0 length=1400 " ETHERNET "0800" UDP_V4, rows[i].answer);
		close_asked(&w);
		snprintf(more, sizeof(more), "rm -r %s", top);
		assert_int_equal(system(more), 0);
	}
}

#define LACKS(action) "'limit': '8kbit/s', 'burst': '1kB', 'action': '" action "'"
#define WIDE          "'limit': '8Mbit/s', 'burst': '20kB'"
#define SHAPES        "'limit': '8Mbit/s', 'burst': '20kB', 'action': 'shape'"
/* The requests of the test take less than this: longer than a second. */
#define WAITS         "'limit': '8kbit/s', 'burst': '64B', 'action': 'shape', 'shape': {'delay': '10s'}"
#define NO_ROOM(name) "'" name ", which the policy is below, has no room for it'"
#define EITHER(name) \
	"'" name ", which the policy is below, has no room for it either, and counts it as over'"
#define SAYS(verdict, reason, notes) \
	"{'verdict': '" verdict "', 'reason': '" reason "', 'notes': [" notes "], '...': 0}"

/* If several levels have no room, one is responsible, and the notes name the others. */
TEST(test_explain_several)
{
	static const struct {
		const char *link, *mid, *own, *answer;
	} rows[] = {
		{LACKS("count"), LACKS("mark") ", 'mark': 10", LACKS("count"),
			SAYS("mark", "limit", NO_ROOM("mid") ", " EITHER("link"))},
		{LACKS("mark") ", 'mark': 12", LACKS("mark") ", 'mark': 10", WIDE,
			SAYS("mark", "limit", NO_ROOM("mid") ", " EITHER("link"))},
		{LACKS("mark") ", 'mark': 12", LACKS("count"), WIDE,
			SAYS("mark", "limit", NO_ROOM("link") ", " EITHER("mid"))},
		{LACKS("count"), WIDE, LACKS("mark") ", 'mark': 10",
			SAYS("mark", "limit", EITHER("link"))},
		{LACKS("count"), LACKS("count"), WIDE,
			SAYS("count", "limit", NO_ROOM("mid") ", " EITHER("link"))},
		{LACKS("count"), WIDE, LACKS("count"), SAYS("count", "limit", EITHER("link"))},
		{WIDE, WIDE, LACKS("count"), SAYS("count", "limit", "")},
		{LACKS("count"), LACKS("drop"), LACKS("count"),
			SAYS("drop", "limit", NO_ROOM("mid"))},
		{WIDE, LACKS("mark"), LACKS("count"), SAYS("drop", "unmarkable", NO_ROOM("mid"))},
		{LACKS("count"), WIDE, LACKS("drop"), SAYS("drop", "limit", "")},
		{LACKS("drop"), WIDE, SHAPES, SAYS("wait", "waits", NO_ROOM("link"))},
		{LACKS("drop"), LACKS("drop"), SHAPES, SAYS("wait", "waits", NO_ROOM("mid"))},
		{WIDE, LACKS("mark"), SHAPES, SAYS("wait", "waits", NO_ROOM("mid"))},
		{WIDE, LACKS("count"), SHAPES, SAYS("count", "limit", NO_ROOM("mid"))},
		{WIDE, WIDE, WAITS, SAYS("wait", "waits", "")},
		{WIDE, LACKS("count"), WAITS, SAYS("wait", "waits", "")},
	};

	for (unsigned i = 0; i < RTE_DIM(rows); i++) {
		struct instance_world w;
		char policies[1024];

		snprintf(policies, sizeof(policies),
			"{'name': 'link', %s}, {'name': 'mid', 'parent': 'link', %s}, "
			"{'name': 'client', 'parent': 'mid', 'match': {'dst': '10.1.0.0/16'}, %s}",
			rows[i].link, rows[i].mid, rows[i].own);
		instance_world_open(&w, policies);
		explain(&w, "worker=0 length=1400 " ETHERNET "0800" UDP_V4, rows[i].answer);
		close_asked(&w);
	}
}

TEST(test_explain_refused)
{
	static const struct show_row rows[] = {
		{"/weir/explain", "wire=none " ETHERNET,
			"{'refused': '*\\\"none\\\": no such wire: expected a name such as \\\"w\\\"*'}"},
		{"/weir/explain", "worker=7 " ETHERNET,
			"{'refused': '*worker: 7: no such worker*'}"},
		{"/weir/explain", "hex=0", "{'refused': '*'}"},
		{"/weir/explain", "x", "{'refused': '*'}"},
		{"/weir/explain", ETHERNET, "{'asked': 1}"},
		{"/weir/explain", ETHERNET, "{'busy': true}"},
	};
	ENDED_BY(close_asked) struct instance_world w;

	instance_world_open(&w, POLICIES);
	EXPECT(&w, rows);
}

#define TEN_VLANS " vlan=1 vlan=1 vlan=1 vlan=1 vlan=1 vlan=1 vlan=1 vlan=1 vlan=1  vlan=1"

TEST(test_match)
{
	static const struct show_row rows[] = {
		{"/weir/match", NULL, NULL},
		{"/weir/match", "x", NULL},
		{"/weir/match", "0", "{'refused': '*'}"},
		{"/weir/match", "0 10.1.2.3 wire=none",
			"{'refused': '*\\\"none\\\": no such wire: expected a name such as \\\"w\\\"*'}"},
		{"/weir/match", "0 10.1.2.3",
			"{'generation': 1, 'next': null, 'only_by_source': 1, "
			"'only_by_destination': 1, 'policies': ["
			"{'policy': 'each', 'index': 0, 'to': 'some', 'from': 'some', "
			"'precedence': '*', 'strictness': '*', 'match': '*'}, "
			"{'policy': 'dst', 'index': 1, 'to': 'some', 'from': null, '...': 0}, "
			"{'policy': 'src', 'index': 2, 'to': null, 'from': 'all', '...': 0}]}"},
		{"/weir/match", "1 10.1.2.3 wire=w vlan=300",
			"{'policies': [{'policy': 'dst', '...': 0}, {'policy': 'src', '...': 0}], "
			"'...': 0}"},
		{"/weir/match", "0 10.9.2.3 vlan=300",
			"{'policies': [{'policy': 'each', 'to': 'all', 'from': 'all', '...': 0}], "
			"'...': 0}"},
		{"/weir/match", "9 10.1.2.3", "{'next': null, 'policies': [], '...': 0}"},
		{"/weir/match", "9 10.1.2.3" TEN_VLANS, "{'policies': [], '...': 0}"},
		{"/weir/match", "9 10.1.2.3" TEN_VLANS " vlan=1",
			"{'refused': '*expected an address, and each fact once*'}"},
	};
	ENDED_BY(close_asked) struct instance_world w;

	instance_world_open(&w, POLICIES);
	EXPECT(&w, rows);
}

/* Rows for each match of each policy that applies to the address. */
TEST(test_match_several)
{
#define ROW(policy, match) "{'policy': '" policy "', 'match': {" match ", '...': 0}, '...': 0}"
	static const struct show_row rows[] = {
		{"/weir/match", "0 10.1.2.3",
			"{'next': null, 'only_by_source': 1, 'only_by_destination': 2, "
			"'policies': [" ROW("many", "'dst': '10.1.0.0/16'") ", " ROW(
				"many", "'src': '10.1.2.0/24'") ", " ROW("one",
				"'dst': '10.1.2.3/32'") "], '...': 0}"},
		{"/weir/match", "1 10.1.2.3",
			"{'policies': [" ROW("many", "'src': '10.1.2.0/24'") ", " ROW(
				"one", "'dst': '10.1.2.3/32'") "], '...': 0}"},
		{"/weir/match", "3 10.1.2.3",
			"{'next': null, 'policies': [" ROW(
				"one", "'dst': '10.1.2.3/32'") "], '...': 0}"},
		{"/weir/match", "4 10.1.2.3", "{'next': null, 'policies': [], '...': 0}"},
		{"/weir/match", "0 2001:db8::1",
			"{'policies': [" ROW("many", "'dst': '2001:db8::/32'") "], '...': 0}"},
	};
#undef ROW
	struct instance_world w;

	instance_world_open(&w,
		"{'name': 'many', 'match': [{'dst': ['10.1.0.0/16', '2001:db8::/32']}, {'src': "
		"'10.1.2.0/24'}], 'limit': '8Mbit/s', 'burst': '64kB'}, {'name': 'one', 'match': "
		"{'dst': '10.1.2.3/32'}, 'limit': '8Mbit/s', 'burst': '64kB'}");
	EXPECT(&w, rows);
	close_asked(&w);
}

/* A policy without a match has no packets, and a page does not end with it. */
TEST(test_match_parents)
{
	static const struct show_row rows[] = {
		{"/weir/match", "0 10.9.2.3", "{'next': null, 'policies': [], '...': 0}"},
		{"/weir/match", "0 10.1.2.3",
			"{'next': null, 'policies': [{'policy': 'a', '...': 0}, "
			"{'policy': 'b', '...': 0}], '...': 0}"},
		{"/weir/match", "1 10.1.2.3",
			"{'next': null, 'policies': [{'policy': 'b', '...': 0}], '...': 0}"},
		{"/weir/match", "2 10.1.2.3", "{'next': null, 'policies': [], '...': 0}"},
	};
	ENDED_BY(close_asked) struct instance_world w;

	instance_world_open(&w,
		"{'name': 'a', 'parent': 'link', 'match': {'dst': '10.1.0.0/16', 'dscp': 1}, "
		"'limit': '1Mbit/s'}, {'name': 'link', 'limit': '8Mbit/s'}, "
		"{'name': 'b', 'parent': 'more', 'match': {'dst': '10.1.0.0/16', 'dscp': 2}, "
		"'limit': '1Mbit/s'}, {'name': 'more', 'limit': '8Mbit/s'}");
	EXPECT(&w, rows);
}

/* A page has forty at most, and the next one the rest. */
TEST(test_match_pages)
{
	char policies[45 * 96] = "";
	ENDED_BY(close_asked) struct instance_world w;
	json_t *reply;

	for (unsigned i = 0; i < 45; i++)
		sprintf(policies + strlen(policies),
			"%s{'name': 'p%u', 'match': {'vlan': %u}, 'limit': '8Mbit/s'}",
			i ? ", " : "", i, i + 1);
	instance_world_open(&w, policies);
	reply = show_ask(&w, "/weir/match", "0 10.1.2.3");
	assert_int_equal(json_array_size(json_object_get(reply, "policies")), 40);
	show_expect(reply, "{'next': 40, '...': 0}");
	reply = show_ask(&w, "/weir/match", "5 10.1.2.3");
	assert_int_equal(json_array_size(json_object_get(reply, "policies")), 40);
	show_expect(reply, "{'next': null, '...': 0}");
	reply = show_ask(&w, "/weir/match", "6 10.1.2.3");
	assert_int_equal(json_array_size(json_object_get(reply, "policies")), 39);
	show_expect(reply, "{'next': null, '...': 0}");
}

#define COUNTS(n) "'examined': " n ", 'not_examined': 0"

#define UNKNOWN_WORD "{'refused': '*expected policy=, reason=, count=, seconds=, rate= or whole*'}"

/* A capture has a number, sends each packet once, and ends after `count`. Another one must wait. */
TEST(test_capture)
{
	static const struct show_row refused[] = {
		{"/weir/capture", "bogus", UNKNOWN_WORD},
		{"/weir/capture", "counts=5", UNKNOWN_WORD},
		{"/weir/capture", "second=5", UNKNOWN_WORD},
		{"/weir/capture", "rates=5", UNKNOWN_WORD},
		{"/weir/capture", "policys=each", UNKNOWN_WORD},
		{"/weir/capture", "reasons=limit", UNKNOWN_WORD},
		{"/weir/capture", "wholes", UNKNOWN_WORD},
		{"/weir/capture", "policy=x", "{'refused': '*\\\"x\\\": no such policy: see*'}"},
		{"/weir/capture", "count=0", "{'refused': '*count: \\\"0\\\": expected 1 to*'}"},
		{"/weir/capture", "count=1x", "{'refused': '*\\\"1x\\\": expected 1 to*'}"},
		{"/weir/capture", "seconds=86401",
			"{'refused': '*\\\"86401\\\": expected 1 to 86400*'}"},
		{"/weir/capture", "rate=100001",
			"{'refused': '*\\\"100001\\\": expected 1 to 100000*'}"},
		{"/weir/capture", "reason=x",
			"{'refused': '*\\\"x\\\": no such reason: expected one that \\\"weirctl drops*'}"},
		{"/weir/capture_read", "1", NULL},
		{"/weir/capture_end", "1", NULL},
		{"/weir/capture", "  rate=100000  seconds=86400 count=1 policy=-",
			"{'capture': 1, 'snaplen': 256}"},
		{"/weir/capture", "whole", "{'busy': true}"},
		{"/weir/capture_read", "2", NULL},
		{"/weir/capture_read", NULL, NULL},
	};
	ENDED_BY(close_asked) struct instance_world w;
	json_t *reply;

	instance_world_open(&w, POLICIES);
	EXPECT(&w, refused);
	show_expect(show_ask(&w, "/weir/capture_read", "1"),
		"{'packets': [], 'over': false, " COUNTS(
			"0") ", 'taken': 0, 'over_rate': 0, 'lost': 0}");
	instance_world_turn_all(&w);
	reply = show_ask(&w, "/weir/capture_read", "1");
	assert_in_range(json_integer_value(json_object_get(
				json_array_get(json_object_get(reply, "packets"), 0), "at_ns")) /
				SECOND_NS,
		(uint64_t)time(NULL) - 5, (uint64_t)time(NULL) + 1);
	show_expect(reply,
		"{'packets': [{'at_ns': '*', 'bytes': 64, 'wire': 'w', 'direction': 'a-to-b', "
		"'worker': 0, 'policy': null, 'verdict': 'pass', 'reason': null, "
		"'data': '*'}], 'over': true, 'examined': '*', 'not_examined': '*', "
		"'taken': '*', 'over_rate': '*', 'lost': '*'}");
	assert_null(show_ask(&w, "/weir/capture_read", "1"));
	show_expect(show_ask(&w, "/weir/capture", "whole"), "{'busy': true}");
	instance_world_turn_all(&w); /* workers no longer use it */
	show_expect(show_ask(&w, "/weir/capture", "reason=limit whole"),
		"{'capture': 2, 'snaplen': 9216}");
	assert_null(show_ask(&w, "/weir/capture_end", "1"));
	show_expect(show_ask(&w, "/weir/capture_end", "2"), "{'ended': true}");
	assert_null(show_ask(&w, "/weir/capture_end", "2"));
}

/* A capture ends without a client that reads it. */
TEST(test_capture_lease)
{
	ENDED_BY(close_asked) struct instance_world w;

	instance_world_open(&w, POLICIES);
	w.inst.clock.hz = tick_hz() / 100; /* so that seconds are hundredths */
	json_decref(show_ask(&w, "/weir/capture", ""));
	show_expect(show_ask(&w, "/weir/capture", ""), "{'busy': true}");
	while (tick_now() < w.inst.workers[0].tap->until)
		;
	json_decref(show_ask(&w, "/weir/capture", ""));
	instance_world_turn_all(&w);
	show_expect(show_ask(&w, "/weir/capture", ""), "{'capture': '*', 'snaplen': 256}");
	assert_in_range(w.inst.workers[1].tap->until - tick_now(), w.inst.clock.hz * 2,
		w.inst.clock.hz * 3);
}

#define WORDS "'expected a policy, and limit=, burst=, until=, for= or off'"
#define TERMS                                                                           \
	"'expected limit=LIMIT, burst=BURST if it is to have one, and until=UNIX_TIME " \
	"or for=SECONDS, of a year at most'"

/* A name of the largest length. */
#define LONG "a-name-that-is-as-long-as-names-may-be-and-therefore-takes-room"

TEST(test_override)
{
	static const struct show_row rows[] = {
		{"/weir/override", "dst,limt=5", "{'refused': [" WORDS "]}"},
		{"/weir/override", "dst", "{'refused': [" TERMS "]}"},
		{"/weir/override", "dst,limit=5Mbit/s", "{'refused': [" TERMS "]}"},
		{"/weir/override", "dst,for=60", "{'refused': [" TERMS "]}"},
		{"/weir/override", "dst,limit=5Mbit/s,for=0", "{'refused': [" TERMS "]}"},
		{"/weir/override", "dst,limit=5Mbit/s,for=31622401", "{'refused': [" TERMS "]}"},
		{"/weir/override", "dst,limit=5Mbit/s,for=6x", "{'refused': [" TERMS "]}"},
		{"/weir/override", "dst,limit=5Mbit/s,until=", "{'refused': [" TERMS "]}"},
		{"/weir/override", "dst,limit=5Mbit/s,until=-5", "{'refused': [" TERMS "]}"},
		{"/weir/override", "dst,limit=5Mbit/s,until=99999999999999999999",
			"{'refused': [" TERMS "]}"},
		{"/weir/override", "dst,limit=5Mbit/s,until=4000000000,for=0",
			"{'refused': [" TERMS "]}"},
		{"/weir/override", "dst,limt=5,limit=5Mbit/s,for=60", "{'refused': [" WORDS "]}"},
		{"/weir/override", LONG ",off", "{'refused': ['*no such policy: see*']}"},
		{"/weir/override", LONG "x,off", "{'refused': [" WORDS "]}"},
		{"/weir/override", NULL, "{'refused': [" TERMS "]}"},
		{"/weir/override", "dst,limit=5Mbit/s,until=1",
			"{'refused': ['until: expected a time in the future']}"},
		{"/weir/override", "nobody,limit=5Mbit/s,for=60",
			"{'refused': ['*\\\"nobody\\\": no such policy*']}"},
		{"/weir/override", "nobody,off",
			"{'refused': ['*\\\"nobody\\\": no such policy*']}"},
		{"/weir/override", "dst,limit=5Mbit/s,burst=9kB,for=31622400", "{'request': 1}"},
		{"/weir/limits", NULL, "{'limits': [], 'saving': true, '...': 0}"},
	};
	char top[] = "/tmp/weir-show-XXXXXX", more[128], command[64];
	struct pollfd fd = {.events = POLLIN};
	struct instance_world w;

	assert_non_null(mkdtemp(top));
	snprintf(more, sizeof(more), "'ledger': {'store': '%s/store'}, ", top);
	instance_world_open_more(&w, more,
		POLICIES ", {'name': 'daily', 'limit': '1Mbit/s', 'schedule': {'zone': 'UTC', "
			 "'entries': [{'from': '00:00', 'to': '24:00', 'limit': '2Mbit/s'}]}}");
	json_decref(show_ask(&w, "/weir/limits", NULL));
	for (size_t i = 0; i + 1 < COUNT(rows); i++)
		show_expect_rows(&w, &rows[i], 1);
	fd.fd = timed_fd(&w.inst);
	assert_int_equal(poll(&fd, 1, 60000), 1);
	timed_read(&w.inst);
	timed_run(&w.inst, control_now());
	show_expect(show_ask(&w, "/weir/limits", NULL),
		"{'total': 2, 'start': 0, 'next': null, 'limits': [{'name': 'dst', "
		"'limit': '5Mbit/s', 'burst_bytes': 9000, 'limit_by': 'override', "
		"'limit_until': '*', 'limit_uid': '*', 'configured_limit': '8Mbit/s'}, "
		"{'name': 'daily', 'limit': '2Mbit/s', 'burst_bytes': '*', "
		"'limit_by': 'schedule', 'limit_until': null, "
		"'configured_limit': '1Mbit/s'}], 'by_schedule': 1, 'by_override': 1, "
		"'saving': false, 'error': null, 'time': '*'}");
	show_expect(show_ask(&w, "/weir/policy", "dst"),
		"{'limit': '5Mbit/s', 'limit_bps': 5000000, 'burst_bytes': 9000, "
		"'limit_by': 'override', 'configured_limit': '8Mbit/s', "
		"'effective_limit_bps': 5000000, '...': 0}");
	show_expect(show_ask(&w, "/weir/override", "dst,off"), "{'request': 2}");
	close_asked(&w);
	snprintf(command, sizeof(command), "rm -r %s", top);
	assert_int_equal(system(command), 0);
}

#define NO_STATE "{'refused': '*started without --state*', 'busy': false}"

TEST(test_changes_refused)
{
	static const struct show_row rows[] = {
		{"/weir/apply", NULL, NO_STATE},
		{"/weir/apply", "86400", NO_STATE},
		{"/weir/apply", "86401", "{'refused': '*expected 1 to 86400 seconds*'}"},
		{"/weir/apply", "-1", "{'refused': '*expected 1 to 86400 seconds*'}"},
		{"/weir/apply", "1s", "{'refused': '*expected 1 to 86400 seconds*'}"},
		{"/weir/policy_change", NULL,
			"{'refused': '*expected an edit, or an array of them*'}"},
		{"/weir/policy_change", "[]", NO_STATE},
		{"/weir/policy_change", "[",
			"{'refused': '*expected an edit, or an array of them*'}"},
		{"/weir/policy_change", "{}", NO_STATE},
		{"/weir/confirm", NULL, NO_STATE},
		{"/weir/rollback", NULL, NO_STATE},
		{"/weir/rollback", "x", "{'refused': '*expected the number of a configuration*'}"},
		{"/weir/log", NULL,
			"{'level': '*', 'format': 'text', 'lines_lost': 0, 'events': '*'}"},
		{"/weir/log_level", "loud", NULL},
		{"/weir/log_level", NULL, NULL},
		{"/weir/log_level", "error", "{'level': 'error', '...': 0}"},
		{"/weir/log_level", "warning", "{'level': 'warning', '...': 0}"},
		{"/weir/log_level", "debug", "{'level': 'debug', '...': 0}"},
		{"/weir/log_level", "info", "{'level': 'info', '...': 0}"},
		{"/weir/events", "x", NULL},
		{"/weir/events", "1x", NULL},
	};
	ENDED_BY(close_asked) struct instance_world w;
	uint64_t began;
	json_t *said;
	char text[256];

	instance_world_open(&w, POLICIES);
	began = events_number();
	EXPECT(&w, rows);
	said = events_get(events_number() - 1);
	assert_int_equal(events_number() - began, 2); /* by the rules of the new level */
	snprintf(text, sizeof(text),
		"{'event': 'log_changed', 'text': 'log: level info, format text, by uid %u', "
		"'min_level': 'info', 'format': 'text', 'uid': %u, '...': 0}",
		(unsigned)telemetry_asker(NULL), (unsigned)telemetry_asker(NULL));
	show_expect(said, text);
}

static int ask_to_explain(const void *argument)
{
	struct instance *inst = (struct instance *)(uintptr_t)argument;
	json_t *reply = show_explain(ETHERNET, inst);
	int rc = reply ? 0 : -ENOMEM;

	json_decref(reply);
	explain_stop(inst);
	return rc;
}

/* Without memory a question has no answer, and no memory leaks. */
TEST(test_explain_without_memory)
{
	ENDED_BY(instance_world_close) struct instance_world w;

	instance_world_open(&w, POLICIES);
	fault_try(&(struct fault_subject){.name = "explain",
		.run = ask_to_explain,
		.argument = &w.inst,
		.kinds = FAULT_MEMORY,
		.at_least = 2});
}

TEST_GROUP(instance_world_start, instance_world_stop)
