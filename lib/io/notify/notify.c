/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Reports the state of the process to the service manager: datagrams of sd_notify(3) to the socket
 * of $NOTIFY_SOCKET.
 */
#include "notify/notify.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/time.h"

#define STATE_MAX  64
#define STATUS_MAX 448

/* Keep-alives sent in one watchdog timeout. */
#define FEEDS 4

struct notify {
	int fd;
	struct sockaddr_un manager;
	socklen_t manager_len;
	uint64_t feed_ns; /* interval of keep-alives; 0: no watchdog */
	uint64_t fed_ns;  /* time of the last keep-alive; 0: none yet */
	bool owed;        /* `state` and `status` are not sent yet */
	char state[STATE_MAX];
	char status[STATUS_MAX];
};

/* Reads a path, or an abstract name, whose first character @ stands for a NUL. */
static int read_address(struct notify *notify, const char *text)
{
	struct sockaddr_un *to = &notify->manager;
	size_t len = strlen(text);

	if ((text[0] != '/' && text[0] != '@') || len < 2)
		return -EAFNOSUPPORT;
	if (len >= sizeof(to->sun_path))
		return -ENAMETOOLONG;
	to->sun_family = AF_UNIX;
	memcpy(to->sun_path, text, len);
	notify->manager_len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len);
	if (text[0] == '@')
		to->sun_path[0] = '\0';
	else
		notify->manager_len++; /* NUL at the end of a path */
	return 0;
}

/* Returns a whole number that fills the text, or 0. */
static uint64_t read_number(const char *text)
{
	uint64_t value;
	char *end;

	if (!text || text[0] < '0' || text[0] > '9')
		return 0;
	errno = 0;
	value = strtoull(text, &end, 10);
	return errno || *end ? 0 : value;
}

/*
 * Returns the interval of keep-alives in ns; 0 if there is no watchdog, or one for another process.
 */
static uint64_t read_watchdog(void)
{
	const char *whose = getenv("WATCHDOG_PID");
	uint64_t us = read_number(getenv("WATCHDOG_USEC"));

	if ((whose && read_number(whose) != (uint64_t)getpid()) || us > UINT64_MAX / US_NS)
		return 0;
	return us * US_NS / FEEDS;
}

/*
 * Returns false if the text must be sent again. Other errors, such as a missing manager, are final.
 */
static bool send_text(const struct notify *notify, const char *text)
{
	ssize_t n;

	do
		n = sendto(notify->fd, text, strlen(text), MSG_DONTWAIT | MSG_NOSIGNAL,
			(const struct sockaddr *)&notify->manager, notify->manager_len);
	while (n < 0 && errno == EINTR);
	return n >= 0 || (errno != EAGAIN && errno != ENOBUFS);
}

/* Sends the status, with the state until it was sent once. */
static void send_owed(struct notify *notify)
{
	char text[STATE_MAX + STATUS_MAX + sizeof("STATUS=")];

	snprintf(text, sizeof(text), "%sSTATUS=%s", notify->state, notify->status);
	notify->owed = !send_text(notify, text);
	if (!notify->owed)
		notify->state[0] = '\0';
}

/* Sets and sends the status. `state` NULL keeps the state. */
static void notify_manager(struct notify *notify, const char *state, const char *status)
{
	if (!notify)
		return;
	if (state)
		snprintf(notify->state, sizeof(notify->state), "%s", state);
	snprintf(
		notify->status, sizeof(notify->status), "%.*s", (int)strcspn(status, "\n"), status);
	send_owed(notify);
}

int notify_open(struct notify **notify)
{
	const char *socket_name = getenv("NOTIFY_SOCKET");
	struct notify *made;
	int ret;

	*notify = NULL;
	if (!socket_name)
		return 0;
	made = calloc(1, sizeof(*made));
	if (!made)
		return -ENOMEM;
	ret = read_address(made, socket_name);
	if (ret == 0) {
		made->fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
		ret = made->fd < 0 ? -errno : 0;
	}
	if (ret) {
		free(made);
		return ret;
	}
	made->feed_ns = read_watchdog();
	unsetenv("NOTIFY_SOCKET");
	unsetenv("WATCHDOG_USEC");
	unsetenv("WATCHDOG_PID");
	*notify = made;
	return 0;
}

void notify_close(struct notify *notify)
{
	if (notify)
		close(notify->fd);
	free(notify);
}

void notify_ready(struct notify *notify, const char *text)
{
	notify_manager(notify, "READY=1\n", text);
}

/* The time lets the manager match the next READY=1 to this reload, and not to an earlier one. */
void notify_reloading(struct notify *notify, const char *text)
{
	char state[STATE_MAX];
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	snprintf(state, sizeof(state), "RELOADING=1\nMONOTONIC_USEC=%" PRIu64 "\n",
		(uint64_t)now.tv_sec * (SECOND_NS / US_NS) + (uint64_t)now.tv_nsec / US_NS);
	notify_manager(notify, state, text);
}

void notify_stopping(struct notify *notify, const char *text)
{
	notify_manager(notify, "STOPPING=1\n", text);
}

void notify_status(struct notify *notify, const char *text)
{
	notify_manager(notify, NULL, text);
}

void notify_alive(struct notify *notify, uint64_t now_ns)
{
	if (!notify)
		return;
	if (notify->owed)
		send_owed(notify);
	if (notify->feed_ns == 0 || (notify->fed_ns && now_ns - notify->fed_ns < notify->feed_ns))
		return;
	if (send_text(notify, "WATCHDOG=1"))
		notify->fed_ns = now_ns;
}
