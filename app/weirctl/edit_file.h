/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Changes of policies as a provisioning system writes them.
 */
#ifndef WEIR_WEIRCTL_EDIT_FILE_H
#define WEIR_WEIRCTL_EDIT_FILE_H

#include <stdio.h>

#include <jansson.h>

/*
 * The edits of a file, "-" for standard input: an array of them (change/edit.h), or one behind the
 * other, such as one a line. With lists of prefixes in the place of their names. An array; NULL: it
 * is refused, and that is said on err.
 */
json_t *edits_load(const char *path, FILE *err);

#endif
