/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Files and directories as they were when they were read: whether that is still what is there.
 */
#ifndef WEIR_JSON_SEEN_H
#define WEIR_JSON_SEEN_H

#include <stdbool.h>
#include <stddef.h>

#include <sys/stat.h>

struct seen;

/* *seen is made with the first (NULL). 0 or -ENOMEM. */
int seen_note(struct seen **seen, const char *path, const struct stat *state);
void seen_free(struct seen *seen); /* NULL is none */

/* Calls `each` with the path and the state of every file and directory, in the order of reading. */
void seen_each(const struct seen *seen,
	void (*each)(void *context, const char *path, const struct stat *state), void *context);

/* Whether all files and directories are as they were noted; of a pipe nobody knows, and it counts
 * as one. Asks the file system. */
bool seen_unchanged(const struct seen *seen);

/*
 * Whether seen_unchanged() will tell, from now on, that something was written again: not if
 * something was written just now, which the clock of a file system may not tell from what comes
 * next, nor of a pipe.
 */
bool seen_will_tell(const struct seen *seen);

#endif
