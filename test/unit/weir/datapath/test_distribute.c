/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The owner of a queue, with workers of which one is stalled. Its flows go to the others and no
 * packet is lost. The owner sends the packets that workers return, keeps them for the wire or drops
 * them, by the worker's decision. The frames are net_null's, all of one flow.
 */
#include "instance_world.h"
#include "scope.h"

#include <rte_ethdev.h>
#include <rte_mbuf.h>
#include <rte_ring.h>

#include "distribute.h"
#include "fault.h"
#include "clock.h"
#include "rx_rings.h"
#include "shape_mbuf.h"
#include "steering.h"
#include "stuck.h"
#include "tap.h"
#include "tick.h"
#include "tx.h"
#include "worker_data.h"

#define WORKERS 4
#define SLOTS   4

struct world {
	struct instance_world instance; /* has the ports */
	struct worker workers[WORKERS];
	unsigned owner;
	struct stuck stuck;
	struct path path;
	unsigned own; /* packets for the owner */
};

static void open_world(struct world *world, unsigned owner)
{
	memset(world, 0, sizeof(*world));
	world->owner = owner;
	instance_world_open(&world->instance, "{'name': 'p', 'limit': '8Mbit/s', 'match': {}}");
	for (unsigned i = 0; i < WORKERS; i++) {
		world->workers[i].index = i;
		world->workers[i].n_workers = WORKERS;
		world->workers[i].stuck = &world->stuck;
		world->workers[i].ticks_per_us = tick_hz(); /* never times out */
	}
	world->path = world->instance.inst.workers[0].paths[0];
	world->path.rings = rx_rings_create(owner, WORKERS, 1);
	assert_non_null(world->path.rings);
	assert_int_equal(rx_rings_open(world->path.rings, world->workers, SLOTS), 0);
}

static void close_world(struct world *world)
{
	rx_rings_destroy(world->path.rings);
	instance_world_close(&world->instance);
}

static void receive(struct world *world)
{
	struct rte_mbuf *mbufs[BURST];
	bool busy = false;
	uint16_t n = distribute_receive(&world->workers[world->owner], &world->path, mbufs, &busy);

	world->own += n;
	rte_pktmbuf_free_bulk(mbufs, n);
}

/* Returns the packets ready for a worker, or those kept by the owner. */
static unsigned given(const struct world *world, unsigned worker)
{
	struct rte_ring *out = world->path.rings->out[worker];

	return out ? rte_ring_count(out) : world->own;
}

/* Opens a world whose owner has received a burst of another worker's flow. Returns that worker. */
static unsigned open_of_another(struct world *world)
{
	for (unsigned owner = 0; owner < WORKERS; owner++) {
		open_world(world, owner);
		receive(world);
		for (unsigned i = 0; i < WORKERS; i++)
			if (i != owner && given(world, i) > 0)
				return i;
		close_world(world);
	}
	fail_msg("each owner says that the flow is his own");
	return 0;
}

TEST(test_one_is_stuck)
{
	ENDED_BY(close_world) struct world world;
	unsigned target, n, others = 0;

	target = open_of_another(&world);
	n = given(&world, target);
	assert_int_equal(n, BURST);
	assert_int_equal(world.workers[world.owner].counters.rerouted_packets, 0);
	world.stuck.now = UINT64_C(1) << target;
	receive(&world); /* the stalled worker can resume at any time */
	assert_int_equal(given(&world, target), 2 * n);
	assert_int_equal(world.workers[world.owner].counters.rerouted_packets, 0);
	world.stuck.by_far = world.stuck.now;
	receive(&world);
	assert_int_equal(given(&world, target), 2 * n);
	for (unsigned i = 0; i < WORKERS; i++)
		others += i != target ? given(&world, i) : 0;
	assert_int_equal(others, BURST);
	assert_int_equal(world.workers[world.owner].counters.rerouted_packets, BURST);
	assert_int_equal(world.workers[world.owner].counters.dropped[DROP_RING_FULL], 0);
	world.stuck = (struct stuck){0};
	receive(&world);
	assert_int_equal(given(&world, target), 3 * n);
}

