/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The telemetry server on real sockets. "Inline" tests call telemetry_serve() themselves, so that
 * one call can be looked at; the others let a thread serve, as the control loop does.
 *
 * WEIR_TEST_SEED=N repeats a run of the random requests.
 */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include <rte_eal.h>
#include <rte_ethdev.h>
#include <rte_mbuf.h>

#include "telemetry/server.h"

#define GREETING_START "{\"version\":\"Weir "
#define NULL_NOPE      "{\"/nope\":null}"
#define FOREVER_MS     60000 /* nothing here takes so long unless it hangs */
#define MANY_CLIENTS   24
#define CLIENT_ASKS    400
#define RANDOM_ASKS    20000
#define RACERS         8
#define RACES          20
#define PORTS          2
#define BUDGET_NS      2000000

static char home[64];
static char path[96];
static struct telemetry_server *server;

/* --- what is served ------------------------------------------------------------------------- */

static json_t *test_echo(const char *params, void *context)
{
	(void)context;
	return params != NULL ? json_string(params) : NULL;
}

static json_t *test_context(const char *params, void *context)
{
	(void)params;
	return json_integer(*(int *)context);
}

/* A string so long that the reply has exactly as many bytes as asked for. */
static json_t *test_sized(const char *params, void *context)
{
	size_t len = strtoul(params, NULL, 10) - strlen("{\"/test/sized\":\"\"}");
	char *text = malloc(len);
	json_t *value;

	(void)context;
	memset(text, 'x', len);
	value = json_stringn(text, len);
	free(text);
	return value;
}

static json_t *test_real(const char *params, void *context)
{
	(void)params;
	(void)context;
	return json_real(0.1);
}

static const struct telemetry_command test_commands[] = {
	{"/test/echo", "Returns its parameter", test_echo, TELEMETRY_PARAMS, TELEMETRY_READS},
	{"/test/context", "Returns the context", test_context, TELEMETRY_PARAMS, TELEMETRY_READS},
	{"/test/sized", "Returns a reply of so many bytes", test_sized, TELEMETRY_PARAMS,
		TELEMETRY_READS},
	{"/test/real", "Returns a tenth", test_real, TELEMETRY_PARAMS, TELEMETRY_READS},
	{0},
};

static const struct telemetry_command shadow_commands[] = {
	{"/info", "Tries to hide the built-in command", test_real, TELEMETRY_PARAMS,
		TELEMETRY_READS},
	{"/test/echo", "Tries to hide an earlier table's command", test_real, TELEMETRY_PARAMS,
		TELEMETRY_READS},
	{0},
};

static const struct telemetry_command *const tables[] = {
	test_commands, telemetry_ethdev, shadow_commands};
static int context_value = 4711;

/* Time stands still unless a test lets it pass: no budget is used up because others are busy. */
static uint64_t time_now;

static uint64_t test_clock(void)
{
	return time_now;
}

static struct telemetry_group test_group, test_operators;

static int listen_at(const char *where, struct telemetry_server **out)
{
	const struct telemetry_options options = {
		.path = where,
		.tables = tables,
		.n_tables = 3,
		.context = &context_value,
		.group = test_group,
		.operators = test_operators,
		.now_ns = test_clock,
		.budget_ns = BUDGET_NS,
	};

	return telemetry_listen(&options, out);
}

/* --- fixtures ------------------------------------------------------------------------------- */

static pthread_t thread;
static atomic_bool stop;

static void *serve_until_stopped(void *arg)
{
	struct pollfd fds[TELEMETRY_MAX_FDS];

	(void)arg;
	while (!atomic_load(&stop))
		if (poll(fds, telemetry_pollfds(server, fds), 10) > 0)
			telemetry_serve(server);
	return NULL;
}

static int new_home(void **state)
{
	(void)state;
	strcpy(home, "/tmp/weir-telemetry-XXXXXX");
	assert_non_null(mkdtemp(home));
	snprintf(path, sizeof(path), "%s/run/dpdk_telemetry.v2", home);
	return 0;
}

static int remove_home(void **state)
{
	char command[128];

	(void)state;
	snprintf(command, sizeof(command), "rm -rf %s", home);
	return system(command);
}

static int start_inline(void **state)
{
	new_home(state);
	assert_int_equal(listen_at(path, &server), 0);
	return 0;
}

static int stop_inline(void **state)
{
	telemetry_close(server);
	assert_int_equal(access(path, F_OK), -1);
	return remove_home(state);
}

static int start_thread(void **state)
{
	start_inline(state);
	atomic_store(&stop, false);
	return pthread_create(&thread, NULL, serve_until_stopped, NULL);
}

static int stop_thread(void **state)
{
	atomic_store(&stop, true);
	pthread_join(thread, NULL);
	return stop_inline(state);
}

/* --- a client ------------------------------------------------------------------------------- */

static int try_connect(void)
{
	const struct timeval patience = {.tv_sec = FOREVER_MS / 1000};
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	strcpy(address.sun_path, path);
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	if (connect(fd, (struct sockaddr *)&address, sizeof(address)) == 0)
		return fd;
	close(fd);
	return -errno;
}

/* Length of the reply, 0 at the end of the connection. Nul-terminates. */
static ssize_t receive_test_reply(int fd, char reply[TELEMETRY_MAX_OUTPUT + 1])
{
	ssize_t len = recv(fd, reply, TELEMETRY_MAX_OUTPUT, 0);

	if (len < 0 && errno == ECONNRESET)
		len = 0;
	if (len >= 0)
		reply[len] = '\0';
	return len;
}

static void expect_greeting(int fd)
{
	char reply[TELEMETRY_MAX_OUTPUT + 1];

	assert_true(receive_test_reply(fd, reply) > 0);
	assert_memory_equal(reply, GREETING_START, strlen(GREETING_START));
}

static void send_bytes(int fd, const void *request, size_t len)
{
	assert_int_equal(send(fd, request, len, MSG_NOSIGNAL), len);
}

static void send_request(int fd, const char *request)
{
	send_bytes(fd, request, strlen(request));
}

static void expect_reply(int fd, const char *expected)
{
	char reply[TELEMETRY_MAX_OUTPUT + 1];

	assert_true(receive_test_reply(fd, reply) > 0);
	assert_string_equal(reply, expected);
}

static void expect_nothing(int fd)
{
	char byte;

	assert_int_equal(recv(fd, &byte, 1, MSG_DONTWAIT), -1);
	assert_int_equal(errno, EAGAIN);
}

static void expect_closed(int fd)
{
	char reply[TELEMETRY_MAX_OUTPUT + 1];

	assert_int_equal(receive_test_reply(fd, reply), 0);
	close(fd);
}

static int connect_threaded(void)
{
	int fd = try_connect();

	assert_true(fd >= 0);
	expect_greeting(fd);
	return fd;
}

static int connect_inline(void)
{
	int fd = try_connect();

	assert_true(fd >= 0);
	telemetry_serve(server);
	expect_greeting(fd);
	return fd;
}

/* Asks without a socket. */
static void expect_answer_n(const char *request, size_t len, const char *expected)
{
	char *text = telemetry_answer(server, request, len);

	assert_non_null(text);
	assert_string_equal(text, expected);
	free(text);
}

