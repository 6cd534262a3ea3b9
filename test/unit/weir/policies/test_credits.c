/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Quotas in a whole limiter with a store. The tests follow the bytes that lie in a credit and at
 * workers when a period ends at an inconvenient time.
 */
#include "check.h"
#include "scope.h"

#include "instance_world.h"
#include "clock.h"
#include "event.h"
#include "policy_txn.h"
#include "publish.h"
#include "credits.h"
#include "commit.h"

END_POINTER(policy_txn_free, struct policy_txn *)

#define TOTAL UINT64_C(1000000000)
#define DAILY                                                             \
	"{'name': 'day', 'match': {'direction': 'a-to-b'}, 'allocator': " \
	"'quota', 'total': '1GB', 'period': '24h'}"

#define SOFT                                                                                 \
	"{'name': 'day', 'match': {'direction': 'a-to-b'}, 'allocator': 'static', 'limit': " \
	"'1Mbit/s'}"

/* The quantum of a worker for such a quota. */
#define HAND (TOTAL / 65536 / INSTANCE_WORKERS)

struct world {
	struct instance_world *w;
	uint64_t counted; /* bytes that the quota passed */
};

static struct world *world_of(const char *policies)
{
	struct world *world = test_calloc(1, sizeof(*world));

	world->w = stored_world_begin(&(struct world_options){.policies = policies});
	return world;
}

static struct world *world_new(void)
{
	return world_of(DAILY);
}

static void world_free(struct world *world)
{
	instance_world_end(&world->w);
	test_free(world);
}

END_POINTER(world_free, struct world *)

/* One turn of all parts that handle credits. */
static void turn_prepaid_instance(struct world *world)
{
	struct instance *inst = &world->w->inst;

	inst->credits->next_ns = 0;
	credits_look(inst, control_now());
	commit_advance(inst);
	credits_retry(inst);
	publish(inst);
	instance_world_turn_all(world->w);
}

static struct quota_view first_budget_view(const struct instance *inst)
{
	return budget_view(limiter_budget(inst->limiter), 0, control_now());
}

static uint64_t passed_bytes_total(struct world *world)
{
	return instance_world_totals(world->w, 0).passed_bytes;
}

static void reload_prepaid_instance(struct world *world, const char *policies)
{
	bool counts = world->w->inst.policies[0].allocator->counts_units;
	ENDED_BY(policy_txn_free_at) struct policy_txn *x;

	x = instance_world_prepare(world->w, policies);
	if (counts)
		world->counted += passed_bytes_total(world);
	assert_int_equal(policy_txn_commit(x), 0);
	while (!policy_txn_finish(x))
		instance_world_turn_all(world->w);
}

/* Runs until the credit has bytes. */
static void turn_until_filled(struct world *world)
{
	uint64_t end = control_now() + 20 * SECOND;

	for (; credits_held(&world->w->inst, 0) == 0; turn_prepaid_instance(world))
		assert_true(control_now() < end);
}

/*
 * A period that a reload began is valid for the credit too, for any wall clock. Only the bytes at
 * workers still pass from the previous period, and nothing is given back.
 */
TEST(test_credit_follows)
{
	ENDED_BY(world_free_at) struct world *world = world_new();
	struct instance *inst = &world->w->inst;
	uint64_t before, since, held;
	json_t *said;

	turn_until_filled(world);
	held = credits_held(inst, 0);
	since = events_number();
	assert_int_equal(
		limiter_period(inst->limiter, 0, first_budget_view(inst).period + 1, control_now()),
		0);
	inst->credits->next_ns = 0;
	assert_true(credits_look(inst, control_now()));
	assert_int_equal(credits_held(inst, 0), 0);
	assert_int_equal(events_number(), since + 1);
	said = events_get(since);
	assert_string_equal(json_string_value(json_object_get(said, "event")), "period_begins");
	assert_string_equal(json_string_value(json_object_get(said, "policy")), "day");
	assert_int_equal(json_integer_value(json_object_get(said, "period")),
		first_budget_view(inst).period);
	assert_int_equal(json_integer_value(json_object_get(said, "unused")), held);
	json_decref(said);
	before = passed_bytes_total(world);
	turn_until_filled(world);
	for (unsigned i = 0; i < 100; i++)
		turn_prepaid_instance(world);
	assert_true(passed_bytes_total(world) > before);
	credits_give_back(inst);
	assert_int_equal(first_budget_view(inst).prepaid, 0);
	assert_in_range(first_budget_view(inst).spent, 1, passed_bytes_total(world) - before);
}