/* A full ring counts as stalled, like a long time. */
TEST(test_ring_fills_up)
{
	ENDED_BY(close_world) struct world world;
	unsigned target;

	target = open_of_another(&world);
	world.stuck.now = UINT64_C(1) << target;
	for (unsigned i = 0; i < 2 * RX_RING_PACKETS / BURST; i++)
		receive(&world);
	assert_int_equal(given(&world, target), RX_RING_PACKETS / 2);
	assert_int_equal(world.workers[world.owner].counters.dropped[DROP_RING_FULL], 0);
}

/* The owner decides all packets while all other workers are stalled. */
TEST(test_all_others_are_stuck)
{
	ENDED_BY(close_world) struct world world;
	unsigned before;

	open_of_another(&world);
	world.stuck.now = ((UINT64_C(1) << WORKERS) - 1) & ~(UINT64_C(1) << world.owner);
	world.stuck.by_far = world.stuck.now;
	before = world.own;
	for (unsigned i = 0; i < 3 * RX_RING_PACKETS / BURST; i++)
		receive(&world);
	assert_int_equal(world.own - before, 3 * RX_RING_PACKETS);
	assert_int_equal(world.workers[world.owner].counters.dropped[DROP_RING_FULL], 0);
}

#define FLOW_STEP UINT32_C(0x01234567) /* from one flow's hash to the next */
#define NIC_TIME  5000000

/* A wire that accepts `takes` packets of a burst and delivers `brings`. */
struct test_wire {
	struct world world;
	uint16_t takes, brings;
	bool flows; /* each delivered packet has its own flow, and that flow's number */
	bool timed; /* every second packet has a device timestamp */
	uint8_t taken[WORKERS * BURST]; /* first byte of each sent packet, in order */
	unsigned n_taken;
	const struct rte_eth_rxtx_callback *rx, *tx;
};

static void number_flow(struct rte_mbuf *m, uint16_t i, bool timed)
{
	*rte_pktmbuf_mtod(m, uint8_t *) = (uint8_t)i;
	m->hash.rss = i * FLOW_STEP;
	m->ol_flags |= RTE_MBUF_F_RX_RSS_HASH;
	if (!timed || i % 2)
		return;
	*RTE_MBUF_DYNFIELD(m, shape_mbuf_nic_offset, uint64_t *) = NIC_TIME + i;
	m->ol_flags |= shape_mbuf_nic_flag;
}

static uint16_t bring(uint16_t port, uint16_t queue, struct rte_mbuf **mbufs, uint16_t n,
	uint16_t most, void *context)
{
	const struct test_wire *wire = context;
	uint16_t left = RTE_MIN(n, wire->brings);

	rte_pktmbuf_free_bulk(mbufs + left, n - left);
	for (uint16_t i = 0; wire->flows && i < left; i++)
		number_flow(mbufs[i], i, wire->timed);
	return left;
}

static uint16_t take(
	uint16_t port, uint16_t queue, struct rte_mbuf **mbufs, uint16_t n, void *context)
{
	struct test_wire *wire = context;
	uint16_t taken = RTE_MIN(n, wire->takes);

	for (uint16_t i = 0; i < taken; i++)
		wire->taken[wire->n_taken++ % sizeof(wire->taken)] = *rte_pktmbuf_mtod(
			mbufs[i], uint8_t *);
	return taken;
}

static void open_wire_of(struct test_wire *wire, unsigned owner)
{
	struct path *path = &wire->world.path;

	*wire = (struct test_wire){.takes = BURST};
	open_world(&wire->world, owner);
	wire->world.workers[owner].paths = path;
	wire->world.workers[owner].n_paths = 1;
	wire->rx = rte_eth_add_rx_callback(path->rx_port, path->queue, bring, wire);
	wire->tx = rte_eth_add_tx_callback(path->tx_port, path->queue, take, wire);
	assert_true(wire->rx && wire->tx);
	wire->world.instance.pieces += 2; /* DPDK keeps removed callbacks */
}

