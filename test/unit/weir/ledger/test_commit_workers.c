/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Hard limits at the workers: they end without control, start with empty buckets, and the parts of
 * all workers never exceed the limit.
 */
#include "commit_world.h"
#include "scope.h"

#include "clock.h"
#include "publish.h"
#include "meter/shares.h"
#include "policy_txn.h"
#include "renewal.h"
#include "tick.h"

#define STEADY_OF(more)                                                             \
	"{'name': 'steady', 'match': {'direction': 'a-to-b'}, 'limit': '8Mbit/s', " \
	"'burst': '100kB', 'guarantee': 'hard'" more "}"
#define STEADY         STEADY_OF("")
#define STEADY_COUNTED STEADY_OF(", 'meter': 'gcra'")
#define STEADY_SHAPED  STEADY_OF(", 'action': 'shape', 'shape': {'delay': '50ms'}")
#define STEADY_PHANTOM STEADY_OF(", 'meter': 'phantom', 'classes': {'by': 'dscp'}")

/* Returns the bytes that passed. */
static uint64_t bytes_passed(struct instance_world *w)
{
	return instance_world_totals(w, 0).passed_bytes;
}

/* Ends the limit of all workers now, as if its `ending` part were the unreserved share. */
static void end_limits(struct instance_world *w, uint8_t ending)
{
	struct instance *inst = &w->inst;
	uint32_t slot = inst->slots.of[0];
	uint64_t now = tick_now();

	inst->renewal.until = now;
	inst->engine.slots[slot].ending = ending;
	for (unsigned i = 0; i < INSTANCE_WORKERS; i++) {
		inst->workers[i].ending[slot] = ending;
		expiry_init(&inst->workers[i].expiry, now, inst->renewal.span);
	}
}

/*
 * Without control, workers use only the unreserved share. When control is back, it publishes all
 * limits again.
 */
static void check_limits_end(const char *policy)
{
	uint64_t began, passed, took;
	uint8_t ending = expiry_ending(100, 1);

	disk_new();
	disk.exists = true;
	WORLD(w, policy, .more = ALONE);
	for (began = control_now(); control_now() - began < 100 * MS;)
		instance_world_turn_all(w);
	assert_int_equal(w->inst.workers[0].counters.expired, 0);
	end_limits(w, ending);
	began = control_now();
	passed = bytes_passed(w);
	while ((took = control_now() - began) < 200 * MS)
		instance_world_turn_all(w);
	passed = bytes_passed(w) - passed;
	took = control_now() - began;
	/* At most 1 % of the limit, 1 kB of burst, and a packet of each worker. */
	if ((double)passed > (double)took / 1e9 * LIMIT / 100 + 1000 + 2 * INSTANCE_BYTES)
		fail_msg("%" PRIu64 " bytes in %" PRIu64 " ns", passed, took);
	for (unsigned i = 0; i < INSTANCE_WORKERS; i++) {
		assert_int_equal(w->inst.workers[i].counters.expired, 1);
		assert_int_equal(expiry_until(&w->inst.workers[i].expiry), 0);
	}
	passed = bytes_passed(w);
	began = control_now(); /* workers earn from now on, even if a turn shows it later */
	renewal_run(&w->inst);
	assert_int_equal(w->inst.renewal.late, 1);
	assert_true(renewal_waits(&w->inst)); /* workers have not taken the limits yet */
	for (unsigned i = 0; i < 20 && renewal_waits(&w->inst); i++) {
		publish_rest(&w->inst);
		instance_world_turn_all(w);
		renewal_run(&w->inst);
	}
	assert_false(renewal_waits(&w->inst));
	publish_rest(&w->inst);
	while (bytes_passed(w) - passed < 50000) { /* takes seconds by the rest */
		instance_world_turn_all(w);
		renewal_run(&w->inst);
		assert_true(control_now() - began < PATIENCE);
	}
	took = control_now() - began;
	assert_true((double)took / 1e9 * LIMIT + 1000 >= 50000 - 2 * INSTANCE_BYTES);
	assert_int_equal(w->inst.workers[0].ending[w->inst.slots.of[0]], 0);
}

TEST(test_limits_end_without_control)
{
	check_limits_end(STEADY);
	check_limits_end(STEADY_COUNTED);
	check_limits_end(STEADY_SHAPED);
	check_limits_end(STEADY_PHANTOM);
}

