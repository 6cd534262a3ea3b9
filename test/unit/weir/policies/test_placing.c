/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Rounds of placed policies: whose buckets do not arrive, as no worker has a turn; one at a time;
 * and what a reload has to do with them.
 */
#include "box_world.h"

#include <string.h>

#include <rte_cycles.h>
#include <rte_ethdev.h>
#include <rte_mbuf.h>

#include "packet/fragment.h"
#include "distribute.h"
#include "lanes.h"
#include "exchange.h"
#include "placing.h"
#include "usher.h"
#include "worker_own.h"

#define ROUND UINT64_C(100000000)
#define STEP  UINT64_C(20000000)

#define PLACED                                                                     \
	"{'name': 'placed', 'match': {}, 'limit': '10Mbit/s', 'action': 'shape', " \
	"'slo': {'p99': '50ms'}, 'place': {'key': 'src/24', 'round': '100ms'}}"

struct world {
	struct box_world box;
	struct placing *placing;
	uint64_t now;
};

/* Its ports have a queue for each worker: the lane is the test's. */
static void open_lane_of(struct world *world, const char *policies, enum guarantee guarantee)
{
	struct box *box = &world->box.box;
	struct lanes *lanes = lanes_create(0, BOX_WORKERS);

	box_world_open(&world->box, policies);
	assert_non_null(lanes);
	assert_int_equal(lanes_seat(lanes, box->workers, box->slots.capacity), 0);
	box->workers[0].paths[0].lanes = lanes;
	for (unsigned i = 0; i < box->n_policies; i++) {
		world->box.config->policies[i].guarantee = guarantee;
		assert_int_equal(placing_part.prepare(
					 box, &box->policies[i], box->slots.of[i], box->clock.hz),
			0);
		placing_part.begin(box, i);
	}
}

static void open_lane(struct world *world, const char *policies)
{
	open_lane_of(world, policies, GUARANTEE_SOFT);
}

/* Some bucket is to move. */
static void open_world(struct world *world)
{
	struct box *box = &world->box.box;

	open_lane(world, PLACED);
	world->placing = box->placings->first;
	assert_non_null(world->placing);
	world->now = ROUND;
	seating_want(&world->placing->seating, 7, !seat_at(world->placing->lanes[0].seats, 7));
	placings_look(box, world->now);
	assert_false(world->placing->measures);
}

/* Until a round is under way or not, as is said; in steps. */
static unsigned step_until_round(struct world *world, bool measures)
{
	unsigned n = 0;

	while (world->placing->measures != measures && n++ < 1000) {
		world->now += STEP;
		placings_look(&world->box.box, world->now);
	}
	return n;
}

/* A round is measured nevertheless, after some rounds' time; and again, and owners are asked. */
static void test_never_arriving(void **state)
{
	struct world world;

	(void)state;
	open_world(&world);
	for (unsigned i = 0; i < 3; i++) {
		unsigned asked = rte_ring_count(world.placing->lanes[0].usher->asks);

		assert_in_range(step_until_round(&world, true), 45, 55);
		assert_true(step_until_round(&world, false) >= 5);
		assert_true(rte_ring_count(world.placing->lanes[0].usher->asks) > asked);
	}
	box_world_close(&world.box);
}

/* At once, when the policy has changed. */
static void test_changed(void **state)
{
	struct world world;

	(void)state;
	open_world(&world);
	placing_part.change(&world.box.box, 0);
	assert_int_equal(step_until_round(&world, true), 1);
	assert_in_range(step_until_round(&world, false), 5, 6);
	assert_false(world.placing->changed && !world.placing->measures);
	box_world_close(&world.box);
}

static unsigned count_due(const struct box *box, uint64_t now)
{
	unsigned n = 0;

	for (const struct placing *p = box->placings->first; p; p = p->next)
		n += p->due_ns <= now;
	return n;
}

#define OF(name, dst, more) \
	"{'name': '" name "', 'match': {'dst': '" dst "'}, 'limit': '10Mbit/s'" more "}"
#define PLACED_OF(name, dst, more) OF(name, dst, ", 'action': 'shape', 'slo': {'p99': '50ms'}" more)

/* However many are due: control has others to look after. The next is due at once. */
static void test_one_at_a_time(void **state)
{
	struct world world;
	struct box *box = &world.box.box;

	(void)state;
	open_lane(&world, PLACED_OF("a", "10.0.0.0/24", "") ", " PLACED_OF(
				  "b", "10.0.1.0/24", "") ", " PLACED_OF("c", "10.0.2.0/24", ""));
	for (unsigned left = 3; left > 0; left--) {
		assert_int_equal(count_due(box, ROUND), left);
		assert_true(placings_next(box) <= ROUND);
		placings_look(box, ROUND);
	}
	assert_int_equal(count_due(box, ROUND), 0);
	assert_true(placings_next(box) > ROUND);
	box_world_close(&world.box);
}

