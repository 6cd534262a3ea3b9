/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * A client of the DPDK telemetry v2 protocol (doc/operate/telemetry.md) on a Unix SOCK_SEQPACKET
 * socket.
 */
#ifndef WEIR_ASK_CLIENT_H
#define WEIR_ASK_CLIENT_H

#include <stddef.h>

#include "ask/source.h"

struct client {
	struct source source;
	int fd;
	double until_s;    /* when all answers together have to be there; 0: each by itself */
	double patience_s; /* for each answer */
	int given, taken;  /* descriptors with the request and its answer; -1 */
	size_t room;       /* for one reply, as the server has announced */
	char *reply;
	json_t *greeting;
};

/* Connects and reads the greeting. 0, what source.ask() may say, or what connect(2) does. */
int client_open(struct client *client, const char *path);

/* Is as client_open(), and waits so long for each answer. */
int client_open_patient(struct client *client, const char *path, double seconds);

/*
 * Is as client_open(), and says -ETIMEDOUT at latest after so many milliseconds, whatever is asked
 * in between, and however slowly it is answered.
 */
int client_open_until(struct client *client, const char *path, unsigned ms);

void client_close(struct client *client);

#endif
