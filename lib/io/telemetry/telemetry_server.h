/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Shared by the files of the telemetry server: socket.c owns the path, server.c the clients,
 * protocol.c the meaning of a request, json_text.c the text of large replies. Other rooms do not
 * include this.
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
	uint64_t denied;       /* requests for a change by peers that may not */
	uint64_t cut_turns;  /* calls that left somebody for the next one: the budget was used up */
	uint64_t longest_ns; /* that a call took */
};

struct telemetry_client {
	int fd; /* -1: closed, and taken off the list at the end of the call */
	struct telemetry_peer peer;
};

struct telemetry_server {
	struct telemetry_options options;
	int listener;
	int taken, given; /* descriptors that came with it, and go with its reply; or -1 */
	char *text;       /* given by the handler as the value of the reply; or NULL */
	int spare; /* given up to accept and close a client when no descriptor is left; or -1 */
	unsigned n_clients;
	unsigned first; /* of the clients, whose turn it is before all others */
	struct telemetry_client clients[TELEMETRY_MAX_CLIENTS]; /* in the order of their coming */
	const struct telemetry_peer *asker; /* of the request that is being answered, or NULL */
	struct telemetry_stats stats;
	uint64_t denied_told, denied_ns; /* of those, how many were told of, and when the last */
	struct sockaddr_un address;
	struct stat file; /* of the socket that we bound: only that one is removed */
};

struct telemetry_reply {
	char *text; /* free() it; NULL when out of memory */
	bool null;
	bool oversize;
	const char *denied; /* path of a command that was not given; NULL: none was */
};

/* Looks the request up and renders what its handler returns. Counts nothing. */
struct telemetry_reply telemetry_reply(struct telemetry_server *server,
	const struct telemetry_peer *peer, const char *request, size_t len);

/* The value of /info, which is also what a new client is greeted with. */
json_t *telemetry_greeting(void);

/* 15 digits, because the 17 that a double may need turn 0.1 into 0.10000000000000001. */
#define TELEMETRY_TEXT_FLAGS (JSON_COMPACT | JSON_REAL_PRECISION(15) | JSON_ENCODE_ANY)

/* The text of a value as it goes on the wire: free() it, NULL if it cannot be written. */
char *telemetry_text(const json_t *value);

/*
 * Makes the listening socket, its file and, if need be, the last directory above it. Returns the
 * descriptor or a negative errno; *file then identifies the socket's file.
 */
int telemetry_socket(const char *path, const struct telemetry_group *group,
	struct sockaddr_un *address, struct stat *file);

/* Gives the socket's file to a group, unless another file has its name. 0 or a negative errno. */
int telemetry_chgrp(const struct sockaddr_un *address, const struct stat *file, gid_t gid);

/* Removes the socket's file unless somebody put another in its place. */
void telemetry_unlink(const struct sockaddr_un *address, const struct stat *file);

#endif
