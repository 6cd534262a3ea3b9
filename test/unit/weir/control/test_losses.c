/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Events of drops that no policy caused, of rejected datagrams, and of peers whose messages cannot
 * be read: one when it begins and one when it ends.
 */
#include "instance_world.h"
#include "scope.h"
#include "control_clock.h"

#include <rte_ethdev.h>

#include "base/time.h"
#include "clock.h"
#include "differs.h"
#include "event.h"
#include "gossip_socket.h"
#include "losses.h"

#define POLICY "{'name': 'p', 'match': {'vlan': 1}, 'limit': '1Mbit/s', 'allocator': 'fps'}"

/* Statistics of ports by their number. They replace the ones of DPDK. */
static struct {
	struct rte_eth_stats stats;
	int error;
} devices[2];

int rte_eth_stats_get(uint16_t port, struct rte_eth_stats *stats)
{
	assert_in_range(port, 0, 1);
	if (devices[port].error)
		return devices[port].error;
	*stats = devices[port].stats;
	return 0;
}

/* Expects one new event with this name and this field, or no event if the name is NULL. */
static void expect_said(uint64_t *since, const char *name, const char *key, const char *value)
{
	uint64_t n = events_number() - *since;
	json_t *said = events_get(*since);

	*since += n;
	if (!name) {
		assert_int_equal(n, 0);
		return;
	}
	assert_int_equal(n, 1);
	assert_string_equal(json_string_value(json_object_get(said, "event")), name);
	assert_string_equal(json_string_value(json_object_get(said, key)), value);
	json_decref(said);
}

static double said_real(uint64_t number, const char *key)
{
	json_t *said = events_get(number);
	double value = json_number_value(json_object_get(said, key));

	json_decref(said);
	return value;
}

static uint64_t said_count(uint64_t number, const char *key)
{
	json_t *said = events_get(number);
	uint64_t value = (uint64_t)json_integer_value(json_object_get(said, key));

	json_decref(said);
	return value;
}

/* Each reason that no policy causes has its own events. Drops of a policy have none. */
TEST_WITH(test_packets, wait_long, NULL)
{
	static const struct {
		enum drop_reason reason;
		const char *name;
	} rows[] = {{DROP_TX_FULL, "tx_full"}, {DROP_RING_FULL, "ring_full"},
		{DROP_OVERSIZE, "oversize"}, {DROP_TRUNCATED, "truncated"},
		{DROP_POOL_FULL, "pool_full"}, {DROP_LIMIT, NULL}, {DROP_QUEUE_FULL, NULL}};
	uint64_t now = 1000 * SECOND_NS, since;
	WORLD(w, POLICY, .group = 2);

	assert_false(losses_run(&w->inst, now));
	assert_int_equal(losses_next(&w->inst), now + SECOND_NS);
	since = events_number();
	for (size_t i = 0; i < COUNT(rows); i++) {
		w->inst.workers[0].counters.dropped[rows[i].reason] += 2;
		w->inst.workers[1].counters.dropped[rows[i].reason] += 3;
		assert_false(losses_run(&w->inst, now + SECOND_NS - 1)); /* too early */
		expect_said(&since, NULL, NULL, NULL);
		assert_false(losses_run(&w->inst, now += SECOND_NS));
		expect_said(&since, rows[i].name ? "packets_lost" : NULL, "reason", rows[i].name);
		if (rows[i].name)
			assert_int_equal(said_count(since - 1, "packets"), 5);
		w->inst.workers[0].counters.dropped[rows[i].reason]++;
		assert_false(losses_run(&w->inst, now += 3 * SECOND_NS));
		assert_false(losses_run(&w->inst, now += 5 * SECOND_NS - 1));
		expect_said(&since, NULL, NULL, NULL);
		assert_false(losses_run(&w->inst, now += SECOND_NS));
		expect_said(
			&since, rows[i].name ? "packets_not_lost" : NULL, "reason", rows[i].name);
		if (rows[i].name)
			assert_int_equal(said_count(since - 1, "packets"), 6);
	}
}

