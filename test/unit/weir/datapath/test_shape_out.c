/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Packets that workers hold leave when the workers stop, at the speed of the wire and through the
 * owner of each queue. None is lost while the wire is up, even on a slow wire or if a thread has no
 * CPU for a while. No thread waits forever.
 */
#include "instance_world.h"
#include "scope.h"

#include <pthread.h>
#include <time.h>

#include <rte_ethdev.h>
#include <rte_ip.h>
#include <rte_mbuf.h>
#include <rte_ring.h>

#include "clock.h"
#include "distribute.h"
#include "rx_rings.h"
#include "police/shaped.h"
#include "shape/shape.h"
#include "shape_steps.h"
#include "shape_mbuf.h"
#include "tick.h"
#include "tx.h"
#include "worker.h"

#define NS_PER_MS UINT64_C(1000000)

/* The part of a burst that a device accepts. */
enum takes { TAKES_ALL, TAKES_NONE, TAKES_ONE, TAKES_ROOM, TAKES_EVERY_OTHER };

static struct {
	const struct rte_eth_rxtx_callback *rx, *tx;
	uint16_t a, b;
	unsigned came, left;
	enum takes takes; /* atomic */
	unsigned room;    /* TAKES_ROOM: packets */
	unsigned calls;   /* TAKES_EVERY_OTHER: every second call accepts all */
} wire;

static void wait_ms(unsigned ms)
{
	const struct timespec time = {.tv_nsec = ms * 1000000L};

	nanosleep(&time, NULL);
}

static uint16_t number_wire_packets(uint16_t port, uint16_t queue, struct rte_mbuf **mbufs,
	uint16_t n, uint16_t most, void *context)
{
	__atomic_add_fetch(&wire.came, n, __ATOMIC_RELAXED);
	return n;
}

static uint16_t min_u16(uint16_t n, unsigned most)
{
	return n < most ? n : (uint16_t)most;
}

/* The first refusal takes longer than a worker waits for a wire, like a caller without a CPU. */
static uint16_t every_other(uint16_t n)
{
	if (wire.calls++ % 2 == 1)
		return n;
	if (wire.calls == 1)
		wait_ms(50);
	return 0;
}

static uint16_t packets_taken(uint16_t n)
{
	switch (__atomic_load_n(&wire.takes, __ATOMIC_RELAXED)) {
	case TAKES_NONE:
		return 0;
	case TAKES_ONE:
		return min_u16(n, 1);
	case TAKES_ROOM:
		n = min_u16(n, wire.room);
		wire.room -= n;
		return n;
	case TAKES_EVERY_OTHER:
		return every_other(n);
	default:
		return n;
	}
}

static uint16_t take_wire_packets(
	uint16_t port, uint16_t queue, struct rte_mbuf **mbufs, uint16_t n, void *context)
{
	n = packets_taken(n);
	__atomic_add_fetch(&wire.left, n, __ATOMIC_RELAXED);
	return n;
}

static void set_takes(enum takes takes)
{
	__atomic_store_n(&wire.takes, takes, __ATOMIC_RELAXED);
}

/* Opens a wire for queue 0, which all these tests use for sending. */
static void open_wire(struct instance_world *w, const char *limit)
{
	char policy[256];

	snprintf(policy, sizeof(policy),
		"{'name': 'p', 'limit': '%s', 'burst': '100B', 'action': 'shape', "
		"'match': {'direction': 'a-to-b'}, 'shape': {'delay': '10s'}}",
		limit);
	memset(&wire, 0, sizeof(wire));
	instance_world_open(w, policy);
	w->pieces += 2; /* DPDK keeps removed callbacks */
	wire.a = w->inst.port_ids[0];
	wire.b = w->inst.port_ids[1];
}

/* Counts packets from here on. Packets that wait now count as arrived. */
static void watch_wire(struct instance_world *w)
{
	wire.came = engine_waiting(&w->inst.engine, w->inst.slots.of[0]).packets;
	wire.rx = rte_eth_add_rx_callback(wire.a, 0, number_wire_packets, NULL);
	wire.tx = rte_eth_add_tx_callback(wire.b, 0, take_wire_packets, NULL);
	assert_non_null(wire.rx);
	assert_non_null(wire.tx);
}

static void close_wire(struct instance_world *w)
{
	set_takes(TAKES_ALL);
	instance_world_close(w);
	assert_int_equal(rte_eth_remove_rx_callback(wire.a, 0, wire.rx), 0);
	assert_int_equal(rte_eth_remove_tx_callback(wire.b, 0, wire.tx), 0);
}

