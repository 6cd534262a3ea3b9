/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Requests to a server in this process: which member gets them, their contents, and the result of
 * each answer or failure. The server sends the test's replies in order.
 */
#include "check.h"
#include "scope.h"

#include <pthread.h>
#include <signal.h>

#include <arpa/inet.h>
#include <sys/socket.h>

#include <curl/curl.h>
#include <sodium.h>

#include "etcd/http.h"
#include "etcd/login.h"

#define ANSWERS  12
#define LONGEST  65536
#define PATIENCE 60000 /* ms */
#define PATH     "/v3/kv/txn"
#define TOKEN(t) "{\"token\":\"" t "\"}"

/* Replies other than an HTTP status. */
enum { NOTHING = 1, GARBAGE, SILENCE, GIVE_UP };

struct reply {
	int status;
	const char *body;
};

struct request {
	char path[128], token[128], body[256];
	bool json, expects;
};

static struct {
	int listener, refusing; /* nothing listens on the second */
	unsigned port, refused_port;
	pthread_t thread;
	struct reply replies[ANSWERS];
	struct request requests[ANSWERS];
	unsigned n, asked;
	bool signal_changed; /* during a request */
	struct http *http;
} server;

static char password_file[] = "/tmp/weir-http-XXXXXX";
static char why[ETCD_WHY_MAX];

static void read_header(const char *text, const char *name, char *value, size_t room)
{
	const char *at = strcasestr(text, name);

	value[0] = '\0';
	if (at)
		snprintf(value, room, "%.*s", (int)strcspn(at + strlen(name), "\r\n"),
			at + strlen(name));
}

static void read_request(int fd, struct request *request)
{
	char text[4096], number[16];
	size_t n = 0, length = 0;
	char *end = NULL;

	memset(text, 0, sizeof(text));
	for (ssize_t got = 1; got > 0 && (!end || n < (size_t)(end - text) + length);) {
		got = read(fd, text + n, sizeof(text) - 1 - n);
		n += got > 0 ? (size_t)got : 0;
		end = strstr(text, "\r\n\r\n");
		end = end ? end + 4 : NULL;
		read_header(text, "\r\nContent-Length: ", number, sizeof(number));
		length = strtoul(number, NULL, 10);
	}
	if (!end)
		return;
	sscanf(text, "POST %127s", request->path);
	snprintf(request->body, sizeof(request->body), "%s", end);
	request->json = strstr(text, "\r\nContent-Type: application/json\r\n") != NULL;
	request->expects = strstr(text, "\r\nExpect:") != NULL;
	read_header(text, "\r\nAuthorization: ", request->token, sizeof(request->token));
}

static void on_broken_pipe(int number)
{
}

/* Signal dispositions are for the whole process, so a request must not change them. */
static bool is_signal_changed(void)
{
	struct sigaction now;

	return sigaction(SIGPIPE, NULL, &now) != 0 || now.sa_handler != on_broken_pipe;
}

/* A client that followed a redirection would reach nothing. */
static void send_reply(int fd, const struct reply *reply)
{
	size_t len = strlen(reply->body);
	char head[160], byte;

	if (reply->status == GIVE_UP)
		http_give_up(server.http);
	if (reply->status == SILENCE || reply->status == GIVE_UP)
		while (read(fd, &byte, 1) > 0)
			;
	if (reply->status == GARBAGE)
		(void)!send(fd, "what is it?\r\n\r\n", 15, MSG_NOSIGNAL);
	if (reply->status <= GIVE_UP)
		return;
	snprintf(head, sizeof(head),
		"HTTP/1.1 %d X\r\nConnection: close\r\nLocation: http://127.0.0.1:%u/\r\n"
		"Content-Length: %zu\r\n\r\n",
		reply->status, server.refused_port, len);
	(void)!send(fd, head, strlen(head), MSG_NOSIGNAL);
	for (ssize_t sent = 1; len > 0 && sent > 0; len -= (size_t)sent)
		sent = send(fd, reply->body + strlen(reply->body) - len, len, MSG_NOSIGNAL);
}

