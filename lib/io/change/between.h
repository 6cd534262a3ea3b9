/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The differences between two configurations as written: policy, key, old and new value; and an
 * index of a list by name, for many searches. No thread, clock or file.
 */
#ifndef WEIR_CHANGE_BETWEEN_H
#define WEIR_CHANGE_BETWEEN_H

#include <stddef.h>

#include <jansson.h>

#include "base/name_table.h"

#define CHANGE_DIGEST_MAX 65 /* 64 hexadecimal digits, and a NUL */

/*
 * Returns an array of {"policy": NAME or null, "key": "match.src", "old": VALUE or null, "new":
 * ...}. Keys outside of policies come first, then removed policies, then the policies of `now` in
 * their order. For an added or removed policy the key is null, and the value is the whole policy.
 * Notes and "$schema" are ignored. The array holds the first `most` differences; *n is the number
 * of all. The caller owns the reference. NULL: out of memory.
 */
json_t *changes_between(const json_t *before, const json_t *now, size_t most, size_t *n);

/* Writes a digest that identifies a configuration in any order of keys. Returns 0 or -ENOMEM. */
int configuration_digest(const json_t *configuration, char digest[CHANGE_DIGEST_MAX]);

/*
 * Returns the index of each object in an array, by its text at the key. It keeps pointers to the
 * texts. If texts are equal, the last object counts; objects without a text are left out. Free it
 * with name_table_destroy(). NULL: out of memory.
 */
struct name_table *list_by_name(const json_t *list, const char *key);

#endif