/* Runs a worker until at least this many packets wait at it. */
static void fill_worker_queue(struct instance_world *w, unsigned worker, unsigned packets)
{
	uint32_t slot = w->inst.slots.of[0];

	/* Runs more turns than necessary, because some packets leave in the meantime. */
	for (unsigned i = 0; i < packets / INSTANCE_BURST * 4; i++)
		if (engine_waiting(&w->inst.engine, slot).packets <= packets)
			instance_world_turn(w, worker);
	assert_true(engine_waiting(&w->inst.engine, slot).packets > packets);
}

/* Makes the first worker the owner of the queue that all workers use from `a` to `b`. */
static struct rx_rings *share_first_queue(struct instance_world *w, unsigned n_workers)
{
	struct worker *workers = w->inst.workers;
	struct rx_rings *rings = rx_rings_create(0, n_workers, 1);

	assert_non_null(rings);
	workers[0].paths[0].rings = rings;
	workers[1].paths[0] = workers[0].paths[0];
	assert_int_equal(workers[0].paths[0].tx_port, wire.b);
	return rings;
}

static uint64_t count_drops(const struct instance_world *w)
{
	struct worker_counters totals = instance_worker_totals(&w->inst);
	uint64_t sum = 0;

	for (unsigned r = 0; r < DROP_REASONS; r++)
		sum += totals.dropped[r];
	return sum;
}

/*
 * The owner of the queue through which a worker's packets leave. It is absent or busy for a while.
 */
struct owner {
	pthread_t thread;
	struct worker *worker;
	unsigned away_ms, busy_ms;
	uint64_t began;
	uint64_t stood_ns; /* maximum between two readings of the clock: it had no CPU */
	bool ends;         /* atomic */
};

/* The wire accepts the owner's own packet, but no returned packets. */
static void send_own(struct worker *w)
{
	struct rte_mbuf *m;

	set_takes(TAKES_NONE);
	distribute_collect(w);
	set_takes(TAKES_ALL);
	if (rte_eth_rx_burst(wire.a, 0, &m, 1) == 1)
		tx_send(w, &w->paths[0], &m, 1);
}

static void *owner_thread(void *arg)
{
	struct owner *owner = arg;
	uint64_t last = owner->began;

	for (;;) {
		uint64_t now = control_now(), ms = (now - owner->began) / NS_PER_MS;

		owner->stood_ns = now - last > owner->stood_ns ? now - last : owner->stood_ns;
		last = now;
		if (__atomic_load_n(&owner->ends, __ATOMIC_ACQUIRE))
			break;
		if (ms < owner->busy_ms)
			send_own(owner->worker);
		else if (ms >= owner->away_ms)
			distribute_collect(owner->worker);
		wait_ms(1);
	}
	while (distribute_collect(owner->worker))
		;
	return NULL;
}

static uint64_t cpu_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	return (uint64_t)ts.tv_sec * 1000 * NS_PER_MS + (uint64_t)ts.tv_nsec;
}

/* The time in which all waiting packets left the worker, and its CPU time. */
struct took {
	unsigned ms, cpu_ms;
};

static struct took leave_by(struct instance_world *w, struct owner *owner)
{
	uint64_t began = control_now(), cpu = cpu_ns();
	struct took took;

	owner->worker = &w->inst.workers[0];
	owner->began = began;
	assert_int_equal(pthread_create(&owner->thread, NULL, owner_thread, owner), 0);
	shape_out_all(&w->inst.workers[1]);
	took.ms = (unsigned)((control_now() - began) / NS_PER_MS);
	took.cpu_ms = (unsigned)((cpu_ns() - cpu) / NS_PER_MS);
	__atomic_store_n(&owner->ends, true, __ATOMIC_RELEASE);
	pthread_join(owner->thread, NULL);
	return took;
}

/* The maximum is CPU time, which does not grow while other processes have the CPU. */
struct patience_row {
	unsigned away_ms, busy_ms, least_ms, most_cpu_ms;
	bool down, all;
};

/*
 * Returns true if a worker was seen to wait correctly. A result is not valid and is measured again
 * in two cases. If the owner had no CPU for STOOD_NS by chance, the worker does not have to wait
 * for it. If the run took too long, the host may have paused, but it does not in each try.
 */
#define STOOD_NS (100 * NS_PER_MS)
#define TRIES    20