static void expect_answer(const char *request, const char *expected)
{
	expect_answer_n(request, strlen(request), expected);
}

static json_t *ask_telemetry(const char *request, const char *key)
{
	char *text = telemetry_answer(server, request, strlen(request));
	json_t *object = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
	json_t *value = json_incref(json_object_get(object, key));

	assert_non_null(value);
	assert_int_equal(json_object_size(object), 1);
	json_decref(object);
	free(text);
	return value;
}

static json_int_t telemetry_statistic(const char *name)
{
	json_t *stats = ask_telemetry("/weir/telemetry", "/weir/telemetry");
	json_int_t value = json_integer_value(json_object_get(stats, name));

	assert_true(json_is_integer(json_object_get(stats, name)));
	json_decref(stats);
	return value;
}

/* --- the protocol --------------------------------------------------------------------------- */

static void test_requests(void **state)
{
	(void)state;
	expect_answer("/test/echo,a,b", "{\"/test/echo\":\"a,b\"}");
	expect_answer("/test/echo,", "{\"/test/echo\":null}");
	expect_answer("/test/echo", "{\"/test/echo\":null}");
	expect_answer("/test/echo,\"\\\t", "{\"/test/echo\":\"\\\"\\\\\\t\"}");
	expect_answer("/test/context", "{\"/test/context\":4711}");
	expect_answer("/test/real", "{\"/test/real\":0.1}");
	expect_answer("/nope", NULL_NOPE);
	expect_answer("/nope,1", NULL_NOPE);
	expect_answer("/no pe~", "{\"/no pe~\":null}");
	expect_answer("/test/ech", "{\"/test/ech\":null}");
	expect_answer("/test/echoo,1", "{\"/test/echoo\":null}");
	expect_answer("test/echo,1", "{\"test/echo\":null}");
}

static void test_malformed_requests(void **state)
{
	char big[5000];

	(void)state;
	expect_answer("", "{\"\":null}");
	expect_answer(",", "{\"\":null}");
	expect_answer(",/info", "{\"\":null}");
	expect_answer("\"\\", "{\"\\\"\\\\\":null}");
	expect_answer("/\xff\xfe\x01\x7f\xc3\xa9", "{\"/??????\":null}");
	expect_answer("/test/echo,\xff", "{\"/test/echo\":null}");
	expect_answer_n("/te\0st", 6, "{\"/te?st\":null}");
	/* Not the valid request that stands before the NUL. */
	expect_answer_n("/test/context\0x", 15, "{\"/test/context?x\":null}");
	expect_answer_n("/test/echo,1\0x", 14, "{\"/test/echo\":null}");
	memset(big, 'a', sizeof(big));
	memcpy(big, "/test/echo,", 11);
	expect_answer_n(big, sizeof(big), "{\"/test/echo\":null}");
	memset(big, 'b', sizeof(big));
	expect_answer_n(big, 4000,
		"{\"bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb\":null}");
}

static void test_line_ends_are_ignored(void **state)
{
	(void)state;
	expect_answer("/test/echo,1\r\n", "{\"/test/echo\":\"1\"}");
	expect_answer_n("/test/echo,1", 13, "{\"/test/echo\":\"1\"}");
	expect_answer("/nope\n", NULL_NOPE);
	expect_answer("\n", "{\"\":null}");
}

static void test_list(void **state)
{
	json_t *list = ask_telemetry("/", "/");
	const char *expected[] = {"/", "/help", "/info", "/weir/telemetry", "/test/echo",
		"/test/context", "/test/sized", "/test/real", "/ethdev/list", "/ethdev/stats",
		"/ethdev/xstats", "/ethdev/info", "/ethdev/link_status"};

	(void)state;
	assert_int_equal(json_array_size(list), sizeof(expected) / sizeof(*expected));
	for (size_t i = 0; i < json_array_size(list); i++)
		assert_string_equal(json_string_value(json_array_get(list, i)), expected[i]);
	json_decref(list);
}

static void test_help(void **state)
{
	(void)state;
	expect_answer("/help", "{\"/help\":\"Returns help text for a command. "
			       "Parameters: string command\"}");
	expect_answer("/help,", "{\"/help\":\"Returns help text for a command. "
				"Parameters: string command\"}");
	expect_answer("/help,/test/echo", "{\"/help\":{\"/test/echo\":\"Returns its parameter\"}}");
	expect_answer("/help,/nope", "{\"/help\":null}");
	expect_answer("/help,/test/echo,1", "{\"/help\":null}");
}

static void test_info(void **state)
{
	char expected[256];

	(void)state;
	snprintf(expected, sizeof(expected),
		"{\"/info\":{\"version\":\"Weir " WEIR_VERSION "\",\"pid\":%d,"
		"\"max_output_len\":16384}}",
		(int)getpid());
	expect_answer("/info", expected);
}

static void test_greeting(void **state)
{
	char expected[256];
	int fd = try_connect();

	(void)state;
	telemetry_serve(server);
	snprintf(expected, sizeof(expected),
		"{\"version\":\"Weir " WEIR_VERSION "\",\"pid\":%d,\"max_output_len\":16384}",
		(int)getpid());
	expect_reply(fd, expected);
	close(fd);
}

static void test_largest_reply(void **state)
{
	char reply[TELEMETRY_MAX_OUTPUT + 1];
	int fd = connect_inline();

	(void)state;
	send_request(fd, "/test/sized,16384");
	telemetry_serve(server);
	assert_int_equal(receive_test_reply(fd, reply), TELEMETRY_MAX_OUTPUT);
	assert_int_equal(telemetry_statistic("oversize"), 0);
	send_request(fd, "/test/sized,16385");
	telemetry_serve(server);
	expect_reply(fd, "{\"/test/sized\":null}");
	assert_int_equal(telemetry_statistic("oversize"), 1);
	assert_int_equal(telemetry_statistic("null_replies"), 1);
	assert_int_equal(telemetry_statistic("requests"), 2);
	close(fd);
}

/* --- the socket's place --------------------------------------------------------------------- */

/* Neither root nor of root's groups, of which a login gives the first. */
static int connect_as_stranger(void)
{
	if (setgroups(0, NULL) || setgid(65534) || setuid(65534))
		return -errno;
	return try_connect();
}

static void test_permissions(void **state)
{
	struct stat file;
	pid_t child;
	int status;

	(void)state;
	assert_int_equal(stat(path, &file), 0);
	assert_true(S_ISSOCK(file.st_mode));
	assert_int_equal(file.st_mode & 07777, 0660);
	*strrchr(path, '/') = '\0';
	assert_int_equal(stat(path, &file), 0);
	assert_int_equal(file.st_mode & 07777, 0755);
	path[strlen(path)] = '/';
	assert_int_equal(umask(0), 077); /* restored, see main() */
	umask(077);
	if (getuid() != 0)
		return;
	assert_int_equal(chmod(home, 0755), 0);
	child = fork();
	if (child == 0)
		_exit(connect_as_stranger() == -EACCES ? 0 : 1);
	waitpid(child, &status, 0);
	assert_int_equal(status, 0);
}