static void open_wire(struct test_wire *wire)
{
	open_wire_of(wire, 0);
}

static void close_wire(struct test_wire *wire)
{
	struct path *path = &wire->world.path;

	assert_int_equal(rte_eth_remove_rx_callback(path->rx_port, path->queue, wire->rx), 0);
	assert_int_equal(rte_eth_remove_tx_callback(path->tx_port, path->queue, wire->tx), 0);
	close_world(&wire->world);
}

/* Allocates n packets. */
static void new_packets(const struct test_wire *wire, struct rte_mbuf **mbufs, unsigned n)
{
	struct rte_mempool *pool = wire->world.instance.inst.ports[0].pool;

	assert_int_equal(rte_pktmbuf_alloc_bulk(pool, mbufs, n), 0);
	for (unsigned i = 0; i < n; i++)
		assert_non_null(rte_pktmbuf_append(mbufs[i], 64));
}

/* A worker takes all packets of its ring, and reports itself busy if there was at least one. */
TEST(test_receives)
{
	static const uint16_t rows[] = {0, 1, 2, BURST};
	struct rte_mbuf *mbufs[BURST];
	ENDED_BY(close_wire) struct test_wire wire;

	open_wire(&wire);
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct worker *w = &wire.world.workers[1];
		bool busy = false, other = true;

		new_packets(&wire, mbufs, rows[i]);
		assert_int_equal(tx_hand_over(&wire.world.workers[0], &wire.world.path,
					 wire.world.path.rings->out[1], mbufs, rows[i]),
			0);
		assert_int_equal(distribute_receive(w, &wire.world.path, mbufs, &busy), rows[i]);
		assert_int_equal(busy, rows[i] > 0);
		rte_pktmbuf_free_bulk(mbufs, rows[i]);
		assert_int_equal(distribute_receive(w, &wire.world.path, mbufs, &other), 0);
		assert_true(other); /* the result of another path is kept */
	}
}

/* The owner decides packets kept back of sources that move to it before any new packet. */
TEST(test_kept_for_owner)
{
	struct rte_mbuf *mbufs[3], *own[BURST];
	struct reta_target target;
	struct steering *steering;
	ENDED_BY(close_wire) struct test_wire wire;
	bool busy = false;
	struct reta reta;

	open_wire(&wire);
	steering = wire.world.path.rings->steering;
	reta_target_init(&target, &(struct place_key){24, 64}, 0);
	reta_init(&reta, &target);
	steering_add(steering, 0, &reta);
	new_packets(&wire, mbufs, 3);
	for (unsigned i = 0; i < 3; i++)
		assert_true(migration_keep(&steering->migration, mbufs[i], 7));
	steering->migration.reta = &reta;
	steering->migration.step = MIGRATION_GIVE;
	wire.brings = 1;
	assert_int_equal(
		distribute_receive(&wire.world.workers[0], &wire.world.path, own, &busy), 3);
	assert_true(busy);
	assert_memory_equal(own, mbufs, sizeof(mbufs));
	rte_pktmbuf_free_bulk(own, 3);
}

/* An owner reports itself busy if at least one packet was received or returned. */
TEST(test_owner_is_busy)
{
	static const struct {
		uint16_t brings;
		unsigned returned;
	} rows[] = {{0, 0}, {1, 0}, {0, 1}, {1, 1}, {BURST, 0}, {0, BURST}};
	struct rte_mbuf *mbufs[BURST];
	ENDED_BY(close_wire) struct test_wire wire;

	open_wire(&wire);
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct worker *owner = &wire.world.workers[0];
		bool any = rows[i].brings || rows[i].returned, busy = false;
		uint64_t sent = owner->counters.tx_packets, began = tick_now();
		uint16_t n;

		new_packets(&wire, mbufs, rows[i].returned);
		tx_pass_on(&wire.world.workers[1], &wire.world.path, mbufs,
			(uint16_t)rows[i].returned);
		wire.brings = rows[i].brings;
		owner->own.idle_since = 0;
		n = distribute_receive(owner, &wire.world.path, mbufs, &busy);
		rte_pktmbuf_free_bulk(mbufs, n);
		assert_int_equal(busy, any);
		assert_int_equal(owner->own.idle_since >= began, any);
		assert_int_equal(owner->counters.tx_packets - sent, rows[i].returned);
	}
}

