/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The policies of one limiter in a compact form: a list of pages, as /weir/policy_stats sent them.
 * Stores the texts of the values that are not null, about 150 bytes a policy. A page has less than
 * 64 KiB of them, because a reply has at most 16 KiB. One thread.
 */
#ifndef WEIR_EXPORTER_POLICY_PAGES_H
#define WEIR_EXPORTER_POLICY_PAGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#include "numbers/policy_number.h"

struct policy_page {
	struct policy_page *next;
	double at_ms;      /* time of the limiter; NAN: unknown */
	size_t n, columns; /* rows, and columns of each */
	uint16_t at[];     /* by row and column: offset of a value after the last row; 0: null */
};

/* All zero at the start. */
struct policy_pages {
	struct policy_page *first, *last;
	json_t *columns;
	uint64_t has; /* bit c % 64 is set if some row has a value in column c */
	size_t n;     /* rows */
	bool whole;   /* all pages are of one generation */
};

/*
 * Adds a page, the value of a reply, with at most `most` of its rows. Returns 0, -EBADMSG (also
 * for a value that is not null, a string or a number, or is too long) or -ENOMEM.
 */
int policy_pages_add(struct policy_pages *pages, const json_t *reply, size_t most);

/* Leaves `pages` all zero. */
void policy_pages_free(struct policy_pages *pages);

/* Index of the column for the functions below; SIZE_MAX: none. */
size_t policy_column(const struct policy_pages *pages, const char *name);
size_t policy_number_column(const struct policy_pages *pages, enum policy_number_id number);

/* Returns the text of a value, with a quote before a string; NULL: none. */
const char *policy_value(const struct policy_page *page, size_t row, size_t column);

/* Return a string value, otherwise NULL; and a number, otherwise NAN. */
const char *policy_text(const struct policy_page *page, size_t row, size_t column);
double policy_number(const struct policy_page *page, size_t row, size_t column);

#endif
