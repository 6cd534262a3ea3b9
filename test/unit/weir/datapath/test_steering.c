/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The owner of a queue: requested moves, and when it must not receive. The test takes the place of
 * the other worker's turns and rings.
 */
#include "instance_world.h"
#include "scope.h"

#include "stuck.h"

#include <rte_mbuf.h>
#include <rte_ring.h>

#include "distribute.h"
#include "rx_rings.h"
#include "steering.h"
#include "worker_data.h"

#define SLOTS 4
#define SLOT  2

struct world {
	struct worker workers[2]; /* the first is the owner */
	struct stuck stuck;
	struct rx_rings *rings;
	struct steering *steering;
	struct reta_target reta_target;
	struct reta reta;
	uint64_t waited, left; /* counters of the other worker's queue */
};

static void open_world(struct world *world)
{
	memset(world, 0, sizeof(*world));
	world->workers[0].stuck = world->workers[1].stuck = &world->stuck;
	world->rings = rx_rings_create(0, 2, 1);
	assert_non_null(world->rings);
	assert_int_equal(rx_rings_open(world->rings, world->workers, SLOTS), 0);
	world->steering = world->rings->steering;
	reta_target_init(&world->reta_target, &(struct place_key){24, 64}, 1);
	reta_init(&world->reta, &world->reta_target);
	world->reta.queues[1] = (struct reta_queue){&world->waited, &world->left};
	steering_add(world->steering, SLOT, &world->reta);
}

static void close_world(struct world *world)
{
	rx_rings_destroy(world->rings);
}

/* Returns true if the owner must not receive. */
static bool turn_steering(struct world *world)
{
	struct rte_mbuf *mbufs[BURST];
	uint16_t n;
	bool drain = steering_turn(world->steering, &world->workers[0], mbufs, &n);

	assert_int_equal(n, 0);
	return drain;
}

static void pass_ring_packet(struct rte_ring *ring)
{
	void *packet;

	assert_int_equal(rte_ring_sc_dequeue(ring, &packet), 0);
}

/*
 * After a change of classifiers the owner waits until all packets handed out by the old one have
 * passed, step by step.
 */
TEST(test_drain)
{
	ENDED_BY(close_world) struct world world;
	struct rte_ring *out, *back;

	open_world(&world);
	out = world.rings->out[1];
	back = world.rings->back[1];
	assert_false(turn_steering(&world));
	assert_int_equal(rte_ring_sp_enqueue(out, &world), 0);
	world.workers[0].own.view.retargeted = 1;
	assert_true(turn_steering(&world));
	pass_ring_packet(out);
	assert_true(turn_steering(&world)); /* the worker still uses the old one */
	world.workers[1].generation = 1;
	assert_true(turn_steering(&world));
	assert_true(turn_steering(&world));
	assert_int_equal(rte_ring_sp_enqueue(back, &world), 0);
	world.workers[1].turn++;
	assert_true(turn_steering(&world));
	pass_ring_packet(back);
	assert_false(turn_steering(&world));
	assert_false(turn_steering(&world));
}

/* The drain does not wait for a stalled worker. */
TEST(test_drain_past_the_stuck)
{
	ENDED_BY(close_world) struct world world;

	open_world(&world);
	assert_int_equal(rte_ring_sp_enqueue(world.rings->out[1], &world), 0);
	world.workers[0].own.view.retargeted = 1;
	for (unsigned i = 0; i < 10; i++)
		assert_true(turn_steering(&world));
	world.stuck.now = 1 << 1;
	assert_false(turn_steering(&world));
	pass_ring_packet(world.rings->out[1]);
}

/* Like the owner's turn: no steering without placed policies. */
static bool owner_turn(struct world *world)
{
	return steering_has_tables(world->steering) && turn_steering(world);
}

