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
#include <sys/types.h>
#include <time.h>

#include "change.h"
#include "requester.h"

/* Outcomes that are remembered beside that of the last change. */
#define RELOAD_OUTCOMES 16

struct instance;

/* How the last one ended. */
struct reload_outcome {
	bool known;           /* there has been one */
	int error;            /* 0, or the negative errno of a refusal, which changed nothing */
	struct timespec when; /* wall clock */
	uint64_t took_ns;     /* until it was in force, or refused */
	unsigned added, removed, changed, unchanged;
	char who[REQUESTER_BYTES]; /* "alice (uid 1000)", or without a name */
	char *messages;            /* warnings and errors, a line each; never NULL when known */
	const char *what;          /* a word: "reload", "apply" */
	uint64_t serial;           /* of the change */
	int kept_error; /* it is in force, but not kept as the last good one, or not said: why */
};

/* A box without a file has nothing to reload. Returns 0 or a negative errno. */
int reload_start(struct instance *inst);

/*
 * Before workers stop: waits for the thread until then (CLOCK_MONOTONIC), and gives a file up that
 * hangs. instance.left_behind says so: the process must end by _exit() then, since the thread may
 * come back to its configuration.
 */
void reload_settle(struct instance *inst, const struct timespec *until);

/* Workers have stopped. */
void reload_stop(struct instance *inst);

/* What becomes readable when reload_advance() has something to do, or -1. */
int reload_fd(const struct instance *inst);

/*
 * Begins, or remembers to; `by` is how that user has asked for it. Returns "started" or "queued",
 * or NULL if there is nothing to read.
 */
const char *reload_request(struct instance *inst, const char *by, uid_t uid);

/* What reload_request() does, for somebody. */
const char *reload_request_by(
	struct instance *inst, const char *by, const struct change_request *request);

/*
 * Begins another change of what runs, and takes the request over, whatever comes of it; what came
 * of it reload_last_change() tells under its serial number, when it is durable. -ENOSYS: nothing is
 * kept here, so nothing but the file can be in force; -EAGAIN: another change is under way; -EBUSY:
 * one has yet to be confirmed; -EALREADY: none has; -ENOENT: there is none to come back to.
 */
int reload_change(struct instance *inst, struct change_request *request, uint64_t *serial);

/* The last change of any kind, of which this is true; NULL: there was none, or one is under way. */
const struct reload_outcome *reload_last_change(const struct instance *inst);

/*
 * That of this number, if it has ended and RELOAD_OUTCOMES others at most have since, for who asks
 * late: several may change what runs at once. NULL: it is not known.
 */
const struct reload_outcome *reload_change_of(const struct instance *inst, uint64_t serial);

/* When what nobody has confirmed is due to be undone, or UINT64_MAX. */
uint64_t reload_due_ns(const struct instance *inst);

/* Goes on with what is due; does not wait. */
void reload_advance(struct instance *inst);

/* "idle", "reading", "saving" or "finishing", which wants reload_advance() every now and then. */
const char *reload_state(const struct instance *inst);
bool reload_finishing(const struct instance *inst);

/*
 * A worker that is stuck while a reload finishes, or -1. The new policies are in force at
 * the others; what was before is kept until it comes round, and so long another reload waits.
 */
int reload_waits_for(const struct instance *inst);

/*
 * The outcome of the last one that has come to its end, or is committing; NULL if there is nothing
 * to read.
 */
const struct reload_outcome *reload_last(const struct instance *inst);

#endif
