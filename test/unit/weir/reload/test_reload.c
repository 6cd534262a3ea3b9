/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * A reload from the request to its end: one at a time, whatever is asked meanwhile; what came of it
 * is said; and it may be cut short anywhere. The thread that reads is real; control and both
 * workers are the test.
 */
#include "box_world.h"

#include <poll.h>
#include <string.h>

#include "reload.h"

#define A(limit) "{'name': 'a', 'match': {'direction': 'a-to-b'}, 'limit': '" limit "'}"
#define B        "{'name': 'b', 'match': {'vlan': 2}, 'limit': '1Gbit/s'}"

#define PATIENCE_MS 60000

static void open_with_file(struct box_world *w)
{
	box_world_open(w, A("1Gbit/s"));
	w->box.file = w->file;
	assert_int_equal(reload_start(&w->box), 0);
}

/* Until the thread has read the file; and what that leads to. */
static void await_read(struct box_world *w)
{
	struct pollfd fd = {.fd = reload_fd(&w->box), .events = POLLIN};

	assert_int_equal(poll(&fd, 1, PATIENCE_MS), 1);
	reload_advance(&w->box);
}

static void settle_reload(struct box_world *w)
{
	for (unsigned i = 0; i < 4 && reload_settling(&w->box); i++) {
		box_world_turn_all(w);
		reload_advance(&w->box);
	}
	assert_false(reload_settling(&w->box));
}

static uint64_t current_generation(const struct box_world *w)
{
	return w->box.publisher.current->generation;
}

static void test_no_file(void **state)
{
	struct box_world w;

	(void)state;
	box_world_open(&w, A("1Gbit/s"));
	assert_null(reload_request(&w.box));
	assert_int_equal(reload_fd(&w.box), -1);
	assert_string_equal(reload_state(&w.box), "idle");
	assert_null(reload_last(&w.box));
	reload_advance(&w.box);
	box_world_close(&w);
}

static void test_from_request_to_end(void **state)
{
	const struct reload_outcome *last;
	struct box_world w;

	(void)state;
	open_with_file(&w);
	last = reload_last(&w.box);
	assert_false(last->known);
	box_world_write(&w, A("2Gbit/s") ", " B);
	assert_string_equal(reload_request(&w.box), "started");
	assert_string_equal(reload_state(&w.box), "reading");
	await_read(&w);
	assert_string_equal(reload_state(&w.box), "settling");
	assert_int_equal(current_generation(&w), 2);
	assert_true(last->known && last->error == 0 && last->took_ns > 0 && last->when.tv_sec > 0);
	assert_int_equal(last->added, 1);
	assert_int_equal(last->removed, 0);
	assert_int_equal(last->changed, 1);
	assert_int_equal(last->unchanged, 0);
	assert_non_null(last->messages);
	settle_reload(&w);
	assert_string_equal(reload_state(&w.box), "idle");
	assert_int_equal(w.box.policies[0].limit_bps, 2000000000);
	box_world_close(&w);
}

/* Whatever is asked for during one is one more after it, which finds the file as it is by then. */
static void test_asked_meanwhile(void **state)
{
	struct box_world w;

	(void)state;
	open_with_file(&w);
	box_world_write(&w, A("2Gbit/s"));
	assert_string_equal(reload_request(&w.box), "started");
	for (unsigned i = 0; i < 3; i++)
		assert_string_equal(reload_request(&w.box), "queued");
	await_read(&w);
	assert_string_equal(reload_request(&w.box), "queued");
	box_world_write(&w, A("3Gbit/s"));
	settle_reload(&w);
	assert_string_equal(reload_state(&w.box), "reading");
	await_read(&w);
	settle_reload(&w);
	assert_string_equal(reload_state(&w.box), "idle");
	assert_int_equal(w.box.policies[0].limit_bps, 3000000000);
	assert_int_equal(current_generation(&w), 3);
	box_world_close(&w);
}

static void test_refused(void **state)
{
	const struct reload_outcome *last;
	struct box_world w;

	(void)state;
	open_with_file(&w);
	last = reload_last(&w.box);
	box_world_write(&w, A("2Gbit/s") ", {'name': 'x', 'limit': '1Gbit'}");
	reload_request(&w.box);
	await_read(&w);
	assert_string_equal(reload_state(&w.box), "idle");
	assert_true(last->known && last->error < 0);
	assert_non_null(strstr(last->messages, "policies[1].limit: "));
	assert_int_equal(w.box.policies[0].limit_bps, 1000000000);
	assert_int_equal(current_generation(&w), 1);
	/* The next one is none the worse for it, though it has nothing to do. */
	box_world_write(&w, A("1000Mbit/s"));
	assert_string_equal(reload_request(&w.box), "started");
	await_read(&w);
	assert_string_equal(reload_state(&w.box), "idle");
	assert_int_equal(last->error, 0);
	assert_int_equal(last->unchanged, 1);
	assert_null(strstr(last->messages, "policies[1]"));
	assert_int_equal(current_generation(&w), 1);
	box_world_close(&w);
}

/* Ended while it reads, with what it has read, and while it settles: nothing is left behind. */
static void test_cut_short(void **state)
{
	struct box_world w;

	(void)state;
	for (unsigned cut = 0; cut < 3; cut++) {
		struct pollfd fd = {.events = POLLIN};

		open_with_file(&w);
		box_world_write(&w, A("2Gbit/s") ", " B);
		assert_string_equal(reload_request(&w.box), "started");
		fd.fd = reload_fd(&w.box);
		if (cut > 0)
			assert_int_equal(poll(&fd, 1, PATIENCE_MS), 1);
		if (cut > 1)
			reload_advance(&w.box);
		assert_string_equal(reload_state(&w.box), cut > 1 ? "settling" : "reading");
		box_world_close(&w);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_no_file),
		cmocka_unit_test(test_from_request_to_end),
		cmocka_unit_test(test_asked_meanwhile),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_cut_short),
	};

	return cmocka_run_group_tests(tests, box_world_start, box_world_stop);
}
