/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Publishes limits to the workers: the changed ones, those that fit, and the others later with
 * their newest values. The test plays control and both workers.
 */
#include "instance_world.h"
#include "scope.h"

#include "limit_ring.h"
#include "publish.h"

/* Two policies with a shared bucket, and one with a bucket on each worker. */
#define RESERVED                                                                         \
	"{'name': 'r1', 'match': {'vlan': 1}, 'limit': '1Gbit/s', 'allocator': 'fps'}, " \
	"{'name': 'r2', 'match': {'vlan': 2}, 'limit': '1Gbit/s', 'allocator': 'fps'}"
#define DIVIDED \
	"{'name': 'd', 'match': {'vlan': 3}, 'limit': '1Gbit/s', 'action': 'count', 'allocator': 'fps'}"

/* Changes the sampling of a policy, to be published. */
static void change_sampling(struct instance_world *w, unsigned policy, uint8_t shift)
{
	w->inst.engine.slots[w->inst.slots.of[policy]].sampling.shift = shift;
	dirty_mark(&w->inst.dirty, w->inst.slots.of[policy]);
}

/* Takes all limits from a worker's ring. Returns their number, and the last one. */
static unsigned take_posted_limits(
	struct instance_world *w, unsigned worker, struct limit_profile *last)
{
	unsigned n = 0;

	while (limit_ring_take(&w->inst.workers[worker].limit_ring, last, 1))
		n++;
	return n;
}

static void quiescent_all(struct instance_world *w)
{
	for (unsigned i = 0; i < INSTANCE_WORKERS; i++)
		rte_rcu_qsbr_quiescent(w->inst.publisher.rcu, i);
}

TEST(test_only_what_changed)
{
	struct limit_profile last;
	WORLD(w, RESERVED ", " DIVIDED);

	publish_all_later(&w->inst);
	assert_true(publish_rest(&w->inst));
	for (unsigned i = 0; i < INSTANCE_WORKERS; i++)
		assert_int_equal(take_posted_limits(w, i, &last), 0);
	change_sampling(w, 1, 7);
	assert_true(publish_rest(&w->inst));
	for (unsigned i = 0; i < INSTANCE_WORKERS; i++) {
		assert_int_equal(take_posted_limits(w, i, &last), 1);
		assert_int_equal(last.policy, w->inst.slots.of[1]);
		assert_int_equal(last.sample_shift, 7);
	}
	assert_true(publish_rest(&w->inst));
	assert_int_equal(take_posted_limits(w, 0, &last), 0);
}

/* A slot without a policy is not published any more. */
TEST(test_never)
{
	struct limit_profile last;
	WORLD(w, RESERVED);

	change_sampling(w, 0, 7);
	publish_never(&w->inst, w->inst.slots.of[0]);
	assert_true(publish_rest(&w->inst));
	assert_int_equal(take_posted_limits(w, 0, &last), 0);
}

/* After the TSC was set back, all limits are published again and shared buckets restart. */
TEST(test_restart)
{
	struct limit_profile last;
	WORLD(w, DIVIDED ", " RESERVED);

	publish_all_later(&w->inst);
	assert_true(publish_rest(&w->inst));
	for (unsigned i = 0; i < INSTANCE_WORKERS; i++)
		assert_int_equal(take_posted_limits(w, i, &last), 0);
	publish_restart(&w->inst);
	for (unsigned p = 0; p < w->inst.n_policies; p++)
		assert_true(w->inst.engine.slots[w->inst.slots.of[p]].restarts);
	assert_true(publish_rest(&w->inst));
	for (unsigned i = 0; i < INSTANCE_WORKERS; i++)
		assert_int_equal(take_posted_limits(w, i, &last), w->inst.n_policies);
}

static void fill_limit_ring_ring(struct limit_ring *limit_ring, uint32_t slot)
{
	struct limit_profile message = {.policy = slot, .kind = METER_TOKEN_BUCKET};

	do
		message.sample_shift = (message.sample_shift + 1) % 16;
	while (limit_ring_send(limit_ring, &message));
}

/*
 * A worker with a full ring later gets the newest limit, once. The other worker does not wait for
 * it.
 */
TEST(test_full_ring)
{
	struct limit_profile last;
	WORLD(w, DIVIDED);

	fill_limit_ring_ring(&w->inst.workers[1].limit_ring, w->inst.slots.of[0]);
	change_sampling(w, 0, 5);
	assert_false(publish_rest(&w->inst));
	assert_int_equal(take_posted_limits(w, 0, &last), 1);
	assert_int_equal(last.sample_shift, 5);
	change_sampling(w, 0, 6);
	assert_false(publish_rest(&w->inst));
	assert_true(take_posted_limits(w, 1, &last) > 1);
	assert_true(publish_rest(&w->inst));
	for (unsigned i = 0; i < INSTANCE_WORKERS; i++) {
		assert_int_equal(take_posted_limits(w, i, &last), 1);
		assert_int_equal(last.sample_shift, 6);
	}
}

