/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Replies about states that an operator must see: stalled workers, rejected reloads, peers that
 * differ or use another ledger, a clock that was stepped, and captures without memory.
 */
#include "show_world.h"
#include "control_clock.h"

#include <poll.h>

#include <rte_ethdev.h>
#include <rte_mbuf.h>

#include <sodium.h>

#include "base/hash.h"
#include "base/time.h"
#include "book/book.h"
#include "fault.h"
#include "gossip/keyring.h"
#include "gossip_socket.h"
#include "links.h"
#include "reload.h"
#include "show.h"
#include "tap.h"
#include "tap_session.h"
#include "watch.h"

#define POLICY      "{'name': 'p', 'limit': '1Mbit/s'}"
#define PATIENCE_MS 60000

#define HELD                                                                            \
	"{'name': 'soft', 'limit': '8Mbit/s', 'match': {'vlan': 7}}, {'name': 'held', " \
	"'limit': '120/min', 'count': 'packets', 'burst': 20, 'guarantee': 'hard'}"

static void expect_alarms(struct instance_world *w, const char *alarms)
{
	char text[2048];

	snprintf(text, sizeof(text), "{'alarms': [%s], '...': 0}", alarms);
	show_expect(show_ask(w, "/weir/health", NULL), text);
}

/* Checks the workers after a moment in which some of them had a turn. */
static void watch_after(struct instance_world *w, uint64_t ns, unsigned turns)
{
	for (unsigned i = 0; i < INSTANCE_WORKERS; i++)
		if (turns >> i & 1)
			instance_world_turn(w, i);
	clock_ns += ns;
	watch_run(&w->inst, clock_ns);
}

/* Gives CPUs other numbers than workers. A reload needs those of the file. */
static void number_cpus(struct instance_world *w, unsigned first)
{
	for (unsigned i = 0; i < INSTANCE_WORKERS; i++)
		w->config->workers[i] = first + i;
}

static void open_file(struct instance_world *w)
{
	w->inst.file = w->file;
	assert_int_equal(reload_start(&w->inst), 0);
}

/* Ends a reload. Workers that have turns are those of the bits. */
static void run_reload(struct instance_world *w, unsigned turns)
{
	struct pollfd fd = {.fd = reload_fd(&w->inst), .events = POLLIN};

	assert_int_equal(poll(&fd, 1, PATIENCE_MS), 1);
	clock_ns += 2500 * US_NS;
	for (unsigned i = 0; i < 4; i++) {
		reload_advance(&w->inst);
		for (unsigned k = 0; k < INSTANCE_WORKERS; k++)
			if (turns >> k & 1)
				instance_world_turn(w, k);
	}
}

static void reload_to(struct instance_world *w, const char *policies, unsigned turns)
{
	instance_world_write(w, policies);
	assert_non_null(reload_request(&w->inst, "test", 0));
	run_reload(w, turns);
}

#define STUCK(worker, cpu, s) "'worker " worker " (CPU " cpu ") is stuck for " s " s'"
#define WAITS(worker, cpu)                                                                         \
	"'the reload keeps the previous configuration until worker " worker " (CPU " cpu ") runs " \
	"again; another reload waits until then'"

/* Each stalled worker has an alarm, and so has a reload that waits for one. */
TEST(test_stalled)
{
	static const struct {
		unsigned turns; /* workers that run */
		const char *stuck, *waits, *worker;
	} rows[] = {
		{1, STUCK("1", "6", "2.3"), WAITS("1", "6"), "'worker 1 (CPU 6)'"},
		{2, STUCK("0", "5", "2.3"), WAITS("0", "5"), "'worker 0 (CPU 5)'"},
		{0, STUCK("0", "5", "2.3") ", " STUCK("1", "6", "2.3"), WAITS("0", "5"),
			"'worker 0 (CPU 5)'"},
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		char text[512];
		WORLD(w, POLICY);

		open_file(w);
		number_cpus(w, 5);
		watch_after(w, 50 * MS_NS, rows[i].turns);
		expect_alarms(w, "");
		for (unsigned k = 0; k < 46; k++)
			watch_after(w, 50 * MS_NS, rows[i].turns);
		expect_alarms(w, rows[i].stuck);
		number_cpus(w, 0);
		reload_to(w, "{'name': 'p', 'limit': '2Mbit/s'}", rows[i].turns);
		number_cpus(w, 5);
		snprintf(text, sizeof(text), "%s, %s", rows[i].stuck, rows[i].waits);
		expect_alarms(w, text);
		snprintf(text, sizeof(text), "{'reload_waits_for': %s, '...': 0}", rows[i].worker);
		show_expect(show_ask(w, "/weir/config", NULL), text);
		snprintf(text, sizeof(text), "{'reload': 'queued', 'waits_for': %s}",
			rows[i].worker);
		show_expect(show_ask(w, "/weir/reload", NULL), text);
		watch_after(w, 50 * MS_NS, 3);
		expect_alarms(w, "");
		number_cpus(w, 0);
	}
}

