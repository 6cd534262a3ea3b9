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
	double until_s;    /* deadline of all answers together; 0: each has patience_s */
	double patience_s; /* for each answer */
	int given, taken;  /* descriptors sent with the request and received with its answer; -1 */
	size_t room;       /* largest reply, as announced by the server */
	char *reply;
	json_t *greeting;
};

/* Seconds of a clock that is never set. */
double steady_s(void);

/*
 * Connects and reads the greeting. Each answer has a timeout of each_s seconds. With all_ms, all
 * answers have one deadline instead: calls return -ETIMEDOUT after that many milliseconds at the
 * latest, however many requests are sent and however slowly the answers arrive. Returns 0, an error
 * of `source.ask()`, or of connect(2).
 */
int client_open(struct client *client, const char *path, double each_s, unsigned all_ms);

void client_close(struct client *client);

#endif
