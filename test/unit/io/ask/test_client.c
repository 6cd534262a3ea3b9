/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Requests over a socket, and every kind of answer or failure of a server.
 */
#include "check.h"
#include "scope.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "ask/client.h"

#define GREETING     "{\"version\":\"DPDK 22.11.0\",\"pid\":7,\"max_output_len\":16384}"
#define GREETING_MAX 1024
#define REPLY_MAX    (1 << 20)
#define PATIENT_MS   60000

static char home[] = "/tmp/weir-ask-XXXXXX";
static char path[sizeof(home) + 8];

/* A server for one client that sends these packets in order, the greeting first. */
struct server {
	int listener;
	pthread_t thread;
	const char *says[4]; /* "": an empty packet; NULL: it hangs up */
	char asked[3][256];
	bool idle; /* sends nothing, and does not accept */
	/*
	 * Descriptors sent with each packet, if `gives`; and those received with each request, or
	 * -1.
	 */
	bool gives, twice;
	int given[4], got[3];
};

union fd_message {
	struct cmsghdr header;
	char room[CMSG_SPACE(2 * sizeof(int))];
};

static void say_with(int fd, const char *text, int given, bool twice)
{
	size_t len = sizeof(int) * (twice ? 2 : 1);
	union fd_message control = {.header = {.cmsg_len = CMSG_LEN(len),
					    .cmsg_level = SOL_SOCKET,
					    .cmsg_type = SCM_RIGHTS}};
	struct iovec data = {(char *)(uintptr_t)text, strlen(text)};
	struct msghdr message = {.msg_iov = &data, .msg_iovlen = 1};

	if (given >= 0) {
		memcpy(CMSG_DATA(&control.header), &given, sizeof(given));
		memcpy(CMSG_DATA(&control.header) + len - sizeof(given), &given, sizeof(given));
		message.msg_control = &control;
		message.msg_controllen = CMSG_SPACE(len);
	}
	(void)sendmsg(fd, &message, MSG_NOSIGNAL);
}

static bool is_asked(int fd, char *text, size_t room, int *got)
{
	union fd_message control = {0};
	struct iovec data = {text, room};
	struct msghdr message = {.msg_iov = &data,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control)};

	*got = -1;
	if (recvmsg(fd, &message, 0) <= 0)
		return false;
	if (CMSG_FIRSTHDR(&message))
		memcpy(got, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof(*got));
	return true;
}

static void *serve(void *context)
{
	struct server *s = context;
	int fd = accept(s->listener, NULL, NULL);

	assert_true(fd >= 0);
	for (unsigned i = 0; i < 4 && s->says[i]; i++) {
		if (i > 0 &&
			!is_asked(fd, s->asked[i - 1], sizeof(s->asked[0]) - 1, &s->got[i - 1]))
			break;
		say_with(fd, s->says[i], s->gives ? s->given[i] : -1, s->twice);
	}
	close(fd);
	return NULL;
}

static void open_listener(struct server *s)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};

	strcpy(address.sun_path, path);
	unlink(path);
	s->listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	assert_true(s->listener >= 0);
	assert_int_equal(bind(s->listener, (struct sockaddr *)&address, sizeof(address)), 0);
	assert_int_equal(listen(s->listener, 0), 0);
}

static void start_server(struct server *s)
{
	open_listener(s);
	if (!s->idle)
		assert_int_equal(pthread_create(&s->thread, NULL, serve, s), 0);
}

static void stop_server(struct server *s)
{
	if (!s->idle)
		pthread_join(s->thread, NULL);
	close(s->listener);
}

/* Returns the result of opening with this greeting. */
static int open_with(const char *greeting)
{
	struct server s = {.says = {greeting}};
	struct client client;
	int ret;

	start_server(&s);
	ret = client_open(&client, path, 5, 0);
	if (ret == 0)
		client_close(&client);
	assert_int_equal(client.fd, -1);
	stop_server(&s);
	return ret;
}

