/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * A whole limiter with timed policies: the departure of each packet is fixed at its arrival. Limits
 * and policies change. Packets must leave in order and not before their time, and none is lost.
 * Later packets follow the new limit.
 */
#include "shape_in_world.h"
#include "scope.h"

#include "base/prng.h"
#include "clock.h"
#include "police/shaped.h"
#include "policy/kind.h"
#include "publish.h"
#include "shape_steps.h"

#define MATCH   "'match': {'direction': 'a-to-b'}"
#define DELAY   "'shape': {'delay': '125ms'}"
#define FAST    8000000 /* bit/s: a packet in 50 us, 2500 of them in 125 ms */
#define SLOWER  40000   /* a packet in 10 ms */
#define BURST_B 100     /* passes immediately */

#define SECOND_NS UINT64_C(1000000000)
#define PATIENCE  (60 * SECOND_NS) /* a busy machine fails the test after this time */

/* A policy with this name and limit, and more keys. */
#define SHAPED(name, limit, more)                                            \
	"{'name': '" name "', 'limit': '" limit "', 'burst': '100B', " MATCH \
	", 'action': 'shape'" more "}"
#define TIMED(name, limit) SHAPED(name, limit, ", " DELAY)
#define PASSES             "{'name': 'p', 'limit': '400Gbit/s', 'burst': '1GiB', " MATCH "}"

static bool is_timed(const struct instance_world *w)
{
	return policy_is_timed(&w->inst.policies[0]);
}

/* Counts waiting packets in all slots. If a policy has moved, some are in its previous slot. */
static uint64_t waiting_anywhere(const struct instance_world *w)
{
	uint64_t packets = 0;

	for (uint32_t slot = 0; slot < w->inst.slots.capacity; slot++)
		packets += engine_waiting(&w->inst.engine, slot).packets;
	return packets;
}

/* Checks that no packet is lost or counted twice, also if the policy has changed its kind. */
static void check_none_lost(const struct instance_world *w)
{
	assert_int_equal(wire_left() + waiting_anywhere(w) + instance_dropped(w), wire_came());
	check_order();
}

static void check_counted(struct instance_world *w)
{
	struct policy_totals totals = instance_world_totals(w, 0);

	check_none_lost(w);
	assert_int_equal(totals.passed_packets, wire_left());
	assert_int_equal(totals.dropped_packets, instance_dropped(w));
}

/* Runs the workers until this many packets wait. */
static void fill_until_waiting(struct instance_world *w, unsigned packets)
{
	uint64_t began = control_now();

	while (instance_waiting_now(w).packets < packets) {
		assert_true(control_now() - began < PATIENCE);
		turn_all_workers(w, 1);
	}
}

/* Returns the packets that a limit grants in a time, in addition to its burst. */
static uint64_t grant_packets(uint64_t bps, uint64_t ns)
{
	return bps / 8 * ns / SECOND_NS / INSTANCE_BYTES + 1;
}

/* Reloads the policies while packets arrive. */
static void become_policies(struct instance_world *w, const char *policies)
{
	end_reload(w, begin_reload(w, policies));
}

/* Stops the limiter. All waiting packets leave. */
static void stop_and_drain(struct instance_world *w)
{
	uint64_t lost = instance_dropped(w);

	close_wire(w);
	check_order();
	assert_int_equal(wire_left() + lost, wire_came());
}

/* Publishes a changed limit to both workers. */
static void tell_both_workers(struct instance_world *w)
{
	do
		turn_all_workers(w, 1);
	while (!publish(&w->inst));
	turn_all_workers(w, 1);
}

/* Sends all packets that are due by now. */
static void send_due(struct instance_world *w)
{
	for (unsigned i = 0; i < INSTANCE_WORKERS; i++)
		while (shape_out_due(&w->inst.workers[i]))
			;
}

