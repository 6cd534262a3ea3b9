/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Places in the text of a document, which the parser does not keep: of values, of duplicate keys
 * and of lines. Each call searches the text again, because only messages need it. The text is valid
 * JSON without NUL characters and comments; the search of another text ends, too. Pure; any thread.
 */
#ifndef WEIR_JSON_LOCATE_H
#define WEIR_JSON_LOCATE_H

#include <stdbool.h>
#include <stddef.h>

#include "json/json_path.h"

/*
 * Returns the offset of the value at the path, of the last one if there are duplicate keys, or of
 * the innermost container on the way to it that exists. A NUL ends the text. Stores in `exact`,
 * unless NULL, if it is the value.
 */
size_t json_locate(const char *text, const struct json_path *path, bool *exact);

/* Like json_locate(), but finds the first of duplicate keys. */
size_t json_locate_first(const char *text, const struct json_path *path);

typedef void (*json_duplicate_fn)(const struct json_path *path, void *context);

/*
 * Calls found for every key that its object already has, in the order of the text. The path is
 * valid during the call. Returns 0 or -ENOMEM.
 */
int json_find_duplicates(const char *text, size_t len, json_duplicate_fn found, void *context);

struct json_line {
	unsigned line;    /* from 1 */
	unsigned column;  /* from 1, in bytes */
	const char *text; /* start of the line; len excludes its end */
	size_t len;
};

/* Returns the line of an offset. An offset beyond the text counts as its end. */
struct json_line json_line_at(const char *text, size_t len, size_t offset);

#endif
