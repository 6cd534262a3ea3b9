/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "fanout.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <dirent.h>
#include <linux/if_packet.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "policy/config.h"

#define GROUP       0xffff /* bits of the option: number of the group */
#define ASKED_FLAGS 16     /* in a request, type and flags are above it */
#define SAID_FLAGS  24     /* in a reply, the flags without their low byte are above the type */

#define DEFRAG   ((uint32_t)PACKET_FANOUT_FLAG_DEFRAG << ASKED_FLAGS)
#define UNIQUEID ((uint32_t)PACKET_FANOUT_FLAG_UNIQUEID << ASKED_FLAGS)

/* Groups by the number that the driver requested. Sockets of one port request the same number. */
static struct {
	uint16_t asked, given;
} groups[CONFIG_PORTS_MAX];
static unsigned n_groups;

static int set_fanout(int fd, uint32_t value)
{
	return (int)syscall(SYS_setsockopt, fd, SOL_PACKET, PACKET_FANOUT, &value, sizeof(value));
}

/* Creates the group of a port's first socket. The kernel chooses a number that is not in use. */
static int found_group(int fd, uint32_t asked)
{
	uint32_t said;
	socklen_t len = sizeof(said);
	int ret = set_fanout(fd, (asked & ~(uint32_t)GROUP) | UNIQUEID);

	if (ret == 0)
		ret = getsockopt(fd, SOL_PACKET, PACKET_FANOUT, &said, &len);
	if (ret == 0) {
		groups[n_groups].asked = asked & GROUP;
		groups[n_groups].given = said & GROUP;
		n_groups++;
	}
	return ret;
}

static int join_group(int fd, uint32_t asked)
{
	for (unsigned i = 0; i < n_groups; i++)
		if (groups[i].asked == (asked & GROUP))
			return set_fanout(fd, (asked & ~(uint32_t)GROUP) | groups[i].given);
	return n_groups < CONFIG_PORTS_MAX ? found_group(fd, asked) : set_fanout(fd, asked);
}

int setsockopt(int fd, int level, int name, const void *value, socklen_t len)
{
	uint32_t asked;

	/*
	 * A longer value than in packet(7) is from a caller that uses newer features: not the
	 * driver.
	 */
	if (level != SOL_PACKET || name != PACKET_FANOUT || len != sizeof(asked))
		return (int)syscall(SYS_setsockopt, fd, level, name, value, len);
	memcpy(&asked, value, sizeof(asked));
	return join_group(fd, asked & ~DEFRAG);
}

void fanout_forget(void)
{
	n_groups = 0;
}

/* Returns false if it is not a packet socket, or is in no group. */
static bool socket_defragments(int fd)
{
	uint32_t said = 0;
	socklen_t len = sizeof(said);

	return getsockopt(fd, SOL_PACKET, PACKET_FANOUT, &said, &len) == 0 &&
	       said >> SAID_FLAGS & PACKET_FANOUT_FLAG_DEFRAG >> 8;
}

bool fanout_defragments(void)
{
	DIR *dir = opendir("/proc/self/fd");
	bool found = false;

	for (struct dirent *entry; dir && !found && (entry = readdir(dir));)
		found = socket_defragments((int)strtol(entry->d_name, NULL, 10));
	if (dir)
		closedir(dir);
	return found;
}
