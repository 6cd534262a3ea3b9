/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The loop of control with a table of tasks that record their calls and end the loop. Signals
 * arrive in a pipe, and clients at a real socket.
 */
#include "check.h"

#include <signal.h>

#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "base/time.h"
#include "control.h"
#include "instance.h"
#include "telemetry/server.h"

#define SLACK_NS (20 * MS_NS)

static struct world {
	struct instance inst;
	int signals[2], file[2];
	char told[256];       /* a letter for each call */
	uint64_t due_ns;      /* when the second task is due */
	uint64_t ran_ns;      /* time that the tasks received */
	uint64_t period;      /* period of the second task */
	unsigned turns;       /* turns of the second task */
	unsigned end;         /* the turn that ends the loop */
	unsigned news;        /* bit i: turn i has news */
	uint64_t lazy_ns;     /* when the fifth task is due */
	uint64_t lazy_period; /* period of the fifth task */
	unsigned lazy_runs;   /* turns in which it was due */
	unsigned rests;       /* calls for the fifth task */
	uid_t hung_up;
} world;

static void note(const char *what)
{
	strncat(world.told, what, sizeof(world.told) - strlen(world.told) - 1);
}

static void send_signal(int number, uid_t uid)
{
	struct signalfd_siginfo info = {.ssi_signo = (uint32_t)number, .ssi_uid = uid};

	assert_int_equal(write(world.signals[1], &info, sizeof(info)), sizeof(info));
}

static int first_fd(const struct instance *inst)
{
	assert_ptr_equal(inst, &world.inst);
	return world.file[0];
}

static void read_first(struct instance *inst)
{
	char c;

	assert_int_equal(read(world.file[0], &c, 1), 1);
	note("r");
}

static uint64_t second_next(const struct instance *inst)
{
	return world.due_ns;
}

static uint64_t much_later(const struct instance *inst)
{
	return UINT64_MAX;
}

static bool run_second(struct instance *inst, uint64_t now_ns)
{
	world.ran_ns = now_ns;
	world.turns++;
	note(".");
	if (world.turns == world.end)
		send_signal(SIGTERM, 0);
	if (now_ns >= world.due_ns)
		world.due_ns = world.period ? now_ns + world.period : UINT64_MAX;
	return world.news >> world.turns & 1;
}

static void publish_first(struct instance *inst)
{
	note("1");
}

static void publish_third(struct instance *inst)
{
	note("3");
}

static void publish_fourth(struct instance *inst)
{
	note("4");
}

static void hang_up_third(struct instance *inst, uid_t uid)
{
	assert_ptr_equal(inst, &world.inst);
	world.hung_up = uid;
	note("h");
}

static uint64_t lazy_next(const struct instance *inst)
{
	(void)inst;
	return world.lazy_ns;
}

static bool run_lazy(struct instance *inst, uint64_t now_ns)
{
	(void)inst;
	if (now_ns < world.lazy_ns)
		return false;
	world.lazy_runs++;
	world.lazy_ns = now_ns + world.lazy_period;
	return false;
}

static void rest_fifth(struct instance *inst)
{
	assert_ptr_equal(inst, &world.inst);
	world.rests++;
}

static const struct task tasks[] = {
	{.name = "first", .fd = first_fd, .read = read_first, .publish = publish_first},
	{.name = "second", .next_ns = second_next, .run = run_second},
	{.name = "third",
		.next_ns = much_later,
		.publish = publish_third,
		.hang_up = hang_up_third},
	{.name = "fourth", .publish = publish_fourth},
	{.name = "fifth",
		.next_ns = lazy_next,
		.slack_ns = SLACK_NS,
		.run = run_lazy,
		.rest = rest_fifth},
};
#define N_TASKS (COUNT(tasks))

static json_t *answer_client(const char *params, void *context)
{
	assert_ptr_equal(context, &world.inst);
	assert_string_equal(params, "7");
	note("c");
	return json_string("well");
}

static int set_up(void **state)
{
	static const struct telemetry_command commands[] = {
		{.path = "/it", .handler = answer_client}, {0}};
	static const struct telemetry_command *const tables[] = {commands};
	static char path[64];
	struct telemetry_options options = {.path = path,
		.tables = tables,
		.n_tables = 1,
		.context = &world.inst,
		.now_ns = control_now,
		.budget_ns = SECOND_NS};

	memset(&world, 0, sizeof(world));
	snprintf(path, sizeof(path), "/tmp/weir-control-%d.sock", (int)getpid());
	world.due_ns = world.lazy_ns = UINT64_MAX;
	return pipe(world.signals) || pipe(world.file) ||
	       telemetry_listen(&options, &world.inst.telemetry);
}

static int tear_down(void **state)
{
	telemetry_close(world.inst.telemetry);
	for (unsigned i = 0; i < 2; i++) {
		close(world.signals[i]);
		close(world.file[i]);
	}
	return 0;
}

static int run_loop(void)
{
	return control_run(&world.inst, tasks, N_TASKS, world.signals[0]);
}

