/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Packets that wait in a whole limiter. They get numbers when they arrive at `a`, and the test
 * checks them when they leave at `b`, also if their policies have changed.
 */
#ifndef WEIR_TEST_SHAPE_IN_WORLD_H
#define WEIR_TEST_SHAPE_IN_WORLD_H

#include "instance_world.h"

#include <ftw.h>
#include <time.h>

#include <rte_ethdev.h>
#include <rte_mbuf.h>

#include "clock.h"
#include "totals.h"
#include "policy_txn.h"
#include "tick.h"

#define NUMBER 40 /* offset in a frame */
#define SEEN   200000

/* A packet each 50 ms, so that a test decides when something happens. */
#define SLOW "'limit': '8kbit/s', 'burst': '100B', 'match': {'direction': 'a-to-b'}"

static struct {
	uint32_t came[INSTANCE_WORKERS];       /* numbers given, by queue */
	uint32_t left[INSTANCE_WORKERS][SEEN]; /* numbers seen, by queue, in their order */
	unsigned n_left[INSTANCE_WORKERS];
	const struct rte_eth_rxtx_callback *rx[INSTANCE_WORKERS], *tx[INSTANCE_WORKERS];
	uint16_t a, b;
	uint64_t turned_ns, pause_ns; /* the last turns, and the longest time between */
} wire;

#define PAUSE_NS UINT64_C(50000000) /* enough to be too late for a 50 ms wait */

static inline uint16_t number_packets(uint16_t port, uint16_t queue, struct rte_mbuf **mbufs,
	uint16_t n, uint16_t most, void *context)
{
	for (uint16_t i = 0; i < n; i++)
		*rte_pktmbuf_mtod_offset(mbufs[i], uint32_t *, NUMBER) = wire.came[queue]++;
	return n;
}

static inline uint16_t see_sent_packets(
	uint16_t port, uint16_t queue, struct rte_mbuf **mbufs, uint16_t n, void *context)
{
	for (uint16_t i = 0; i < n; i++) {
		assert_true(wire.n_left[queue] < SEEN);
		wire.left[queue][wire.n_left[queue]++] = *rte_pktmbuf_mtod_offset(
			mbufs[i], uint32_t *, NUMBER);
	}
	return n;
}

static inline void stop_seeing(void)
{
	for (uint16_t q = 0; q < INSTANCE_WORKERS; q++) {
		assert_int_equal(rte_eth_remove_rx_callback(wire.a, q, wire.rx[q]), 0);
		assert_int_equal(rte_eth_remove_tx_callback(wire.b, q, wire.tx[q]), 0);
	}
	memset(wire.rx, 0, sizeof(wire.rx));
}

static inline void open_wire(struct instance_world *w, const char *more, const char *policies)
{
	if (wire.rx[0]) /* an earlier test failed: remove its callbacks */
		stop_seeing();
	memset(&wire, 0, sizeof(wire));
	instance_world_open_more(w, more, policies);
	w->pieces += 2 * INSTANCE_WORKERS; /* DPDK keeps removed callbacks */
	wire.a = w->inst.port_ids[0];
	wire.b = w->inst.port_ids[1];
	for (uint16_t q = 0; q < INSTANCE_WORKERS; q++) {
		wire.rx[q] = rte_eth_add_rx_callback(wire.a, q, number_packets, NULL);
		wire.tx[q] = rte_eth_add_tx_callback(wire.b, q, see_sent_packets, NULL);
		assert_non_null(wire.rx[q]);
		assert_non_null(wire.tx[q]);
	}
}

/* Packets that still wait leave when the limiter stops. */
static inline void close_wire(struct instance_world *w)
{
	instance_world_close(w);
	stop_seeing();
}

static inline void wait_ms(unsigned ms)
{
	const struct timespec time = {.tv_nsec = ms * 1000000L};

	nanosleep(&time, NULL);
}

static inline unsigned wire_left(void)
{
	unsigned n = 0;

	for (unsigned q = 0; q < INSTANCE_WORKERS; q++)
		n += wire.n_left[q];
	return n;
}

