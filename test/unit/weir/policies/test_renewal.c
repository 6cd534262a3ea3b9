/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The time until which hard limits of workers and of the kernel's CPUs are valid. The test sets the
 * end of leases, and workers only have turns in the test.
 */
#include "instance_world.h"
#include "scope.h"

#include "base/expiry.h"
#include "base/time.h"
#include "clock.h"
#include "control_clock.h"
#include "event.h"
#include "kernel_lines.h"
#include "publish.h"
#include "renewal.h"
#include "tick.h"

#define NOW   clock_ns
#define LEASE (3600 * SECOND_NS) /* longer than any test takes */

#define POLICIES                                                                     \
	"{'name': 'soft', 'match': {'vlan': 9}, 'limit': '8Mbit/s'}, {'name': 'a', " \
	"'match': {'vlan': 7}, 'limit': '8Mbit/s', 'guarantee': 'hard'}, "           \
	"{'name': 'b', 'match': {'vlan': 8}, 'limit': '8Mbit/s', 'guarantee': 'hard'}"

static struct expiry kernel;
static bool has_kernel;
static uint64_t lease_ends;

/* The linker replaces the real functions by these. */
struct expiry *__wrap_kernel_lines_lease(const struct instance *inst);
struct expiry *__wrap_kernel_lines_lease(const struct instance *inst)
{
	return has_kernel ? &kernel : NULL;
}

uint64_t __wrap_limiter_lease_ends(const struct limiter *limiter);
uint64_t __wrap_limiter_lease_ends(const struct limiter *limiter)
{
	return lease_ends;
}

struct world {
	struct instance_world *w;
	struct instance *inst;
};

static uint64_t ticks_of(const struct world *world, uint64_t ns)
{
	return (uint64_t)((unsigned __int128)ns * world->inst->clock.hz / SECOND_NS);
}

/* Publishes all limits, and lets the workers take them. */
static void tell_all(struct world *world)
{
	for (unsigned i = 0; i < 4; i++) {
		publish_rest(world->inst);
		instance_world_turn_all(world->w);
	}
	assert_true(dirty_is_empty(&world->inst->dirty));
}

static void open_world(struct world *world)
{
	memset(&kernel, 0, sizeof(kernel));
	has_kernel = true;
	lease_ends = NOW + 10 * LEASE;
	world->w = stored_world_begin(&(struct world_options){.policies = POLICIES});
	world->inst = &world->w->inst;
	world->w->config->ledger.lease_ns = LEASE;
	renewal_start(world->inst);
	tell_all(world);
}

static void close_world(struct world *world)
{
	has_kernel = false;
	instance_world_end(&world->w);
}

/* At the start all limits get one lease. Without a lease or a store, no limit ends. */
TEST(test_start)
{
	ENDED_BY(close_world) struct world world;
	struct ledger_config *ledger;
	struct renewal *renewal;
	uint64_t before, after;

	open_world(&world);
	renewal = &world.inst->renewal;
	ledger = &world.w->config->ledger;
	for (unsigned k = 0; k < 2; k++) {
		has_kernel = k;
		renewal->late = renewal->logged = 3;
		before = tick_now();
		renewal_start(world.inst);
		after = tick_now();
		assert_int_equal(renewal->span, 2 * ticks_of(&world, LEASE));
		assert_in_range(renewal->until - ticks_of(&world, LEASE), before, after);
		assert_int_equal(renewal->late + renewal->logged, 0);
		for (unsigned w = 0; w < INSTANCE_WORKERS; w++) {
			assert_int_equal(world.inst->workers[w].expiry.until, renewal->until);
			assert_int_equal(world.inst->workers[w].expiry.span, renewal->span);
		}
	}
	assert_int_equal(kernel.until, renewal->until);
	assert_int_equal(kernel.span, renewal->span);
	for (unsigned i = 0; i < 2; i++) {
		uint64_t until = world.inst->workers[1].expiry.until;
		char first = ledger->store[0];

		ledger->lease_ns = i ? LEASE : 0;
		ledger->store[0] = i ? '\0' : first;
		renewal_start(world.inst);
		ledger->store[0] = first;
		assert_int_equal(renewal->span, 0);
		assert_int_equal(renewal->until, 0);
		assert_int_equal(kernel.until, 0);
		assert_true(kernel.span == UINT64_MAX);
		kernel.until = 17;
		renewal_run(world.inst); /* no effect */
		renewal_shorten(world.inst);
		assert_int_equal(kernel.until, 17);
		assert_int_equal(world.inst->workers[1].expiry.until, until);
		assert_false(renewal_waits(world.inst));
	}
}

