/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Levels that do not limit their total rate, and packets that wait below others, on a worker whose
 * states the engine owns; and the limiter's policies for them.
 */
#include "check.h"
#include "scope.h"

#include "allocate/allocate.h"
#include "engine/counts.h"
#include "engine/states.h"
#include "police/lineage.h"
#include "police/shaped.h"
#include "policy/kind.h"

#define BYTES UINT64_C(1000)
#define RATE  1000000 /* bytes a second */

/*
 * link: plan, page and mail have parts of it
 *   plan: no policy has a part of it; the packets of its subscribers count as its own
 *     subscribers: each of them
 *   year: a quota
 *     page: has a part of link
 *   mail: its packets wait; has a part of link
 */
enum { LINK, PLAN, SUBSCRIBERS, YEAR, PAGE, MAIL, SLOTS };

struct below_world {
	struct policy policies[SLOTS];
	struct engine engine;
	struct engine_limit limits[SLOTS];
};

static struct policy policy_below(int parent, unsigned above, const char *allocator)
{
	return (struct policy){
		.limit_bps = 8 * RATE,
		.burst_bytes = 10 * BYTES,
		.allocator = allocator_find(allocator),
		.meter = METER_TOKEN_BUCKET,
		.parent = parent,
		.above = (uint8_t)above,
	};
}

static void make_policies(struct policy *policies)
{
	policies[LINK] = policy_below(0, 0, "fps");
	policies[LINK].unmatched = true;
	policies[LINK].children = 2;
	policies[LINK].sharers = 3;
	policies[PLAN] = policy_below(LINK, 1, "fps");
	policies[PLAN].unmatched = true;
	policies[PLAN].children = 1;
	policies[PLAN].guaranteed_bps = 800;
	policies[SUBSCRIBERS] = policy_below(PLAN, 2, "static");
	policies[SUBSCRIBERS].per_v4 = 32;
	policies[SUBSCRIBERS].sources = 100;
	policies[SUBSCRIBERS].burst_bytes = 3 * BYTES;
	policies[YEAR] = policy_below(LINK, 1, "quota");
	policies[YEAR].unmatched = true;
	policies[YEAR].children = 2;
	policies[PAGE] = policy_below(YEAR, 2, "fps");
	policies[PAGE].weight = 3;
	policies[MAIL] = policy_below(LINK, 1, "fps");
	policies[MAIL].action = ACTION_SHAPE;
	policies[MAIL].shape.delay_ns = SECOND;
	for (unsigned i = 0; i < SLOTS; i++)
		snprintf(policies[i].name, sizeof(policies[i].name), "p%u", i);
}

TEST(test_who_has_parts)
{
	static const int dividers[SLOTS] = {POLICY_NO_PARENT, LINK, PLAN, LINK, LINK, LINK};
	static const bool parts[SLOTS] = {false, true, false, false, true, true};
	static const bool told_of[SLOTS] = {true, true, false, false, true, true};
	static const bool samples[SLOTS] = {false, true, false, false, true, true};
	struct policy policies[SLOTS];

	make_policies(policies);
	for (unsigned i = 0; i < SLOTS; i++) {
		assert_int_equal(policy_divider(policies, i), dividers[i]);
		assert_int_equal(policy_has_part(policies, i), parts[i]);
		assert_int_equal(policy_is_published(policies, i), told_of[i]);
		assert_int_equal(policy_samples_flows(&policies[i]), samples[i]);
	}
	policies[LINK].allocator = policies[PAGE].allocator = allocator_find("static");
	assert_true(policy_is_published(policies, LINK));
	assert_true(policy_is_published(policies, PAGE));
	policies[YEAR].above = 0; /* a policy below only a quota has no part */
	policies[PAGE].above = 1;
	assert_int_equal(policy_divider(policies, PAGE), POLICY_NO_PARENT);
	assert_false(policy_is_published(policies, PAGE));
}

