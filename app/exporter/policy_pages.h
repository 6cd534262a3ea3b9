/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The policies of one limiter in a compact form: a list of pages, as /weir/policy_stats sent them.
 * Stores the texts of the values that are not null, about 150 bytes a policy. A page has less than
 * 64 KiB of them, because a reply has at most 16 KiB. One thread.
 *
 * Below, the same policies as numbers, and their rates.
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

/* One policy. NAN: does not apply. Units are those that it counts, rates are units per second. */
struct row {
	const char *name, *count;       /* borrowed from the pages */
	const char *parent, *exceeding; /* the same; NULL: none */
	double at_ms;
	double limit, share, bound, demand, global_demand;
	double peak, local_peak; /* most rate with colours: in the group, here */
	double part;             /* part of the parent's limit, over the group */
	double passed, passed_packets, dropped, dropped_packets, over;
	double waiting_packets, lost;
	double total, left, spent, prefetched;
};

/* All policies of a limiter, in its order. All zero at the start. */
struct rows {
	struct row *rows;
	size_t n;
	json_t *index; /* by name; NULL: not needed yet */
};

/* Rates per second; NAN: unknown. */
struct row_rates {
	double passed, dropped, dropped_packets, over;
};

/*
 * Return the units per second that may pass, in the group and here: the limit, the peak of colours,
 * or the present part of a parent's limit. INFINITY if exceeding packets pass, too.
 */
double row_may(const struct row *row);
double row_may_here(const struct row *row);

/* Reads the policies, which must stay valid. Without memory it reads nothing. */
void rows_read(struct rows *rows, const struct policy_pages *policies);
void rows_free(struct rows *rows);

/* Returns the row of that name; NULL: none. Fastest if the guess is right. */
const struct row *rows_find(struct rows *rows, const char *name, size_t guess);

/* Returns the rates between two readings of one policy. `before` can be NULL. */
struct row_rates row_rates(const struct row *now, const struct row *before);

/* Returns the rate of a counter; NAN if it went back, because its limiter or policy was reset. */
double rate_of(double now, double before, double seconds);

/* Adds a value unless it is NAN. A sum of no values is NAN. */
void add_known(double *sum, double value);

/* Returns a number, or null for NAN and infinity. */
json_t *known_json(double value);

#endif