static void test_dead_owner_is_replaced(void **state)
{
	struct telemetry_server *mine;
	pid_t child = fork();
	int status;

	(void)state;
	if (child == 0)
		_exit(listen_at(path, &mine) == 0 ? 0 : 1);
	waitpid(child, &status, 0);
	assert_int_equal(status, 0);
	assert_int_equal(access(path, F_OK), 0);
	assert_int_equal(try_connect(), -ECONNREFUSED);
	assert_int_equal(telemetry_look(path), 0);
	assert_int_equal(access(path, F_OK), 0);
	assert_int_equal(listen_at(path, &server), 0);
	close(connect_inline());
	telemetry_close(server);
	assert_int_equal(access(path, F_OK), -1);
}

static void test_live_owner_is_not(void **state)
{
	struct telemetry_server *second = (void *)1;
	int fd;

	(void)state;
	assert_int_equal(telemetry_look(path), -EADDRINUSE);
	assert_int_equal(listen_at(path, &second), -EADDRINUSE);
	assert_null(second);
	fd = try_connect();
	telemetry_serve(server); /* the probe's connection and ours */
	telemetry_serve(server);
	expect_greeting(fd);
	close(fd);
}

/* A listener that never accepts is alive, too, and a probe must not wait in its full queue. */
static void test_full_queue_is_alive(void **state)
{
	struct telemetry_server *second;
	int fds[2 * TELEMETRY_MAX_CLIENTS];
	int n = 0;

	(void)state;
	for (; n < 2 * TELEMETRY_MAX_CLIENTS; n++) {
		struct sockaddr_un address = {.sun_family = AF_UNIX};

		strcpy(address.sun_path, path);
		fds[n] = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0);
		if (connect(fds[n], (struct sockaddr *)&address, sizeof(address)) != 0)
			break;
	}
	assert_int_equal(errno, EAGAIN);
	assert_int_equal(telemetry_look(path), -EADDRINUSE);
	assert_int_equal(listen_at(path, &second), -EADDRINUSE);
	for (int i = 0; i <= n; i++)
		close(fds[i]);
}

static void test_other_socket_type_is_alive(void **state)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	(void)state;
	snprintf(path, sizeof(path), "%s/stream", home);
	strcpy(address.sun_path, path);
	assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	assert_int_equal(listen(fd, 1), 0);
	assert_int_equal(telemetry_look(path), -EADDRINUSE);
	assert_int_equal(listen_at(path, &server), -EADDRINUSE);
	close(fd);
	assert_int_equal(listen_at(path, &server), 0);
	telemetry_close(server);
}

static void expect_in_the_way(void)
{
	struct stat before, after;

	assert_int_equal(lstat(path, &before), 0);
	assert_int_equal(telemetry_look(path), -EEXIST);
	assert_int_equal(listen_at(path, &server), -EEXIST);
	assert_int_equal(lstat(path, &after), 0);
	assert_int_equal(before.st_ino, after.st_ino);
	assert_int_equal(before.st_size, after.st_size);
	assert_int_equal(remove(path), 0);
}

/* What somebody without rights is told of a path, or -1. */
static int as_stranger(int (*ask)(const char *where), const char *where)
{
	pid_t child = fork();
	int status;

	if (child == 0) {
		if (setgroups(0, NULL) || setresgid(65534, 65534, 65534) ||
			setresuid(65534, 65534, 65534))
			_exit(255);
		_exit(-ask(where));
	}
	waitpid(child, &status, 0);
	return WIFEXITED(status) ? -WEXITSTATUS(status) : -1;
}

static int try_to_listen(const char *where)
{
	struct telemetry_server *mine;

	return listen_at(where, &mine);
}

/* To have a socket in a directory takes both to write it and to go through it. */
static void test_directory_of_another(void **state)
{
	static const struct {
		mode_t mode;
		int rc;
	} rows[] = {{0777, 0}, {0755, -EACCES}, {0776, -EACCES}, {0774, -EACCES}};

	(void)state;
	if (getuid() != 0)
		skip();
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		assert_int_equal(chmod(home, rows[i].mode), 0);
		snprintf(path, sizeof(path), "%s/socket", home);
		assert_int_equal(as_stranger(telemetry_look, path), rows[i].rc);
		assert_int_equal(as_stranger(try_to_listen, path), rows[i].rc);
		unlink(path);
		snprintf(path, sizeof(path), "%s/made/socket", home);
		assert_int_equal(as_stranger(telemetry_look, path), rows[i].rc);
		assert_int_equal(telemetry_look(path), 0); /* of root's */
	}
}

static void test_other_files_are_left_alone(void **state)
{
	FILE *file;

	(void)state;
	snprintf(path, sizeof(path), "%s/precious", home);
	file = fopen(path, "w");
	fputs("data", file);
	fclose(file);
	expect_in_the_way();
	assert_int_equal(mkdir(path, 0700), 0);
	expect_in_the_way();
	assert_int_equal(symlink("/nowhere", path), 0);
	expect_in_the_way();
}

static void test_bad_paths(void **state)
{
	char longest[sizeof(((struct sockaddr_un *)0)->sun_path) + 1];

	(void)state;
	server = (void *)1;
	assert_int_equal(telemetry_look(""), -EINVAL);
	assert_int_equal(listen_at("", &server), -EINVAL);
	memset(longest, 'a', sizeof(longest) - 1);
	longest[sizeof(longest) - 1] = '\0';
	assert_int_equal(telemetry_look(longest), -ENAMETOOLONG);
	assert_int_equal(listen_at(longest, &server), -ENAMETOOLONG);
	snprintf(path, sizeof(path), "%s/a/b/socket", home);
	assert_int_equal(telemetry_look(path), -ENOENT);
	assert_int_equal(listen_at(path, &server), -ENOENT);
	snprintf(path, sizeof(path), "%s/file", home);
	close(open(path, O_CREAT | O_WRONLY, 0600));
	strcat(path, "/socket");
	assert_int_equal(telemetry_look(path), -ENOTDIR);
	assert_int_equal(listen_at(path, &server), -ENOTDIR);
	assert_null(server);
}

/* A name that a dead owner has left. */
static void leave_stale_socket(void)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_SEQPACKET, 0);

	strcpy(address.sun_path, path);
	assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	close(fd);
}

/* Not one is left, or one: for the directory, and none for a socket. What is there stays. */
static void test_no_descriptors_to_listen(void **state)
{
	struct rlimit before, few;
	int lowest = dup(0);

	(void)state;
	close(lowest);
	snprintf(path, sizeof(path), "%s/socket", home);
	getrlimit(RLIMIT_NOFILE, &before);
	few = before;
	for (int i = 0; i < 4; i++) {
		int rc, look;

		if (i == 2)
			leave_stale_socket();
		few.rlim_cur = (rlim_t)(lowest + i % 2);
		setrlimit(RLIMIT_NOFILE, &few);
		rc = listen_at(path, &server);
		look = telemetry_look(path);
		setrlimit(RLIMIT_NOFILE, &before);
		assert_int_equal(rc, -EMFILE);
		assert_int_equal(look, i % 2 ? 0 : -EMFILE);
		assert_null(server);
		assert_int_equal(access(path, F_OK), i < 2 ? -1 : 0);
	}
	assert_int_equal(listen_at(path, &server), 0);
	close(connect_inline());
	telemetry_close(server);
}

