/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * SIGTERM and SIGINT during a start.
 */
#include "start.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>

#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "event.h"

/* Time for the current step, and for undoing the steps before it. */
#define PATIENCE_S 3

#define LOG_PATIENCE_S 1

static void *watch_start_end(void *context)
{
	const struct start_watch *watch = context;
	struct pollfd fds[] = {{watch->ended, POLLIN, 0}, {watch->signals, POLLIN, 0}};

	/* Does not read the signal, which stays pending for the start and for control. */
	while (poll(fds, 2, -1) < 0 && errno == EINTR)
		;
	if (fds[0].revents || poll(fds, 1, PATIENCE_S * 1000) != 0)
		return NULL;
	event(START_HANGS, event_count("seconds", PATIENCE_S));
	events_close(LOG_PATIENCE_S);
	_exit(EXIT_FAILURE);
}

static void close_watch(struct start_watch *watch)
{
	if (watch->signals >= 0)
		close(watch->signals);
	if (watch->ended >= 0)
		close(watch->ended);
}

int start_watch_begin(struct start_watch *watch)
{
	sigset_t set;
	int err = 0;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	watch->signals = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
	watch->ended = eventfd(0, EFD_CLOEXEC);
	if (watch->signals < 0 || watch->ended < 0)
		err = errno;
	if (err == 0)
		err = pthread_create(&watch->thread, NULL, watch_start_end, watch);
	watch->runs = err == 0;
	if (err)
		close_watch(watch);
	return -err;
}

void start_watch_end(struct start_watch *watch)
{
	if (!watch->runs)
		return;
	eventfd_write(watch->ended, 1);
	pthread_join(watch->thread, NULL);
	close_watch(watch);
	watch->runs = false;
}
