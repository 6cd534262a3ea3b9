/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * A reload from the request to its end: one at a time, whatever is asked meanwhile; what came of it
 * is said; and it may be cut short anywhere. The thread that reads is real; control and both
 * workers are the test.
 */
#include "instance_world.h"

#include <poll.h>
#include <string.h>

#include "manager.h"
#include "notify/notify.h"
#include "reload.h"

#define A(limit) "{'name': 'a', 'match': {'direction': 'a-to-b'}, 'limit': '" limit "'}"
#define B        "{'name': 'b', 'match': {'vlan': 2}, 'limit': '1Gbit/s'}"

#define PATIENCE_MS 60000

static void open_with_file(struct instance_world *w)
{
	instance_world_open(w, A("1Gbit/s"));
	w->inst.file = w->file;
	assert_int_equal(reload_start(&w->inst), 0);
}

/* Until the thread has read the file; and what that leads to. */
static void await_read(struct instance_world *w)
{
	struct pollfd fd = {.fd = reload_fd(&w->inst), .events = POLLIN};

	assert_int_equal(poll(&fd, 1, PATIENCE_MS), 1);
	reload_advance(&w->inst);
}

static void finish_reload(struct instance_world *w)
{
	for (unsigned i = 0; i < 4 && reload_finishing(&w->inst); i++) {
		instance_world_turn_all(w);
		reload_advance(&w->inst);
	}
	assert_false(reload_finishing(&w->inst));
}

static uint64_t current_generation(const struct instance_world *w)
{
	return w->inst.publisher.current->generation;
}

static void test_no_file(void **state)
{
	struct instance_world w;

	(void)state;
	instance_world_open(&w, A("1Gbit/s"));
	assert_null(reload_request(&w.inst, "test", 0));
	assert_int_equal(reload_fd(&w.inst), -1);
	assert_string_equal(reload_state(&w.inst), "idle");
	assert_null(reload_last(&w.inst));
	reload_advance(&w.inst);
	instance_world_close(&w);
}

static void test_from_request_to_end(void **state)
{
	const struct reload_outcome *last;
	struct instance_world w;

	(void)state;
	open_with_file(&w);
	last = reload_last(&w.inst);
	assert_false(last->known);
	instance_world_write(&w, A("2Gbit/s") ", " B);
	assert_string_equal(reload_request(&w.inst, "test", 0), "started");
	assert_string_equal(reload_state(&w.inst), "reading");
	await_read(&w);
	assert_string_equal(reload_state(&w.inst), "finishing");
	assert_int_equal(current_generation(&w), 2);
	assert_true(last->known && last->error == 0 && last->took_ns > 0 && last->when.tv_sec > 0);
	assert_int_equal(last->added, 1);
	assert_int_equal(last->removed, 0);
	assert_int_equal(last->changed, 1);
	assert_int_equal(last->unchanged, 0);
	assert_non_null(last->messages);
	finish_reload(&w);
	assert_string_equal(reload_state(&w.inst), "idle");
	assert_int_equal(w.inst.policies[0].limit_bps, 2000000000);
	instance_world_close(&w);
}

/* Whatever is asked for during one is one more after it, which finds the file as it is by then. */
static void test_asked_meanwhile(void **state)
{
	struct instance_world w;

	(void)state;
	open_with_file(&w);
	instance_world_write(&w, A("2Gbit/s"));
	assert_string_equal(reload_request(&w.inst, "test", 0), "started");
	for (unsigned i = 0; i < 3; i++)
		assert_string_equal(reload_request(&w.inst, "test", 0), "queued");
	await_read(&w);
	assert_string_equal(reload_request(&w.inst, "test", 0), "queued");
	instance_world_write(&w, A("3Gbit/s"));
	finish_reload(&w);
	assert_string_equal(reload_state(&w.inst), "reading");
	await_read(&w);
	finish_reload(&w);
	assert_string_equal(reload_state(&w.inst), "idle");
	assert_int_equal(w.inst.policies[0].limit_bps, 3000000000);
	assert_int_equal(current_generation(&w), 3);
	instance_world_close(&w);
}