/* The last placed policy leaves during a drain. Much later another one is added. */
TEST(test_drain_after_the_last)
{
	for (unsigned step = 0; step < 3; step++) {
		struct world world;
		struct rte_ring *back;

		(void)state;
		open_world(&world);
		back = world.rings->back[1];
		world.workers[0].own.view.retargeted = 1;
		world.workers[1].generation = step > 0;
		assert_true(owner_turn(&world));
		assert_int_equal(rte_ring_sp_enqueue(back, &world), 0);
		world.workers[1].turn += step > 1;
		assert_true(owner_turn(&world));
		steering_leave(world.steering, SLOT);
		steering_remove(world.steering, SLOT);
		world.workers[1].generation = 1;
		for (unsigned i = 0; i < 5; i++) {
			world.workers[1].turn++;
			assert_int_equal(rte_ring_sp_enqueue(back, &world), 0);
			owner_turn(&world);
			pass_ring_packet(back);
		}
		pass_ring_packet(back);
		assert_false(owner_turn(&world));
		assert_false(steering_has_tables(world.steering));
		steering_add(world.steering, SLOT, &world.reta);
		assert_false(owner_turn(&world));
		world.workers[0].own.view.retargeted = world.workers[1].generation = 2;
		for (unsigned i = 0; i < 3; i++) {
			owner_turn(&world);
			world.workers[1].turn++;
		}
		assert_false(owner_turn(&world));
		close_world(&world);
	}
}

/* A third classifier during a drain: all workers must use the newest. */
TEST(test_drain_again)
{
	ENDED_BY(close_world) struct world world;

	open_world(&world);
	world.workers[0].own.view.retargeted = world.workers[1].generation = 1;
	assert_true(turn_steering(&world));
	world.workers[0].own.view.retargeted = 2;
	for (unsigned i = 0; i < 3; i++) {
		world.workers[1].turn++;
		assert_true(turn_steering(&world));
	}
	world.workers[1].generation = 2;
	assert_true(turn_steering(&world));
	world.workers[1].turn++;
	assert_false(turn_steering(&world));
}

/* A bucket that moves does not delay the drain: its move is called off, and requested again. */
TEST(test_drain_ends_moves)
{
	ENDED_BY(close_world) struct world world;

	open_world(&world);
	reta_target_set(&world.reta_target, 7, 0);
	assert_true(steering_ask(world.steering, SLOT));
	world.waited = 1; /* does not leave */
	assert_false(turn_steering(&world));
	assert_false(steering_is_done(world.steering, SLOT));
	world.workers[0].own.view.retargeted = world.workers[1].generation = 1;
	assert_true(turn_steering(&world));
	assert_true(steering_is_done(world.steering, SLOT));
	for (unsigned i = 0; i < 3 && turn_steering(&world); i++)
		world.workers[1].turn++;
	assert_false(turn_steering(&world));
	assert_int_equal(reta_worker(&world.reta, 7), 1);
	assert_int_equal(world.steering->migration.called_off, 1);
	world.left = 1;
	assert_true(steering_ask(world.steering, SLOT));
	for (unsigned i = 0; i < 10; i++) {
		world.workers[1].turn++;
		assert_false(turn_steering(&world));
	}
	assert_int_equal(reta_worker(&world.reta, 7), 0);
}

static void turn_steering_times(struct world *world)
{
	for (unsigned i = 0; i < 10; i++) {
		world->workers[1].turn++;
		assert_false(turn_steering(world));
	}
}

/* Packets for a moving bucket arrive faster than its next worker takes them: giving still ends. */
TEST(test_giving_ends)
{
	ENDED_BY(close_world) struct world world;
	struct migration *migration;
	struct rte_ring *out;
	unsigned i;

	open_world(&world);
	migration = &world.steering->migration;
	out = world.rings->out[1];
	world.reta.queues[0] = (struct reta_queue){&world.waited, &world.left};
	reta_set(&world.reta, 7, 0);
	assert_true(steering_ask(world.steering, SLOT));
	world.waited = 1;
	assert_false(turn_steering(&world));
	for (i = 0; i < 100; i++)
		assert_true(migration_keep(migration, &world, 7));
	while (rte_ring_sp_enqueue(out, &world) == 0)
		;
	world.left = 1;
	assert_true(turn_steering(&world)); /* there is no room */
	for (i = 0; i < 200 && !migration_is_idle(migration); i++) {
		for (unsigned j = 0; j < 16; j++)
			pass_ring_packet(out);
		if (turn_steering(&world) || !migration_keeps(migration, &world.reta, 7))
			continue;
		for (unsigned j = 0; j < 32; j++)
			migration_keep(migration, &world, 7);
	}
	while (rte_ring_count(out) > 0)
		pass_ring_packet(out);
	migration->kept = 0; /* they are no packets */
	assert_in_range(i, 6, 7);
	assert_int_equal(reta_worker(&world.reta, 7), 1);
}

