/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Each counter is shown under its name, in its unit, and summed over workers and devices where it
 * belongs to all. All values of the test are different.
 */
#include "show_world.h"
#include "scope.h"

#include <rte_ethdev.h>
#include <rte_mempool.h>

#include "base/time.h"
#include "busy.h"
#include "clock.h"
#include "delays.h"
#include "event.h"
#include "gossip_socket.h"
#include "kept.h"
#include "links.h"
#include "packet/fragment.h"
#include "placing.h"
#include "differs.h"
#include "show.h"
#include "distribute.h"
#include "telemetry/server.h"
#include "tick.h"

static int device_error; /* error of the first device's statistics */

/* Replaces the function of ethdev: packets lost by a device. */
int rte_eth_stats_get(uint16_t port, struct rte_eth_stats *stats)
{
	const uint64_t many = port + 1;

	if (port == 0 && device_error)
		return device_error;
	*stats = (struct rte_eth_stats){.imissed = 100 * many,
		.rx_nombuf = 1000 * many,
		.ierrors = 10000 * many,
		.oerrors = 100000 * many};
	return 0;
}

/* Returns a number of a reply, by its keys. */
static double number_at(const json_t *json, const char *key, const char *within)
{
	json_t *value = json_object_get(within ? json_object_get(json, within) : json, key);

	if (!json_is_number(value))
		fail_msg("%s.%s: no number", within ? within : "", key);
	return json_number_value(value);
}

/* A shown delay is never shorter than the real one, and at most an eighth longer. */
static void assert_delay_us(double got, double us)
{
	if (got < us || got > us * 1.13 + 1)
		fail_msg("%f us, expected %f", got, us);
}

TEST(test_devices)
{
	WORLD(w, "{'name': 'p', 'limit': '1Mbit/s'}");

	show_expect(show_ask(w, "/weir/drops", NULL),
		"{'rx_missed': 300, 'rx_no_buffer': 3000, 'rx_errors': 30000, "
		"'tx_errors': 300000, '...': 0}");
	device_error = -ENODEV; /* the other device is still shown */
	show_expect(show_ask(w, "/weir/drops", NULL),
		"{'rx_missed': 200, 'rx_no_buffer': 2000, 'rx_errors': 20000, "
		"'tx_errors': 200000, '...': 0}");
	device_error = 0;
	w->inst.links->ports[1] = (struct link_state){
		.known = true, .up = true, .speed_mbps = 25000, .changes = 7};
	show_expect(show_ask(w, "/weir/ports", NULL),
		"[{'name': 'a', 'link': 'DOWN', 'speed_mbps': 0, 'link_changes': 0, '...': 0}, "
		"{'name': 'b', 'device': 'net_null1', 'port': 1, 'link': 'UP', "
		"'speed_mbps': 25000, 'link_changes': 7, '...': 0}]");
}

