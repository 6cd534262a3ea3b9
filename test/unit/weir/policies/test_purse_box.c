/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Totals in a whole box with a store of its own: what becomes of the units that lie in a purse, and
 * in the hands of workers, when a period turns at an awkward time.
 */
#include "check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "box_world.h"
#include "clock.h"
#include "exchange.h"
#include "publish.h"
#include "purse.h"
#include "settle.h"
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
#define HAND (TOTAL / 65536 / BOX_WORKERS)

struct world {
	struct box_world w;
	uint64_t counted; /* bytes that passed by the total */
	char directory[64], store[80], more[128];
};

static struct world *world_new(void)
{
	struct world *world = test_calloc(1, sizeof(*world));

	strcpy(world->directory, "/tmp/weir-purse-box-XXXXXX");
	assert_non_null(mkdtemp(world->directory));
	snprintf(world->store, sizeof(world->store), "%s/store", world->directory);
	snprintf(world->more, sizeof(world->more), "'ledger': {'store': '%s'}, ", world->store);
	assert_int_equal(store_create(world->store), 0);
	box_world_open_more(&world->w, world->more, DAILY);
	return world;
}

static void world_free(struct world *world)
{
	char command[128];

	box_world_close(&world->w);
	snprintf(command, sizeof(command), "rm -r %s", world->directory);
	assert_int_equal(system(command), 0);
	test_free(world);
}

/* A turn of all, of what concerns purses. */
static void turn_prepaid_box(struct world *world)
{
	struct box *box = &world->w.box;

	box->purses->next_ns = 0;
	purses_look(box, control_now());
	settle_advance(box);
	purses_retry(box);
	publish(box);
	box_world_turn_all(&world->w);
}

static struct quota_view first_budget_view(const struct box *box)
{
	return budget_view(limiter_budget(box->limiter), 0, control_now());
}

static uint64_t passed_bytes_total(struct world *world)
{
	return box_world_totals(&world->w, 0).passed_bytes;
}

static void reload_prepaid_box(struct world *world, const char *policies)
{
	bool counts = world->w.box.policies[0].allocator->counts_units;
	struct exchange *x;

	box_world_write(&world->w, policies);
	assert_int_equal(
		exchange_prepare(&world->w.box, world->w.file, world->w.box.clock.hz, stderr, &x),
		0);
	if (counts)
		world->counted += passed_bytes_total(world);
	assert_int_equal(exchange_commit(x), 0);
	while (!exchange_settle(x))
		box_world_turn_all(&world->w);
	exchange_free(x);
}

/* Until there is something to take. */
static void turn_until_filled(struct world *world)
{
	uint64_t end = control_now() + 20 * SECOND;

	for (; purses_held(&world->w.box, 0) == 0; turn_prepaid_box(world))
		assert_true(control_now() < end);
}

/*
 * A period that a reload has begun is one for the purse, too, whatever the wall clock says: of the
 * former one nothing is passed any more but what workers have in hand, and nothing is given back.
 */
static void test_purse_follows(void **state)
{
	struct world *world = world_new();
	struct box *box = &world->w.box;
	uint64_t before;

	(void)state;
	turn_until_filled(world);
	assert_int_equal(
		limiter_period(box->limiter, 0, first_budget_view(box).period + 1, control_now()),
		0);
	box->purses->next_ns = 0;
	assert_true(purses_look(box, control_now()));
	assert_int_equal(purses_held(box, 0), 0);
	before = passed_bytes_total(world);
	turn_until_filled(world);
	for (unsigned i = 0; i < 100; i++)
		turn_prepaid_box(world);
	assert_true(passed_bytes_total(world) > before);
	purses_give_back(box);
	assert_int_equal(first_budget_view(box).pocket, 0);
	assert_in_range(first_budget_view(box).spent, 1, passed_bytes_total(world) - before);
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
			turn_prepaid_box(world);
		reload_prepaid_box(world, SOFT);
		turn_prepaid_box(world);
		reload_prepaid_box(world, DAILY);
	}
	turn_until_filled(world);
	world->counted += passed_bytes_total(world);
	purses_give_back(&world->w.box);
	/* What a worker held at each reload does not come back. */
	assert_in_range(first_budget_view(&world->w.box).spent, world->counted,
		world->counted + 3 * BOX_WORKERS * (HAND));
	world_free(world);
}

/* What is put into a purse before any packet has taken of it: a chunk, for who begins. */
static void test_ready(void **state)
{
	struct world *world = world_new();
	struct box *box = &world->w.box;
	uint64_t end = control_now() + 20 * SECOND, held;

	(void)state;
	for (;;) {
		box->purses->next_ns = 0;
		purses_look(box, control_now());
		settle_advance(box);
		purses_retry(box);
		held = purses_held(box, 0);
		if (held > 0)
			break;
		assert_true(control_now() < end);
		publish(box);
		box_world_turn_all(&world->w);
	}
	assert_true(held >= box->policies[0].chunk);
	world_free(world);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ready),
		cmocka_unit_test(test_purse_follows),
		cmocka_unit_test(test_there_and_back),
	};

	return cmocka_run_group_tests(tests, box_world_start, box_world_stop);
}
