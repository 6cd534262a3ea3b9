/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Policies as numbers: what one limiter's document says of each, and how fast that goes.
 */
#ifndef WEIR_EXPORTER_ROWS_H
#define WEIR_EXPORTER_ROWS_H

#include <stdbool.h>
#include <stddef.h>

#include <jansson.h>

#include "policy_pages.h"

/* One policy; NAN is what does not apply. Units are what it counts, rates are units a second. */
struct row {
	const char *name, *count;       /* borrowed from the pages */
	const char *parent, *exceeding; /* the same; NULL: none */
	double at_ms;
	double limit, share, bound, demand, global_demand;
	double peak,
		local_peak; /* rates up to which packets with colours pass: in the group, here */
	double part;        /* part of the parent's limit, over the group */
	double passed, passed_packets, dropped, dropped_packets, over;
	double waiting_packets, lost;
	double total, left, spent, prefetched;
};

/* All of a limiter, in its order; begins as all zero. */
struct rows {
	struct row *rows;
	size_t n;
	json_t *index; /* by name; NULL: not needed yet */
};

/* What goes on, a second; NAN is what is not known. */
struct row_rates {
	double passed, dropped, dropped_packets, over;
};

/*
 * Units a second that may pass, in the group and here: the limit, the peak of colours, or the
 * present part of a parent's limit. INFINITY if packets beyond them pass, too.
 */
double row_may(const struct row *row);
double row_may_here(const struct row *row);

/* Reads the policies, which have to stay. Nothing is read without memory. */
void rows_read(struct rows *rows, const struct policy_pages *policies);
void rows_free(struct rows *rows);

/* The row of that name, soonest found where the guess is right; NULL: none. */
const struct row *rows_find(struct rows *rows, const char *name, size_t guess);

/* What has gone on between two readings of one policy; `before` may be NULL. */
struct row_rates row_rates(const struct row *now, const struct row *before);

/* Adds what is known: NAN is nothing, and a sum of nothing. */
void add_known(double *sum, double value);

/* A number; null of NAN. */
json_t *known_json(double value);

#endif
