/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Rights of a client by its user and groups, and the order of turns. The clock advances only while
 * commands run.
 */
#include "check.h"

#include <grp.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "telemetry/server.h"

#define BUDGET_NS   2000000
#define NOBODY      65534
#define READERS     54321 /* groups that need no entry in any file */
#define OPERATORS   54322
#define MANY_GROUPS 300

static char home[64];
static char path[96];
static struct telemetry_server *server;
static uint64_t time_now, cost_ns, changes;

static uint64_t clock_of_test(void)
{
	return time_now;
}

/* The last caller, from the view of the command. */
static struct telemetry_peer caller;
static uid_t asker;

static json_t *take_time(const char *params, void *context)
{
	caller = telemetry_caller(server);
	asker = telemetry_asker(server);
	time_now += cost_ns;
	return json_true();
}

static json_t *change_something(const char *params, void *context)
{
	changes++;
	return json_true();
}

static const struct telemetry_command commands[] = {
	{"/test/dear", "Takes time", take_time, TELEMETRY_PARAMS, TELEMETRY_READS},
	{"/test/change", "Changes", change_something, TELEMETRY_ALONE, TELEMETRY_CHANGES},
	{.path = "/test/unsaid", .help = "Says nothing of it", .handler = change_something},
	{0},
};
static const struct telemetry_command *const tables[] = {commands};

static const struct telemetry_group no_group, readers = {"readers", READERS},
					      operators = {"operators", OPERATORS};

static unsigned denied_lines;
static uint64_t denied_in_all;

static void told_of_denied(uid_t uid, const char *command, uint64_t n)
{
	assert_int_equal(uid, NOBODY);
	assert_true(strcmp(command, "/test/change") == 0 || strcmp(command, "/test/unsaid") == 0);
	denied_lines++;
	denied_in_all += n;
}

static void listen_for(const struct telemetry_group *group, const struct telemetry_group *who)
{
	const struct telemetry_options options = {
		.path = path,
		.tables = tables,
		.n_tables = 1,
		.group = *group,
		.operators = *who,
		.now_ns = clock_of_test,
		.budget_ns = BUDGET_NS,
		.denied = told_of_denied,
	};

	strcpy(home, "/tmp/weir-clients-XXXXXX");
	assert_non_null(mkdtemp(home));
	assert_int_equal(chmod(home, 0755), 0);
	snprintf(path, sizeof(path), "%s/socket", home);
	changes = cost_ns = 0;
	time_now = 1;
	assert_int_equal(telemetry_listen(&options, &server), 0);
}

static void stop_listening(void)
{
	telemetry_close(server);
	rmdir(home);
}

static int connect_here(void)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	strcpy(address.sun_path, path);
	if (connect(fd, (struct sockaddr *)&address, sizeof(address)) == 0)
		return fd;
	close(fd);
	return -errno;
}

static void ask_as(int fd, const char *request)
{
	assert_int_equal(send(fd, request, strlen(request), MSG_NOSIGNAL), strlen(request));
}

/* Returns true if there is a reply, without waiting. */
static bool take_reply(int fd, char reply[TELEMETRY_MAX_OUTPUT + 1])
{
	ssize_t len = recv(fd, reply, TELEMETRY_MAX_OUTPUT, MSG_DONTWAIT);

	if (len > 0)
		reply[len] = '\0';
	return len > 0;
}

static int new_client(void)
{
	char reply[TELEMETRY_MAX_OUTPUT + 1];
	int fd = connect_here();

	assert_true(fd >= 0);
	telemetry_serve(server);
	assert_true(take_reply(fd, reply));
	return fd;
}

static json_int_t statistic(const char *name)
{
	char *text = telemetry_answer(server, "/weir/telemetry", strlen("/weir/telemetry"));
	json_t *object = json_loads(text, 0, NULL);
	json_int_t value = (json_int_t)json_number_value(
		json_object_get(json_object_get(object, "/weir/telemetry"), name));

	free(text);
	json_decref(object);
	return value;
}

