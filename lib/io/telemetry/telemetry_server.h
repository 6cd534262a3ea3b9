/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * What the three files of the telemetry server share: socket.c owns the path, server.c the
 * clients, protocol.c the meaning of a request. Nobody else includes this.
 */
#ifndef WEIR_TELEMETRY_TELEMETRY_SERVER_H
#define WEIR_TELEMETRY_TELEMETRY_SERVER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "telemetry/server.h"

#define TELEMETRY_MAX_REQUEST 4096 /* bytes; a longer request gets a null reply */
#define TELEMETRY_MAX_ECHO    64   /* bytes of an unknown command that come back as the key */

struct telemetry_stats {
	uint64_t accepted;
	uint64_t refused; /* closed at once: no client slot or no descriptor was left */
	uint64_t requests;
	uint64_t null_replies; /* oversize ones included */
	uint64_t oversize;     /* the reply would have been longer than TELEMETRY_MAX_OUTPUT */
	uint64_t slow_clients; /* closed because they did not read */
};

struct telemetry_server {
	const struct telemetry_command *const *tables;
	unsigned n_tables;
	void *context;
	int listener;
	int spare; /* given up to accept and close a client when no descriptor is left; or -1 */
	unsigned n_clients;
	int clients[TELEMETRY_MAX_CLIENTS];
	struct telemetry_stats stats;
	struct sockaddr_un address;
	struct stat file; /* of the socket that we bound: only that one is removed */
};

struct telemetry_reply {
	char *text; /* free() it; NULL when out of memory */
	bool null;
	bool oversize;
};

/* Looks the request up and renders what its handler returns. Counts nothing. */
struct telemetry_reply telemetry_reply(
	const struct telemetry_server *server, const char *request, size_t len);

/* The value of /info, which is also what a new client is greeted with. */
json_t *telemetry_greeting(void);

/* The text of a value as it goes on the wire: free() it, NULL if it cannot be written. */
char *telemetry_text(const json_t *value);

/*
 * Makes the listening socket, its file and, if need be, the last directory above it. Returns the
 * descriptor or a negative errno; *file then identifies the socket's file.
 */
int telemetry_socket(const char *path, struct sockaddr_un *address, struct stat *file);

/* Removes the socket's file unless somebody put another in its place. */
void telemetry_unlink(const struct sockaddr_un *address, const struct stat *file);

#endif