/* What the owner's time goes to beside what he decides. */
static void test_handing(void **state)
{
	struct world world;
	const struct worker_counters *counters;

	(void)state;
	open_lane(&world, PLACED);
	counters = &world.box.box.workers[0].counters;
	world.placing = world.box.box.placings->first;
	for (uint64_t now = ROUND; now < 20 * ROUND; now += STEP) {
		for (unsigned i = 0; i < 4; i++)
			box_world_turn_all(&world.box);
		placings_look(&world.box.box, now);
	}
	assert_true(counters->handings > 100);
	assert_true(counters->handing_cycles > 0);
	assert_true(world.placing->fitting.rounds > 0);
	assert_true(world.placing->seen.workers[0].handing > 0);
	assert_true(world.placing->seen.workers[1].handing == 0);
	box_world_close(&world.box);
}

static struct exchange *prepare_placing(struct world *world, const char *policies)
{
	struct exchange *x;

	box_world_write(&world->box, policies);
	assert_int_equal(
		exchange_prepare(&world->box.box, world->box.file, rte_get_tsc_hz(), stderr, &x),
		0);
	return x;
}

/* Those that leave take nobody's place. */
static void test_room(void **state)
{
	struct world world;
	struct exchange *x;

	(void)state;
	open_lane(&world, PLACED_OF("a", "10.0.0.0/24", "") ", " PLACED_OF("b", "10.0.1.0/24", ""));
	x = prepare_placing(
		&world, PLACED_OF("a", "10.0.0.0/24", "") ", " PLACED_OF("c", "10.0.2.0/24", ""));
	assert_int_equal(world.box.box.placings->room, PLACINGS_MOST - 2);
	exchange_free(x);
	x = prepare_placing(&world, PLACED_OF("c", "10.0.2.0/24", ""));
	assert_int_equal(world.box.box.placings->room, PLACINGS_MOST - 1);
	world.box.box.placings->room = 0;
	exchange_free(x);
	/* Counted anew each time. */
	exchange_free(prepare_placing(&world, PLACED_OF("c", "10.0.2.0/24", "")));
	assert_int_equal(world.box.box.placings->room, PLACINGS_MOST - 1);
	box_world_close(&world.box);
}

/* Owners take nothing in for some turns where packets change their seats: else not. */
static void test_reseats(void **state)
{
#define A(more)            PLACED_OF("a", "10.0.0.0/24", more)
#define B(dst, more)       OF("b", dst, more)
#define BOTH(more, more_b) A(more) ", " B("10.1.0.0/16", more_b)
	static const struct {
		const char *policies;
		bool reseats;
	} rows[] = {
		{BOTH(", 'burst': '1MB'", ""), false},
		{BOTH("", ", 'burst': '1MB'"), false},
		{BOTH("", ", 'action': 'count'"), false},
		{A("") ", " B("10.2.0.0/16", ""), false},
		{A(""), false},
		{BOTH("", "") ", " OF("c", "10.3.0.0/16", ""), false},
		{A("") ", " B("10.0.0.0/16", ""), true},
		{BOTH("", "") ", " OF("c", "10.0.0.128/25", ""), true},
		{BOTH("", "") ", " PLACED_OF("c", "10.3.0.0/16", ""), true},
		{BOTH(", 'place': {'key': 'src/24'}", ""), true},
		{BOTH(", 'accounting': 'l2'", ""), true}, /* another slot */
		{B("10.1.0.0/16", "") ", " A(""), true},
		{B("10.1.0.0/16", ""), true},
		{PLACED_OF("a", "10.0.0.0/25", "") ", " B("10.1.0.0/16", ""), true},
		{OF("a", "10.0.0.0/24", "") ", " B("10.1.0.0/16", ""), true},
	};

	(void)state;
	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct world world;
		const struct publisher *publisher = &world.box.box.publisher;
		struct exchange *x;
		uint64_t before;

		box_world_open(&world.box, BOTH("", ""));
		before = publisher->current->seated;
		x = prepare_placing(&world, rows[i].policies);
		assert_int_equal(exchange_commit(x), 0);
		if ((publisher->current->seated == publisher->current->generation) !=
				rows[i].reseats ||
			(publisher->current->seated == before) == rows[i].reseats)
			fail_msg("row %u: %u, was %u", i, (unsigned)publisher->current->seated,
				(unsigned)before);
		for (unsigned n = 0; n < 10 && !exchange_settle(x); n++)
			box_world_turn_all(&world.box);
		for (unsigned w = 0; w < BOX_WORKERS; w++)
			assert_int_equal(worker_own(&world.box.box.workers[w])->view.seated,
				publisher->current->seated);
		exchange_free(x);
		box_world_close(&world.box);
	}
}