TEST(test_workers)
{
	static const char *const drops[] = {"limit", "quota", "unmarkable", "unparsed", "unmatched",
		"tx_full", "ring_full", "oversize", "truncated", "queue_full", "pool_full", "codel",
		"delay_exceeded", "stopped"};
	struct worker_counters *c;
	struct fragments *fragments;
	json_t *reply, *worker;
	WORLD(w, "{'name': 'p', 'match': {'proto': 'udp', 'dst-port': 53}, 'limit': '60/min', "
		 "'count': 'packets'}");

	c = &w->inst.workers[1].counters;
	c->rerouted_packets = 11;
	c->bursts = 12;
	c->empty_polls = 13;
	for (unsigned r = 0; r < DROP_REASONS; r++)
		c->dropped[r] = 100 + r;
	for (unsigned r = UNPARSED_NONE + 1; r < UNPARSED_REASONS; r++)
		c->unparsed[r] = 200 + r;
	fragments = w->inst.workers[1].fragments;
	assert_non_null(fragments);
	fragments->first = 21;
	fragments->found = 22;
	fragments->unknown = 23;
	fragments->conflict = 24;
	reply = show_ask(w, "/weir/workers", NULL);
	assert_int_equal(json_array_size(reply), INSTANCE_WORKERS);
	worker = json_array_get(reply, 1);
	assert_int_equal(number_at(worker, "rerouted_packets", NULL), 11);
	assert_int_equal(number_at(worker, "bursts", NULL), 12);
	assert_int_equal(number_at(worker, "empty_polls", NULL), 13);
	assert_int_equal(number_at(worker, "cpu", NULL), 1);
	for (unsigned r = 0; r < DROP_REASONS; r++)
		assert_int_equal(number_at(worker, drops[r], "dropped"), 100 + r);
	show_expect(json_incref(json_object_get(worker, "unparsed")),
		"{'fragment_unknown': 201, 'fragment_tiny': 202, 'fragment_conflict': 203, "
		"'fragment_nested': 204, 'fragment_malformed': 205, 'chain_long': 206, "
		"'chain_cut': 207, 'tunnel_fragment': 208, 'too_deep': 209}");
	show_expect(json_incref(json_object_get(worker, "fragments")),
		"{'first': 21, 'found': 22, 'unknown': 23, 'conflict': 24}");
	worker = json_array_get(reply, 0);
	assert_int_equal(number_at(worker, "cpu", NULL), 0);
	show_expect(json_incref(json_object_get(worker, "fragments")),
		"{'first': 0, 'found': 0, 'unknown': 0, 'conflict': 0}");
	json_decref(reply);
}

/* The balance of a wire has only its own paths. An alarm names the wire. */
TEST(test_balance)
{
	static const char of_wire[] = "{'wire': 'w', 'received': 400, 'transmitted': 240, "
				      "'dropped': 56, 'waiting': 40, 'missing': 64, 'surplus': 0, "
				      "'in_work': 256, 'reasons': {'limit': 4, '...': 0}}";
	struct path_counters *c;
	json_t *reply;
	WORLD(w, "");

	for (unsigned k = 1; k <= 2 * INSTANCE_WORKERS; k++) {
		struct path *path = &w->inst.workers[(k - 1) / 2].paths[(k - 1) % 2];

		path->wire = (k - 1) % 2;
		c = &path->counters;
		c->rx_packets = UINT64_C(100) * k;
		c->tx_packets = UINT64_C(60) * k;
		c->waiting = UINT64_C(10) * k;
		for (unsigned r = 0; r < DROP_REASONS; r++)
			c->dropped[r] = k;
	}
	reply = show_ask(w, "/weir/balance", NULL);
	assert_int_equal(number_at(reply, "received", NULL), 1000);
	assert_int_equal(number_at(reply, "missing", NULL), 160);
	assert_int_equal(number_at(reply, "stopped", "reasons"), 10);
	show_expect(json_incref(json_array_get(json_object_get(reply, "wires"), 0)), of_wire);
	json_decref(reply);
	show_expect(show_ask(w, "/weir/health", NULL), "{'alarms': [], '...': 0}");
	w->inst.workers[1].paths[0].counters.rx_packets += 200;
	show_expect(show_ask(w, "/weir/health", NULL),
		"{'alarms': ['wire w: 264 packets are in no counter: an error in Weir, please "
		"report it with the output of weirctl balance --json'], '...': 0}");
	c->rx_packets = 0;
	w->inst.workers[1].paths[0].counters.rx_packets = 0;
	reply = show_ask(w, "/weir/balance", NULL);
	assert_int_equal(
		number_at(json_array_get(json_object_get(reply, "wires"), 0), "surplus", NULL),
		236);
	json_decref(reply);
}

/* Adds n packets of a worker that waited this long. */
static void add_waits(struct instance_world *w, unsigned worker, unsigned ms, unsigned n)
{
	struct policy_shape *shape = worker_shape(&w->inst.workers[worker], w->inst.slots.of[0]);

	while (n-- > 0)
		delay_add(&shape->delay, delay_unit(tick_hz()), ms * (tick_hz() / 1000));
}