TEST(test_greetings)
{
	static const struct {
		const char *greeting;
		int ret;
	} rows[] = {
		{GREETING, 0},
		{"{\"max_output_len\":1}", 0},
		{"{\"max_output_len\":0}", -EBADMSG},
		{"{\"max_output_len\":-5}", -EBADMSG},
		{"{\"max_output_len\":1048576}", 0},
		{"{\"max_output_len\":1048577}", -EBADMSG},
		{"{\"max_output_len\":\"16384\"}", -EBADMSG},
		{"{}", -EBADMSG},
		{"[]", -EBADMSG},
		{GREETING " ", 0},
		{GREETING "{}", -EBADMSG},
		{"hello", -EBADMSG},
		{"", -ECONNRESET},
		{NULL, -ECONNRESET},
	};
	char text[GREETING_MAX + 2];

	for (size_t i = 0; i < COUNT(rows); i++)
		if (open_with(rows[i].greeting) != rows[i].ret)
			fail_msg("%s: not %d", rows[i].greeting, rows[i].ret);
	snprintf(text, sizeof(text), "%-*s", GREETING_MAX, GREETING);
	assert_int_equal(open_with(text), 0);
	snprintf(text, sizeof(text), "%-*s", GREETING_MAX + 1, GREETING);
	assert_int_equal(open_with(text), -EMSGSIZE);
}

/* Returns the result of a request after this greeting and reply; and the value as text. */
static int ask_for(const char *greeting, const char *request, const char *reply, char **value)
{
	struct server s = {.says = {greeting, reply}};
	struct client client;
	json_t *json = (json_t *)1;
	int ret;

	start_server(&s);
	assert_int_equal(client_open(&client, path, 5, 0), 0);
	ret = client.source.ask(&client.source, request, &json);
	assert_int_equal(json != NULL, ret == 0);
	*value = ret ? NULL : json_dumps(json, JSON_COMPACT | JSON_ENCODE_ANY);
	json_decref(json);
	client_close(&client);
	stop_server(&s);
	if (reply)
		assert_string_equal(s.asked[0], request);
	return ret;
}

TEST(test_replies)
{
	static const struct {
		const char *request, *reply;
		int ret;
		const char *value;
	} rows[] = {
		{"/weir/a", "{\"/weir/a\":{\"b\":[1,2]}}", 0, "{\"b\":[1,2]}"},
		{"/weir/a", "{\"/weir/a\":7}", 0, "7"},
		{"/weir/a", "{\"/weir/a\":null}", 0, "null"},
		/* A parameter is not part of the command. */
		{"/weir/a,web", "{\"/weir/a\":7}", 0, "7"},
		{"/weir/a,web,2", "{\"/weir/a\":7}", 0, "7"},
		{"/weir/a,web", "{\"/weir/a,web\":7}", -EBADMSG, NULL},
		{"/weir/a", "{\"/weir/b\":7}", -EBADMSG, NULL},
		{"/weir/a", "{}", -EBADMSG, NULL},
		{"/weir/a", "{\"/weir/a\":7,\"/weir/a\":8}", -EBADMSG, NULL},
		{"/weir/a", "{\"/weir/a\":7} {}", -EBADMSG, NULL},
		{"/weir/a", "[\"/weir/a\"]", -EBADMSG, NULL},
		{"/weir/a", "7", -EBADMSG, NULL},
		{"/weir/a", "{\"/weir/a\":", -EBADMSG, NULL},
		{"/weir/a", "", -ECONNRESET, NULL},
		{"/weir/a", NULL, -ECONNRESET, NULL},
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		char *value;
		int ret = ask_for(GREETING, rows[i].request, rows[i].reply, &value);

		if (ret != rows[i].ret)
			fail_msg("%s: %d, expected %d", rows[i].reply, ret, rows[i].ret);
		if (ret == 0)
			assert_string_equal(value, rows[i].value);
		free(value);
	}
}

/* A reply of the announced length is accepted, and one more byte is not. */
TEST(test_length)
{
	static const unsigned rooms[] = {20, 2000, REPLY_MAX / 8};

	for (size_t i = 0; i < COUNT(rooms); i++) {
		char greeting[64], *reply = test_malloc(rooms[i] + 2), *value;

		snprintf(greeting, sizeof(greeting), "{\"max_output_len\":%u}", rooms[i]);
		snprintf(reply, rooms[i] + 1, "%-*s", (int)rooms[i], "{\"/a\":7}");
		assert_int_equal(ask_for(greeting, "/a", reply, &value), 0);
		assert_string_equal(value, "7");
		free(value);
		snprintf(reply, rooms[i] + 2, "%-*s", (int)rooms[i] + 1, "{\"/a\":7}");
		assert_int_equal(ask_for(greeting, "/a", reply, &value), -EMSGSIZE);
		test_free(reply);
	}
}

