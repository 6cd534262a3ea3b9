/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Commands that take more than one request, and the messages of refusals: the policies of an
 * address, captures, overrides, other configurations.
 */
#include <poll.h>
#include <time.h>

#include "base/time.h"
#include "clock.h"
#include "event.h"
#include "show.h"
#include "show_world.h"
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
	WORLD(w, POLICIES);

	EXPECT(w, rows);
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
	WORLD(w, "{'name': 'many', 'match': [{'dst': ['10.1.0.0/16', '2001:db8::/32']}, {'src': "
		 "'10.1.2.0/24'}], 'limit': '8Mbit/s', 'burst': '64kB'}, {'name': 'one', 'match': "
		 "{'dst': '10.1.2.3/32'}, 'limit': '8Mbit/s', 'burst': '64kB'}");

	EXPECT(w, rows);
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
	WORLD(w, "{'name': 'a', 'parent': 'link', 'match': {'dst': '10.1.0.0/16', 'dscp': 1}, "
		 "'limit': '1Mbit/s'}, {'name': 'link', 'limit': '8Mbit/s'}, "
		 "{'name': 'b', 'parent': 'more', 'match': {'dst': '10.1.0.0/16', 'dscp': 2}, "
		 "'limit': '1Mbit/s'}, {'name': 'more', 'limit': '8Mbit/s'}");

	EXPECT(w, rows);
}

/* A page has forty at most, and the next one the rest. */
TEST(test_match_pages)
{
	char policies[45 * 96] = "";
	json_t *reply;

	for (unsigned i = 0; i < 45; i++)
		sprintf(policies + strlen(policies),
			"%s{'name': 'p%u', 'match': {'vlan': %u}, 'limit': '8Mbit/s'}",
			i ? ", " : "", i, i + 1);
	WORLD(w, policies);
	reply = show_ask(w, "/weir/match", "0 10.1.2.3");
	assert_int_equal(json_array_size(json_object_get(reply, "policies")), 40);
	show_expect(reply, "{'next': 40, '...': 0}");
	reply = show_ask(w, "/weir/match", "5 10.1.2.3");
	assert_int_equal(json_array_size(json_object_get(reply, "policies")), 40);
	show_expect(reply, "{'next': null, '...': 0}");
	reply = show_ask(w, "/weir/match", "6 10.1.2.3");
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
	json_t *reply;
	WORLD(w, POLICIES);

	EXPECT(w, refused);
	show_expect(show_ask(w, "/weir/capture_read", "1"),
		"{'packets': [], 'over': false, " COUNTS(
			"0") ", 'taken': 0, 'over_rate': 0, 'lost': 0}");
	instance_world_turn_all(w);
	reply = show_ask(w, "/weir/capture_read", "1");
	assert_in_range(json_integer_value(json_object_get(
				json_array_get(json_object_get(reply, "packets"), 0), "at_ns")) /
				SECOND_NS,
		(uint64_t)time(NULL) - 5, (uint64_t)time(NULL) + 1);
	show_expect(reply,
		"{'packets': [{'at_ns': '*', 'bytes': 64, 'wire': 'w', 'direction': 'a-to-b', "
		"'worker': 0, 'policy': null, 'verdict': 'pass', 'reason': null, "
		"'data': '*'}], 'over': true, 'examined': '*', 'not_examined': '*', "
		"'taken': '*', 'over_rate': '*', 'lost': '*'}");
	assert_null(show_ask(w, "/weir/capture_read", "1"));
	show_expect(show_ask(w, "/weir/capture", "whole"), "{'busy': true}");
	instance_world_turn_all(w); /* workers no longer use it */
	show_expect(show_ask(w, "/weir/capture", "reason=limit whole"),
		"{'capture': 2, 'snaplen': 9216}");
	assert_null(show_ask(w, "/weir/capture_end", "1"));
	show_expect(show_ask(w, "/weir/capture_end", "2"), "{'ended': true}");
	assert_null(show_ask(w, "/weir/capture_end", "2"));
}

/* A capture ends without a client that reads it. */
TEST(test_capture_lease)
{
	WORLD(w, POLICIES);

	w->inst.clock.hz = tick_hz() / 100; /* so that seconds are hundredths */
	json_decref(show_ask(w, "/weir/capture", ""));
	show_expect(show_ask(w, "/weir/capture", ""), "{'busy': true}");
	while (tick_now() < w->inst.workers[0].tap->until)
		;
	json_decref(show_ask(w, "/weir/capture", ""));
	instance_world_turn_all(w);
	show_expect(show_ask(w, "/weir/capture", ""), "{'capture': '*', 'snaplen': 256}");
	assert_in_range(w->inst.workers[1].tap->until - tick_now(), w->inst.clock.hz * 2,
		w->inst.clock.hz * 3);
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
	struct pollfd fd = {.events = POLLIN};
	STORED_WORLD(w,
		POLICIES ", {'name': 'daily', 'limit': '1Mbit/s', 'schedule': {'zone': 'UTC', "
			 "'entries': [{'from': '00:00', 'to': '24:00', 'limit': '2Mbit/s'}]}}");
	json_decref(show_ask(w, "/weir/limits", NULL));
	for (size_t i = 0; i + 1 < COUNT(rows); i++)
		show_expect_rows(w, &rows[i], 1);
	fd.fd = timed_fd(&w->inst);
	assert_int_equal(poll(&fd, 1, 60000), 1);
	timed_read(&w->inst);
	timed_run(&w->inst, control_now());
	show_expect(show_ask(w, "/weir/limits", NULL),
		"{'total': 2, 'start': 0, 'next': null, 'limits': [{'name': 'dst', "
		"'limit': '5Mbit/s', 'burst_bytes': 9000, 'limit_by': 'override', "
		"'limit_until': '*', 'limit_uid': '*', 'configured_limit': '8Mbit/s'}, "
		"{'name': 'daily', 'limit': '2Mbit/s', 'burst_bytes': '*', "
		"'limit_by': 'schedule', 'limit_until': null, "
		"'configured_limit': '1Mbit/s'}], 'by_schedule': 1, 'by_override': 1, "
		"'saving': false, 'error': null, 'time': '*'}");
	show_expect(show_ask(w, "/weir/policy", "dst"),
		"{'limit': '5Mbit/s', 'limit_bps': 5000000, 'burst_bytes': 9000, "
		"'limit_by': 'override', 'configured_limit': '8Mbit/s', "
		"'effective_limit_bps': 5000000, '...': 0}");
	show_expect(show_ask(w, "/weir/override", "dst,off"), "{'request': 2}");
}

TEST(test_log)
{
	static const struct show_row rows[] = {
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
	uint64_t began;
	json_t *said;
	char text[256];
	WORLD(w, POLICIES);

	began = events_number();
	EXPECT(w, rows);
	said = events_get(events_number() - 1);
	assert_int_equal(events_number() - began, 2); /* by the rules of the new level */
	snprintf(text, sizeof(text),
		"{'event': 'log_changed', 'text': 'log: level info, format text, by uid %u', "
		"'min_level': 'info', 'format': 'text', 'uid': %u, '...': 0}",
		(unsigned)telemetry_asker(NULL), (unsigned)telemetry_asker(NULL));
	show_expect(said, text);
}

TEST_GROUP(instance_world_start, instance_world_stop)
