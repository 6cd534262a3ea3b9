/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Limiters that are queried together: their list, the rounds, and reasons for silence.
 */
#include "check.h"

#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <unistd.h>

#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "ask/targets.h"

static char home[] = "/tmp/weir-targets-XXXXXX";

/* Returns the path of a file in the directory of this test. */
static const char *path_of(const char *file)
{
	static char paths[8][64];
	static unsigned at;

	at = (at + 1) % COUNT(paths);
	snprintf(paths[at], sizeof(paths[at]), "%s/%s", home, file);
	return paths[at];
}

static void write_file(const char *file, const char *text)
{
	FILE *out = fopen(path_of(file), "w");

	assert_non_null(out);
	fputs(text, out);
	fclose(out);
}

/* Asserts the names of the limiters, as "a b c". */
static void assert_names(const struct targets *targets, const char *want)
{
	char got[256] = "";

	for (unsigned i = 0; i < targets->n; i++)
		snprintf(got + strlen(got), sizeof(got) - strlen(got), "%s%s", i ? " " : "",
			targets->each[i].name);
	assert_string_equal(got, want);
}

/* --- the list -------------------------------------------------------------------------------- */

TEST(each_name)
{
	struct targets targets = {.program = "test"};
	static const struct {
		const char *name, *path;
		int ret;
	} rows[] = {
		{NULL, "/x/ams.sock", 0},
		{NULL, "fra", 0},
		{"lon", NULL, 0},
		{"nyc", "/y/nyc2.sock", 0},
		{"other", "/x/ams.sock", -EEXIST},
		{NULL, TARGETS_DIRECTORY "/lon.sock", -EEXIST},
		{NULL, "/y/ams.sock", 1},
		{NULL, "/z/.sock", 0},
	};

	for (size_t i = 0; i < COUNT(rows); i++)
		assert_int_equal(targets_add(&targets, rows[i].name, rows[i].path), rows[i].ret);
	assert_names(&targets, "ams fra lon nyc /y/ams.sock .sock");
	assert_string_equal(targets.each[2].path, TARGETS_DIRECTORY "/lon.sock");
	assert_string_equal(targets.each[3].path, "/y/nyc2.sock");
	targets_free(&targets);
	for (unsigned i = 0; i < TARGETS_MAX; i++) {
		char name[16];

		snprintf(name, sizeof(name), "l%u", i);
		assert_int_equal(targets_add(&targets, name, NULL), 0);
	}
	assert_int_equal(targets_add(&targets, "more", NULL), -ENOSPC);
	targets_free(&targets);
}

/* Asserts the names that a group's file adds, or its error. */
static void assert_group(const char *text, const char *names, const char *want)
{
	struct targets targets = {.program = "test"};
	char *said;
	size_t size;
	FILE *err = open_memstream(&said, &size);

	write_file("group", text);
	assert_int_equal(targets_add_group(&targets, path_of("group"), err), want == NULL);
	fclose(err);
	if (want)
		assert_non_null(strstr(said, want));
	else
		assert_names(&targets, names);
	assert_int_equal(size == 0, want == NULL);
	targets_free(&targets);
	free(said);
}

TEST(each_group)
{
	char many[256 * 16 + 64] = "[{\"name\": \"l\"}";

	assert_group("[{\"name\": \"a\"}, {\"name\": \"b\", \"socket\": \"/x\"}]", "a b", NULL);
	assert_group("[", NULL, "/group:1: ");
	assert_group("[]", NULL, "expected a list");
	assert_group("{}", NULL, "expected a list");
	assert_group("[{\"name\": \"a\", \"sockets\": \"/x\"}]", NULL, "expected a list");
	assert_group("[{\"socket\": \"/x\"}]", NULL, "expected a list");
	assert_group("[{\"name\": \"a\"}, {\"name\": \"a\"}]", NULL, "member 2: its socket");
	for (unsigned i = 1; i < 256; i++)
		snprintf(many + strlen(many), sizeof(many) - strlen(many), ",{\"name\":\"%u\"}", i);
	strcat(many, ",{\"name\":\"o\"}]");
	assert_group(many, NULL, "at most 256");
}