/* Publishes the limit to each worker again, with the same ending part as in end_limits(). */
static void tell_ending(struct instance_world *w, uint8_t ending)
{
	for (unsigned i = 0; i < INSTANCE_WORKERS; i++) {
		assert_int_equal(w->inst.workers[i].counters.expired, 1);
		limit_ring_forget(&w->inst.workers[i].limit_ring, w->inst.slots.of[0]);
	}
	publish_all_later(&w->inst);
	publish(&w->inst);
	for (unsigned i = 0; i < INSTANCE_WORKERS; i++) {
		struct limit_ring *ring = &w->inst.workers[i].limit_ring;
		struct limit_profile profile;

		assert_int_equal(limit_ring_take(ring, &profile, 1), 1);
		profile.ending = ending;
		assert_true(limit_ring_send(ring, &profile));
	}
}

/*
 * Control publishes a limit before it detects that it has ended. A worker that takes it then only
 * uses the unreserved share.
 */
static void check_told_after_end(const char *policy)
{
	uint8_t ending = expiry_ending(100, 1);
	uint64_t began, passed, took;
	disk_new();
	disk.exists = true;
	WORLD(w, policy, .more = ALONE);
	for (began = control_now(); control_now() - began < 100 * MS;)
		instance_world_turn_all(w);
	end_limits(w, ending);
	instance_world_turn_all(w);
	tell_ending(w, ending);
	began = control_now();
	passed = bytes_passed(w);
	while ((took = control_now() - began) < 200 * MS)
		instance_world_turn_all(w);
	passed = bytes_passed(w) - passed;
	took = control_now() - began;
	for (unsigned i = 0; i < INSTANCE_WORKERS; i++)
		assert_true(limit_ring_is_taken(&w->inst.workers[i].limit_ring));
	if ((double)passed > (double)took / 1e9 * LIMIT / 100 + 1000 + 2 * INSTANCE_BYTES)
		fail_msg("%" PRIu64 " bytes in %" PRIu64 " ns", passed, took);
}

TEST(test_told_after_end)
{
	check_told_after_end(STEADY);
	check_told_after_end(STEADY_COUNTED);
	check_told_after_end(STEADY_SHAPED);
	check_told_after_end(STEADY_PHANTOM);
}

/* A worker that stalled does not get a renewal before it has emptied its ring. */
TEST(test_limits_are_renewed_when_taken)
{
	struct expiry *expiry;
	uint64_t until;

	disk_new();
	disk.exists = true;
	WORLD(w, STEADY, .more = ALONE);
	expiry = &w->inst.workers[1].expiry;
	instance_world_turn_all(w);
	renewal_run(&w->inst);
	until = expiry_until(expiry);
	for (unsigned i = 0; i < INSTANCE_WORKERS; i++)
		limit_ring_forget(&w->inst.workers[i].limit_ring, w->inst.slots.of[0]);
	publish_all_later(&w->inst);
	publish_rest(&w->inst);
	instance_world_turn(w, 0);
	renewal_run(&w->inst);
	assert_int_equal(expiry_until(expiry), until);
	assert_true(expiry_until(&w->inst.workers[0].expiry) > until);
	instance_world_turn(w, 1);
	renewal_run(&w->inst);
	assert_true(expiry_until(expiry) > until);
}

/* A soft limit starts with a full burst. A hard limit starts empty, also after a reload. */
TEST(test_buckets_begin_empty)
{
	static const char *const hard[] = {
		CAP(FEW ", 'allocator': 'static'"),
		CAP(FEW ", 'allocator': 'static', 'meter': 'gcra'"),
		CAP(FEW ", 'allocator': 'static', 'action': 'count'"),
		CAP(FEW ", 'allocator': 'gdrl'"),
	};
	struct instance_world w;

	disk_new();
	instance_world_open_more(&w, ALONE, SOFT);
	instance_world_turn_all(&w);
	assert_int_equal(instance_world_totals(&w, 0).passed_packets, 2 * INSTANCE_BURST);
	instance_world_close(&w);
	for (unsigned i = 0; i < COUNT(hard); i++) {
		struct policy_totals totals;

		instance_world_open_more(&w, ALONE, hard[i]);
		instance_world_turn_all(&w);
		totals = instance_world_totals(&w, 0);
		assert_int_equal(totals.passed_packets - totals.over_packets, 0);
		instance_world_close(&w);
	}
}

static struct policy_state *policy_line(const struct instance_world *w, unsigned worker)
{
	return &w->inst.workers[worker].policies[w->inst.slots.of[0]];
}

