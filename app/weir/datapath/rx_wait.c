/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * A worker without packets waits in ppoll() at the sockets of its ports.
 */
#include "rx_wait.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include <sys/eventfd.h>

#include "base/time.h"

struct rx_wait {
	uint64_t longest_ns; /* 0 after a failure of a socket; the worker's */
	unsigned announced;  /* 1 while the worker waits; both threads: atomics only */
	int bell;            /* eventfd: control writes it, the worker reads it */
	unsigned n;          /* length of fds, with the bell, which is the last */
	struct pollfd fds[];
};

int rx_wait_create(const int *sockets, unsigned n, uint64_t longest_ns, struct rx_wait **wait)
{
	struct rx_wait *made = calloc(1, sizeof(*made) + (n + 1) * sizeof(*made->fds));

	if (!made)
		return -ENOMEM;
	made->bell = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	if (made->bell < 0) {
		int ret = -errno;

		free(made);
		return ret;
	}
	for (unsigned i = 0; i < n; i++)
		made->fds[i] = (struct pollfd){.fd = sockets[i], .events = POLLIN};
	made->fds[n] = (struct pollfd){.fd = made->bell, .events = POLLIN};
	made->n = n + 1;
	made->longest_ns = longest_ns;
	*wait = made;
	return 0;
}

void rx_wait_destroy(struct rx_wait *wait)
{
	if (!wait)
		return;
	close(wait->bell);
	free(wait);
}

uint64_t rx_wait_longest(const struct rx_wait *wait)
{
	return wait ? wait->longest_ns : 0;
}

/*
 * Each change of the word reads the one before and acquires its stores. So if control looks before
 * this call, the worker sees all that control has published; if later, control sees the 1.
 */
void rx_wait_announce(struct rx_wait *wait)
{
	(void)__atomic_exchange_n(&wait->announced, 1, __ATOMIC_ACQ_REL);
}

void rx_wait_cancel(struct rx_wait *wait)
{
	(void)__atomic_exchange_n(&wait->announced, 0, __ATOMIC_ACQ_REL);
}

bool rx_wait(struct rx_wait *wait, uint64_t ns)
{
	const struct timespec most = {
		.tv_sec = (time_t)(ns / SECOND_NS), .tv_nsec = (long)(ns % SECOND_NS)};
	int ready = ppoll(wait->fds, wait->n, &most, NULL);
	eventfd_t rung;

	rx_wait_cancel(wait);
	if (ready <= 0)
		return ready == 0;
	/* Each later ppoll() would fail immediately, so the worker pauses from then on. */
	for (unsigned i = 0; i + 1 < wait->n; i++)
		if (wait->fds[i].revents & (POLLERR | POLLHUP | POLLNVAL))
			wait->longest_ns = 0;
	if (wait->fds[wait->n - 1].revents)
		(void)eventfd_read(wait->bell, &rung);
	return false;
}

bool rx_wait_is_announced(struct rx_wait *wait)
{
	return __atomic_fetch_add(&wait->announced, 0, __ATOMIC_ACQ_REL) != 0;
}

void rx_wait_end(struct rx_wait *wait)
{
	if (__atomic_exchange_n(&wait->announced, 0, __ATOMIC_ACQ_REL))
		(void)eventfd_write(wait->bell, 1);
}