/* Asserts the socket found in a directory, or the error: `want` is a part of either. */
static void assert_only(const char *directory, bool found, const char *want)
{
	struct targets targets = {.program = "test"};
	char *text;
	size_t size;
	FILE *err = open_memstream(&text, &size);

	assert_int_equal(targets_add_only(&targets, directory, err), found);
	fclose(err);
	assert_int_equal(targets.n, found);
	assert_non_null(strstr(found ? targets.each[0].path : text, want));
	assert_int_equal(size == 0, found);
	targets_free(&targets);
	free(text);
}

TEST(each_directory)
{
	struct targets targets = {.program = "test"};

	assert_only("/nonexistent", false, "is weir running?");
	write_file("notes.txt", "");
	assert_only(home, false, "is weir running?");
	write_file("fra.sock", "");
	assert_only(home, true, "/fra.sock");
	targets_refresh(&targets, home, 9);
	assert_names(&targets, "fra");
	targets.each[0].last.error = 7;
	write_file("ams.sock", "");
	assert_only(home, false, "-n:\n  ams\n  fra\n");
	targets_refresh(&targets, home, 9);
	assert_names(&targets, "ams fra");
	assert_int_equal(targets.each[1].last.error, 7);
	targets_refresh(&targets, home, 1);
	assert_names(&targets, "ams");
	unlink(path_of("ams.sock"));
	unlink(path_of("fra.sock"));
	targets_refresh(&targets, home, 9);
	assert_names(&targets, "");
	targets_free(&targets);
}

TEST(each_reason)
{
	static const struct {
		int error;
		const char *want;
	} cases[] = {
		{ENOENT, "is weir running?"},
		{ENXIO, "is weir running?"},
		{EACCES, "permission denied"},
		{ECONNREFUSED, "no process listens"},
		{EPROTOTYPE, "does not use"},
		{EBADMSG, "does not use"},
		{EMSGSIZE, "longer than"},
		{ETIMEDOUT, "no answer"},
		{ECONNRESET, "was closed"},
		{EIO, "Input/output error"},
	};
	char socket[] = "/x.sock";

	for (size_t i = 0; i < COUNT(cases); i++) {
		const struct target target = {.path = socket, .error = cases[i].error};
		char *text;
		size_t size;
		FILE *out = open_memstream(&text, &size);

		target_explain(&target, out);
		fclose(out);
		assert_non_null(strstr(text, cases[i].want));
		assert_non_null(strstr(text, "/x.sock: "));
		free(text);
	}
}

/* --- rounds ---------------------------------------------------------------------------------- */

/* A limiter that answers each request of any number of connections, one after the other. */
struct server {
	int listener;
	unsigned connections;
	pthread_t thread;
};

static void *serve(void *context)
{
	static const char greeting[] = "{\"max_output_len\": 99}", answer[] = "{\"/a\": 7}";
	struct server *server = context;
	char request[64];
	int fd;

	while ((fd = accept(server->listener, NULL, NULL)) >= 0) {
		server->connections++;
		send(fd, greeting, strlen(greeting), MSG_NOSIGNAL);
		while (recv(fd, request, sizeof(request), 0) > 0)
			send(fd, answer, strlen(answer), MSG_NOSIGNAL);
		close(fd);
	}
	return NULL;
}

static void start_server(struct server *server, const char *file)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};

	snprintf(address.sun_path, sizeof(address.sun_path), "%s", path_of(file));
	*server = (struct server){.listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0)};
	assert_int_equal(bind(server->listener, (struct sockaddr *)&address, sizeof(address)), 0);
	assert_int_equal(listen(server->listener, 8), 0);
	assert_int_equal(pthread_create(&server->thread, NULL, serve, server), 0);
}

/* Call it after the clients have closed their connections. */
static void stop_server(struct server *server, const char *file)
{
	shutdown(server->listener, SHUT_RDWR);
	pthread_join(server->thread, NULL);
	close(server->listener);
	unlink(path_of(file));
}

