/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Verdicts about a packet, from the classifier and the meters of a worker: their reasons, and the
 * time in which a question has an answer.
 */
#include "show_world.h"
#include "control_clock.h"

#include <rte_common.h>

#include "base/time.h"
#include "fault.h"
#include "policy_txn.h"
#include "show.h"
#include "specimen.h"

#define POLICIES                                                                        \
	"{'name': 'each', 'match': {'vlan': 300}, 'limit': '8kbit/s', 'burst': '2kB', " \
	"'allocator': 'static', 'per': 'src', 'sources': 1024}, "                       \
	"{'name': 'dst', 'match': {'dst': '10.1.0.0/16', 'proto': 'udp'}, "             \
	"'limit': '8Mbit/s', 'burst': '3kB'}, "                                         \
	"{'name': 'src', 'match': {'src': '10.1.0.0/16'}, 'limit': '8Mbit/s', "         \
	"'action': 'shape', 'shape': {'delay': '5ms'}}, "                               \
	"{'name': 'v6', 'match': {'dst': '2001:db8::/32'}, 'limit': '60/min', 'count': 'packets'}"

/* Requests the verdict of a worker about a packet, runs the workers, and expects this answer. */
static void explain(struct instance_world *w, const char *question, const char *expected)
{
	char number[24];
	json_t *reply;

	clock_ns += SECOND_NS;
	reply = show_ask(w, "/weir/explain", question);
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
	WORLD(w, POLICIES);

	assert_null(show_ask(w, "/weir/explain", NULL));
	assert_null(show_ask(w, "/weir/explain", "1"));
	explain(w,
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
	explain(w, "worker=1 direction=b-to-a wire=w " ETHERNET "0800" UDP_V4,
		"{'policy': 'dst', 'direction': 'b-to-a', 'worker': 1, 'packet': {"
		"'ethertype': 2048, 'vlans': [], 'vlan': null, 'l2_bytes': 14, '...': 0}, "
		"'state': {'local_limit_bps': 8000000, 'local_burst_bytes': 3000, 'level': '*', "
		"'level_shared': 2912, 'colour': null}, 'notes': [], '...': 0}");
	/* Tags of all kinds, and frames that end within a header. */
	explain(w, ETHERNET "88a8012c9100f00781003fff0800" UDP_V4,
		"{'packet': {'ethertype': 2048, 'vlans': [300, 7, 4095], '...': 0}, '...': 0}");
	explain(w, ETHERNET,
		"{'packet': {'bytes': 12, 'ethertype': null, 'vlans': [], 'vlan': null, "
		"'...': 0}, '...': 0}");
	explain(w, ETHERNET "8100",
		"{'packet': {'ethertype': 33024, 'vlans': [], '...': 0}, '...': 0}");
	explain(w, ETHERNET "8100312c",
		"{'packet': {'ethertype': null, 'vlans': [300], '...': 0}, '...': 0}");
	explain(w, ETHERNET "8100312c0800",
		"{'packet': {'ethertype': 2048, 'vlans': [300], '...': 0}, '...': 0}");
	explain(w, ETHERNET "86dd" UDP_V6,
		"{'policy': 'v6', 'charged': 1, 'count': 'packets', 'packet': {'bytes': 62, "
		"'family': 'ipv6', 'src': '2001:db8::1', 'dst': '2001:db8::2', 'dscp': 46, "
		"'src_port': 53, 'dst_port': 69, '...': 0}, 'state': {'local_limit_per_s': 1.0, "
		"'...': 0}, '...': 0}");
	explain(w, ETHERNET "0806000108000604",
		"{'verdict': 'pass', 'reason': 'unmatched', 'policy': null, 'packet': {"
		"'ethertype': 2054, 'family': null, 'src': null, 'dst': null, 'dscp': null, "
		"'proto': null, 'src_port': null, 'dst_port': null, '...': 0}, " UNLIMITED
		", 'state': null, 'notes': ['" OTHER "', '" NO_IP "'], '...': 0}");
	/* A later fragment has no ports. A shaped policy has its waiting packets. */
	explain(w, ETHERNET "0800" FRAGMENT,
		"{'policy': 'src', 'packet': {'proto': 'udp', 'src_port': null, "
		"'fragment': 'later', '...': 0}, 'state': {'local_limit_bps': 8000000, "
		"'waiting_packets': 0, 'waiting_bytes': 0, '...': 0}, '...': 0}");
}

/* A packet for which its policy has tokens and the parent has none, and one with tokens of both. */
TEST(test_explain_levels)
{
	WORLD(w, "{'name': 'link', 'limit': '8kbit/s', 'burst': '1kB'}, "
		 "{'name': 'client', 'parent': 'link', 'match': {'dst': '10.1.0.0/16'}, "
		 "'limit': '8kbit/s', 'burst': '20kB'}");

	explain(w, "worker=0 length=1400 " ETHERNET "0800" UDP_V4,
		"{'verdict': 'drop', 'reason': 'limit', 'policy': 'client', 'notes': ["
		"'link, which the policy is below, has no room for it'], '...': 0}");
	explain(w, "worker=0 length=500 " ETHERNET "0800" UDP_V4,
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
		char policies[512];

		snprintf(policies, sizeof(policies),
			"{'name': 'link', %s}, {'name': 'client', 'parent': 'link', "
			"'match': {'dst': '10.1.0.0/16'}, %s}",
			rows[i].above, rows[i].own);
		STORED_WORLD(w, policies);
		explain(w, "worker=0 length=1400 " ETHERNET "0800" UDP_V4, rows[i].answer);
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
		char policies[1024];

		snprintf(policies, sizeof(policies),
			"{'name': 'link', %s}, {'name': 'mid', 'parent': 'link', %s}, "
			"{'name': 'client', 'parent': 'mid', 'match': {'dst': '10.1.0.0/16'}, %s}",
			rows[i].link, rows[i].mid, rows[i].own);
		WORLD(w, policies);
		explain(w, "worker=0 length=1400 " ETHERNET "0800" UDP_V4, rows[i].answer);
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
	WORLD(w, POLICIES);

	show_expect_rows(w, rows, COUNT(rows));
}

#define FRAME(tag)                                                                        \
	"hex=ffffffffffff000000000001" tag "08004500001c0000000040110000010203040a010607" \
	"0035004500080000"
#define TAGGED(tag) FRAME("8100" tag)

/* The reason why a packet passes or is dropped, in one word. */
TEST(test_explain_reasons)
{
	static const struct {
		const char *question, *expected;
	} rows[] = {
		{TAGGED("0001"),
			"{'verdict': 'pass', 'reason': 'conforms', 'policy': 'waits', '...': 0}"},
		{"length=1400 " TAGGED("0001"),
			"{'verdict': 'wait', 'reason': 'waits', 'policy': 'waits', '...': 0}"},
		{TAGGED("0002"), "{'verdict': 'mark', 'reason': 'conforms', 'policy': 'gold', "
				 "'state': {'colour': 'green', '...': 0}, '...': 0}"},
		{"length=1400 " TAGGED("0002"),
			"{'verdict': 'count', 'reason': 'limit', 'policy': 'gold', "
			"'state': {'colour': 'red', '...': 0}, '...': 0}"},
		{"length=1400 " TAGGED("0003"),
			"{'verdict': 'count', 'reason': 'limit', 'policy': 'counts', '...': 0}"},
		{TAGGED("0004"),
			"{'verdict': 'pass', 'reason': 'fallback', 'policy': 'spare', '...': 0}"},
		{"length=1400 " TAGGED("0004"),
			"{'verdict': 'count', 'reason': 'quota', 'policy': 'spare', '...': 0}"},
		{TAGGED("0005"),
			"{'verdict': 'drop', 'reason': 'quota', 'policy': 'total', '...': 0}"},
		{TAGGED("0006"),
			"{'verdict': 'pass', 'reason': 'unmatched', 'policy': null, '...': 0}"},
	};
	STORED_WORLD(w,
		"{'name': 'waits', 'match': {'vlan': 1}, 'limit': '8kbit/s', 'burst': '600B', "
		"'action': 'shape', 'shape': {'delay': '10s'}}, "
		"{'name': 'gold', 'match': {'vlan': 2}, 'limit': '8kbit/s', 'burst': '600B', "
		"'meter': 'trtcm', 'peak': {'limit': '16kbit/s', 'burst': '900B'}, 'colours': "
		"{'green': {'mark': 10}, 'red': 'count'}}, "
		"{'name': 'counts', 'match': {'vlan': 3}, 'limit': '8kbit/s', 'burst': '600B', "
		"'action': 'count'}, "
		"{'name': 'spare', 'match': {'vlan': 4}, 'allocator': 'quota', 'total': '1GB', "
		"'limit': '8kbit/s', 'burst': '600B', 'action': 'count'}, "
		"{'name': 'total', 'match': {'vlan': 5}, 'allocator': 'quota', 'total': '1GB'}");

	for (size_t i = 0; i < COUNT(rows); i++)
		explain(w, rows[i].question, rows[i].expected);
}

/* One question at a time, and not before a gap after the previous one. */
TEST(test_explain_gap)
{
	static const char busy[] = "{'busy': true}";
	STORED_WORLD(w, "{'name': 'p', 'limit': '1Mbit/s'}");

	show_expect(show_ask(w, "/weir/explain", FRAME("")), "{'asked': 1}");
	show_expect(show_ask(w, "/weir/explain", "1"), "{'pending': true}");
	instance_world_turn_all(w);
	show_expect(show_ask(w, "/weir/explain", "1"), "{'policy': 'p', '...': 0}");
	clock_ns += 2 * MS_NS - 1;
	show_expect(show_ask(w, "/weir/explain", FRAME("")), busy);
	clock_ns++;
	show_expect(show_ask(w, "/weir/explain", FRAME("")), "{'asked': 2}");
	instance_world_turn_all(w);
	clock_ns += 100 * MS_NS - 1; /* the verdict can still be fetched */
	show_expect(show_ask(w, "/weir/explain", FRAME("")), busy);
	clock_ns++;
	show_expect(show_ask(w, "/weir/explain", FRAME("")), "{'asked': 3}");
	assert_null(show_ask(w, "/weir/explain", "2"));
	clock_ns += 100 * MS_NS - 1; /* no worker has taken it */
	show_expect(show_ask(w, "/weir/explain", FRAME("")), busy);
	show_expect(show_ask(w, "/weir/explain", "3"), "{'pending': true}");
	clock_ns++;
	show_expect(show_ask(w, "/weir/explain", FRAME("")), "{'asked': 4}");
	assert_null(show_ask(w, "/weir/explain", "3"));
	assert_null(show_ask(w, "/weir/explain", "5"));
	instance_world_turn_all(w);
	show_expect(show_ask(w, "/weir/explain", "4"), "{'policy': 'p', '...': 0}");
}

/* A verdict from old policies is not sent. */
TEST(test_explain_stale)
{
#define P "{'name': 'p', 'limit': '1Mbit/s'}"
	struct policy_txn *x;
	STORED_WORLD(w, P);

	show_expect(show_ask(w, "/weir/explain", FRAME("")), "{'asked': 1}");
	instance_world_turn_all(w);
	x = instance_world_commit(w, P ", {'name': 'q', 'match': {'vlan': 7}, 'limit': '1Mbit/s'}");
	show_expect(show_ask(w, "/weir/explain", "1"), "{'busy': true}");
	assert_null(show_ask(w, "/weir/explain", "1"));
	instance_world_finish(w, x);
	explain(w, FRAME(""), "{'policy': 'p', '...': 0}");
	x = instance_world_commit(w, "{'name': 'q', 'match': {'vlan': 7}, 'limit': '1Mbit/s'}");
	clock_ns += SECOND_NS;
	show_expect(show_ask(w, "/weir/explain", FRAME("")), "{'asked': 3}");
	specimen_take(&w->inst.workers[0]); /* with the old policies */
	show_expect(show_ask(w, "/weir/explain", "3"), "{'busy': true}");
	instance_world_finish(w, x);
	explain(w, FRAME(""), "{'policy': null, '...': 0}");
#undef P
}

/* Only the device's hash can give the class of a flow. */
TEST(test_explain_hash)
{
#define HASHED "'*depends on the device\\u0027s hash*'"
	STORED_WORLD(w,
		"{'name': 'flowed', 'match': {'vlan': 1}, 'limit': '8Mbit/s', 'burst': '30kB', "
		"'meter': 'phantom', 'classes': {'by': 'flow', 'n': 16}}, "
		"{'name': 'plain', 'match': {'vlan': 2}, 'limit': '8Mbit/s'}");

	for (unsigned hash = 0; hash < 2; hash++) {
		w->inst.workers[1].paths[0].rx_hash = hash;
		explain(w, "worker=1 " TAGGED("0001"),
			hash ? "{'policy': 'flowed', 'notes': [" HASHED "], '...': 0}"
			     : "{'policy': 'flowed', 'notes': [], '...': 0}");
		explain(w, "worker=1 " TAGGED("0002"),
			"{'policy': 'plain', 'notes': [], '...': 0}");
		explain(w, "worker=1 " TAGGED("0003"), "{'policy': null, 'notes': [], '...': 0}");
	}
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
	WORLD(w, POLICIES);

	fault_try(&(struct fault_subject){.name = "explain",
		.run = ask_to_explain,
		.argument = &w->inst,
		.kinds = FAULT_MEMORY,
		.at_least = 2});
}

TEST_GROUP(instance_world_start, instance_world_stop)