/* A worker returns packets: first those that wait for the wire, then others. */
static void give_back(struct test_wire *wire, uint16_t patient, uint16_t others)
{
	struct worker *w = &wire->world.workers[1];
	struct rte_mbuf *mbufs[BURST];

	new_packets(wire, mbufs, patient + others);
	if (patient)
		assert_int_equal(tx_try_pass_on(w, &wire->world.path, mbufs, patient), patient);
	tx_pass_on(w, &wire->world.path, mbufs + patient, others);
	assert_int_equal(w->counters.dropped[DROP_RING_FULL], 0);
}

/* The owner collects once, with a wire that accepts `takes`; checks the packets left and lost. */
static void collect(struct test_wire *wire, uint16_t takes, unsigned left, unsigned lost)
{
	struct worker *owner = &wire->world.workers[0];
	const struct rte_ring *back = wire->world.path.rings->back[1];

	wire->takes = takes;
	distribute_collect(owner);
	assert_int_equal(rte_ring_count(back), left);
	assert_int_equal(owner->counters.dropped[DROP_TX_FULL], lost);
}

/*
 * Packets that left their queue late wait until the wire accepts them; later ones do not pass them.
 * This holds at all values of the ring's counters, which wrap at 2^32.
 */
TEST(test_patient)
{
	static const uint32_t at[] = {0, 1, 2, 5, RX_RING_PACKETS, INT32_MAX - 1, INT32_MAX,
		UINT32_C(1) << 31, UINT32_MAX - 3, UINT32_MAX - 2, UINT32_MAX - 1, UINT32_MAX};

	for (size_t i = 0; i < COUNT(at); i++) {
		struct test_wire wire;
		struct rte_ring *back;

		open_wire(&wire);
		back = wire.world.path.rings->back[1];
		back->prod.head = back->prod.tail = back->cons.head = back->cons.tail = at[i];
		wire.world.path.rings->patient[1] = at[i]; /* from long ago */
		give_back(&wire, 0, 2);
		collect(&wire, 1, 0, 1);
		give_back(&wire, 2, 0);
		collect(&wire, 0, 2, 1);
		collect(&wire, 1, 1, 1);
		collect(&wire, 0, 1, 1);
		collect(&wire, 1, 0, 1);
		give_back(&wire, 2, 1);
		collect(&wire, 1, 2, 1);
		collect(&wire, 1, 1, 1);
		collect(&wire, 0, 0, 2); /* these do not wait */
		give_back(&wire, 0, 1);
		collect(&wire, 0, 0, 3);
		close_wire(&wire);
	}
}

/*
 * A wire that accepts no packets for long is down: no packet waits for it until it accepts some
 * again.
 */
TEST(test_patience_ends)
{
	ENDED_BY(close_wire) struct test_wire wire;
	struct rx_rings *rings;

	open_wire(&wire);
	rings = wire.world.path.rings;
	give_back(&wire, 2, 1);
	collect(&wire, 0, 3, 0);
	collect(&wire, 0, 3, 0);
	wire.world.workers[0].ticks_per_us = 1;
	rings->stopped -= tick_hz();
	collect(&wire, 0, 0, 3);
	give_back(&wire, 2, 0);
	collect(&wire, 0, 0, 5);
	give_back(&wire, 3, 0);
	collect(&wire, 1, 0, 7);
	wire.world.workers[0].ticks_per_us = tick_hz();
	give_back(&wire, 2, 0);
	collect(&wire, 0, 2, 7);
	collect(&wire, 2, 0, 7);
}