static void *serve_requests(void *context)
{
	unsigned next = 0;

	while (next < server.n) {
		int fd = accept(server.listener, NULL, NULL);

		if (fd < 0)
			break;
		__atomic_store_n(&server.asked, next + 1, __ATOMIC_RELEASE);
		read_request(fd, &server.requests[next]);
		server.signal_changed |= is_signal_changed();
		send_reply(fd, &server.replies[next++]);
		close(fd);
	}
	return NULL;
}

static int bound_socket(unsigned *port)
{
	struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t len = sizeof(at);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_true(fd >= 0);
	assert_int_equal(bind(fd, (struct sockaddr *)&at, len), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&at, &len), 0);
	*port = ntohs(at.sin_port);
	return fd;
}

/* The environment names a proxy, which must not be used: an operator names the members. */
static void name_proxy(void)
{
	char proxy[64];

	snprintf(proxy, sizeof(proxy), "http://127.0.0.1:%u", server.refused_port);
	assert_int_equal(setenv("http_proxy", proxy, 1), 0);
}

/* `members`: a letter each, by which the server identifies the member; "-" is missing. */
static void begin_http(const char *members, const char *user, unsigned timeout_ms)
{
	char urls[4][64];
	const char *endpoints[4];
	struct etcd_params params = {.endpoints = endpoints,
		.n_endpoints = (unsigned)strlen(members),
		.user = user,
		.password_file = password_file,
		.timeout_ms = timeout_ms};

	memset(&server, 0, sizeof(server));
	memset(why, 0, sizeof(why));
	server.listener = bound_socket(&server.port);
	server.refusing = bound_socket(&server.refused_port);
	assert_int_equal(listen(server.listener, 8), 0);
	name_proxy();
	for (unsigned i = 0; members[i]; i++) {
		snprintf(urls[i], sizeof(urls[i]), "http://127.0.0.1:%u/%c%s",
			members[i] == '-' ? server.refused_port : server.port, members[i],
			i % 2 ? "" : "//");
		endpoints[i] = urls[i];
	}
	assert_int_equal(http_open(&params, &server.http), 0);
}

static void lay_out(int status, const char *body)
{
	assert_true(server.n < ANSWERS);
	server.replies[server.n++] = (struct reply){status, body};
}

static void serve_now(void)
{
	assert_int_equal(pthread_create(&server.thread, NULL, serve_requests, NULL), 0);
}

static void close_http(void)
{
	shutdown(server.listener, SHUT_RDWR);
	pthread_join(server.thread, NULL);
	assert_false(server.signal_changed);
	http_close(server.http);
	close(server.listener);
	close(server.refusing);
}

/* Checks that all replies were used. */
static void end_http(void)
{
	close_http();
	assert_int_equal(server.asked, server.n);
}

static int post_body(const char *body, const char **answer, size_t *len)
{
	return http_post(server.http, PATH, body, answer, len, why);
}

static int post_any(void)
{
	const char *answer;
	size_t len;

	return post_body("{}", &answer, &len);
}

static void check_request(unsigned i, const char *path, const char *token, const char *body)
{
	const struct request *request = &server.requests[i];

	assert_true(i < __atomic_load_n(&server.asked, __ATOMIC_ACQUIRE));
	assert_string_equal(request->path, path);
	assert_string_equal(request->token, token);
	assert_string_equal(request->body, body);
	assert_true(request->json);
	assert_false(request->expects);
}

