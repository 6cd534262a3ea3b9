/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "listen.h"

#include <errno.h>

#include <sys/socket.h>
#include <unistd.h>

#include "address.h"

#define BACKLOG 64

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
