/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * A service manager, reduced to a socket and the environment.
 */
#ifndef WEIR_TEST_MANAGER_H
#define WEIR_TEST_MANAGER_H

#include "check.h"

#include <sys/socket.h>
#include <sys/un.h>

struct manager {
	int fd;
	char name[64];
	char heard[1024];
};

/* Listens, and sets the environment; watchdog_us: with a watchdog, or NULL. */
static inline void manager_open(struct manager *manager, bool abstract, const char *watchdog_us)
{
	struct sockaddr_un at = {.sun_family = AF_UNIX};
	socklen_t len;

	snprintf(manager->name, sizeof(manager->name), "%sweir-manager-%d",
		abstract ? "@" : "/tmp/", (int)getpid());
	len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(manager->name));
	memcpy(at.sun_path, manager->name, strlen(manager->name));
	if (abstract)
		at.sun_path[0] = '\0';
	else
		unlink(manager->name);
	manager->fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	assert_true(manager->fd >= 0);
	assert_int_equal(bind(manager->fd, (struct sockaddr *)&at, len), 0);
	setenv("NOTIFY_SOCKET", manager->name, 1);
	unsetenv("WATCHDOG_PID");
	unsetenv("WATCHDOG_USEC");
	if (watchdog_us)
		setenv("WATCHDOG_USEC", watchdog_us, 1);
}

/* Returns the next received message, or NULL. */
static inline const char *manager_hear(struct manager *manager)
{
	ssize_t n = recv(manager->fd, manager->heard, sizeof(manager->heard) - 1, 0);

	if (n < 0)
		return NULL;
	manager->heard[n] = '\0';
	return manager->heard;
}

static inline void manager_close(struct manager *manager)
{
	close(manager->fd);
	if (manager->name[0] == '/')
		unlink(manager->name);
}

#endif
