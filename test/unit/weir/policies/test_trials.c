/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Trials that start, change and end while packets flow. Each counts the packets of its own time,
 * and its lines are freed when it ends. The test plays control and both workers.
 */
#include "instance_world.h"
#include "scope.h"

#include <rte_ethdev.h>
#include <rte_malloc.h>
#include <rte_mbuf.h>

#include "clock.h"
#include "police/try.h"
#include "policy_txn.h"
#include "publish.h"
#include "trials.h"

/* A source table for each line, so that the heap shows the number of lines. */
#define SOURCES(more)                                                                       \
	"{'name': 's', 'match': {'vlan': 1}, 'limit': '1Gbit/s', 'per': 'src', 'sources': " \
	"1024" more "}"
#define MINE(more)   "{'name': 'mine', 'match': {'direction': 'a-to-b'}, 'limit': '10Gbit/s'" more "}"
#define TRIAL(limit) ", 'trial': {'limit': '" limit "', 'burst': '4096B'}"
#define FEW          4096 / INSTANCE_BYTES /* packets of that burst */

static unsigned count_heap(void)
{
	struct rte_malloc_socket_stats stats;

	assert_int_equal(rte_malloc_get_socket_stats(0, &stats), 0);
	return stats.alloc_count;
}

/* A line is freed when it is no longer used, and not earlier. */
TEST(test_freed)
{
	unsigned without, with;
	struct policy_txn *x;
	WORLD(w, SOURCES(""));

	without = count_heap();
	instance_world_reload(w, SOURCES(TRIAL("8kbit/s")));
	with = count_heap();
	assert_true(with > without);
	for (unsigned i = 0; i < 3; i++) {
		x = instance_world_prepare(w, SOURCES(TRIAL("16kbit/s")));
		assert_true(count_heap() > with);
		policy_txn_free(x); /* not committed */
		assert_int_equal(count_heap(), with);
		x = instance_world_prepare(w, SOURCES(TRIAL("16kbit/s")));
		assert_int_equal(policy_txn_commit(x), 0);
		assert_true(count_heap() > with); /* a worker can still use the old one */
		instance_world_finish(w, x);
		assert_int_equal(count_heap(), with);
		instance_world_reload(w, SOURCES(TRIAL("8kbit/s")));
		assert_int_equal(count_heap(), with);
	}
	instance_world_reload(w, SOURCES(""));
	assert_int_equal(count_heap(), without);
	instance_world_reload(w, SOURCES(TRIAL("8kbit/s")));
	assert_int_equal(count_heap(), with);
	instance_world_reload(w, MINE("")); /* removes the policy with its trial */
	assert_true(count_heap() < without);
	instance_world_reload(w, SOURCES(""));
	assert_int_equal(count_heap(), without);
}

/*
 * Also for a policy that is not committed, and for a change that the limiter's stop interrupts.
 */
TEST(test_freed_early)
{
	struct instance_world w;
	struct policy_txn *x;
	unsigned before = count_heap(), without;

	instance_world_open(&w, MINE(""));
	without = count_heap();
	x = instance_world_prepare(&w, MINE("") ", " SOURCES(TRIAL("8kbit/s")));
	assert_true(count_heap() > without);
	policy_txn_free(x);
	assert_int_equal(count_heap(), without);
	instance_world_reload(&w, SOURCES(TRIAL("8kbit/s")));
	x = instance_world_prepare(&w, SOURCES(TRIAL("16kbit/s")));
	assert_int_equal(policy_txn_commit(x), 0);
	policy_txn_free(x);
	instance_world_close(&w);
	assert_int_equal(count_heap(), before);
}

/* Returns the trial's counts after this many turns of the workers. */
static struct trial_now seen_after(struct instance_world *w, unsigned turns)
{
	struct trial_now now;

	for (unsigned i = 0; i < turns; i++)
		instance_world_turn_all(w);
	assert_true(trials_look(&w->inst, 0, &now));
	return now;
}