/* --- users ----------------------------------------------------------------------------------- */

struct user {
	uid_t uid;
	gid_t gid;
	const gid_t *groups;
	size_t n_groups;
};

static const gid_t in_readers[] = {READERS}, in_both[] = {READERS, OPERATORS};
static const struct user stranger = {NOBODY, NOBODY, NULL, 0},
			 reader = {NOBODY, NOBODY, in_readers, 1},
			 supplementary = {NOBODY, NOBODY, in_both, 2},
			 primary = {NOBODY, OPERATORS, in_readers, 1};

static void become(const struct user *user)
{
	assert_int_equal(setgroups(user->n_groups, user->groups), 0);
	assert_int_equal(setegid(user->gid), 0);
	assert_int_equal(seteuid(user->uid), 0);
}

static void become_root(void)
{
	assert_int_equal(seteuid(0), 0);
	assert_int_equal(setegid(0), 0);
	assert_int_equal(setgroups(0, NULL), 0);
}

static void only_root_can(void)
{
	if (getuid() != 0)
		skip();
}

/* The rights of a socket made by this user, as reported by the kernel. */
static bool pair_may_change(const struct user *user, const struct telemetry_group *group)
{
	struct telemetry_peer peer;
	int fds[2];

	become(user);
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, fds), 0);
	become_root();
	peer = telemetry_peer(fds[0], group);
	assert_int_equal(peer.uid, user->uid);
	close(fds[0]);
	close(fds[1]);
	return peer.may_change;
}

TEST(test_credentials)
{
	gid_t many[MANY_GROUPS];
	const struct user crowd = {NOBODY, NOBODY, many, MANY_GROUPS}, root = {0, 0, NULL, 0},
			  roots_group = {NOBODY, 0, NULL, 0};

	only_root_can();
	for (unsigned i = 0; i < MANY_GROUPS; i++)
		many[i] = 60000 + i;
	assert_false(pair_may_change(&crowd, &operators));
	many[MANY_GROUPS / 2] = OPERATORS;
	assert_true(pair_may_change(&crowd, &operators));
	assert_false(pair_may_change(&crowd, &no_group));
	assert_false(pair_may_change(&stranger, &operators));
	assert_false(pair_may_change(&reader, &operators));
	assert_true(pair_may_change(&supplementary, &operators));
	assert_true(pair_may_change(&primary, &operators));
	assert_false(pair_may_change(&primary, &no_group));
	assert_false(pair_may_change(&roots_group, &no_group)); /* its gid is 0, too */
	assert_true(pair_may_change(&root, &no_group));
}

static void expect_self(const struct telemetry_peer *peer)
{
	assert_int_equal(peer->uid, geteuid());
	assert_int_equal(peer->gid, getegid());
	assert_int_equal(peer->pid, getpid());
}

/* Over a socket the caller comes from the kernel; without one it is the process itself. */
TEST(test_caller)
{
	struct telemetry_peer nobody = telemetry_caller(NULL), idle;
	char *text;
	int fd;

	listen_for(&no_group, &no_group);
	expect_self(&nobody);
	assert_int_equal(telemetry_asker(NULL), getuid());
	fd = new_client();
	ask_as(fd, "/test/dear");
	telemetry_serve(server);
	expect_self(&caller);
	assert_true(caller.may_change);
	assert_int_equal(asker, getuid());
	text = telemetry_answer(server, "/test/dear", strlen("/test/dear"));
	assert_string_equal(text, "{\"/test/dear\":true}");
	free(text);
	expect_self(&caller);
	assert_false(caller.may_change); /* this command does not need the right */
	idle = telemetry_caller(server);
	expect_self(&idle);
	close(fd);
	stop_listening();
	telemetry_close(NULL);
}

