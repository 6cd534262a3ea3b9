/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * A client of the DPDK telemetry v2 protocol (doc/operate/telemetry.md) on a Unix SOCK_SEQPACKET
 * socket.
 */
#ifndef WEIR_WEIRCTL_CLIENT_H
#define WEIR_WEIRCTL_CLIENT_H

#include <stddef.h>

#include "source.h"

struct client {
	struct source source;
	int fd;
	size_t room; /* for one reply, as the server has announced */
	char *reply;
	json_t *greeting;
};

/* Connects and reads the greeting. 0, what source.ask() may say, or what connect(2) does. */
int client_open(struct client *client, const char *path);

void client_close(struct client *client);

#endif