static inline unsigned wire_came(void)
{
	unsigned n = 0;

	for (unsigned q = 0; q < INSTANCE_WORKERS; q++)
		n += wire.came[q];
	return n;
}

/* Packets of each queue leave in order and once. A queue belongs to one worker. */
static inline void check_order(void)
{
	for (unsigned q = 0; q < INSTANCE_WORKERS; q++)
		for (unsigned i = 1; i < wire.n_left[q]; i++)
			if (wire.left[q][i] <= wire.left[q][i - 1])
				fail_msg("queue %u: %u leaves after %u", q, wire.left[q][i],
					wire.left[q][i - 1]);
}

static inline uint64_t instance_dropped(const struct instance_world *w)
{
	struct worker_counters totals = instance_worker_totals(&w->inst);
	uint64_t sum = 0;

	for (unsigned r = 0; r < DROP_REASONS; r++)
		sum += totals.dropped[r];
	return sum;
}

static inline uint64_t drops_of(const struct instance_world *w, enum drop_reason reason)
{
	return instance_worker_totals(&w->inst).dropped[reason];
}

static inline struct waiting instance_waiting_now(const struct instance_world *w)
{
	return engine_waiting(&w->inst.engine, w->inst.slots.of[0]);
}

/*
 * Each received packet has left, waits or is counted as dropped, for its policy and for the
 * workers.
 */
static inline void check_sums(struct instance_world *w)
{
	struct policy_totals totals = instance_world_totals(w, 0);
	uint64_t waits = instance_waiting_now(w).packets;

	assert_int_equal(wire_left() + waits + instance_dropped(w), wire_came());
	assert_int_equal(totals.passed_packets, wire_left());
	assert_int_equal(totals.dropped_packets, instance_dropped(w));
	assert_int_equal(instance_waiting_now(w).units, waits * INSTANCE_BYTES);
	assert_int_equal(packet_balance(&w->inst, 0).waiting, waits);
	assert_int_equal(packet_balance(&w->inst, 0).dropped, instance_dropped(w));
}

static inline void turn_all_workers(struct instance_world *w, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		uint64_t now;

		instance_world_turn_all(w);
		now = control_now();
		if (wire.turned_ns && now - wire.turned_ns > wire.pause_ns)
			wire.pause_ns = now - wire.turned_ns;
		wire.turned_ns = now;
	}
}

/*
 * Returns true if the host has paused the workers, so that waiting packets might be dropped for
 * their delay.
 */
static inline bool box_has_paused(void)
{
	return wire.pause_ns > PAUSE_NS;
}

/* Returns NULL if the policies do not change. */
static inline struct policy_txn *begin_reload(struct instance_world *w, const char *policies)
{
	struct policy_txn *x;

	instance_world_write(w, policies);
	assert_int_equal(policy_txn_prepare(&w->inst, w->file, tick_hz(), stderr, &x), 0);
	if (policy_txn_is_empty(x)) {
		policy_txn_free(x);
		return NULL;
	}
	assert_int_equal(policy_txn_commit(x), 0);
	return x;
}

static inline void end_reload(struct instance_world *w, struct policy_txn *x)
{
	if (!x)
		return;
	for (unsigned i = 0; i < 100 && !policy_txn_finish(x); i++)
		turn_all_workers(w, 1);
	assert_true(policy_txn_finish(x));
	policy_txn_free(x);
}

/* A private store for hard limits. */
static char store[32];

static inline int remove_one(const char *path, const struct stat *stat, int kind, struct FTW *at)
{
	return remove(path);
}

static inline void with_store(char *more, size_t size)
{
	strcpy(store, "/tmp/weir-shape-in-XXXXXX");
	assert_non_null(mkdtemp(store));
	snprintf(more, size, "'ledger': {'store': '%s'}, ", store);
}

static inline void remove_store(void)
{
	assert_int_equal(nftw(store, remove_one, 8, FTW_DEPTH | FTW_PHYS), 0);
}

#endif
