/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The file is read again and its policies are put in force, at somebody's request: SIGHUP or a
 * client. To read and to build takes about a second at 100,000 policies, which is why a thread of
 * its own does it, on control's CPU; control ticks, gossips and answers meanwhile. One at a time; a
 * request during one makes another one after it. Control, all of it.
 */
#ifndef WEIR_APP_RELOAD_H
#define WEIR_APP_RELOAD_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

struct instance;

/* How the last one ended. */
struct reload_outcome {
	bool known;           /* there has been one */
	int error;            /* 0, or the negative errno of a refusal, which changed nothing */
	struct timespec when; /* wall clock */
	uint64_t took_ns;     /* until it was in force, or refused */
	unsigned added, removed, changed, unchanged;
	char *messages; /* warnings and errors, a line each; never NULL when known */
};

/* A box without a file has nothing to reload. Returns 0 or a negative errno. */
int reload_start(struct instance *inst);

/* Workers have stopped; waits for the thread. */
void reload_stop(struct instance *inst);

/* What becomes readable when reload_advance() has something to do, or -1. */
int reload_fd(const struct instance *inst);

/* Begins, or remembers to. Returns "started" or "queued", or NULL if there is nothing to read. */
const char *reload_request(struct instance *inst);

/* Goes on with what is due; does not wait. */
void reload_advance(struct instance *inst);

/* "idle", "reading" or "committing", which wants reload_advance() every now and then. */
const char *reload_state(const struct instance *inst);
bool reload_finishing(const struct instance *inst);

/*
 * The outcome of the last one that has come to its end, or is committing; NULL if there is nothing
 * to read.
 */
const struct reload_outcome *reload_last(const struct instance *inst);

#endif
