/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Workers that do not come round, by a clock and turns that are the test's.
 */
#include "instance_world.h"

#include "manager.h"
#include "notify/notify.h"
#include "stuck.h"
#include "watch.h"

#define POLICY "{'name': 'p', 'limit': '8Mbit/s', 'match': {}}"

/* Looks until a worker is stuck by far. */
#define BY_FAR ((WATCH_BY_FAR_NS + WATCH_PERIOD_NS - 1) / WATCH_PERIOD_NS)

static uint64_t now_ns;

/* A look, after so many periods in which these workers had turns. */
static void look_again(struct instance_world *w, unsigned periods, bool first, bool second)
{
	if (first)
		instance_world_turn(w, 0);
	if (second)
		instance_world_turn(w, 1);
	now_ns += periods * WATCH_PERIOD_NS;
	watch_run(&w->inst, now_ns);
}

static void open_watched(struct instance_world *w)
{
	instance_world_open(w, POLICY);
	now_ns = SECOND_NS;
	look_again(w, 1, true, true);
	assert_int_equal(w->inst.stuck.now, 0);
}

static void test_one_of_two(void **state)
{
	struct instance_world w;

	(void)state;
	open_watched(&w);
	look_again(&w, 1, true, false);
	assert_int_equal(
		w.inst.stuck.now, 0); /* it may have ended a turn just before the first look */
	look_again(&w, 1, true, false);
	assert_int_equal(w.inst.stuck.now, 1 << 1);
	assert_int_equal(watch_standing(&w.inst, 1, now_ns), 2 * WATCH_PERIOD_NS);
	assert_int_equal(watch_standing(&w.inst, 0, now_ns), 0);
	assert_int_equal(w.inst.stuck.by_far, 0);
	for (unsigned i = 3; i < BY_FAR; i++)
		look_again(&w, 1, true, false);
	assert_int_equal(w.inst.stuck.by_far, 0);
	look_again(&w, 1, true, false);
	assert_int_equal(w.inst.stuck.by_far, 1 << 1);
	look_again(&w, 1, true, true);
	assert_int_equal(w.inst.stuck.now | w.inst.stuck.by_far, 0);
	assert_int_equal(watch_worker_stalls(&w.inst, 1).n, 1);
	assert_int_equal(
		watch_worker_stalls(&w.inst, 1).longest_ns, (BY_FAR + 1) * WATCH_PERIOD_NS);
	assert_int_equal(watch_worker_stalls(&w.inst, 0).n, 0);
	instance_world_close(&w);
}

/* One that has yet to have its first turn is stuck since somebody looked, and not for ever. */
static void test_before_the_first_turn(void **state)
{
	struct instance_world w;

	(void)state;
	instance_world_open(&w, POLICY);
	now_ns = 1000 * SECOND_NS;
	look_again(&w, 1, true, false);
	look_again(&w, 1, true, false);
	assert_int_equal(w.inst.stuck.now, 0);
	look_again(&w, 1, true, false);
	assert_int_equal(w.inst.stuck.now, 1 << 1);
	assert_int_equal(watch_standing(&w.inst, 1, now_ns), 2 * WATCH_PERIOD_NS);
	instance_world_close(&w);
}

/* Looks come as they come: those between are none. */
static void test_looks_in_between(void **state)
{
	struct instance_world w;

	(void)state;
	open_watched(&w);
	for (unsigned i = 0; i < 10; i++) {
		now_ns += WATCH_PERIOD_NS / 20;
		watch_run(&w.inst, now_ns);
	}
	assert_int_equal(w.inst.stuck.now, 0);
	assert_int_equal(watch_next(&w.inst), SECOND_NS + 2 * WATCH_PERIOD_NS);
	instance_world_close(&w);
}