TEST(test_answers)
{
	ENDED_BY(free_at) char *longest = calloc(1, LONGEST + 1);
	const char *answer;
	size_t len;

	assert_non_null(longest);
	memset(longest, 'x', LONGEST);
	begin_http("a", NULL, PATIENCE);
	lay_out(200, "{\"one\":1}");
	lay_out(200, longest);
	lay_out(200, "");
	serve_now();
	assert_int_equal(post_body("{\"ask\":1}", &answer, &len), 0);
	assert_int_equal(len, 9);
	assert_memory_equal(answer, "{\"one\":1}", 9);
	assert_int_equal(post_body("{}", &answer, &len), 0);
	assert_int_equal(len, LONGEST);
	assert_memory_equal(answer, longest, LONGEST);
	assert_int_equal(post_body("{}", &answer, &len), 0);
	assert_int_equal(len, 0);
	assert_false(http_logged_in(server.http));
	check_request(0, "/a" PATH, "", "{\"ask\":1}");
	end_http();
}

/* The result of each failure, and its message. */
TEST(test_failures)
{
	ENDED_BY(free_at) char *long_body = calloc(1, LONGEST + 2), *cut = calloc(1, 202);
	const struct {
		int status;
		const char *body;
		int result;
		const char *why;
	} rows[] = {
		{NOTHING, "", -ETIMEDOUT, "Empty reply"},
		{GARBAGE, "", -EPROTO, "HTTP/0.9"},
		{200, long_body, -EPROTO, ": the answer is too long"},
		{500, "busy", -ETIMEDOUT, PATH ": HTTP 500: busy"},
		{599, "busy", -ETIMEDOUT, "HTTP 599: busy"},
		{404, "what?", -EPROTO, "HTTP 404: what?"},
		{201, "what?", -EPROTO, "HTTP 201: what?"},
		{499, "what?", -EPROTO, "HTTP 499: what?"},
		{302, "elsewhere", -EPROTO, "HTTP 302: elsewhere"},
		{401, "who?", -EACCES, "HTTP 401: who?"},
		{400, "user name is empty", -EACCES, "HTTP 400: user name"},
		{400, "authentication failed", -EACCES, "HTTP 400: auth"},
		{403, "no", -EPERM, "HTTP 403: no"},
		{400, "authentication is not enabled", -EPROTO, "HTTP 400: auth"},
		{404, cut, -EPROTO, "HTTP 404: yyyy"},
	};

	assert_non_null(long_body);
	assert_non_null(cut);
	memset(long_body, 'x', LONGEST + 1);
	memset(cut, 'y', 201);
	for (size_t i = 0; i < COUNT(rows); i++) {
		begin_http("a", NULL, PATIENCE);
		lay_out(rows[i].status, rows[i].body);
		serve_now();
		if (post_any() != rows[i].result)
			fail_msg("row %zu: %s", i, why);
		if (!strstr(why, rows[i].why) || strncmp(why, "http://127.0.0.1:", 17) != 0)
			fail_msg("row %zu: \"%s\", expected \"%s\"", i, why, rows[i].why);
		end_http();
	}
	assert_int_equal(strlen(strchr(why, 'y')), 120);
}

TEST(test_no_answer)
{
	begin_http("a", NULL, 50);
	lay_out(SILENCE, "");
	serve_now();
	assert_int_equal(post_any(), -ETIMEDOUT);
	close_http(); /* its time may have ended before the server received it */
}

/* A request in progress ends long before its timeout; later ones are not sent. */
TEST(test_given_up)
{
	begin_http("ab", NULL, PATIENCE);
	lay_out(GIVE_UP, "");
	serve_now();
	assert_false(http_given_up(server.http));
	assert_int_equal(post_any(), -ETIMEDOUT);
	assert_non_null(strcasestr(why, "callback"));
	assert_true(http_given_up(server.http));
	assert_int_equal(post_any(), -ENETUNREACH);
	end_http();
}