/* Several requests on one connection; then it is closed. */
TEST(test_several)
{
	struct server s = {.says = {GREETING, "{\"/a\":1}", "{\"/b\":2}", "{\"/a\":3}"}};
	const char *requests[] = {"/a", "/b,x", "/a"};
	ENDED_BY(client_close) struct client client;
	json_t *value;

	start_server(&s);
	assert_int_equal(client_open(&client, path, 0, PATIENT_MS), 0);
	assert_int_equal(json_integer_value(json_object_get(client.greeting, "pid")), 7);
	for (unsigned i = 0; i < 3; i++) {
		assert_int_equal(client.source.ask(&client.source, requests[i], &value), 0);
		assert_int_equal(json_integer_value(value), i + 1);
		json_decref(value);
		assert_string_equal(s.asked[i], requests[i]);
	}
	stop_server(&s);
	assert_int_equal(client.source.ask(&client.source, "/a", &value), -ECONNRESET);
	assert_null(value);
}

/* The server does not accept, send a greeting, or answer before the deadline. */
TEST(test_late)
{
	struct server idle = {.idle = true}, s = {.says = {GREETING, "{\"/a\":1}"}};
	struct client client;
	json_t *value;

	start_server(&idle);
	/* The first connection waits for a greeting, and the next for its turn. */
	for (unsigned i = 0; i < 3; i++)
		assert_int_equal(client_open(&client, path, 0, 20), -ETIMEDOUT);
	stop_server(&idle);
	start_server(&s);
	assert_int_equal(client_open(&client, path, 0, PATIENT_MS), 0);
	client.until_s = 1e-3; /* since boot; long ago */
	assert_int_equal(client.source.ask(&client.source, "/a", &value), -ETIMEDOUT);
	assert_null(value);
	client_close(&client);
	stop_server(&s);
	assert_string_equal(s.asked[0], "");
}

TEST(test_nobody)
{
	char long_path[sizeof(((struct sockaddr_un *)0)->sun_path) + 1];
	struct server s = {.idle = true};
	struct client client;

	start_server(&s);
	stop_server(&s);
	assert_int_equal(client_open(&client, path, 5, 0), -ECONNREFUSED);
	unlink(path);
	assert_int_equal(client_open(&client, path, 5, 0), -ENOENT);
	memset(long_path, 'x', sizeof(long_path));
	long_path[sizeof(long_path) - 1] = '\0';
	assert_int_equal(client_open(&client, long_path, 5, 0), -ENAMETOOLONG);
	long_path[sizeof(long_path) - 2] = '\0';
	assert_int_equal(client_open(&client, long_path, 5, 0), -ENOENT);
}

/* A pause takes at least the requested time, and returns its length. */
TEST(test_pause)
{
	ENDED_BY(stop_server) struct server s = {.says = {GREETING}};
	ENDED_BY(client_close) struct client client;
	double passed;

	start_server(&s);
	assert_int_equal(client_open(&client, path, 5, 0), 0);
	passed = client.source.pause(&client.source, 1020);
	assert_true(passed >= 1.02 && passed < 60);
}

/* Makes a pipe; after one end is given away, the other end shows whether it is closed. */
static void make_pipe(int ends[2])
{
	assert_int_equal(pipe2(ends, O_CLOEXEC | O_NONBLOCK), 0);
}

/* Returns true if the writing end is closed everywhere. */
static bool is_over(int reading)
{
	char byte;

	return read(reading, &byte, 1) == 0;
}

/* Descriptors are sent with a request and an answer, once; none stays open or is lost. */
TEST(test_descriptors)
{
	struct server s = {
		.says = {GREETING, "{\"/a\":1}", "{\"/b\":2}", "{\"/c\":3}"}, .gives = true};
	int greets[2], answers[2], asks[2], taken;
	struct client client;
	json_t *value;

	make_pipe(greets);
	make_pipe(answers);
	make_pipe(asks);
	s.given[0] = greets[1];
	s.given[2] = answers[1];
	s.given[1] = s.given[3] = -1;
	start_server(&s);
	assert_int_equal(client_open(&client, path, PATIENT_MS / 1e3, 0), 0);
	assert_true(client.taken >= 0);
	assert_int_equal(client.source.ask(&client.source, "/a", &value), 0);
	json_decref(value);
	/* The answer's descriptor has replaced that of the greeting. */
	assert_true(close(greets[1]) == 0 && is_over(greets[0]));
	assert_int_equal(client.source.ask_with(&client.source, "/b", asks[1], &taken, &value), 0);
	assert_int_equal(json_integer_value(value), 2);
	json_decref(value);
	assert_int_equal(fcntl(taken, F_GETFD), FD_CLOEXEC);
	assert_int_equal(client.source.ask(&client.source, "/c", &value), 0);
	json_decref(value);
	stop_server(&s);
	client_close(&client);
	assert_int_equal(client.taken, -1);
	assert_int_equal(client.given, -1);
	/* The caller closes received descriptors, and its own. */
	assert_true(close(answers[1]) == 0 && !is_over(answers[0]));
	assert_true(close(taken) == 0 && is_over(answers[0]));
	assert_int_equal(s.got[0], -1);
	assert_int_equal(s.got[2], -1);
	assert_true(close(asks[1]) == 0 && !is_over(asks[0]));
	assert_true(close(s.got[1]) == 0 && is_over(asks[0]));
	close(greets[0]);
	close(answers[0]);
	close(asks[0]);
}

