/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Answers of the telemetry server to clients, call by call: the protocol, the work of one call of
 * telemetry_serve(), and descriptors sent along.
 */
#include "telemetry_world.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/resource.h>

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

	expect_answer("", "{\"\":null}");
	expect_answer(",", "{\"\":null}");
	expect_answer(",/info", "{\"\":null}");
	expect_answer("\"\\", "{\"\\\"\\\\\":null}");
	expect_answer("/\xff\xfe\x01\x7f\xc3\xa9", "{\"/??????\":null}");
	expect_answer("/test/echo,\xff", "{\"/test/echo\":null}");
	expect_answer_n("/te\0st", 6, "{\"/te?st\":null}");
	/* Not equal to the valid request before the NUL. */
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

	assert_int_equal(json_array_size(list), COUNT(expected));
	for (size_t i = 0; i < json_array_size(list); i++)
		assert_string_equal(json_string_value(json_array_get(list, i)), expected[i]);
	json_decref(list);
}

static void test_help(void **state)
{
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

/* --- one call of telemetry_serve() ---------------------------------------------------------- */

static void test_one_request_a_call(void **state)
{
	int flooder = connect_inline();
	int other = connect_inline();

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

	telemetry_serve(server);
	assert_int_equal(telemetry_pollfds(server, fds), 2);
	assert_int_equal(poll(fds, 2, 0), 0);
	assert_int_equal(telemetry_statistic("requests"), 0);
	close(fd);
	assert_int_equal(poll(fds, 2, FOREVER_MS), 1); /* the hang-up wakes the owner */
	telemetry_serve(server);
	assert_int_equal(telemetry_pollfds(server, fds), 1);
}

static void test_empty_message_is_not_the_end(void **state)
{
	int fd = connect_inline();

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

/* Clients leave from the middle while others send requests: no other loses its turn or place. */
static void test_leaving_disturbs_nobody(void **state)
{
	int fds[10];

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

	/* Each is served immediately, so that only the unread replies accumulate. */
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
	/* Only the descriptor of `waiting` is free: the spare one is in use again. */
	assert_int_equal(dup(0), waiting);
	assert_int_equal(dup(0), -1);
	close(waiting);
	setrlimit(RLIMIT_NOFILE, &before);
	assert_int_equal(telemetry_statistic("refused"), 1);
	close(connect_inline());
	close(served);
}

/* --- replies as text ------------------------------------------------------------------------ */

static json_t *test_text(const char *params, void *context)
{
	return telemetry_give_text(server, params ? strdup(params) : NULL);
}

/*
 * A text is the value of its own reply only, has the same size limit, and is null without a text.
 */
static void test_texts(void **state)
{
	static const struct telemetry_command commands[] = {
		{"/test/text", "Returns JSON", test_text, TELEMETRY_PARAMS, TELEMETRY_READS},
		{"/test/real", "Returns a tenth", test_real, TELEMETRY_PARAMS, TELEMETRY_READS},
		{0},
	};
	static const struct telemetry_command *const only[] = {commands};
	const struct telemetry_options options = {.path = path,
		.tables = only,
		.n_tables = 1,
		.now_ns = test_clock,
		.budget_ns = BUDGET_NS};
	char *text = calloc(1, TELEMETRY_MAX_OUTPUT);
	json_t *value;

	assert_int_equal(telemetry_listen(&options, &server), 0);
	expect_answer("/test/text,{\"a\":[1,2]}", "{\"/test/text\":{\"a\":[1,2]}}");
	expect_answer("/test/real", "{\"/test/real\":0.1}");
	expect_answer("/test/text", "{\"/test/text\":null}");
	assert_null(telemetry_give_text(server, memset(text, '7', TELEMETRY_MAX_OUTPUT - 1)));
	expect_answer("/test/real", "{\"/test/real\":null}");
	expect_answer("/test/real", "{\"/test/real\":0.1}");
	value = telemetry_give_text(NULL, strdup("[1]"));
	assert_int_equal(json_array_size(value), 1);
	json_decref(value);
	assert_null(telemetry_give_text(NULL, NULL));
	telemetry_close(server);
	server = NULL;
}

/* --- descriptors ---------------------------------------------------------------------------- */

static struct {
	int took, gives; /* this test's handler; -1: none */
	bool leaves;     /* the handler does not take it */
} passing;

static json_t *test_pass(const char *params, void *context)
{
	if (!passing.leaves)
		passing.took = telemetry_take_descriptor(server);
	if (passing.gives >= 0)
		telemetry_give_descriptor(server, passing.gives);
	return json_integer(1);
}

#define MOST_FDS 4

union fd_message {
	struct cmsghdr header;
	char room[CMSG_SPACE(MOST_FDS * sizeof(int))];
};

/* Sends a request with n descriptors, all the same. */
static void send_with_fds(int fd, const char *text, int given, unsigned n)
{
	union fd_message control = {.header = {.cmsg_len = CMSG_LEN(n * sizeof(int)),
					    .cmsg_level = SOL_SOCKET,
					    .cmsg_type = SCM_RIGHTS}};
	struct iovec data = {(char *)(uintptr_t)text, strlen(text)};
	struct msghdr message = {.msg_iov = &data, .msg_iovlen = 1};

	for (unsigned i = 0; i < n; i++)
		memcpy(CMSG_DATA(&control.header) + i * sizeof(given), &given, sizeof(given));
	if (n > 0) {
		message.msg_control = &control;
		message.msg_controllen = CMSG_SPACE(n * sizeof(int));
	}
	assert_int_equal(sendmsg(fd, &message, MSG_NOSIGNAL), data.iov_len);
}

static void send_along(int fd, int given)
{
	send_with_fds(fd, "/test/pass", given, given >= 0);
}

/* Returns the descriptor sent with the reply, or -1. */
static int receive_along(int fd)
{
	char reply[64] = "";
	union fd_message control = {0};
	struct iovec data = {reply, sizeof(reply) - 1};
	struct msghdr message = {.msg_iov = &data,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control)};
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

/* A received descriptor belongs to the handler, or is closed. One to send is sent once. */
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

	assert_int_equal(telemetry_listen(&options, &server), 0);
	assert_int_equal(telemetry_take_descriptor(NULL), -1);
	assert_int_equal(telemetry_take_descriptor(server), -1);
	fd = connect_inline();
	assert_int_equal(pipe2(ends, O_CLOEXEC | O_NONBLOCK), 0);
	/* The handler takes it, and the server does not close it. */
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
	/* A request without a descriptor. */
	passing.took = 77;
	send_along(fd, -1);
	telemetry_serve(server);
	assert_int_equal(receive_along(fd), -1);
	assert_int_equal(passing.took, -1);
	/* The handler does not take it. */
	assert_int_equal(pipe2(ends, O_CLOEXEC | O_NONBLOCK), 0);
	passing.leaves = true;
	send_along(fd, ends[1]);
	telemetry_serve(server);
	assert_int_equal(receive_along(fd), -1);
	close(ends[1]);
	assert_true(is_over(ends[0]));
	close(ends[0]);
	/*
	 * One is sent with the reply, and still belongs to the handler; none with the next reply.
	 */
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

/* Descriptors that no handler takes are closed, in any number and with any request. */
static void test_descriptors_of_nobody(void **state)
{
	static const struct {
		const char *request, *reply;
		unsigned n;
	} rows[] = {
		{"/nope", NULL_NOPE, 1},
		{"/nope", NULL_NOPE, 2},
		{"/nope", NULL_NOPE, MOST_FDS},
		{"", "{\"\":null}", 1},
		{"", "{\"\":null}", 2},
	};
	int fd = connect_inline(), ends[2];

	for (size_t i = 0; i < COUNT(rows); i++) {
		assert_int_equal(pipe2(ends, O_CLOEXEC | O_NONBLOCK), 0);
		send_with_fds(fd, rows[i].request, ends[1], rows[i].n);
		telemetry_serve(server);
		expect_reply(fd, rows[i].reply);
		close(ends[1]);
		if (!is_over(ends[0]))
			fail_msg("row %zu: one of %u is still open", i, rows[i].n);
		close(ends[0]);
	}
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		INLINE(test_requests),
		INLINE(test_malformed_requests),
		INLINE(test_line_ends_are_ignored),
		INLINE(test_list),
		INLINE(test_help),
		INLINE(test_info),
		INLINE(test_greeting),
		INLINE(test_largest_reply),
		PLACE(test_texts),
		PLACE(test_descriptors),
		INLINE(test_descriptors_of_nobody),
		INLINE(test_one_request_a_call),
		INLINE(test_nothing_to_do),
		INLINE(test_empty_message_is_not_the_end),
		INLINE(test_last_request_of_a_half_closed_client),
		INLINE(test_long_messages),
		INLINE(test_client_limit),
		INLINE(test_leaving_disturbs_nobody),
		INLINE(test_client_gone_before_its_reply),
		INLINE(test_slow_reader),
		INLINE(test_no_descriptors_left),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
