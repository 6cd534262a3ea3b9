/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Copies that are complete or fail: without memory, the library's own shallow copy can be
 * incomplete without an error. No thread, clock or file.
 */
#ifndef WEIR_JSON_COPY_H
#define WEIR_JSON_COPY_H

#include <jansson.h>

/*
 * Like json_copy(): returns a new reference that contains the same values. NULL if value is NULL,
 * or without memory.
 */
json_t *whole_copy(const json_t *value);

/*
 * Like whole_copy() for an array; an empty one for anything that is not an array. NULL without
 * memory.
 */
json_t *whole_list(const json_t *list);

/* Returns a new array with all elements except nulls. NULL without memory. */
json_t *without_nulls(const json_t *list);

#endif
