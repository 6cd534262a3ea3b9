/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "rows.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define NUMBERS (sizeof(numbers) / sizeof(*numbers))

static const struct {
	const char *column;
	size_t offset;
} numbers[] = {
	{"limit_per_s", offsetof(struct row, limit)},
	{"local_limit_per_s", offsetof(struct row, share)},
	{"bound_per_s", offsetof(struct row, bound)},
	{"demand_per_s", offsetof(struct row, demand)},
	{"global_demand_per_s", offsetof(struct row, global_demand)},
	{"passed_units", offsetof(struct row, passed)},
	{"passed_packets", offsetof(struct row, passed_packets)},
	{"dropped_units", offsetof(struct row, dropped)},
	{"dropped_packets", offsetof(struct row, dropped_packets)},
	{"over_units", offsetof(struct row, over)},
	{"waiting_packets", offsetof(struct row, waiting_packets)},
	{"peers_lost", offsetof(struct row, lost)},
	{"total_units", offsetof(struct row, total)},
	{"left_units", offsetof(struct row, left)},
	{"spent_units", offsetof(struct row, spent)},
	{"prefetched_units", offsetof(struct row, prefetched)},
	{"peak_per_s", offsetof(struct row, peak)},
	{"local_peak_per_s", offsetof(struct row, local_peak)},
	{"share_per_s", offsetof(struct row, part)},
};

/* Where each number stands in a limiter's rows. */
struct row_columns {
	size_t name, count, parent, exceeding, of[NUMBERS];
};

static bool read_row(struct row *row, const struct policy_page *page, size_t i,
	const struct row_columns *columns)
{
	row->name = policy_text(page, i, columns->name);
	row->count = policy_text(page, i, columns->count);
	row->parent = policy_text(page, i, columns->parent);
	row->exceeding = policy_text(page, i, columns->exceeding);
	row->at_ms = page->at_ms;
	for (size_t k = 0; k < NUMBERS; k++)
		*(double *)((char *)row + numbers[k].offset) = policy_number(
			page, i, columns->of[k]);
	return row->name && row->count;
}

/* Returns true if exceeding packets are only marked or counted. */
static bool passes_all(const struct row *row)
{
	return row->exceeding && strcmp(row->exceeding, "drop") != 0 &&
	       strcmp(row->exceeding, "shape") != 0;
}

double row_may(const struct row *row)
{
	double most = isnan(row->peak) ? row->limit : row->peak;

	if (passes_all(row))
		return INFINITY;
	return row->part < row->limit ? most * row->part / row->limit : most;
}

double row_may_here(const struct row *row)
{
	if (passes_all(row))
		return INFINITY;
	return isnan(row->local_peak) ? row->share : row->local_peak;
}

void rows_read(struct rows *rows, const struct policy_pages *policies)
{
	struct row_columns columns = {policy_column(policies, "name"),
		policy_column(policies, "count"), policy_column(policies, "parent"),
		policy_column(policies, "exceeding"), {0}};

	for (size_t k = 0; k < NUMBERS; k++)
		columns.of[k] = policy_column(policies, numbers[k].column);
	*rows = (struct rows){calloc(policies->n + 1, sizeof(*rows->rows)), 0, NULL};
	for (const struct policy_page *page = policies->first; rows->rows && page;
		page = page->next)
		for (size_t i = 0; i < page->n; i++, rows->n++)
			if (!read_row(&rows->rows[rows->n], page, i, &columns))
				return; /* it would not be what it says */
}

void rows_free(struct rows *rows)
{
	free(rows->rows);
	json_decref(rows->index);
	*rows = (struct rows){0};
}

static void index_rows(struct rows *rows)
{
	rows->index = json_object();
	for (size_t i = 0; i < rows->n; i++)
		json_object_set_new(rows->index, rows->rows[i].name, json_integer((json_int_t)i));
}

const struct row *rows_find(struct rows *rows, const char *name, size_t guess)
{
	const json_t *found;

	if (guess < rows->n && strcmp(rows->rows[guess].name, name) == 0)
		return &rows->rows[guess];
	if (!rows->index)
		index_rows(rows);
	found = json_object_get(rows->index, name);
	return found ? &rows->rows[json_integer_value(found)] : NULL;
}

/* A counter that went back began anew, as its limiter or its policy did. */
static double rate_of(double now, double before, double seconds)
{
	return seconds > 0 && now >= before ? (now - before) / seconds : NAN;
}

struct row_rates row_rates(const struct row *now, const struct row *before)
{
	double s = before ? (now->at_ms - before->at_ms) / 1000 : NAN;

	if (!(s > 0))
		return (struct row_rates){NAN, NAN, NAN, NAN};
	return (struct row_rates){rate_of(now->passed, before->passed, s),
		rate_of(now->dropped, before->dropped, s),
		rate_of(now->dropped_packets, before->dropped_packets, s),
		rate_of(now->over, before->over, s)};
}

void add_known(double *sum, double value)
{
	if (!isnan(value))
		*sum = isnan(*sum) ? value : *sum + value;
}

json_t *known_json(double value)
{
	return isfinite(value) ? json_real(round(value * 1000) / 1000) : json_null();
}
