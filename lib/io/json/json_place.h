/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Private to this room: the file and line of a value in a reader's documents.
 */
#ifndef WEIR_JSON_JSON_PLACE_H
#define WEIR_JSON_JSON_PLACE_H

#include <sys/stat.h>

#include "json/document.h"
#include "json/read.h"

struct json_place {
	const char *file;
	unsigned line;      /* 0: unknown, no memory */
	char *path;         /* NULL: the root, also in the next field */
	char *words;        /* the path with the names of array elements */
	const char *policy; /* its name; NULL: the path is in no policy */
};

/*
 * Return a place for json_place_free(). The path is one of reader->root, or of a document's own
 * root.
 */
struct json_place json_place_of(const struct reader *reader, const struct json_path *path);
struct json_place json_place_in(const struct document *document, const struct json_path *path);
void json_place_free(struct json_place *place);

/* Returns the name of the file that a path leads into. */
const char *json_file_of(const struct reader *reader, const struct json_path *path);

/* A file with one element of an array in each line. */
struct line_list {
	char *file;
	struct stat state;
	json_t *array;
	unsigned *lines; /* line numbers of the array's elements */
};

struct line_lists {
	struct line_list *all;
	size_t n, room;
	json_t *by_file; /* the index of each file; null: rejected */
	size_t bytes;
};

/* Frees the lists of a reader, if it has any. */
void line_lists_free(struct reader *reader);

/* Returns `text` as a path relative to the file `from`, for free(). NULL without memory. */
char *path_relative_to(const char *from, const char *text);

/* Returns the line of the first of several equal keys. */
unsigned json_place_first_line(const struct document *document, const struct json_path *path);

#endif