static unsigned free_buffers(const struct test_wire *wire)
{
	return rte_mempool_avail_count(wire->world.instance.inst.ports[0].pool);
}

/* A worker returns n packets unchanged. */
static void give_back_of(struct test_wire *wire, unsigned worker, uint16_t n)
{
	struct rte_mbuf *mbufs[BURST];

	for (uint16_t left = n; left > 0;) {
		uint16_t part = RTE_MIN(left, BURST);

		new_packets(wire, mbufs, part);
		tx_pass_on(&wire->world.workers[worker], &wire->world.path, mbufs, part);
		left = (uint16_t)(left - part);
	}
}

/* The owner drops returned packets whose wire is gone, from any worker. */
TEST(test_drop)
{
	static const uint16_t given[] = {1, BURST - 1, BURST, 2 * BURST + 3};
	ENDED_BY(close_wire) struct test_wire wire;
	struct worker *owner;
	uint64_t lost = 0;
	unsigned before;

	open_wire(&wire);
	owner = &wire.world.workers[0];
	before = free_buffers(&wire);
	assert_false(distribute_waits(&wire.world.path));
	for (size_t i = 0; i < COUNT(given); i++)
		for (unsigned worker = 1; worker < WORKERS; worker++) {
			give_back_of(&wire, worker, given[i]);
			assert_true(distribute_waits(&wire.world.path));
			lost += given[i];
			distribute_drop(owner, &wire.world.path);
			assert_int_equal(owner->counters.dropped[DROP_TX_FULL], lost);
			assert_false(distribute_waits(&wire.world.path));
			assert_int_equal(free_buffers(&wire), before);
		}
	for (unsigned worker = 1; worker < WORKERS; worker++)
		give_back_of(&wire, worker, 40);
	distribute_drop(owner, &wire.world.path);
	assert_int_equal(owner->counters.dropped[DROP_TX_FULL], lost + 40 * (WORKERS - 1));
	assert_int_equal(owner->counters.tx_packets, 0);
}

/* Packets that the wire does not accept are counted as lost, and a capture contains them. */
TEST(test_lost_is_seen)
{
	struct rte_mbuf *mbufs[4];
	struct tap_record *record;
	struct path paths[2];
	ENDED_BY(close_wire) struct test_wire wire;
	struct worker *owner;
	unsigned before;
	struct tap *tap;

	open_wire(&wire);
	owner = &wire.world.workers[0];
	paths[0] = paths[1] = wire.world.path;
	owner->paths = paths;
	tap = tap_create(0, 1000, false, 0, tick_hz());
	assert_non_null(tap);
	record = calloc(1, tap->record);
	assert_non_null(record);
	tap->until = tick_now() + 3600 * tick_hz();
	tap->examined.ticks = 0;
	owner->tap = tap;
	before = free_buffers(&wire);
	for (uint16_t takes = 0; takes <= 4; takes++) {
		uint64_t sent = owner->counters.tx_packets, taken = tap->n_taken;
		uint64_t lost = owner->counters.dropped[DROP_TX_FULL];

		wire.takes = takes;
		new_packets(&wire, mbufs, 4);
		for (uint16_t i = 0; i < 4; i++)
			assert_non_null(rte_pktmbuf_append(mbufs[i], i));
		tx_send(owner, &paths[1], mbufs, 4);
		assert_int_equal(owner->counters.tx_packets - sent, takes);
		assert_int_equal(owner->counters.dropped[DROP_TX_FULL] - lost, 4 - takes);
		assert_int_equal(tap->n_taken - taken, 4 - takes);
		assert_int_equal(free_buffers(&wire), before);
		for (unsigned i = takes; i < 4; i++) {
			assert_true(tap_read(tap, record));
			assert_int_equal(record->reason, DROP_TX_FULL);
			assert_int_equal(record->verdict, TAP_DROP);
			assert_int_equal(record->path, 1);
			assert_int_equal(record->len, 64 + i);
		}
		assert_false(tap_read(tap, record));
	}
	tx_send(owner, &paths[1], mbufs, 0);
	assert_int_equal(owner->counters.tx_packets, 10);
	owner->tap = NULL;
	tap_destroy(tap);
	free(record);
}