TEST(test_gone_ports)
{
#define GONE(port, number)                                 \
	"'port " port ": net_null" number " was removed: " \
	"the port stays unused until a restart of weir, even with a new device'"
	WORLD(w, POLICY);

	expect_alarms(w, "");
	w->inst.links->ports[1].gone = true;
	expect_alarms(w, GONE("b", "1"));
	w->inst.links->ports[0].gone = true;
	expect_alarms(w, GONE("a", "0") ", " GONE("b", "1"));
}

#define VLAN(name, vlan, limit) \
	"{'name': '" name "', 'match': {'vlan': " vlan "}, 'limit': '" limit "'}"

/* The outcome of the last reload, and an alarm while it is a rejection. */
TEST(test_last_reload)
{
	WORLD(w, VLAN("a", "1", "1Mbit/s") ", " VLAN("b", "2", "1Mbit/s") ", " VLAN("c", "3",
			 "1Mbit/s") ", " VLAN("d", "4", "1Mbit/s") ", " VLAN("e", "5", "1Mbit/s"));

	assert_null(show_ask(w, "/weir/reload", NULL)); /* no file */
	open_file(w);
	show_expect(show_ask(w, "/weir/config", NULL),
		"{'last_reload': null, 'reload_waits_for': null, '...': 0}");
	reload_to(w, VLAN("x", "1", "1Gbit") ", " VLAN("y", "2", "1"), 3);
	show_expect(show_ask(w, "/weir/config", NULL),
		"{'last_reload': {'ok': false, 'superseded': false, 'at': '*T*', 'took_ms': 2.5, "
		"'added': 0, 'removed': 0, 'changed': 0, 'unchanged': 0, 'messages': "
		"['*policies[0]*', '*policies[1]*']}, '...': 0}");
	show_expect(show_ask(w, "/weir/health", NULL),
		"{'alarms': ['*Z was refused, and the previous configuration is in force: "
		"/tmp/weir-*'], '...': 0}");
	/* Another number of each kind. */
	reload_to(w,
		VLAN("b", "2", "2Mbit/s") ", " VLAN("c", "3", "3Mbit/s") ", " VLAN(
			"d", "4", "4Mbit/s") ", " VLAN("e", "5", "1Mbit/s") ", " VLAN("f", "6",
			"1Mbit/s") ", " VLAN("g", "7", "1Mbit/s"),
		3);
	show_expect(show_ask(w, "/weir/config", NULL),
		"{'last_reload': {'ok': true, 'superseded': false, 'at': '*T*', 'took_ms': 2.5, "
		"'added': 2, 'removed': 1, 'changed': 3, 'unchanged': 1, 'messages': '*'}, "
		"'...': 0}");
	expect_alarms(w, "");
	show_expect(show_ask(w, "/weir/reload", NULL), "{'reload': 'started', 'waits_for': null}");
	run_reload(w, 3);
}

/* Lines of 100 bytes with their overhead; a reply has room for 60. */
TEST(test_many_messages)
{
	char text[61 * 93 + 1] = "";

	for (unsigned i = 0; i < 61; i++) {
		memset(text + strlen(text), 'a' + (int)(i % 26), 92);
		strcat(text, i < 60 ? "\n" : "");
	}
	for (unsigned n = 59; n <= 61; n++) {
		char *end = text + 93 * (size_t)n;
		char kept = *end;
		json_t *lines;

		*end = '\0';
		lines = json_lines(text);
		*end = kept;
		assert_int_equal(json_array_size(lines), n);
		assert_int_equal(json_string_length(json_array_get(lines, n - 1)), n > 60 ? 3 : 92);
		assert_int_equal(json_string_value(json_array_get(lines, 58))[91], 'a' + 58 % 26);
		if (n > 60)
			assert_string_equal(json_string_value(json_array_get(lines, 60)), "...");
		json_decref(lines);
	}
}

