/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * A telemetry server on a real socket, and a client. The test calls telemetry_serve() itself
 * ("inline"), or lets a thread do so. For one file of a test program.
 */
#ifndef WEIR_TEST_TELEMETRY_WORLD_H
#define WEIR_TEST_TELEMETRY_WORLD_H

#include "check.h"

#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>

#include "telemetry/server.h"

#define GREETING_START "{\"version\":\"Weir "
#define NULL_NOPE      "{\"/nope\":null}"
#define FOREVER_MS     60000 /* nothing here takes so long unless it hangs */
#define BUDGET_NS      2000000

static char home[64];
static char path[96];
static struct telemetry_server *server;

/* --- commands ------------------------------------------------------------------------------- */

static inline json_t *test_echo(const char *params, void *context)
{
	return params != NULL ? json_string(params) : NULL;
}

static inline json_t *test_context(const char *params, void *context)
{
	return json_integer(*(int *)context);
}

/* Returns a string for a reply of exactly the requested number of bytes. */
static inline json_t *test_sized(const char *params, void *context)
{
	size_t len = strtoul(params, NULL, 10) - strlen("{\"/test/sized\":\"\"}");
	char *text = malloc(len);
	json_t *value;

	memset(text, 'x', len);
	value = json_stringn(text, len);
	free(text);
	return value;
}

static inline json_t *test_real(const char *params, void *context)
{
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

/* The clock stands still unless a test advances it, so a busy machine uses up no budget. */
static uint64_t time_now;

static inline uint64_t test_clock(void)
{
	return time_now;
}

static struct telemetry_group test_group, test_operators;

static inline int listen_at(const char *where, struct telemetry_server **out)
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

static inline int new_home(void **state)
{
	strcpy(home, "/tmp/weir-telemetry-XXXXXX");
	assert_non_null(mkdtemp(home));
	snprintf(path, sizeof(path), "%s/run/dpdk_telemetry.v2", home);
	return 0;
}

static inline int remove_home(void **state)
{
	char command[128];

	snprintf(command, sizeof(command), "rm -rf %s", home);
	return system(command);
}

static inline int start_inline(void **state)
{
	new_home(state);
	assert_int_equal(listen_at(path, &server), 0);
	return 0;
}

static inline int stop_inline(void **state)
{
	telemetry_close(server);
	assert_int_equal(access(path, F_OK), -1);
	return remove_home(state);
}

#define INLINE(test) cmocka_unit_test_setup_teardown(test, start_inline, stop_inline)
#define PLACE(test)  cmocka_unit_test_setup_teardown(test, new_home, remove_home)

/* --- a client ------------------------------------------------------------------------------- */

static inline int try_connect(void)
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

/* Returns the length of the reply, or 0 at the end of the connection. NUL-terminates it. */
static inline ssize_t receive_test_reply(int fd, char reply[TELEMETRY_MAX_OUTPUT + 1])
{
	ssize_t len = recv(fd, reply, TELEMETRY_MAX_OUTPUT, 0);

	if (len < 0 && errno == ECONNRESET)
		len = 0;
	if (len >= 0)
		reply[len] = '\0';
	return len;
}

static inline void expect_greeting(int fd)
{
	char reply[TELEMETRY_MAX_OUTPUT + 1];

	assert_true(receive_test_reply(fd, reply) > 0);
	assert_memory_equal(reply, GREETING_START, strlen(GREETING_START));
}

static inline void send_bytes(int fd, const void *request, size_t len)
{
	assert_int_equal(send(fd, request, len, MSG_NOSIGNAL), len);
}

static inline void send_request(int fd, const char *request)
{
	send_bytes(fd, request, strlen(request));
}

static inline void expect_reply(int fd, const char *expected)
{
	char reply[TELEMETRY_MAX_OUTPUT + 1];

	assert_true(receive_test_reply(fd, reply) > 0);
	assert_string_equal(reply, expected);
}

static inline int connect_inline(void)
{
	int fd = try_connect();

	assert_true(fd >= 0);
	telemetry_serve(server);
	expect_greeting(fd);
	return fd;
}

/* Checks an answer without a socket. */
static inline void expect_answer_n(const char *request, size_t len, const char *expected)
{
	char *text = telemetry_answer(server, request, len);

	assert_non_null(text);
	assert_string_equal(text, expected);
	free(text);
}

static inline void expect_answer(const char *request, const char *expected)
{
	expect_answer_n(request, strlen(request), expected);
}

static inline json_t *ask_telemetry(const char *request, const char *key)
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

#endif
