/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * What a configuration names on this machine and that will not do (key files, a password's, groups)
 * is an error of the configuration, at a start as at a change of what runs. The main thread, or
 * that of changes.
 */
#ifndef WEIR_APP_MACHINE_ERRORS_H
#define WEIR_APP_MACHINE_ERRORS_H

#include <stdio.h>

#include <sys/types.h>

#include <jansson.h>

#include "config/load.h"
#include "policy/config.h"

/* All that a start looks up, as this user would find it. 0, or a negative errno, reported. */
int machine_check(const struct config *config, uid_t user, const struct complaint_sink *to);

/*
 * Checks that only root and the user can change the files that a configuration was read from, and
 * the directories that it includes. Without `starts`, the owner of each file can be another user.
 * 0 or -EPERM, reported to the reader.
 */
int files_check(struct reader *reader, uid_t user, bool starts);

/*
 * For config_load.also, at the line that names it: all that a start looks up, and the context is a
 * bool that becomes true if it will not do; or of a change of what runs, which has no use for the
 * password.
 */
void start_errors(const struct config *config, struct reader *reader, void *wrong);
void reload_errors(const struct config *config, struct reader *reader, void *context);

/*
 * As config_read_document(), of what is about to run: -ENOKEY for a good one that names what will
 * not do, which is said on err, too.
 */
int read_for_machine(const json_t *document, const char *name, const struct config *running,
	FILE *err, struct config **out);

#endif
