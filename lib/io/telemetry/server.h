/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The DPDK telemetry v2 protocol on a Unix SOCK_SEQPACKET socket: so that dpdk-telemetry.py and
 * every other client of that protocol can watch a limiter. Single thread (control): the owner polls
 * the descriptors and calls telemetry_serve(); nothing here blocks.
 */
#ifndef WEIR_TELEMETRY_SERVER_H
#define WEIR_TELEMETRY_SERVER_H

#include <poll.h>
#include <stddef.h>

#include <jansson.h>

#define TELEMETRY_MAX_OUTPUT  16384 /* bytes of one reply; larger tables page by parameter */
#define TELEMETRY_MAX_CLIENTS 64
#define TELEMETRY_MAX_FDS     (TELEMETRY_MAX_CLIENTS + 1)
#define TELEMETRY_PAGE        64 /* names in one page of a listing */

/*
 * Builds the value of a reply: a new reference, or NULL for a null reply (unknown parameter).
 * params is what stood after the first comma, or NULL.
 */
typedef json_t *(*telemetry_handler)(const char *params, void *context);

enum telemetry_params {
	TELEMETRY_PARAMS, /* what stands after the comma is the handler's to judge */
	TELEMETRY_ALONE,  /* with any the reply is null, and the handler is not called */
};

struct telemetry_command {
	const char *path; /* "/weir/policies" */
	const char *help; /* one sentence, for /help */
	telemetry_handler handler;
	enum telemetry_params params;
};

struct telemetry_server;

/*
 * Listens on path with mode 0660 (set by umask before bind, so that it is never wider). A socket
 * file left by a dead process is replaced; one that still answers is -EADDRINUSE. "/", "/help" and
 * "/info" are built in. tables: n tables, each ended by a row with a NULL path; kept by pointer.
 */
int telemetry_listen(const char *path, const struct telemetry_command *const *tables, unsigned n,
	void *context, struct telemetry_server **out);

/* Writes the descriptors to wait for (at most TELEMETRY_MAX_FDS) and returns their number. */
unsigned telemetry_pollfds(const struct telemetry_server *server, struct pollfd *fds);

/* Accepts, reads and answers what is ready now: at most one request a client and call. */
void telemetry_serve(struct telemetry_server *server);

/* Answers one request: the text of the reply (free() it), never NULL unless out of memory. */
char *telemetry_answer(const struct telemetry_server *server, const char *request, size_t len);

/* Closes every client and removes the socket file. */
void telemetry_close(struct telemetry_server *server);

/* /ethdev/list, /ethdev/stats,N, /ethdev/xstats,N, /ethdev/info,N, /ethdev/link_status,N */
extern const struct telemetry_command telemetry_ethdev[];

#endif