/* While it is counted, waiting takes no time; whoever holds the lock gives it up at some wait. */
static struct {
	bool counted;
	unsigned n, until;
	uint64_t ns;
	int holder;
} waits;

/* In place of libc's. */
int nanosleep(const struct timespec *request, struct timespec *left)
{
	if (!waits.counted)
		return clock_nanosleep(CLOCK_MONOTONIC, 0, request, left);
	waits.ns += (uint64_t)request->tv_sec * 1000000000 + (uint64_t)request->tv_nsec;
	if (++waits.n == waits.until)
		flock(waits.holder, LOCK_UN);
	return 0;
}

static int listen_while_locked(const char *directory, const char *socket_path, unsigned until)
{
	int fd = open(directory, O_RDONLY | O_DIRECTORY), rc;

	assert_int_equal(flock(fd, LOCK_EX), 0);
	waits.counted = true;
	waits.n = 0;
	waits.ns = 0;
	waits.until = until;
	waits.holder = fd;
	rc = listen_at(socket_path, &server);
	waits.counted = false;
	close(fd);
	return rc;
}

/* Somebody else is just looking at the directory: wait for them, but not for ever. */
static void expect_to_wait_for(const char *directory, const char *socket_path)
{
	assert_int_equal(listen_while_locked(directory, socket_path, 0), -EAGAIN);
	assert_true(waits.ns == 1000000000);
	assert_int_equal(access(socket_path, F_OK), -1);
	assert_int_equal(listen_while_locked(directory, socket_path, waits.n), 0);
	telemetry_close(server);
	assert_int_equal(listen_while_locked(directory, socket_path, 2), 0);
	assert_int_equal(waits.n, 2);
	telemetry_close(server);
}

static void test_directory_is_locked(void **state)
{
	(void)state;
	snprintf(path, sizeof(path), "%s/socket", home);
	expect_to_wait_for(home, path);
	assert_int_equal(listen_at(path, &server), 0);
	telemetry_close(server);
}

static void test_relative_path(void **state)
{
	char *before = getcwd(NULL, 0);

	(void)state;
	assert_int_equal(chdir(home), 0);
	expect_to_wait_for(".", "bare");
	assert_int_equal(telemetry_look("bare"), 0);
	assert_int_equal(listen_at("bare", &server), 0);
	assert_int_equal(access("bare", F_OK), 0);
	telemetry_close(server);
	assert_int_equal(access("bare", F_OK), -1);
	assert_int_equal(listen_at("d/socket", &server), 0);
	assert_int_equal(access("d/socket", F_OK), 0);
	telemetry_close(server);
	assert_int_equal(chdir(before), 0);
	free(before);
}

/* The root is a directory as well, and it is not the current one, in which all may write. */
static void test_in_root(void **state)
{
	char *before = getcwd(NULL, 0);

	(void)state;
	if (getuid() != 0)
		skip();
	assert_int_equal(chmod(home, 0777), 0);
	assert_int_equal(chdir(home), 0);
	assert_int_equal(as_stranger(telemetry_look, "/weir-socket"), -EACCES);
	assert_int_equal(as_stranger(telemetry_look, "weir-socket"), 0);
	assert_int_equal(chdir(before), 0);
	free(before);
}

static void test_only_our_file_is_removed(void **state)
{
	char moved[128];

	(void)state;
	assert_int_equal(listen_at(path, &server), 0);
	snprintf(moved, sizeof(moved), "%s.moved", path);
	assert_int_equal(rename(path, moved), 0);
	close(open(path, O_CREAT | O_WRONLY, 0600));
	telemetry_close(server);
	assert_int_equal(access(path, F_OK), 0);
}

/* Tries for the path once `go` closes, tells how that went, and lives until `done` closes. */
static void race_for_socket(const int go[2], const int result[2], const int done[2])
{
	char outcome;
	int rc;

	close(go[1]);
	close(done[1]);
	if (read(go[0], &outcome, 1) != 0)
		_exit(1);
	rc = listen_at(path, &server);
	outcome = rc == 0 ? 'w' : rc == -EADDRINUSE ? 'l' : '?';
	if (write(result[1], &outcome, 1) != 1 || read(done[0], &outcome, 1) != 0)
		_exit(1);
	_exit(0);
}

static void run_race(char outcomes[RACERS])
{
	int go[2], result[2], done[2];

	assert_true(pipe(go) == 0 && pipe(result) == 0 && pipe(done) == 0);
	for (int i = 0; i < RACERS; i++)
		if (fork() == 0)
			race_for_socket(go, result, done);
	close(go[1]);
	close(result[1]);
	for (int i = 0; i < RACERS; i++)
		assert_int_equal(read(result[0], &outcomes[i], 1), 1);
	close(done[1]);
	for (int i = 0; i < RACERS; i++)
		assert_true(wait(NULL) > 0);
	close(go[0]);
	close(result[0]);
	close(done[0]);
}

/* The winner of a round leaves a stale file for the next one. */
static void test_start_race(void **state)
{
	(void)state;
	for (int round = 0; round < RACES; round++) {
		char outcomes[RACERS + 1] = "";
		int winners = 0;

		run_race(outcomes);
		for (int i = 0; i < RACERS; i++)
			winners += outcomes[i] == 'w';
		if (winners != 1)
			print_error("round %d: %s\n", round, outcomes);
		assert_int_equal(winners, 1);
		assert_int_equal(strspn(outcomes, "wl"), RACERS);
	}
}

/* --- one call of telemetry_serve() ---------------------------------------------------------- */

static void test_one_request_a_call(void **state)
{
	int flooder = connect_inline();
	int other = connect_inline();

	(void)state;
	for (int i = 0; i < 5; i++)
		send_request(flooder, "/test/context");
	send_request(other, "/test/context");
	telemetry_serve(server);
	expect_reply(other, "{\"/test/context\":4711}");
	expect_reply(flooder, "{\"/test/context\":4711}");
	expect_nothing(flooder);
	for (int i = 0; i < 4; i++) {
		telemetry_serve(server);
		expect_reply(flooder, "{\"/test/context\":4711}");
		expect_nothing(flooder);
	}
	close(flooder);
	close(other);
}

static void test_nothing_to_do(void **state)
{
	struct pollfd fds[TELEMETRY_MAX_FDS];
	int fd = connect_inline();

	(void)state;
	telemetry_serve(server);
	assert_int_equal(telemetry_pollfds(server, fds), 2);
	assert_int_equal(poll(fds, 2, 0), 0);
	assert_int_equal(telemetry_statistic("requests"), 0);
	close(fd);
	assert_int_equal(poll(fds, 2, FOREVER_MS), 1); /* the owner is woken by the hang-up */
	telemetry_serve(server);
	assert_int_equal(telemetry_pollfds(server, fds), 1);
}

static void test_empty_message_is_not_the_end(void **state)
{
	int fd = connect_inline();

	(void)state;
	send_bytes(fd, "", 0);
	telemetry_serve(server);
	expect_reply(fd, "{\"\":null}");
	send_request(fd, "/nope");
	telemetry_serve(server);
	expect_reply(fd, NULL_NOPE);
	send_request(fd, "/info");
	telemetry_serve(server);
	assert_int_equal(telemetry_statistic("requests"), 3);
	assert_int_equal(telemetry_statistic("null_replies"), 2);
	assert_int_equal(telemetry_statistic("oversize"), 0);
	close(fd);
}

