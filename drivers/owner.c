/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * One limiter per kernel interface: two would each send every frame.
 */
#include "owner.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <linux/capability.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "policy/config.h"

static struct claim {
	unsigned interface; /* 0: unused */
	int fd;
} claims[CONFIG_PORTS_MAX];

/*
 * Returns whether a process can receive the packets. Any user can take the name, but only a process
 * with this capability can receive packets.
 */
static bool has_packets(pid_t pid)
{
	char path[64], line[128];
	unsigned long effective = UINT64_C(1) << CAP_NET_RAW;
	FILE *in;

	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	in = fopen(path, "r");
	while (in && fgets(line, sizeof(line), in))
		sscanf(line, "CapEff: %lx", &effective);
	if (in)
		fclose(in);
	return effective >> CAP_NET_RAW & 1;
}

static void describe_owner(pid_t pid, char who[OWNER_WORDS])
{
	char path[64], command[OWNER_WORDS - 32] = "";
	size_t len = 0;
	FILE *in;

	snprintf(path, sizeof(path), "/proc/%d/cmdline", pid);
	in = fopen(path, "r");
	if (in) {
		len = fread(command, 1, sizeof(command) - 1, in);
		fclose(in);
	}
	for (size_t i = 0; i + 1 < len; i++)
		if (command[i] >= 0 && command[i] < ' ') /* ends of arguments, and controls */
			command[i] = ' ';
	snprintf(who, OWNER_WORDS, "pid %d (%s)", pid, command);
}

/* Returns true if a limiter has the name, not a process that only blocks it. */
static bool find_owner(
	int fd, const struct sockaddr_un *address, socklen_t len, char who[OWNER_WORDS])
{
	struct ucred owner = {0};
	socklen_t size = sizeof(owner);

	if (connect(fd, (const struct sockaddr *)address, len) ||
		getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &owner, &size))
		snprintf(who, OWNER_WORDS, "another process");
	else if (!has_packets(owner.pid))
		return false;
	else
		describe_owner(owner.pid, who);
	return true;
}

int owner_claim(unsigned interface, char who[OWNER_WORDS])
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	const socklen_t len = (socklen_t)offsetof(struct sockaddr_un, sun_path) + 1 +
			      (socklen_t)snprintf(address.sun_path + 1,
				      sizeof(address.sun_path) - 1, "weir-interface-%u", interface);
	struct claim *claim = claims;
	int ret = 0, fd;

	while (claim->interface && claim < claims + CONFIG_PORTS_MAX - 1)
		claim++;
	fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return -errno;
	if (bind(fd, (struct sockaddr *)&address, len) || listen(fd, SOMAXCONN))
		ret = errno == EADDRINUSE && find_owner(fd, &address, len, who) ? -EBUSY : 0;
	if (ret)
		close(fd);
	else
		*claim = (struct claim){.interface = interface, .fd = fd};
	return ret;
}

void owner_release(unsigned interface)
{
	for (unsigned i = 0; i < CONFIG_PORTS_MAX; i++) {
		if (claims[i].interface != interface)
			continue;
		close(claims[i].fd);
		claims[i] = (struct claim){0};
	}
}
