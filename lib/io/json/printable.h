/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Texts from elsewhere, without the characters that a terminal obeys or that reorder a line. Pure.
 */
#ifndef WEIR_JSON_PRINTABLE_H
#define WEIR_JSON_PRINTABLE_H

#include <stddef.h>
#include <stdint.h>

/*
 * Returns the bytes of the control character at the start of a text in UTF-8, and stores its code.
 * Returns 0 for another character. Control characters are C0, DEL and C1, and U+200E, U+200F,
 * U+202A to U+202E and U+2066 to U+2069, which change the direction.
 */
size_t printable_control(const char *text, uint32_t *code);

/*
 * Copies a text, with a mark such as "\\u" and four hexadecimal digits for each of these. For
 * free(); NULL without memory.
 */
char *printable_copy(const char *text, const char *mark);

#endif