/* The member that answered last is first; of several failures the most specific one is reported. */
TEST(test_members)
{
	static const struct {
		const char *members;
		int replies[2], result;
	} rows[] = {
		{"--", {0, 0}, -ENETUNREACH},
		{"-a", {500, 0}, -ETIMEDOUT},
		{"a-", {500, 0}, -ETIMEDOUT},
		{"-a", {404, 0}, -EPROTO},
		{"a-", {404, 0}, -EPROTO},
		{"ab", {404, 500}, -EPROTO},
		{"ab", {500, 404}, -EPROTO},
		{"ab", {500, NOTHING}, -ETIMEDOUT},
		{"ab", {403, 0}, -EPERM}, /* every member would answer the same */
		{"ab", {401, 0}, -EACCES},
		{"-ab", {403, 0}, -EPERM},
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		begin_http(rows[i].members, NULL, PATIENCE);
		for (unsigned k = 0; k < 2 && rows[i].replies[k]; k++)
			lay_out(rows[i].replies[k], "x");
		serve_now();
		if (post_any() != rows[i].result)
			fail_msg("row %zu: %s", i, why);
		end_http();
	}
	begin_http("-abc", NULL, PATIENCE);
	lay_out(500, "");
	for (unsigned i = 0; i < 2; i++)
		lay_out(200, "");
	lay_out(NOTHING, "");
	lay_out(200, "");
	serve_now();
	for (unsigned i = 0; i < 3; i++)
		assert_int_equal(post_any(), 0);
	check_request(0, "/a" PATH, "", "{}");
	check_request(1, "/b" PATH, "", "{}");
	check_request(2, "/b" PATH, "", "{}");
	check_request(3, "/b" PATH, "", "{}");
	check_request(4, "/c" PATH, "", "{}");
	end_http();
}

#define LOGIN_BODY "{\"name\":\"anna\",\"password\":\"secret\"}"

/* A token is requested first, and a new one, without the old, when that expires. */
TEST(test_token)
{
	begin_http("a", "anna", PATIENCE);
	lay_out(200, TOKEN("first"));
	lay_out(200, "");
	lay_out(200, "");
	lay_out(401, "invalid auth token");
	lay_out(200, TOKEN("second"));
	lay_out(200, "");
	serve_now();
	assert_false(http_logged_in(server.http));
	for (unsigned i = 0; i < 3; i++) {
		assert_int_equal(post_any(), 0);
		assert_true(http_logged_in(server.http));
	}
	check_request(0, "/a" LOGIN_PATH, "", LOGIN_BODY);
	check_request(1, "/a" PATH, "first", "{}");
	check_request(2, "/a" PATH, "first", "{}");
	check_request(3, "/a" PATH, "first", "{}");
	check_request(4, "/a" LOGIN_PATH, "", LOGIN_BODY);
	check_request(5, "/a" PATH, "second", "{}");
	end_http();
}

/* An etcd without users gets no token, until it requires one. */
TEST(test_open_etcd)
{
	begin_http("a", "anna", PATIENCE);
	lay_out(400, "authentication is not enabled");
	lay_out(200, "");
	lay_out(200, "");
	lay_out(400, "user name is empty");
	lay_out(200, TOKEN("first"));
	lay_out(200, "");
	lay_out(401, "");
	lay_out(400, "authentication is not enabled");
	lay_out(200, "");
	serve_now();
	assert_int_equal(post_any(), 0);
	assert_int_equal(post_any(), 0);
	assert_false(http_logged_in(server.http));
	assert_int_equal(post_any(), 0);
	assert_true(http_logged_in(server.http));
	assert_int_equal(post_any(), 0);
	assert_false(http_logged_in(server.http));
	check_request(2, "/a" PATH, "", "{}");
	check_request(4, "/a" LOGIN_PATH, "", LOGIN_BODY);
	check_request(5, "/a" PATH, "first", "{}");
	check_request(8, "/a" PATH, "", "{}");
	end_http();
}