static void set_shape_counts(struct instance_world *w, unsigned worker, uint64_t many)
{
	struct policy_shape *shape = worker_shape(&w->inst.workers[worker], w->inst.slots.of[0]);

	shape->waited = many;
	shape->marked = 10 * many;
	for (unsigned r = 0; r < DROP_SHAPE_REASONS; r++)
		shape->dropped[r] = 100 * many + r;
}

static void check_bins(const json_t *reply, unsigned n)
{
	json_t *bins = json_object_get(reply, "bins_us"), *bin;
	static const double waits_us[] = {1000, 2000, 10000};
	unsigned sum = 0;
	uint64_t tick;
	size_t i;

	assert_int_equal(json_array_size(bins), 3);
	json_array_foreach (bins, i, bin) {
		double from = json_number_value(json_array_get(bin, 0));
		double to = json_number_value(json_array_get(bin, 1));

		assert_true(from <= waits_us[i] && waits_us[i] < to && to - from <= from / 7);
		/* The longest delay of a bin is one tick below its edge. */
		tick = delay_bin_end(delay_bin((uint64_t)waits_us[i] * (tick_hz() / 1000) / 1000,
					     delay_unit(tick_hz())),
			delay_unit(tick_hz()));
		assert_near(to * (double)tick_hz() / 1e6, (double)tick + 1, 0.5);
		sum += (unsigned)json_integer_value(json_array_get(bin, 2));
	}
	assert_int_equal(sum, n);
	assert_int_equal(number_at(reply, "packets", NULL), n);
}

/* Delays of packets over all workers, and whether they meet the objective. */
TEST(test_delays)
{
	json_t *reply, *slo;
	WORLD(w, "{'name': 'p', 'match': {'vlan': 9}, 'limit': '8Mbit/s', "
		 "'action': 'shape', 'shape': {'delay': '50ms'}, "
		 "'slo': {'p99': '5ms'}}");

	show_expect(show_ask(w, "/weir/policy", "p"),
		"{'slo': {'target_us': 5000.0, 'met': null, 'p99_us': null, 'p99_10s_us': null, "
		"'p99_total_us': null}, '...': 0}");
	add_waits(w, 0, 1, 500);
	add_waits(w, 1, 2, 495);
	add_waits(w, 1, 10, 5);
	set_shape_counts(w, 0, 3);
	set_shape_counts(w, 1, 4);
	reply = show_ask(w, "/weir/policy", "p");
	show_expect(json_incref(json_object_get(reply, "shape")),
		"{'waiting_packets': 0, 'waiting_bytes': 0, 'waited_packets': 7, "
		"'left_packets': 1000, 'marked': 70, 'delay_us': '*', "
		"'dropped': {'queue_full': 700, 'pool_full': 702, 'codel': 704, "
		"'delay_exceeded': 706, 'stopped': 708}}");
	slo = json_object_get(json_object_get(reply, "shape"), "delay_us");
	assert_delay_us(number_at(slo, "p50", NULL), 1000);
	assert_delay_us(number_at(slo, "p95", NULL), 2000);
	assert_delay_us(number_at(slo, "p99", NULL), 2000);
	assert_delay_us(number_at(slo, "p99_9", NULL), 10000);
	assert_delay_us(number_at(slo, "max", NULL), 10000);
	assert_delay_us(number_at(reply, "p99_us", "slo"), 2000);
	assert_delay_us(number_at(reply, "p99_10s_us", "slo"), 2000);
	assert_delay_us(number_at(reply, "p99_total_us", "slo"), 2000);
	assert_true(json_is_true(json_object_get(json_object_get(reply, "slo"), "met")));
	json_decref(reply);
	add_waits(w, 0, 10, 20);
	reply = show_ask(w, "/weir/policy", "p");
	assert_delay_us(number_at(reply, "p99_us", "slo"), 10000);
	assert_true(json_is_false(json_object_get(json_object_get(reply, "slo"), "met")));
	json_decref(reply);
	reply = show_ask(w, "/weir/delays", "p");
	check_bins(reply, 1020);
	json_decref(reply);
}

