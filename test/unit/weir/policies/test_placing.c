/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Rounds of placed policies: with buckets that do not arrive because no worker has a turn, one
 * round at a time, and during reloads.
 */
#include "instance_world.h"
#include "scope.h"

#include <time.h>

#include <rte_ethdev.h>
#include <rte_mbuf.h>

#include "packet/fragment.h"
#include "police/shaped.h"
#include "distribute.h"
#include "event.h"
#include "fault.h"
#include "rx_rings.h"
#include "policy_txn.h"
#include "placing.h"
#include "steering.h"
#include "worker_data.h"
#include "tick.h"

#define ROUND UINT64_C(100000000)
#define STEP  UINT64_C(20000000)

#define PLACED                                                                     \
	"{'name': 'placed', 'match': {}, 'limit': '10Mbit/s', 'action': 'shape', " \
	"'slo': {'p99': '50ms'}, 'place': {'key': 'src/24', 'round': '100ms'}}"

struct world {
	struct instance_world inst;
	struct placing *placing;
	uint64_t now;
};

/* Opens an instance whose ports have a queue for each worker. The shared ring is the test's. */
static void open_lane_of(struct world *world, const char *policies, enum guarantee guarantee)
{
	struct instance *inst = &world->inst.inst;
	struct rx_rings *rings = rx_rings_create(0, INSTANCE_WORKERS, 1);

	instance_world_open(&world->inst, policies);
	assert_non_null(rings);
	assert_int_equal(rx_rings_open(rings, inst->workers, inst->slots.capacity), 0);
	inst->workers[0].paths[0].rings = rings;
	for (unsigned i = 0; i < inst->n_policies; i++) {
		world->inst.config->policies[i].guarantee = guarantee;
		assert_int_equal(placing_part.prepare(inst, &inst->policies[i], inst->slots.of[i],
					 inst->clock.hz),
			0);
		placing_part.begin(inst, i);
	}
}

static void open_lane(struct world *world, const char *policies)
{
	open_lane_of(world, policies, GUARANTEE_SOFT);
}

/* Opens an instance in which one bucket is to move. */
static void open_world(struct world *world)
{
	struct instance *inst = &world->inst.inst;

	open_lane(world, PLACED);
	world->placing = inst->placings->first;
	assert_non_null(world->placing);
	world->now = ROUND;
	reta_target_set(
		&world->placing->reta_target, 0, !reta_worker(world->placing->rings[0].reta, 0));
	placings_look(inst, world->now);
	assert_false(world->placing->measures);
}

/* Steps until a round is being measured, or until none is. Returns the number of steps. */
static unsigned step_until_round(struct world *world, bool measures)
{
	unsigned n = 0;

	while (world->placing->measures != measures && n++ < 1000) {
		world->now += STEP;
		placings_look(&world->inst.inst, world->now);
	}
	return n;
}

/*
 * If a bucket does not arrive, the next round is measured after the time of some rounds anyway.
 * Each time owners get the request again.
 */
TEST(test_never_arriving)
{
	struct world world;

	open_world(&world);
	for (unsigned i = 0; i < 3; i++) {
		unsigned asked = rte_ring_count(world.placing->rings[0].steering->asks);

		assert_in_range(step_until_round(&world, true), 45, 55);
		assert_true(step_until_round(&world, false) >= 5);
		assert_true(rte_ring_count(world.placing->rings[0].steering->asks) > asked);
	}
	instance_world_close(&world.inst);
}

/* A change of the policy starts a round immediately. */
TEST(test_changed)
{
	struct world world;

	open_world(&world);
	placing_part.change(&world.inst.inst, 0);
	assert_int_equal(step_until_round(&world, true), 1);
	assert_in_range(step_until_round(&world, false), 5, 6);
	assert_false(world.placing->changed && !world.placing->measures);
	instance_world_close(&world.inst);
}

static unsigned count_due(const struct instance *inst, uint64_t now)
{
	unsigned n = 0;

	for (const struct placing *p = inst->placings->first; p; p = p->next)
		n += p->due_ns <= now;
	return n;
}

#define OF(name, dst, more) \
	"{'name': '" name "', 'match': {'dst': '" dst "'}, 'limit': '10Mbit/s'" more "}"
#define PLACED_OF(name, dst, more) OF(name, dst, ", 'action': 'shape', 'slo': {'p99': '50ms'}" more)

