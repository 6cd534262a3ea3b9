/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The rows of "top", without the terminal that shows them.
 */
#ifndef WEIR_WEIRCTL_TOP_H
#define WEIR_WEIRCTL_TOP_H

#include "ask/targets.h"

struct top_row {
	const char *box, *name;
	double weight; /* sort key */
	const json_t *policy;
};

/*
 * Returns the n policies of all limiters by "dropping", "demand", "share", "passing" or "name"
 * (NULL: the first one), for free(). Valid as long as the limiters' documents. NULL: no memory.
 */
struct top_row *top_rows(const struct targets *targets, const char *order, size_t *n);

#endif