/*
 * A limiter that does not run as root accepts changes from its own user, from root, and from no
 * other.
 */
TEST(test_own_user)
{
	int own[2], other[2];

	only_root_can();
	become(&(struct user){NOBODY - 1, NOBODY, NULL, 0});
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, other), 0);
	become_root();
	become(&stranger);
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, own), 0);
	assert_true(telemetry_peer(own[0], &no_group).may_change);
	assert_false(telemetry_peer(other[0], &no_group).may_change);
	become_root();
	assert_true(telemetry_peer(other[0], &(struct telemetry_group){"x", NOBODY}).may_change);
	close(own[0]);
	close(own[1]);
	close(other[0]);
	close(other[1]);
}

TEST(test_no_credentials)
{
	struct telemetry_peer peer = telemetry_peer(-1, &operators);
	int fds[2];

	assert_false(peer.may_change);
	assert_int_equal(peer.uid, (uid_t)-1);
	assert_int_equal(peer.gid, (gid_t)-1);
	assert_int_equal(pipe(fds), 0);
	assert_false(telemetry_peer(fds[0], &operators).may_change);
	close(fds[0]);
	close(fds[1]);
}

TEST(test_group_names)
{
	struct telemetry_group group = {0};

	assert_int_equal(telemetry_group_find("root", &group), 0);
	assert_int_equal(group.gid, 0);
	assert_string_equal(group.name, "root");
	assert_int_equal(telemetry_group_find("no-such-group", &group), -ENOENT);
	assert_string_equal(group.name, "root");
}

/* Checks the reply to a request of this user, on a new connection. */
static void check_user(const struct user *user, const char *request, const char *expected)
{
	char reply[TELEMETRY_MAX_OUTPUT + 1];
	int fd;

	become(user);
	fd = connect_here();
	become_root();
	assert_true(fd >= 0);
	telemetry_serve(server);
	assert_true(take_reply(fd, reply));
	ask_as(fd, request);
	telemetry_serve(server);
	assert_true(take_reply(fd, reply));
	assert_string_equal(reply, expected);
	close(fd);
	telemetry_serve(server);
}

#define DENIED(command, needs)                                                           \
	"{\"" command "\":{\"denied\":\"this command changes something\",\"uid\":65534," \
	"\"needs\":\"" needs "\"}}"
#define BY_GROUP "uid 0 or 0, or a member of group \\\"operators\\\" (control.operators)"

TEST(test_readers_read)
{
	struct stat file;

	only_root_can();
	listen_for(&readers, &operators);
	assert_int_equal(stat(path, &file), 0);
	assert_int_equal(file.st_gid, READERS);
	assert_int_equal(file.st_mode & 07777, 0660);
	become(&stranger);
	assert_int_equal(connect_here(), -EACCES);
	become_root();
	check_user(&reader, "/test/dear", "{\"/test/dear\":true}");
	assert_int_equal(asker, NOBODY);
	assert_int_equal(caller.uid, NOBODY);
	assert_int_equal(caller.gid, NOBODY);
	assert_false(caller.may_change);
	check_user(&reader, "/help,/test/change", "{\"/help\":{\"/test/change\":\"Changes\"}}");
	check_user(&reader, "/test/change", DENIED("/test/change", BY_GROUP));
	check_user(&reader, "/test/change,1", DENIED("/test/change", BY_GROUP));
	check_user(&reader, "/test/unsaid", DENIED("/test/unsaid", BY_GROUP));
	assert_int_equal(changes, 0);
	assert_int_equal(statistic("denied"), 3);
	stop_listening();
}

TEST(test_operators_change)
{
	only_root_can();
	listen_for(&readers, &operators);
	check_user(&supplementary, "/test/change", "{\"/test/change\":true}");
	check_user(&primary, "/test/change", "{\"/test/change\":true}");
	check_user(&primary, "/test/unsaid", "{\"/test/unsaid\":true}");
	check_user(&(struct user){0, 0, NULL, 0}, "/test/change", "{\"/test/change\":true}");
	assert_int_equal(changes, 4);
	assert_int_equal(statistic("denied"), 0);
	stop_listening();
}