/*
 * Control runs one due round at a time, because it has other duties. The next round follows
 * immediately.
 */
TEST(test_one_at_a_time)
{
	struct world world;
	struct instance *inst = &world.inst.inst;

	open_lane(&world, PLACED_OF("a", "10.0.0.0/24", "") ", " PLACED_OF(
				  "b", "10.0.1.0/24", "") ", " PLACED_OF("c", "10.0.2.0/24", ""));
	for (unsigned left = 3; left > 0; left--) {
		assert_int_equal(count_due(inst, ROUND), left);
		assert_true(placings_next(inst) <= ROUND);
		placings_look(inst, ROUND);
	}
	assert_int_equal(count_due(inst, ROUND), 0);
	assert_true(placings_next(inst) > ROUND);
	instance_world_close(&world.inst);
}

/* Returns true if all buckets of a policy have this worker as their target. */
static bool is_wanted_at(const struct instance *inst, unsigned policy, unsigned worker)
{
	const struct placing *placing = placing_of(inst, inst->slots.of[policy]);

	for (unsigned b = 0; b < RETA_SIZE; b++)
		if (reta_target_of(&placing->reta_target, b) != worker)
			return false;
	return true;
}

/*
 * A policy starts at the worker with the fewest target buckets of all policies, and at the owner if
 * all are equal.
 */
TEST(test_begins_at)
{
	struct world world;
	struct instance *inst = &world.inst.inst;

	open_lane(&world, PLACED_OF("a", "10.0.0.0/24", "") ", " PLACED_OF(
				  "b", "10.0.1.0/24", "") ", " PLACED_OF("c", "10.0.2.0/24", ""));
	assert_true(is_wanted_at(inst, 0, 0));
	assert_true(is_wanted_at(inst, 1, 1));
	assert_true(is_wanted_at(inst, 2, 0));
	placing_part.remove(inst, inst->slots.of[2]);
	reta_target_set(&placing_of(inst, inst->slots.of[1])->reta_target, 0, 0);
	assert_int_equal(
		placing_part.prepare(inst, &inst->policies[2], inst->slots.of[2], inst->clock.hz),
		0);
	placing_part.begin(inst, 2);
	assert_true(is_wanted_at(inst, 2, 1));
	instance_world_close(&world.inst);
}

/* The owner's time that goes to handing out packets of other workers. */
TEST(test_handing)
{
	struct world world;
	const struct worker_counters *counters;

	open_lane(&world, PLACED);
	counters = &world.inst.inst.workers[0].counters;
	world.placing = world.inst.inst.placings->first;
	for (uint64_t now = ROUND; now < 20 * ROUND; now += STEP) {
		for (unsigned i = 0; i < 4; i++)
			instance_world_turn_all(&world.inst);
		placings_look(&world.inst.inst, now);
	}
	assert_true(counters->handings > 100);
	assert_true(counters->handing_cycles > 0);
	assert_true(world.placing->rebalance.rounds > 0);
	assert_true(world.placing->seen.workers[0].handing > 0);
	assert_true(world.placing->seen.workers[1].handing == 0);
	instance_world_close(&world.inst);
}

/* The bytes of each bucket in a round, and the cost of a byte on each worker. */
TEST(test_measures)
{
	struct world world;
	struct instance *inst = &world.inst.inst;
	const double hz = (double)tick_hz();
	struct placing *placing;
	struct reta *reta;
	double seconds;

	open_lane(&world, PLACED);
	placing = inst->placings->first;
	placings_look(inst, ROUND); /* the first round begins */
	reta = placing->rings[0].reta;
	for (unsigned round = 1; round <= 2; round++) { /* only new counts matter */
		reta->packets[3] += 5000 * round;
		reta->bytes[3] += 500000 * round;
		inst->workers[0].counters.rx_packets += 5000 * round;
		inst->workers[0].counters.busy_cycles += inst->clock.hz / 100 * round;
		inst->workers[0].counters.handing_cycles += inst->clock.hz / 1000 * round;
		inst->workers[1].counters.rx_packets += 100 * round;
		seconds = (double)(placing->due_ns - placing->began_ns) / 1e9;
		placings_look(inst, placing->due_ns);
		assert_near(placing->seen.batch, 100, 0);
		assert_near(placing->seen.rates[3], 500000 * round / seconds, 1);
		assert_near(placing->seen.rates[4], 0, 0);
		assert_near(placing->rates[0], 500000 * round / seconds, 1);
		assert_near(placing->seen.workers[0].cost,
			(double)inst->clock.hz / hz / 100 / 500000, 1e-12);
		assert_near(placing->seen.workers[0].others, 500000 * round / seconds, 1);
		assert_near(placing->seen.workers[0].handing,
			(double)inst->clock.hz / hz * round / 1000 / seconds, 1e-6);
		assert_near(placing->seen.workers[1].cost, 0, 0);
		assert_near(placing->seen.workers[1].others, 10000 * round / seconds, 1);
		while (!placing->measures) /* until the move has timed out */
			placings_look(inst, placing->due_ns);
	}
	instance_world_close(&world.inst);
}

