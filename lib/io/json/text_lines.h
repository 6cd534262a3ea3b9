/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Writes large documents as readable text: each member of the root is on its own line, and so is
 * each element of an array there. Any thread.
 */
#ifndef WEIR_JSON_TEXT_LINES_H
#define WEIR_JSON_TEXT_LINES_H

#include <stddef.h>

#include <jansson.h>

/*
 * Returns the text of an object or an array without cycles, with a NUL after it, for free(). NULL
 * without memory.
 */
char *json_text_lines(const json_t *root, size_t *len);

/* Returns the same as json_dumps() with JSON_COMPACT, in one line, but much faster. */
char *json_text_line(const json_t *root, size_t *len);

#endif