static struct book *book_of(const struct instance_world *w)
{
	return conserve_book((struct conserve *)(uintptr_t)limiter_conserve(w->inst.limiter));
}

/* The ledger of a neighbour. */
TEST(test_neighbours)
{
	static const struct {
		struct book_link link;
		const char *expected;
	} rows[] = {
		{{.peer_identity = {1, 2}}, "'ledger': 'silent', 'invalid_statements': 0"},
		{{.has_reported = true, .peer_identity = {1, 2}, .invalid = 3},
			"'ledger': 'other', 'other_ledger': '00000000000000010000000000000002', "
			"'invalid_statements': 3"},
		{{.has_reported = true, .peer_identity = {0, 1}}, "'ledger': 'same'"},
		{{.has_reported = true}, "'ledger': 'unknown'"},
	};
	struct book_link *link;
	char expected[256];
	STORED_WORLD(w, HELD, .group = 2);

	link = book_of(w)->links;
	for (size_t i = 0; i < COUNT(rows); i++) {
		json_t *reply;

		link->has_reported = rows[i].link.has_reported;
		link->peer_identity = rows[i].link.peer_identity;
		link->invalid = rows[i].link.invalid;
		reply = show_ask(w, "/weir/peers", "1");
		assert_int_equal(json_object_get(json_array_get(json_object_get(reply, "peers"), 0),
					 "other_ledger") != NULL,
			i == 1);
		snprintf(expected, sizeof(expected), "{'peers': [{%s, '...': 0}], '...': 0}",
			rows[i].expected);
		show_expect(reply, expected);
	}
}

/* A peer that gossip does not watch, and one without a message since the start. */
TEST(test_unwatched)
{
	WORLD(w, POLICY, .group = 3, .gossip = ", 'estimator': 'tree'");

	show_expect(show_ask(w, "/weir/peers", NULL),
		"{'peers': [{'state': 'self', '...': 0}, {'state': 'unwatched', 'ledger': null, "
		"'silent_ms': null, 'confirmed_ms_ago': null, 'restarts': 0, 'format': null, "
		"'key': null, '...': 0}, {'state': 'unwatched', '...': 0}], 'identities': 'none', "
		"'...': 0}");
	w->inst.receives_since_ns = clock_ns - 1000 * SECOND_NS;
	expect_alarms(w, "");
}

TEST(test_silent)
{
#define SILENT(name) "'no gossip from " name " since the start: check its process, address and key'"
	WORLD(w, POLICY, .group = 3);

	w->inst.receives_since_ns = clock_ns - 5 * SECOND_NS + 1;
	expect_alarms(w, "");
	w->inst.receives_since_ns--;
	expect_alarms(w, SILENT("l1") ", " SILENT("l2"));
	((struct peer *)(uintptr_t)gossip_peer(limiter_gossip(w->inst.limiter), 1))->proven = true;
	expect_alarms(w, SILENT("l2"));
}

/* The keys of the group, the sealing one first, and whether limiters have identities. */
TEST(test_keys)
{
	static const uint8_t keys[2][DATAGRAM_KEY] = {{1}, {2}}, secret[DATAGRAM_KEY] = {3};
	const uint32_t ids[] = {name_hash("test"), name_hash("l1")};
	uint8_t publics[2][DATAGRAM_KEY];
	struct roster *roster;
	char expected[256];
	WORLD(w, POLICY, .group = 2);

	assert_int_equal(roster_create(ids, 2, &roster), 0);
	crypto_scalarmult_base(publics[0], secret);
	crypto_scalarmult_base(publics[1], keys[0]);
	for (unsigned i = 0; i < 4; i++) {
		const struct keyring_params params = {.roster = roster,
			.self = roster_find(roster, ids[0]),
			.n_keys = 1 + (i == 1),
			.keys = keys,
			.secret = i > 1 ? secret : NULL,
			.publics = i > 1 ? publics : NULL,
			.identities_optional = i == 3};
		struct keyring *ring;

		assert_int_equal(keyring_create(&params, &ring), 0);
		w->inst.keyring = ring;
		snprintf(expected, sizeof(expected),
			i == 1 ? "{'peers': [{'state': 'self', 'key': '%1$08x', '...': 0}, {'key': "
				 "null, '...': 0}], 'keys': ['%1$08x', '%3$08x'], 'identities': "
				 "'%2$s', '...': 0}"
			       : "{'keys': ['%1$08x'], 'identities': '%2$s', '...': 0}",
			keyring_name(ring, true),
			i < 2    ? "none"
			: i == 2 ? "required"
				 : "optional",
			keyring_also(ring));
		show_expect(show_ask(w, "/weir/peers", NULL), expected);
		w->inst.keyring = NULL;
		keyring_destroy(ring);
	}
	roster_destroy(roster);
}