TEST(test_policies_of_the_limiter)
{
	static const struct {
		bool child, own, waits;
		int parent, below;
		uint64_t guaranteed;
	} rows[SLOTS] = {
		[LINK] = {.parent = -1, .below = -1},
		[PLAN] = {.child = true,
			.own = true,
			.parent = LINK,
			.below = LINK,
			.guaranteed = 800},
		[SUBSCRIBERS] = {.parent = -1, .below = PLAN},
		[YEAR] = {.parent = -1, .below = LINK},
		[PAGE] = {.child = true, .parent = LINK, .below = YEAR},
		[MAIL] = {.child = true, .waits = true, .parent = LINK, .below = LINK},
	};
	ENDED_BY(free_at) struct limiter_policy *limits;
	struct policy policies[SLOTS];

	make_policies(policies);
	limits = engine_limiter_policies(policies, SLOTS, LOANS_NONE, 0);
	assert_non_null(limits);
	for (unsigned i = 0; i < SLOTS; i++) {
		uint64_t below = rows[i].below < 0 ? 0 : limits[rows[i].below].id | 1;

		assert_int_equal(limits[i].child, rows[i].child);
		assert_int_equal(limits[i].own, rows[i].own);
		assert_int_equal(limits[i].waits, rows[i].waits);
		assert_int_equal(
			limits[i].parent, rows[i].parent < 0 ? 0 : limits[rows[i].parent].id);
		assert_int_equal(limits[i].below, below);
		assert_int_equal(limits[i].guaranteed_bps, rows[i].guaranteed);
	}
}

static void open_world(struct below_world *w, unsigned workers)
{
	const struct policy_start start = {.hz = GHZ};

	*w = (struct below_world){0};
	make_policies(w->policies);
	assert_int_equal(engine_states_alloc(&w->engine, workers, SLOTS), 0);
	assert_int_equal(engine_states_wait(&w->engine, w->policies, 100, GHZ, 0), 0);
	w->engine.frame = BYTES;
	engine_share_begin(&w->engine, w->policies, SLOTS, 0);
	for (unsigned s = 0; s < SLOTS; s++) {
		w->limits[s] = (struct engine_limit){.policy = &w->policies[s],
			.slot = s,
			.hz = GHZ,
			.view = {.local_limit = RATE, .local_burst = w->policies[s].burst_bytes}};
		for (unsigned i = 0; i < workers; i++)
			assert_int_equal(
				engine_states_add(&w->engine, i, &w->limits[s], &start), 0);
		assert_int_equal(engine_begin(&w->engine, &w->limits[s], 0, 0, false), 0);
	}
}

static struct policy_state *state_of_slot(struct below_world *w, unsigned slot)
{
	return &w->engine.workers[0].states[slot];
}

static enum verdict send_from(struct below_world *w, uint8_t source, struct lineage_charge *charge)
{
	const uint8_t data[64] = {[12] = 192, [15] = source};
	const struct packet packet = {
		.family = PACKET_IPV4, .proto = 17, .src_off = 12, .flow_hash = 3};
	struct lineage_slots lineage = engine_states_lineage(w->policies, SUBSCRIBERS);

	return engine_states_police_levels(
		&w->engine, 0, &lineage, &packet, data, BYTES, 0, charge);
}

static void expect_counts(struct below_world *w, unsigned slot, unsigned packets, unsigned dropped)
{
	assert_int_equal(state_of_slot(w, slot)->packets, packets);
	assert_int_equal(state_of_slot(w, slot)->dropped_packets, dropped);
}

/*
 * Three packets of each subscriber, and ten of the plan. The plan samples the packets that reach
 * it.
 */
TEST(test_subscribers)
{
	struct lineage_charge charge;
	struct below_world w;
	unsigned passed = 0;

	open_world(&w, 1);
	for (unsigned source = 1; source <= 3; source++)
		for (unsigned i = 0; i < 5; i++) {
			enum verdict verdict = send_from(&w, (uint8_t)source, &charge);

			assert_int_equal(verdict, i < 3 ? VERDICT_PASS : VERDICT_DROP);
			assert_int_equal(charge.reached, i < 3 ? 3 : 1);
			passed += verdict == VERDICT_PASS;
		}
	assert_int_equal(passed, 9);
	expect_counts(&w, PLAN, 9, 0);
	expect_counts(&w, LINK, 9, 0);
	expect_counts(&w, SUBSCRIBERS, 15, 6);
	assert_int_equal(send_from(&w, 4, &charge), VERDICT_PASS);
	/* The plan drops it, so it costs its source nothing. */
	assert_int_equal(send_from(&w, 4, &charge), VERDICT_DROP);
	assert_int_equal(charge.reached, 2);
	state_of_slot(&w, PLAN)->bucket.tokens = 10 * BYTES << TOKEN_BYTE;
	state_of_slot(&w, LINK)->bucket.tokens = 10 * BYTES << TOKEN_BYTE;
	assert_int_equal(send_from(&w, 4, &charge), VERDICT_PASS);
	assert_int_equal(send_from(&w, 4, &charge), VERDICT_PASS);
	assert_int_equal(send_from(&w, 4, &charge), VERDICT_DROP);
	assert_int_equal(charge.reached, 1);
	assert_int_equal(flow_slot_count(w.engine.workers[0].samples[PLAN]->slot[3]), 13 * BYTES);
	engine_states_free(&w.engine, SLOTS);
}