/* A reload removes a quota and the next one adds it again. Its bytes exist only once. */
TEST(test_there_and_back)
{
	ENDED_BY(world_free_at) struct world *world = world_new();

	for (unsigned i = 0; i < 3; i++) {
		turn_until_filled(world);
		for (unsigned n = 0; n < 100; n++)
			turn_prepaid_instance(world);
		reload_prepaid_instance(world, SOFT);
		turn_prepaid_instance(world);
		reload_prepaid_instance(world, DAILY);
	}
	turn_until_filled(world);
	world->counted += passed_bytes_total(world);
	credits_give_back(&world->w->inst);
	/* The bytes that a worker held at a reload are gone. */
	assert_in_range(first_budget_view(&world->w->inst).spent, world->counted,
		world->counted + 3 * INSTANCE_WORKERS * (HAND));
}

/* A new credit gets one chunk before the first packet. */
TEST(test_ready)
{
	ENDED_BY(world_free_at) struct world *world = world_new();
	struct instance *inst = &world->w->inst;
	uint64_t end = control_now() + 20 * SECOND, held;

	for (;;) {
		inst->credits->next_ns = 0;
		credits_look(inst, control_now());
		commit_advance(inst);
		credits_retry(inst);
		held = credits_held(inst, 0);
		if (held > 0)
			break;
		assert_true(control_now() < end);
		publish(inst);
		instance_world_turn_all(world->w);
	}
	assert_true(held >= inst->policies[0].chunk);
}

/* A quota of packets without traffic. */
#define IDLE(name, vlan)                                                                    \
	"{'name': '" name "', 'match': {'vlan': " vlan "}, 'allocator': 'quota', 'total': " \
	"'1GB', 'period': '24h'}"
#define THREE IDLE("a", "11") ", " IDLE("b", "12") ", " IDLE("c", "13")

/* Runs until each quota has bytes. They stay there because no packet uses them. */
static void fill_all(struct world *world)
{
	const struct instance *inst = &world->w->inst;
	uint64_t end = control_now() + 20 * SECOND;
	unsigned filled;

	do {
		turn_prepaid_instance(world);
		filled = 0;
		for (unsigned i = 0; i < inst->n_policies; i++)
			filled += !inst->policies[i].allocator->counts_units ||
				  credits_held(inst, inst->slots.of[i]) > 0;
		assert_true(control_now() < end);
	} while (filled < inst->n_policies);
}

/*
 * Any one of several quotas is removed: its bytes go back, the bytes of the others stay, and
 * control still serves the others.
 */