TEST(test_nobody_is_named)
{
	only_root_can();
	listen_for(&readers, &no_group);
	check_user(&supplementary, "/test/change",
		DENIED("/test/change", "uid 0 or 0; control.operators can name a group as well"));
	assert_int_equal(changes, 0);
	stop_listening();
}

static bool is_hung_up(int fd)
{
	char byte;

	return recv(fd, &byte, 1, MSG_DONTWAIT) == 0;
}

/* Returns whether an existing connection may change. */
static bool may_change_on(int fd)
{
	char reply[TELEMETRY_MAX_OUTPUT + 1];

	ask_as(fd, "/test/change");
	telemetry_serve(server);
	assert_true(take_reply(fd, reply));
	return strstr(reply, "denied") == NULL;
}

static int connect_as(const struct user *user)
{
	int fd;

	become(user);
	fd = new_client();
	become_root();
	return fd;
}

/* Changed groups apply to the socket's file and to connected clients. */
TEST(test_other_groups)
{
	struct telemetry_group group = no_group, who = no_group;
	struct stat file;
	int root, reading, changing;

	only_root_can();
	listen_for(&readers, &operators);
	root = new_client();
	reading = connect_as(&reader);
	changing = connect_as(&primary);
	assert_true(may_change_on(changing));
	group = readers; /* operators lose the right to change, and can still read */
	assert_int_equal(telemetry_regroup(server, &group, &who), 0);
	assert_string_equal(group.name, "readers");
	assert_string_equal(who.name, "operators");
	assert_false(may_change_on(changing));
	assert_false(may_change_on(reading));
	assert_true(may_change_on(root));
	group = who; /* only operators read */
	assert_int_equal(telemetry_regroup(server, &group, &who), 0);
	assert_int_equal(stat(path, &file), 0);
	assert_int_equal(file.st_gid, OPERATORS);
	assert_int_equal(file.st_mode & 07777, 0660);
	assert_true(is_hung_up(reading));
	assert_false(is_hung_up(changing));
	group = who = no_group; /* the socket belongs to the process again */
	assert_int_equal(telemetry_regroup(server, &group, &who), 0);
	assert_int_equal(stat(path, &file), 0);
	assert_int_equal(file.st_gid, 0);
	assert_true(is_hung_up(changing));
	assert_true(may_change_on(root));
	become(&stranger); /* this user cannot give the file away */
	group = readers;
	assert_int_equal(telemetry_regroup(server, &group, &who), -EPERM);
	become_root();
	assert_true(may_change_on(root));
	close(root);
	close(reading);
	close(changing);
	stop_listening();
}

/* One line immediately, and one within a second, with the count of those in between. */
TEST(test_denied_are_told)
{
	only_root_can();
	listen_for(&readers, &no_group);
	denied_lines = denied_in_all = 0;
	for (unsigned k = 0; k < 5; k++)
		check_user(&supplementary, "/test/change",
			DENIED("/test/change",
				"uid 0 or 0; control.operators can name a group as well"));
	assert_int_equal(denied_lines, 1);
	assert_int_equal(denied_in_all, 1);
	time_now += TELEMETRY_DENIED_NS;
	check_user(&supplementary, "/test/change",
		DENIED("/test/change", "uid 0 or 0; control.operators can name a group as well"));
	assert_int_equal(denied_lines, 2);
	assert_int_equal(denied_in_all, 6);
	stop_listening();
}

/* --- turns ----------------------------------------------------------------------------------- */

static int clients[TELEMETRY_MAX_CLIENTS];
static unsigned answers[TELEMETRY_MAX_CLIENTS];