/* Expects one new event with this reason, this number of packets, and both in its text. */
static void expect_drops(uint64_t *since, const char *name, const char *reason, unsigned packets)
{
	uint64_t number = *since;
	const char *text;
	char digits[16];
	json_t *said;

	expect_said(since, name, "reason", reason);
	assert_int_equal(said_count(number, "packets"), packets);
	snprintf(digits, sizeof(digits), "=%u", packets);
	said = events_get(number);
	text = json_string_value(json_object_get(said, "text"));
	assert_non_null(strstr(text, reason));
	assert_non_null(strstr(text, digits));
	json_decref(said);
}

/* Each counter of each port has its own events, which name the port. */
TEST_WITH(test_ports, wait_long, NULL)
{
	static const struct {
		unsigned port;
		size_t counter;
		const char *reason;
	} rows[] = {
		{0, offsetof(struct rte_eth_stats, imissed), "rx_missed of port a"},
		{0, offsetof(struct rte_eth_stats, rx_nombuf), "rx_no_buffer of port a"},
		{0, offsetof(struct rte_eth_stats, ierrors), "rx_errors of port a"},
		{0, offsetof(struct rte_eth_stats, oerrors), "tx_errors of port a"},
		{1, offsetof(struct rte_eth_stats, imissed), "rx_missed of port b"},
		{1, offsetof(struct rte_eth_stats, rx_nombuf), "rx_no_buffer of port b"},
		{1, offsetof(struct rte_eth_stats, ierrors), "rx_errors of port b"},
		{1, offsetof(struct rte_eth_stats, oerrors), "tx_errors of port b"},
	};
	uint64_t now = 1000 * SECOND_NS, since;
	WORLD(w, POLICY, .group = 2);

	assert_false(losses_run(&w->inst, now));
	since = events_number();
	for (unsigned i = 0; i < COUNT(rows); i++) {
		char *stats = (char *)&devices[w->inst.port_ids[rows[i].port]].stats;
		uint64_t *counter = (uint64_t *)(uintptr_t)(stats + rows[i].counter);

		*counter += 10 + i;
		assert_false(losses_run(&w->inst, now += SECOND_NS));
		expect_drops(&since, "packets_lost", rows[i].reason, 10 + i);
		*counter += 100;
		assert_false(losses_run(&w->inst, now += 4 * SECOND_NS));
		assert_false(losses_run(&w->inst, now += 4 * SECOND_NS));
		expect_said(&since, NULL, NULL, NULL);
		assert_false(losses_run(&w->inst, now += SECOND_NS));
		assert_near(said_real(since, "seconds"), 4, 1e-9);
		expect_drops(&since, "packets_not_lost", rows[i].reason, 110 + i);
	}
	/* A device without an answer causes no event, and the other device still does. */
	for (unsigned silent = 0; silent < 2; silent++) {
		unsigned other = !silent;

		devices[w->inst.port_ids[silent]].error = -ENODEV;
		devices[w->inst.port_ids[silent]].stats.imissed += 5;
		devices[w->inst.port_ids[other]].stats.imissed += 7;
		assert_false(losses_run(&w->inst, now += SECOND_NS));
		expect_drops(&since, "packets_lost",
			other ? "rx_missed of port b" : "rx_missed of port a", 7);
		devices[w->inst.port_ids[silent]].stats.imissed -= 5;
		devices[w->inst.port_ids[silent]].error = 0;
		assert_false(losses_run(&w->inst, now += 5 * SECOND_NS));
		expect_said(&since, "packets_not_lost", "event", "packets_not_lost");
	}
}

