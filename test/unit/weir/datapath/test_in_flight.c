/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * A burst whose headers are prefetched while the previous burst is decided. No packet overtakes it
 * or is lost. It waits for one poll of a queue, and until then counts as not received. The ports
 * have a ring for each direction, which the test fills and empties.
 */
#include "check.h"
#include "scope.h"

#include <rte_eal.h>
#include <rte_eth_ring.h>
#include <rte_ethdev.h>
#include <rte_mbuf.h>
#include <rte_ring.h>

#include <sodium.h>

#include "base/prng.h"
#include "config/load.h"
#include "in_flight.h"
#include "policy_txn.h"
#include "start.h"
#include "tick.h"
#include "totals.h"
#include "worker.h"

END_POINTER(policy_txn_free, struct policy_txn *)

#define RING   256
#define FRAME  60
#define NUMBER 50 /* offset of a frame's number */

enum { A, B, SIDES }; /* packets arrive at one port and leave by the other */

#define BOX                                                                               \
	"{'limiter': 'flight', 'workers': [0], 'idle': 'sleep',"                          \
	" 'ports': {'a': {'device': 'net_ring_a'}, 'b': {'device': 'net_ring_b'}},"       \
	" 'wires': [{'name': 'w', 'a': 'a', 'b': 'b'}],"                                  \
	" 'control': {'socket': '/tmp/weir-in-flight.sock'}," /* which is never opened */ \
	" 'policies': [%s]}"

#define OPEN "{'name': 'open', 'match': {}, 'limit': '10Gbit/s', 'burst': '100MB'}"
#define SHUT "{'name': 'shut', 'match': {}, 'limit': '1/d', 'count': 'packets', 'burst': 1}"
/* Some of many packets pass: its bucket earns one a millisecond. */
#define HALF "{'name': 'half', 'match': {}, 'limit': '1000/s', 'count': 'packets', 'burst': 40}"

static struct rte_ring *in[SIDES], *out[SIDES];
static struct instance inst;
static struct config *config;

static struct config *config_of(const char *policies)
{
	struct config *made = NULL;
	char *text;

	if (asprintf(&text, BOX, policies) < 0)
		abort();
	for (char *c = text; *c; c++)
		if (*c == '\'')
			*c = '"';
	if (config_parse(text, strlen(text), "in flight", stderr, &made))
		abort();
	free(text);
	return made;
}

static int start(void **state)
{
	static const char *const names[] = {"in_a", "in_b", "out_a", "out_b"};
	static const char *const ports[] = {"a", "b"};
	const char *args[] = {"flight", "--no-huge", "-m", "256", "--no-pci", "--no-telemetry",
		"--no-shconf", "--log-level=1", "--lcores=(0-1)@0"};

	if (sodium_init() < 0 || rte_eal_init((int)(COUNT(args)), (char **)(uintptr_t)args) < 0)
		return -1;
	for (unsigned k = 0; k < SIDES; k++) {
		in[k] = rte_ring_create(names[k], RING, SOCKET_ID_ANY, 0);
		out[k] = rte_ring_create(names[SIDES + k], RING, SOCKET_ID_ANY, 0);
		/* A packet received at one side leaves by the other, and is that side's output. */
		if (!in[k] || !out[k] || rte_eth_from_rings(ports[k], &in[k], 1, &out[k], 1, 0) < 0)
			return -1;
	}
	config = config_of(OPEN);
	if (instance_prepare(&inst, config, NULL))
		return -1;
	worker_begin(&inst.workers[0]);
	return 0;
}

static int stop(void **state)
{
	struct config *loaded = inst.loaded;

	worker_end(&inst.workers[0]);
	instance_stop(&inst);
	if (loaded != config)
		config_free(loaded);
	config_free(config);
	return inst.leaked ? -1 : 0;
}

/* Frames sent into each side and found at the other. */
struct flow {
	uint32_t sent[SIDES], found[SIDES], missing;
};

