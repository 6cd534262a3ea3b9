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

struct box;

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
int reload_start(struct box *box);

/* Workers have stopped; waits for the thread. */
void reload_stop(struct box *box);

/* What becomes readable when reload_advance() has something to do, or -1. */
int reload_fd(const struct box *box);

/* Begins, or remembers to. Returns "started" or "queued", or NULL if there is nothing to read. */
const char *reload_request(struct box *box);

/* Goes on with what is due; does not wait. */
void reload_advance(struct box *box);

/* "idle", "reading" or "settling", which wants reload_advance() every now and then. */
const char *reload_state(const struct box *box);
bool reload_settling(const struct box *box);

/*
 * The outcome of the last one that has come to its end, or is settling; NULL if there is nothing to
 * read.
 */
const struct reload_outcome *reload_last(const struct box *box);

#endif
