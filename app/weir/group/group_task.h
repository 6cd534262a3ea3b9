/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The members of the group, which change while packets flow: by an operator at any limiter, or by a
 * new name in the file of one. Each limiter has the same set (members/members.h), which gossip
 * spreads; a limiter that was added elsewhere is learnt from it. A change takes effect in three
 * steps:
 *
 *     merge    into the set: control
 *     prepare  writes the set to the state directory, and makes the keys for the new roster: a
 *              thread, because both read or write files
 *     commit   exchanges the roster of limiter, socket and telemetry between two datagrams: control
 *
 * A limiter whose file has only some members (gossip.join) passes nothing until it has all: a
 * smaller roster would give it a larger part of each limit. One that was removed passes nothing,
 * either.
 *
 * With a hard limit or a quota the roster is that of the ledger, and cannot change: then an alarm
 * shows the difference. Control thread, where no comment allows others.
 */
#ifndef WEIR_APP_GROUP_TASK_H
#define WEIR_APP_GROUP_TASK_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <time.h>

#include <sys/types.h>

#include "policy/config.h"
#include "members/member_entry.h"
#include "members/members.h"

struct instance;
struct keyring;

/*
 * Start-up module before the limiter: reads the set of the state directory, adds the names of the
 * file, and makes the result the roster of the configuration. A set that cannot be read is
 * reported, and the file's roster holds. Returns 0 or a negative errno.
 */
int group_start(struct instance *inst);
void group_stop(struct instance *inst);

/*
 * Reads the set of a state directory, an open file descriptor. Returns 0, -ENOENT (no set is kept),
 * an error of members_decode() or another negative errno. Any thread.
 */
int group_read_kept(int directory, struct members **out);

/* Waits until the thread has ended; past `until` it is left behind. */
void group_settle(struct instance *inst, const struct timespec *until);

/* The task of the control loop. */
int group_fd(const struct instance *inst);
uint64_t group_next(const struct instance *inst);
bool group_run(struct instance *inst, uint64_t now_ns);

/* Returns true while the thread prepares a roster. No other change of keys may begin then. */
bool group_is_busy(const struct instance *inst);

/*
 * Compares the roster of a new configuration with the group: warns of members that it does not
 * name, and rejects new names with a ledger (-EINVAL, reported to err). Any thread, while no change
 * of the group is prepared.
 */
int group_check_file(const struct instance *inst, const struct config *config, FILE *err);

/* Loads the keys of a new configuration for the present roster, like group_keys_load(). */
int group_load_keys(
	const struct instance *inst, const struct config *config, FILE *err, struct keyring **out);

/*
 * Adds the names of a configuration that is in force now, and takes its addresses, and its keys for
 * later rosters.
 */
void group_take_file(struct instance *inst, const struct gossip_config *file);

enum group_verb { GROUP_ADD, GROUP_REMOVE, GROUP_MOVE };

/* A change by an operator. */
struct group_edit {
	enum group_verb verb;
	struct peer_config peer; /* name; to add: all; to move: the address */
	bool dead;               /* to remove: it has ended and does not return */
};

#define GROUP_TEXT 512

/* Returns true if the change is possible; otherwise writes the reason and the remedy. */
bool group_may(const struct instance *inst, const struct group_edit *edit, char why[GROUP_TEXT]);

/* Makes a change for which group_may() returned true. Returns 0 or -ENOMEM. */
int group_edit(struct instance *inst, const struct group_edit *edit, uid_t by);

/* Counts the active neighbours, and those with the same members. */
void group_count(const struct instance *inst, unsigned *alive, unsigned *confirmed);

/* Why the group cannot be followed or kept; NULL: nothing. For an alarm. */
const char *group_trouble(const struct instance *inst);

/* --- a limiter that was a member -------------------------------------------------------------- */

/*
 * A limiter that was a member and sends gossip: its machine returned with an old file, and enforces
 * the part of each limit that the members have now. It is not in the roster, so gossip accepts
 * nothing from it. A member therefore sends it the set of members, in messages with it alone. There
 * it finds its own removal, and enforces nothing. Nothing that it reports changes our set.
 *
 * Nothing is sent before a datagram of it is authentic. Control thread.
 */
struct gossip_socket;
struct gossip_stray;
struct stray;

/*
 * Begins to attend the sender of a datagram. `pair` has the keys of gossip, and a roster of this
 * limiter and that one, in this order; its roster is not needed any more. Takes over the keyring if
 * it returns 0; otherwise returns a negative errno.
 */
int stray_create(const struct gossip_config *pair, struct keyring *keyring, struct members *members,
	const struct gossip_stray *datagram, uint64_t now_ns, struct stray **out);
void stray_destroy(struct stray *stray);

uint32_t stray_id(const struct stray *stray);

/* Takes a datagram of that limiter; opens its seal in place. */
void stray_receive(struct stray *stray, struct gossip_stray *datagram, uint64_t now_ns);

/* Sends the due messages. stray_next() returns the time of the next call. */
void stray_run(struct stray *stray, struct gossip_socket *socket, uint64_t now_ns);
uint64_t stray_next(const struct stray *stray);

/* Returns true if it is authentic and has reported other members, or no members for long. */
bool stray_differs(const struct stray *stray, uint64_t now_ns);

/* Returns true if it has the same members now, or has not answered for long. */
bool stray_is_over(const struct stray *stray, uint64_t now_ns);

#endif
