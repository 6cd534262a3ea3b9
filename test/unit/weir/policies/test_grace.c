/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * A grace period ends when the last worker uses the published limits, in any order. It
 * does not wait for limits published later. The test plays the workers.
 */
#include "instance_world.h"

#include "publish.h"
#include "limit_ring.h"

#define POLICY   "{'name': 'p', 'limit': '1Mbit/s'}"
#define MESSAGES 40

static void tell(struct instance_world *w, unsigned worker, uint64_t rate)
{
	struct limit_profile profile = {.policy = w->inst.slots.of[0],
		.kind = METER_TOKEN_BUCKET,
		.sample_shift = POLICE_UNSAMPLED,
		.meter.bucket.rate = rate};

	assert_true(limit_ring_send(&w->inst.workers[worker].limit_ring, &profile));
}

static void take(struct instance_world *w, unsigned worker, unsigned n)
{
	struct limit_profile taken[MESSAGES];

	assert_int_equal(limit_ring_take(&w->inst.workers[worker].limit_ring, taken, n), n);
}

static void be_quiescent(struct instance_world *w, unsigned worker)
{
	rte_rcu_qsbr_quiescent(w->inst.publisher.rcu, worker);
}

static void be_quiescent_all(struct instance_world *w)
{
	for (unsigned i = 0; i < INSTANCE_WORKERS; i++)
		be_quiescent(w, i);
}

TEST(test_taken)
{
	struct instance_world w;
	struct grace grace;

	for (unsigned late = 0; late < INSTANCE_WORKERS; late++) {
		instance_world_open(&w, POLICY);
		for (unsigned i = 1; i <= MESSAGES; i++)
			tell(&w, late, i);
		memset(&grace, 0xff, sizeof(grace)); /* left by an earlier use */
		grace_begin(&grace, &w.inst);
		for (unsigned i = 0; i < INSTANCE_WORKERS; i++)
			tell(&w, i, MESSAGES + 1); /* not part of this period */
		be_quiescent_all(&w);
		assert_false(grace_done(&grace, &w.inst));
		take(&w, late, MESSAGES - 1);
		be_quiescent_all(&w);
		assert_false(grace_done(&grace, &w.inst));
		take(&w, late, 1);
		/* The worker can be in a turn that began before. */
		assert_false(grace_done(&grace, &w.inst));
		be_quiescent(&w, !late);
		assert_false(grace_done(&grace, &w.inst));
		be_quiescent(&w, late);
		assert_true(grace_done(&grace, &w.inst));
		tell(&w, late, MESSAGES + 2);
		assert_true(grace_done(&grace, &w.inst));
		for (unsigned i = 0; i < INSTANCE_WORKERS; i++)
			take(&w, i, i == late ? 2 : 1);
		instance_world_close(&w);
	}
}

/*
 * With a snapshot, it also waits for a worker that still empties the queues of the old one,
 * quiescent or not.
 */
TEST(test_snapshot)
{
	struct instance_world w;
	struct grace grace;

	for (unsigned late = 0; late < INSTANCE_WORKERS; late++) {
		uint64_t generation;

		instance_world_open(&w, POLICY);
		generation = w.inst.publisher.current->generation;
		for (unsigned i = 0; i < INSTANCE_WORKERS; i++)
			w.inst.workers[i].generation = generation;
		w.inst.workers[late].generation = generation - 1;
		memset(&grace, 0xff, sizeof(grace));
		grace_begin_snapshot(&grace, &w.inst);
		be_quiescent_all(&w);
		assert_false(grace_done(&grace, &w.inst));
		be_quiescent_all(&w);
		assert_false(grace_done(&grace, &w.inst));
		grace_begin(&grace, &w.inst); /* without a snapshot it ends */
		(void)grace_done(&grace, &w.inst);
		be_quiescent_all(&w);
		assert_true(grace_done(&grace, &w.inst));
		grace_begin_snapshot(&grace, &w.inst);
		w.inst.workers[late].generation = generation;
		assert_false(grace_done(&grace, &w.inst));
		be_quiescent_all(&w);
		assert_true(grace_done(&grace, &w.inst));
		instance_world_close(&w);
	}
}

TEST_GROUP(instance_world_start, instance_world_stop)
