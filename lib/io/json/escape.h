/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Private to this room: what is between the quotes of a string in valid JSON. Pure.
 */
#ifndef WEIR_JSON_ESCAPE_H
#define WEIR_JSON_ESCAPE_H

#include <stdbool.h>

#define JSON_CHARACTER_MAX 4 /* bytes of UTF-8 */

/* Writes the character at `at` to out, moves out behind it, and returns what is behind `at`. */
const char *json_decode_character(const char *at, char **out);

/* Whether the string whose opening quote is at `at` says `text`, however it is escaped. */
bool json_escaped_equals(const char *at, const char *text);

#endif
