/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Arrays of strings that stand in files of their own, one a line, with "#" comments and empty lines
 * between. What is said of an element of such an array names its file and its line.
 */
#ifndef WEIR_JSON_LINE_LIST_H
#define WEIR_JSON_LINE_LIST_H

#include "json/read.h"

#define LINE_LIST_MAX (64U << 20) /* bytes of a file; of all: READER_FILE_MAX */

/*
 * The lines of the file that the value at a path names by `text`, relative to the file that it
 * stands in: a borrowed reference, the same for the same file, to come into reader->root as it is.
 * `what` says in a word or two what a line is. NULL: it was refused, which is reported and counted,
 * as it is if nothing is there but comments.
 */
json_t *reader_line_list(
	struct reader *reader, const struct json_path *path, const char *text, const char *what);

/* Whether all files are as they were when they were read, also those of the reader's documents. */
bool reader_is_up_to_date(const struct reader *reader);

#endif
