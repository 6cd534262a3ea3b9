/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * 64 hostile clients at the socket of a whole limiter. They send requests of every command that are
 * truncated, mixed or changed at random, too long or empty, and many at the same time. Some never
 * read, or close during a reply and reconnect. A later request is answered, and each reply that is
 * read is JSON with one member.
 *
 * WEIR_TEST_SEED=N repeats a run, WEIR_TEST_REQUESTS=N sets the number of requests, and
 * WEIR_TEST_POLICIES=N adds policies, to see the cost of each command.
 */
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>

#include "instance_world.h"
#include "clock.h"
#include "show.h"
#include "tap_session.h"
#include "telemetry/server.h"

#define REQUESTS    ROUNDS(200000)
#define LONGEST     100000
#define READS_EVERY 4  /* sweeps: a client that does not read for more is disconnected */
#define PARSED_OF   16 /* replies: one of them is parsed */

#define POLICIES                                                                             \
	"{'name': 'first', 'match': {'direction': 'a-to-b'}, 'limit': '1Mbit/s'},"           \
	"{'name': 'waits', 'match': {'vlan': 7}, 'limit': '1Mbit/s', 'action': 'shape'},"    \
	"{'name': 'each', 'match': {'vlan': 8}, 'limit': '1Mbit/s', 'per': 'src'},"          \
	"{'name': 'classes', 'match': {'vlan': 9}, 'limit': '1Mbit/s', 'meter': 'phantom'}," \
	"{'name': 'last', 'match': {'vlan': 6}, 'limit': '100/min', 'count': 'packets'}"

static char path[] = "/tmp/weir-hostile-XXXXXX";
static struct telemetry_server *server;
static struct instance_world world;
static int clients[TELEMETRY_MAX_CLIENTS];
static uint64_t lot, sent, replies;

static uint32_t draw_below(uint32_t n)
{
	lot = lot * 6364136223846793005U + 1442695040888963407U;
	return (uint32_t)((lot >> 33) % n);
}

/* Adds the requested number of policies before the others. */
static char *many_policies(void)
{
	const char *asked = getenv("WEIR_TEST_POLICIES");
	unsigned long n = asked ? strtoul(asked, NULL, 0) : 100;
	char *text;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	assert_non_null(out);
	for (unsigned long i = 0; i < n; i++)
		fprintf(out,
			"{'name': 'p%lu', 'match': {'src': '10.%lu.%lu.%lu/32'}, 'limit': '1Mbit/s'},",
			i, i >> 16, i >> 8 & 255, i & 255);
	fputs(POLICIES, out);
	assert_int_equal(fclose(out), 0);
	return text;
}

static int connect_hostile(void)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	assert_true(fd >= 0);
	strcpy(address.sun_path, path);
	if (connect(fd, (struct sockaddr *)&address, sizeof(address)) == 0)
		return fd;
	close(fd);
	return -1;
}

static const char *any_command(void)
{
	static const char *const builtin[] = {
		"/", "/help", "/info", "/weir/telemetry", "", "/nope", "{\"\"}"};
	static unsigned n_shown, n_ethdev;

	while (show_commands[n_shown].path)
		n_shown++;
	while (telemetry_ethdev[n_ethdev].path)
		n_ethdev++;
	switch (draw_below(4)) {
	case 0:
		return builtin[draw_below(COUNT(builtin))];
	case 1:
		return telemetry_ethdev[draw_below(n_ethdev)].path;
	default:
		return show_commands[draw_below(n_shown)].path;
	}
}

static const char *any_parameter(void)
{
	static const char *const some[] = {"", ",", ",first", ",waits", ",each", ",classes",
		",last", ",0", ",1", ",4294967295", ",4294967296", ",-1", ",first,0", ",first,99",
		",0,hide_zero=true,from=3", ",/weir/policy", ",%s%n", ",\xff\xfe", ",first\n"};

	return some[draw_below(COUNT(some))];
}

static size_t any_request(char *request)
{
	size_t len = (size_t)sprintf(request, "%s%s", any_command(), any_parameter());

	if (draw_below(500) == 0) {
		size_t more = draw_below(LONGEST);

		memset(request + len, ",a\n"[draw_below(3)], more);
		len += more;
	}
	for (uint32_t n = draw_below(4) ? 0 : draw_below(4); n > 0 && len > 0; n--)
		request[draw_below((uint32_t)len)] = (char)draw_below(256);
	return draw_below(8) ? len : draw_below((uint32_t)len + 1);
}

static void check_hostile_reply(const char *reply, ssize_t len)
{
	json_t *object;

	assert_in_range(len, 1, TELEMETRY_MAX_OUTPUT);
	if (replies++ % PARSED_OF)
		return;
	object = json_loadb(reply, (size_t)len, JSON_REJECT_DUPLICATES, NULL);
	assert_non_null(object);
	json_decref(object);
}