/* Counts and age restart when the trial changes, and continue when another policy changes. */
TEST(test_counted)
{
	const unsigned turns = 8, packets = turns * INSTANCE_WORKERS * INSTANCE_BURST;
	uint64_t began_ns;
	struct trial_now now;
	WORLD(w, MINE(""));

	assert_false(trials_look(&w->inst, 0, &now));
	began_ns = control_now();
	instance_world_reload(w, MINE(TRIAL("8kbit/s")));
	now = seen_after(w, turns);
	assert_true(now.totals.passed_packets >= FEW);
	assert_true(now.totals.dropped_packets > 0);
	assert_true(now.totals.passed_packets + now.totals.dropped_packets >= packets);
	assert_true(now.age_s * 1e9 <= (double)(control_now() - began_ns));
	assert_true(now.local_limit == 1000);
	assert_int_equal(now.local_burst, 4096);
	assert_int_equal(instance_world_totals(w, 0).dropped_packets, 0);
	assert_true(instance_world_totals(w, 0).passed_packets >= packets);
	began_ns = control_now();
	instance_world_reload(w, MINE(TRIAL("8Gbit/s") ""));
	now = seen_after(w, 0);
	assert_true(now.age_s * 1e9 <= (double)(control_now() - began_ns));
	assert_true(now.local_limit == 1e9);
	instance_world_reload(w, MINE(""));
	assert_false(trials_look(&w->inst, 0, &now));
}

/* A trial of the start counts the packets of each worker. */
TEST(test_from_the_start)
{
	struct trial_now now;
	WORLD(w, MINE(TRIAL("8Gbit/s")));

	for (unsigned worker = 0; worker < INSTANCE_WORKERS; worker++) {
		instance_world_turn(w, worker);
		assert_true(trials_look(&w->inst, 0, &now));
		assert_int_equal(now.totals.passed_packets + now.totals.dropped_packets,
			(worker + 1) * INSTANCE_BURST);
	}
}

/* A change is listed if the policy keeps its slot and its trial starts, ends or differs. */
TEST(test_listed)
{
	static const struct {
		const char *previous, *next;
		unsigned line; /* line that counts after the change; 0: none */
		unsigned n;
	} rows[] = {
		{MINE(""), MINE(TRIAL("8kbit/s")), 1, 1},
		{MINE(TRIAL("8kbit/s")), MINE(TRIAL("16kbit/s")), 2, 1},
		{MINE(TRIAL("8kbit/s")), MINE(""), 0, 1},
		{MINE(TRIAL("8kbit/s")), MINE(TRIAL("8kbit/s") ", 'burst': '9MB'"), 1, 0},
		{MINE(""), MINE(", 'burst': '9MB'"), 0, 0},
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		struct trial_change changes[4];
		struct policy_txn *x;
		WORLD(w, rows[i].previous);

		x = instance_world_prepare(w, rows[i].next);
		assert_int_equal(policy_txn_commit(x), 0);
		assert_int_equal(trials_list_changes(&w->inst, changes), rows[i].n);
		if (rows[i].n) {
			assert_int_equal(changes[0].slot, w->inst.slots.of[0]);
			assert_int_equal(changes[0].trial, rows[i].line);
		}
		assert_int_equal(w->inst.engine.slots[w->inst.slots.of[0]].trial, rows[i].line);
		instance_world_finish(w, x);
		assert_int_equal(trials_list_changes(&w->inst, changes), 0);
	}
}

/* A trial counts each packet once, with its own bucket, for each kind of policy. */
TEST(test_kinds)
{
	static const struct {
		unsigned passed; /* packets of a burst */
		const char *policy;
	} rows[] = {
		{4, "'limit': '1G/min', 'count': 'packets', 'trial': {'limit': '1/min', 'burst': "
		    "10}"},
		{18, "'limit': '10Gbit/s', 'burst': '90kB', 'meter': 'gcra', 'trial': {'limit': "
		     "'8kbit/s', 'burst': '900B'}"},
		{18, "'limit': '10Gbit/s', 'trial': {'limit': '8kbit/s', 'burst': '900B'}"},
		{18, "'limit': '10Gbit/s', 'action': 'count', 'trial': {'limit': '8kbit/s', "
		     "'burst': '900B'}"},
		{18, "'limit': '10Gbit/s', 'action': 'shape', 'shape': {'delay': '1ms'}, 'trial': "
		     "{'limit': '8kbit/s', 'burst': '900B'}"},
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		struct trial_now now;
		char policy[256];

		snprintf(policy, sizeof(policy),
			"{'name': 'mine', 'match': {'direction': 'a-to-b'}, %s}", rows[i].policy);
		WORLD(w, policy);
		instance_world_turn(w, 0);
		assert_true(trials_look(&w->inst, 0, &now));
		assert_int_equal(
			now.totals.passed_packets + now.totals.dropped_packets, INSTANCE_BURST);
		assert_int_equal(now.totals.passed_packets, rows[i].passed);
	}
}

