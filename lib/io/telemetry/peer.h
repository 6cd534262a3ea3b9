/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Who is at the other end of the socket, as the kernel knows it, and what that allows. Whoever gets
 * to the socket may read: that is for the mode of its file to say. To change something takes more.
 */
#ifndef WEIR_TELEMETRY_PEER_H
#define WEIR_TELEMETRY_PEER_H

#include <stdbool.h>
#include <sys/types.h>

#include <jansson.h>

struct telemetry_group {
	char name[64]; /* "": none, and then gid means nothing */
	gid_t gid;
};

struct telemetry_peer {
	uid_t uid; /* when it connected, as seen from our user namespace */
	gid_t gid;
	pid_t pid; /* of who connected, who may have ended */
	bool may_change;
};

/* Looks the name up. 0; -ENOENT: there is no such group; or another of the system's. */
int telemetry_group_find(const char *name, struct telemetry_group *group);

/*
 * The peer of a connected Unix socket. Those who may change things are root, the user that this
 * process runs as, and members of the group, by whichever of their groups. What cannot be read of a
 * peer allows nothing.
 */
struct telemetry_peer telemetry_peer(int fd, const struct telemetry_group *operators);

/* Returns true if the peer of a connected socket is a member of the group, by any of its groups. */
bool telemetry_is_member(int fd, const struct telemetry_peer *peer, gid_t gid);

/* What a peer is told that may not give a command: {"denied": ..., "uid": ..., "needs": ...}. */
json_t *telemetry_denial(
	const struct telemetry_peer *peer, const struct telemetry_group *operators);

#endif
