/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Checks of the files and groups of this machine that a configuration names: key files, a
 * password's file, groups. Unusable ones are errors of the configuration, at a start and at a
 * change. Main thread, or the thread of changes.
 */
#ifndef WEIR_APP_MACHINE_ERRORS_H
#define WEIR_APP_MACHINE_ERRORS_H

#include <stdbool.h>
#include <stdio.h>

#include <sys/types.h>

#include <jansson.h>

#include "config/load.h"
#include "policy/config.h"
#include "policy/complaint.h"
#include "telemetry/server.h"

/*
 * Checks everything that a start looks up, with the rights of this user. Returns 0, or a negative
 * errno, reported.
 */
int machine_check(const struct config *config, uid_t user, const struct complaint_sink *to);

/*
 * Checks that only root and the user can change the files that a configuration was read from, and
 * the directories that it includes. Without `starts`, the owner of each file can be another user.
 * 0 or -EPERM, reported to the reader.
 */
int files_check(struct reader *reader, uid_t user, bool starts);

/*
 * Callbacks for config_load.also. They report errors at the line of the name. The first checks
 * everything that a start looks up, and sets the bool `wrong` on errors. The second leaves out the
 * password, which a change does not use.
 */
void start_errors(const struct config *config, struct reader *reader, void *wrong);
void reload_errors(const struct config *config, struct reader *reader, void *context);

/*
 * Reads a configuration that will run, like config_read_document(). -ENOKEY: it is valid, but names
 * unusable files or groups, reported on err.
 */
int read_for_machine(const json_t *document, const char *name, const struct config *running,
	FILE *err, struct config **out);

/* --- users of the control socket -------------------------------------------------------------- */

/*
 * Looks up the groups of users who can read, and of users who can change. Without its own group,
 * the socket gets that of the operators. Returns 0, or a negative errno, reported.
 */
int socket_groups_find(const struct config *config, struct telemetry_options *options,
	const struct complaint_sink *to);

#define REQUESTER_BYTES 64 /* name of the user who requested a change */

/* Reads the user name alone; returns false if /etc/passwd has none. */
bool requester_user(uid_t uid, char name[REQUESTER_BYTES]);

/*
 * Writes "alice (uid 1000)", as in /etc/passwd, or "uid 1000". Other directories can take long to
 * answer. It reads a file, so only threads that can wait for a disk call it.
 */
void requester_name(uid_t uid, char name[REQUESTER_BYTES]);

#endif
