/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The text of large documents. It is what json_dumps() writes with JSON_COMPACT, in a fraction of
 * the time: that looks at each container whether it is in itself, which what comes of a parser is
 * not. Any thread.
 */
#ifndef WEIR_JSON_JSON_TEXT_H
#define WEIR_JSON_JSON_TEXT_H

#include <stddef.h>

#include <jansson.h>

enum json_text_form {
	JSON_TEXT_PLAIN,
	JSON_TEXT_SORTED, /* keys in the order of their bytes, as with JSON_SORT_KEYS */
	JSON_TEXT_LINES,  /* each member of the root, and of an array there, on a line of its own */
};

/* A NUL after it. For free(); NULL without memory. */
char *json_text(const json_t *value, enum json_text_form form, size_t *len);

/* Gives it to `take` in pieces, without a NUL. 0 or -ENOMEM. */
typedef void (*json_text_fn)(void *context, const char *text, size_t len);
int json_text_to(const json_t *value, enum json_text_form form, json_text_fn take, void *context);

#endif
