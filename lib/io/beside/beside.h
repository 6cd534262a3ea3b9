/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * One descriptor sent with a message over a Unix socket (SCM_RIGHTS). Any thread.
 */
#ifndef WEIR_BESIDE_BESIDE_H
#define WEIR_BESIDE_BESIDE_H

#include <string.h>
#include <sys/socket.h>

/* Control buffer for one descriptor. Its padding has room for a second one. */
union beside {
	struct cmsghdr header;
	char room[CMSG_SPACE(sizeof(int))];
};

/* Attaches a descriptor to a message before it is sent; -1: none. */
static inline void beside_give(struct msghdr *message, union beside *beside, int fd)
{
	if (fd < 0)
		return;
	*beside = (union beside){.header = {.cmsg_len = CMSG_LEN(sizeof(fd)),
					 .cmsg_level = SOL_SOCKET,
					 .cmsg_type = SCM_RIGHTS}};
	memcpy(CMSG_DATA(&beside->header), &fd, sizeof(fd));
	message->msg_control = beside;
	message->msg_controllen = sizeof(*beside);
}

/*
 * Prepares a message to receive one descriptor. The length excludes the padding, so no second one
 * fits.
 */
static inline void beside_expect(struct msghdr *message, union beside *beside)
{
	*beside = (union beside){0};
	message->msg_control = beside;
	message->msg_controllen = CMSG_LEN(sizeof(int));
}

/*
 * Returns the received descriptor, which the caller closes, or -1. The kernel closes those without
 * room.
 */
static inline int beside_take(struct msghdr *message)
{
	const struct cmsghdr *header = CMSG_FIRSTHDR(message);
	int fd = -1;

	if (header != NULL && header->cmsg_level == SOL_SOCKET && header->cmsg_type == SCM_RIGHTS &&
		header->cmsg_len == CMSG_LEN(sizeof(fd)))
		memcpy(&fd, CMSG_DATA(header), sizeof(fd));
	return fd;
}

#endif