/* Counts n packets as late by this many milliseconds. */
static void add_late(const struct delay_bins *delay, unsigned ms, unsigned n)
{
	/* Workers write this; here the test takes the place of the worker. */
	struct delay_bins *bins = (struct delay_bins *)(uintptr_t)delay;

	while (n-- > 0)
		delay_add(bins, delay_unit(tick_hz()), ms * (tick_hz() / 1000));
}

/* Returns the reported value for a delay of this many milliseconds. */
static double told_s(unsigned ms)
{
	const unsigned unit = delay_unit(tick_hz());

	return (double)delay_bin_end(delay_bin(ms * (tick_hz() / 1000), unit), unit) /
	       (double)tick_hz();
}

/* A round reports the delays of its own packets only, for each worker. */
TEST(test_measures_delays)
{
	static const unsigned waited_ms[][INSTANCE_WORKERS] = {{40, 2}, {5, 30}, {1, 1}};
	static const unsigned reach_ms[][INSTANCE_WORKERS] = {{20, 1}, {2, 10}, {1, 1}};
	static const unsigned late_ms[][INSTANCE_WORKERS] = {{9, 4}, {3, 7}, {1, 1}};
	struct world world;
	struct instance *inst = &world.inst.inst;
	struct placing *placing;

	open_lane(&world, PLACED);
	placing = inst->placings->first;
	for (unsigned w = 0; w < INSTANCE_WORKERS; w++) { /* before the first round */
		add_late(&worker_shape(&inst->workers[w], placing->slot)->delay, 500, 10);
		add_late(&placing->workers[w].seat->reach, 500, 10);
		add_late(&shaper_counts(inst->workers[w].shaper)->lateness, 500, 10);
	}
	placings_look(inst, ROUND);
	for (unsigned round = 0; round < 3; round++) {
		placing->rings[0].reta->packets[3] += 1000;
		placing->rings[0].reta->bytes[3] += 1000;
		for (unsigned w = 0; w < INSTANCE_WORKERS; w++) {
			inst->workers[w].counters.rx_packets += 1000 + w;
			add_late(&worker_shape(&inst->workers[w], placing->slot)->delay,
				waited_ms[round][w], 100);
			add_late(&worker_shape(&inst->workers[w], placing->slot)->delay, 700, 1);
			add_late(&placing->workers[w].seat->reach, reach_ms[round][w], 200 + w);
			add_late(&shaper_counts(inst->workers[w].shaper)->lateness,
				late_ms[round][w], 50);
		}
		while (placing->rebalance.rounds == round)
			placings_look(inst, placing->due_ns);
		for (unsigned w = 0; w < INSTANCE_WORKERS; w++) {
			const struct rebalance_worker *seen = &placing->seen.workers[w];

			assert_int_equal(seen->packets, 101);
			assert_near(seen->p99, told_s(waited_ms[round][w]), 1e-12);
			assert_near(seen->added,
				told_s(reach_ms[round][w]) + told_s(late_ms[round][w]), 1e-12);
			assert_near(seen->others, 800 / 0.1, 1e-6); /* one byte each */
		}
		while (!placing->measures)
			placings_look(inst, placing->due_ns);
	}
	instance_world_close(&world.inst);
}