/* The lateness of each worker's departures. */
TEST(test_lateness)
{
	struct shaper_counts *counts;
	json_t *reply, *worker;
	WORLD(w, "{'name': 'p', 'limit': '1Mbit/s', 'action': 'shape', "
		 "'shape': {'delay': '50ms'}}");

	counts = (struct shaper_counts *)(uintptr_t)shaper_counts(w->inst.workers[1].shaper);
	for (unsigned i = 0; i < 200; i++)
		delay_add(
			&counts->lateness, counts->lateness_unit, (i ? 1 : 3) * (tick_hz() / 1000));
	counts->packets = 5;
	reply = show_ask(w, "/weir/workers", NULL);
	worker = json_array_get(reply, 1);
	assert_delay_us(number_at(worker, "lateness_p99_us", "waiting"), 1000);
	assert_delay_us(number_at(worker, "lateness_max_us", "waiting"), 3000);
	assert_int_equal(number_at(worker, "packets", "waiting"), 5);
	assert_int_equal(number_at(worker, "room", "waiting"), counts->most);
	worker = json_array_get(reply, 0);
	assert_true(number_at(worker, "lateness_max_us", "waiting") == 0);
	assert_int_equal(number_at(worker, "packets", "waiting"), 0);
	counts->packets = 0;
	json_decref(reply);
}

/* Expects an alarm of a peer if its messages have been rejected for this long. */
static void expect_alarm_of_peers(struct instance_world *w, uint64_t alarm_ns, bool expected)
{
	static const char *const words[] = {
		"l1 differs for ", " s: key: it encrypts with a key that is absent here"};
	json_t *alarms = json_array();

	w->inst.differs_alarm_ns = alarm_ns;
	alarm_peers_that_differ(&w->inst, alarms);
	assert_int_equal(json_array_size(alarms), expected);
	for (size_t i = 0; expected && i < COUNT(words); i++)
		assert_non_null(strstr(json_string_value(json_array_get(alarms, 0)), words[i]));
	json_decref(alarms);
}

/* Counters of gossip, and the time since when the messages of a peer are rejected. */
TEST(test_gossip)
{
	struct gossip_counters *c;
	json_t *reply, *peer;
	uint64_t now;
	WORLD(w, "{'name': 'p', 'limit': '1Mbit/s'}", .group = 2);

	c = (struct gossip_counters *)(uintptr_t)gossip_counters(limiter_gossip(w->inst.limiter));
	c->sent = 2;
	c->sent_bytes = 3;
	c->received_bytes = 4;
	c->unknown_policy = 5;
	c->implausible = 6;
	w->inst.gossip->send_errors = 7;
	w->inst.gossip->wrong_source = 8;
	for (unsigned v = 0; v < GOSSIP_VERDICTS; v++)
		c->verdict[v] = 20 + v;
	reply = show_ask(w, "/weir/gossip", NULL);
	for (unsigned v = 0; v < GOSSIP_VERDICTS; v++)
		assert_int_equal(number_at(reply, gossip_verdict_name(v), "received"), 20 + v);
	show_expect(reply, "{'sent': 2, 'sent_bytes': 3, 'send_errors': 7, 'socket_drops': 0, "
			   "'wrong_source': 8, 'received_bytes': 4, 'unknown_policy': 5, "
			   "'implausible': 6, 'loans': {'requests': 0, 'offers': 0, "
			   "'unanswered': 0, 'ignored': 0}, 'received': '*'}");
	now = control_now();
	refusals_note(w->inst.gossip->refusals, 1, GOSSIP_FORGED, 0, now - 3000 * MS_NS);
	refusals_note(w->inst.gossip->refusals, 1, GOSSIP_NO_KEY, 0, now - 2000 * MS_NS);
	reply = show_ask(w, "/weir/peers", "1");
	peer = json_array_get(json_object_get(reply, "peers"), 0);
	assert_int_equal(number_at(peer, "refused", NULL), 2);
	assert_in_range(number_at(peer, "refused_ms_ago", NULL), 2000, 2000000);
	show_expect(json_incref(peer), "{'name': 'l1', 'refused_as': 'no_key', '...': 0}");
	json_decref(reply);
	expect_alarm_of_peers(w, 3600 * SECOND_NS, false);
	expect_alarm_of_peers(w, 1000 * MS_NS, true);
}