static void send_frames(struct flow *flow, unsigned side, unsigned n)
{
	uint8_t frame[FRAME] = {2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 8, 0, 0x45, 0, 0, 46, 0, 0, 0,
		0, 64, 17, 0, 0, 192, 0, 2, 1, 192, 0, 2, 2};

	for (unsigned i = 0; i < n; i++) {
		struct rte_mbuf *m = rte_pktmbuf_alloc(inst.ports[0].pool);

		assert_non_null(m);
		memcpy(frame + NUMBER, &flow->sent[side], sizeof(flow->sent[side]));
		memcpy(rte_pktmbuf_append(m, FRAME), frame, FRAME);
		assert_int_equal(rte_ring_enqueue(in[side], m), 0);
		flow->sent[side]++;
	}
}

/* Takes sent frames, in the order of their numbers; some can be missing. Returns how many. */
static unsigned take_frames(struct flow *flow, unsigned side)
{
	unsigned n = 0;
	void *taken;

	for (; rte_ring_dequeue(out[!side], &taken) == 0; n++) {
		struct rte_mbuf *m = taken;
		uint32_t number;

		memcpy(&number, rte_pktmbuf_mtod_offset(m, uint8_t *, NUMBER), sizeof(number));
		assert_in_range(number, flow->found[side], flow->sent[side] - 1);
		flow->missing += number - flow->found[side];
		flow->found[side] = number + 1;
		rte_pktmbuf_free(m);
	}
	return n;
}

static uint64_t dropped_so_far(void)
{
	return inst.workers[0].counters.dropped[DROP_LIMIT];
}

/* Loads other policies, which the limiter uses from its next turn on. */
static void reload(const char *policies)
{
	ENDED_BY(policy_txn_free_at) struct policy_txn *x;

	assert_int_equal(policy_txn_prepare_config(
				 &inst, config_of(policies), "file", tick_hz(), stderr, &x),
		0);
	assert_int_equal(policy_txn_commit(x), 0);
	do
		worker_turn(&inst.workers[0]);
	while (!policy_txn_finish(x));
}

/* Bursts of any size in both directions, in order. At most one waits. */
TEST(in_order)
{
	struct worker *w = &inst.workers[0];
	struct flow flow = {0};
	struct prng prng;

	prng_seed(&prng, 7);
	for (unsigned round = 0; round < 20000; round++) {
		uint64_t rx;

		for (unsigned side = 0; side < SIDES; side++)
			if (prng_below(&prng, 3))
				send_frames(&flow, side,
					RTE_MIN(prng_below(&prng, BURST + 9),
						rte_ring_free_count(in[side])));
		worker_turn(w);
		for (unsigned side = 0; side < SIDES; side++)
			take_frames(&flow, side);
		rx = w->counters.rx_packets;
		assert_int_equal(rx, w->counters.tx_packets);
		assert_in_range(flow.sent[A] - rte_ring_count(in[A]) - flow.found[A] +
					flow.sent[B] - rte_ring_count(in[B]) - flow.found[B],
			0, BURST);
	}
	while (rte_ring_count(in[A]) || rte_ring_count(in[B]) || w->in_flight->n) {
		worker_turn(w);
		for (unsigned side = 0; side < SIDES; side++)
			take_frames(&flow, side);
	}
	assert_int_equal(flow.found[A], flow.sent[A]);
	assert_int_equal(flow.found[B], flow.sent[B]);
	assert_int_equal(flow.missing, 0);
}

/* One burst in 16 is timed, both halves, and represents the others. */
TEST(timed_by_lot)
{
	struct worker *w = &inst.workers[0];
	uint64_t before = w->counters.busy_cycles, bursts = w->counters.bursts, began = tick_now();
	struct flow flow = {0};
	uint64_t busy;

	for (unsigned i = 0; i < 1600; i++) {
		send_frames(&flow, B, BURST);
		worker_turn(w);
		take_frames(&flow, B);
	}
	busy = w->counters.busy_cycles - before;
	assert_int_equal(w->counters.bursts - bursts, 1599); /* the last one waits */
	assert_int_equal(busy % 16, 0);
	assert_in_range(busy, 16 * (1600 / 16 - 2), 16 * (tick_now() - began));
	worker_finish(w);
	take_frames(&flow, B);
}

/* Checks how many of n packets leave in the turn of their arrival, and how many in the next. */
static void expect_leaving(unsigned side, unsigned n, unsigned now, unsigned then)
{
	struct flow flow = {0};

	send_frames(&flow, side, n);
	worker_turn(&inst.workers[0]);
	assert_int_equal(take_frames(&flow, side), now);
	worker_turn(&inst.workers[0]);
	assert_int_equal(take_frames(&flow, side), then);
	assert_int_equal(flow.missing, 0);
}

