/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "child.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <sys/wait.h>

#define NO_SUCH_PROGRAM 127
#define READ_BYTES      65536

extern char **environ;

static long long now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000LL + ts.tv_nsec / 1000000;
}

static int spawn_child(const char *const *argv, int out, int err, pid_t *child)
{
	posix_spawn_file_actions_t actions;
	int ret = posix_spawn_file_actions_init(&actions);

	if (ret)
		return -ret;
	posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
	posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
	if (err >= 0)
		posix_spawn_file_actions_adddup2(&actions, err, STDERR_FILENO);
	ret = posix_spawnp(child, argv[0], &actions, NULL, (char *const *)argv, environ);
	posix_spawn_file_actions_destroy(&actions);
	return -ret;
}

static int wait_for_child(pid_t child)
{
	int status;

	while (waitpid(child, &status, 0) < 0)
		if (errno != EINTR)
			return -errno;
	return WIFEXITED(status) ? WEXITSTATUS(status) : NO_SUCH_PROGRAM;
}

/* To the end of the pipe; what is beyond `most` is thrown away. False: that takes too long. */
static bool read_pipe(int fd, unsigned ms, size_t most, char **text, size_t *used)
{
	long long until = now_ms() + ms;
	char bytes[READ_BYTES];

	for (;;) {
		struct pollfd file = {.fd = fd, .events = POLLIN};
		long long left = until - now_ms();
		size_t take;
		ssize_t n;
		char *grown;

		if (left <= 0 || poll(&file, 1, (int)left) == 0)
			return false;
		n = read(fd, bytes, sizeof(bytes));
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return true;
		take = (size_t)n < most - *used ? (size_t)n : most - *used;
		grown = realloc(*text, *used + take + 1);
		if (!grown)
			return false;
		*text = grown;
		for (size_t i = 0; i < take; i++)
			grown[*used + i] = bytes[i];
		for (size_t i = 0; i < take; i++)
			if (!grown[*used + i])
				grown[*used + i] = ' ';
		*used += take;
		grown[*used] = '\0';
	}
}

char *child_output(const char *const *argv, unsigned ms, size_t most, int *status)
{
	char *text = calloc(1, 1);
	size_t used = 0;
	pid_t child;
	int ends[2];
	bool ended;

	if (!text || pipe2(ends, O_CLOEXEC)) {
		free(text);
		return NULL;
	}
	if (spawn_child(argv, ends[1], ends[1], &child)) {
		close(ends[0]);
		close(ends[1]);
		free(text);
		return NULL;
	}
	close(ends[1]);
	ended = read_pipe(ends[0], ms, most, &text, &used);
	close(ends[0]);
	if (!ended)
		kill(child, SIGKILL);
	*status = wait_for_child(child);
	if (ended && !(*status == NO_SUCH_PROGRAM && used == 0))
		return text;
	free(text);
	return NULL;
}

int child_run(const char *const *argv, int out)
{
	pid_t child;
	int ret = spawn_child(argv, out, -1, &child);

	return ret ? ret : wait_for_child(child);
}
