/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Stalled workers. The test sets the clock and the turns.
 */
#include "instance_world.h"

#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

#include "event.h"
#include "manager.h"
#include "notify/notify.h"
#include "stuck.h"
#include "watch.h"

#define POLICY "{'name': 'p', 'limit': '8Mbit/s', 'match': {}}"

/* The tests run at both paces. `period` is the longest time between two checks, in ns. */
static bool is_fast;
static uint64_t period;

/* Checks until a worker is stalled for long. */
#define BY_FAR ((WATCH_BY_FAR_NS + period - 1) / period)

static uint64_t now_ns;

/* ---- the end of a process, from which a test returns */

static struct {
	jmp_buf back;
	bool expected;
	unsigned patience_s; /* seconds for the log; 0: it was not closed */
} end;

void __real_abort(void) __attribute__((noreturn));
void __wrap_abort(void) __attribute__((noreturn));

void __wrap_abort(void)
{
	if (end.expected)
		longjmp(end.back, 1);
	__real_abort();
}

void __wrap_events_close(unsigned patience_s);

void __wrap_events_close(unsigned patience_s)
{
	end.patience_s = patience_s;
}

/* Checks after this number of periods, in which these workers had turns. */
static void look_again(struct instance_world *w, unsigned periods, bool first, bool second)
{
	if (first)
		instance_world_turn(w, 0);
	if (second)
		instance_world_turn(w, 1);
	now_ns += periods * period;
	assert_false(watch_run(&w->inst, now_ns));
}

static void open_paced(struct instance_world *w)
{
	instance_world_open(w, POLICY);
	w->config->wires[0].distribute = is_fast;
	period = watch_pace(w->config).most_ns;
}

static void open_watched(struct instance_world *w)
{
	open_paced(w);
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
	assert_int_equal(w.inst.stuck.now, 0); /* a turn can end just before the first check */
	look_again(&w, 1, true, false);
	assert_int_equal(w.inst.stuck.now, 1 << 1);
	assert_int_equal(watch_standing(&w.inst, 1, now_ns), 2 * period);
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
	assert_int_equal(watch_worker_stalls(&w.inst, 1).longest_ns, (BY_FAR + 1) * period);
	assert_int_equal(watch_worker_stalls(&w.inst, 0).n, 0);
	instance_world_close(&w);
}

/* A worker without a first turn is stalled since the first check, not forever. */
static void test_before_the_first_turn(void **state)
{
	struct instance_world w;

	(void)state;
	open_paced(&w);
	now_ns = 1000 * SECOND_NS;
	look_again(&w, 1, true, false);
	look_again(&w, 1, true, false);
	assert_int_equal(w.inst.stuck.now, 0);
	look_again(&w, 1, true, false);
	assert_int_equal(w.inst.stuck.now, 1 << 1);
	assert_int_equal(watch_standing(&w.inst, 1, now_ns), 2 * period);
	instance_world_close(&w);
}

/* Checks can come late. Additional checks within a period have no effect. */
static void test_looks_in_between(void **state)
{
	struct instance_world w;

	(void)state;
	open_watched(&w);
	for (unsigned i = 0; i < 10; i++) {
		now_ns += period / 20;
		assert_false(watch_run(&w.inst, now_ns));
	}
	assert_int_equal(w.inst.stuck.now, 0);
	assert_int_equal(watch_next(&w.inst), SECOND_NS + 2 * period);
	instance_world_close(&w);
}

/* A check comes with any turn of control after the least time, and is due after the longest. */
static void test_early_checks(void **state)
{
	struct instance_world w;
	struct watch_pace pace;

	(void)state;
	open_watched(&w);
	pace = watch_pace(w.config);
	for (unsigned i = 1; i < 4; i++) {
		uint64_t due = now_ns + pace.most_ns, early = now_ns + pace.least_ns;

		assert_int_equal(watch_next(&w.inst), due);
		assert_false(watch_run(&w.inst, early - 1));
		assert_int_equal(watch_next(&w.inst), due);
		assert_int_equal(w.inst.stuck.now, i > 2 ? 3 : 0);
		assert_false(watch_run(&w.inst, now_ns = early));
		assert_int_equal(watch_next(&w.inst), early + pace.most_ns);
		assert_int_equal(w.inst.stuck.now, i >= 2 ? 3 : 0);
	}
	instance_world_close(&w);
}

/* Workers are not stalled if control had no turn either. */
static void test_control_itself(void **state)
{
	struct instance_world w;

	(void)state;
	open_watched(&w);
	look_again(&w, 1, false, false);
	look_again(&w, 100, false, false);
	assert_int_equal(w.inst.stuck.now, 0);
	assert_int_equal(watch_control_stalls(&w.inst).n, 1);
	assert_int_equal(watch_control_stalls(&w.inst).longest_ns, 100 * period);
	look_again(&w, 1, true, false);
	assert_int_equal(w.inst.stuck.now, 0);
	look_again(&w, 1, true, false);
	assert_int_equal(w.inst.stuck.now, 1 << 1);
	look_again(&w, 100, false, false); /* still without a turn */
	assert_int_equal(w.inst.stuck.now, 1 << 1);
	look_again(&w, 1, false, true);
	assert_int_equal(watch_control_stalls(&w.inst).n, 2);
	assert_int_equal(w.inst.stuck.now, 0);
	look_again(&w, 1, false, true);
	assert_int_equal(w.inst.stuck.now, 1 << 0);
	instance_world_close(&w);
}

