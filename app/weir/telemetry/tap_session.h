/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Taps of all workers, for a client that watches packets: one session at a time, of either kind.
 * The client reads it repeatedly; after some seconds without a read the session ends. Control.
 */
#ifndef WEIR_APP_TAP_SESSION_H
#define WEIR_APP_TAP_SESSION_H

#include <stdbool.h>
#include <stdint.h>

#include <jansson.h>

#include "policy/config.h"
#include "unknown_name.h"

struct instance;
struct tap;

struct tap_session {
	uint64_t number;
	bool by_lot; /* samples of senders; otherwise packets */
	unsigned n;
	struct tap *taps[CONFIG_WORKERS_MAX]; /* workers can write to them */
	bool ending;                          /* workers no longer get a tap */
	uint64_t moment;                      /* publisher_moment() that ends their last use */
	unsigned first;                       /* the worker that is read first the next time */
	uint64_t left;                        /* packets to come */
	uint64_t began_ns, end_ns;            /* by control_now(); UINT64_MAX: no end is given */
	uint64_t end_tick;                    /* end_ns in ticks, for workers */
	uint64_t lease_tick;       /* the session ends here unless the client reads it before */
	struct tap_record *record; /* room for one record of a capture */
};

/* {"refused": why}. */
json_t *tap_session_refuse(const char *why);

/* Reads `key`, a number from 1 to `most`. Returns NULL, or the message about it in `why`. */
const char *tap_session_number(const char *key, const char *text, uint64_t most, uint64_t *out,
	char why[UNKNOWN_NAME_MAX]);

/* Finds the slot of a policy, or of none ("-"). Returns NULL, or the message about it in `why`. */
const char *tap_session_slot(
	struct instance *inst, const char *name, uint32_t *slot, char why[UNKNOWN_NAME_MAX]);

/* Returns the name of the policy that has the slot now; NULL: it is free. */
const char *tap_session_policy(const struct instance *inst, uint32_t slot);

/*
 * Creates a session without taps, for `seconds` (0: until the client ends it). NULL: another one is
 * not over yet (*busy is true), or there is no memory.
 */
struct tap_session *tap_session_new(
	struct instance *inst, bool by_lot, uint64_t seconds, bool *busy);

/*
 * Gives the taps to the workers. False: a tap or the record is missing for want of memory, and the
 * session is freed.
 */
bool tap_session_start(struct instance *inst, struct tap_session *session);

/* Returns the session of that kind and number, if it is still read; otherwise NULL. */
struct tap_session *tap_session_find(struct instance *inst, const char *params, bool by_lot);

/* Extends it by some seconds, but not beyond its end. Returns true if that is past. */
bool tap_session_renew(struct instance *inst, struct tap_session *session);

/* Ends it: workers stop in their next turn, and then it is freed. */
void tap_session_leave(struct instance *inst, struct tap_session *session);

/* Ends the session, if there is one, and frees it if no worker can use it any more. */
void tap_session_stop(struct instance *inst);

#endif