/* A limit of a few packets a second cannot be timed. Its burst passes anyway. */
TEST(test_few_packets)
{
	ENDED_BY(close_wire) struct instance_world w;

	open_wire(&w, "",
		"{'name': 'p', 'limit': '1/s', 'burst': 5, 'count': 'packets', "
		"'action': 'shape', " MATCH "}");
	turn_all_workers(&w, 1);
	assert_in_range(wire_left(), 5, 6);
	check_none_lost(&w);
}

/* The start of a time in which enough packets wait for any pause of the machine. */
struct backlog {
	uint64_t since;
	unsigned left; /* before that time */
};

static void follow_backlog(struct instance_world *w, struct backlog *backlog)
{
	uint64_t now = control_now();

	send_due(w);
	assert_in_range(
		instance_waiting_now(w).packets, 0, grant_packets(FAST, SECOND_NS * 127 / 1000));
	if (instance_waiting_now(w).packets >= 1000)
		assert_true(wire_left() - backlog->left + 10 >=
			    grant_packets(FAST, now - backlog->since));
	else
		*backlog = (struct backlog){control_now(), wire_left()};
}

/*
 * From the start both workers together pass no more than the limit grants in any time. They pass no
 * less while packets wait. At most as many packets wait as leave within the delay.
 */
TEST(test_on_time)
{
	struct backlog backlog;
	ENDED_BY(stop_and_drain) struct instance_world w;
	uint64_t began;

	open_wire(&w, "", TIMED("p", "8Mbit/s"));
	assert_true(is_timed(&w));
	began = control_now();
	backlog = (struct backlog){began, 0};
	for (unsigned looks = 0; drops_of(&w, DROP_QUEUE_FULL) == 0 || looks < 100; looks++) {
		turn_all_workers(&w, 1);
		check_counted(&w);
		assert_in_range(wire_left(), 0, 2 + grant_packets(FAST, control_now() - began));
		assert_int_equal(instance_waiting_now(&w).units,
			instance_waiting_now(&w).packets * INSTANCE_BYTES);
		assert_int_equal(
			instance_world_totals(&w, 0).passed_bytes, wire_left() * INSTANCE_BYTES);
		follow_backlog(&w, &backlog);
		assert_true(control_now() - began < PATIENCE);
	}
	assert_int_equal(drops_of(&w, DROP_QUEUE_FULL), instance_dropped(&w));
}

/* Returns the number of sent packets that arrived after a moment. */
static unsigned left_since(const unsigned came_before[])
{
	unsigned n = 0;

	for (unsigned q = 0; q < INSTANCE_WORKERS; q++)
		for (unsigned i = 0; i < wire.n_left[q]; i++)
			n += wire.left[q][i] >= came_before[q];
	return n;
}

/*
 * A lower limit applies to later arrivals. Waiting packets leave as scheduled. Soon after them the
 * new limit passes exactly its packets, without a pause as long as the booked time.
 */
TEST(test_lowered)
{
	unsigned came_before[INSTANCE_WORKERS], waited;
	uint64_t since, most;
	ENDED_BY(stop_and_drain) struct instance_world w;
	struct policy_txn *x;

	open_wire(&w, "", TIMED("p", "8Mbit/s"));
	fill_until_waiting(&w, 1500);
	x = begin_reload(&w, TIMED("p", "40kbit/s"));
	since = control_now();
	tell_both_workers(&w);
	memcpy(came_before, wire.came, sizeof(came_before));
	waited = wire_left() + (unsigned)instance_waiting_now(&w).packets;
	end_reload(&w, x);
	do { /* 20 new packets: after about 0.3 s, or after 15 s if booked time counted */
		wait_ms(1);
		turn_all_workers(&w, 1);
		most = 2 + grant_packets(SLOWER, control_now() - since);
		assert_in_range(left_since(came_before), 0, most);
		assert_true(control_now() - since < PATIENCE);
		check_counted(&w);
	} while (left_since(came_before) < 20);
	assert_true(wire_left() >= waited);
}