static void test_last_request_of_a_half_closed_client(void **state)
{
	int fd = connect_inline();

	(void)state;
	send_request(fd, "/nope");
	shutdown(fd, SHUT_WR);
	telemetry_serve(server);
	expect_reply(fd, NULL_NOPE);
	telemetry_serve(server);
	expect_closed(fd);
}

static void test_long_messages(void **state)
{
	static char big[100000];
	int fd = connect_inline();

	(void)state;
	memset(big, ',', sizeof(big));
	memcpy(big, "/test/echo", 10);
	send_bytes(fd, big, sizeof(big));
	telemetry_serve(server);
	expect_reply(fd, "{\"/test/echo\":null}");
	send_bytes(fd, big, 4097);
	telemetry_serve(server);
	expect_reply(fd, "{\"/test/echo\":null}");
	memset(big + 11, 'x', 4085);
	send_bytes(fd, big, 4096);
	telemetry_serve(server);
	assert_int_equal(recv(fd, big, sizeof(big), 0), 4085 + strlen("{\"/test/echo\":\"\"}"));
	close(fd);
}

static void test_client_limit(void **state)
{
	int fds[TELEMETRY_MAX_CLIENTS];
	struct pollfd watch[TELEMETRY_MAX_FDS];
	int extra;

	(void)state;
	for (int i = 0; i < TELEMETRY_MAX_CLIENTS; i++)
		fds[i] = connect_inline();
	extra = try_connect();
	telemetry_serve(server);
	expect_closed(extra);
	assert_int_equal(telemetry_pollfds(server, watch), TELEMETRY_MAX_FDS);
	assert_int_equal(telemetry_statistic("clients"), TELEMETRY_MAX_CLIENTS);
	assert_int_equal(telemetry_statistic("refused"), 1);
	assert_int_equal(telemetry_statistic("accepted"), TELEMETRY_MAX_CLIENTS);
	for (int i = 0; i < TELEMETRY_MAX_CLIENTS; i++)
		send_request(fds[i], "/nope");
	telemetry_serve(server);
	for (int i = 0; i < TELEMETRY_MAX_CLIENTS; i++)
		expect_reply(fds[i], NULL_NOPE);
	close(fds[7]);
	telemetry_serve(server);
	fds[7] = connect_inline(); /* a place is free again */
	assert_int_equal(telemetry_statistic("accepted"), TELEMETRY_MAX_CLIENTS + 1);
	for (int i = 0; i < TELEMETRY_MAX_CLIENTS; i++)
		close(fds[i]);
	telemetry_serve(server);
	assert_int_equal(telemetry_pollfds(server, watch), 1);
}

static void ask_all_but_every_third(const int *fds, int n)
{
	char request[32], expected[48];

	for (int i = 0; i < n; i++) {
		snprintf(request, sizeof(request), "/test/echo,%d", i);
		if (i % 3 != 0)
			send_request(fds[i], request);
	}
	telemetry_serve(server);
	for (int i = 0; i < n; i++) {
		snprintf(expected, sizeof(expected), "{\"/test/echo\":\"%d\"}", i);
		if (i % 3 != 0)
			expect_reply(fds[i], expected);
	}
}

/* Clients leave from the middle while others ask: nobody loses a turn or a place. */
static void test_leaving_disturbs_nobody(void **state)
{
	int fds[10];

	(void)state;
	for (int i = 0; i < 10; i++)
		fds[i] = connect_inline();
	for (int i = 0; i < 10; i += 3)
		close(fds[i]);
	ask_all_but_every_third(fds, 10);
	assert_int_equal(telemetry_statistic("clients"), 6);
	ask_all_but_every_third(fds, 10);
	for (int i = 0; i < 10; i++)
		if (i % 3 != 0)
			close(fds[i]);
}

static void test_client_gone_before_its_reply(void **state)
{
	int fd = connect_inline();

	(void)state;
	send_request(fd, "/nope");
	close(fd);
	telemetry_serve(server); /* a SIGPIPE would end the test */
	telemetry_serve(server);
	assert_int_equal(telemetry_statistic("clients"), 0);
}

static void test_slow_reader(void **state)
{
	int slow = connect_inline();
	int other = connect_inline();
	int sent = 0;

	(void)state;
	/* Each is served at once, so that only the unread replies pile up. */
	for (; send(slow, "/nope", 5, MSG_NOSIGNAL | MSG_DONTWAIT) == 5 && sent < 100000; sent++) {
		send_request(other, "/nope");
		telemetry_serve(server);
		expect_reply(other, NULL_NOPE);
	}
	assert_in_range(sent, 2, 99999);
	assert_int_equal(telemetry_statistic("slow_clients"), 1);
	assert_int_equal(telemetry_statistic("clients"), 1);
	close(slow);
	close(other);
}

static void test_no_descriptors_left(void **state)
{
	struct pollfd fds[TELEMETRY_MAX_FDS];
	struct rlimit before, none;
	int served = connect_inline();
	int waiting = try_connect();
	int lowest = dup(0);

	(void)state;
	close(lowest);
	getrlimit(RLIMIT_NOFILE, &before);
	none = before;
	none.rlim_cur = (rlim_t)lowest;
	setrlimit(RLIMIT_NOFILE, &none);
	send_request(served, "/nope");
	telemetry_serve(server);
	expect_reply(served, NULL_NOPE);
	expect_closed(waiting);
	assert_int_equal(poll(fds, telemetry_pollfds(server, fds), 0), 0);
	/* Only what `waiting` had is free: the spare one is held again. */
	assert_int_equal(dup(0), waiting);
	assert_int_equal(dup(0), -1);
	close(waiting);
	setrlimit(RLIMIT_NOFILE, &before);
	assert_int_equal(telemetry_statistic("refused"), 1);
	close(connect_inline());
	close(served);
}

/* --- many at once --------------------------------------------------------------------------- */

static void *one_of_many(void *arg)
{
	char request[64], expected[80], reply[TELEMETRY_MAX_OUTPUT + 1];
	long id = (long)(intptr_t)arg;
	long wrong = 0;
	int fd = try_connect();

	if (fd < 0 || receive_test_reply(fd, reply) <= 0)
		return (void *)-1;
	for (int i = 0; i < CLIENT_ASKS; i++) {
		snprintf(request, sizeof(request), "/test/echo,%ld:%d", id, i);
		snprintf(expected, sizeof(expected), "{\"/test/echo\":\"%ld:%d\"}", id, i);
		if (send(fd, request, strlen(request), MSG_NOSIGNAL) < 0)
			return (void *)-2;
		wrong += receive_test_reply(fd, reply) <= 0 || strcmp(reply, expected) != 0;
	}
	close(fd);
	return (void *)(intptr_t)wrong;
}

static void test_everyone_gets_their_own(void **state)
{
	pthread_t clients[MANY_CLIENTS];

	(void)state;
	for (long i = 0; i < MANY_CLIENTS; i++)
		assert_int_equal(
			pthread_create(&clients[i], NULL, one_of_many, (void *)(intptr_t)i), 0);
	for (int i = 0; i < MANY_CLIENTS; i++) {
		void *wrong;

		pthread_join(clients[i], &wrong);
		assert_ptr_equal(wrong, NULL);
	}
}

