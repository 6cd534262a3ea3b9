/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Exports a classifier without pointers, in the format of lines_format.h. It has the same structure
 * as the workers' tables, except that rules which no search reaches can be missing. Control.
 */
#ifndef WEIR_CLASSIFY_LINES_H
#define WEIR_CLASSIFY_LINES_H

#include <stddef.h>

#include "classify/classify.h"
#include "classify/lines_format.h"

/* Returns the number of lines, at least one. */
size_t classifier_lines_count(const struct classifier *classifier);

/*
 * Writes that many lines. Returns 0; -ENOSPC, with nothing written, if n is less; or -E2BIG if 32
 * bits cannot number them.
 */
int classifier_lines_write(
	const struct classifier *classifier, struct classify_line *lines, size_t n);

#endif
