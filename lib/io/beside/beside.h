/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * One descriptor that goes along with a message over a Unix socket (SCM_RIGHTS), for who sends it
 * and who takes it. Any thread.
 */
#ifndef WEIR_BESIDE_BESIDE_H
#define WEIR_BESIDE_BESIDE_H

#include <string.h>
#include <sys/socket.h>

/* Room for it, beside a message. Behind it is padding, which could hold another. */
union beside {
	struct cmsghdr header;
	char room[CMSG_SPACE(sizeof(int))];
};

/* Has it go along with a message that is about to be sent; -1: nothing does. */
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

/* Lets one come with a message that is about to be received, and no other into the padding. */
static inline void beside_expect(struct msghdr *message, union beside *beside)
{
	*beside = (union beside){0};
	message->msg_control = beside;
	message->msg_controllen = CMSG_LEN(sizeof(int));
}

/* What has come, the caller's to close, or -1: the kernel closes those without room. */
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
