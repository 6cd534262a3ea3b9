/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * A classifier written down for who cannot follow its pointers: lines_format.h says how. What it is
 * made of is as the workers have it, but for rules that no search comes to. Control.
 */
#ifndef WEIR_CLASSIFY_LINES_H
#define WEIR_CLASSIFY_LINES_H

#include <stddef.h>

#include "classify/classify.h"
#include "classify/lines_format.h"

/* How many lines it takes, at least one. */
size_t classifier_lines_count(const struct classifier *classifier);

/*
 * Writes these; nothing behind them. Returns 0; -ENOSPC, with nothing written, if n is less; or
 * -E2BIG for more than 32 bits can number.
 */
int classifier_lines_write(
	const struct classifier *classifier, struct classify_line *lines, size_t n);

#endif