/* Words about the wall clock while periods use another clock. */
TEST(test_wall_clock)
{
	static const struct {
		enum time_reason reason;
		const char *expected;
	} rows[] = {
		{TIME_AGREES, ""},
		{TIME_WAITS, ""},
		{TIME_BEFORE, "'the wall clock is earlier than the records of the ledger, and no "
			      "period starts: -61 s'"},
		{TIME_STEPPED, "'the wall clock was stepped, and periods and times of day go on by "
			       "the clock since boot: -61 s'"},
		{TIME_FOLLOWS, "'the wall clock is not that of most peers, by which periods go: "
			       "-61 s'"},
		{TIME_OUTVOTED, "'the wall clock is not that of most peers, and periods go by it "
				"nevertheless: -61 s'"},
	};
	struct timekeeper *keeper;
	WORLD(w, POLICY);

	keeper = (struct timekeeper *)(uintptr_t)limiter_timekeeper(w->inst.limiter);
	for (size_t i = 0; i < COUNT(rows); i++) {
		keeper->reason = rows[i].reason;
		keeper->apart_ns = -(int64_t)(61 * SECOND_NS);
		expect_alarms(w, rows[i].expected);
	}
	keeper->apart_ns = (int64_t)(7 * SECOND_NS);
	expect_alarms(w, "'the wall clock is not that of most peers, and periods go by it "
			 "nevertheless: +7 s'");
}

/* The end of a period, by the clock that periods use. */
TEST(test_period_ends)
{
	STORED_WORLD(w, "{'name': 'day', 'allocator': 'quota', 'total': '1GB', 'period': '24h'}");

	show_expect(show_ask(w, "/weir/quota", "day"),
		"{'period_number': null, 'period_ends_in_s': null, '...': 0}");
	limiter_clock(w->inst.limiter, 1800000000 * SECOND_NS, true, clock_ns);
	assert_int_equal(limiter_period(w->inst.limiter, 0, 20834, clock_ns), 0);
	show_expect(show_ask(w, "/weir/quota", "day"),
		"{'period_number': 20834, 'period_ends_in_s': 57600, '...': 0}");
	clock_ns += 57599 * SECOND_NS;
	show_expect(show_ask(w, "/weir/quota", "day"), "{'period_ends_in_s': 1, '...': 0}");
	for (unsigned i = 0; i < 2; i++) {
		clock_ns += SECOND_NS;
		show_expect(show_ask(w, "/weir/quota", "day"),
			"{'period_number': 20834, 'period_ends_in_s': 0, '...': 0}");
	}
}

static int ask_for_taps(const void *argument)
{
	struct instance_world *w = (struct instance_world *)(uintptr_t)argument;
	json_t *reply = show_ask(w, w->more, NULL);
	bool refused = json_object_get(reply, "refused");

	json_decref(reply);
	for (unsigned i = 0; i < INSTANCE_WORKERS; i++)
		assert_int_equal(w->inst.workers[i].tap == NULL, refused);
	assert_int_equal(w->inst.tap_session == NULL, refused);
	tap_session_stop(&w->inst);
	instance_world_turn_all(w);
	tap_session_stop(&w->inst);
	return refused ? -ENOMEM : 0;
}

