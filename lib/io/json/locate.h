/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Where in the text of a document a value stands, which the parser does not keep. The text is
 * looked through again for each question: only what is wrong is asked for, and of that not much.
 * Pure; any thread.
 */
#ifndef WEIR_JSON_LOCATE_H
#define WEIR_JSON_LOCATE_H

#include <stdbool.h>
#include <stddef.h>

#include "json/json_path.h"

/*
 * The offset of the value at the path, of the last one if a key stands several times, or of the
 * innermost container on the way to it that there is. The text is valid JSON (a parser took it)
 * without NUL characters, with a NUL after it. `exact`, unless NULL: whether it is the value.
 */
size_t json_locate(const char *text, const struct json_path *path, bool *exact);

/* As json_locate(), but the first one if a key stands several times. */
size_t json_locate_first(const char *text, const struct json_path *path);

struct json_line {
	unsigned line;    /* from 1 */
	unsigned column;  /* from 1, in bytes */
	const char *text; /* of the line, without its end */
	size_t len;
};

struct json_line json_line_at(const char *text, size_t len, size_t offset);

#endif