/*
 * Limits are valid no longer than the first lease that ends. A worker that has seen the end is not
 * changed.
 */
TEST(test_shorten)
{
	static const uint64_t left_ns[] = {10 * LEASE, LEASE / 3, 1000, 0};
	static const uint64_t holds_ns[] = {LEASE - LEASE / 1000, LEASE / 3 - LEASE / 3000, 999, 0};
	ENDED_BY(close_world) struct world world;
	struct expiry *expiry;
	uint64_t before, after;

	open_world(&world);
	for (size_t i = 0; i < COUNT(left_ns); i++) {
		renewal_start(world.inst);
		lease_ends = NOW + left_ns[i];
		expiry = &world.inst->workers[0].expiry;
		before = tick_now();
		renewal_shorten(world.inst);
		after = tick_now();
		assert_in_range(expiry->until - ticks_of(&world, holds_ns[i]), before, after);
		assert_int_equal(world.inst->workers[1].expiry.until, expiry->until);
		assert_int_equal(kernel.until, expiry->until);
		lease_ends = NOW + LEASE / 2;
		before = expiry->until;
		expiry = &world.inst->workers[1].expiry;
		expiry->until = 0;
		renewal_shorten(world.inst);
		assert_int_equal(expiry->until, 0);
		if (left_ns[i] < LEASE / 2)
			assert_int_equal(world.inst->workers[0].expiry.until, before);
		else
			assert_true(world.inst->workers[0].expiry.until < before);
	}
	lease_ends = NOW - 1; /* already over */
	before = tick_now();
	renewal_start(world.inst);
	renewal_shorten(world.inst);
	assert_in_range(kernel.until, before, tick_now());
}

/* Limits are valid until the first lease ends, for workers that have taken all limits. */
TEST(test_renews)
{
	ENDED_BY(close_world) struct world world;
	struct renewal *renewal;
	struct expiry *first, *second;
	uint64_t before, after, ahead;

	open_world(&world);
	renewal = &world.inst->renewal;
	first = &world.inst->workers[0].expiry;
	second = &world.inst->workers[1].expiry;
	ahead = tick_now() + ticks_of(&world, LEASE / 6);
	renewal->until = 0;
	first->until = second->until = kernel.until = ahead;
	before = tick_now();
	renewal_run(world.inst);
	after = tick_now();
	assert_in_range(first->until - ticks_of(&world, LEASE - LEASE / 1000), before, after);
	assert_int_equal(second->until, first->until);
	assert_int_equal(kernel.until, first->until);
	assert_int_equal(renewal->until, first->until);
	assert_int_equal(renewal->late, 0);
	/* With unpublished limits, times can only be shortened. */
	dirty_mark(&world.inst->dirty, world.inst->slots.of[0]);
	first->until = second->until = kernel.until = ahead;
	renewal->until = 0;
	renewal_run(world.inst);
	assert_int_equal(first->until, ahead);
	assert_int_equal(second->until, ahead);
	assert_int_equal(kernel.until, ahead);
	assert_int_equal(renewal->until, ahead);
	first->until = ahead + ticks_of(&world, LEASE);
	renewal_run(world.inst);
	assert_true(first->until < ahead + ticks_of(&world, LEASE));
	assert_true(first->until > ahead);
	/* An end that a worker has not seen yet is not overwritten. */
	tell_all(&world);
	renewal_start(world.inst);
	first->until = tick_now() - 1;
	before = first->until;
	renewal_run(world.inst);
	assert_int_equal(first->until, before);
	assert_int_equal(renewal->logged, 0);
}

static void expect_event(
	uint64_t number, const char *name, const char *field, uint64_t least, uint64_t most)
{
	json_t *said = events_get(number);

	assert_string_equal(json_string_value(json_object_get(said, "event")), name);
	assert_in_range(json_integer_value(json_object_get(said, field)), least, most);
	json_decref(said);
}

