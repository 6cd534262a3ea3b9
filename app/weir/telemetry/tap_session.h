/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Taps of all workers, for who watches packets: one such session at a time, of whatever kind. Who
 * has begun one reads it again and again; when he has not for some seconds it ends, whether he has
 * said so or not. Control.
 */
#ifndef WEIR_APP_TAP_SESSION_H
#define WEIR_APP_TAP_SESSION_H

#include <stdbool.h>
#include <stdint.h>

#include <jansson.h>

#include "policy/config.h"

struct instance;
struct tap;

struct tap_session {
	uint64_t number;
	bool by_lot; /* who sends is told, and not packets */
	unsigned n;
	struct tap *taps[CONFIG_WORKERS_MAX]; /* what workers may be at */
	bool ending;                          /* workers have been told that there is none */
	uint64_t moment;                      /* by then they have left it: publisher_moment() */
	unsigned first;                       /* worker that is read first the next time */
	uint64_t left;                        /* packets that are still wanted */
	uint64_t began_ns, end_ns;            /* by control_now(); UINT64_MAX: nobody has said */
	uint64_t end_tick;                    /* that, as workers read it */
	uint64_t lease_tick;                  /* nobody has read it until then: it is over */
	struct tap_record *record;            /* room for one of a capture */
};

/* {"refused": why}. */
json_t *tap_session_refuse(const char *why);

/* A number from 1 to `most`; false: it is none. */
bool tap_session_number(const char *text, uint64_t most, uint64_t *out);

/* The slot of a policy, "-" of none; false: there is none of that name. */
bool tap_session_slot(struct instance *inst, const char *name, uint32_t *slot);

/* The name of the policy that a slot is of now; NULL: of none. */
const char *tap_session_policy(const struct instance *inst, uint32_t slot);

/*
 * Makes room for another: a session without taps, for so many seconds (0: until it is ended). NULL:
 * there is one that is not over yet, or no memory (*busy says which).
 */
struct tap_session *tap_session_new(
	struct instance *inst, bool by_lot, uint64_t seconds, bool *busy);

/*
 * Puts its taps before the workers. False: session->n says that one is missing, or there is no room
 * for a record of a capture; all is freed.
 */
bool tap_session_start(struct instance *inst, struct tap_session *session);

/* The session of that kind whose number the parameter is, if it is read still; else NULL. */
struct tap_session *tap_session_find(struct instance *inst, const char *params, bool by_lot);

/* Somebody is there: it goes on for some seconds, but not beyond its end. Whether that is past. */
bool tap_session_renew(struct instance *inst, struct tap_session *session);

/* Workers leave it in their next turn; then it is freed. */
void tap_session_leave(struct instance *inst, struct tap_session *session);

/* Ends one, if there is any, and frees it if no worker may be at it any more. */
void tap_session_stop(struct instance *inst);

#endif