TEST(test_asked)
{
	ENDED_BY(close_world) struct world world;

	open_world(&world);
	reta_target_set(&world.reta_target, 7, 0);
	turn_steering_times(&world);
	assert_int_equal(reta_worker(&world.reta, 7), 1); /* without a request */
	assert_true(steering_ask(world.steering, SLOT));
	assert_true(steering_is_done(world.steering, SLOT));
	assert_false(turn_steering(&world));
	assert_false(steering_is_done(world.steering, SLOT));
	turn_steering_times(&world);
	assert_true(steering_is_done(world.steering, SLOT));
	assert_int_equal(reta_worker(&world.reta, 7), 0);
}

/* No bucket moves of a policy that leaves, or of none. */
TEST(test_leaving)
{
	ENDED_BY(close_world) struct world world;

	open_world(&world);
	reta_target_set(&world.reta_target, 7, 0);
	steering_leave(world.steering, SLOT);
	assert_true(steering_ask(world.steering, SLOT));
	turn_steering_times(&world);
	assert_int_equal(reta_worker(&world.reta, 7), 1);
	steering_remove(world.steering, SLOT);
	assert_false(steering_has_tables(world.steering));
	assert_true(steering_ask(world.steering, SLOT));
	turn_steering_times(&world);
	steering_remove(world.steering, SLOT); /* a second removal has no effect */
	assert_int_equal(world.steering->n_buckets, 0);
}

/* No bucket moves of a policy that is removed immediately, and for which a request is pending. */
TEST(test_removed)
{
	ENDED_BY(close_world) struct world world;

	open_world(&world);
	reta_target_set(&world.reta_target, 7, 0);
	assert_true(steering_ask(world.steering, SLOT));
	steering_remove(world.steering, SLOT);
	turn_steering_times(&world);
	assert_int_equal(reta_worker(&world.reta, 7), 1);
}

/* No buffer of a packet that is kept at the end leaks. */
TEST(test_end_keeping)
{
	static const unsigned rows[] = {1, BURST, BURST + 1};
	struct rte_mempool *pool = instance_world_ports()[0].pool;
	unsigned before = rte_mempool_avail_count(pool);

	for (unsigned row = 0; row < COUNT(rows); row++) {
		struct world world;

		open_world(&world);
		reta_target_set(&world.reta_target, 7, 0);
		assert_true(steering_ask(world.steering, SLOT));
		world.waited = 1; /* does not leave */
		assert_false(turn_steering(&world));
		for (unsigned i = 0; i < rows[row]; i++) {
			struct rte_mbuf *m = rte_pktmbuf_alloc(pool);

			assert_non_null(m);
			assert_true(migration_keep(&world.steering->migration, m, 7));
		}
		assert_int_equal(rte_mempool_avail_count(pool), before - rows[row]);
		close_world(&world);
		assert_int_equal(rte_mempool_avail_count(pool), before);
	}
}

/* --- packets by their fate -------------------------------------------------------------------- */

#define N_SHOWN 4

/* Makes UDP from 10.net.0.host, or a frame without IP. Returns the bucket of its source. */
static uint8_t make_shown(const struct world *world, struct rte_mbuf *m, uint8_t net, uint8_t host)
{
	const uint8_t head[] = {
		8, 0, 0x45, 0, 0, 28, 0, 0, 0x40, 0, 64, 17, 0, 0, 10, net, 0, host};
	uint8_t *frame = (uint8_t *)rte_pktmbuf_append(m, 60);
	struct packet packet;

	assert_non_null(frame);
	memset(frame, 0, 60);
	if (net)
		memcpy(frame + 12, head, sizeof(head));
	packet_parse(frame, 60, &packet);
	return reta_bucket(&world->reta_target.key, &packet, frame);
}

/*
 * A placed policy's packet goes to its bucket's worker. While the bucket moves it waits, or is
 * lost.
 */