/* A higher limit also applies after the waiting packets. */
TEST(test_raised)
{
	ENDED_BY(stop_and_drain) struct instance_world w;
	struct policy_txn *x;
	uint64_t since;
	unsigned before;

	open_wire(&w, "", TIMED("p", "80kbit/s"));
	fill_until_waiting(&w, 20);
	before = wire_left();
	since = control_now();
	x = begin_reload(&w, TIMED("p", "8Mbit/s"));
	tell_both_workers(&w);
	end_reload(&w, x);
	do { /* with the previous limit in 40 s */
		turn_all_workers(&w, 1);
		check_counted(&w);
		assert_in_range(
			wire_left() - before, 0, 2 + grant_packets(FAST, control_now() - since));
		assert_true(control_now() - since < PATIENCE);
	} while (wire_left() < before + 8000);
}

/* Limits rise and fall by any factor while packets always wait. */
TEST(test_any_limits)
{
	for (uint64_t seed = 1; seed <= ROUNDS(16); seed++) {
		static const char *const files[] = {TIMED("p", "80kbit/s"), TIMED("p", "2Mbit/s"),
			TIMED("p", "8Mbit/s"),
			SHAPED("p", "8Mbit/s", ", 'shape': {'delay': '5ms'}"),
			SHAPED("p", "8Mbit/s", ", 'shape': {'queue': '5kB'}")};
		struct instance_world w;
		struct prng prng;

		(void)state;
		print_message("seed %" PRIu64 "\n", seed);
		prng_seed(&prng, seed);
		open_wire(&w, "", files[2]);
		for (unsigned i = 0; i < 10; i++) {
			struct policy_txn *x;

			turn_all_workers(&w, prng_below(&prng, 20));
			x = begin_reload(&w, files[prng_below(&prng, 5)]);
			turn_all_workers(&w, prng_below(&prng, 3));
			check_counted(&w);
			tell_both_workers(&w);
			end_reload(&w, x);
			check_counted(&w);
			assert_int_equal(drops_of(&w, DROP_QUEUE_FULL), instance_dropped(&w));
		}
		stop_and_drain(&w);
	}
}

/*
 * All kinds that a policy with waiting packets can change to: timed, untimed, and without a queue.
 */
static const struct {
	const char *policy;
	bool timed, waits;
} kinds[] = {
	{TIMED("p", "8Mbit/s"), true, true},
	{SHAPED("p", "8Mbit/s", ", 'shape': {'delay': '10s'}"), false, true},
	{SHAPED("p", "8Mbit/s", ", 'shape': {'drop': 'codel'}"), false, true},
	{SHAPED("p", "8Mbit/s", ", 'accounting': 'l2', " DELAY), true, true},
	{SHAPED("p", "8Mbit/s", ", 'shape': {'delay': '126ms'}"), false, true},
	{SHAPED("p", "8Mbit/s", ""), true, true},
	{PASSES, false, false},
};

#define KINDS (COUNT(kinds))

/* Changes between all kinds: packets stay in order, none is lost, and counters continue. */
TEST(test_becomes)
{
	for (unsigned from = 0; from < KINDS - 1; from++) {
		struct instance_world w;
		uint64_t late;

		open_wire(&w, "", kinds[from].policy);
		for (unsigned to = 0; to < KINDS; to++) {
			become_policies(&w, kinds[from].policy);
			assert_int_equal(is_timed(&w), kinds[from].timed);
			fill_until_waiting(&w, 300);
			check_counted(&w);
			become_policies(&w, kinds[to].policy);
			assert_int_equal(is_timed(&w), kinds[to].timed);
			turn_all_workers(&w, 3);
			check_counted(&w);
			late = drops_of(&w, DROP_DELAY_EXCEEDED);
			assert_true(late == 0 || box_has_paused());
			assert_int_equal(instance_dropped(&w) - late,
				drops_of(&w, DROP_CODEL) + drops_of(&w, DROP_QUEUE_FULL));
			if (!kinds[to].waits)
				assert_int_equal(waiting_anywhere(&w), 0);
		}
		stop_and_drain(&w);
	}
}

/*
 * Changes to a hard limit and back. All packets that wait for the soft limit leave. None of the
 * hard limit leave without tokens. Both limits start again.
 */
