/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * What is said of packets that no policy wants lost, of datagrams that are not believed, and of
 * peers that cannot be heard: when it begins and when it is over, each once.
 */
#include "instance_world.h"
#include "long_wait.h"

#include <errno.h>
#include <string.h>

#include <rte_ethdev.h>

#include "base/time.h"
#include "clock.h"
#include "differs.h"
#include "event.h"
#include "gossip_socket.h"
#include "losses.h"
#include "refusals.h"

#define GROUP                                                                  \
	"'gossip': {'listen': '127.5.2.1:7946', 'insecure': true, 'roster': [" \
	"{'name': 'test', 'address': '127.5.2.1:7946'}, "                      \
	"{'name': 'two', 'address': '127.6.2.1:7946'}]}, "
#define POLICY "{'name': 'p', 'match': {'vlan': 1}, 'limit': '1Mbit/s', 'allocator': 'fps'}"

/* What devices say of ports, by their number, in place of DPDK's. */
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

/* What was said since then: an event's name, and a word of it; NULL: nothing was. */
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

static uint64_t said_count(uint64_t number, const char *key)
{
	json_t *said = events_get(number);
	uint64_t value = (uint64_t)json_integer_value(json_object_get(said, key));

	json_decref(said);
	return value;
}

/* Each reason that is nobody's wish by itself, and none that a policy wants. */
static void test_packets(void **state)
{
	static const struct {
		enum drop_reason reason;
		const char *name;
	} rows[] = {{DROP_TX_FULL, "tx_full"}, {DROP_RING_FULL, "ring_full"},
		{DROP_OVERSIZE, "oversize"}, {DROP_TRUNCATED, "truncated"},
		{DROP_POOL_FULL, "pool_full"}, {DROP_LIMIT, NULL}, {DROP_QUEUE_FULL, NULL}};
	uint64_t now = 1000 * SECOND_NS, since;
	struct instance_world w;

	(void)state;
	instance_world_open_more(&w, GROUP, POLICY);
	assert_false(losses_run(&w.inst, now));
	assert_int_equal(losses_next(&w.inst), now + SECOND_NS);
	since = events_number();
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		w.inst.workers[0].counters.dropped[rows[i].reason] += 2;
		w.inst.workers[1].counters.dropped[rows[i].reason] += 3;
		assert_false(losses_run(&w.inst, now + SECOND_NS - 1)); /* it is not time */
		expect_said(&since, NULL, NULL, NULL);
		assert_false(losses_run(&w.inst, now += SECOND_NS));
		expect_said(&since, rows[i].name ? "packets_lost" : NULL, "reason", rows[i].name);
		if (rows[i].name)
			assert_int_equal(said_count(since - 1, "packets"), 5);
		w.inst.workers[0].counters.dropped[rows[i].reason]++;
		assert_false(losses_run(&w.inst, now += 3 * SECOND_NS));
		assert_false(losses_run(&w.inst, now += 5 * SECOND_NS - 1));
		expect_said(&since, NULL, NULL, NULL);
		assert_false(losses_run(&w.inst, now += SECOND_NS));
		expect_said(
			&since, rows[i].name ? "packets_not_lost" : NULL, "reason", rows[i].name);
		if (rows[i].name)
			assert_int_equal(said_count(since - 1, "packets"), 6);
	}
	instance_world_close(&w);
}

/* The one event since then is in these words. */
static void expect_text(uint64_t *since, const char *name, const char *text)
{
	uint64_t number = *since;
	json_t *said;

	expect_said(since, name, "event", name);
	said = events_get(number);
	assert_string_equal(json_string_value(json_object_get(said, "text")), text);
	json_decref(said);
}

/* Each counter of each port by itself: whose it is is said, when it begins and when it is over. */
static void test_ports(void **state)
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
	struct instance_world w;
	char text[128];

	(void)state;
	instance_world_open_more(&w, GROUP, POLICY);
	assert_false(losses_run(&w.inst, now));
	since = events_number();
	for (unsigned i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		char *stats = (char *)&devices[w.inst.port_ids[rows[i].port]].stats;
		uint64_t *counter = (uint64_t *)(uintptr_t)(stats + rows[i].counter);

		*counter += 10 + i;
		assert_false(losses_run(&w.inst, now += SECOND_NS));
		snprintf(text, sizeof(text), "packets are lost: %s: %u so far", rows[i].reason,
			10 + i);
		expect_text(&since, "packets_lost", text);
		*counter += 100;
		assert_false(losses_run(&w.inst, now += 4 * SECOND_NS));
		assert_false(losses_run(&w.inst, now += 4 * SECOND_NS));
		expect_said(&since, NULL, NULL, NULL);
		assert_false(losses_run(&w.inst, now += SECOND_NS));
		snprintf(text, sizeof(text), "packets are lost no more: %s: it were %u in 4 s",
			rows[i].reason, 110 + i);
		expect_text(&since, "packets_not_lost", text);
	}
	/* One that does not answer says nothing, and the other is heard. */
	for (unsigned silent = 0; silent < 2; silent++) {
		unsigned other = !silent;

		devices[w.inst.port_ids[silent]].error = -ENODEV;
		devices[w.inst.port_ids[silent]].stats.imissed += 5;
		devices[w.inst.port_ids[other]].stats.imissed += 7;
		assert_false(losses_run(&w.inst, now += SECOND_NS));
		snprintf(text, sizeof(text), "packets are lost: rx_missed of port %s: 7 so far",
			other ? "b" : "a");
		expect_text(&since, "packets_lost", text);
		devices[w.inst.port_ids[silent]].stats.imissed -= 5;
		devices[w.inst.port_ids[silent]].error = 0;
		assert_false(losses_run(&w.inst, now += 5 * SECOND_NS));
		expect_said(&since, "packets_not_lost", "event", "packets_not_lost");
	}
	instance_world_close(&w);
}