/* The placement of a policy's sources, and the measurements of each worker in the last round. */
TEST(test_placement)
{
	struct placing *placing;
	struct rx_rings *rings;
	unsigned there = 0;
	json_t *reply;
	WORLD(w, "{'name': 'p', 'limit': '1Mbit/s', 'action': 'shape', "
		 ""
		 "'slo': {'p99': '50ms'}, 'place': {'key': 'src/24', "
		 "'round': '100ms'}}, {'name': 'q', 'match': {'vlan': 5}, 'limit': '1Mbit/s'}");

	rings = rx_rings_create(0, INSTANCE_WORKERS, 1); /* each port has one queue */
	assert_non_null(rings);
	assert_int_equal(rx_rings_open(rings, w->inst.workers, w->inst.slots.capacity), 0);
	w->inst.workers[0].paths[0].rings = rings;
	assert_int_equal(placing_part.prepare(&w->inst, &w->inst.policies[0], w->inst.slots.of[0],
				 w->inst.clock.hz),
		0);
	placing_part.begin(&w->inst, 0);
	placing = placing_of(&w->inst, w->inst.slots.of[0]);
	assert_non_null(placing);
	placing->rates[1] = 1000;
	placing->seen.workers[1] = (struct rebalance_worker){
		.p99 = 0.002, .added = 0.0005, .others = 500, .handing = 0.25};
	placing->rebalance.state = REBALANCE_TRYING;
	placing->rebalance.used = 2;
	placing->rebalance.rounds = 3;
	placing->rebalance.trials = 4;
	placing->rebalance.changes = 5;
	for (unsigned i = 0; i < RETA_SIZE; i++)
		there += reta_target_of(&placing->reta_target, i) == 1;
	reply = show_ask(w, "/weir/placement", "p");
	assert_int_equal(
		number_at(json_array_get(json_object_get(reply, "workers"), 0), "buckets", NULL),
		RETA_SIZE - there);
	assert_int_equal(
		number_at(json_array_get(json_object_get(reply, "workers"), 1), "buckets", NULL),
		there);
	show_expect(reply,
		"{'name': 'p', 'state': 'trying', 'target_us': 50000.0, 'used': 2, 'rounds': 3, "
		"'trials': 4, 'changes': 5, 'moved': 0, 'kept_back': 0, 'called_off': 0, "
		"'workers': [{'worker': 0, 'p99_us': 0.0, 'rate_bps': 0, '...': 0}, "
		"{'worker': 1, 'buckets': '*', 'p99_us': 2000.0, 'added_us': 500.0, "
		"'handing': 0.25, 'rate_bps': 8000, 'others_bps': 4000}], '...': 0}");
	show_expect(show_ask(w, "/weir/placement", NULL),
		"{'total': 1, 'start': 0, 'next': null, 'placements': ['p']}");
	assert_null(show_ask(w, "/weir/placement", "q"));
}