static bool is_patient(const struct patience_row *row)
{
	struct owner owner = {.away_ms = row->away_ms, .busy_ms = row->busy_ms};
	struct instance_world w;
	struct rx_rings *rings;
	struct took took;
	bool lost, stood;

	open_wire(&w, "80kbit/s");
	fill_worker_queue(&w, 1, RX_RING_PACKETS + 200);
	watch_wire(&w);
	rings = share_first_queue(&w, INSTANCE_WORKERS);
	assert_int_equal(rx_rings_open(rings, w.inst.workers, w.inst.slots.capacity), 0);
	set_takes(row->down ? TAKES_NONE : TAKES_ALL);
	took = leave_by(&w, &owner);
	set_takes(TAKES_ALL);
	lost = count_drops(&w) > 0;
	stood = owner.stood_ns > STOOD_NS;
	assert_true(took.ms >= row->least_ms);
	if (!stood && lost == row->all)
		fail_msg("%u dropped", (unsigned)count_drops(&w));
	if (!lost)
		assert_int_equal(wire.left, wire.came);
	close_wire(&w);
	if (stood || took.cpu_ms > row->most_cpu_ms)
		print_message("once more: %u ms, of a CPU %u, owner away for %u\n", took.ms,
			took.cpu_ms, (unsigned)(owner.stood_ns / NS_PER_MS));
	return !stood && took.cpu_ms <= row->most_cpu_ms;
}

/*
 * More packets than a ring holds leave through another worker. A worker without a CPU is waited
 * for, with a time limit. There is no wait for a worker that runs while its wire accepts no packet
 * of any worker.
 */
TEST(test_patience)
{
	static const struct patience_row rows[] = {
		{0, 0, 0, 900, false, true},
		{400, 0, 400, 1300, false, true},
		{0, 0, 20, 700, true, false},
		{1000000, 0, 1000, 5000, false, false},
		{0, 1500, 1500, 5000, false, true},
	};

	for (unsigned i = 0; i < COUNT(rows); i++) {
		unsigned tries = 0;

		print_message("row %u\n", i);
		while (!is_patient(&rows[i]))
			assert_true(++tries < TRIES);
	}
}

/*
 * The counter was set back. All waiting packets leave, because their times are not valid any more.
 */
TEST(test_set_back)
{
	ENDED_BY(close_wire) struct instance_world w;
	struct worker *worker;
	uint64_t now, before;

	open_wire(&w, "80kbit/s");
	worker = &w.inst.workers[0];
	fill_worker_queue(&w, 0, 200); /* more than one burst */
	watch_wire(&w);
	now = tick_now();
	shape_out_clock(worker, now);
	assert_int_equal(wire.left, 0); /* the clock continues */
	before = now - 3600 * tick_hz();
	shape_out_clock(worker, before);
	assert_int_equal(wire.left, wire.came);
	assert_false(shaper_waits(worker->shaper));
	assert_false(shaper_is_ahead(worker->shaper, before));
	assert_int_equal(count_drops(&w), 0);
	assert_int_equal(engine_waiting(&w.inst.engine, w.inst.slots.of[0]).packets, 0);
}

/* A worker that had no CPU between two attempts detects that the wire is up. */
TEST(test_no_cpu)
{
	ENDED_BY(close_wire) struct instance_world w;

	open_wire(&w, "80kbit/s");
	fill_worker_queue(&w, 0, 200);
	watch_wire(&w);
	set_takes(TAKES_EVERY_OTHER);
	shape_out_all(&w.inst.workers[0]);
	assert_true(wire.calls > 10);
	assert_int_equal(wire.left, wire.came);
	assert_int_equal(count_drops(&w), 0);
}

static void give_back(struct worker *w, struct path *path, unsigned bursts)
{
	struct rte_mbuf *mbufs[BURST];

	for (unsigned i = 0; i < bursts; i++) {
		assert_int_equal(rte_eth_rx_burst(wire.a, 0, mbufs, BURST), BURST);
		assert_int_equal(tx_try_pass_on(w, path, mbufs, BURST), BURST);
	}
}