/* Every client with a reply sends the next request immediately. */
static void all_ask_again(void)
{
	char reply[TELEMETRY_MAX_OUTPUT + 1];

	for (unsigned i = 0; i < TELEMETRY_MAX_CLIENTS; i++) {
		while (take_reply(clients[i], reply)) {
			answers[i]++;
			ask_as(clients[i], "/test/dear");
		}
	}
}

static void connect_all(void)
{
	for (unsigned i = 0; i < TELEMETRY_MAX_CLIENTS; i++) {
		clients[i] = new_client();
		answers[i] = 0;
		ask_as(clients[i], "/test/dear");
	}
}

static void close_all(void)
{
	for (unsigned i = 0; i < TELEMETRY_MAX_CLIENTS; i++)
		close(clients[i]);
	stop_listening();
}

/*
 * With any cost of commands a turn takes at most the budget and one command, and all clients get
 * turns.
 */
TEST(test_turns_are_bounded)
{
	static const uint64_t costs[] = {
		0, 1, BUDGET_NS / 64, BUDGET_NS / 10, BUDGET_NS - 1, BUDGET_NS, 5 * BUDGET_NS};

	for (size_t c = 0; c < COUNT(costs); c++) {
		unsigned least = UINT32_MAX, most = 0;

		listen_for(&no_group, &no_group);
		connect_all();
		cost_ns = costs[c];
		for (int turn = 0; turn < 500; turn++) {
			uint64_t began = time_now;

			telemetry_serve(server);
			assert_true(time_now - began < BUDGET_NS + cost_ns || cost_ns == 0);
			all_ask_again();
		}
		for (unsigned i = 0; i < TELEMETRY_MAX_CLIENTS; i++) {
			least = answers[i] < least ? answers[i] : least;
			most = answers[i] > most ? answers[i] : most;
		}
		assert_true(least > 0 && most - least <= 1);
		assert_int_equal(statistic("cut_turns") > 0, cost_ns * 64 > BUDGET_NS);
		cost_ns = 0;
		close_all();
	}
}

/* Clients that reconnect do not overtake waiting ones. */
TEST(test_leaving_wins_nothing)
{
	listen_for(&no_group, &no_group);
	connect_all();
	cost_ns = BUDGET_NS; /* one request a turn */
	for (int turn = 0; turn < 4 * TELEMETRY_MAX_CLIENTS; turn++) {
		unsigned leaver = (unsigned)turn % TELEMETRY_MAX_CLIENTS;

		if (leaver % 2) {
			close(clients[leaver]);
			clients[leaver] = connect_here();
			assert_true(clients[leaver] >= 0);
		}
		telemetry_serve(server);
		all_ask_again();
	}
	for (unsigned i = 0; i < TELEMETRY_MAX_CLIENTS; i += 2) {
		assert_true(answers[i] >= 1);
		assert_true(answers[i] >= answers[0] - 1 && answers[i] <= answers[0] + 1);
	}
	cost_ns = 0;
	close_all();
}

/*
 * One more client is accepted in each turn, also while all others send the most expensive command.
 */
TEST(test_newcomers_come_in)
{
	char reply[TELEMETRY_MAX_OUTPUT + 1];
	int busy[8], late[8];

	listen_for(&no_group, &no_group);
	for (unsigned i = 0; i < 8; i++)
		busy[i] = new_client();
	for (unsigned i = 0; i < 8; i++)
		ask_as(busy[i], "/test/dear");
	cost_ns = 3 * BUDGET_NS;
	for (unsigned i = 0; i < 8; i++) {
		late[i] = connect_here();
		assert_true(late[i] >= 0);
		telemetry_serve(server);
		assert_true(take_reply(late[i], reply));
	}
	for (unsigned i = 0; i < 8; i++) {
		assert_true(take_reply(busy[i], reply));
		close(busy[i]);
		close(late[i]);
	}
	assert_int_equal(statistic("longest_turn_ms"), 6);
	stop_listening();
}