/* Buffers in rings return to the pool when the rings are destroyed. */
TEST(test_rings_give_back)
{
	struct rte_mbuf *mbufs[BURST];
	ENDED_BY(close_wire) struct test_wire wire;
	unsigned before;

	assert_int_equal(rx_rings_mbufs(1), 1024);
	assert_int_equal(rx_rings_mbufs(2), 1024 + 2 * RX_RING_PACKETS);
	assert_int_equal(rx_rings_mbufs(4), 1024 + 6 * RX_RING_PACKETS);
	open_wire(&wire);
	before = free_buffers(&wire);
	for (unsigned worker = 1; worker < WORKERS; worker++) {
		give_back_of(&wire, worker, BURST + 1);
		new_packets(&wire, mbufs, 5);
		assert_int_equal(tx_hand_over(&wire.world.workers[0], &wire.world.path,
					 wire.world.path.rings->out[worker], mbufs, 5),
			0);
	}
	assert_int_equal(free_buffers(&wire), before - (WORKERS - 1) * (BURST + 6));
	rx_rings_destroy(wire.world.path.rings);
	wire.world.path.rings = NULL;
	assert_int_equal(free_buffers(&wire), before);
}

/* --- a burst of many flows -------------------------------------------------------------------- */

/* Takes the packets for a worker: n for the owner, and for others those in its ring. */
static unsigned take_part(
	struct test_wire *wire, unsigned worker, struct rte_mbuf **mbufs, unsigned own)
{
	struct rte_ring *out = wire->world.path.rings->out[worker];

	return out ? rte_ring_sc_dequeue_burst(out, (void **)mbufs, BURST, NULL) : own;
}

/* Each packet is the next one of this worker's flows. */
static unsigned expect_part(
	const struct test_wire *wire, unsigned worker, struct rte_mbuf **mbufs, unsigned n)
{
	unsigned found = 0;

	for (uint16_t i = 0; i < wire->brings; i++) {
		struct rte_mbuf flow = {
			.hash.rss = i * FLOW_STEP, .ol_flags = RTE_MBUF_F_RX_RSS_HASH};

		if (rx_rings_worker_of(wire->world.path.rings, &flow, true) != worker)
			continue;
		assert_true(found < n);
		assert_int_equal(*rte_pktmbuf_mtod(mbufs[found], uint8_t *), i);
		found++;
	}
	assert_int_equal(found, n);
	return n;
}

static void open_flows(struct test_wire *wire, unsigned owner)
{
	open_wire_of(wire, owner);
	wire->brings = BURST;
	wire->flows = wire->world.path.rx_hash = true;
}

static uint16_t receive_flows(struct test_wire *wire, struct rte_mbuf **mbufs)
{
	bool busy = false;
	uint16_t own = distribute_receive(
		&wire->world.workers[wire->world.owner], &wire->world.path, mbufs, &busy);

	assert_true(busy);
	return own;
}

static void expect_sorted(unsigned owner, uint16_t brings)
{
	struct rte_mbuf *own[BURST], *others[BURST];
	ENDED_BY(close_wire) struct test_wire wire;
	unsigned n, all = 0;

	open_flows(&wire, owner);
	wire.brings = brings;
	n = receive_flows(&wire, own);
	for (unsigned worker = 0; worker < WORKERS; worker++) {
		struct rte_mbuf **mbufs = worker == owner ? own : others;
		unsigned part = take_part(&wire, worker, mbufs, n);

		all += expect_part(&wire, worker, mbufs, part);
		rte_pktmbuf_free_bulk(mbufs, part);
	}
	assert_int_equal(all, brings);
	assert_int_equal(wire.world.workers[owner].counters.rx_packets, 0);
}