/* A worker that has seen the end gets all limits again. Events report this once. */
TEST(test_worker_ended)
{
	ENDED_BY(close_world) struct world world;
	struct renewal *renewal;
	struct expiry *second;
	uint64_t first;

	open_world(&world);
	renewal = &world.inst->renewal;
	second = &world.inst->workers[1].expiry;
	world.inst->workers[0].cpu = 5;
	world.inst->workers[1].cpu = 6;
	second->until = 0;
	dirty_mark(&world.inst->dirty, world.inst->slots.of[0]);
	first = events_number();
	assert_true(renewal_waits(world.inst));
	for (unsigned i = 0; i < 2; i++) { /* a limit is still unpublished */
		renewal_run(world.inst);
		assert_int_equal(second->until, 0);
		assert_int_equal(renewal->logged, 2);
		assert_int_equal(events_number() - first, 1);
	}
	expect_event(first, "limits_ended", "cpu", 6, 6);
	dirty_clear(&world.inst->dirty, world.inst->slots.of[0]);
	first = events_number();
	renewal_run(world.inst);
	assert_true(second->until > tick_now());
	assert_int_equal(renewal->logged, 0);
	assert_int_equal(events_number() - first, 1);
	expect_event(first, "limits_renewed", "cpu", 6, 6);
	assert_int_equal(world.inst->dirty.n, 2); /* the hard limits */
	assert_false(renewal_waits(world.inst));
	publish_rest(world.inst);
	assert_true(renewal_waits(world.inst)); /* until the worker takes them */
	tell_all(&world);
	assert_false(renewal_waits(world.inst));
}

/*
 * A late renewal is reported. Shared buckets then record since when only the unreserved share is
 * valid.
 */
TEST(test_late)
{
	ENDED_BY(close_world) struct world world;
	struct renewal *renewal;
	struct engine_slot *slots;
	uint64_t first, until;
	unsigned a, b;

	open_world(&world);
	renewal = &world.inst->renewal;
	slots = world.inst->engine.slots;
	assert_non_null(world.inst->engine.shared_buckets);
	a = world.inst->slots.of[1];
	b = world.inst->slots.of[2];
	first = events_number();
	until = tick_now() - ticks_of(&world, 72000 * SECOND_NS);
	renewal->until = until;
	slots[a].ending = 10;
	slots[a].ended = 0;
	slots[b].ending = 10;
	slots[b].ended = 77;
	renewal_run(world.inst);
	assert_int_equal(renewal->late, 1);
	assert_int_equal(slots[a].ended, until);
	assert_int_equal(slots[b].ended, 77);
	assert_int_equal(world.inst->dirty.n, 2);
	assert_int_equal(events_number() - first, 1);
	expect_event(first, "renewal_late", "ms", 72000 * 1000, 72060 * 1000);
	assert_true(renewal->until > tick_now());
	slots[a].ending = slots[a].ended = slots[b].ended = 0;
	renewal->until = tick_now();
	renewal_run(world.inst); /* the end is at this tick */
	assert_int_equal(renewal->late, 2);
	assert_int_equal(slots[a].ended, 0); /* the slot has no ending part */
	slots[b].ending = 0;
	tell_all(&world);
}

/*
 * The kernel's CPUs do not report that their limits have ended. Control detects it and publishes
 * all again.
 */
TEST(test_kernel_ended)
{
	ENDED_BY(close_world) struct world world;
	struct renewal *renewal;
	struct engine_slot *slot;
	uint64_t over;

	open_world(&world);
	renewal = &world.inst->renewal;
	slot = &world.inst->engine.slots[world.inst->slots.of[1]];
	slot->ending = 10;
	slot->ended = 0;
	over = tick_now() - 1000;
	kernel.until = over;
	renewal_run(world.inst);
	assert_true(renewal->kernel_ended);
	assert_int_equal(slot->ended, over);
	assert_int_equal(kernel.until, over);
	assert_int_equal(world.inst->dirty.n, 2);
	assert_int_equal(renewal->late, 0);
	slot->ended = 5; /* detected only once */
	renewal_run(world.inst);
	assert_int_equal(slot->ended, 5);
	assert_int_equal(kernel.until, over);
	slot->ending = slot->ended = 0;
	tell_all(&world);
	renewal_run(world.inst);
	assert_false(renewal->kernel_ended);
	assert_true(kernel.until > tick_now());
}

TEST_GROUP(instance_world_start, instance_world_stop)