/* Without a descriptor; and with one or two unexpected ones, which are closed in the end. */
static void check_unasked(bool twice)
{
	struct server s = {
		.says = {GREETING, "{\"/a\":1}", "{\"/b\":2}"}, .gives = true, .twice = twice};
	int unasked[2], taken = 77;
	struct client client;
	json_t *value;

	make_pipe(unasked);
	s.given[0] = s.given[1] = -1;
	s.given[2] = unasked[1];
	start_server(&s);
	assert_int_equal(client_open(&client, path, 5, 0), 0);
	assert_int_equal(client.source.ask_with(&client.source, "/a", -1, &taken, &value), 0);
	assert_int_equal(json_integer_value(value), 1);
	json_decref(value);
	assert_int_equal(taken, -1);
	assert_int_equal(client.source.ask(&client.source, "/b", &value), 0);
	json_decref(value);
	stop_server(&s);
	assert_true(close(unasked[1]) == 0 && !is_over(unasked[0]));
	client_close(&client);
	assert_true(is_over(unasked[0]));
	assert_int_equal(s.got[0], -1);
	close(unasked[0]);
}

TEST(test_no_descriptor)
{
	check_unasked(false);
	check_unasked(true);
}

/* The wait ends at its timeout. */
TEST(test_patience)
{
	ENDED_BY(stop_server) struct server idle = {.idle = true};
	struct client client;

	start_server(&idle);
	assert_int_equal(client_open(&client, path, 0.02, 0), -ETIMEDOUT);
	assert_int_equal(client_open(&client, path, -1, 0), -ETIMEDOUT);
}

#define JIFFIES_MS 20 /* the kernel's rounding */

/* The timeout of a call on the client's socket, in each direction. */
static void expect_waits(const struct client *client, unsigned least_ms, unsigned most_ms)
{
	static const int directions[] = {SO_RCVTIMEO, SO_SNDTIMEO};

	for (size_t i = 0; i < 2; i++) {
		struct timeval wait = {0};
		socklen_t size = sizeof(wait);

		assert_int_equal(
			getsockopt(client->fd, SOL_SOCKET, directions[i], &wait, &size), 0);
		assert_in_range(
			wait.tv_sec * 1000 + wait.tv_usec / 1000, least_ms, most_ms + JIFFIES_MS);
	}
}

TEST(test_waits)
{
	static const unsigned waits_ms[] = {5000, 60000, 60250};
	ENDED_BY(stop_server) struct server s = {.says = {GREETING}};
	ENDED_BY(client_close) struct client client;

	for (size_t i = 0; i < COUNT(waits_ms); i++) {
		start_server(&s);
		assert_int_equal(client_open(&client, path, waits_ms[i] / 1e3, 0), 0);
		expect_waits(&client, waits_ms[i], waits_ms[i]);
		client_close(&client);
		stop_server(&s);
	}
	start_server(&s);
	assert_int_equal(client_open(&client, path, 0, PATIENT_MS), 0);
	expect_waits(&client, 0, PATIENT_MS);
}

/* If no socket accepts a request, there is no wait for its answer. */
TEST(test_long_question)
{
	struct server s = {.says = {GREETING, "{\"/a\":1}"}};
	size_t len = 16 << 20;
	char *question = test_malloc(len + 1);
	struct client client;
	json_t *value;

	memset(question, 'x', len);
	question[len] = '\0';
	start_server(&s);
	assert_int_equal(client_open(&client, path, PATIENT_MS / 1e3, 0), 0);
	assert_int_equal(client.source.ask(&client.source, question, &value), -EMSGSIZE);
	assert_null(value);
	client_close(&client);
	stop_server(&s);
	test_free(question);
}

static int make_home(void **state)
{
	if (!mkdtemp(home))
		return -1;
	snprintf(path, sizeof(path), "%s/socket", home);
	return 0;
}

static int remove_home(void **state)
{
	unlink(path);
	return rmdir(home);
}

TEST_GROUP(make_home, remove_home)
