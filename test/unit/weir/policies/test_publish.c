/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Limits on their way to the workers: what changed, as much as there is room for, and the rest
 * later, as it is by then. The test plays control and both workers.
 */
#include "box_world.h"

#include <stdlib.h>

#include "post.h"
#include "publish.h"

/* Two that draw from a reserve, and one that has a bucket on each worker. */
#define RESERVED                                                                         \
	"{'name': 'r1', 'match': {'vlan': 1}, 'limit': '1Gbit/s', 'allocator': 'fps'}, " \
	"{'name': 'r2', 'match': {'vlan': 2}, 'limit': '1Gbit/s', 'allocator': 'fps'}"
#define DIVIDED \
	"{'name': 'd', 'match': {'vlan': 3}, 'limit': '1Gbit/s', 'action': 'count', 'allocator': 'fps'}"

/* How often a policy is sampled, which the workers have not heard of yet. */
static void change_sampling(struct box_world *w, unsigned policy, uint8_t shift)
{
	w->box.engine.slots[w->box.slots.of[policy]].sampling.shift = shift;
	dirty_mark(&w->box.dirty, w->box.slots.of[policy]);
}

/* All that lies in a worker's ring; the last of it. */
static unsigned take_posted_limits(struct box_world *w, unsigned worker, struct limit_profile *last)
{
	unsigned n = 0;

	while (post_take(&w->box.workers[worker].post, last, 1))
		n++;
	return n;
}

static void quiescent_all(struct box_world *w)
{
	for (unsigned i = 0; i < BOX_WORKERS; i++)
		rte_rcu_qsbr_quiescent(w->box.publisher.rcu, i);
}

static void test_only_what_changed(void **state)
{
	struct limit_profile last;
	struct box_world w;

	(void)state;
	box_world_open(&w, RESERVED ", " DIVIDED);
	publish_all_later(&w.box);
	assert_true(publish_rest(&w.box));
	for (unsigned i = 0; i < BOX_WORKERS; i++)
		assert_int_equal(take_posted_limits(&w, i, &last), 0);
	change_sampling(&w, 1, 7);
	assert_true(publish_rest(&w.box));
	for (unsigned i = 0; i < BOX_WORKERS; i++) {
		assert_int_equal(take_posted_limits(&w, i, &last), 1);
		assert_int_equal(last.policy, w.box.slots.of[1]);
		assert_int_equal(last.sample_shift, 7);
	}
	assert_true(publish_rest(&w.box));
	assert_int_equal(take_posted_limits(&w, 0, &last), 0);
	box_world_close(&w);
}

/* A slot that has lost its policy is not told of any more. */
static void test_never(void **state)
{
	struct limit_profile last;
	struct box_world w;

	(void)state;
	box_world_open(&w, RESERVED);
	change_sampling(&w, 0, 7);
	dirty_clear(&w.box.dirty, w.box.slots.of[0]);
	assert_true(publish_rest(&w.box));
	assert_int_equal(take_posted_limits(&w, 0, &last), 0);
	box_world_close(&w);
}

static void fill_post_ring(struct post *post, uint32_t slot)
{
	struct limit_profile letter = {.policy = slot, .kind = METER_TOKEN_BUCKET};

	do
		letter.sample_shift = (letter.sample_shift + 1) % 16;
	while (post_send(post, &letter));
}

/* A worker that does not look finds later what is true then, once; the other is not held up. */
static void test_full_ring(void **state)
{
	struct limit_profile last;
	struct box_world w;

	(void)state;
	box_world_open(&w, DIVIDED);
	fill_post_ring(&w.box.workers[1].post, w.box.slots.of[0]);
	change_sampling(&w, 0, 5);
	assert_false(publish_rest(&w.box));
	assert_int_equal(take_posted_limits(&w, 0, &last), 1);
	assert_int_equal(last.sample_shift, 5);
	change_sampling(&w, 0, 6);
	assert_false(publish_rest(&w.box));
	assert_true(take_posted_limits(&w, 1, &last) > 1);
	assert_true(publish_rest(&w.box));
	for (unsigned i = 0; i < BOX_WORKERS; i++) {
		assert_int_equal(take_posted_limits(&w, i, &last), 1);
		assert_int_equal(last.sample_shift, 6);
	}
	box_world_close(&w);
}

/* The limiter's view of them: of a limit that the box's own policies had not. */
static void relimit_policies(struct box_world *w, uint64_t bps)
{
	struct policy *policies = w->config->policies;
	struct limiter_policy limits[2];
	const unsigned same[] = {0, 1};

	for (unsigned i = 0; i < 2; i++) {
		policies[i].limit_bps = bps;
		limits[i] = limit_profile_policy(&policies[i], 0);
	}
	assert_int_equal(limiter_update(w->box.limiter, limits, 2, same, 1), 0);
	publish_all_later(&w->box);
}

/* What a reserve grants in a second, bytes. */
static double rate_of(const struct box_world *w, unsigned policy)
{
	struct limiter_view view;

	limiter_view(w->box.limiter, policy, &view);
	return view.local_limit;
}

/* A reserve's limit changes once a round, and the next round waits for workers who look at it. */
static void test_reserves_wait(void **state)
{
	const struct reserve_profile *first, *second;
	struct reserve *reserve;
	struct box_world w;

	(void)state;
	box_world_open(&w, RESERVED);
	reserve = &w.box.engine.reserves[w.box.slots.of[0]];
	quiescent_all(&w);
	first = reserve->profile;
	relimit_policies(&w, 100000000);
	assert_near(rate_of(&w, 0), 12500000, 1);
	assert_true(publish_rest(&w.box));
	second = reserve->profile;
	assert_ptr_not_equal(second, first);
	relimit_policies(&w, 200000000);
	assert_false(publish_rest(&w.box)); /* worker 1 may look at the first */
	rte_rcu_qsbr_quiescent(w.box.publisher.rcu, 0);
	assert_false(publish_rest(&w.box));
	assert_ptr_equal(reserve->profile, second);
	rte_rcu_qsbr_quiescent(w.box.publisher.rcu, 1);
	assert_true(publish_rest(&w.box));
	assert_ptr_not_equal(reserve->profile, second);
	box_world_close(&w);
}

/* What the workers together are given is no more than the limit. */
static void test_parts(void **state)
{
	struct limit_profile alone, parts;
	struct limiter_view view;
	struct box_world w;
	unsigned __int128 sum = 0;
	uint32_t slot;

	(void)state;
	box_world_open(&w, DIVIDED);
	slot = w.box.slots.of[0];
	limiter_view(w.box.limiter, 0, &view);
	assert_int_equal(limit_profile_init(&alone, &w.config->policies[0], slot, &view,
				 &w.box.engine.slots[slot].sampling, 1, w.box.clock.hz),
		0);
	for (unsigned i = 0; i < BOX_WORKERS; i++) {
		change_sampling(&w, 0, (uint8_t)(3 + i)); /* news for both */
		assert_true(publish_rest(&w.box));
		assert_int_equal(take_posted_limits(&w, i, &parts), i + 1);
		sum += (uint64_t)parts.meter.bucket.rate;
	}
	assert_true(sum <= (uint64_t)alone.meter.bucket.rate);
	assert_true(
		sum >= (uint64_t)alone.meter.bucket.rate - (uint64_t)alone.meter.bucket.rate / 100);
	box_world_close(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_only_what_changed),
		cmocka_unit_test(test_never),
		cmocka_unit_test(test_full_ring),
		cmocka_unit_test(test_reserves_wait),
		cmocka_unit_test(test_parts),
	};

	return cmocka_run_group_tests(tests, box_world_start, box_world_stop);
}