/* Each verdict that rejects a datagram is in the event with its number, and no usual verdict is. */
TEST_WITH(test_verdicts, wait_long, NULL)
{
	static const enum gossip_verdict usual[] = {GOSSIP_ACCEPTED, GOSSIP_UNPROVEN, GOSSIP_SELF,
		GOSSIP_REPLAY, GOSSIP_NO_ROOM, GOSSIP_MESSAGE};
	static const enum gossip_verdict strange[] = {GOSSIP_TRUNCATED, GOSSIP_VERSION,
		GOSSIP_STRANGER, GOSSIP_UNSEALED, GOSSIP_ESTIMATOR, GOSSIP_NO_KEY, GOSSIP_FORGED,
		GOSSIP_MISSENT, GOSSIP_MALFORMED};
	uint64_t now = 1000 * SECOND_NS, since, *verdicts;
	char words[64];
	WORLD(w, POLICY, .group = 2);

	verdicts = ((struct gossip_counters *)(uintptr_t)gossip_counters(
			    limiter_gossip(w->inst.limiter)))
			   ->verdict;
	assert_false(losses_run(&w->inst, now));
	since = events_number();
	for (unsigned i = 0; i < COUNT(usual); i++)
		verdicts[usual[i]] += 3;
	assert_false(losses_run(&w->inst, now += SECOND_NS));
	expect_said(&since, NULL, NULL, NULL);
	for (unsigned i = 0; i < COUNT(strange); i++) {
		verdicts[strange[i]] += 3 + i;
		snprintf(words, sizeof(words), "%s %u", gossip_verdict_name(strange[i]), 3 + i);
		assert_false(losses_run(&w->inst, now += SECOND_NS));
		expect_said(&since, "datagrams_refused", "verdicts", words);
		assert_false(losses_run(&w->inst, now += 10 * SECOND_NS));
		expect_said(&since, "datagrams_quiet", "verdicts", words);
	}
	/* Several verdicts, counted since the beginning. */
	wait_long(state);
	verdicts[GOSSIP_FORGED] += 2;
	verdicts[GOSSIP_VERSION] += 1;
	w->inst.gossip->wrong_source += 4;
	assert_false(losses_run(&w->inst, now += SECOND_NS));
	expect_said(&since, "datagrams_refused", "verdicts", "version 1, forged 2, wrong_source 4");
	verdicts[GOSSIP_FORGED] += 1;
	assert_false(losses_run(&w->inst, now += SECOND_NS));
	assert_false(losses_run(&w->inst, now += 10 * SECOND_NS));
	expect_said(&since, "datagrams_quiet", "verdicts", "version 1, forged 3, wrong_source 4");
	assert_int_equal(said_count(since - 1, "datagrams"), 8);
	assert_int_equal(said_count(since - 1, "quiet_s"), 10);
}

/* A list of verdicts that is too long for the event is cut off. */
TEST_WITH(test_many_verdicts, wait_long, NULL)
{
	uint64_t now = 1000 * SECOND_NS, since, *verdicts;
	const char *words;
	json_t *said;
	WORLD(w, POLICY, .group = 2);

	verdicts = ((struct gossip_counters *)(uintptr_t)gossip_counters(
			    limiter_gossip(w->inst.limiter)))
			   ->verdict;
	assert_false(losses_run(&w->inst, now));
	since = events_number();
	for (unsigned v = 0; v < GOSSIP_VERDICTS; v++)
		verdicts[v] += UINT64_C(1000000000000000000);
	w->inst.gossip->wrong_source += 4;
	assert_false(losses_run(&w->inst, now += SECOND_NS));
	said = events_get(since);
	words = json_string_value(json_object_get(said, "verdicts"));
	assert_int_equal(strlen(words), 255);
	assert_memory_equal(words, "truncated 1000000000000000000, version 1000000000000000000, ",
		strlen("truncated 1000000000000000000, version 1000000000000000000, "));
	json_decref(said);
}

