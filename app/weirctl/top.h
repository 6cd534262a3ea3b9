/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The rows of "top", apart from the terminal that shows them.
 */
#ifndef WEIR_WEIRCTL_TOP_H
#define WEIR_WEIRCTL_TOP_H

#include "ask_boxes.h"

struct top_row {
	const char *box, *name;
	double weight; /* what it is sorted by */
	const json_t *policy;
};

/*
 * The policies of all boxes by "dropping", "demand", "share", "passing" or "name" (NULL: the first
 * one), n of them: for free(), as long as the boxes' documents are there. NULL: there is no memory.
 */
struct top_row *top_rows(const struct boxes *boxes, const char *order, size_t *n);

#endif