static void read_replies(int fd)
{
	static char reply[2 * TELEMETRY_MAX_OUTPUT];
	ssize_t len;

	while ((len = recv(fd, reply, sizeof(reply), MSG_DONTWAIT)) > 0)
		check_hostile_reply(reply, len);
}

/* One of the clients misbehaves. A disconnected one connects again. */
static void misbehave(unsigned client, unsigned sweep)
{
	static char request[LONGEST + 256];
	int fd = clients[client];

	if (fd < 0 || draw_below(50) == 0) {
		if (fd >= 0)
			close(fd);
		clients[client] = connect_hostile();
		return;
	}
	if (client % 8 && sweep % READS_EVERY == 0)
		read_replies(fd);
	if (draw_below(200) == 0)
		shutdown(fd, draw_below(2) ? SHUT_WR : SHUT_RDWR);
	for (uint32_t n = 1 + draw_below(3); n > 0; n--) {
		if (send(fd, request, any_request(request), MSG_NOSIGNAL | MSG_DONTWAIT) >= 0) {
			sent++;
		} else if (errno != EAGAIN && errno != EMSGSIZE) {
			close(fd);
			clients[client] = -1;
			return;
		}
	}
}

static void check_still_answers(void)
{
	static const char want[] = "{\"/weir/policies\":{\"total\":";
	char reply[TELEMETRY_MAX_OUTPUT];
	int fd = connect_hostile();

	assert_true(fd >= 0);
	for (unsigned i = 0; i < 10; i++)
		telemetry_serve(server);
	assert_true(recv(fd, reply, sizeof(reply), 0) > 0);
	assert_int_equal(send(fd, "/weir/policies", 14, 0), 14);
	telemetry_serve(server);
	assert_true(recv(fd, reply, sizeof(reply), 0) > 0);
	assert_memory_equal(reply, want, strlen(want));
	close(fd);
}

TEST(test_hostile_clients)
{
	const char *asked = getenv("WEIR_TEST_REQUESTS"), *seed = getenv("WEIR_TEST_SEED");
	uint64_t most = asked ? strtoull(asked, NULL, 0) : REQUESTS;

	lot = seed ? strtoull(seed, NULL, 0) : (uint64_t)time(NULL);
	print_message("WEIR_TEST_SEED=%llu\n", (unsigned long long)lot);
	for (unsigned i = 0; i < TELEMETRY_MAX_CLIENTS; i++)
		clients[i] = -1;
	for (unsigned sweep = 0; sent < most; sweep++) {
		for (unsigned i = 0; i < TELEMETRY_MAX_CLIENTS; i++)
			misbehave(i, sweep);
		telemetry_serve(server);
	}
	for (unsigned i = 0; i < TELEMETRY_MAX_CLIENTS; i++)
		close(clients[i]);
	for (unsigned i = 0; i < 2 * TELEMETRY_MAX_CLIENTS; i++)
		telemetry_serve(server);
	check_still_answers();
	print_message("%llu requests, %llu replies read\n", (unsigned long long)sent,
		(unsigned long long)replies);
	assert_true(replies > most / 100);
}

/*
 * Prints the time of a request, the shortest of five, with a parameter that is the last policy's
 * name.
 */
static void print_cost(const char *path_asked, const char *parameter)
{
	char request[64];
	uint64_t least = UINT64_MAX;

	snprintf(request, sizeof(request), "%s%s", path_asked, parameter);
	for (unsigned i = 0; i < 5; i++) {
		uint64_t began = control_now(), took;
		char *reply = telemetry_answer(server, request, strlen(request));

		took = control_now() - began;
		least = took < least ? took : least;
		assert_non_null(reply);
		free(reply);
	}
	print_message("%-28s %8.3f ms\n", request, (double)least / MS_NS);
}

/* Prints times for people. A threshold would fail on a busy machine. */
TEST(test_costs)
{
	for (const struct telemetry_command *row = show_commands; row->path; row++) {
		print_cost(row->path, "");
		print_cost(row->path, ",last");
	}
}

static int open_hostile_world(void **state)
{
	static const struct telemetry_command *const tables[] = {telemetry_ethdev, show_commands};
	const struct telemetry_options options = {
		.path = path,
		.tables = tables,
		.n_tables = 2,
		.context = &world.inst,
		.now_ns = control_now,
		.budget_ns = 2 * MS_NS,
	};

	char *policies;

	if (instance_world_start(state) || mkdtemp(path) == NULL || rmdir(path))
		return -1;
	policies = many_policies();
	instance_world_open(&world, policies);
	free(policies);
	return telemetry_listen(&options, &server);
}

static int close_hostile_world(void **state)
{
	telemetry_close(server);
	tap_session_stop(&world.inst);
	instance_world_turn_all(&world); /* workers no longer use it */
	tap_session_stop(&world.inst);
	instance_world_close(&world);
	return instance_world_stop(state);
}

TEST_GROUP(open_hostile_world, close_hostile_world)