/* Nobody has had a turn while control had none: that is not the workers' doing. */
static void test_control_itself(void **state)
{
	struct instance_world w;

	(void)state;
	open_watched(&w);
	look_again(&w, 1, false, false);
	look_again(&w, 100, false, false);
	assert_int_equal(w.inst.stuck.now, 0);
	assert_int_equal(watch_control_stalls(&w.inst).n, 1);
	assert_int_equal(watch_control_stalls(&w.inst).longest_ns, 100 * WATCH_PERIOD_NS);
	look_again(&w, 1, true, false);
	assert_int_equal(w.inst.stuck.now, 0);
	look_again(&w, 1, true, false);
	assert_int_equal(w.inst.stuck.now, 1 << 1);
	look_again(&w, 100, false, false); /* and it has had none still */
	assert_int_equal(w.inst.stuck.now, 1 << 1);
	look_again(&w, 4, false, true);
	assert_int_equal(watch_control_stalls(&w.inst).n, 2);
	assert_int_equal(w.inst.stuck.now, 0);
	look_again(&w, 1, false, true);
	assert_int_equal(w.inst.stuck.now, 1 << 0);
	instance_world_close(&w);
}

/* Looks for so long, and says how often the manager's watchdog was fed. */
static unsigned feeds(struct instance_world *w, struct manager *manager, unsigned looks,
	unsigned periods, bool second)
{
	const char *text;
	unsigned fed = 0;

	for (unsigned i = 0; i < looks; i++) {
		look_again(w, periods, true, second);
		while ((text = manager_hear(manager)))
			fed += strcmp(text, "WATCHDOG=1") == 0;
	}
	return fed;
}

/* The manager's watchdog is fed while all come round, and only then. */
static void test_watchdog(void **state)
{
	struct instance_world w;
	struct manager manager;
	uint64_t period_us = WATCH_PERIOD_NS / US_NS;
	char us[16];

	(void)state;
	snprintf(us, sizeof(us), "%d", (int)(40 * period_us)); /* a feed each ten looks */
	manager_open(&manager, false, us);
	open_watched(&w);
	assert_int_equal(notify_open(&w.inst.notify), 0);
	assert_int_equal(feeds(&w, &manager, 100, 1, true), 10);
	assert_true(feeds(&w, &manager, 2, 1, false) <= 1); /* at the first nobody can know */
	assert_int_equal(feeds(&w, &manager, 1000, 1, false), 0);
	assert_int_equal(feeds(&w, &manager, 1, 100, false), 0); /* nor after a gap */
	assert_int_equal(feeds(&w, &manager, 100, 1, true), 10);
	/* A machine so slow that each look comes late is none that stands still. */
	assert_int_equal(feeds(&w, &manager, 20, 10, true), 20);
	assert_int_equal(feeds(&w, &manager, 20, 10, false), 0);
	notify_close(w.inst.notify);
	w.inst.notify = NULL;
	instance_world_close(&w);
	manager_close(&manager);
}

/* Every worker that is well is chosen, and no other. */
static void test_stand_in(void **state)
{
	static const struct {
		unsigned n, self;
		uint64_t stuck, want;
	} rows[] = {
		{2, 0, 0x2, 0x1},
		{3, 0, 0x2, 0x5},
		{3, 1, 0x7, 0x2}, /* whoever asks is not stuck, whatever is said */
		{8, 7, 0x55, 0xaa},
		{64, 0, 0x7fffffffffffffff, 0x8000000000000001},
		{64, 5, 1, 0xfffffffffffffffe},
	};

	(void)state;
	for (unsigned i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		uint64_t got = 0;

		for (uint64_t hash = 0; hash <= UINT32_MAX; hash += 1 << 20)
			got |= UINT64_C(1) << stuck_stand_in(
				       rows[i].stuck, rows[i].n, rows[i].self, (uint32_t)hash);
		assert_true(got == rows[i].want);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_one_of_two),
		cmocka_unit_test(test_before_the_first_turn),
		cmocka_unit_test(test_looks_in_between),
		cmocka_unit_test(test_control_itself),
		cmocka_unit_test(test_stand_in),
		cmocka_unit_test(test_watchdog),
	};

	return cmocka_run_group_tests(tests, instance_world_start, instance_world_stop);
}
