/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Copies that are whole or none: without memory the library's own shallow one may just have less in
 * it, and say nothing. No thread, clock or file.
 */
#ifndef WEIR_JSON_COPY_H
#define WEIR_JSON_COPY_H

#include <jansson.h>

/* As json_copy(), with the same values in it: a new reference; NULL of NULL, or without memory. */
json_t *whole_copy(const json_t *value);

/* As whole_copy() of an array; an empty one of anything else. NULL without memory. */
json_t *whole_list(const json_t *list);

/* A new array of what is in one but nulls. NULL without memory. */
json_t *without_nulls(const json_t *list);

#endif