/* Each worker that waits for a slow wire gets its share of it. */
TEST(test_takes_turns)
{
	static struct worker third = {.index = 2};
	ENDED_BY(close_wire) struct instance_world w;
	struct rx_rings *rings;

	open_wire(&w, "80kbit/s");
	watch_wire(&w);
	rings = share_first_queue(&w, 3);
	give_back(&w.inst.workers[1], &w.inst.workers[1].paths[0], 4);
	give_back(&third, &w.inst.workers[1].paths[0], 4);
	set_takes(TAKES_ROOM);
	for (unsigned i = 0; i < 12; i++) {
		wire.room = BURST / 4;
		distribute_collect(&w.inst.workers[0]);
		assert_int_equal(rx_rings_moved(rings), (i + 1) * BURST / 4);
		assert_int_equal(rx_rings_looks(rings), i + 1);
	}
	for (unsigned i = 1; i < 3; i++)
		assert_int_equal(rte_ring_count(rings->back[i]), 4 * BURST - 12 / 2 * BURST / 4);
	set_takes(TAKES_ALL);
	while (distribute_collect(&w.inst.workers[0]))
		;
	assert_int_equal(wire.left, wire.came);
}

static void *worker_thread(void *worker)
{
	worker_run(worker);
	return NULL;
}

/* The owner of a queue stops after all packets are sent, in any number of steps. */
TEST(test_land)
{
	struct worker *workers;
	ENDED_BY(close_wire) struct instance_world w;
	pthread_t thread;

	open_wire(&w, "8Mbit/s");
	fill_worker_queue(&w, 1, 4500);
	watch_wire(&w);
	share_first_queue(&w, INSTANCE_WORKERS);
	workers = w.inst.workers;
	set_takes(TAKES_ONE);
	worker_end(&workers[0]);
	__atomic_store_n(&w.inst.stop, true, __ATOMIC_RELAXED);
	assert_int_equal(pthread_create(&thread, NULL, worker_thread, &workers[0]), 0);
	shape_out_all(&workers[1]);
	__atomic_add_fetch(&w.inst.landed, 1, __ATOMIC_ACQ_REL);
	pthread_join(thread, NULL);
	assert_int_equal(wire.left, wire.came);
	assert_int_equal(count_drops(&w), 0);
	worker_begin(&workers[0]);
}

#define MARKED_BYTES 60
#define ECT          2 /* can be marked */
#define CE           3 /* is marked */

/* A waiting packet, and its expected result. */
struct departing {
	uint8_t ecn, flags;
	bool shared, clone; /* others hold the mbuf, or its bytes */
	bool leaves, marked;
	enum drop_reason why;
};

static const struct departing departing[] = {
	{.ecn = ECT, .leaves = true},
	{.ecn = ECT, .flags = SHAPE_MARK, .leaves = true, .marked = true},
	{.flags = SHAPE_MARK, .why = DROP_CODEL},
	{.ecn = ECT, .flags = SHAPE_MARK, .shared = true, .why = DROP_CODEL},
	{.ecn = ECT, .flags = SHAPE_MARK, .clone = true, .why = DROP_CODEL},
	{.ecn = CE, .flags = SHAPE_MARK, .leaves = true, .marked = true},
	{.ecn = ECT, .flags = SHAPE_DROP, .why = DROP_CODEL},
	{.ecn = ECT, .flags = SHAPE_DROP | SHAPE_DELAY_EXCEEDED, .why = DROP_DELAY_EXCEEDED},
	{.ecn = 1, .flags = SHAPE_MARK, .leaves = true, .marked = true},
	{.leaves = true},
};

#define N_DEPARTING (COUNT(departing))

static uint8_t left_ecn[N_DEPARTING]; /* by the number in a frame; UINT8_MAX: it has not left */

static uint16_t note_ecn(
	uint16_t port, uint16_t queue, struct rte_mbuf **mbufs, uint16_t n, void *context)
{
	for (uint16_t i = 0; i < n; i++) {
		const uint8_t *frame = rte_pktmbuf_mtod(mbufs[i], const uint8_t *);

		if (frame[19] >= N_DEPARTING)
			continue;
		left_ecn[frame[19]] = frame[15] & 3;
		assert_int_equal(rte_ipv4_cksum((const struct rte_ipv4_hdr *)(frame + 14)), 0);
	}
	return n;
}

/* Returns a frame of IPv4 with this number. */
static struct rte_mbuf *numbered_frame(struct instance_world *w, uint8_t number, uint8_t ecn)
{
	struct rte_mbuf *m = rte_pktmbuf_alloc(w->inst.ports[0].pool);
	static const uint8_t headers[] = {0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 2, 8, 0, /* Ethernet */
		0x45, 0, 0, MARKED_BYTES - 14, 0, 0, 0, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2};
	uint16_t sum;
	uint8_t *frame;