/* Checks for this time. Returns how often the watchdog of the manager was fed. */
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

/* The watchdog of the manager is fed only while all workers run. */
static void test_watchdog(void **state)
{
	struct instance_world w;
	struct manager manager;
	uint64_t period_us;
	char us[16];

	(void)state;
	open_watched(&w);
	period_us = period / US_NS;
	snprintf(us, sizeof(us), "%d", (int)(40 * period_us)); /* a feed each ten looks */
	manager_open(&manager, false, us);
	assert_int_equal(notify_open(&w.inst.notify), 0);
	assert_int_equal(feeds(&w, &manager, 100, 1, true), 10);
	assert_true(feeds(&w, &manager, 2, 1, false) <= 1); /* undecided at the first check */
	assert_int_equal(feeds(&w, &manager, 1000, 1, false), 0);
	assert_int_equal(feeds(&w, &manager, 1, 100, false), 0); /* also undecided after a gap */
	assert_int_equal(feeds(&w, &manager, 100, 1, true), 10);
	/* A slow machine, on which each check comes late, is not stalled. */
	assert_int_equal(feeds(&w, &manager, 20, 10, true), 20);
	assert_int_equal(feeds(&w, &manager, 20, 10, false), 0);
	notify_close(w.inst.notify);
	w.inst.notify = NULL;
	instance_world_close(&w);
	manager_close(&manager);
}

/* Returns true if a check ends the process, after periods in which these workers had turns. */
static bool look_ends(struct instance_world *w, unsigned periods, bool first, bool second)
{
	end.patience_s = 0;
	end.expected = true;
	if (setjmp(end.back) == 0) {
		look_again(w, periods, first, second);
		end.expected = false;
		return false;
	}
	end.expected = false;
	return true;
}

/* The names and the numbers of the new events, a line each. */
static const char *said_since(uint64_t since)
{
	static const char *const keys[] = {"worker", "cpu", "ms", "seconds"};
	static char lines[4096];

	lines[0] = '\0';
	for (; since < events_number(); since++) {
		json_t *said = events_get(since);

		strcat(lines, json_string_value(json_object_get(said, "event")));
		for (unsigned i = 0; i < COUNT(keys); i++)
			if (json_object_get(said, keys[i]))
				sprintf(lines + strlen(lines), " %g",
					json_number_value(json_object_get(said, keys[i])));
		strcat(lines, "\n");
		json_decref(said);
	}
	return lines;
}

/* The line of an event of a worker that has been stalled for so many periods. */
static const char *line_of(const char *event, unsigned worker, unsigned periods)
{
	static char line[64];

	snprintf(line, sizeof(line), "%s %u %u %g\n", event, worker, worker,
		(double)(periods * period) / MS_NS);
	return line;
}

/* Any worker that is stalled for control.watchdog ends the process. */
static void test_process_ends(void **state)
{
	enum { PERIODS = 10 };
	struct instance_world w;
	char words[128];

	(void)state;
	for (unsigned worker = 0; worker < INSTANCE_WORKERS; worker++) {
		bool first = worker != 0, second = worker != 1;
		uint64_t since;

		open_watched(&w);
		w.config->watchdog_ns = PERIODS * period;
		for (unsigned i = 1; i < PERIODS; i++)
			assert_false(look_ends(&w, 1, first, second));
		since = events_number();
		assert_true(look_ends(&w, 1, first, second));
		snprintf(words, sizeof(words), "worker_watchdog %u %u\n", worker, worker);
		assert_string_equal(said_since(since), words);
		assert_int_equal(end.patience_s, 1);
		instance_world_close(&w);
	}
	/* A worker that runs in time does not, and without the key no worker does. */
	open_watched(&w);
	w.config->watchdog_ns = PERIODS * period;
	for (unsigned i = 1; i < PERIODS; i++)
		assert_false(look_ends(&w, 1, true, false));
	for (unsigned i = 0; i < PERIODS; i++)
		assert_false(look_ends(&w, 1, true, i == 0));
	w.config->watchdog_ns = 0;
	for (unsigned i = 0; i < 10 * PERIODS; i++)
		assert_false(look_ends(&w, 1, true, false));
	instance_world_close(&w);
}

