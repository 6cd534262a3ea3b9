/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Private to this room: keys that require or exclude other keys of their object, by the rows of
 * their tables.
 */
#ifndef WEIR_CONFIG_RELATIONS_H
#define WEIR_CONFIG_RELATIONS_H

#include "json/read.h"

#define RELATION_WORDS_MOST 16 /* values of a relation */

/*
 * Reports each key of the object at the path whose row has a relation that does not hold. Reports
 * only the first one of a key. Continues in objects of read_object(). `base` is the struct that the
 * object was read into, after its defaults were filled in.
 */
void keys_check(struct reader *reader, const struct json_path *path, const struct key *keys,
	const void *base);

/*
 * Stores the values of the other key that the relation names. Returns their number. Leaves out
 * values that do not fit other keys in `base`, unless none is left; base NULL: stores all.
 */
unsigned relation_words(const struct key_relation *relation, const struct key *other,
	const void *base, const char *words[RELATION_WORDS_MOST]);

#endif