/* A worker that misses the objective through its own load loses buckets. */
TEST(test_wanted_elsewhere)
{
	struct world world;
	struct instance *inst = &world.inst.inst;
	struct placing *placing;
	unsigned there = 0;

	open_lane(&world, PLACED);
	placing = inst->placings->first;
	placings_look(inst, ROUND);
	for (unsigned b = 0; b < RETA_SIZE; b++) {
		placing->rings[0].reta->packets[b] += 100;
		placing->rings[0].reta->bytes[b] += 10000;
	}
	add_late(&worker_shape(&inst->workers[0], placing->slot)->delay, 400, 2000);
	add_late(&placing->workers[0].seat->reach, 400, 2000);
	inst->workers[0].counters.rx_packets += 100 * RETA_SIZE;
	inst->workers[0].counters.busy_cycles += tick_hz() / 11; /* nearly the whole round */
	assert_true(steering_is_done(placing->rings[0].steering, placing->slot));
	assert_int_equal(rte_ring_count(placing->rings[0].steering->asks), 0);
	placings_look(inst, placing->due_ns);
	assert_int_equal(placing->rebalance.used, 2);
	for (unsigned b = 0; b < RETA_SIZE; b++) {
		assert_int_equal(
			reta_target_of(&placing->reta_target, b), placing->rebalance.wanted[b]);
		assert_int_equal(
			reta_worker(placing->rings[0].reta, b), 0); /* they have not moved yet */
		there += placing->rebalance.wanted[b] == 1;
	}
	assert_in_range(there, 1, RETA_SIZE - 1);
	assert_int_equal(placing_counts(placing).away, there);
	assert_false(placing->measures);
	assert_int_equal(rte_ring_count(placing->rings[0].steering->asks), 1);
	instance_world_close(&world.inst);
}

/* A policy beyond the maximum is enforced without a placement. One event reports this. */
TEST(test_no_room)
{
	struct world world;
	struct instance *inst = &world.inst.inst;
	uint64_t first;
	json_t *said;

	open_lane(&world, PLACED_OF("a", "10.0.0.0/24", "") ", " OF("b", "10.0.1.0/24", ""));
	placing_part.remove(inst, inst->slots.of[0]);
	assert_null(inst->placings->first);
	for (unsigned room = 0; room < 2; room++) {
		inst->placings->room = room;
		first = events_number();
		for (unsigned i = 0; i < 2; i++) /* the other policy needs no placement */
			assert_int_equal(placing_part.prepare(inst, &inst->policies[i],
						 inst->slots.of[i], inst->clock.hz),
				0);
		assert_int_equal(inst->placings->room, 0);
		assert_int_equal(placing_of(inst, inst->slots.of[0]) != NULL, room);
		assert_null(placing_of(inst, inst->slots.of[1]));
		assert_int_equal(events_number() - first, !room);
		/* The steps of placed policies ignore it. */
		placing_part.begin(inst, 0);
		placing_part.change(inst, 0);
		assert_int_equal(inst->placings->first != NULL, room);
		assert_true(placing_part.is_done(inst, inst->slots.of[0]));
		placing_part.leave(inst, inst->slots.of[0]);
		assert_null(inst->placings->first);
		if (room)
			continue;
		said = events_get(first);
		assert_string_equal(
			json_string_value(json_object_get(said, "event")), "policy_not_placed");
		assert_string_equal(json_string_value(json_object_get(said, "policy")), "a");
		assert_int_equal(json_integer_value(json_object_get(said, "most")), 1024);
		json_decref(said);
	}
	instance_world_close(&world.inst);
}

static unsigned count_placings(const struct instance *inst)
{
	unsigned n = 0;

	for (const struct placing *p = inst->placings->first; p; p = p->next)
		n++;
	return n;
}

/*
 * A removed policy has no more rounds, for each position in the list. It is not done while a bucket
 * moves.
 */
TEST(test_leaves)
{
	for (unsigned leaves = 0; leaves < 3; leaves++) {
		struct world world;
		struct instance *inst = &world.inst.inst;
		struct reta_target *reta_target;
		struct steering *steering;
		uint32_t slot;

		open_lane(
			&world, PLACED_OF("a", "10.0.0.0/24", "") ", " PLACED_OF("b", "10.0.1.0/24",
					"") ", " PLACED_OF("c", "10.0.2.0/24", ""));
		assert_int_equal(count_placings(inst), 3);
		slot = inst->slots.of[leaves];
		steering = placing_of(inst, slot)->rings[0].steering;
		reta_target = &placing_of(inst, slot)->reta_target;
		reta_target_set(reta_target, 9, !reta_target_of(reta_target, 9));
		assert_true(migration_begin(
			&steering->migration, placing_of(inst, slot)->rings[0].reta));
		for (unsigned i = 0; i < 3; i++)
			assert_int_equal(
				placing_part.is_done(inst, inst->slots.of[i]), i != leaves);
		placing_part.leave(inst, slot);
		assert_int_equal(count_placings(inst), 2);
		for (unsigned i = 0; i < 3; i++)
			assert_int_equal(
				steering->entries[inst->slots.of[i]].movable != NULL, i != leaves);
		for (const struct placing *p = inst->placings->first; p; p = p->next)
			assert_true(p->slot != slot);
		assert_int_equal(steering->n_buckets, 3);
		instance_world_close(&world.inst);
	}
}

