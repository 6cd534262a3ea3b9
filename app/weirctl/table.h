/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Text in columns. What the text of a server might do to a terminal it does not: control characters
 * come out as '?'. An allocation that fails is remembered, and told at the end.
 */
#ifndef WEIR_WEIRCTL_TABLE_H
#define WEIR_WEIRCTL_TABLE_H

#include <stdbool.h>
#include <stdio.h>

struct table;

/* n columns, filled row by row; right: which are aligned to the right, kept by pointer. NULL: no
 * memory, which all others know. */
struct table *table_create(unsigned n, const bool *right);
void table_destroy(struct table *table);

/* The next cell, copied. */
void table_add(struct table *table, const char *text);

/* Whole rows, two spaces between columns and none at the end of a line. 0 or -ENOMEM. */
int table_print(const struct table *table, FILE *out);

/* One text without what a terminal would obey. */
void print_safe(const char *text, FILE *out);

#endif