/*
 * SIGTERM and SIGINT end the loop before a task runs. SIGHUP is passed on with the user that sent
 * it.
 */
TEST_WITH(test_signals, set_up, tear_down)
{
	static const int ends[] = {SIGTERM, SIGINT};

	for (unsigned i = 0; i < 2; i++) {
		send_signal(ends[i], 0);
		assert_int_equal(run_loop(), ends[i]);
		assert_string_equal(world.told, "");
	}
	send_signal(SIGHUP, 77);
	send_signal(SIGTERM, 0);
	assert_int_equal(run_loop(), SIGTERM);
	assert_string_equal(world.told, "h.");
	assert_int_equal(world.hung_up, 77);
}

/* An incomplete signal is ignored. */
TEST_WITH(test_half_signal, set_up, tear_down)
{
	assert_int_equal(write(world.signals[1], "xyz", 3), 3);
	world.end = 1;
	assert_int_equal(run_loop(), SIGTERM);
	assert_string_equal(world.told, ".");
}

/* A readable file is read once in each turn, and only while it has data. */
TEST_WITH(test_files, set_up, tear_down)
{
	assert_int_equal(write(world.file[1], "ab", 2), 2);
	world.end = 2;
	assert_int_equal(run_loop(), SIGTERM);
	assert_string_equal(world.told, "r.r.");
}

/* Tasks run when one is due. The loop sleeps until then. */
TEST_WITH(test_due, set_up, tear_down)
{
	uint64_t began = control_now(), due = began + 5 * MS_NS;

	world.due_ns = due;
	world.period = 3 * MS_NS;
	world.end = 3;
	assert_int_equal(run_loop(), SIGTERM);
	assert_int_equal(world.turns, 3);
	assert_string_equal(world.told, "...");
	assert_true(world.ran_ns >= due + 2 * world.period);
	assert_true(world.ran_ns <= control_now());
}

/* An overdue task runs immediately, in each turn. */
TEST_WITH(test_overdue, set_up, tear_down)
{
	world.due_ns = 1;
	world.end = 1;
	assert_int_equal(run_loop(), SIGTERM);
	assert_string_equal(world.told, ".");
}

/* A task with slack runs in the turns of others, without causing a turn. */
TEST_WITH(test_slack, set_up, tear_down)
{
	world.due_ns = world.lazy_ns = control_now() + MS_NS;
	world.lazy_period = MS_NS;
	world.period = 3 * MS_NS;
	world.end = 5;
	assert_int_equal(run_loop(), SIGTERM);
	assert_int_equal(world.lazy_runs, world.end);
	assert_string_equal(world.told, ".....");
}

/* Without other turns, it runs after its slack. */
TEST_WITH(test_slack_alone, set_up, tear_down)
{
	uint64_t due = control_now() + MS_NS;

	world.lazy_ns = due;
	world.lazy_period = SECOND_NS;
	world.end = 1;
	assert_int_equal(run_loop(), SIGTERM);
	assert_int_equal(world.lazy_runs, 1);
	assert_true(world.ran_ns >= due + SLACK_NS);
}

/* The loop calls it before each wait, and so after the clients of the turn before. */
TEST_WITH(test_rest, set_up, tear_down)
{
	world.due_ns = 1;
	world.period = 1;
	world.end = 7;
	assert_int_equal(run_loop(), SIGTERM);
	assert_int_equal(world.rests, world.turns + 1); /* the last wait ends by the signal */
}

/* News of a turn are published in that turn, once, by the first later task that publishes. */
TEST_WITH(test_news, set_up, tear_down)
{
	world.due_ns = 1;
	world.period = 1;
	world.end = 4;
	world.news = 1 << 2 | 1 << 3;
	assert_int_equal(run_loop(), SIGTERM);
	assert_string_equal(world.told, "..3.3.");
}

/* A client gets its answer after the tasks of that turn. */
TEST_WITH(test_client, set_up, tear_down)
{
	struct sockaddr_un at = {.sun_family = AF_UNIX};
	int client = socket(AF_UNIX, SOCK_SEQPACKET, 0);
	char reply[4096];
	ssize_t len;

	snprintf(at.sun_path, sizeof(at.sun_path), "/tmp/weir-control-%d.sock", (int)getpid());
	assert_int_equal(connect(client, (struct sockaddr *)&at, sizeof(at)), 0);
	assert_int_equal(send(client, "/it,7", 5, 0), 5);
	world.end = 3; /* enough to accept, greet and answer it */
	world.due_ns = control_now() + 2 * MS_NS;
	world.period = MS_NS;
	assert_int_equal(run_loop(), SIGTERM);
	assert_non_null(strchr(world.told, 'c'));
	assert_true(recv(client, reply, sizeof(reply), MSG_DONTWAIT) > 0); /* the greeting */
	len = recv(client, reply, sizeof(reply) - 1, MSG_DONTWAIT);
	assert_true(len > 0);
	reply[len] = '\0';
	assert_string_equal(reply, "{\"/it\":\"well\"}");
	close(client);
}
