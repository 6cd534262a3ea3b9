/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The DPDK telemetry v2 protocol on a Unix SOCK_SEQPACKET socket. So dpdk-telemetry.py and every
 * other client of that protocol can watch a limiter. Single thread (control): the owner polls the
 * descriptors and calls telemetry_serve(); nothing here blocks.
 */
#ifndef WEIR_TELEMETRY_SERVER_H
#define WEIR_TELEMETRY_SERVER_H

#include <stdbool.h>

#include <poll.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <jansson.h>

/* --- peer ------------------------------------------------------------------------------------- */

/*
 * The process at the other end of the socket, identified by the kernel, and its rights. Every
 * process that can open the socket can read; the mode of its file controls that. Changes require
 * more.
 */

struct telemetry_group {
	char name[64]; /* "": no group, and gid has no meaning */
	gid_t gid;
};

struct telemetry_peer {
	uid_t uid; /* at the time of the connect, in our user namespace */
	gid_t gid;
	pid_t pid; /* process that connected; it might have ended */
	bool may_change;
};

/* Looks up a group by name. Returns 0, -ENOENT (no such group) or another negative errno. */
int telemetry_group_find(const char *name, struct telemetry_group *group);

/*
 * Returns the peer of a connected Unix socket. Changes are possible for root, our own user, and
 * members of the operators' group, by any of their groups. If the kernel does not return the
 * identity, the peer has no rights.
 */
struct telemetry_peer telemetry_peer(int fd, const struct telemetry_group *operators);

/* Returns true if the peer of a connected socket is a member of the group, by any of its groups. */
bool telemetry_is_member(int fd, const struct telemetry_peer *peer, gid_t gid);

/*
 * Builds the reply to a command without the right to it: {"denied": ..., "uid": ..., "needs": ...}.
 */
json_t *telemetry_denial(
	const struct telemetry_peer *peer, const struct telemetry_group *operators);

#define TELEMETRY_MAX_OUTPUT  16384 /* bytes of one reply; a parameter selects pages */
#define TELEMETRY_MAX_CLIENTS 64
#define TELEMETRY_MAX_FDS     (TELEMETRY_MAX_CLIENTS + 1)
#define TELEMETRY_PAGE        64 /* names in one page of a listing */

/*
 * Builds the value of a reply: a new reference, or NULL for a null reply (unknown parameter).
 * params is the text after the first comma, or NULL.
 */
typedef json_t *(*telemetry_handler)(const char *params, void *context);

enum telemetry_params {
	TELEMETRY_PARAMS, /* the handler checks the parameters */
	TELEMETRY_ALONE,  /* with parameters the reply is null, without a call of the handler */
};

/* Effect of a command. The default requires the right to change something. */
enum telemetry_effect {
	TELEMETRY_CHANGES, /* only for peers with this right */
	TELEMETRY_READS,   /* for all peers */
};

struct telemetry_command {
	const char *path; /* "/weir/policies" */
	const char *help; /* one sentence, for /help */
	telemetry_handler handler;
	enum telemetry_params params;
	enum telemetry_effect effect;
};

/* The server stores pointers, not copies. */
#define TELEMETRY_DENIED_NS UINT64_C(1000000000)

struct telemetry_options {
	const char *path;
	const struct telemetry_command *const *tables; /* each ends with a row with a NULL path */
	unsigned n_tables;
	void *context;                    /* for the handlers */
	struct telemetry_group group;     /* owner of the socket's file; none: our own group */
	struct telemetry_group operators; /* can change things, in addition to root and our user */
	uint64_t (*now_ns)(void);         /* monotonic */
	uint64_t budget_ns;               /* a call of telemetry_serve() starts no request later */
	/*
	 * Called for a denied command, at most once in TELEMETRY_DENIED_NS, with the number of
	 * denials since the last call. NULL: not called.
	 */
	void (*denied)(uid_t uid, const char *command, uint64_t n);
};

struct telemetry_server;

/*
 * Checks if a socket could be created at a path, without creating anything. Returns 0 or a negative
 * errno. -EADDRINUSE: a process listens there; -EEXIST: another file has the name.
 */
int telemetry_look(const char *path);

/*
 * Creates the socket with mode 0660. umask sets it before bind, so that it is never wider, and the
 * group is set before listen. Replaces the socket file of a dead process. Returns 0, -EADDRINUSE if
 * a process still answers, or another negative errno. "/", "/help" and "/info" are built in.
 */
int telemetry_listen(const struct telemetry_options *options, struct telemetry_server **out);

/*
 * Changes the group of the socket (none: our own group), and the operators that can change things.
 * Both variables then have the previous values. Connected clients get the new rights, and lose
 * their connection together with the right to read. Returns 0, or a negative errno without a
 * change. Do not call it within a handler.
 */
int telemetry_regroup(struct telemetry_server *server, struct telemetry_group *group,
	struct telemetry_group *operators);

/* Writes the descriptors to wait for (at most TELEMETRY_MAX_FDS) and returns their number. */
unsigned telemetry_pollfds(const struct telemetry_server *server, struct pollfd *fds);

/*
 * Accepts, reads and answers all that is ready now, at most one request per client and call. After
 * the time budget it starts no further request, so a call takes at most the budget and one request.
 * The first client that had to wait is the first of the next call.
 */
void telemetry_serve(struct telemetry_server *server);

/*
 * Answers one request with the right to change things. Returns the text of the reply for free();
 * NULL only without memory.
 */
char *telemetry_answer(struct telemetry_server *server, const char *request, size_t len);

/*
 * Returns the user of the present request, for a handler. Without a client or a server it is our
 * own user.
 */
uid_t telemetry_asker(const struct telemetry_server *server);

/*
 * For handlers: the peer and the descriptors of the present request.
 *
 * - telemetry_caller() returns the peer; without a server (NULL) it is this process.
 * - telemetry_take_descriptor() returns the descriptor received with the request (SCM_RIGHTS), or
 *   -1. The handler then closes it.
 * - telemetry_give_descriptor() sends one with the reply; it stays the handler's.
 */
struct telemetry_peer telemetry_caller(const struct telemetry_server *server);
int telemetry_take_descriptor(struct telemetry_server *server);
void telemetry_give_descriptor(struct telemetry_server *server, int fd);

/*
 * For a handler with a large reply: sets the value as JSON text (telemetry/json_text.h). Takes over
 * the text, for free(); NULL is a null reply. Returns the value that the handler returns. Without a
 * server (NULL) that is the parsed text.
 */
json_t *telemetry_give_text(struct telemetry_server *server, char *text);

/* Returns the bytes of a value in a reply. */
size_t telemetry_length(const json_t *value);

/* Closes every client and removes the socket file. */
void telemetry_close(struct telemetry_server *server);

/* /ethdev/list, /ethdev/stats,N, /ethdev/xstats,N, /ethdev/info,N, /ethdev/link_status,N */
extern const struct telemetry_command telemetry_ethdev[];

#endif