#define SHOWN 8

/* Frames like those of net_null; the last one has another sender. */
static void new_frames(const struct world *world, struct rte_mbuf *mbufs[SHOWN])
{
	struct rte_mempool *pool = world->inst.inst.ports[0].pool;

	assert_int_equal(rte_pktmbuf_alloc_bulk(pool, mbufs, SHOWN), 0);
	for (unsigned i = 0; i < SHOWN; i++) {
		char *frame = rte_pktmbuf_append(mbufs[i], (uint16_t)(64 + i));

		memset(frame, 0, 64 + i);
		frame[11] = i + 1 == SHOWN ? 5 : 0;
	}
}

/*
 * Packets of a moving bucket are kept in order while there is room, and lost after that. Packets of
 * other buckets go to their worker.
 */
TEST(test_kept_while_there_is_room)
{
	struct world world;
	struct instance *inst = &world.inst.inst;
	struct worker *owner;
	uint8_t targets[BURST], moving = 0, stays = 0;
	uint16_t counts[INSTANCE_WORKERS + 1] = {0}, lost = 0;
	struct rte_mbuf *mbufs[SHOWN];
	struct steering *steering;
	struct placing *placing;
	struct reta *reta;
	unsigned free;

	open_lane(&world, PLACED);
	owner = &inst->workers[0];
	placing = inst->placings->first;
	reta = placing->rings[0].reta;
	steering = placing->rings[0].steering;
	new_frames(&world, mbufs);
	steering_show(steering, owner, &owner->paths[0], mbufs, SHOWN, targets, counts, &lost);
	assert_int_equal(counts[0], SHOWN);
	for (unsigned b = 0; b < RETA_SIZE; b++) {
		moving = reta->packets[b] == SHOWN - 1 ? (uint8_t)b : moving;
		stays = reta->packets[b] == 1 ? (uint8_t)b : stays;
	}
	assert_true(moving != stays);
	assert_int_equal(reta->bytes[moving], 64 * 7 + 6 * 7 / 2);
	assert_int_equal(reta->bytes[stays], 71);
	reta_set(reta, moving, 1);
	assert_true(migration_begin(&steering->migration, reta));
	steering->migration.kept = MIGRATION_KEEPS - 3; /* packets of other buckets */
	memset(counts, 0, sizeof(counts));
	free = rte_mempool_avail_count(inst->ports[0].pool);
	steering_show(steering, owner, &owner->paths[0], mbufs, SHOWN, targets, counts, &lost);
	assert_int_equal(steering->migration.kept, MIGRATION_KEEPS);
	assert_int_equal(lost, 4);
	assert_int_equal(owner->counters.dropped[DROP_RING_FULL], 4);
	assert_int_equal(rte_mempool_avail_count(inst->ports[0].pool), free + 4);
	assert_int_equal(counts[0], 1);
	assert_int_equal(counts[1], 0);
	assert_int_equal(counts[INSTANCE_WORKERS], SHOWN - 1);
	for (unsigned i = 0; i < SHOWN; i++)
		assert_int_equal(targets[i], i + 1 == SHOWN ? 0 : INSTANCE_WORKERS);
	for (unsigned i = 0; i < 3; i++) {
		assert_ptr_equal(steering->migration.packets[MIGRATION_KEEPS - 3 + i], mbufs[i]);
		assert_int_equal(steering->migration.buckets[MIGRATION_KEEPS - 3 + i], moving);
	}
	assert_int_equal(reta->packets[moving], 2 * (SHOWN - 1)); /* including lost ones */
	rte_pktmbuf_free_bulk(mbufs, 3);
	rte_pktmbuf_free(mbufs[SHOWN - 1]);
	steering->migration.kept = 0;
	instance_world_close(&world.inst);
}