/* Each verdict that is strange is named with its number, and none that is not. */
static void test_verdicts(void **state)
{
	static const enum gossip_verdict usual[] = {GOSSIP_ACCEPTED, GOSSIP_UNPROVEN, GOSSIP_SELF,
		GOSSIP_REPLAY, GOSSIP_NO_ROOM, GOSSIP_MESSAGE};
	static const enum gossip_verdict strange[] = {GOSSIP_TRUNCATED, GOSSIP_VERSION,
		GOSSIP_DOWNGRADE, GOSSIP_STRANGER, GOSSIP_UNSEALED, GOSSIP_ESTIMATOR, GOSSIP_NO_KEY,
		GOSSIP_FORGED, GOSSIP_MISSENT, GOSSIP_MALFORMED};
	uint64_t now = 1000 * SECOND_NS, since, *verdicts;
	struct instance_world w;
	char words[64];

	instance_world_open_more(&w, GROUP, POLICY);
	verdicts = ((struct gossip_counters *)(uintptr_t)gossip_counters(
			    limiter_gossip(w.inst.limiter)))
			   ->verdict;
	assert_false(losses_run(&w.inst, now));
	since = events_number();
	for (unsigned i = 0; i < sizeof(usual) / sizeof(*usual); i++)
		verdicts[usual[i]] += 3;
	assert_false(losses_run(&w.inst, now += SECOND_NS));
	expect_said(&since, NULL, NULL, NULL);
	for (unsigned i = 0; i < sizeof(strange) / sizeof(*strange); i++) {
		verdicts[strange[i]] += 3 + i;
		snprintf(words, sizeof(words), "%s %u", gossip_verdict_name(strange[i]), 3 + i);
		assert_false(losses_run(&w.inst, now += SECOND_NS));
		expect_said(&since, "datagrams_refused", "verdicts", words);
		assert_false(losses_run(&w.inst, now += 10 * SECOND_NS));
		expect_said(&since, "datagrams_quiet", "verdicts", words);
	}
	/* Several together, of those since it began. */
	wait_long(state);
	verdicts[GOSSIP_FORGED] += 2;
	verdicts[GOSSIP_VERSION] += 1;
	w.inst.gossip->wrong_source += 4;
	assert_false(losses_run(&w.inst, now += SECOND_NS));
	expect_text(&since, "datagrams_refused",
		"gossip: datagrams come that are not believed: version 1, forged 2, wrong_source "
		"4; see weirctl peers");
	verdicts[GOSSIP_FORGED] += 1;
	assert_false(losses_run(&w.inst, now += SECOND_NS));
	assert_false(losses_run(&w.inst, now += 10 * SECOND_NS));
	expect_text(&since, "datagrams_quiet",
		"gossip: for 10 s no more of those that are not believed; it were 8: version 1, "
		"forged 3, wrong_source 4");
	instance_world_close(&w);
}

/* There may be more to be said than there is room for; the beginning of it is. */
static void test_many_verdicts(void **state)
{
	uint64_t now = 1000 * SECOND_NS, since, *verdicts;
	struct instance_world w;
	const char *words;
	json_t *said;

	(void)state;
	instance_world_open_more(&w, GROUP, POLICY);
	verdicts = ((struct gossip_counters *)(uintptr_t)gossip_counters(
			    limiter_gossip(w.inst.limiter)))
			   ->verdict;
	assert_false(losses_run(&w.inst, now));
	since = events_number();
	for (unsigned v = 0; v < GOSSIP_VERDICTS; v++)
		verdicts[v] += UINT64_C(1000000000000000000);
	w.inst.gossip->wrong_source += 4;
	assert_false(losses_run(&w.inst, now += SECOND_NS));
	said = events_get(since);
	words = json_string_value(json_object_get(said, "verdicts"));
	assert_int_equal(strlen(words), 255);
	assert_memory_equal(words, "truncated 1000000000000000000, version 1000000000000000000, ",
		strlen("truncated 1000000000000000000, version 1000000000000000000, "));
	json_decref(said);
	instance_world_close(&w);
}