/* A capture is rejected if a tap cannot be allocated. The next one can start immediately. */
TEST(test_no_taps)
{
	static const char *const paths[] = {"/weir/capture", "/weir/talkers"};

	for (size_t i = 0; i < COUNT(paths); i++) {
		WORLD(w, POLICY);

		w->more = paths[i];
		fault_try(&(struct fault_subject){.name = paths[i],
			.run = ask_for_taps,
			.argument = w,
			.kinds = FAULT_MEMORY,
			.at_least = 1 + INSTANCE_WORKERS});
	}
}

/* A third of a burst is of IPv4, one of IPv6, and one of neither. */
static uint16_t make_families(uint16_t port, uint16_t queue, struct rte_mbuf **mbufs, uint16_t n,
	uint16_t most, void *context)
{
	static const uint8_t v4[] = {8, 0, 0x45, 0, 0, 50, 0, 7, 0, 0, 64, 17, 0, 0, 10, 0, 0, 1,
		10, 0, 0, 2, 0, 9, 0, 53, 0, 30, 0, 0};
	static const uint8_t v6[] = {0x86, 0xdd, 0x60, 0, 0, 0, 0, 10, 6, 64, 0x20, 1, 0x0d, 0xb8,
		0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0x20, 1, 0x0d, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0,
		0, 0, 2, 0, 8, 0, 80};
	static const uint8_t macs[] = {10, 11, 12, 13, 14, 15, 2, 3, 4, 5, 6, 7, 0x12, 0x34};

	for (uint16_t i = 0; i < n; i++) {
		uint8_t *frame = rte_pktmbuf_mtod(mbufs[i], uint8_t *);

		memset(frame, 0, 64);
		memcpy(frame, macs, sizeof(macs));
		if (i % 3 == 0)
			memcpy(frame + 12, v4, sizeof(v4));
		else if (i % 3 == 1)
			memcpy(frame + 12, v6, sizeof(v6));
	}
	return n;
}

/* Returns the number of the text that a row ends with, from its ethertype on. */
static unsigned family_of(const json_t *row)
{
	static const char *const rows[] = {
		"[null,\"10.0.0.1\",\"10.0.0.2\",17,9,53,null,\"a-to-b\"]",
		"[null,\"2001:db8::1\",\"2001:db8::2\",6,8,80,null,\"a-to-b\"]",
		"[4660,\"02:03:04:05:06:07\",\"0a:0b:0c:0d:0e:0f\",null,null,null,null,\"a-to-b\"]"};
	json_t *end = json_array();
	unsigned family = 0;
	char *text;

	for (size_t i = 5; i < json_array_size(row); i++)
		json_array_append(end, json_array_get(row, i));
	text = json_dumps(end, JSON_COMPACT);
	json_decref(end);
	while (family < 3 && strcmp(text, rows[family]) != 0)
		family++;
	if (family == 3)
		fail_msg("a row of %s", text);
	free(text);
	return family;
}

/*
 * Rows have the sender and its packets, by the addresses in them. This test is the last one,
 * because its frames remain in packet buffers.
 */
TEST(test_talker_rows)
{
	const struct rte_eth_rxtx_callback *callback;
	const struct path *path;
	unsigned seen = 0;
	char number[24];
	json_t *reply;
	WORLD(w, "{'name': 'p', 'match': {'direction': 'a-to-b'}, 'limit': '1Mbit/s'}");

	w->pieces++; /* DPDK keeps a callback that is removed */
	path = &w->inst.workers[0].paths[0];
	callback = rte_eth_add_rx_callback(path->rx_port, path->queue, make_families, NULL);
	assert_non_null(callback);
	reply = show_ask(w, "/weir/talkers", "policy=p seconds=3600");
	snprintf(number, sizeof(number), "%d",
		(int)json_integer_value(json_object_get(reply, "talkers")));
	json_decref(reply);
	for (unsigned turn = 0; turn < 1000 && seen != 7; turn++) {
		json_t *row;
		size_t i;

		instance_world_turn(w, 0);
		reply = show_ask(w, "/weir/talkers_read", number);
		json_array_foreach (json_object_get(reply, "packets"), i, row)
			seen |= 1u << family_of(row);
		json_decref(reply);
	}
	assert_int_equal(seen, 7);
	show_expect(show_ask(w, "/weir/talkers_end", number), "{'ended': true}");
	assert_int_equal(rte_eth_remove_rx_callback(path->rx_port, path->queue, callback), 0);
}

TEST_GROUP(instance_world_start, instance_world_stop)