/*
 * The first worker stalls during more changes than its ring holds. The other one gets each
 * immediately, and the first one gets the last limits when it continues.
 */
TEST(test_behind)
{
	struct limit_profile last;
	WORLD(w, DIVIDED ", " RESERVED);

	fill_limit_ring_ring(&w->inst.workers[0].limit_ring, w->inst.slots.of[0]);
	for (uint8_t shift = 1; shift <= 15; shift++) {
		for (unsigned p = 0; p < 2; p++) {
			change_sampling(w, p, shift);
			publish_rest(&w->inst);
			assert_int_equal(take_posted_limits(w, 1, &last), 1);
			assert_int_equal(last.policy, w->inst.slots.of[p]);
			assert_int_equal(last.sample_shift, shift);
		}
		assert_true(instance_has_published(&w->inst, 1));
	}
	assert_false(instance_has_published(&w->inst, 0));
	/* The second policy is removed meanwhile. */
	publish_never(&w->inst, w->inst.slots.of[1]);
	assert_true(take_posted_limits(w, 0, &last) > 1);
	assert_true(publish_rest(&w->inst));
	assert_int_equal(take_posted_limits(w, 0, &last), 1);
	assert_int_equal(last.policy, w->inst.slots.of[0]);
	assert_int_equal(last.sample_shift, 15);
	assert_true(publish_is_done(&w->inst));
}

/* Changes the limits in the limiter, and not in the instance's policies. */
static void relimit_policies(struct instance_world *w, uint64_t bps)
{
	struct policy *policies = w->config->policies;
	struct limiter_policy limits[2];
	const unsigned same[] = {0, 1};

	for (unsigned i = 0; i < 2; i++) {
		policies[i].limit_bps = bps;
		limits[i] = limit_profile_policy(&policies[i], 0);
	}
	assert_int_equal(limiter_update(w->inst.limiter, limits, 2, same, 1), 0);
	publish_all_later(&w->inst);
}

/* Returns the rate of a shared bucket in bytes per second. */
static double rate_of(const struct instance_world *w, unsigned policy)
{
	struct limiter_view view;

	limiter_view(w->inst.limiter, policy, &view);
	return view.local_limit;
}

/*
 * The limit of a shared bucket changes immediately, repeatedly, even if a worker stalls within a
 * turn.
 */
TEST(test_shared_buckets_wait_for_nobody)
{
	struct shared_bucket_profile seen[3];
	struct shared_bucket *shared;
	WORLD(w, RESERVED);

	shared = &w->inst.engine.shared_buckets[w->inst.slots.of[0]];
	quiescent_all(w);
	for (unsigned i = 0; i < 3; i++) {
		relimit_policies(w, 100000000 << i);
		assert_near(rate_of(w, 0), 12500000 << i, 1);
		assert_true(publish_rest(&w->inst));
		seen[i] = shared_bucket_read(shared);
		assert_near((double)seen[i].rate, (double)(seen[0].rate << i), 8);
		rte_rcu_qsbr_quiescent(w->inst.publisher.rcu, 0); /* worker 1 is never quiescent */
	}
}

/* The sum of the workers' limits does not exceed the limit. */
TEST(test_parts)
{
	struct limit_profile alone, parts;
	struct limiter_view view;
	unsigned __int128 sum = 0;
	uint32_t slot;
	WORLD(w, DIVIDED);

	slot = w->inst.slots.of[0];
	limiter_view(w->inst.limiter, 0, &view);
	assert_int_equal(limit_profile_init(&alone, &w->config->policies[0], slot, &view,
				 &w->inst.engine.slots[slot].sampling, 1, w->inst.clock.hz),
		0);
	for (unsigned i = 0; i < INSTANCE_WORKERS; i++) {
		change_sampling(w, 0, (uint8_t)(3 + i)); /* a change for both */
		assert_true(publish_rest(&w->inst));
		assert_int_equal(take_posted_limits(w, i, &parts), i + 1);
		sum += (uint64_t)parts.meter.bucket.rate;
	}
	assert_true(sum <= (uint64_t)alone.meter.bucket.rate);
	assert_true(
		sum >= (uint64_t)alone.meter.bucket.rate - (uint64_t)alone.meter.bucket.rate / 100);
}

TEST_GROUP(instance_world_start, instance_world_stop)
