/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The groups of the control socket: who may read, and who may change.
 */
#ifndef WEIR_APP_SOCKET_GROUPS_H
#define WEIR_APP_SOCKET_GROUPS_H

#include "policy/complaint.h"
#include "policy/config.h"
#include "telemetry/server.h"

/*
 * Looks up the groups that the configuration names; the socket's is the operators' where it names
 * no other. 0, or a negative errno, reported.
 */
int socket_groups_find(const struct config *config, struct telemetry_options *options,
	const struct complaint_sink *to);

#endif
