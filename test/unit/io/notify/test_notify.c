/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Messages to a service manager, which is the test, at a path and in the abstract namespace. The
 * manager can have no room, or be gone. Then how often its watchdog is fed.
 */
#include "check.h"
#include "scope.h"

#include <fcntl.h>
#include <time.h>

#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "base/time.h"
#include "manager.h"
#include "notify/notify.h"

END_POINTER(notify_close, struct notify *)

#define WATCHDOG_US "4000000"

TEST(test_nobody)
{
	ENDED_BY(notify_close_at) struct notify *notify;

	unsetenv("NOTIFY_SOCKET");
	assert_int_equal(notify_open(&notify), 0);
	assert_null(notify);
	notify_ready(notify, "running");
	notify_reloading(notify, "");
	notify_stopping(notify, "");
	notify_status(notify, "");
	notify_alive(notify, 1);
}

TEST(test_addresses)
{
	char longer[128];
	const struct {
		const char *socket;
		int ret;
	} rows[] = {
		{"", -EAFNOSUPPORT},
		{"/", -EAFNOSUPPORT},
		{"@", -EAFNOSUPPORT},
		{"vsock:2:1234", -EAFNOSUPPORT},
		{"run/notify", -EAFNOSUPPORT},
		{longer, -ENAMETOOLONG},
	};
	struct notify *notify;

	memset(longer, '/', sizeof(longer));
	longer[sizeof(longer) - 1] = '\0';
	for (size_t i = 0; i < COUNT(rows); i++) {
		setenv("NOTIFY_SOCKET", rows[i].socket, 1);
		assert_int_equal(notify_open(&notify), rows[i].ret);
		assert_null(notify);
	}
	unsetenv("NOTIFY_SOCKET");
}

/* The manager's name stays set, for another attempt. */
TEST(test_no_descriptors)
{
	struct rlimit before, none = {0};
	struct notify *notify;

	setenv("NOTIFY_SOCKET", "@weir-nobody", 1);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	none.rlim_max = before.rlim_max;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	assert_int_equal(notify_open(&notify), -EMFILE);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
	assert_null(notify);
	assert_non_null(getenv("NOTIFY_SOCKET"));
	unsetenv("NOTIFY_SOCKET");
}

static uint64_t monotonic_us(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

static void go_through_states(bool abstract)
{
	ENDED_BY(manager_close) struct manager manager;
	ENDED_BY(notify_close_at) struct notify *notify;
	uint64_t before_us, said_us;
	char text[1024];

	manager_open(&manager, abstract, NULL);
	assert_int_equal(notify_open(&notify), 0);
	assert_non_null(notify);
	assert_null(getenv("NOTIFY_SOCKET"));
	notify_ready(notify, "running: 3 policies");
	assert_string_equal(manager_hear(&manager), "READY=1\nSTATUS=running: 3 policies");
	before_us = monotonic_us();
	notify_reloading(notify, "reading");
	snprintf(text, sizeof(text), "%s", manager_hear(&manager));
	assert_int_equal(sscanf(text, "RELOADING=1\nMONOTONIC_USEC=%lu\n", &said_us), 1);
	assert_true(said_us >= before_us && said_us <= monotonic_us());
	assert_non_null(strstr(text, "\nSTATUS=reading"));
	notify_ready(notify, "refused: a\nand more");
	assert_string_equal(manager_hear(&manager), "READY=1\nSTATUS=refused: a");
	notify_status(notify, "worker 1 is stuck");
	assert_string_equal(manager_hear(&manager), "STATUS=worker 1 is stuck");
	notify_stopping(notify, "stopping");
	assert_string_equal(manager_hear(&manager), "STOPPING=1\nSTATUS=stopping");
	notify_alive(notify, SECOND_NS);
	assert_null(manager_hear(&manager)); /* there is no watchdog */
}

TEST(test_states)
{
	go_through_states(false);
	go_through_states(true);
}

/* A manager without room does not block the process, and gets the last state later. */
TEST(test_no_room)
{
	ENDED_BY(manager_close) struct manager manager;
	ENDED_BY(notify_close_at) struct notify *notify;
	const char *last = NULL, *text;

	manager_open(&manager, false, NULL);
	assert_int_equal(notify_open(&notify), 0);
	for (unsigned i = 0; i < 10000; i++)
		notify_status(notify, "full");
	notify_reloading(notify, "a");
	notify_ready(notify, "b");
	notify_status(notify, "c");
	while ((text = manager_hear(&manager)))
		assert_string_equal(text, "STATUS=full");
	notify_alive(notify, 1);
	last = manager_hear(&manager);
	assert_non_null(last);
	assert_string_equal(last, "READY=1\nSTATUS=c");
	notify_alive(notify, 2);
	assert_null(manager_hear(&manager));
}

/* A state that no manager will receive is not kept. */
TEST(test_gone)
{
	struct manager manager;
	ENDED_BY(notify_close_at) struct notify *notify;

	manager_open(&manager, false, WATCHDOG_US);
	assert_int_equal(notify_open(&notify), 0);
	manager_close(&manager);
	notify_ready(notify, "a");
	notify_alive(notify, SECOND_NS);
	notify_stopping(notify, "b");
}

TEST(test_watchdog)
{
	ENDED_BY(manager_close) struct manager manager;
	ENDED_BY(notify_close_at) struct notify *notify;
	unsigned fed = 0;

	manager_open(&manager, false, WATCHDOG_US);
	assert_int_equal(notify_open(&notify), 0);
	assert_null(getenv("WATCHDOG_USEC"));
	for (uint64_t now = SECOND_NS; now < 9 * SECOND_NS; now += 10 * MS_NS) {
		const char *text;

		notify_alive(notify, now);
		text = manager_hear(&manager);
		if (text)
			assert_string_equal(text, "WATCHDOG=1");
		fed += text != NULL;
	}
	assert_int_equal(fed, 8); /* each second of the four */
	notify_alive(notify, 20 * SECOND_NS);
	assert_string_equal(manager_hear(&manager), "WATCHDOG=1");
}

/* A watchdog of another process, or an invalid one. */
TEST(test_no_watchdog)
{
	static const struct {
		const char *us, *pid;
		bool fed;
	} rows[] = {
		{"4000000", "1", false},
		{"4000000", NULL, true},
		{"4000000", "self", true},
		{"0", NULL, false},
		{"-1", NULL, false},
		{"4 s", NULL, false},
		{"", NULL, false},
		{"18446744073709551615", NULL, false},
		{"99999999999999999999999", NULL, false},
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		char pid[16];
		struct manager manager;
		struct notify *notify;

		manager_open(&manager, false, rows[i].us);
		snprintf(pid, sizeof(pid), "%d", (int)getpid());
		if (rows[i].pid)
			setenv("WATCHDOG_PID", rows[i].pid[0] == 's' ? pid : rows[i].pid, 1);
		assert_int_equal(notify_open(&notify), 0);
		notify_alive(notify, SECOND_NS);
		assert_int_equal(manager_hear(&manager) != NULL, rows[i].fed);
		assert_null(getenv("WATCHDOG_PID"));
		notify_close(notify);
		manager_close(&manager);
	}
}