/* A worker is stuck: the others go by what is new, and who is waited for is said. */
static void test_held_up(void **state)
{
	struct instance_world w;

	(void)state;
	open_with_file(&w);
	stuck_mark(&w.inst.stuck.now, 1, true);
	instance_world_write(&w, A("2Gbit/s") ", " B);
	assert_string_equal(reload_request(&w.inst, "test", 0), "started");
	assert_int_equal(reload_waits_for(&w.inst), -1);
	await_read(&w);
	assert_int_equal(reload_waits_for(&w.inst), 1);
	instance_world_turn(&w, 0);
	reload_advance(&w.inst);
	assert_true(reload_finishing(&w.inst));
	assert_int_equal(w.inst.policies[0].limit_bps, 2000000000);
	assert_int_equal(w.inst.workers[0].generation, 2);
	assert_string_equal(reload_request(&w.inst, "test", 0), "queued");
	stuck_mark(&w.inst.stuck.by_far, 1, true);
	stuck_mark(&w.inst.stuck.now, 0, true); /* for a moment */
	assert_int_equal(reload_waits_for(&w.inst), 1);
	w.inst.stuck = (struct stuck){0};
	assert_int_equal(reload_waits_for(&w.inst), -1);
	finish_reload(&w);
	assert_string_equal(reload_state(&w.inst), "reading"); /* the one that was queued */
	await_read(&w);
	finish_reload(&w);
	assert_string_equal(reload_state(&w.inst), "idle");
	stuck_mark(&w.inst.stuck.now, 0, true);
	assert_int_equal(reload_waits_for(&w.inst), -1); /* nothing is under way */
	instance_world_close(&w);
}

static void test_refused(void **state)
{
	const struct reload_outcome *last;
	struct instance_world w;

	(void)state;
	open_with_file(&w);
	last = reload_last(&w.inst);
	instance_world_write(&w, A("2Gbit/s") ", {'name': 'x', 'limit': '1Gbit'}");
	reload_request(&w.inst, "test", 0);
	await_read(&w);
	assert_string_equal(reload_state(&w.inst), "idle");
	assert_true(last->known && last->error < 0);
	assert_non_null(strstr(last->messages, "policies[1] \"x\".limit: "));
	assert_int_equal(w.inst.policies[0].limit_bps, 1000000000);
	assert_int_equal(current_generation(&w), 1);
	/* The next one is none the worse for it, though it has nothing to do. */
	instance_world_write(&w, A("1000Mbit/s"));
	assert_string_equal(reload_request(&w.inst, "test", 0), "started");
	await_read(&w);
	assert_string_equal(reload_state(&w.inst), "idle");
	assert_int_equal(last->error, 0);
	assert_int_equal(last->unchanged, 1);
	assert_null(strstr(last->messages, "policies[1]"));
	assert_int_equal(current_generation(&w), 1);
	instance_world_close(&w);
}

/* Ended while it reads, with what it has read, and while it commits: nothing is left behind. */
static void test_cut_short(void **state)
{
	struct instance_world w;

	(void)state;
	for (unsigned cut = 0; cut < 3; cut++) {
		struct pollfd fd = {.events = POLLIN};

		open_with_file(&w);
		instance_world_write(&w, A("2Gbit/s") ", " B);
		assert_string_equal(reload_request(&w.inst, "test", 0), "started");
		fd.fd = reload_fd(&w.inst);
		if (cut > 0)
			assert_int_equal(poll(&fd, 1, PATIENCE_MS), 1);
		if (cut > 1)
			reload_advance(&w.inst);
		assert_string_equal(reload_state(&w.inst), cut > 1 ? "finishing" : "reading");
		instance_world_close(&w);
	}
}

/* The last thing that the manager was told, if it was told any. */
static void expect_told(struct manager *manager, const char *words)
{
	char last[sizeof(manager->heard)] = "";
	const char *text;

	while ((text = manager_hear(manager)))
		strcpy(last, text);
	if (!strstr(last, words))
		fail_msg("\"%s\" is not in: %s", words, last);
}

/* The service manager shows what runs, or that the last one was refused, until there is news. */
static void test_manager_is_told(void **state)
{
	struct instance_world w;
	struct manager manager;

	(void)state;
	manager_open(&manager, false, NULL);
	open_with_file(&w);
	assert_int_equal(notify_open(&w.inst.notify), 0);
	instance_world_write(&w, A("2Gbit/s") ", " B);
	assert_string_equal(reload_request(&w.inst, "test", 0), "started");
	expect_told(&manager, "RELOADING=1");
	await_read(&w);
	finish_reload(&w);
	expect_told(&manager, "STATUS=running: 2 policies, generation 2");
	instance_world_write(&w, A("2Gbit"));
	assert_string_equal(reload_request(&w.inst, "test", 0), "started");
	await_read(&w);
	expect_told(&manager, "STATUS=running; the last reload was refused: ");
	notify_close(w.inst.notify);
	w.inst.notify = NULL;
	instance_world_close(&w);
	manager_close(&manager);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_no_file),
		cmocka_unit_test(test_from_request_to_end),
		cmocka_unit_test(test_asked_meanwhile),
		cmocka_unit_test(test_held_up),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_cut_short),
		cmocka_unit_test(test_manager_is_told),
	};

	return cmocka_run_group_tests(tests, instance_world_start, instance_world_stop);
}
