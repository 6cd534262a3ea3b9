/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Comments of a JSON document: from two slashes to the end of the line, and what stands between
 * slash-star and star-slash. They become blanks before a parser sees the text, byte for byte, so
 * that all else stays where it is. What is no JSON without its comments stays none. Pure.
 */
#ifndef WEIR_JSON_COMMENTS_H
#define WEIR_JSON_COMMENTS_H

#include <stddef.h>

/* Returns the text's length, or less: the offset of a comment that never ends, left as it is. */
size_t json_blank_comments(char *text, size_t len);

#endif
