/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Other words for the keys and the values of a kind of document, in the rows of its tables. With
 * a vocabulary, a reader suggests by meaning and names the object in which a key belongs. Words are
 * compared without case, "_", "-", "." and blanks. Immutable; any thread.
 */
#ifndef WEIR_JSON_VOCABULARY_H
#define WEIR_JSON_VOCABULARY_H

#include <stdbool.h>

struct json_path;
struct key;
struct reader;

/* Words of other tools for a value, separated by blanks. */
struct vocabulary_entry {
	const char *name; /* NULL ends the table */
	const char *words;
};

struct vocabulary {
	const char *manual;     /* path of the page that has the tables of keys */
	const char *heading;    /* in it, of the keys of the document itself */
	const struct key *keys; /* keys of the document; a row with an object leads to its keys */
	/* Returns the keys of the object that a row holds, or of each element; NULL: none. */
	const struct key *(*inside)(const struct key *key, bool *is_array);
};

/* Returns the value that `text` means for the key at the path; NULL if there is none. */
const char *reader_meant(
	const struct reader *reader, const struct json_path *path, const char *text);

#endif
