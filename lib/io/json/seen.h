/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * States of files and directories when they were read, to detect later changes.
 */
#ifndef WEIR_JSON_SEEN_H
#define WEIR_JSON_SEEN_H

#include <stdbool.h>
#include <stddef.h>

#include <sys/stat.h>

struct seen;

/* Adds a state. Creates *seen if it is NULL. Returns 0 or -ENOMEM. */
int seen_note(struct seen **seen, const char *path, const struct stat *state);
void seen_free(struct seen *seen); /* seen can be NULL */

/* Calls `each` with the path and the state of every file and directory, in the order of reading. */
void seen_each(const struct seen *seen,
	void (*each)(void *context, const char *path, const struct stat *state), void *context);

/*
 * Returns true if the file system has all files and directories in their recorded state. A pipe has
 * no state and counts as unchanged.
 */
bool seen_unchanged(const struct seen *seen);

/*
 * Returns true if seen_unchanged() will detect any write from now on. Returns false for a pipe, or
 * after a very recent write: the clock of a file system might not distinguish the next one from it.
 */
bool seen_is_reliable(const struct seen *seen);

#endif