TEST(test_hard)
{
	static const char *const hard = SHAPED("p", "8Mbit/s", ", 'guarantee': 'hard', " DELAY);
	struct instance_world w;
	char more[64];

	with_store(more, sizeof(more));
	open_wire(&w, more, hard);
	for (unsigned i = 0; i < 3; i++) {
		unsigned before;
		uint64_t waits;

		become_policies(&w, TIMED("p", "8Mbit/s"));
		assert_true(is_timed(&w));
		fill_until_waiting(&w, 300);
		before = wire_left();
		waits = instance_waiting_now(&w).packets;
		become_policies(&w, hard);
		assert_false(is_timed(&w));
		assert_true(wire_left() >= before + waits);
		/* Only full queues and the end of the hard limit's queue drop packets. */
		assert_int_equal(instance_dropped(&w),
			drops_of(&w, DROP_QUEUE_FULL) + drops_of(&w, DROP_STOPPED));
		check_none_lost(&w);
		tell_both_workers(&w);
		fill_until_waiting(&w, 300);
		check_none_lost(&w);
	}
	close_wire(&w);
	check_order();
	remove_store();
}

/*
 * A policy is removed. All its packets leave, its slot stays until each worker has passed, and
 * later packets pass.
 */
TEST(test_removed)
{
	ENDED_BY(close_wire) struct instance_world w;
	struct policy_txn *x;
	uint32_t slot;

	open_wire(&w, "", TIMED("p", "8Mbit/s"));
	fill_until_waiting(&w, 1000);
	slot = w.inst.slots.of[0];
	x = begin_reload(&w, "");
	assert_false(policy_txn_finish(x));
	while (w.inst.workers[0].generation == w.inst.workers[1].generation)
		instance_world_turn(&w, 0);
	rte_rcu_qsbr_quiescent(w.inst.publisher.rcu, 1); /* still has packets of the policy */
	assert_false(policy_txn_finish(x));
	assert_true(engine_waiting(&w.inst.engine, slot).packets > 0);
	check_none_lost(&w);
	end_reload(&w, x);
	assert_int_equal(w.inst.slots.policy[slot], SLOT_FREE);
	assert_int_equal(waiting_anywhere(&w), 0);
	turn_all_workers(&w, 2);
	assert_int_equal(wire_left(), wire_came());
	assert_int_equal(instance_dropped(&w), 0);
	check_order();
}

/* A slot that a policy has left with packets in it is used by another policy, and then again. */
TEST(test_slot_again)
{
	static const char *const files[] = {TIMED("p", "8Mbit/s"), TIMED("q", "4Mbit/s"),
		SHAPED("r", "8Mbit/s", ", 'shape': {'delay': '10s'}"), TIMED("s", "8Mbit/s")};
	unsigned again = 0, n = COUNT(files);
	uint32_t slot = SLOT_NONE, before;
	ENDED_BY(stop_and_drain) struct instance_world w;

	open_wire(&w, "", files[0]);
	for (unsigned i = 1; i <= 3 * n; i++) {
		fill_until_waiting(&w, 200);
		before = slot;
		slot = w.inst.slots.of[0];
		become_policies(&w, files[i % n]);
		again += w.inst.slots.of[0] == before;
		assert_int_equal(instance_dropped(&w), 0);
		check_none_lost(&w);
		assert_int_equal(engine_waiting(&w.inst.engine, slot).packets, 0);
	}
	assert_true(again > n);
}

/*
 * The maximum number of packets waits. If they leave before their time, their places are free again
 * for others.
 */
TEST(test_room_again)
{
	ENDED_BY(stop_and_drain) struct instance_world w;
	uint64_t began;

	/* 81 on each worker, none of them due for a while. */
	open_wire(&w, "'shape': {'pool': '1%'}, ", TIMED("p", "700kbit/s"));
	for (unsigned i = 0; i < 5; i++) {
		began = control_now();
		do {
			turn_all_workers(&w, 1);
			assert_true(control_now() - began < PATIENCE);
		} while (instance_waiting_now(&w).packets < 2 * 81 ||
			 drops_of(&w, DROP_POOL_FULL) == 0);
		become_policies(&w, i % 2 ? TIMED("p", "700kbit/s") : TIMED("q", "700kbit/s"));
		check_none_lost(&w);
	}
}