/* CPU time of each thread, and memory of the process. */
TEST(test_process)
{
	json_t *reply, *pool;
	uint64_t began;
	size_t i;
	WORLD(w, "{'name': 'p', 'limit': '1Mbit/s'}");

	show_expect(show_ask(w, "/weir/process", NULL),
		"{'limiter': 'test', 'share_of_s': 1.0, 'workers': [{'busy_share': null, "
		"'busy_s': 0.0}, {'busy_share': null, 'busy_s': 0.0}], '...': 0}");
	w->inst.workers[1].counters.busy_cycles = 3 * w->inst.clock.hz / 2;
	w->inst.workers[1].counters.handing_cycles = w->inst.clock.hz - w->inst.clock.hz / 2;
	began = busy_next(&w->inst) - BUSY_PERIOD_NS;
	busy_run(&w->inst, began + BUSY_PERIOD_NS - 1); /* no period is over */
	assert_int_equal(busy_next(&w->inst), began + BUSY_PERIOD_NS);
	busy_run(&w->inst, began + 5 * SECOND_NS);
	reply = show_ask(w, "/weir/process", NULL);
	assert_near(number_at(json_array_get(json_object_get(reply, "workers"), 1), "busy_s", NULL),
		2, 1e-6);
	assert_near(
		number_at(json_array_get(json_object_get(reply, "workers"), 1), "busy_share", NULL),
		0.4, 1e-6);
	assert_near(
		number_at(json_array_get(json_object_get(reply, "workers"), 0), "busy_share", NULL),
		0, 0);
	assert_int_equal(number_at(reply, "pid", NULL), getpid());
	assert_true(number_at(reply, "resident_bytes", "memory") > 1 << 20);
	assert_true(number_at(reply, "heap_bytes", "memory") > 1 << 20);
	assert_true(number_at(reply, "heap_used_bytes", "memory") > 0);
	assert_true(number_at(reply, "heap_used_bytes", "memory") <=
		    number_at(reply, "heap_bytes", "memory"));
	json_array_foreach (json_object_get(reply, "pools"), i, pool) {
		const char *name = json_string_value(json_object_get(pool, "name"));
		const struct rte_mempool *of = rte_mempool_lookup(name);

		assert_int_equal(number_at(pool, "buffers", NULL), of->size);
		assert_int_equal(number_at(pool, "free", NULL), rte_mempool_avail_count(of));
	}
	assert_true(i > 0);
	json_decref(reply);
}

/* Consecutive pages have each event in memory once, in order. */
TEST(test_events)
{
	const unsigned n = 300;
	uint64_t began = events_number(), at;
	unsigned pages = 0;
	json_t *reply;
	char first[32];
	WORLD(w, "{'name': 'p', 'limit': '1Mbit/s'}");

	began = events_number();
	for (unsigned i = 0; i < n; i++)
		event(GOSSIP_BUFFER_SMALL, event_count("bytes", i), event_count("wanted", 300));
	for (at = began; at < began + n; pages++) {
		json_t *row;
		size_t i;

		snprintf(first, sizeof(first), "%llu", (unsigned long long)at);
		reply = show_ask(w, "/weir/events", first);
		assert_true(telemetry_length(reply) <= TELEMETRY_MAX_OUTPUT);
		json_array_foreach (json_object_get(reply, "events"), i, row)
			assert_int_equal(number_at(row, "bytes", NULL), at + i - began);
		assert_true(i > 0);
		at += i;
		assert_int_equal(number_at(reply, "to_come", NULL), at);
		assert_int_equal(json_is_null(json_object_get(reply, "next")), at == began + n);
		json_decref(reply);
	}
	assert_true(pages > 1);
	show_expect(show_ask(w, "/weir/log", NULL),
		"{'level': '*', 'format': '*', 'lines_lost': 0, 'events': '*'}");
	reply = show_ask(w, "/weir/log", NULL);
	assert_int_equal(number_at(reply, "events", NULL), began + n - 1);
	json_decref(reply);
	/* A number beyond the last event belongs to an earlier start: the reply has all events. */
	snprintf(first, sizeof(first), "%llu", (unsigned long long)(began + n));
	show_expect(
		show_ask(w, "/weir/events", first), "{'events': [], 'next': null, 'to_come': '*'}");
	snprintf(first, sizeof(first), "%llu", (unsigned long long)(began + n + 1));
	reply = show_ask(w, "/weir/events", first);
	assert_true(json_array_size(json_object_get(reply, "events")) > 0);
	json_decref(reply);
	reply = show_ask(w, "/weir/events", NULL);
	assert_true(json_array_size(json_object_get(reply, "events")) > 0);
	json_decref(reply);
	assert_null(show_ask(w, "/weir/events", "1x"));
	assert_null(show_ask(w, "/weir/events", "-1"));
	assert_null(show_ask(w, "/weir/log_level", "loud"));
}