static enum shape_verdict arrive(
	struct below_world *w, unsigned worker, struct shape_packet *packet, uint64_t now)
{
	static const uint8_t data[64];
	const struct packet header = {.family = PACKET_IPV4, .proto = 17};

	return engine_states_arrive(&w->engine, worker, MAIL, &header, data, BYTES, now, packet);
}

/* A packet that waits is counted above only when it leaves. */
TEST(test_waits_below)
{
	struct shape_packet packets[4], *out[4];
	struct below_world w;
	struct shaper *shaper;
	unsigned n = 0;

	open_world(&w, 1);
	shaper = w.engine.workers[0].shaper;
	state_of_slot(&w, LINK)->bucket.tokens = 2 * BYTES << TOKEN_BYTE;
	for (unsigned i = 0; i < 4; i++)
		assert_int_equal(arrive(&w, 0, &packets[i], 0), i < 2 ? SHAPE_PASSES : SHAPE_WAITS);
	expect_counts(&w, MAIL, 4, 0);
	expect_counts(&w, LINK, 2, 0);
	assert_int_equal(state_of_slot(&w, LINK)->bucket.tokens, 0);
	/* At 1,000 packets a second the link has one in a millisecond. */
	assert_int_equal(shaper_release(shaper, 900000, out, 4), 0);
	for (uint64_t now = SECOND / 1000; n < 2 && now < SECOND / 100; now += 10000)
		for (unsigned k = shaper_release(shaper, now, out, 4); k-- > 0; n++)
			assert_true(engine_states_leave(&w.engine, 0, MAIL, out[0], now));
	assert_int_equal(n, 2);
	expect_counts(&w, LINK, 4, 0);
	expect_counts(&w, MAIL, 4, 0);
	engine_states_free(&w.engine, SLOTS);
}

/* A parent that lets more pass also counts packets that waited. */
TEST(test_waits_below_lax)
{
	static const struct policy_start start = {.hz = GHZ};
	struct shape_packet packet;
	struct below_world w;

	open_world(&w, 1);
	w.policies[LINK].action = ACTION_COUNT;
	assert_int_equal(engine_states_add(&w.engine, 0, &w.limits[LINK], &start), 0);
	lineage_bucket(state_of_slot(&w, LINK))->tokens = 0;
	assert_int_equal(arrive(&w, 0, &packet, 0), SHAPE_PASSES);
	expect_counts(&w, LINK, 1, 0);
	assert_int_equal(police_over_packets(state_of_slot(&w, LINK)), 1);
	assert_int_equal(police_over_bytes(state_of_slot(&w, LINK)), BYTES);
	assert_int_equal(lineage_bucket(state_of_slot(&w, LINK))->tokens, 0);
	engine_states_free(&w.engine, SLOTS);
}

/* One bucket above, from which two workers' queues borrow: together they get it once. */
TEST(test_workers_wait_below)
{
	struct shape_packet packets[40], *out[4];
	unsigned passed = 0, left = 0;
	struct below_world w;

	open_world(&w, 2);
	/* The policy's own limit is more than enough. */
	w.limits[MAIL].view.local_limit = 100 * RATE;
	w.limits[MAIL].view.local_burst = 100 * BYTES;
	assert_int_equal(engine_enforce(&w.engine, &w.limits[MAIL], 0), 0);
	for (unsigned i = 0; i < 40; i++)
		passed += arrive(&w, i % 2, &packets[i], 0) == SHAPE_PASSES;
	assert_in_range(passed, 8, 10); /* less the tokens that each worker holds */
	for (uint64_t now = 0; now < SECOND / 100; now += 10000)
		for (unsigned i = 0; i < 2; i++)
			for (unsigned k = shaper_release(w.engine.workers[i].shaper, now, out, 4);
				k > 0; k--, left++)
				assert_true(
					engine_states_leave(&w.engine, i, MAIL, out[k - 1], now));
	assert_in_range(passed + left, 18, 20);
	assert_int_equal(
		state_of_slot(&w, LINK)->packets + w.engine.workers[1].states[LINK].packets,
		passed + left);
	engine_states_free(&w.engine, SLOTS);
}
