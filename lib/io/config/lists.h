/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Lists of prefixes in files of their own, which a policy's match names: `"src": "@FILE"`. What a
 * document says so becomes the array of what is in the file, before anything of it is read: so that
 * whoever keeps the document needs the file no more.
 */
#ifndef WEIR_CONFIG_LISTS_H
#define WEIR_CONFIG_LISTS_H

#include <jansson.h>

#include "json/read.h"

/* The path behind "@", or NULL: it names none. */
const char *lists_name(const json_t *value);

/*
 * Puts the lists that policies of the reader's document name in their places. What is wrong with
 * them is reported and counted. 0, or -EAGAIN when a file of the reader was written meanwhile: then
 * the reader is to be finished, and to be opened anew.
 */
int lists_expand(struct reader *reader);

/*
 * Does so in an edit of one policy (change/edit.h), of the keys "match", "match.src" and
 * "match.dst"; paths are relative to the directory that the process is in. 0; -EINVAL, said on err;
 * or -ENOMEM.
 */
int lists_expand_edit(json_t *edit, FILE *err);

/* Says of a list that is still named, where nobody reads files, what to do. */
void lists_refuse(struct reader *reader, const struct json_path *path);

#endif
