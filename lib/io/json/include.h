/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Documents of several files.
 */
#ifndef WEIR_JSON_INCLUDE_H
#define WEIR_JSON_INCLUDE_H

#include "json/read.h"

/*
 * Reads what the member `key` of the reader's document names, a path or an array of them, and what
 * is named there, and joins it to reader->root: the arrays of the member `joined` one behind the
 * other, any other member from the one file that has it. A path is relative to the file that it
 * stands in; that of a directory is all "*.json" there, in the order of their bytes. Errors are
 * reported and counted. Returns 0, or -EAGAIN when a file was written meanwhile: then the reader is
 * to be finished, and to be opened anew.
 */
int reader_include(struct reader *reader, const char *key, const char *joined);

#endif
