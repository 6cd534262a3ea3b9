/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Documents of several files.
 */
#ifndef WEIR_JSON_INCLUDE_H
#define WEIR_JSON_INCLUDE_H

#include "json/read.h"

/*
 * Reads the files that the member `key` of the reader's document names, a path or an array of
 * paths, and the files that these name. Joins them to reader->root: the arrays of the member
 * `joined` are concatenated, any other member comes from the only file that has it. A path is
 * relative to the file that contains it. The path of a directory means all "*.json" in it, in the
 * order of their bytes.
 *
 * Reports and counts errors. Returns 0, or -EAGAIN if a file was written meanwhile. Then the caller
 * finishes the reader and opens it again.
 */
int reader_include(struct reader *reader, const char *key, const char *joined);

#endif
