/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "wake.h"

#include <stdbool.h>
#include <unistd.h>

#include <sys/socket.h>

/* Bound for descriptors: a process with 32 ports stays below it. */
#define FD_MAX 1024

static bool is_packet_socket(int fd)
{
	int domain;
	socklen_t len = sizeof(domain);

	if (getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &len))
		return false;
	return domain == AF_PACKET || domain == AF_XDP;
}

unsigned wake_find(struct pollfd *fds, unsigned n_ports)
{
	unsigned n = 0;

	for (int fd = 0; fd < FD_MAX && n < WAKE_FDS_MAX; fd++) {
		if (is_packet_socket(fd))
			fds[n++] = (struct pollfd){.fd = fd, .events = POLLIN};
	}
	return n < n_ports ? 0 : n;
}

void wake_clear_errors(const struct pollfd *fds, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		int error;
		socklen_t len = sizeof(error);

		/* Reading the error clears it: an interface that went down sets one. */
		if (fds[i].revents & ~POLLIN)
			(void)getsockopt(fds[i].fd, SOL_SOCKET, SO_ERROR, &error, &len);
	}
}
