/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Reads the file again and puts its policies in force, at SIGHUP or at a client's request; and
 * other changes of the configuration (change.h). At 100,000 policies that takes about a second. A
 * thread of its own does it on control's CPU, while control ticks, gossips and answers. One change
 * at a time. A reload that is requested during another change follows it. All functions: control.
 */
#ifndef WEIR_APP_RELOAD_H
#define WEIR_APP_RELOAD_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

#include "change.h"
#include "machine_errors.h"

/* Number of outcomes that are remembered before the last change. */
#define RELOAD_OUTCOMES 16

struct instance;

/* Outcome of a change. */
struct reload_outcome {
	bool known;           /* false: there was none */
	int error;            /* 0, or the negative errno of a refusal, which changed nothing */
	struct timespec when; /* wall clock */
	uint64_t took_ns;     /* until it was in force or refused */
	unsigned added, removed, changed, unchanged;
	char who[REQUESTER_BYTES]; /* "alice (uid 1000)", or without a name */
	char *messages;            /* warnings and errors, one a line; never NULL if `known` */
	const char *what;          /* kind: "reload", "apply" */
	uint64_t serial;           /* number of the change */
	bool superseded;           /* refused, but without a need to act: see reload_last() */
	int kept_error; /* in force, but not durable: why the record or the history is not kept */
};

/* Does nothing without a file to reload. Returns 0 or a negative errno. */
int reload_start(struct instance *inst);

/*
 * Called before the workers stop: waits for the thread until a time of CLOCK_MONOTONIC. A thread
 * that hangs on a file is abandoned, and instance.left_behind is set. The process must then end by
 * _exit(), because the thread can still use the configuration.
 */
void reload_settle(struct instance *inst, const struct timespec *until);

/* Called after the workers have stopped. */
void reload_stop(struct instance *inst);

/* Returns a descriptor that becomes readable when reload_advance() has work, or -1. */
int reload_fd(const struct instance *inst);

/*
 * Begins a reload, or queues one; `by` is the way of the request. Returns "started" or "queued", or
 * NULL if there is no file.
 */
const char *reload_request(struct instance *inst, const char *by, uid_t uid);

/* Does the same with the requester's details. */
const char *reload_request_by(
	struct instance *inst, const char *by, const struct change_request *request);

/*
 * Begins another kind of change. Takes the request over, also on errors. The outcome is available
 * by the serial number once it is durable. Returns 0 or:
 *
 * - -ENOSYS: no state directory, so only the file can be in force
 * - -EAGAIN: another change is under way
 * - -EBUSY: a change must be confirmed first
 * - -EALREADY: no change waits for confirmation
 * - -ENOENT: there is nothing to return to
 */
int reload_change(struct instance *inst, struct change_request *request, uint64_t *serial);

/* Returns the outcome of the last change of any kind; NULL: there was none, or one is under way. */
const struct reload_outcome *reload_last_change(const struct instance *inst);

/*
 * Returns the outcome of a change by its number, if it has ended, and at most RELOAD_OUTCOMES
 * others have since. A client can poll late, while others make changes. NULL: not available.
 */
const struct reload_outcome *reload_change_of(const struct instance *inst, uint64_t serial);

/* Returns when an unconfirmed change is due to be undone, or UINT64_MAX. */
uint64_t reload_due_ns(const struct instance *inst);

/* Continues due work; does not wait. */
void reload_advance(struct instance *inst);

/*
 * Returns "idle", "reading", "saving" or "finishing"; the last needs regular calls of
 * reload_advance().
 */
const char *reload_state(const struct instance *inst);
bool reload_finishing(const struct instance *inst);

/*
 * Returns a stalled worker that a finishing reload waits for, or -1. The new policies are in force
 * on the other workers. The previous ones are kept until it runs again, and so is the next reload.
 */
int reload_waits_for(const struct instance *inst);

/*
 * Returns the outcome of the last reload that has ended or is committing; NULL if there is no file.
 * A refusal is superseded if only an unconfirmed change was in its way, or if another configuration
 * has been applied and confirmed since, or an earlier one rolled back to.
 */
const struct reload_outcome *reload_last(const struct instance *inst);

#endif
