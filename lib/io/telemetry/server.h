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
#include <stdint.h>

#include <jansson.h>

#include "telemetry/peer.h"

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

/* A row that says nothing is guarded. */
enum telemetry_effect {
	TELEMETRY_CHANGES, /* only for peers that may change something, see peer.h */
	TELEMETRY_READS,   /* for all that get to the socket */
};

struct telemetry_command {
	const char *path; /* "/weir/policies" */
	const char *help; /* one sentence, for /help */
	telemetry_handler handler;
	enum telemetry_params params;
	enum telemetry_effect effect;
};

/* All that it points at is kept by pointer. */
#define TELEMETRY_DENIED_NS UINT64_C(1000000000)

struct telemetry_options {
	const char *path;
	const struct telemetry_command *const *tables; /* each ended by a row with a NULL path */
	unsigned n_tables;
	void *context;                    /* of the handlers */
	struct telemetry_group group;     /* of the socket's file; none: the process's */
	struct telemetry_group operators; /* who may change something, beside root and ourselves */
	uint64_t (*now_ns)(void);         /* monotonic */
	uint64_t
		budget_ns; /* a call of telemetry_serve() begins no request after that, see there */
	/*
	 * Told of a command that was refused to somebody who may not change anything; at most once
	 * in TELEMETRY_DENIED_NS, with how many there were since the last time. NULL: nobody is.
	 */
	void (*denied)(uid_t uid, const char *command, uint64_t n);
};

struct telemetry_server;

/*
 * Whether a socket could be made there, as far as can be seen without making anything: 0, or a
 * negative errno. -EADDRINUSE: somebody listens there; -EEXIST: something else has the name.
 */
int telemetry_look(const char *path);

/*
 * Listens with mode 0660 (set by umask before bind, so that it is never wider; the group is set
 * before anybody can connect). A socket file left by a dead process is replaced; one that still
 * answers is -EADDRINUSE. "/", "/help" and "/info" are built in.
 */
int telemetry_listen(const struct telemetry_options *options, struct telemetry_server **out);

/*
 * Gives the socket to another group (none: this process's), and the right to change something to
 * other operators; both variables then have the previous ones. Connected clients get these rights,
 * too, and lose their connection with the right to read. Returns 0, or a negative errno without a
 * change. Not within a handler.
 */
int telemetry_regroup(struct telemetry_server *server, struct telemetry_group *group,
	struct telemetry_group *operators);

/* Writes the descriptors to wait for (at most TELEMETRY_MAX_FDS) and returns their number. */
unsigned telemetry_pollfds(const struct telemetry_server *server, struct pollfd *fds);

/*
 * Accepts, reads and answers what is ready now: at most one request a client and call, and none is
 * begun once the time budget is used up, but for the first. So a call takes no longer than the
 * budget and one request; whoever had to wait is the first of the next call.
 */
void telemetry_serve(struct telemetry_server *server);

/*
 * Answers one request of somebody who may change things: the text of the reply (free() it), never
 * NULL unless out of memory.
 */
char *telemetry_answer(struct telemetry_server *server, const char *request, size_t len);

/* Within a handler: whoever has asked; ourselves where nobody is connected, or without a server. */
uid_t telemetry_asker(const struct telemetry_server *server);

/*
 * For a handler, of the request that it answers: who asks; the descriptor that came along with it
 * (SCM_RIGHTS), which is the handler's to close from then on, or -1; and one that goes along with
 * the reply, which stays the handler's. Without a server (NULL) it is this process that asks.
 */
struct telemetry_peer telemetry_caller(const struct telemetry_server *server);
int telemetry_take_descriptor(struct telemetry_server *server);
void telemetry_give_descriptor(struct telemetry_server *server, int fd);

/*
 * For a handler with a large reply: gives the value as JSON text instead (telemetry/json_text.h).
 * Takes over the text, for free(); NULL is a null reply. Returns the result for the handler to
 * return. Without a server (NULL) that is the parsed value.
 */
json_t *telemetry_give_text(struct telemetry_server *server, char *text);

/* Bytes that a value takes in a reply. */
size_t telemetry_length(const json_t *value);

/* Closes every client and removes the socket file. */
void telemetry_close(struct telemetry_server *server);

/* /ethdev/list, /ethdev/stats,N, /ethdev/xstats,N, /ethdev/info,N, /ethdev/link_status,N */
extern const struct telemetry_command telemetry_ethdev[];

#endif