/* Returns the bytes per second of a worker's part of a policy that is not plain. */
static double worker_earns_bps(const struct instance_world *w, unsigned worker)
{
	const struct token_bucket_profile *bucket = &policy_line(w, worker)->other->profile.bucket;

	return (double)bucket->rate / 0x1p56 * (double)w->inst.clock.hz;
}

/* Measures all demand at the first worker, and publishes the parts. */
static void demand_at_first(struct instance_world *w)
{
	uint32_t slot = w->inst.slots.of[0];

	share_look(&w->inst.engine.slots[slot].shares[0], 1000000, 1, 0);
	dirty_mark(&w->inst.dirty, slot);
	assert_true(publish(&w->inst));
	instance_world_turn_all(w);
}

/*
 * Parts of a soft limit follow the demand. Parts of a hard limit stay constant, so that their sum
 * never exceeds it.
 */
TEST(test_parts_never_change)
{
	ENDED_BY(instance_world_close) struct instance_world w;
	double even;

	disk_new();
	instance_world_open_more(&w, ALONE, CAP(", 'limit': '8Mbit/s', 'action': 'count'"));
	even = worker_earns_bps(&w, 0);
	assert_near(even, LIMIT / 2, 1);
	demand_at_first(&w);
	assert_true(worker_earns_bps(&w, 0) == even && worker_earns_bps(&w, 1) == even);
	assert_true(2 * even <= LIMIT);
	instance_world_close(&w);

	instance_world_open_more(&w, ALONE,
		"{'name': 'cap', 'match': {'direction': 'a-to-b'}, 'limit': '8Mbit/s', "
		"'action': 'count'}");
	demand_at_first(&w);
	assert_true(worker_earns_bps(&w, 0) > 0.9 * LIMIT);
}

/* Workers hold no tokens, because they would keep them when the limit moves away. */
TEST(test_workers_hold_nothing)
{
	disk_new();
	WORLD(w, CAP(", 'limit': '100Gbit/s', 'burst': '1GB'"), .more = ALONE);
	usleep(1000);
	instance_world_turn_all(w);
	assert_true(instance_world_totals(w, 0).passed_packets > 0);
	for (unsigned i = 0; i < INSTANCE_WORKERS; i++)
		assert_int_equal(policy_line(w, i)->bucket.tokens >> TOKEN_BYTE, 0);
}

/* A new line earns nothing until the last worker has left the old one. */
TEST(test_no_line_earns_during_another)
{
	struct policy_txn *x;
	disk_new();
	WORLD(w, CAP(", 'limit': '8Mbit/s'"), .more = ALONE);
	x = instance_world_prepare(w, CAP(", 'limit': '8Mbit/s', 'action': 'count'"));
	assert_int_equal(policy_txn_commit(x), 0);
	publish_all_later(&w->inst);
	assert_true(publish(&w->inst));
	instance_world_turn(w, 0);
	instance_world_turn(w, 0);
	assert_false(policy_txn_finish(x));
	assert_true(worker_earns_bps(w, 0) == 0 && worker_earns_bps(w, 1) == 0);
	for (unsigned i = 0; i < 3 && !policy_txn_finish(x); i++)
		instance_world_turn_all(w);
	policy_txn_free(x);
	assert_true(publish(&w->inst));
	instance_world_turn_all(w);
	assert_near(worker_earns_bps(w, 0) + worker_earns_bps(w, 1), LIMIT, 2);
}

#define MESSAGES 40 /* more than a worker takes in a turn */

/*
 * A worker that was quiescent, but still has limits in its ring, does not count as enforcing them.
 */
TEST(test_all_messages_are_taken)
{
	struct limit_profile profile = {
		.kind = METER_TOKEN_BUCKET, .sample_shift = POLICE_UNSAMPLED};
	struct grace grace;
	unsigned turns = 0;

	disk_new();
	WORLD(w, CAP(", 'limit': '8Mbit/s', 'action': 'count'"), .more = ALONE);
	profile.policy = w->inst.slots.of[0];
	for (unsigned i = 0; i < MESSAGES; i++) {
		profile.meter.bucket.rate = 1 + i;
		assert_true(limit_ring_send(&w->inst.workers[1].limit_ring, &profile));
	}
	grace_begin(&grace, &w->inst);
	assert_false(grace_done(&grace, &w->inst));
	while (!grace_done(&grace, &w->inst)) {
		assert_true(turns++ < MESSAGES);
		instance_world_turn_all(w);
	}
	assert_int_equal(policy_line(w, 1)->other->profile.bucket.rate, MESSAGES);
}

TEST_GROUP(instance_world_start, instance_world_stop)
