/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Groups of the control socket: users who can read, and users who can change.
 */
#ifndef WEIR_APP_SOCKET_USERS_H
#define WEIR_APP_SOCKET_USERS_H

#include <stdbool.h>

#include <sys/types.h>

#include "policy/complaint.h"
#include "policy/config.h"
#include "telemetry/server.h"

/*
 * Looks up the groups that the configuration names. Without its own group, the socket gets that of
 * the operators. Returns 0, or a negative errno, reported.
 */
int socket_groups_find(const struct config *config, struct telemetry_options *options,
	const struct complaint_sink *to);

/* Name of the user who requested a change. */

#define REQUESTER_BYTES 64

/* Reads the user name alone; returns false if /etc/passwd has none. */
bool requester_user(uid_t uid, char name[REQUESTER_BYTES]);

/*
 * Writes "alice (uid 1000)", as in /etc/passwd, or "uid 1000". Other directories can take long to
 * answer. It reads a file, so only threads that can wait for a disk call it.
 */
void requester_name(uid_t uid, char name[REQUESTER_BYTES]);

#endif