/* Publishes the limits of all policies and their trials again, and no others. */
TEST(test_published_again)
{
	struct engine_slot *slots;
	uint32_t first, second, trial, n;
	WORLD(w, MINE("") ", " SOURCES(TRIAL("8kbit/s")));

	for (unsigned i = 0; i < 4; i++) {
		publish_rest(&w->inst);
		instance_world_turn_all(w);
	}
	slots = w->inst.engine.slots;
	n = w->inst.slots.capacity;
	first = w->inst.slots.of[0];
	second = w->inst.slots.of[1];
	assert_int_equal(slots[second].trial, 1);
	trial = trial_slot(second, 1, n);
	for (uint32_t i = 0; i < trial_lines(n); i++)
		slots[i].restarts = false;
	assert_true(dirty_is_empty(&w->inst.dirty));
	publish_restart(&w->inst);
	assert_int_equal(w->inst.dirty.n, 2);
	for (uint32_t i = 0; i < trial_lines(n); i++)
		assert_int_equal(slots[i].restarts, i == first || i == second || i == trial);
}

/* Each other frame is of VLAN 1. */
static uint16_t tag_every_other(uint16_t port, uint16_t queue, struct rte_mbuf **mbufs, uint16_t n,
	uint16_t most, void *context)
{
	for (uint16_t i = 0; i < n; i++) {
		uint8_t *frame = rte_pktmbuf_mtod(mbufs[i], uint8_t *);

		memset(frame + 12, 0, 4);
		frame[12] = i % 2 ? 0 : 0x81;
		frame[15] = i % 2 ? 0 : 1;
	}
	return n;
}

/*
 * In a burst of several policies each trial counts its own packets. This test is the last one,
 * because its tags remain in packet buffers.
 */
TEST(test_in_one_burst)
{
	static const char *const kinds[] = {
		"'count': 'packets', 'limit': '1G/min'", "'limit': '10Gbit/s'"};
	static const char *const trials[] = {"'trial': {'limit': '1/min', 'burst': 10}",
		"'trial': {'limit': '8kbit/s', 'burst': '600B'}"};

	for (unsigned i = 0; i < 4; i++) {
		const struct rte_eth_rxtx_callback *callback;
		const struct path *path;
		struct trial_now now;
		char policies[512];

		snprintf(policies, sizeof(policies),
			"{'name': 'tagged', 'match': {'vlan': 1, 'direction': 'a-to-b'}, %s, %s}, "
			"{'name': 'other', 'match': {'direction': 'a-to-b'}, %s, %s}",
			kinds[i % 2], trials[i % 2], kinds[i / 2], trials[i / 2]);
		WORLD(w, policies);
		w->pieces++; /* DPDK keeps a removed callback */
		path = &w->inst.workers[0].paths[0];
		callback = rte_eth_add_rx_callback(
			path->rx_port, path->queue, tag_every_other, NULL);
		assert_non_null(callback);
		instance_world_turn(w, 0);
		for (unsigned p = 0; p < 2; p++) {
			unsigned kind = p ? i / 2 : i % 2;
			unsigned passed = kind == 0 ? 4 : 600 / (p ? 50 : 46); /* its own packets */

			assert_true(trials_look(&w->inst, p, &now));
			assert_int_equal(now.totals.passed_packets, passed);
			assert_int_equal(now.totals.dropped_packets, INSTANCE_BURST / 2 - passed);
			assert_int_equal(
				instance_world_totals(w, p).passed_packets, INSTANCE_BURST / 2);
		}
		assert_int_equal(
			rte_eth_remove_rx_callback(path->rx_port, path->queue, callback), 0);
	}
}

TEST_GROUP(instance_world_start, instance_world_stop)
