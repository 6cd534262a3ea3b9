/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Documents of changes: a configuration file, the running configuration, and policy changes in a
 * file that a provisioning system writes.
 */
#ifndef WEIR_WEIRCTL_EDIT_FILE_H
#define WEIR_WEIRCTL_EDIT_FILE_H

#include <stdio.h>

#include <jansson.h>

#include "ask/source.h"

/*
 * Loads a configuration file of the operator's machine, with its includes. Returns all files as one
 * document; NULL: refused, reported on err.
 */
json_t *load_checked(const char *path, FILE *err);

/*
 * Gets the whole running configuration: a new reference. Returns 0; -ENOENT: this limiter keeps
 * none (no --state); or an error of source.h.
 */
int ask_running(struct source *source, json_t **running);

/*
 * Reads the edits of a file, "-" for standard input: an array of them (change/edit.h), or one value
 * each, such as one a line. Replaces names of lists by their prefixes. Returns an array, and the
 * line of each edit. NULL: the file is wrong, which is reported on err.
 */
json_t *edits_load(const char *path, FILE *err, json_t **lines);

/*
 * Returns a copy of a limiter's messages with places in the user's file: `edits[17]: ` becomes
 * `FILE:LINE: `. Without a path (NULL) the user has written no file, and that part is left out.
 */
json_t *edits_place(const json_t *messages, const char *path, const json_t *lines);

#endif