/* Both events count the datagrams since the beginning. */
TEST_WITH(test_datagrams, wait_long, NULL)
{
	uint64_t now = 1000 * SECOND_NS, since;
	WORLD(w, POLICY, .group = 2);

	assert_false(losses_run(&w->inst, now));
	since = events_number();
	for (unsigned round = 0; round < 2; round++) { /* the second round starts at 0 */
		w->inst.gossip->wrong_source += 3;
		assert_false(losses_run(&w->inst, now += SECOND_NS));
		expect_said(&since, "datagrams_refused", "verdicts", "wrong_source 3");
		w->inst.gossip->wrong_source += 4;
		assert_false(losses_run(&w->inst, now += SECOND_NS));
		assert_false(losses_run(&w->inst, now += 10 * SECOND_NS - 1));
		expect_said(&since, NULL, NULL, NULL);
		assert_false(losses_run(&w->inst, now += SECOND_NS));
		expect_said(&since, "datagrams_quiet", "verdicts", "wrong_source 7");
		assert_int_equal(said_count(since - 1, "datagrams"), 7);
	}
}

/* A peer has five seconds to send a message: four, and the timeout of gossip. */
TEST_WITH(test_silent, wait_long, NULL)
{
	struct differs differs;
	uint64_t now = 1000 * SECOND_NS;
	WORLD(w, POLICY, .group = 2);

	w->inst.receives_since_ns = now;
	assert_false(differs_silent(&w->inst, 1, now + 5 * SECOND_NS - 1));
	assert_true(differs_silent(&w->inst, 1, now + 5 * SECOND_NS));
	assert_false(differs_silent(&w->inst, 0, now + 5 * SECOND_NS)); /* this limiter */
	differs = differs_of(&w->inst, 1, now + 5 * SECOND_NS - 1);
	assert_int_equal(differs.since_ns + differs.named, 0);
	differs = differs_of(&w->inst, 1, now + 5 * SECOND_NS);
	assert_int_equal(differs.since_ns, now);
	assert_int_equal(differs.named, 1);
	assert_false(differs.fixed);
	assert_string_equal(differs.text[0], "no gossip");
	differs = differs_of(&w->inst, 0, now + 5 * SECOND_NS);
	assert_int_equal(differs.since_ns + differs.named, 0);
}

/* Unreadable datagrams over one second, the last at most five seconds ago, are the reason. */
TEST_WITH(test_refused, wait_long, NULL)
{
	static const struct {
		unsigned verdict;
		const char *text;
		bool fixed;
	} rows[] = {
		{REFUSED_SOURCE, "address or name: ", false},
		{GOSSIP_VERSION, "format: this limiter does not read its version", true},
		{GOSSIP_UNSEALED, "key: only one of the two encrypts", false},
		{GOSSIP_NO_KEY, "key: it encrypts with a key that is absent here", false},
		{GOSSIP_FORGED, "key or identity: ", false},
	};
	struct differs differs;

	for (size_t i = 0; i < COUNT(rows); i++) {
		const uint64_t first = 1000 * SECOND_NS, last = first + SECOND_NS;
		WORLD(w, POLICY, .group = 2);

		w->inst.receives_since_ns = first;
		refusals_note(w->inst.gossip->refusals, 1, rows[i].verdict, 0, first);
		differs = differs_of(&w->inst, 1, first + SECOND_NS - 1);
		assert_int_equal(differs.named, 0); /* a single datagram can have any sender */
		refusals_note(w->inst.gossip->refusals, 1, rows[i].verdict, 0, last);
		differs = differs_of(&w->inst, 1, last);
		assert_int_equal(differs.named, 1);
		assert_int_equal(differs.since_ns, first);
		assert_int_equal(differs.fixed, rows[i].fixed);
		assert_memory_equal(differs.text[0], rows[i].text, strlen(rows[i].text));
		differs = differs_of(&w->inst, 1, last + 5 * SECOND_NS - 1);
		assert_memory_equal(differs.text[0], rows[i].text, strlen(rows[i].text));
		differs = differs_of(&w->inst, 1, last + 5 * SECOND_NS);
		assert_string_equal(differs.text[0], "no gossip");
	}
}

TEST_GROUP(instance_world_start, instance_world_stop)