/* A request for an event that is no longer in memory gets the oldest ones that are. */
TEST(test_events_gone)
{
	const uint64_t began = events_number();
	WORLD(w, "{'name': 'p', 'limit': '1Mbit/s'}");

	while (events_number() < began + 2 * EVENTS_KEPT)
		event(GOSSIP_BUFFER_SMALL, event_count("bytes", events_number()),
			event_count("wanted", 300));
	for (unsigned i = 0; i < 4; i++) {
		uint64_t oldest = events_number() - EVENTS_KEPT;
		const uint64_t asked[] = {oldest - 1, oldest, oldest + 1, 1};
		char first[32];
		json_t *reply;

		snprintf(first, sizeof(first), "%llu", (unsigned long long)asked[i]);
		reply = show_ask(w, "/weir/events", first);
		assert_int_equal(number_at(json_array_get(json_object_get(reply, "events"), 0),
					 "bytes", NULL),
			oldest + (i == 2));
		json_decref(reply);
	}
}

/* A configuration that is not kept, or differs from the file, is an alarm as long as that is so. */
TEST(test_kept)
{
	char refused[] = "w.json:3: limit: no\nw.json:4: nor this\n", trouble[] = "no space";
	char directory[] = "/state";
	struct kept kept = {.directory = directory};
	json_t *reply;
	const char *alarm;
	WORLD(w, "{'name': 'p', 'limit': '1Mbit/s'}");

	w->inst.file = w->file;
	w->inst.kept = &kept;
	show_expect(show_ask(w, "/weir/health", NULL), "{'alarms': [], '...': 0}");
	kept.refused = refused;
	reply = show_ask(w, "/weir/health", NULL);
	alarm = json_string_value(json_array_get(json_object_get(reply, "alarms"), 0));
	assert_non_null(alarm);
	assert_memory_equal(alarm, w->file, strlen(w->file));
	assert_string_equal(alarm + strlen(w->file),
		" is refused (w.json:3: limit: no): the last good configuration runs");
	json_decref(reply);
	kept.refused = NULL;
	kept.trouble = trouble;
	show_expect(show_ask(w, "/weir/health", NULL),
		"{'alarms': ['/state: no space: changes and their authors are not kept'], "
		"'...': 0}");
	kept.trouble = NULL;
	kept.confirm = (struct confirm){
		.running = 3, .good = 2, .until_ns = control_now() + 7200 * SECOND_NS};
	reply = show_ask(w, "/weir/health", NULL);
	alarm = json_string_value(json_array_get(json_object_get(reply, "alarms"), 0));
	assert_non_null(alarm);
	assert_in_range(strtoul(alarm + strlen("a change is rolled back in "), NULL, 10), 1, 7200);
	json_decref(reply);
	w->inst.kept = NULL;
	w->inst.file = NULL;
}

/* Each count of a previous slot is added to its own. */
TEST(test_totals)
{
	enum { N = sizeof(struct policy_totals) / sizeof(uint64_t) };
	union {
		struct policy_totals totals;
		uint64_t counts[N];
	} sum, before;

	for (unsigned i = 0; i < N; i++) {
		sum.counts[i] = 1000 + i;
		before.counts[i] = UINT64_C(1) << i;
	}
	policy_totals_add(&sum.totals, &before.totals);
	for (unsigned i = 0; i < N; i++)
		assert_int_equal(sum.counts[i], 1000 + i + (UINT64_C(1) << i));
}

/* Counts of removed policies are still shown. */
TEST(test_gone)
{
	WORLD(w, "{'name': 'p', 'limit': '1Mbit/s'}");

	w->inst.gone.passed_packets = 5;
	w->inst.gone.dropped_packets = 6;
	show_expect(show_ask(w, "/weir/config", NULL),
		"{'removed_policies': {'passed_packets': 5, 'dropped_packets': 6}, "
		"'policies': 1, '...': 0}");
}

TEST_GROUP(instance_world_start, instance_world_stop)