/* Packets of no placed policy are spread by their flow hash and count in no bucket. */
TEST(test_not_placed)
{
	struct world world;
	struct instance *inst = &world.inst.inst;
	struct worker *owner;
	uint16_t counts[INSTANCE_WORKERS + 1] = {0}, lost = 0;
	struct rte_mbuf *mbufs[SHOWN];
	uint8_t targets[BURST];
	unsigned worker;

	open_lane(&world, PLACED_OF("a", "10.0.0.0/24", ""));
	owner = &inst->workers[0];
	new_frames(&world, mbufs);
	worker = rx_rings_worker_of(owner->paths[0].rings, mbufs[0], owner->paths[0].rx_hash);
	steering_show(inst->placings->first->rings[0].steering, &inst->workers[0], &owner->paths[0],
		mbufs, SHOWN, targets, counts, &lost);
	assert_int_equal(lost, 0);
	for (unsigned i = 0; i < SHOWN; i++)
		assert_int_equal(targets[i], rx_rings_worker_of(owner->paths[0].rings, mbufs[i],
						     owner->paths[0].rx_hash));
	assert_in_range(counts[worker], 1, SHOWN);
	assert_int_equal(counts[0] + counts[1], SHOWN);
	for (unsigned b = 0; b < RETA_SIZE; b++)
		assert_int_equal(inst->placings->first->rings[0].reta->packets[b], 0);
	rte_pktmbuf_free_bulk(mbufs, SHOWN);
	instance_world_close(&world.inst);
}

/* A round with fewer than 1000 packets decides nothing and continues, but not forever. */
TEST(test_few_packets)
{
	static const uint64_t packets[] = {999, 1000};

	for (unsigned i = 0; i < 2; i++) {
		struct world world;
		struct placing *placing;
		uint64_t began, now = 0;

		open_lane(&world, PLACED);
		placing = world.inst.inst.placings->first;
		placings_look(&world.inst.inst, ROUND);
		began = placing->began_ns;
		placing->rings[0].reta->packets[3] += packets[i];
		placings_look(&world.inst.inst, began + ROUND);
		assert_int_equal(placing->rebalance.rounds, i);
		began = placing->began_ns;
		for (unsigned n = 0; n < 100 && placing->rebalance.rounds == i; n++) {
			now = placing->due_ns;
			placings_look(&world.inst.inst, now);
		}
		assert_int_equal(placing->rebalance.rounds, i + 1);
		assert_int_equal(now - began, 10 * ROUND);
		instance_world_close(&world.inst);
	}
}

/* A removed policy does not count against the maximum. */
TEST(test_room)
{
	struct world world;
	struct policy_txn *x;

	open_lane(&world, PLACED_OF("a", "10.0.0.0/24", "") ", " PLACED_OF("b", "10.0.1.0/24", ""));
	x = instance_world_prepare(&world.inst,
		PLACED_OF("a", "10.0.0.0/24", "") ", " PLACED_OF("c", "10.0.2.0/24", ""));
	assert_int_equal(world.inst.inst.placings->room, PLACINGS_MOST - 2);
	policy_txn_free(x);
	x = instance_world_prepare(&world.inst, PLACED_OF("c", "10.0.2.0/24", ""));
	assert_int_equal(world.inst.inst.placings->room, PLACINGS_MOST - 1);
	world.inst.inst.placings->room = 0;
	policy_txn_free(x);
	/* The room is counted again for each transaction. */
	policy_txn_free(instance_world_prepare(&world.inst, PLACED_OF("c", "10.0.2.0/24", "")));
	assert_int_equal(world.inst.inst.placings->room, PLACINGS_MOST - 1);
	instance_world_close(&world.inst);
}

/* A removed policy has no rounds from the change on, even before workers have seen the change. */
TEST(test_no_rounds_once_it_leaves)
{
	struct world world;
	const struct instance *inst = &world.inst.inst;
	const struct placing *first;
	struct policy_txn *x;

	open_lane(&world, PLACED_OF("a", "10.0.0.0/24", "") ", " PLACED_OF("b", "10.0.1.0/24", ""));
	assert_non_null(inst->placings->first);
	assert_non_null(inst->placings->first->next);
	x = instance_world_prepare(&world.inst, PLACED_OF("b", "10.0.1.0/24", ""));
	assert_non_null(inst->placings->first->next);
	assert_int_equal(policy_txn_commit(x), 0);
	first = inst->placings->first;
	assert_non_null(first);
	assert_int_equal(first->slot, inst->slots.of[0]);
	assert_null(first->next);
	for (unsigned n = 0; n < 10 && !policy_txn_finish(x); n++)
		instance_world_turn_all(&world.inst);
	policy_txn_free(x);
	assert_ptr_equal(inst->placings->first, first);
	instance_world_close(&world.inst);
}