/* For each owner of the queue, each worker gets exactly its own flows, in order. */
TEST(test_sorts)
{
	static const uint16_t rows[] = {1, 2, 3, 4, BURST};

	for (unsigned owner = 0; owner < WORKERS; owner++)
		for (size_t i = 0; i < COUNT(rows); i++)
			expect_sorted(owner, rows[i]);
}

/* Packets for a full ring count as received by the owner, and lost. Other workers get theirs. */
TEST(test_ring_is_full)
{
	struct rte_mbuf *mbufs[BURST];
	ENDED_BY(close_wire) struct test_wire wire;
	struct worker *owner;
	unsigned parts[WORKERS], before;

	open_flows(&wire, 2);
	owner = &wire.world.workers[2];
	rte_pktmbuf_free_bulk(mbufs, receive_flows(&wire, mbufs));
	for (unsigned i = 0; i < WORKERS; i++) {
		parts[i] = i == 2 ? 0 : take_part(&wire, i, mbufs, 0);
		rte_pktmbuf_free_bulk(mbufs, parts[i]);
	}
	while (given(&wire.world, 1) < RX_RING_PACKETS - 1) {
		new_packets(&wire, mbufs, 1);
		tx_hand_over(owner, &wire.world.path, wire.world.path.rings->out[1], mbufs, 1);
	}
	before = free_buffers(&wire);
	rte_pktmbuf_free_bulk(mbufs, receive_flows(&wire, mbufs));
	assert_int_equal(given(&wire.world, 0), parts[0]);
	assert_int_equal(given(&wire.world, 1), RX_RING_PACKETS - 1);
	assert_int_equal(given(&wire.world, 3), parts[3]);
	assert_int_equal(owner->counters.rx_packets, parts[1]);
	assert_int_equal(owner->counters.dropped[DROP_RING_FULL], parts[1]);
	assert_int_equal(free_buffers(&wire), before - parts[0] - parts[3]);
}

/* The stamp is the device's if it has one, and otherwise the owner's. */
static void expect_stamp(
	struct rte_mbuf *m, bool stamped, uint64_t began, const struct nic_clock *clock)
{
	unsigned flow = *rte_pktmbuf_mtod(m, uint8_t *);
	uint64_t at = shape_mbuf_packet(m)->arrival;

	assert_int_equal((m->ol_flags & shape_mbuf_stamped) != 0, stamped);
	if (stamped && clock && flow % 2 == 0)
		assert_int_equal(at, clock->relation.tsc + flow);
	else if (stamped)
		assert_in_range(at, began, tick_now());
}

static void expect_stamps(struct test_wire *wire, bool stamped, const struct nic_clock *clock)
{
	struct worker *owner = &wire->world.workers[wire->world.owner];
	struct rte_mbuf *own[BURST], *others[BURST];
	uint64_t began = tick_now();
	unsigned n, all = 0;

	owner->own.view.kinds = stamped ? 1U << POLICE_SHAPED : ~(1U << POLICE_SHAPED);
	wire->world.path.clock = clock;
	n = receive_flows(wire, own);
	for (unsigned worker = 0; worker < WORKERS; worker++) {
		struct rte_mbuf **mbufs = worker == wire->world.owner ? own : others;
		unsigned part = take_part(wire, worker, mbufs, n);

		for (unsigned i = 0; i < part; i++)
			expect_stamp(mbufs[i], stamped, began, clock);
		rte_pktmbuf_free_bulk(mbufs, part);
		all += part;
	}
	assert_int_equal(all, BURST);
}

TEST(test_stamps)
{
	struct nic_clock clock = {.relation = {NIC_TIME, 0, UINT64_C(1) << 32}};
	ENDED_BY(close_wire) struct test_wire wire;

	open_flows(&wire, 1);
	wire.timed = true;
	wire.world.workers[1].ticks_per_us = tick_hz(); /* the oldest time that is accepted */
	clock.relation.tsc = tick_now() - 1000;
	expect_stamps(&wire, false, NULL);
	expect_stamps(&wire, false, &clock);
	expect_stamps(&wire, true, NULL);
	expect_stamps(&wire, true, &clock);
}