TEST(test_one_leaves)
{
	static const char *const rest[] = {IDLE("b", "12") ", " IDLE("c", "13"),
		IDLE("a", "11") ", " IDLE("c", "13"), IDLE("a", "11") ", " IDLE("b", "12")};

	for (unsigned leaves = 0; leaves < 3; leaves++) {
		struct world *world = world_of(THREE);
		struct instance *inst = &world->w->inst;
		uint64_t held[3];
		struct policy_txn *x;
		uint32_t slots[3];

		fill_all(world);
		for (unsigned i = 0; i < 3; i++) {
			slots[i] = inst->slots.of[i];
			held[i] = credits_held(inst, slots[i]);
			assert_non_null(credits_published(inst, slots[i]));
		}
		reload_prepaid_instance(world, THREE ", " SOFT); /* all of them stay */
		for (unsigned i = 0; i < 3; i++)
			assert_int_equal(credits_held(inst, slots[i]), held[i]);
		x = instance_world_prepare(world->w, rest[leaves]);
		assert_int_equal(policy_txn_commit(x), 0);
		for (unsigned i = 0; i < 3; i++)
			assert_int_equal(credits_held(inst, slots[i]), i == leaves ? 0 : held[i]);
		/* The removed quota is still in the list, and control skips it. */
		inst->credits->next_ns = 0;
		credits_look(inst, control_now());
		credits_retry(inst);
		assert_int_equal(credits_held(inst, slots[leaves]), 0);
		while (!policy_txn_finish(x))
			instance_world_turn_all(world->w);
		policy_txn_free(x);
		assert_null(credits_published(inst, slots[leaves]));
		credits_give_back(inst);
		for (unsigned i = 0; i < 2; i++) {
			assert_int_equal(credits_held(inst, inst->slots.of[i]), 0);
			assert_int_equal(
				budget_view(limiter_budget(inst->limiter), i, control_now())
					.prepaid,
				0);
		}
		fill_all(world);
		world_free(world);
	}
}

/* A policy that moves keeps its credit, and the bytes at workers come back. */
TEST(test_moves)
{
	static const char elsewhere[] =
		"{'name': 'day', 'match': {'direction': 'a-to-b'}, 'allocator': 'quota', "
		"'total': '1GB', 'period': '24h', 'accounting': 'l2'}";
	ENDED_BY(world_free_at) struct world *world = world_new();
	struct instance *inst = &world->w->inst;
	uint64_t held, passed;
	struct policy_txn *x;
	uint32_t from;

	turn_until_filled(world);
	for (unsigned i = 0; i < 50; i++)
		turn_prepaid_instance(world);
	from = inst->slots.of[0];
	passed = passed_bytes_total(world);
	held = credits_held(inst, from);
	assert_true(held > 0);
	x = instance_world_prepare(world->w, elsewhere);
	assert_int_equal(policy_txn_commit(x), 0);
	assert_int_not_equal(inst->slots.of[0], from);
	assert_int_equal(credits_held(inst, inst->slots.of[0]), held);
	assert_int_equal(credits_held(inst, from), 0);
	while (!policy_txn_finish(x))
		instance_world_turn_all(world->w);
	policy_txn_free(x);
	assert_null(credits_published(inst, from));
	assert_non_null(credits_published(inst, inst->slots.of[0]));
	for (unsigned i = 0; i < 50; i++)
		turn_prepaid_instance(world);
	assert_true(passed_bytes_total(world) > passed);
	credits_give_back(inst);
	assert_int_equal(first_budget_view(inst).prepaid, 0);
	assert_int_equal(first_budget_view(inst).spent, passed_bytes_total(world));
}

/* The view of the quota of a policy, which is empty without a quota. */
TEST(test_budget_of)
{
	ENDED_BY(world_free_at)
	struct world *world = world_of(IDLE("a", "11") ", " SOFT ", " IDLE("c", "13"));
	const struct instance *inst = &world->w->inst;
	static const struct quota_view none;
	struct quota_view view, expected;

	fill_all(world);
	for (unsigned i = 0; i < 3; i += 2) {
		view = none;
		expected = budget_view(limiter_budget(inst->limiter), i / 2, control_now());
		assert_true(instance_budget(inst, i, &view));
		assert_true(
			view.prepaid > 0 && view.prepaid == credits_held(inst, inst->slots.of[i]));
		assert_int_equal(view.period, expected.period);
		assert_int_equal(view.balance, expected.balance);
	}
	assert_false(instance_budget(inst, 1, &view));
	assert_null(credits_published(inst, inst->slots.of[1]));
	assert_int_equal(credits_held(inst, inst->slots.of[1]), 0);
}

TEST_GROUP(instance_world_start, instance_world_stop)