/* Counts the queries that run at the same time. The context is the most of them that are wanted. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static unsigned running;
static _Atomic unsigned rounds;

static int query(struct target *target, const void *context, json_t **document)
{
	const unsigned *together = context;

	pthread_mutex_lock(&lock);
	running++;
	rounds++;
	pthread_cond_broadcast(&changed);
	while (running % *together)
		pthread_cond_wait(&changed, &lock);
	pthread_mutex_unlock(&lock);
	return source_get(&target->client.source, "/a", document);
}

static void explain(struct target *target, const void *context, FILE *out)
{
	fprintf(out, "%s: %d", target->name, target->error);
}

static void ask_all(struct targets *targets)
{
	targets_begin(targets);
	targets_finish(targets);
}

/* All run at the same time, and each has its own result; connections stay open. */
TEST(each_round)
{
	static const unsigned together = 3;
	struct targets targets = {.timeout_s = 60, .query = query, .context = &together};
	struct server servers[2];

	start_server(&servers[0], "a.sock");
	start_server(&servers[1], "b.sock");
	assert_int_equal(targets_add(&targets, NULL, path_of("a.sock")), 0);
	assert_int_equal(targets_add(&targets, "gone", path_of("none")), 0);
	assert_int_equal(targets_add(&targets, NULL, path_of("b.sock")), 0);
	for (unsigned round = 0; round < 3; round++) {
		ask_all(&targets);
		assert_int_equal(targets_busy(&targets), 0);
		for (unsigned i = 0; i < 3; i++) {
			const struct target_result *last = &targets.each[i].last;

			assert_int_equal(json_integer_value(last->document), i == 1 ? 0 : 7);
			assert_int_equal(last->error, i == 1 ? ENXIO : 0);
			assert_int_equal(last->silent_since != 0, i == 1);
			assert_int_equal(last->why != NULL, i == 1);
			assert_int_equal(targets.each[i].fresh, i != 1 || round == 0);
			targets.each[i].fresh = false;
		}
		assert_non_null(
			strstr(targets.each[1].last.why, round ? "gone: 6" : "no such socket"));
		targets.explain = explain;
	}
	targets_free(&targets);
	stop_server(&servers[0], "a.sock");
	stop_server(&servers[1], "b.sock");
	assert_int_equal(servers[0].connections, 1);
	assert_int_equal(servers[1].connections, 1);
}

/* A limiter that ends is silent since its first query without an answer, until it is back. */
TEST(comes_back)
{
	static const unsigned together = 1;
	struct targets targets = {.timeout_s = 60, .query = query, .context = &together};
	struct target *target;
	struct server server;

	start_server(&server, "a.sock");
	assert_int_equal(targets_add(&targets, NULL, path_of("a.sock")), 0);
	target = &targets.each[0];
	ask_all(&targets);
	assert_int_equal(target->last.error, 0);
	target_close(target);
	stop_server(&server, "a.sock");
	ask_all(&targets);
	assert_true(target->last.silent_since && !target->last.document);
	start_server(&server, "a.sock");
	target->fresh = false;
	ask_all(&targets);
	assert_true(target->fresh && target->last.silent_since == 0 && !target->last.why);
	assert_int_equal(json_integer_value(target->last.document), 7);
	targets_free(&targets);
	stop_server(&server, "a.sock");
}

/* Queries at an interval; a wait ends early for a descriptor of the caller. */
TEST(each_interval)
{
	static const unsigned together = 1;
	struct targets targets = {
		.timeout_s = 60, .interval_s = 0.05, .query = query, .context = &together};
	int ready = eventfd(1, EFD_CLOEXEC);
	struct pollfd fd = {.fd = ready, .events = POLLIN};
	double began = steady_s();

	assert_int_equal(targets_add(&targets, NULL, path_of("none")), 0);
	targets.interval_s = 1e6;
	targets_wait(&targets, &fd, 1, INT_MAX);
	assert_int_equal(fd.revents, POLLIN);
	targets_finish(&targets);
	fd.fd = -1;
	targets_wait(&targets, &fd, 1, 1);
	assert_int_equal(fd.revents, 0);
	targets.interval_s = 0.05;
	began = steady_s();
	rounds = 0;
	while (rounds < 3)
		targets_wait(&targets, NULL, 0, -1);
	assert_true(steady_s() - began > 0.09);
	targets_free(&targets);
	close(ready);
}

static int make_home(void **state)
{
	return mkdtemp(home) ? 0 : -1;
}

static int remove_home(void **state)
{
	unlink(path_of("notes.txt"));
	unlink(path_of("group"));
	return rmdir(home);
}

TEST_GROUP(make_home, remove_home)