static uint64_t random_state;

static uint32_t random_below(uint32_t n)
{
	random_state = random_state * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)((random_state >> 33) % n);
}

/* Half a valid request, a few bytes changed, sometimes much too long. */
static size_t random_request(char *request, size_t max)
{
	static const char *const starts[] = {"/", "/help,", "/help,/info", "/info", "/test/echo,x",
		"/ethdev/stats,", "/ethdev/stats,1", "/ethdev/xstats,0,hide_zero=true,from=3",
		"/ethdev/info,0", "/ethdev/link_status,1", "/ethdev/list,", "/weir/telemetry",
		"{\"\"}", ""};
	const char *start = starts[random_below(sizeof(starts) / sizeof(*starts))];
	size_t len = strlen(start);
	size_t more = random_below(50) == 0 ? random_below((uint32_t)max - 64) : random_below(24);

	memcpy(request, start, len);
	for (size_t i = 0; i < more; i++)
		request[len + i] = random_below(3) == 0 ? ',' : (char)random_below(256);
	if (random_below(3) != 0)
		len += more;
	if (len > 0 && random_below(2) == 0)
		request[random_below((uint32_t)len)] = (char)random_below(256);
	return len;
}

static void check_random_reply(const char *reply)
{
	json_error_t error;
	json_t *object = json_loads(reply, JSON_REJECT_DUPLICATES, &error);

	if (object == NULL)
		print_error("%s: %s\n", error.text, reply);
	assert_non_null(object);
	assert_int_equal(json_object_size(object), 1);
	json_decref(object);
}

static void test_random_requests(void **state)
{
	static char request[100000];
	char reply[TELEMETRY_MAX_OUTPUT + 1];
	const char *seed = getenv("WEIR_TEST_SEED");
	int fd = connect_threaded();

	(void)state;
	random_state = seed != NULL ? strtoull(seed, NULL, 0) : (uint64_t)time(NULL);
	print_message("WEIR_TEST_SEED=%llu\n", (unsigned long long)random_state);
	for (int i = 0; i < RANDOM_ASKS; i++) {
		size_t len = random_request(request, sizeof(request));

		send_bytes(fd, request, len);
		assert_true(receive_test_reply(fd, reply) > 0);
		check_random_reply(reply);
	}
	send_request(fd, "/nope");
	expect_reply(fd, NULL_NOPE);
	close(fd);
}

/* --- ports ---------------------------------------------------------------------------------- */

static struct rte_mempool *pool;

static int start_ports(void **state)
{
	struct rte_eth_conf conf = {0};

	for (uint16_t port = 0; port < PORTS; port++) {
		assert_int_equal(rte_eth_dev_configure(port, 1, 1, &conf), 0);
		assert_int_equal(rte_eth_rx_queue_setup(port, 0, 64, 0, NULL, pool), 0);
		assert_int_equal(rte_eth_tx_queue_setup(port, 0, 64, 0, NULL), 0);
		assert_int_equal(rte_eth_dev_start(port), 0);
	}
	return start_thread(state);
}

static int stop_ports(void **state)
{
	int rc = stop_thread(state);

	for (uint16_t port = 0; port < PORTS; port++)
		assert_int_equal(rte_eth_dev_stop(port), 0);
	return rc;
}

static void test_port_ids(void **state)
{
	static const char *const bad[] = {"", ",", ",2", ",99", ",65536", ",4294967296",
		",18446744073709551616", ",-1", ",+1", ", 0", ",0 ", ",0x0", ",1e0", ",a", ",0,",
		",0,1", ",net_null0", ",0\xff"};
	static const char *const commands[] = {
		"/ethdev/stats", "/ethdev/xstats", "/ethdev/info", "/ethdev/link_status"};
	char request[64], expected[64];

	(void)state;
	for (size_t c = 0; c < sizeof(commands) / sizeof(*commands); c++) {
		snprintf(expected, sizeof(expected), "{\"%s\":null}", commands[c]);
		for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
			snprintf(request, sizeof(request), "%s%s", commands[c], bad[i]);
			expect_answer(request, expected);
		}
		snprintf(request, sizeof(request), "%s,1", commands[c]);
		json_decref(ask_telemetry(request, commands[c]));
	}
	expect_answer("/ethdev/list", "{\"/ethdev/list\":[0,1]}");
	expect_answer("/ethdev/list,x", "{\"/ethdev/list\":[0,1]}");
}

#define SIXTEEN_ZEROS "[0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0]"

static void test_port_stats(void **state)
{
	(void)state;
	expect_answer("/ethdev/stats,0",
		"{\"/ethdev/stats\":{\"ipackets\":0,\"opackets\":0,\"ibytes\":0,\"obytes\":0,"
		"\"imissed\":0,\"ierrors\":0,\"oerrors\":0,\"rx_nombuf\":0,"
		"\"q_ipackets\":" SIXTEEN_ZEROS ",\"q_opackets\":" SIXTEEN_ZEROS
		",\"q_ibytes\":" SIXTEEN_ZEROS ",\"q_obytes\":" SIXTEEN_ZEROS
		",\"q_errors\":" SIXTEEN_ZEROS "}}");
}

static void test_port_counts(void **state)
{
	struct rte_mbuf *packets[8];
	uint16_t n = rte_eth_rx_burst(1, 0, packets, 8); /* net_null makes them up */
	json_t *stats = ask_telemetry("/ethdev/stats,1", "/ethdev/stats");
	json_t *queues = json_object_get(stats, "q_ipackets");

	(void)state;
	assert_int_equal(n, 8);
	rte_pktmbuf_free_bulk(packets, n);
	assert_int_equal(json_integer_value(json_object_get(stats, "ipackets")), 8);
	assert_int_equal(json_integer_value(json_array_get(queues, 0)), 8);
	assert_int_equal(json_integer_value(json_array_get(queues, 1)), 0);
	json_decref(stats);
	expect_answer("/ethdev/xstats,1,hide_zero=true,from=1",
		"{\"/ethdev/xstats\":{\"rx_q0_packets\":8}}");
	assert_int_equal(rte_eth_stats_reset(1), 0);
}

static void test_port_xstats(void **state)
{
	(void)state;
	expect_answer("/ethdev/xstats,0",
		"{\"/ethdev/xstats\":{\"rx_good_packets\":0,\"tx_good_packets\":0,"
		"\"rx_good_bytes\":0,\"tx_good_bytes\":0,\"rx_missed_errors\":0,\"rx_errors\":0,"
		"\"tx_errors\":0,\"rx_mbuf_allocation_errors\":0,\"rx_q0_packets\":0,"
		"\"rx_q0_bytes\":0,\"rx_q0_errors\":0,\"tx_q0_packets\":0,\"tx_q0_bytes\":0}}");
	expect_answer("/ethdev/xstats,0,from=11",
		"{\"/ethdev/xstats\":{\"tx_q0_packets\":0,\"tx_q0_bytes\":0}}");
	expect_answer("/ethdev/xstats,0,from=13", "{\"/ethdev/xstats\":{}}");
	expect_answer("/ethdev/xstats,0,hide_zero=true", "{\"/ethdev/xstats\":{}}");
	expect_answer("/ethdev/xstats,0,from=12,hide_zero=false",
		"{\"/ethdev/xstats\":{\"tx_q0_bytes\":0}}");
	expect_answer("/ethdev/xstats,0,from=", "{\"/ethdev/xstats\":null}");
	expect_answer("/ethdev/xstats,0,from=1x", "{\"/ethdev/xstats\":null}");
	expect_answer("/ethdev/xstats,0,from=65535", "{\"/ethdev/xstats\":{}}");
	expect_answer("/ethdev/xstats,0,from=65536", "{\"/ethdev/xstats\":null}");
	expect_answer("/ethdev/xstats,0,hide_zero=1", "{\"/ethdev/xstats\":null}");
	expect_answer("/ethdev/xstats,0,hide_zero=true,", "{\"/ethdev/xstats\":null}");
}

