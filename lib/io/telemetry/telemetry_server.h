/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Shared by the files of the telemetry server: socket.c has the path, server.c the clients,
 * protocol.c the requests, json_text.c the text of large replies. Other rooms do not include this.
 */
#ifndef WEIR_TELEMETRY_TELEMETRY_SERVER_H
#define WEIR_TELEMETRY_TELEMETRY_SERVER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "telemetry/server.h"

#define TELEMETRY_MAX_REQUEST 4096 /* bytes; a longer request gets a null reply */
#define TELEMETRY_MAX_ECHO    64   /* bytes of an unknown command that are returned as the key */

struct telemetry_stats {
	uint64_t accepted;
	uint64_t refused; /* closed immediately: no client slot or no descriptor was left */
	uint64_t requests;
	uint64_t null_replies; /* including oversize ones */
	uint64_t oversize;     /* replies longer than TELEMETRY_MAX_OUTPUT */
	uint64_t slow_clients; /* closed because they did not read */
	uint64_t denied;       /* requests for a change by peers without that right */
	uint64_t cut_turns;    /* calls that ended with clients waiting: no budget left */
	uint64_t longest_ns;   /* longest call */
};

struct telemetry_client {
	int fd; /* -1: closed; removed at the end of the call */
	struct telemetry_peer peer;
};

struct telemetry_server {
	struct telemetry_options options;
	int listener;
	int taken, given; /* descriptors received with a request, and sent with its reply; or -1 */
	char *text;       /* set by the handler as the value of the reply; or NULL */
	int spare; /* closed to accept and close a client when no descriptor is left; or -1 */
	unsigned n_clients;
	unsigned first; /* index of the client that is served first */
	struct telemetry_client clients[TELEMETRY_MAX_CLIENTS]; /* in order of their connects */
	const struct telemetry_peer *asker; /* peer of the present request, or NULL */
	struct telemetry_stats stats;
	uint64_t denied_reported,
		denied_ns; /* denials reported so far, and time of the last report */
	struct sockaddr_un address;
	struct stat file; /* socket that we bound; only this one is removed */
};

struct telemetry_reply {
	char *text; /* for free(); NULL: no memory */
	bool null;
	bool oversize;
	const char *denied; /* path of a denied command; NULL: not denied */
};

/* Looks up the request and renders the handler's result. Counts nothing. */
struct telemetry_reply telemetry_reply(struct telemetry_server *server,
	const struct telemetry_peer *peer, const char *request, size_t len);

/* Returns the value of /info, which is also the greeting of a new client. */
json_t *telemetry_greeting(void);

/* 15 digits, because with 17, which a double can need, 0.1 becomes 0.10000000000000001. */
#define TELEMETRY_TEXT_FLAGS (JSON_COMPACT | JSON_REAL_PRECISION(15) | JSON_ENCODE_ANY)

/* Returns the text of a value for the socket, for free(); NULL if it cannot be written. */
char *telemetry_text(const json_t *value);

/*
 * Creates the listening socket, its file and, if necessary, the last directory above it. Returns
 * the descriptor or a negative errno; *file then identifies the socket's file.
 */
int telemetry_socket(const char *path, const struct telemetry_group *group,
	struct sockaddr_un *address, struct stat *file);

/*
 * Changes the group of the socket's file, unless another file has its name. Returns 0 or a negative
 * errno.
 */
int telemetry_chgrp(const struct sockaddr_un *address, const struct stat *file, gid_t gid);

/* Removes the socket's file unless it was replaced by another. */
void telemetry_unlink(const struct sockaddr_un *address, const struct stat *file);

#endif
