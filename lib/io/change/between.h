/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * What is between two configurations, as they are written: by policy and key, old and new. No
 * thread, clock or file.
 */
#ifndef WEIR_CHANGE_BETWEEN_H
#define WEIR_CHANGE_BETWEEN_H

#include <stddef.h>

#include <jansson.h>

#define CHANGE_DIGEST_MAX 65 /* 64 hexadecimal digits, and a NUL */

/*
 * An array of {"policy": NAME or null, "key": "match.src", "old": VALUE or null, "new": ...}: of
 * keys outside of policies first, of removed policies, then of those of `now` in their order. Of a
 * policy that comes or goes the key is null and the value is the whole of it. Notes are not told.
 * Of all, *n, the first `most` are in it. A new reference; NULL without memory.
 */
json_t *changes_between(const json_t *before, const json_t *now, size_t most, size_t *n);

/* What tells one configuration from another, whatever the order of its keys. 0 or -ENOMEM. */
int configuration_digest(const json_t *configuration, char digest[CHANGE_DIGEST_MAX]);

#endif