	assert_non_null(m);
	frame = (uint8_t *)rte_pktmbuf_append(m, MARKED_BYTES);
	memset(frame, 0, MARKED_BYTES);
	memcpy(frame, headers, sizeof(headers));
	frame[15] = ecn;
	frame[19] = number;
	sum = rte_ipv4_cksum((const struct rte_ipv4_hdr *)(frame + 14));
	memcpy(frame + 24, &sum, sizeof(sum));
	return m;
}

static enum shape_verdict arrive(struct worker *w, uint32_t slot, struct rte_mbuf *m)
{
	return shape_in_arrive(w, &w->policies[slot],
		&(struct held){.m = m, .slot = slot, .cost = 46, .ecn = true}, tick_now());
}

/* CoDel marks only bytes that no other mbuf shares. Packets that cannot be marked are dropped. */
TEST(test_codel_marks)
{
	struct rte_mbuf *mbufs[N_DEPARTING], *others[N_DEPARTING] = {NULL};
	const struct rte_eth_rxtx_callback *callback;
	unsigned passed = 0, leaves = 0, marked = 0, codel = 0, exceeded = 0;
	const struct policy_shape *shape;
	struct delay_sum delays = {{0}};
	ENDED_BY(instance_world_close) struct instance_world w;
	struct worker *worker;
	uint64_t sent;
	uint32_t slot;

	open_wire(&w, "8kbit/s");
	w.pieces--; /* one callback */
	worker = &w.inst.workers[0];
	slot = w.inst.slots.of[0];
	shape = worker_shape(worker, slot);
	memset(left_ecn, UINT8_MAX, sizeof(left_ecn));
	callback = rte_eth_add_tx_callback(
		worker->paths[0].tx_port, worker->paths[0].queue, note_ecn, NULL);
	assert_non_null(callback);
	for (;; passed++) { /* until nothing passes immediately */
		struct rte_mbuf *filler = numbered_frame(&w, N_DEPARTING, 0);

		if (arrive(worker, slot, filler) == SHAPE_WAITS)
			break;
		rte_pktmbuf_free(filler);
	}
	for (uint8_t i = 0; i < N_DEPARTING; i++) {
		const struct departing *row = &departing[i];

		mbufs[i] = numbered_frame(&w, i, row->ecn);
		if (row->clone) {
			others[i] = mbufs[i];
			mbufs[i] = rte_pktmbuf_clone(others[i], w.inst.ports[0].pool);
			assert_non_null(mbufs[i]);
		} else if (row->shared) {
			others[i] = mbufs[i];
			rte_mbuf_refcnt_update(mbufs[i], 1);
		}
		assert_int_equal(arrive(worker, slot, mbufs[i]), SHAPE_WAITS);
		shape_mbuf_packet(mbufs[i])->flags |= row->flags;
		leaves += row->leaves;
		marked += row->marked;
		codel += !row->leaves && row->why == DROP_CODEL;
		exceeded += !row->leaves && row->why == DROP_DELAY_EXCEEDED;
	}
	sent = worker->counters.tx_packets;
	shape_out_all(worker);
	for (unsigned i = 0; i < N_DEPARTING; i++) {
		const struct departing *row = &departing[i];

		assert_int_equal(left_ecn[i], !row->leaves  ? UINT8_MAX
					      : row->marked ? CE
							    : row->ecn);
	}
	assert_int_equal(worker->counters.tx_packets - sent, leaves + 1);
	/* decide() adds waiting packets; here they only leave. */
	assert_int_equal(
		worker->paths[0].counters.waiting, -(uint64_t)(leaves + 1 + codel + exceeded));
	assert_int_equal(worker->counters.dropped[DROP_CODEL], codel);
	assert_int_equal(worker->counters.dropped[DROP_DELAY_EXCEEDED], exceeded);
	assert_int_equal(instance_world_totals(&w, 0).dropped_packets, codel + exceeded);
	assert_int_equal(instance_world_totals(&w, 0).dropped_bytes, 46 * (codel + exceeded));
	assert_int_equal(shape->marked, marked);
	delay_fold(&delays, &shape->delay);
	assert_int_equal(delay_count(&delays), passed + leaves + 1);
	for (unsigned i = 0; i < N_DEPARTING; i++)
		rte_pktmbuf_free(others[i]);
	assert_int_equal(engine_waiting(&w.inst.engine, slot).packets, 0);
	assert_int_equal(rte_eth_remove_tx_callback(
				 worker->paths[0].tx_port, worker->paths[0].queue, callback),
		0);
}

TEST_GROUP(instance_world_start, instance_world_stop)
