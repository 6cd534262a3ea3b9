/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * A worker's hard limits of each kind after their lease has ended: the unreserved share of each
 * stays. Shared limits report this themselves.
 */
#include "instance_world.h"
#include "scope.h"

#include "base/expiry.h"
#include "leases_end.h"
#include "police/extended.h"
#include "tick.h"
#include "worker_data.h"

#define ENDING 51 /* a fifth of a limit */

enum { SOFT, PACKETS, GCRA, SHAPED, PLAIN, POLICIES };

static const char policies[] =
	"{'name': 'soft', 'match': {'vlan': 1}, 'limit': '1k/s', 'count': 'packets'}, "
	"{'name': 'packets', 'match': {'vlan': 2}, 'limit': '1k/s', 'count': 'packets', 'burst': "
	"1000, 'guarantee': 'hard'}, "
	"{'name': 'gcra', 'match': {'vlan': 3}, 'limit': '1k/s', 'count': 'packets', 'burst': 1000, "
	"'meter': 'gcra', 'guarantee': 'hard'}, "
	"{'name': 'shaped', 'match': {'vlan': 4}, 'limit': '8Mbit/s', 'burst': '60kB', 'action': "
	"'shape', 'shape': {'delay': '50ms'}, 'guarantee': 'hard'}, "
	"{'name': 'plain', 'match': {'vlan': 5}, 'limit': '8Mbit/s', 'burst': '60kB', "
	"'guarantee': 'hard'}";

struct world {
	struct instance_world *w;
	struct worker *worker;
};

static void open_world(struct world *world)
{
	world->w = stored_world_begin(&(struct world_options){.policies = policies});
	world->worker = &world->w->inst.workers[1];
	assert_non_null(world->worker->shared_buckets);
}

static void close_world(struct world *world)
{
	instance_world_end(&world->w);
}

/* Returns the limit that a policy uses. It is empty for a shaped policy. */
static union meter_profile profile_of(const struct world *world, unsigned policy)
{
	const struct policy_state *state =
		&world->worker->policies[world->w->inst.slots.of[policy]];
	union meter_profile profile;

	memset(&profile, 0, sizeof(profile));
	if (police_is_simple(state))
		profile.bucket = state->limit;
	else if (!police_is_shaped(state))
		profile = state->other->profile;
	return profile;
}

/* Checks the unchanged and the ended limits; `ended` has one bit for each policy. */
static void expect_ended(
	const struct world *world, const union meter_profile *before, unsigned ended)
{
	for (unsigned p = 0; p < POLICIES; p++) {
		uint8_t ending = world->worker->ending[world->w->inst.slots.of[p]];
		const union meter_profile now = profile_of(world, p);

		assert_int_equal(ending, ended >> p & 1 ? 0 : ENDING);
		if (p == PACKETS && ended >> p & 1) {
			assert_true(now.bucket.rate > 0);
			assert_int_equal(now.bucket.rate,
				expiry_left((uint64_t)before[p].bucket.rate, ENDING));
			assert_int_equal(
				now.bucket.burst, expiry_left(before[p].bucket.burst, ENDING));
		} else if (p == GCRA && ended >> p & 1) {
			assert_int_equal(now.gcra.rate, expiry_left(before[p].gcra.rate, ENDING));
			assert_int_equal(now.gcra.burst, expiry_left(before[p].gcra.burst, ENDING));
		} else {
			assert_memory_equal(&now, &before[p], sizeof(now));
		}
	}
}

static void note_profiles(const struct world *world, union meter_profile *before)
{
	for (unsigned p = 0; p < POLICIES; p++) {
		world->worker->ending[world->w->inst.slots.of[p]] = ENDING;
		before[p] = profile_of(world, p);
	}
}

/* A limit that control published too late ends immediately, and no other limit does. */
TEST(test_told)
{
	static const unsigned rows[] = {PACKETS, GCRA, SHAPED, PLAIN};

	for (size_t i = 0; i < COUNT(rows); i++) {
		union meter_profile before[POLICIES];
		struct world world;
		uint32_t slot;

		open_world(&world);
		note_profiles(&world, before);
		slot = world.w->inst.slots.of[rows[i]];
		expire_replaced(world.worker, slot, tick_now());
		expect_ended(&world, before, rows[i] == PLAIN ? 0 : 1u << rows[i]);
		if (rows[i] != PLAIN) { /* not twice */
			expire_replaced(world.worker, slot, tick_now());
			expect_ended(&world, before, 1u << rows[i]);
		}
		close_world(&world);
	}
}

/* All hard limits end if their time has passed. Soft limits do not. */
TEST(test_added)
{
	union meter_profile before[POLICIES];
	ENDED_BY(close_world) struct world world;

	open_world(&world);
	note_profiles(&world, before);
	world.worker->own.ended = 0;
	expire_added(world.worker);
	expect_ended(&world, before, 0);
	world.worker->own.ended = tick_now();
	expire_added(world.worker);
	expect_ended(&world, before, 1u << PACKETS | 1u << GCRA | 1u << SHAPED);
}

/* The end is reported once, until control has answered. Just before the end nothing is reported. */
TEST(test_seen)
{
	const uint64_t span = 3600 * tick_hz();
	union meter_profile before[POLICIES];
	uint64_t until, now = tick_now();
	ENDED_BY(close_world) struct world world;

	open_world(&world);
	note_profiles(&world, before);
	until = now + 1000;
	expiry_init(&world.worker->expiry, until, span);
	expire_limits(world.worker, until - 1);
	assert_false(expire_lasts(world.worker));
	expect_ended(&world, before, 0);
	expire_limits(world.worker, until);
	assert_true(expire_lasts(world.worker));
	assert_int_equal(world.worker->own.ended, until);
	assert_int_equal(world.worker->expiry.until, 0);
	assert_int_equal(world.worker->counters.expired, 1);
	expect_ended(&world, before, 1u << PACKETS | 1u << GCRA | 1u << SHAPED);
	expire_limits(world.worker, until + 7);
	assert_int_equal(world.worker->own.ended, until);
	assert_int_equal(world.worker->counters.expired, 1);
	world.worker->expiry.until = until + span / 2; /* control has answered */
	assert_false(expire_lasts(world.worker));
	assert_int_equal(world.worker->own.ended, 0);
}

/* The membership's end reduces soft limits. A clock that was set back does not end it. */
TEST(test_membership)
{
	static const struct {
		int64_t until, now;
		uint64_t span;
		bool silent;
	} rows[] = {
		{1000, 999, 500, false}, {1000, 1000, 500, true}, {1000, 1001, 500, true},
		{1000, 1000000, 500, true}, {1000, 501, 500, false},
		{1000, 400, 500, false},                                /* beyond the span */
		{1000, 1, 500, false}, {0, 1000000, UINT64_MAX, false}, /* a limiter alone */
	};
	struct world world;
	struct expiry membership;

	open_world(&world);
	world.worker->membership = &membership;
	for (size_t i = 0; i < COUNT(rows); i++) {
		expiry_init(&membership, (uint64_t)rows[i].until, rows[i].span);
		world.worker->own.silent = 77;
		expire_membership(world.worker, (uint64_t)rows[i].now);
		assert_int_equal(world.worker->own.silent, rows[i].silent ? rows[i].until : 0);
	}
	world.worker->membership = NULL;
	close_world(&world);
}

TEST_GROUP(instance_world_start, instance_world_stop)
