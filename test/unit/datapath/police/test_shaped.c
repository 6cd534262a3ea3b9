/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Tests the terms that a shaping policy gives to its queue, and the counters of its packets.
 */
#include "check.h"
#include "scope.h"

#include "lane.h"
#include "police/shaped.h"
#include "policy/policy.h"

#define NOW (7 * GHZ)

static void lane_start(struct lane *lane, const struct shape_config *shape, uint64_t limit_bps)
{
	struct limiter_view view = {.limit = (double)limit_bps / 8,
		.local_limit = (double)limit_bps / 8,
		.local_burst = 10000};
	struct policy policy = {.action = ACTION_SHAPE,
		.meter = METER_TOKEN_BUCKET,
		.limit_bps = limit_bps,
		.burst_bytes = 10000,
		.guarantee = GUARANTEE_HARD, /* otherwise tail drop has a time */
		.shape = *shape};

	lane_make(lane, &policy, &view,
		&(struct policy_start){.hz = GHZ, .secret = 1, .seed = 1, .now = NOW});
	assert_non_null(lane->memory);
}

static const struct shape_config usual = {.bytes = 100000,
	.delay_ns = 50 * MS,
	.target_ns = 5 * MS,
	.interval_ns = 100 * MS,
	.drop = SHAPE_DROP_CODEL,
	.ecn = true};

static struct shaper *make_shaper(void)
{
	size_t bytes = shaper_bytes(10);
	struct shaper *shaper = aligned_alloc(64, bytes);

	assert_non_null(shaper);
	memset(shaper, 0, bytes);
	shaper_init(shaper, GHZ, 10, NOW);
	return shaper;
}

/* Compares the terms of two queues member by member, without their padding. */
static bool goes_as(const struct lane *a, const struct lane *b)
{
	const struct shape_queue *one = &police_shape(a->state.other)->queue;
	const struct shape_queue *other = &police_shape(b->state.other)->queue;

	return one->state == other->state && one->patience == other->patience &&
	       one->room == other->room && one->most == other->most &&
	       one->limit.rate == other->limit.rate && one->limit.burst == other->limit.burst &&
	       one->codel.target == other->codel.target &&
	       one->codel.interval == other->codel.interval && one->codel.ecn == other->codel.ecn;
}

/* After a change of any one term the queue has the same terms as a new one with it. */
TEST(test_each_term_alone)
{
	ENDED_BY(free_at) struct shaper *shaper = make_shaper();
	enum { TERMS = 8 };

	for (unsigned i = 0; i < TERMS; i++) {
		uint64_t limit_bps = i == 7 ? 2 * 8 * MS : 8 * MS;
		struct shape_config other = usual;
		struct lane changed, fresh;

		other.bytes += i == 1;
		other.delay_ns += i == 2 ? 1000 : 0;
		other.target_ns += i == 3 ? 1000 : 0;
		other.interval_ns += i == 4 ? 1000 : 0;
		other.drop = i == 5 ? SHAPE_DROP_TAIL : other.drop;
		other.ecn = i != 6;
		lane_start(&changed, &usual, 8 * MS);
		lane_start(&fresh, &other, limit_bps);
		assert_int_equal(goes_as(&changed, &fresh), i == 0);
		shaped_limit(shaper, &changed.state, &fresh.profile, NOW, GHZ);
		if (!goes_as(&changed, &fresh))
			fail_msg("term %u", i);
		assert_int_equal(shaped_marks(&changed.state), other.ecn);
		lane_stop(&changed);
		lane_stop(&fresh);
	}
}

/* Arrivals, refused packets and packets dropped after waiting are each counted once. */
TEST(test_counts_of_shaped)
{
	const struct policy_shape *shape;
	struct lane lane;

	lane_start(&lane, &usual, 8 * MS);
	shape = police_shape(lane.state.other);
	shaped_counts_arrival(&lane.state, 100);
	assert_int_equal(lane.state.packets, 1);
	assert_int_equal(lane.state.bytes, 100);
	assert_int_equal(lane.state.dropped_packets, 0);
	shaped_counts_refusal(&lane.state, 30, DROP_SHAPE_FIRST);
	assert_int_equal(lane.state.packets, 2);
	assert_int_equal(lane.state.bytes, 130);
	assert_int_equal(lane.state.dropped_packets, 1);
	assert_int_equal(lane.state.dropped_bytes, 30);
	assert_int_equal(shape->dropped[0], 1);
	shaped_counts_drop(&lane.state, 100, DROP_SHAPE_FIRST + 1);
	assert_int_equal(lane.state.packets, 2);
	assert_int_equal(lane.state.bytes, 130);
	assert_int_equal(lane.state.dropped_packets, 2);
	assert_int_equal(lane.state.dropped_bytes, 130);
	assert_int_equal(shape->dropped[0], 1);
	assert_int_equal(shape->dropped[1], 1);
	assert_int_equal(shaped_waited(&lane.state), 0);
	shaped_waits(police_shape(lane.state.other), 100);
	shaped_waits(police_shape(lane.state.other), 20);
	shaped_leaves(police_shape(lane.state.other), 100);
	assert_int_equal(shaped_waited(&lane.state), 2);
	assert_int_equal(shape->waiting, 1);
	assert_int_equal(shape->units, 20);
	assert_int_equal(shaped_cost(&lane.state, 1500), 1500);
	lane_stop(&lane);
}

/* With a spent bucket the queue passes nothing immediately. */
TEST(test_shaped_spent)
{
	for (int spent = 0; spent < 2; spent++) {
		struct shaper *shaper = make_shaper();
		struct shape_packet packet = {0};
		struct lane lane;

		lane_start(&lane, &usual, 8 * MS);
		if (spent)
			policy_state_spend(&lane.state, NOW);
		assert_int_equal(shape_arrive(shaper, &police_shape(lane.state.other)->queue,
					 &packet, 100, NOW, NOW),
			spent ? SHAPE_WAITS : SHAPE_PASSES);
		lane_stop(&lane);
		free(shaper);
	}
}
