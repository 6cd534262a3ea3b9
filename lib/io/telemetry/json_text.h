/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Writes compact JSON into a buffer of fixed size, byte for byte like telemetry_text(). For replies
 * with many values: a tree of them costs several times as much. One thread.
 */
#ifndef WEIR_TELEMETRY_JSON_TEXT_H
#define WEIR_TELEMETRY_JSON_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

/* A text that grows to its end. Each value is followed by a comma until its bracket closes. */
struct json_text {
	char *begin, *at, *end;
	bool full; /* a part had no room; nothing more is added */
};

static inline struct json_text json_text_in(char *bytes, size_t room)
{
	return (struct json_text){bytes, bytes, bytes + room, false};
}

/* Returns the bytes so far, including the last comma. */
static inline size_t json_text_bytes(const struct json_text *text)
{
	return (size_t)(text->at - text->begin);
}

/* Adds bytes that are JSON already. */
void json_text_raw(struct json_text *text, const char *bytes, size_t n);

/* `bracket` is one of "[{" and one of "]}". */
void json_text_open(struct json_text *text, char bracket);
void json_text_close(struct json_text *text, char bracket);

/* Adds the key of the next value; it has no characters to escape. */
void json_text_key(struct json_text *text, const char *key);

/* Adds a value. A number that is not finite and a string that is not UTF-8 become null. */
void json_text_null(struct json_text *text);
void json_text_integer(struct json_text *text, int64_t value);
void json_text_real(struct json_text *text, double value);
void json_text_string(struct json_text *text, const char *value);

/* Adds any value and takes over the reference; NULL is null. */
void json_text_value(struct json_text *text, json_t *value);

#endif
