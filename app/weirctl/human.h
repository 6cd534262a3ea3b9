/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Writes numbers for operators, three digits and a unit, and shortens long texts around a place, so
 * that two of them show their first difference. Pure.
 */
#ifndef WEIR_WEIRCTL_HUMAN_H
#define WEIR_WEIRCTL_HUMAN_H

#include <stddef.h>

#include <jansson.h>

/* Bytes of room for any of these texts; each function returns `text`. */
#define HUMAN_MAX 48

/* "12.4 Mbit/s": a prefix for each factor of 1000, with any unit. */
char *human_amount(double value, const char *unit, char text[HUMAN_MAX]);

/* "216 MiB", "12.4 KiB", "512 B": a prefix for each factor of 1024. */
char *human_memory(double bytes, char text[HUMAN_MAX]);

/* "12.4 ms", "8.00 s", "3 h 20 min", "12 d 3 h"; a negative time is "0 s". */
char *human_seconds(double seconds, char text[HUMAN_MAX]);

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
