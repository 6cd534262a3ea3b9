/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Arrays of strings in separate files, one string per line, with "#" comments and empty lines.
 * Messages about an element of such an array have its file and its line.
 */
#ifndef WEIR_JSON_LINE_LIST_H
#define WEIR_JSON_LINE_LIST_H

#include "json/read.h"

#define LINE_LIST_MAX (64U << 20) /* bytes of a file; of all: READER_FILE_MAX */

/*
 * Returns the lines of a file, as a borrowed reference that can be inserted in reader->root. The
 * value at the path names the file by `text`, relative to the file of that value. The same file has
 * the same reference. `what` describes a line in a word or two, for messages. Returns NULL if the
 * file was rejected, or has only comments; this is reported and counted.
 */
json_t *reader_line_list(
	struct reader *reader, const struct json_path *path, const char *text, const char *what);

/*
 * Returns true if all files are as they were when they were read, including those of the reader's
 * documents.
 */
bool reader_is_up_to_date(const struct reader *reader);

#endif
