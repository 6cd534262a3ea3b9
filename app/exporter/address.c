/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "address.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
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
		return false; /* IPv6 without brackets is ambiguous */
	}
	snprintf(host, 64, "%.*s", (int)n, address);
	*port = colon + 1;
	return true;
}

/* Returns whether the text is a decimal port. The library accepts more, modulo 65536. */
static bool is_port(const char *port)
{
	char *end;
	unsigned long value = strtoul(port, &end, 10);

	return *port >= '0' && *port <= '9' && *end == '\0' && value <= 65535;
}

int address_find(const char *address, int socktype, int flags, struct addrinfo **found)
{
	const struct addrinfo hints = {
		.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV | flags, .ai_socktype = socktype};
	const char *port;
	char host[64];

	if (!split_address(address, host, &port) || !is_port(port) ||
		getaddrinfo(*host ? host : NULL, port, &hints, found))
		return -EINVAL;
	return 0;
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
	struct addrinfo *found;
	int fd = address_find(address, SOCK_STREAM, AI_PASSIVE, &found);

	if (fd)
		return fd;
	fd = listen_at(found);
	freeaddrinfo(found);
	return fd;
}
