/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The telemetry server's socket file: permissions, obstacles at its path, and two servers with one
 * path.
 */
#include "telemetry_world.h"
#include "scope.h"

#include <fcntl.h>
#include <grp.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

#define RACERS 8
#define RACES  20

/* Connects without root's user and groups; a login sets the first of these groups. */
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

	assert_int_equal(telemetry_look(path), -EADDRINUSE);
	assert_int_equal(listen_at(path, &second), -EADDRINUSE);
	assert_null(second);
	fd = try_connect();
	telemetry_serve(server); /* the probe's connection, and ours */
	telemetry_serve(server);
	expect_greeting(fd);
	close(fd);
}

/* A listener that never accepts is alive as well, and a probe must not wait in its full queue. */
static void test_full_queue_is_alive(void **state)
{
	struct telemetry_server *second;
	int fds[2 * TELEMETRY_MAX_CLIENTS];
	int n = 0;

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

/* Returns the result of a call as a user without rights, or -1. */
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

/* A socket in a directory needs the right to write it and to search it. */
static void test_directory_of_another(void **state)
{
	static const struct {
		mode_t mode;
		int rc;
	} rows[] = {{0777, 0}, {0755, -EACCES}, {0776, -EACCES}, {0774, -EACCES}};

	if (getuid() != 0)
		skip();
	for (size_t i = 0; i < COUNT(rows); i++) {
		assert_int_equal(chmod(home, rows[i].mode), 0);
		snprintf(path, sizeof(path), "%s/socket", home);
		assert_int_equal(as_stranger(telemetry_look, path), rows[i].rc);
		assert_int_equal(as_stranger(try_to_listen, path), rows[i].rc);
		unlink(path);
		snprintf(path, sizeof(path), "%s/made/socket", home);
		assert_int_equal(as_stranger(telemetry_look, path), rows[i].rc);
		assert_int_equal(telemetry_look(path), 0); /* for root */
	}
}

static void test_other_files_are_left_alone(void **state)
{
	FILE *file;

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

/* Leaves a socket file without an owner. */
static void leave_stale_socket(void)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_SEQPACKET, 0);

	strcpy(address.sun_path, path);
	assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	close(fd);
}

/*
 * No descriptor is left, or one, for the directory but not for the socket. An existing file stays.
 */
static void test_no_descriptors_to_listen(void **state)
{
	struct rlimit before, few;
	int lowest = dup(0);

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

/* While `counted` is set, waiting takes no time; the holder releases the lock at wait `until`. */
static struct {
	bool counted;
	unsigned n, until;
	uint64_t ns;
	int holder;
} waits;

/* Replaces libc's function. */
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

/* Another process holds the directory's lock: the server waits, with a limit. */
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
	snprintf(path, sizeof(path), "%s/socket", home);
	expect_to_wait_for(home, path);
	assert_int_equal(listen_at(path, &server), 0);
	telemetry_close(server);
}

static void test_relative_path(void **state)
{
	ENDED_BY(free_at) char *before = getcwd(NULL, 0);

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
}

/* The root directory is not mistaken for the current one, which all may write. */
static void test_in_root(void **state)
{
	ENDED_BY(free_at) char *before = getcwd(NULL, 0);

	if (getuid() != 0)
		skip();
	assert_int_equal(chmod(home, 0777), 0);
	assert_int_equal(chdir(home), 0);
	assert_int_equal(as_stranger(telemetry_look, "/weir-socket"), -EACCES);
	assert_int_equal(as_stranger(telemetry_look, "weir-socket"), 0);
	assert_int_equal(chdir(before), 0);
}

static void test_only_our_file_is_removed(void **state)
{
	char moved[128];

	assert_int_equal(listen_at(path, &server), 0);
	snprintf(moved, sizeof(moved), "%s.moved", path);
	assert_int_equal(rename(path, moved), 0);
	close(open(path, O_CREAT | O_WRONLY, 0600));
	telemetry_close(server);
	assert_int_equal(access(path, F_OK), 0);
}

/* Tries to listen when `go` closes, reports the result, and lives until `done` closes. */
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

/* The winner of a round leaves a stale file for the next round. */
static void test_start_race(void **state)
{
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		INLINE(test_permissions),
		PLACE(test_dead_owner_is_replaced),
		INLINE(test_live_owner_is_not),
		INLINE(test_full_queue_is_alive),
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
	};

	umask(077); /* file modes must not depend on the caller's mask */
	return cmocka_run_group_tests(tests, NULL, NULL);
}
