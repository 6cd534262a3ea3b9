/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Private to this room: what must differ between the elements of an array.
 */
#ifndef WEIR_CONFIG_UNIQUE_H
#define WEIR_CONFIG_UNIQUE_H

#include <stdint.h>

#include "json/read.h"

/*
 * compare() is 0 of elements that clash; known() leaves out elements that were refused already.
 */
struct unique {
	const struct json_path *array;
	const char *key;
	const char *what;
	size_t size;  /* of an element */
	bool by_name; /* members of an object: the place of an element is the name it begins with */
	bool (*known)(const void *element);
	int (*compare)(const void *a, const void *b);
	uint32_t (*hash)(
		const void *element); /* the same of those that clash; NULL: they are few */
};

/* Reports each of n elements that clashes with one before it. */
void check_unique(struct reader *reader, const struct unique *unique, const void *base, unsigned n);

/* For arrays of structs that begin with their name. */
bool name_known(const void *element);
int name_compare(const void *a, const void *b);
uint32_t name_first_hash(const void *element);
int hash_compare(const void *a, const void *b); /* of different names with one hash */

#endif
