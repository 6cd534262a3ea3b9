/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The limiters that a program queries. Each has a thread of its own, so that one without answers
 * delays no other. A query connects at most once, and its connection stays open for the next one.
 */
#ifndef WEIR_ASK_TARGETS_H
#define WEIR_ASK_TARGETS_H

#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <time.h>

#include "ask/client.h"
#include "offload/offload.h"

#define TARGETS_DIRECTORY "/run/weir"
#define TARGETS_MAX       512

/* The result of a query. */
struct target_result {
	json_t *document;    /* NULL: none */
	int error;           /* why there is none: a positive errno */
	char *why;           /* `error` in words */
	time_t silent_since; /* 0: it answered */
};

struct target_thread {
	struct offload offload;
	struct offload_job job;
};

struct target {
	char *name, *path;

	/* For the caller, also during a query: */
	struct target_result last;
	bool busy;  /* a query is running */
	bool fresh; /* an answer, or the begin of silence, that the caller has not shown */

	/* For the query, while it is running: */
	struct client client; /* while open; otherwise a source that always fails */
	bool open;
	int error;      /* error of the last open or query: a positive errno */
	json_t *memory; /* state between queries; the end of the connection frees it */
	double began_s, ended_s;
	struct target_result result;
	const struct targets *of;
	struct target_thread *thread; /* NULL: none yet */
};

struct targets {
	struct target *each;
	unsigned n;
	const char *program; /* in messages */
	double timeout_s;    /* for each answer */
	unsigned total_ms;   /* for all answers of a connection together, instead; 0: none */
	double interval_s;   /* from one query to the next; 0: targets_begin() alone begins them */

	/* Queries a limiter: returns 0 and a document or NULL, or an error of source.h. */
	int (*query)(struct target *target, const void *context, json_t **document);

	/* Writes why the query failed. NULL: target_explain(). It can query the limiter. */
	void (*explain)(struct target *target, const void *context, FILE *out);

	const void *context; /* for both */
};

/*
 * Adds a limiter by its socket, its name or both. A missing name is that of the socket's file, and
 * a missing socket is that of the name in TARGETS_DIRECTORY. Returns 0; 1: its name is the path of
 * the socket, because another one has the name; or -EEXIST (the socket is there), -ENOSPC, -ENOMEM.
 */
int targets_add(struct targets *targets, const char *name, const char *path);

/*
 * Adds the limiters of a file such as [{"name": "ams", "socket": "/run/weir/ams.sock"}, …], where
 * the socket is optional. Returns false for a file that is wrong; `err` gets the reason.
 */
bool targets_add_group(struct targets *targets, const char *file, FILE *err);

/* Adds the only socket of a directory. Returns false if there is none or several, as above. */
bool targets_add_only(struct targets *targets, const char *directory, FILE *err);

/*
 * Replaces the limiters by those in the directory, at most `most`. Limiters in both lists stay as
 * they are. No query may be running.
 */
void targets_refresh(struct targets *targets, const char *directory, unsigned most);

/* Waits for running queries. */
void targets_free(struct targets *targets);

/* Returns 0 or a negative errno, which every request to its source then returns. */
int target_open(struct target *target);
void target_close(struct target *target);

/* Writes the socket, the reason for target->error and a remedy: a text without a newline. */
void target_explain(const struct target *target, FILE *out);

/* Begins a query of each limiter that is not busy. */
void targets_begin(struct targets *targets);

/* Returns the number of running queries. */
unsigned targets_busy(const struct targets *targets);

/*
 * Begins the queries that are due. Waits at most `ms` (-1: for ever) until a query has ended or a
 * descriptor is ready, as poll() does.
 */
void targets_wait(struct targets *targets, struct pollfd *fds, unsigned n_fds, int ms);

/* Waits for all running queries. */
void targets_finish(struct targets *targets);

#endif
