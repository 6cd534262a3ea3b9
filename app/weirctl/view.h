/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * What is to be shown: tables, one below the other. They are written when all are there, so that
 * those of several boxes have common columns, and a terminal's width is shared out with all cells
 * known. Text is UTF-8: the program has set LC_CTYPE so. What a text might do to a terminal it does
 * not: control characters are written as libsmartcols escapes them, "\x1b".
 */
#ifndef WEIR_WEIRCTL_VIEW_H
#define WEIR_WEIRCTL_VIEW_H

#include <stdio.h>

struct view;

enum table_kind {
	TABLE_LIST,   /* a line of heads, and a line for each row */
	TABLE_DETAIL, /* a label and a value in each row */
	TABLE_LINES,  /* text alone */
};

struct column {
	const char *head; /* of a list; not copied */
	unsigned rank;    /* where there is no room columns of the highest rank go; 0: none goes */
	int right;        /* a number: never shortened */
};

#define VIEW_COLUMNS 24

/* NULL: there is no memory. */
struct view *view_new(void);
void view_free(struct view *view);

/* What is added from now on is of a box, named in a first column; NULL: of the only one. */
void view_of_box(struct view *view, const char *box);

/*
 * Begins a table, or goes on with that of another box that has these heads. What fails is kept for
 * view_error().
 */
void view_table(struct view *view, enum table_kind kind, const struct column *columns, unsigned n);

/* Adds a row to it; the cells are copied, as many as it has columns. */
void view_row(struct view *view, const char *const *cells);

/* 0, or -ENOMEM once something could not be added. */
int view_error(const struct view *view);

/*
 * Writes it, with an empty line between two tables. Of `width` columns none is exceeded: columns
 * are left out, which is said below, texts are shortened in the middle ("cust…1001"), values go on
 * in the next line; 0: everything is written whole. 0 or -ENOMEM.
 */
int view_print(const struct view *view, FILE *out, unsigned width);

#define VIEW_CELL_MAX 4096

/* Columns that a text takes on a terminal, as it is written. */
unsigned view_width(const char *text);

/* The text, shortened in the middle to so many columns of a terminal if it is longer. */
char *view_shorten(const char *text, unsigned width, char out[VIEW_CELL_MAX]);

#endif
