/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * One descriptor sent with a message over a Unix socket (SCM_RIGHTS). Any thread.
 */
#ifndef WEIR_FD_PASS_FD_PASS_H
#define WEIR_FD_PASS_FD_PASS_H

#include <string.h>
#include <sys/socket.h>

/* Control buffer for one descriptor. Its padding has room for a second one. */
union fd_pass {
	struct cmsghdr header;
	char room[CMSG_SPACE(sizeof(int))];
};

/* Attaches a descriptor to a message before it is sent; -1: none. */
static inline void fd_pass_attach(struct msghdr *message, union fd_pass *control, int fd)
{
	if (fd < 0)
		return;
	*control = (union fd_pass){.header = {.cmsg_len = CMSG_LEN(sizeof(fd)),
					   .cmsg_level = SOL_SOCKET,
					   .cmsg_type = SCM_RIGHTS}};
	memcpy(CMSG_DATA(&control->header), &fd, sizeof(fd));
	message->msg_control = control;
	message->msg_controllen = sizeof(*control);
}

/*
 * Prepares a message to receive one descriptor. The length excludes the padding, so no second one
 * fits.
 */
static inline void fd_pass_expect(struct msghdr *message, union fd_pass *control)
{
	*control = (union fd_pass){0};
	message->msg_control = control;
	message->msg_controllen = CMSG_LEN(sizeof(int));
}

/*
 * Returns the received descriptor, which the caller closes, or -1. The kernel closes those without
 * room.
 */
static inline int fd_pass_take(struct msghdr *message)
{
	const struct cmsghdr *header = CMSG_FIRSTHDR(message);
	int fd = -1;

	if (header != NULL && header->cmsg_level == SOL_SOCKET && header->cmsg_type == SCM_RIGHTS &&
		header->cmsg_len == CMSG_LEN(sizeof(fd)))
		memcpy(&fd, CMSG_DATA(header), sizeof(fd));
	return fd;
}

#endif