TEST(test_show)
{
	static const uint8_t nets[N_SHOWN] = {1, 1, 2, 0};
	struct rte_mbuf *mbufs[N_SHOWN];
	uint8_t buckets[N_SHOWN], targets[N_SHOWN];
	uint16_t counts[3] = {0}, lost = 0;
	WORLD(w, "{'name': 'placed', 'match': {'src': '10.1.0.0/16'}, 'limit': '1Gbit/s'}, "
		 "{'name': 'other', 'match': {'src': '10.2.0.0/16'}, 'limit': '1Gbit/s'}");
	ENDED_BY(close_world) struct world world;
	struct path path;
	unsigned before;

	open_world(&world);
	steering_remove(world.steering, SLOT);
	steering_add(world.steering, w->inst.slots.of[0], &world.reta);
	world.workers[0].own.view.classifier = w->inst.workers[0].own.view.classifier;
	path = w->inst.workers[0].paths[0];
	path.rings = world.rings;
	before = rte_mempool_avail_count(w->inst.ports[0].pool);
	assert_int_equal(rte_pktmbuf_alloc_bulk(w->inst.ports[0].pool, mbufs, N_SHOWN), 0);
	for (uint8_t i = 0; i < N_SHOWN; i++)
		buckets[i] = make_shown(&world, mbufs[i], nets[i], 7 + i);
	assert_int_not_equal(buckets[0], buckets[1]);
	reta_set(&world.reta, buckets[0], 0);
	steering_show(
		world.steering, &world.workers[0], &path, mbufs, N_SHOWN, targets, counts, &lost);
	assert_int_equal(targets[0], 0);
	assert_int_equal(targets[1], 1);
	for (unsigned i = 2; i < N_SHOWN; i++)
		assert_int_equal(
			targets[i], rx_rings_worker_of(path.rings, mbufs[i], path.rx_hash));
	assert_int_equal(counts[0] + counts[1], N_SHOWN);
	assert_int_equal(counts[0], 1 + (targets[2] == 0) + (targets[3] == 0));
	for (unsigned i = 0; i < 2; i++) {
		assert_int_equal(world.reta.packets[buckets[i]], 1);
		assert_int_equal(world.reta.bytes[buckets[i]], 60);
	}
	/* The bucket of the second packet moves. */
	reta_target_set(&world.reta_target, buckets[0], 0);
	reta_target_set(&world.reta_target, buckets[1], 0);
	assert_true(steering_ask(world.steering, w->inst.slots.of[0]));
	world.waited = 1; /* does not leave */
	assert_false(turn_steering(&world));
	steering_show(world.steering, &world.workers[0], &path, mbufs, 2, targets, counts, &lost);
	assert_int_equal(targets[0], 0);
	assert_int_equal(targets[1], 2);
	assert_int_equal(counts[2], 1);
	assert_int_equal(lost, 0);
	/* Again, without room to keep packets. */
	while (migration_keep(&world.steering->migration, &world, buckets[1]))
		;
	assert_int_equal(rte_mempool_avail_count(w->inst.ports[0].pool), before - N_SHOWN);
	steering_show(
		world.steering, &world.workers[0], &path, mbufs + 1, 1, targets, counts, &lost);
	assert_int_equal(targets[0], 2);
	assert_int_equal(lost, 1);
	assert_int_equal(world.workers[0].counters.dropped[DROP_RING_FULL], 1);
	assert_int_equal(rte_mempool_avail_count(w->inst.ports[0].pool), before - N_SHOWN + 1);
	world.steering->migration.kept = 0; /* they are no packets, or are freed */
	mbufs[1] = mbufs[N_SHOWN - 1];
	rte_pktmbuf_free_bulk(mbufs, N_SHOWN - 1);
}

/* A request that finds no room can be repeated later. */
TEST(test_many_asks)
{
	ENDED_BY(close_world) struct world world;
	unsigned n = 0;

	open_world(&world);
	while (steering_ask(world.steering, SLOT))
		n++;
	assert_int_equal(n, STEERING_ASKS - 1);
	for (unsigned i = 0; i < n; i++)
		assert_false(turn_steering(&world));
	assert_true(steering_ask(world.steering, SLOT));
}

TEST_GROUP(instance_world_start, instance_world_stop)