/* Owners stop receiving for some turns only if the change can move packets to other buckets. */
TEST(test_retargets)
{
#define A(more)            PLACED_OF("a", "10.0.0.0/24", more)
#define B(dst, more)       OF("b", dst, more)
#define BOTH(more, more_b) A(more) ", " B("10.1.0.0/16", more_b)
	static const struct {
		const char *policies;
		bool retargets;
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

	for (unsigned i = 0; i < COUNT(rows); i++) {
		struct world world;
		const struct publisher *publisher = &world.inst.inst.publisher;
		struct policy_txn *x;
		uint64_t before;

		instance_world_open(&world.inst, BOTH("", ""));
		before = publisher->current->retargeted;
		x = instance_world_prepare(&world.inst, rows[i].policies);
		assert_int_equal(policy_txn_commit(x), 0);
		if ((publisher->current->retargeted == publisher->current->generation) !=
				rows[i].retargets ||
			(publisher->current->retargeted == before) == rows[i].retargets)
			fail_msg("row %u: %u, was %u", i, (unsigned)publisher->current->retargeted,
				(unsigned)before);
		for (unsigned n = 0; n < 10 && !policy_txn_finish(x); n++)
			instance_world_turn_all(&world.inst);
		for (unsigned w = 0; w < INSTANCE_WORKERS; w++)
			assert_int_equal(world.inst.inst.workers[w].own.view.retargeted,
				publisher->current->retargeted);
		policy_txn_free(x);
		instance_world_close(&world.inst);
	}
}

/* Replaces received packets by first fragments of UDP datagrams. */
static uint16_t make_first_fragments(uint16_t port, uint16_t queue, struct rte_mbuf **mbufs,
	uint16_t n, uint16_t most, void *context)
{
	static const uint8_t headers[] = {0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 2, 8, 0, /* Ethernet */
		0x45, 0, 0, 50, 0, 7, 0x20, 0, 64, 17, 0x46, 0xb2, 10, 0, 0, 1, 10, 0, 0,
		2,                         /* IPv4 */
		0, 9, 0, 53, 0, 30, 0, 0}; /* UDP */

	for (uint16_t i = 0; i < n; i++)
		memcpy(rte_pktmbuf_mtod(mbufs[i], uint8_t *), headers, sizeof(headers));
	return n;
}

/* The owner parses these packets twice and counts them once. */
TEST(test_fragments)
{
#define FRAGMENTED                                                                        \
	"{'name': 'p', 'match': {'proto': 'udp', 'dst-port': '53'}, 'limit': '1Gbit/s', " \
	"'action': 'shape', 'slo': {'p99': '50ms'}}"
	const struct rte_eth_rxtx_callback *callback;
	struct world world;
	struct policy_txn *x;
	struct worker *owner;
	uint64_t expected;
	uint16_t port;

	open_lane(&world, "");
	owner = &world.inst.inst.workers[0];
	port = owner->paths[0].rx_port;
	callback = rte_eth_add_rx_callback(port, 0, make_first_fragments, NULL);
	assert_non_null(callback);
	x = instance_world_prepare(&world.inst, FRAGMENTED);
	assert_int_equal(policy_txn_commit(x), 0);
	for (unsigned n = 0; n < 10 && !policy_txn_finish(x); n++)
		instance_world_turn_all(&world.inst);
	policy_txn_free(x);
	assert_non_null(owner->fragments);
	expected = owner->fragments->first + INSTANCE_BURST;
	instance_world_turn(&world.inst, 0);
	assert_int_equal(owner->fragments->first, expected);
	assert_int_equal(owner->fragments->found + owner->fragments->unknown, 0);
	assert_true(instance_world_totals(&world.inst, 0).passed_packets +
			    engine_waiting(&world.inst.inst.engine, world.inst.inst.slots.of[0])
				    .packets >=
		    INSTANCE_BURST);
	instance_world_close(&world.inst);
	assert_int_equal(rte_eth_remove_rx_callback(port, 0, callback), 0);
}

/* The owner has undecided packets at the stop. It sends them for soft limits only. */
TEST(test_kept_back)
{
	static const enum guarantee guarantees[] = {GUARANTEE_SOFT, GUARANTEE_HARD};

	for (unsigned i = 0; i < 2; i++) {
		struct rte_mbuf *mbufs[4];
		struct world world;
		struct worker *owner;
		struct migration *migration;
		struct reta_target *reta_target;
		unsigned n;

		open_lane_of(&world, PLACED, guarantees[i]);
		owner = &world.inst.inst.workers[0];
		migration = &owner->paths[0].rings->steering->migration;
		reta_target = &world.inst.inst.placings->first->reta_target;
		reta_target_set(reta_target, 7, !reta_target_of(reta_target, 7));
		assert_true(
			migration_begin(migration, world.inst.inst.placings->first->rings[0].reta));
		n = rte_eth_rx_burst(owner->paths[0].rx_port, 0, mbufs, 4);
		assert_int_equal(n, 4);
		for (unsigned k = 0; k < n; k++)
			assert_true(migration_keep(migration, mbufs[k], 7));
		distribute_end(owner, &owner->paths[0]);
		assert_int_equal(owner->counters.rx_packets, 4);
		assert_int_equal(owner->counters.tx_packets, i ? 0 : 4);
		assert_int_equal(owner->counters.dropped[DROP_STOPPED], i ? 4 : 0);
		instance_world_close(&world.inst);
	}
}

/* The owner of a queue reads the counts of a worker's queue at its seat. */
TEST(test_left)
{
	struct world world;
	const struct instance *inst = &world.inst.inst;
	const struct placing *placing;
	uint64_t left = 0;

	open_lane(&world, PLACED);
	placing = inst->placings->first;
	for (unsigned w = 0; w < INSTANCE_WORKERS; w++) {
		const struct policy_shape *shape = worker_shape(&inst->workers[w], placing->slot);

		assert_ptr_equal(shape->seat, placing->workers[w].seat);
		assert_ptr_equal(placing->rings[0].reta->queues[w].left, &shape->seat->left);
		assert_ptr_equal(placing->rings[0].reta->queues[w].waited, &shape->waited);
	}
	for (unsigned i = 0; i < 100 && left == 0; i++) {
		nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
		instance_world_turn_all(&world.inst);
		for (unsigned w = 0; w < INSTANCE_WORKERS; w++)
			left += *placing->rings[0].reta->queues[w].left;
	}
	assert_true(left > 0);
	instance_world_close(&world.inst);
}

/* Rings shared by workers are freed once, for each owner and direction. */
TEST(test_rings_go)
{
	WORLD(w, PLACED);

	for (unsigned i = 0; i < 2; i++) {
		struct rx_rings *rings = rx_rings_create(i, INSTANCE_WORKERS, 1);

		assert_non_null(rings);
		assert_int_equal(rx_rings_open(rings, w->inst.workers, w->inst.slots.capacity), 0);
		for (unsigned k = 0; k < INSTANCE_WORKERS; k++)
			w->inst.workers[k].paths[i].rings = rings;
	}
}

static int prepare_placed(const void *argument)
{
	struct instance *inst = (struct instance *)(uintptr_t)argument;
	uint32_t slot = inst->slots.of[0];
	int rc = placing_part.prepare(inst, &inst->policies[0], slot, inst->clock.hz);

	assert_int_equal(placing_of(inst, slot) && rc == 0, rc == 0);
	placing_part.remove(inst, slot);
	assert_null(placing_of(inst, slot));
	inst->placings->room = 1;
	return rc;
}

/* A failed allocation at any point returns an error, and the placement is removed completely. */
TEST(test_without_memory)
{
	struct rx_rings *rings = rx_rings_create(0, INSTANCE_WORKERS, 1);
	WORLD(w, PLACED);

	assert_non_null(rings);
	assert_int_equal(rx_rings_open(rings, w->inst.workers, w->inst.slots.capacity), 0);
	w->inst.workers[0].paths[0].rings = rings;
	w->inst.placings->room = 1;
	fault_try(&(struct fault_subject){.name = "placing",
		.run = prepare_placed,
		.argument = &w->inst,
		.kinds = FAULT_MEMORY,
		.at_least = 4 + INSTANCE_WORKERS});
}

TEST_GROUP(instance_world_start, instance_world_stop)
