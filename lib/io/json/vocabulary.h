/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Other words for the keys and the values of a kind of document. A reader with a vocabulary
 * suggests by meaning, and names the object in which a key belongs. Immutable; any thread.
 */
#ifndef WEIR_JSON_VOCABULARY_H
#define WEIR_JSON_VOCABULARY_H

struct json_path;
struct reader;

/* Words from other tools that mean this key or value, separated by blanks; "" if there are none. */
struct vocabulary_entry {
	const char *name; /* NULL ends the table */
	const char *words;
};

/*
 * An object and its keys, the most used ones first; or a key and the values that it can have.
 * The place is a path such as "policies[].match": [] stands for any index, NAME for any key, and
 * an array of such objects has the same place.
 */
struct vocabulary_object {
	const char *place; /* NULL ends the table */
	const struct vocabulary_entry *entries;
	const char *heading; /* in the manual's page; NULL for values */
};

struct vocabulary {
	const char *manual; /* path of the page that has the tables of keys */
	const struct vocabulary_object *objects;
	const struct vocabulary_object *values;
};

/* Returns the value that `text` means for the key at the path; NULL if there is none. */
const char *reader_meant(
	const struct reader *reader, const struct json_path *path, const char *text);

#endif
