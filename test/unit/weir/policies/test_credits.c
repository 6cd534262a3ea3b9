/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Totals in a whole box with a store of its own: what becomes of the units that lie in a credit,
 * and in the hands of workers, when a period turns at an awkward time.
 */
#include "check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "instance_world.h"
#include "clock.h"
#include "policy_txn.h"
#include "publish.h"
#include "credits.h"
#include "commit.h"
#include "store/store.h"

#define SECOND UINT64_C(1000000000)
#define TOTAL  UINT64_C(1000000000)
#define DAILY                                                             \
	"{'name': 'day', 'match': {'direction': 'a-to-b'}, 'allocator': " \
	"'quota', 'total': '1GB', 'period': '24h'}"

#define SOFT                                                                                 \
	"{'name': 'day', 'match': {'direction': 'a-to-b'}, 'allocator': 'static', 'limit': " \
	"'1Mbit/s'}"

/* A worker's quantum of such a total. */
#define HAND (TOTAL / 65536 / INSTANCE_WORKERS)

struct world {
	struct instance_world w;
	uint64_t counted; /* bytes that passed by the total */
	char directory[64], store[80], more[128];
};

static struct world *world_new(void)
{
	struct world *world = test_calloc(1, sizeof(*world));

	strcpy(world->directory, "/tmp/weir-credits-XXXXXX");
	assert_non_null(mkdtemp(world->directory));
	snprintf(world->store, sizeof(world->store), "%s/store", world->directory);
	snprintf(world->more, sizeof(world->more), "'ledger': {'store': '%s'}, ", world->store);
	assert_int_equal(store_create(world->store, (struct store_identity){0, 1}), 0);
	instance_world_open_more(&world->w, world->more, DAILY);
	return world;
}

static void world_free(struct world *world)
{
	char command[128];

	instance_world_close(&world->w);
	snprintf(command, sizeof(command), "rm -r %s", world->directory);
	assert_int_equal(system(command), 0);
	test_free(world);
}

/* A turn of all, of what concerns credits. */
static void turn_prepaid_instance(struct world *world)
{
	struct instance *inst = &world->w.inst;

	inst->credits->next_ns = 0;
	credits_look(inst, control_now());
	commit_advance(inst);
	credits_retry(inst);
	publish(inst);
	instance_world_turn_all(&world->w);
}

static struct quota_view first_budget_view(const struct instance *inst)
{
	return budget_view(limiter_budget(inst->limiter), 0, control_now());
}

static uint64_t passed_bytes_total(struct world *world)
{
	return instance_world_totals(&world->w, 0).passed_bytes;
}

static void reload_prepaid_instance(struct world *world, const char *policies)
{
	bool counts = world->w.inst.policies[0].allocator->counts_units;
	struct policy_txn *x;

	instance_world_write(&world->w, policies);
	assert_int_equal(policy_txn_prepare(
				 &world->w.inst, world->w.file, world->w.inst.clock.hz, stderr, &x),
		0);
	if (counts)
		world->counted += passed_bytes_total(world);
	assert_int_equal(policy_txn_commit(x), 0);
	while (!policy_txn_finish(x))
		instance_world_turn_all(&world->w);
	policy_txn_free(x);
}

/* Until there is something to take. */
static void turn_until_filled(struct world *world)
{
	uint64_t end = control_now() + 20 * SECOND;

	for (; credits_held(&world->w.inst, 0) == 0; turn_prepaid_instance(world))
		assert_true(control_now() < end);
}

/*
 * A period that a reload has begun is one for the credit, too, whatever the wall clock says: of the
 * former one nothing is passed any more but what workers have in hand, and nothing is given back.
 */
static void test_credit_follows(void **state)
{
	struct world *world = world_new();
	struct instance *inst = &world->w.inst;
	uint64_t before;

	(void)state;
	turn_until_filled(world);
	assert_int_equal(
		limiter_period(inst->limiter, 0, first_budget_view(inst).period + 1, control_now()),
		0);
	inst->credits->next_ns = 0;
	assert_true(credits_look(inst, control_now()));
	assert_int_equal(credits_held(inst, 0), 0);
	before = passed_bytes_total(world);
	turn_until_filled(world);
	for (unsigned i = 0; i < 100; i++)
		turn_prepaid_instance(world);
	assert_true(passed_bytes_total(world) > before);
	credits_give_back(inst);
	assert_int_equal(first_budget_view(inst).prepaid, 0);
	assert_in_range(first_budget_view(inst).spent, 1, passed_bytes_total(world) - before);
	world_free(world);
}

/* Units of a total that is left by a reload, and found again by the next, are there once. */
static void test_there_and_back(void **state)
{
	struct world *world = world_new();

	(void)state;
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
	credits_give_back(&world->w.inst);
	/* What a worker held at each reload does not come back. */
	assert_in_range(first_budget_view(&world->w.inst).spent, world->counted,
		world->counted + 3 * INSTANCE_WORKERS * (HAND));
	world_free(world);
}

/* What is put into a credit before any packet has taken of it: a chunk, for who begins. */
static void test_ready(void **state)
{
	struct world *world = world_new();
	struct instance *inst = &world->w.inst;
	uint64_t end = control_now() + 20 * SECOND, held;

	(void)state;
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
		instance_world_turn_all(&world->w);
	}
	assert_true(held >= inst->policies[0].chunk);
	world_free(world);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ready),
		cmocka_unit_test(test_credit_follows),
		cmocka_unit_test(test_there_and_back),
	};

	return cmocka_run_group_tests(tests, instance_world_start, instance_world_stop);
}