TEST(test_login_fails)
{
	static const struct {
		int status;
		const char *body;
		int result;
	} rows[] = {
		{400, "authentication failed", -EACCES},
		{401, "who?", -EACCES},
		{403, "no", -EACCES},
		{500, "busy", -ETIMEDOUT},
		{404, "what?", -EPROTO},
		{200, "{}", -EPROTO},
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		begin_http("a", "anna", PATIENCE);
		lay_out(rows[i].status, rows[i].body);
		serve_now();
		if (post_any() != rows[i].result)
			fail_msg("row %zu: %s", i, why);
		assert_false(http_logged_in(server.http));
		end_http();
	}
	/* A new token that is also rejected does not cause further attempts. */
	begin_http("ab", "anna", PATIENCE);
	lay_out(200, TOKEN("first"));
	lay_out(401, "");
	serve_now();
	assert_int_equal(post_any(), -EACCES);
	end_http();
}

/* If a login fails, the previous token stays. */
TEST(test_login_lost)
{
	begin_http("a", "anna", PATIENCE);
	lay_out(200, TOKEN("first"));
	lay_out(200, "");
	lay_out(401, "");
	lay_out(500, "");
	lay_out(200, "");
	serve_now();
	assert_int_equal(post_any(), 0);
	assert_int_equal(post_any(), -ETIMEDOUT);
	assert_true(http_logged_in(server.http));
	assert_int_equal(post_any(), 0);
	check_request(3, "/a" LOGIN_PATH, "", LOGIN_BODY);
	check_request(4, "/a" PATH, "first", "{}");
	end_http();
}

TEST(test_no_password)
{
	char *name = &password_file[strlen(password_file) - 1], last = *name;

	*name = '!';
	begin_http("a", "anna", PATIENCE);
	serve_now();
	assert_int_equal(post_any(), -EACCES);
	assert_non_null(strstr(why, password_file));
	end_http();
	*name = last;
}

/* A URL that is too long. */
TEST(test_long_path)
{
	char path[2048];
	const char *answer;
	size_t len;

	memset(path, 'x', sizeof(path));
	path[0] = '/';
	path[sizeof(path) - 1] = '\0';
	begin_http("a", NULL, PATIENCE);
	serve_now();
	assert_int_equal(http_post(server.http, path, "{}", &answer, &len, why), -EPROTO);
	end_http();
}

/* Only HTTP is used, even if a server answers. */
TEST(test_other_protocols)
{
	static const char *const schemes[] = {"ftp", "gopher", "telnet", "dict"};
	char url[64];
	const char *endpoint = url;
	const struct etcd_params params = {
		.endpoints = &endpoint, .n_endpoints = 1, .timeout_ms = PATIENCE};

	for (size_t i = 0; i < COUNT(schemes); i++) {
		snprintf(url, sizeof(url), "%s://127.0.0.1:1", schemes[i]);
		assert_int_equal(http_open(&params, &server.http), 0);
		assert_int_equal(post_any(), -EPROTO);
		http_close(server.http);
	}
}

/* If a file cannot be read, no connection is made without it. */
TEST(test_no_files)
{
	static const struct etcd_params rows[] = {
		{.ca_file = "/nowhere/ca"}, {.cert_file = "/nowhere/cert"}};
	unsigned port;
	int listener = bound_socket(&port);
	char url[64];
	const char *endpoint = url;

	assert_int_equal(listen(listener, 8), 0);
	snprintf(url, sizeof(url), "https://127.0.0.1:%u", port);
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct etcd_params params = rows[i];

		params.endpoints = &endpoint;
		params.n_endpoints = 1;
		params.timeout_ms = PATIENCE;
		assert_int_equal(http_open(&params, &server.http), 0);
		if (post_any() != -EPROTO)
			fail_msg("row %zu: %s", i, why);
		http_close(server.http);
	}
	close(listener);
}

static int start_curl(void **state)
{
	int fd = mkstemp(password_file);

	if (signal(SIGPIPE, on_broken_pipe) == SIG_ERR)
		return -1;
	if (fd < 0 || write(fd, "secret\n", 7) != 7)
		return -1;
	close(fd);
	return sodium_init() < 0 || curl_global_init(CURL_GLOBAL_DEFAULT);
}

static int stop_curl(void **state)
{
	curl_global_cleanup();
	return unlink(password_file);
}

TEST_GROUP(start_curl, stop_curl)
