/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Shortens long texts around a place, so that two of them show their first difference. Pure.
 */
#ifndef WEIR_WEIRCTL_SHORTEN_H
#define WEIR_WEIRCTL_SHORTEN_H

#include <stddef.h>

#include <jansson.h>

/* Fewest bytes of a shortened text; less room has the same effect. */
#define SHORTEN_LEAST 12

/* Returns a value of JSON as text, for free(). NULL: there is no memory, or no value. */
char *value_text(const json_t *value);

/* Returns the number of bytes before the first difference of two texts, or before their end. */
size_t first_difference(const char *a, const char *b);

/*
 * Returns a text of at most `room` bytes with the byte `at`, for free(). "..." stands for bytes that
 * are left out on a side. Characters of UTF-8 stay whole. NULL: there is no memory.
 */
char *shorten(const char *text, size_t at, size_t room);

#endif
