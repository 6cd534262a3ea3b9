/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Output: tables, one below the other. They are written when all are complete. So the tables of
 * several limiters have common columns, and the terminal's width is shared out by the widths of all
 * cells. Text is UTF-8: the program has set LC_CTYPE. Control characters, which could affect a
 * terminal, are written as libsmartcols escapes them, "\x1b".
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
	const char *head; /* for a list; not copied */
	unsigned rank;    /* without room the highest rank is left out first; 0: never */
	int right;        /* a number: never shortened */
};

#define VIEW_COLUMNS 24

/* Returns NULL without memory. */
struct view *view_new(void);
void view_free(struct view *view);

/* Sets the limiter of the next rows, named in a first column; NULL: there is only one. */
void view_of_box(struct view *view, const char *box);

/*
 * Begins a table, or continues that of another limiter with the same heads. Errors are kept for
 * view_error().
 */
void view_table(struct view *view, enum table_kind kind, const struct column *columns, unsigned n);

/* Adds a row to it; copies a cell for each column. */
void view_row(struct view *view, const char *const *cells);

/* Returns 0, or -ENOMEM once something could not be added. */
int view_error(const struct view *view);

/*
 * Writes the tables, with an empty line between two, at most `width` columns wide. Columns are left
 * out, which a line below mentions; texts are shortened in the middle ("cust…1001"); values
 * continue in the next line. Width 0: everything is written whole. Returns 0 or -ENOMEM.
 */
int view_print(const struct view *view, FILE *out, unsigned width);

#define VIEW_CELL_MAX 4096

/* Returns the columns that a text takes on a terminal. */
unsigned view_width(const char *text);

/* Copies the text, shortened in the middle to that many columns of a terminal if it is longer. */
char *view_shorten(const char *text, unsigned width, char out[VIEW_CELL_MAX]);

#endif