/* First fragments of UDP datagrams, instead of what came. */
static uint16_t make_first_fragments(uint16_t port, uint16_t queue, struct rte_mbuf **mbufs,
	uint16_t n, uint16_t most, void *context)
{
	static const uint8_t headers[] = {0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 2, 8, 0, /* Ethernet */
		0x45, 0, 0, 50, 0, 7, 0x20, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2, /* IPv4 */
		0, 9, 0, 53, 0, 30, 0, 0};                                             /* UDP */

	(void)port;
	(void)queue;
	(void)most;
	(void)context;
	for (uint16_t i = 0; i < n; i++)
		memcpy(rte_pktmbuf_mtod(mbufs[i], uint8_t *), headers, sizeof(headers));
	return n;
}

/* The owner looks at what comes twice, and counts it once. */
static void test_fragments(void **state)
{
#define FRAGMENTED                                                                        \
	"{'name': 'p', 'match': {'proto': 'udp', 'dst-port': '53'}, 'limit': '1Gbit/s', " \
	"'action': 'shape', 'slo': {'p99': '50ms'}}"
	const struct rte_eth_rxtx_callback *callback;
	struct world world;
	struct exchange *x;
	struct worker *owner;
	uint64_t expected;
	uint16_t port;

	(void)state;
	open_lane(&world, "");
	owner = &world.box.box.workers[0];
	port = owner->paths[0].rx_port;
	callback = rte_eth_add_rx_callback(port, 0, make_first_fragments, NULL);
	assert_non_null(callback);
	x = prepare_placing(&world, FRAGMENTED);
	assert_int_equal(exchange_commit(x), 0);
	for (unsigned n = 0; n < 10 && !exchange_settle(x); n++)
		box_world_turn_all(&world.box);
	exchange_free(x);
	assert_non_null(owner->fragments);
	expected = owner->fragments->first + BOX_BURST;
	box_world_turn(&world.box, 0);
	assert_int_equal(owner->fragments->first, expected);
	assert_int_equal(owner->fragments->found + owner->fragments->unknown, 0);
	assert_true(
		box_world_totals(&world.box, 0).passed_packets +
			engine_waiting(&world.box.box.engine, world.box.box.slots.of[0]).packets >=
		BOX_BURST);
	box_world_close(&world.box);
	assert_int_equal(rte_eth_remove_rx_callback(port, 0, callback), 0);
}

/* What the owner keeps back at the stop nobody has decided: soft ones leave. */
static void test_kept_back(void **state)
{
	static const enum guarantee guarantees[] = {GUARANTEE_SOFT, GUARANTEE_CONSERVED};

	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		struct rte_mbuf *mbufs[4];
		struct world world;
		struct worker *owner;
		struct mover *mover;
		struct seating *seating;
		unsigned n;

		open_lane_of(&world, PLACED, guarantees[i]);
		owner = &world.box.box.workers[0];
		mover = &owner->paths[0].lanes->usher->mover;
		seating = &world.box.box.placings->first->seating;
		seating_want(seating, 7, !seat_wanted(seating, 7));
		assert_true(mover_begin(mover, world.box.box.placings->first->lanes[0].seats));
		n = rte_eth_rx_burst(owner->paths[0].rx_port, 0, mbufs, 4);
		assert_int_equal(n, 4);
		for (unsigned k = 0; k < n; k++)
			assert_true(mover_keep(mover, mbufs[k], 7));
		distribute_end(owner, &owner->paths[0]);
		assert_int_equal(owner->counters.rx_packets, 4);
		assert_int_equal(owner->counters.tx_packets, i ? 0 : 4);
		assert_int_equal(owner->counters.dropped[DROP_STOPPED], i ? 4 : 0);
		box_world_close(&world.box);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_never_arriving),
		cmocka_unit_test(test_changed),
		cmocka_unit_test(test_one_at_a_time),
		cmocka_unit_test(test_handing),
		cmocka_unit_test(test_room),
		cmocka_unit_test(test_reseats),
		cmocka_unit_test(test_fragments),
		cmocka_unit_test(test_kept_back),
	};

	return cmocka_run_group_tests(tests, box_world_start, box_world_stop);
}