/* The packets of a removed policy leave without those of other policies, also in a reused slot. */
TEST(test_others_stay)
{
#define OTHER                                                                            \
	", {'name': 'o', 'limit': '8Mbit/s', 'burst': '100B', 'action': 'shape', " DELAY \
	", 'match': {'direction': 'b-to-a'}}"
	struct instance_world w;
	uint64_t since;
	unsigned before;

	open_wire(&w, "", TIMED("p", "8Mbit/s"));
	fill_until_waiting(&w, 200);
	for (unsigned i = 0; i < 4; i++) {
		become_policies(
			&w, i % 2 ? TIMED("p", "800kbit/s") OTHER : TIMED("q", "800kbit/s") OTHER);
		fill_until_waiting(&w, 150);
		since = control_now();
		send_due(&w);
		before = wire_left();
		become_policies(&w, i % 2 ? TIMED("p", "800kbit/s") : TIMED("q", "800kbit/s"));
		assert_in_range(
			wire_left() - before, 0, 2 + grant_packets(800000, control_now() - since));
		assert_true(instance_waiting_now(&w).packets > 0);
		assert_int_equal(engine_waiting(&w.inst.engine, w.inst.slots.of[0]).packets,
			waiting_anywhere(&w));
		check_none_lost(&w);
	}
	stop_and_drain(&w);
}

/* Timed and untimed policies are removed together. All packets of soft limits are sent. */
TEST(test_leave_together)
{
#define BOTH                                                                         \
	TIMED("p", "8Mbit/s")                                                        \
	", {'name': 'q', 'limit': '800kbit/s', 'burst': '100B', 'action': 'shape', " \
	"'match': {'direction': 'b-to-a'}, 'shape': {'delay': '10s'}}"
	static const char *const after[] = {"", SHAPED("r", "8Mbit/s", ""), TIMED("q", "8Mbit/s")};

	for (unsigned i = 0; i < COUNT(after); i++) {
		struct instance_world w;
		struct policy_txn *x;
		unsigned came_before[INSTANCE_WORKERS];
		uint64_t waits;

		open_wire(&w, "", BOTH);
		fill_until_waiting(&w, 1000);
		waits = instance_waiting_now(&w).packets + wire_left();
		memcpy(came_before, wire.came, sizeof(came_before));
		assert_int_equal(instance_dropped(&w), 0);
		x = begin_reload(&w, after[i]);
		assert_int_equal(w.inst.publisher.current->n_leaving, 2);
		end_reload(&w, x);
		assert_true(wire_left() - left_since(came_before) == waits);
		assert_int_equal(instance_dropped(&w), 0);
		stop_and_drain(&w);
	}
}

/* The limiter stops, also in the middle of a reload that only one worker has seen. */
TEST(test_stop)
{
	for (unsigned reloads = 0; reloads < 2; reloads++) {
		struct policy_txn *x = NULL;
		struct instance_world w;

		open_wire(&w, "", TIMED("p", "8Mbit/s"));
		fill_until_waiting(&w, 1500);
		if (reloads) {
			x = begin_reload(&w, PASSES);
			instance_world_turn(&w, 0);
			assert_true(waiting_anywhere(&w) > 0);
		}
		for (unsigned i = 0; i < INSTANCE_WORKERS; i++)
			shape_out_all(&w.inst.workers[i]);
		assert_int_equal(waiting_anywhere(&w), 0);
		assert_int_equal(wire_left(), wire_came());
		assert_int_equal(instance_dropped(&w), 0);
		check_counted(&w);
		if (x)
			end_reload(&w, x);
		stop_and_drain(&w);
	}
}

TEST_GROUP(instance_world_start, instance_world_stop)