/* What they were, of those since it began. */
static void test_datagrams(void **state)
{
	uint64_t now = 1000 * SECOND_NS, since;
	struct instance_world w;

	(void)state;
	instance_world_open_more(&w, GROUP, POLICY);
	assert_false(losses_run(&w.inst, now));
	since = events_number();
	for (unsigned round = 0; round < 2; round++) { /* the second time it begins anew */
		w.inst.gossip->wrong_source += 3;
		assert_false(losses_run(&w.inst, now += SECOND_NS));
		expect_said(&since, "datagrams_refused", "verdicts", "wrong_source 3");
		w.inst.gossip->wrong_source += 4;
		assert_false(losses_run(&w.inst, now += SECOND_NS));
		assert_false(losses_run(&w.inst, now += 10 * SECOND_NS - 1));
		expect_said(&since, NULL, NULL, NULL);
		assert_false(losses_run(&w.inst, now += SECOND_NS));
		expect_said(&since, "datagrams_quiet", "verdicts", "wrong_source 7");
		assert_int_equal(said_count(since - 1, "datagrams"), 7);
	}
	instance_world_close(&w);
}

/* A peer has five seconds here to be heard: four, and gossip's timeout. */
static void test_unheard(void **state)
{
	struct instance_world w;
	struct differs differs;
	uint64_t now = 1000 * SECOND_NS;

	(void)state;
	instance_world_open_more(&w, GROUP, POLICY);
	w.inst.hears_since_ns = now;
	assert_false(differs_unheard(&w.inst, 1, now + 5 * SECOND_NS - 1));
	assert_true(differs_unheard(&w.inst, 1, now + 5 * SECOND_NS));
	assert_false(differs_unheard(&w.inst, 0, now + 5 * SECOND_NS)); /* that is ourselves */
	differs = differs_of(&w.inst, 1, now + 5 * SECOND_NS - 1);
	assert_int_equal(differs.since_ns + differs.named, 0);
	differs = differs_of(&w.inst, 1, now + 5 * SECOND_NS);
	assert_int_equal(differs.since_ns, now);
	assert_int_equal(differs.named, 1);
	assert_false(differs.fixed);
	assert_string_equal(differs.text[0], "never heard");
	differs = differs_of(&w.inst, 0, now + 5 * SECOND_NS);
	assert_int_equal(differs.since_ns + differs.named, 0);
	instance_world_close(&w);
}

/* What does not open for a second, and until five seconds ago, is why. */
static void test_refused(void **state)
{
	static const struct {
		unsigned verdict;
		const char *text;
		bool fixed;
	} rows[] = {
		{REFUSED_SOURCE, "address or name: ", false},
		{GOSSIP_VERSION, "format: what it sends is of one that is not read here", true},
		{GOSSIP_DOWNGRADE, "format: what it sends proves no identity", false},
		{GOSSIP_UNSEALED, "key: one of the two seals", false},
		{GOSSIP_NO_KEY, "key: what it sends is sealed with one that is not here", false},
		{GOSSIP_FORGED, "key or identity: ", false},
	};
	struct instance_world w;
	struct differs differs;

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		const uint64_t first = 1000 * SECOND_NS, last = first + SECOND_NS;

		instance_world_open_more(&w, GROUP, POLICY);
		w.inst.hears_since_ns = first;
		refusals_note(w.inst.gossip->refusals, 1, rows[i].verdict, 0, first);
		differs = differs_of(&w.inst, 1, first + SECOND_NS - 1);
		assert_int_equal(differs.named, 0); /* a single one may be anybody's */
		refusals_note(w.inst.gossip->refusals, 1, rows[i].verdict, 0, last);
		differs = differs_of(&w.inst, 1, last);
		assert_int_equal(differs.named, 1);
		assert_int_equal(differs.since_ns, first);
		assert_int_equal(differs.fixed, rows[i].fixed);
		assert_memory_equal(differs.text[0], rows[i].text, strlen(rows[i].text));
		differs = differs_of(&w.inst, 1, last + 5 * SECOND_NS - 1);
		assert_memory_equal(differs.text[0], rows[i].text, strlen(rows[i].text));
		differs = differs_of(&w.inst, 1, last + 5 * SECOND_NS);
		assert_string_equal(differs.text[0], "never heard");
		instance_world_close(&w);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_packets, wait_long),
		cmocka_unit_test_setup(test_ports, wait_long),
		cmocka_unit_test_setup(test_verdicts, wait_long),
		cmocka_unit_test_setup(test_many_verdicts, wait_long),
		cmocka_unit_test_setup(test_datagrams, wait_long),
		cmocka_unit_test_setup(test_unheard, wait_long),
		cmocka_unit_test_setup(test_refused, wait_long),
	};

	return cmocka_run_group_tests(tests, instance_world_start, instance_world_stop);
}
