/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The process at the other end of the socket, identified by the kernel, and its rights. Every
 * process that can open the socket can read; the mode of its file controls that. Changes require
 * more.
 */
#ifndef WEIR_TELEMETRY_PEER_H
#define WEIR_TELEMETRY_PEER_H

#include <stdbool.h>
#include <sys/types.h>

#include <jansson.h>

struct telemetry_group {
	char name[64]; /* "": no group, and gid has no meaning */
	gid_t gid;
};

struct telemetry_peer {
	uid_t uid; /* at the time of the connect, in our user namespace */
	gid_t gid;
	pid_t pid; /* process that connected; it might have ended */
	bool may_change;
};

/* Looks up a group by name. Returns 0, -ENOENT (no such group) or another negative errno. */
int telemetry_group_find(const char *name, struct telemetry_group *group);

/*
 * Returns the peer of a connected Unix socket. Changes are possible for root, our own user, and
 * members of the operators' group, by any of their groups. If the kernel does not return the
 * identity, the peer has no rights.
 */
struct telemetry_peer telemetry_peer(int fd, const struct telemetry_group *operators);

/* Returns true if the peer of a connected socket is a member of the group, by any of its groups. */
bool telemetry_is_member(int fd, const struct telemetry_peer *peer, gid_t gid);

/*
 * Builds the reply to a command without the right to it: {"denied": ..., "uid": ..., "needs": ...}.
 */
json_t *telemetry_denial(
	const struct telemetry_peer *peer, const struct telemetry_group *operators);

#endif
