/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Private to this room: the lists of a reader.
 */
#ifndef WEIR_JSON_LINE_PLACE_H
#define WEIR_JSON_LINE_PLACE_H

#include <sys/stat.h>

#include "json/read.h"

/* One file. */
struct line_list {
	char *file;
	struct stat state;
	json_t *array;
	unsigned *lines; /* of the array's elements */
};

struct line_lists {
	struct line_list *all;
	size_t n, room;
	json_t *by_file; /* its number; null of one that was refused */
	size_t bytes;
};

/* Where an element of an array stands, if that is a list's. */
struct line_place {
	const char *file; /* NULL: of no list */
	unsigned line;
};

struct line_place line_list_place(const struct reader *reader, const json_t *array, size_t index);

void line_lists_free(struct reader *reader);

#endif