static void test_port_link(void **state)
{
	(void)state;
	expect_answer("/ethdev/link_status,0",
		"{\"/ethdev/link_status\":{\"status\":\"UP\",\"speed\":10000,"
		"\"duplex\":\"full-duplex\"}}");
	assert_int_equal(rte_eth_dev_stop(0), 0);
	expect_answer("/ethdev/link_status,0", "{\"/ethdev/link_status\":{\"status\":\"DOWN\"}}");
	assert_int_equal(rte_eth_dev_start(0), 0);
}

static void expect_port_info(const char *key, json_int_t value)
{
	json_t *info = ask_telemetry("/ethdev/info,0", "/ethdev/info");
	json_t *member = json_object_get(info, key);

	if (json_is_array(member))
		member = json_array_get(member, 0);
	assert_true(json_is_integer(member));
	if (json_integer_value(member) != value)
		print_error("%s\n", key);
	assert_int_equal(json_integer_value(member), value);
	json_decref(info);
}

/* What queues of port 1 say of themselves, which net_null's do not. */
static struct rte_eth_rxq_info queue_says;

/* In place of ethdev's. */
int rte_eth_rx_queue_info_get(uint16_t port, uint16_t queue, struct rte_eth_rxq_info *info)
{
	(void)queue;
	if (port != 1)
		return -ENOTSUP;
	info->mp = queue_says.mp;
	info->scattered_rx = queue_says.scattered_rx;
	return 0;
}

static void expect_queue_info(json_int_t scattered, json_int_t room)
{
	json_t *info = ask_telemetry("/ethdev/info,1", "/ethdev/info");

	assert_int_equal(json_integer_value(json_object_get(info, "scattered_rx")), scattered);
	assert_int_equal(json_integer_value(json_object_get(info, "rx_mbuf_size_min")), room);
	json_decref(info);
}

static void test_queue_info(void **state)
{
	(void)state;
	queue_says = (struct rte_eth_rxq_info){.scattered_rx = 1};
	expect_queue_info(1, 0);
	queue_says = (struct rte_eth_rxq_info){.mp = pool};
	expect_queue_info(0, RTE_MBUF_DEFAULT_BUF_SIZE);
}

static void test_port_info(void **state)
{
	static const struct {
		const char *key;
		json_int_t value;
	} rows[] = {{"state", 1}, {"nb_rx_queues", 1}, {"nb_tx_queues", 1}, {"port_id", 0},
		{"mtu", 1500}, {"promiscuous", 1}, {"scattered_rx", 0}, {"all_multicast", 1},
		{"dev_started", 1}, {"lro", 0}, {"dev_configured", 1}, {"rxq_state", 1},
		{"txq_state", 1}, {"numa_node", 0}, {"dev_flags", 64}, {"rx_offloads", 0},
		{"tx_offloads", 0}, {"ethdev_rss_hf", 0}, {"rx_mbuf_size_min", 0}};
	json_t *info = ask_telemetry("/ethdev/info,0", "/ethdev/info");

	(void)state;
	rte_eth_promiscuous_enable(0);
	rte_eth_allmulticast_enable(0);
	assert_string_equal(json_string_value(json_object_get(info, "name")), "net_null0");
	assert_int_equal(json_string_length(json_object_get(info, "mac_addr")), 17);
	assert_int_equal(json_object_size(info), sizeof(rows) / sizeof(*rows) + 2);
	json_decref(info);
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		expect_port_info(rows[i].key, rows[i].value);
	assert_int_equal(rte_eth_dev_stop(0), 0);
	expect_port_info("dev_started", 0);
	expect_port_info("rxq_state", 0);
	expect_port_info("txq_state", 0);
	assert_int_equal(rte_eth_dev_start(0), 0);
	expect_port_info("dev_started", 1);
}

/* The client that DPDK ships, unchanged; skipped where it or Python is missing. */
static void test_stock_client(void **state)
{
	char command[512];
	int status;

	(void)state;
	snprintf(command, sizeof(command),
		"s=$(dirname %s)/../net/stock_client.py; test -e $s || exit 77; "
		"command -v python3 >/dev/null || exit 77; exec python3 $s %s",
		__FILE__, path);
	status = system(command);
	assert_true(WIFEXITED(status));
	if (WEXITSTATUS(status) == 77)
		skip();
	assert_int_equal(WEXITSTATUS(status), 0);
}

static void start_eal(void)
{
	const char *args[] = {"test_telemetry", "--no-huge", "-m", "128", "--no-pci",
		"--no-telemetry", "--no-shconf", "--log-level", "error", "--vdev", "net_null0",
		"--vdev", "net_null1", "-l", "0", NULL};

	if (rte_eal_init(sizeof(args) / sizeof(*args) - 1, (char **)(uintptr_t)args) < 0) {
		fprintf(stderr, "no EAL: %s\n", rte_strerror(rte_errno));
		exit(77);
	}
	pool = rte_pktmbuf_pool_create("pool", 1023, 0, 0, RTE_MBUF_DEFAULT_BUF_SIZE, 0);
	if (pool == NULL)
		exit(77);
}

/* --- descriptors ---------------------------------------------------------------------------- */

static struct {
	int took, gives; /* by the handler of this test; -1: nothing */
	bool leaves;     /* what comes along it does not take */
} passing;

static json_t *test_pass(const char *params, void *context)
{
	(void)params;
	(void)context;
	if (!passing.leaves)
		passing.took = telemetry_take_descriptor(server);
	if (passing.gives >= 0)
		telemetry_give_descriptor(server, passing.gives);
	return json_integer(1);
}

#define MOST_BESIDE 4

union beside_packet {
	struct cmsghdr header;
	char room[CMSG_SPACE(MOST_BESIDE * sizeof(int))];
};

/* A request with so many descriptors, all of the same. */
static void send_beside(int fd, const char *text, int given, unsigned n)
{
	union beside_packet beside = {.header = {.cmsg_len = CMSG_LEN(n * sizeof(int)),
					      .cmsg_level = SOL_SOCKET,
					      .cmsg_type = SCM_RIGHTS}};
	struct iovec data = {(char *)(uintptr_t)text, strlen(text)};
	struct msghdr message = {.msg_iov = &data, .msg_iovlen = 1};

	for (unsigned i = 0; i < n; i++)
		memcpy(CMSG_DATA(&beside.header) + i * sizeof(given), &given, sizeof(given));
	if (n > 0) {
		message.msg_control = &beside;
		message.msg_controllen = CMSG_SPACE(n * sizeof(int));
	}
	assert_int_equal(sendmsg(fd, &message, MSG_NOSIGNAL), data.iov_len);
}