/* --- order of turns --------------------------------------------------------------------------- */

/*
 * Each collection starts with another worker. The owner is never among them, or it would have two
 * turns.
 */
TEST(test_turns)
{
	static const struct {
		unsigned owner;
		uint8_t order[5][WORKERS - 1];
	} rows[] = {
		{0, {{1, 2, 3}, {2, 3, 1}, {3, 1, 2}, {1, 2, 3}, {2, 3, 1}}},
		{1, {{2, 3, 0}, {3, 0, 2}, {0, 2, 3}, {2, 3, 0}, {3, 0, 2}}},
		{2, {{1, 3, 0}, {3, 0, 1}, {0, 1, 3}, {1, 3, 0}, {3, 0, 1}}},
		{3, {{1, 2, 0}, {2, 0, 1}, {0, 1, 2}, {1, 2, 0}, {2, 0, 1}}},
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		struct rte_mbuf *mbuf;
		struct test_wire wire;
		struct worker *owner;

		open_wire_of(&wire, rows[i].owner);
		owner = &wire.world.workers[rows[i].owner];
		for (unsigned turn = 0; turn < 5; turn++) {
			for (uint8_t worker = 0; worker < WORKERS; worker++) {
				if (worker == rows[i].owner)
					continue;
				new_packets(&wire, &mbuf, 1);
				*rte_pktmbuf_mtod(mbuf, uint8_t *) = worker;
				tx_pass_on(&wire.world.workers[worker], &wire.world.path, &mbuf, 1);
			}
			wire.n_taken = 0;
			assert_true(distribute_collect(owner));
			assert_int_equal(wire.n_taken, WORKERS - 1);
			assert_memory_equal(wire.taken, rows[i].order[turn], WORKERS - 1);
			assert_int_equal(rx_rings_looks(wire.world.path.rings), turn + 1);
		}
		assert_false(distribute_collect(owner));
		/* This worker has announced packets and not yet returned them. */
		wire.world.path.rings->patient[rows[i].order[0][0]] += 100;
		assert_false(distribute_collect(owner));
		close_wire(&wire);
	}
}

/* A worker collects only from queues that it owns, wherever they are among its paths. */
TEST(test_collects_its_own)
{
	ENDED_BY(close_wire) struct test_wire wire;
	struct path paths[3];
	struct worker *owner;

	open_wire(&wire);
	owner = &wire.world.workers[0];
	paths[0] = paths[1] = paths[2] = wire.world.path;
	paths[0].rings = NULL;
	owner->paths = paths;
	owner->n_paths = 2;
	give_back_of(&wire, 3, 1);
	assert_true(distribute_collect(owner));
	assert_int_equal(owner->counters.tx_packets, 1);
	wire.world.workers[1].paths = paths;
	wire.world.workers[1].n_paths = 3;
	give_back_of(&wire, 3, 1);
	assert_false(distribute_collect(&wire.world.workers[1]));
	owner->n_paths = 1;
	assert_false(distribute_collect(owner));
	owner->n_paths = 2;
	assert_true(distribute_collect(owner));
}

/* --- allocation failures ---------------------------------------------------------------------- */

static int make_rings(const void *argument)
{
	struct worker workers[WORKERS] = {0};
	struct rx_rings *rings = rx_rings_create(*(const unsigned *)argument, WORKERS, 1);
	int ret = rings ? rx_rings_open(rings, workers, SLOTS) : -ENOMEM;

	rx_rings_destroy(rings);
	return ret;
}

TEST(test_refused)
{
	for (unsigned owner = 0; owner < WORKERS; owner++)
		fault_try(&(struct fault_subject){.name = "rings",
			.run = make_rings,
			.argument = &owner,
			.kinds = FAULT_MEMORY,
			.at_least = 1 + 2 * (WORKERS - 1)});
}

TEST_GROUP(instance_world_start, instance_world_stop)
