/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The text of large documents that somebody may read: each member of the root is on a line of its
 * own, and so is each element of an array there. Any thread.
 */
#ifndef WEIR_JSON_TEXT_LINES_H
#define WEIR_JSON_TEXT_LINES_H

#include <stddef.h>

#include <jansson.h>

/*
 * The text of an object or an array in which no container is in itself; a NUL after it. For free();
 * NULL without memory.
 */
char *json_text_lines(const json_t *root, size_t *len);

/* It in one line, as json_dumps() would have it with JSON_COMPACT, and so much sooner. */
char *json_text_line(const json_t *root, size_t *len);

#endif