static void send_along(int fd, int given)
{
	send_beside(fd, "/test/pass", given, given >= 0);
}

/* What comes along with the reply, or -1. */
static int receive_along(int fd)
{
	char reply[64] = "";
	union beside_packet beside = {0};
	struct iovec data = {reply, sizeof(reply) - 1};
	struct msghdr message = {.msg_iov = &data,
		.msg_iovlen = 1,
		.msg_control = &beside,
		.msg_controllen = sizeof(beside)};
	int got = -1;

	assert_true(recvmsg(fd, &message, 0) > 0);
	assert_string_equal(reply, "{\"/test/pass\":1}");
	if (CMSG_FIRSTHDR(&message))
		memcpy(&got, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof(got));
	return got;
}

static bool is_over(int reading)
{
	char byte;

	return read(reading, &byte, 1) == 0;
}

/* One that comes along is the handler's, or is closed; one that goes along does so once. */
static void test_descriptors(void **state)
{
	static const struct telemetry_command commands[] = {
		{"/test/pass", "Takes and gives", test_pass, TELEMETRY_PARAMS, TELEMETRY_READS},
		{0},
	};
	static const struct telemetry_command *const only[] = {commands};
	const struct telemetry_options options = {.path = path,
		.tables = only,
		.n_tables = 1,
		.now_ns = test_clock,
		.budget_ns = BUDGET_NS};
	int fd, ends[2], got;

	(void)state;
	assert_int_equal(telemetry_listen(&options, &server), 0);
	assert_int_equal(telemetry_take_descriptor(NULL), -1);
	assert_int_equal(telemetry_take_descriptor(server), -1);
	fd = connect_inline();
	assert_int_equal(pipe2(ends, O_CLOEXEC | O_NONBLOCK), 0);
	/* It is taken, and not closed by who serves. */
	passing.gives = -1;
	passing.leaves = false;
	send_along(fd, ends[1]);
	telemetry_serve(server);
	assert_int_equal(receive_along(fd), -1);
	assert_true(passing.took >= 0);
	assert_int_equal(fcntl(passing.took, F_GETFD), FD_CLOEXEC);
	close(ends[1]);
	assert_false(is_over(ends[0]));
	close(passing.took);
	assert_true(is_over(ends[0]));
	close(ends[0]);
	/* None comes along. */
	passing.took = 77;
	send_along(fd, -1);
	telemetry_serve(server);
	assert_int_equal(receive_along(fd), -1);
	assert_int_equal(passing.took, -1);
	/* Nobody takes it. */
	assert_int_equal(pipe2(ends, O_CLOEXEC | O_NONBLOCK), 0);
	passing.leaves = true;
	send_along(fd, ends[1]);
	telemetry_serve(server);
	assert_int_equal(receive_along(fd), -1);
	close(ends[1]);
	assert_true(is_over(ends[0]));
	close(ends[0]);
	/* One goes along, and stays the handler's; and none with the next reply. */
	assert_int_equal(pipe2(ends, O_CLOEXEC | O_NONBLOCK), 0);
	passing.gives = ends[1];
	send_along(fd, -1);
	telemetry_serve(server);
	got = receive_along(fd);
	assert_true(got >= 0);
	close(ends[1]);
	assert_false(is_over(ends[0]));
	close(got);
	assert_true(is_over(ends[0]));
	close(ends[0]);
	passing.gives = -1;
	send_along(fd, -1);
	telemetry_serve(server);
	assert_int_equal(receive_along(fd), -1);
	close(fd);
	telemetry_close(server);
	server = NULL;
}

/* However many come along, and with whatever: those that nobody takes are not kept open. */
static void test_descriptors_of_nobody(void **state)
{
	static const struct {
		const char *request, *reply;
		unsigned n;
	} rows[] = {
		{"/nope", NULL_NOPE, 1},
		{"/nope", NULL_NOPE, 2},
		{"/nope", NULL_NOPE, MOST_BESIDE},
		{"", "{\"\":null}", 1},
		{"", "{\"\":null}", 2},
	};
	int fd = connect_inline(), ends[2];

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		assert_int_equal(pipe2(ends, O_CLOEXEC | O_NONBLOCK), 0);
		send_beside(fd, rows[i].request, ends[1], rows[i].n);
		telemetry_serve(server);
		expect_reply(fd, rows[i].reply);
		close(ends[1]);
		if (!is_over(ends[0]))
			fail_msg("row %zu: one of %u is still open", i, rows[i].n);
		close(ends[0]);
	}
	close(fd);
}

#define PROTOCOL(test) cmocka_unit_test_setup_teardown(test, start_inline, stop_inline)
#define PLACE(test)    cmocka_unit_test_setup_teardown(test, new_home, remove_home)
#define THREADED(test) cmocka_unit_test_setup_teardown(test, start_thread, stop_thread)
#define PORT(test)     cmocka_unit_test_setup_teardown(test, start_ports, stop_ports)

int main(void)
{
	const struct CMUnitTest tests[] = {
		PROTOCOL(test_requests),
		PROTOCOL(test_malformed_requests),
		PROTOCOL(test_line_ends_are_ignored),
		PROTOCOL(test_list),
		PROTOCOL(test_help),
		PROTOCOL(test_info),
		PROTOCOL(test_greeting),
		PROTOCOL(test_largest_reply),
		PLACE(test_descriptors),
		PROTOCOL(test_descriptors_of_nobody),
		PROTOCOL(test_permissions),
		PLACE(test_dead_owner_is_replaced),
		PROTOCOL(test_live_owner_is_not),
		PROTOCOL(test_full_queue_is_alive),
		PLACE(test_other_socket_type_is_alive),
		PLACE(test_directory_of_another),
		PLACE(test_other_files_are_left_alone),
		PLACE(test_bad_paths),
		PLACE(test_no_descriptors_to_listen),
		PLACE(test_directory_is_locked),
		PLACE(test_relative_path),
		PLACE(test_in_root),
		PLACE(test_only_our_file_is_removed),
		PLACE(test_start_race),
		PROTOCOL(test_one_request_a_call),
		PROTOCOL(test_nothing_to_do),
		PROTOCOL(test_empty_message_is_not_the_end),
		PROTOCOL(test_last_request_of_a_half_closed_client),
		PROTOCOL(test_long_messages),
		PROTOCOL(test_client_limit),
		PROTOCOL(test_leaving_disturbs_nobody),
		PROTOCOL(test_client_gone_before_its_reply),
		PROTOCOL(test_slow_reader),
		PROTOCOL(test_no_descriptors_left),
		THREADED(test_everyone_gets_their_own),
		PORT(test_port_ids),
		PORT(test_port_stats),
		PORT(test_port_counts),
		PORT(test_port_xstats),
		PORT(test_port_link),
		PORT(test_port_info),
		PORT(test_queue_info),
		PORT(test_random_requests),
		PORT(test_stock_client),
	};

	umask(077); /* the promised modes must not depend on the caller's */
	start_eal();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
