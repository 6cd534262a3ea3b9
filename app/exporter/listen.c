/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "listen.h"

#include <errno.h>
#include <netdb.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include <sys/socket.h>
#include <unistd.h>

#define BACKLOG 64

/* Splits "HOST:PORT" or "[HOST]:PORT". */
static bool split_address(const char *address, char host[64], const char **port)
{
	const char *colon = strrchr(address, ':');
	size_t n = colon ? (size_t)(colon - address) : 0;

	if (!colon || n >= 64)
		return false;
	if (n >= 2 && address[0] == '[' && address[n - 1] == ']') {
		address++;
		n -= 2;
	} else if (memchr(address, ':', n)) {
		return false; /* IPv6 without brackets: which colon is the port's? */
	}
	snprintf(host, 64, "%.*s", (int)n, address);
	*port = colon + 1;
	return **port != '\0';
}

static int listen_at(const struct addrinfo *info)
{
	int yes = 1, err;
	int fd = socket(info->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd < 0)
		return -errno;
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
	if (bind(fd, info->ai_addr, info->ai_addrlen) == 0 && listen(fd, BACKLOG) == 0)
		return fd;
	err = errno;
	close(fd);
	return -err;
}

int listen_open(const char *address)
{
	const struct addrinfo hints = {.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV | AI_PASSIVE,
		.ai_socktype = SOCK_STREAM};
	struct addrinfo *found;
	const char *port;
	char host[64];
	int fd;

	if (!split_address(address, host, &port) ||
		getaddrinfo(*host ? host : NULL, port, &hints, &found))
		return -EINVAL;
	fd = listen_at(found);
	freeaddrinfo(found);
	return fd;
}