/* A burst of the first queue is finished by the poll of the second one, or by the next turn. */
TEST(waits_for_a_look)
{
	for (unsigned n = 1; n <= BURST; n++) {
		bool waits = n >= IN_FLIGHT_LEAST;

		expect_leaving(A, n, n, 0);
		expect_leaving(B, n, waits ? 0 : n, waits ? n : 0);
	}
	expect_leaving(B, BURST + 1, 0, BURST + 1); /* finishes the others, and itself */
	expect_leaving(A, BURST + 1, BURST, 1);
}

/* A packet that was not yet classified is decided by the policies at that time. */
TEST(belongs_to_the_newest)
{
	struct worker *w = &inst.workers[0];
	struct flow flow = {0};
	struct policy_txn *x;
	uint64_t dropped = dropped_so_far();

	send_frames(&flow, B, BURST);
	worker_turn(w);
	assert_int_equal(w->in_flight->n, BURST);
	assert_int_equal(
		policy_txn_prepare_config(&inst, config_of(SHUT), "file", tick_hz(), stderr, &x),
		0);
	assert_int_equal(policy_txn_commit(x), 0);
	worker_turn(w);
	assert_int_equal(take_frames(&flow, B), 1);
	assert_int_equal(dropped_so_far() - dropped, BURST - 1);
	while (!policy_txn_finish(x))
		worker_turn(w);
	policy_txn_free(x);
	reload(OPEN);
	expect_leaving(B, 5, 5, 0);
}

/*
 * Policies change repeatedly under traffic. Each packet leaves in order, or is counted as dropped.
 */
TEST(while_policies_change)
{
	static const char *const policies[] = {OPEN, HALF,
		HALF ","
		     "{'name': 'b', 'match': "
		     "{'direction': 'b-to-a'}, 'limit': '10Gbit/s', 'burst': '100MB'}"};
	struct worker *w = &inst.workers[0];
	struct flow flow = {0};
	uint64_t dropped = dropped_so_far();
	struct prng prng;

	prng_seed(&prng, 8);
	for (unsigned round = 0; round < 3000; round++) {
		if (round % 30 == 15)
			reload(policies[(round / 30 + 1) % 3]);
		for (unsigned side = 0; side < SIDES; side++)
			send_frames(&flow, side,
				RTE_MIN(prng_below(&prng, 2 * BURST),
					rte_ring_free_count(in[side])));
		worker_turn(w);
		for (unsigned side = 0; side < SIDES; side++)
			take_frames(&flow, side);
	}
	reload(OPEN);
	for (unsigned i = 0; i < 2 * RING / BURST; i++)
		worker_turn(w);
	for (unsigned side = 0; side < SIDES; side++) {
		take_frames(&flow, side);
		flow.missing += flow.sent[side] - flow.found[side];
	}
	assert_true(flow.missing > 0);
	assert_int_equal(flow.missing, dropped_so_far() - dropped);
}

/* A worker that ends leaves no packet behind. */
TEST(leaves_at_the_end)
{
	struct worker *w = &inst.workers[0];
	struct flow flow = {0};

	send_frames(&flow, B, BURST);
	worker_turn(w);
	assert_int_equal(take_frames(&flow, B), 0);
	worker_end(w);
	assert_int_equal(take_frames(&flow, B), BURST);
	worker_begin(w);
}

/* For each number of packets, each is in one of the halves, in order. */
TEST(in_halves)
{
	for (uint16_t n = 0; n <= BURST; n++) {
		const struct in_flight_next next = {.n = n};
		struct in_flight_part first = in_flight_part(&next, IN_FLIGHT_FIRST);
		struct in_flight_part second = in_flight_part(&next, IN_FLIGHT_SECOND);

		assert_int_equal(first.first, 0);
		assert_int_equal(second.first, first.end);
		assert_int_equal(second.end, n);
		assert_in_range(first.end, 0, BURST / 2);
		assert_in_range(second.end - second.first, 0, BURST / 2);
	}
}

TEST_GROUP(start, stop)
