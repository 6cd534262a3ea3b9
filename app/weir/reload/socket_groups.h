/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Groups of the control socket: users who can read, and users who can change.
 */
#ifndef WEIR_APP_SOCKET_GROUPS_H
#define WEIR_APP_SOCKET_GROUPS_H

#include "policy/complaint.h"
#include "policy/config.h"
#include "telemetry/server.h"

/*
 * Looks up the groups that the configuration names. Without its own group, the socket gets that of
 * the operators. Returns 0, or a negative errno, reported.
 */
int socket_groups_find(const struct config *config, struct telemetry_options *options,
	const struct complaint_sink *to);

#endif