/* A stall has an event at its beginning and its end, for each worker once in ten seconds. */
static void test_stalls_are_said(void **state)
{
	struct instance_world w;
	struct manager manager;
	uint64_t since;

	(void)state;
	manager_open(&manager, false, NULL);
	open_watched(&w);
	assert_int_equal(notify_open(&w.inst.notify), 0);
	since = events_number();
	look_again(&w, 1, true, false);
	assert_string_equal(said_since(since), "");
	look_again(&w, 1, true, false);
	assert_string_equal(said_since(since), line_of("worker_stuck", 1, 2));
	assert_string_equal(manager_hear(&manager), "STATUS=running; worker 1 (CPU 1) stalled");
	since = events_number();
	look_again(&w, 1, true, false);
	assert_string_equal(said_since(since), "");
	look_again(&w, 1, true, true);
	assert_string_equal(said_since(since), line_of("worker_came_round", 1, 4));
	assert_string_equal(manager_hear(&manager), "STATUS=running; worker 1 (CPU 1) runs again");
	/* The next stall comes too early: it is counted, without an event. */
	since = events_number();
	for (unsigned i = 0; i < 2; i++)
		look_again(&w, 1, true, false);
	assert_int_equal(watch_worker_stalls(&w.inst, 1).n, 2);
	look_again(&w, 1, true, true);
	assert_string_equal(said_since(since), "");
	assert_null(manager_hear(&manager));
	/* The other worker has its own limit. */
	for (unsigned i = 0; i < 2; i++)
		look_again(&w, 1, false, true);
	assert_string_equal(said_since(since), line_of("worker_stuck", 0, 2));
	look_again(&w, 1, true, true);
	/* After ten seconds another event is possible. */
	since = events_number();
	for (uint64_t until = now_ns + 10 * SECOND_NS; now_ns < until;)
		look_again(&w, 1, true, true);
	for (unsigned i = 0; i < 2; i++)
		look_again(&w, 1, true, false);
	assert_string_equal(said_since(since), line_of("worker_stuck", 1, 2));
	assert_int_equal(watch_worker_stalls(&w.inst, 1).n, 3);
	assert_int_equal(watch_worker_stalls(&w.inst, 1).longest_ns, 4 * period);
	notify_close(w.inst.notify);
	w.inst.notify = NULL;
	instance_world_close(&w);
	manager_close(&manager);
}

/* A gap of control is counted. A gap of a second is an event. */
static void test_control_is_late(void **state)
{
	const struct {
		uint64_t gap_ns;
		unsigned n; /* count since the beginning */
		const char *said;
	} rows[] = {
		{period + WATCH_LATE_NS, 0, ""},
		{period + WATCH_LATE_NS + 1, 1, ""},
		{SECOND_NS - 1, 2, ""},
		{SECOND_NS, 3, "control_late 1\n"},
		{2500 * MS_NS, 4, "control_late 2.5\n"},
		{SECOND_NS - 1, 5, ""},
	};
	struct instance_world w;

	(void)state;
	open_watched(&w);
	for (unsigned i = 0; i < COUNT(rows); i++) {
		uint64_t since = events_number();

		instance_world_turn_all(&w);
		assert_false(watch_run(&w.inst, now_ns += rows[i].gap_ns));
		assert_string_equal(said_since(since), rows[i].said);
		assert_int_equal(watch_control_stalls(&w.inst).n, rows[i].n);
	}
	assert_int_equal(watch_control_stalls(&w.inst).longest_ns, 2500 * MS_NS);
	instance_world_close(&w);
}

/* Only workers that run are chosen. */
static void test_stand_in(void **state)
{
	static const struct {
		unsigned n, self;
		uint64_t stuck, want;
	} rows[] = {
		{2, 0, 0x2, 0x1},
		{3, 0, 0x2, 0x5},
		{3, 1, 0x7, 0x2}, /* the caller is never stalled */
		{8, 7, 0x55, 0xaa},
		{64, 0, 0x7fffffffffffffff, 0x8000000000000001},
		{64, 5, 1, 0xfffffffffffffffe},
	};

	(void)state;
	for (unsigned i = 0; i < COUNT(rows); i++) {
		uint64_t got = 0;

		for (uint64_t hash = 0; hash <= UINT32_MAX; hash += 1 << 20)
			got |= UINT64_C(1) << stuck_stand_in(
				       rows[i].stuck, rows[i].n, rows[i].self, (uint32_t)hash);
		assert_true(got == rows[i].want);
	}
}

int main(void)
{
	const struct CMUnitTest paced[] = {
		cmocka_unit_test(test_one_of_two),
		cmocka_unit_test(test_before_the_first_turn),
		cmocka_unit_test(test_looks_in_between),
		cmocka_unit_test(test_early_checks),
		cmocka_unit_test(test_control_itself),
		cmocka_unit_test(test_watchdog),
	};
	/* More events of a kind in a minute would be held back. */
	const struct CMUnitTest others[] = {
		cmocka_unit_test(test_stand_in),
		cmocka_unit_test(test_process_ends),
		cmocka_unit_test(test_stalls_are_said),
		cmocka_unit_test(test_control_is_late),
	};
	int failed;

	if (instance_world_start(NULL))
		return 1;
	is_fast = true;
	failed = cmocka_run_group_tests_name("others", others, NULL, NULL);
	failed += cmocka_run_group_tests_name("fast", paced, NULL, NULL);
	is_fast = false;
	failed += cmocka_run_group_tests_name("slow", paced, NULL, NULL);
	return instance_world_stop(NULL) ? 1 : failed;
}
