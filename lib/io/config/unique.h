/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Private to this room: checks for fields that must be unique in an array.
 */
#ifndef WEIR_CONFIG_UNIQUE_H
#define WEIR_CONFIG_UNIQUE_H

#include <stdint.h>

#include "json/read.h"

/* compare() returns 0 for equal elements; is_valid() returns false for elements with an error. */
struct unique {
	const struct json_path *array;
	const char *key;
	const char *what; /* the field in words, such as "name" */
	size_t size;      /* bytes of an element */
	bool by_name; /* members of an object: the place of an element is the name it begins with */
	bool (*is_valid)(const void *element);
	int (*compare)(const void *a, const void *b);
	/* Equal for equal elements; NULL for small arrays. */
	uint32_t (*hash)(const void *element);
};

/* Reports each of n elements that is equal to an earlier one. */
void check_unique(struct reader *reader, const struct unique *unique, const void *base, unsigned n);

/* For arrays of structs that begin with their name. */
bool name_is_valid(const void *element);
int name_compare(const void *a, const void *b);
uint32_t name_first_hash(const void *element);
int hash_compare(const void *a, const void *b); /* 0 for names with the same hash */

#endif
