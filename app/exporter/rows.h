/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Policies as numbers: the values in a limiter's document, and their rates.
 */
#ifndef WEIR_EXPORTER_ROWS_H
#define WEIR_EXPORTER_ROWS_H

#include <stdbool.h>
#include <stddef.h>

#include <jansson.h>

#include "policy_pages.h"

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
