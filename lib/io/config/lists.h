/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Lists of prefixes in separate files that a policy's match names: `"src": "@FILE"`. Such a name is
 * replaced by the array from the file before the document is read. So a stored document does not
 * need the file.
 */
#ifndef WEIR_CONFIG_LISTS_H
#define WEIR_CONFIG_LISTS_H

#include <jansson.h>

#include "json/read.h"

/* Returns the path after "@", or NULL if there is none. */
const char *lists_name(const json_t *value);

/*
 * Replaces the names of lists in the reader's policies by their contents. Reports and counts errors
 * in them. Returns 0, or -EAGAIN if a file of the reader was written meanwhile. Then the caller
 * finishes the reader and opens it again.
 */
int lists_expand(struct reader *reader);

/*
 * Does the same for an edit of one policy (change/edit.h), in the keys "match", "match.src" and
 * "match.dst". Paths are relative to the working directory of the process. Returns 0, -EINVAL with
 * a message on err, or -ENOMEM.
 */
int lists_expand_edit(json_t *edit, FILE *err);

/* Reports a name of a list in a document that cannot read files, with a remedy. */
void lists_refuse(struct reader *reader, const struct json_path *path);

#endif
