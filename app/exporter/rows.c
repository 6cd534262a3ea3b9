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
	enum policy_number_id number;
	size_t offset;
} numbers[] = {
	{NUMBER_limit_RATE, offsetof(struct row, limit)},
	{NUMBER_local_limit_RATE, offsetof(struct row, share)},
	{NUMBER_bound_RATE, offsetof(struct row, bound)},
	{NUMBER_demand_RATE, offsetof(struct row, demand)},
	{NUMBER_global_demand_RATE, offsetof(struct row, global_demand)},
	{NUMBER_passed_VOLUME, offsetof(struct row, passed)},
	{NUMBER_passed_PACKETS, offsetof(struct row, passed_packets)},
	{NUMBER_dropped_VOLUME, offsetof(struct row, dropped)},
	{NUMBER_dropped_PACKETS, offsetof(struct row, dropped_packets)},
	{NUMBER_over_VOLUME, offsetof(struct row, over)},
	{NUMBER_waiting_PACKETS, offsetof(struct row, waiting_packets)},
	{NUMBER_peers_lost_COUNT, offsetof(struct row, lost)},
	{NUMBER_quota_UNITS, offsetof(struct row, total)},
	{NUMBER_quota_remaining_UNITS, offsetof(struct row, left)},
	{NUMBER_quota_used_UNITS, offsetof(struct row, spent)},
	{NUMBER_quota_prefetched_UNITS, offsetof(struct row, prefetched)},
	{NUMBER_peak_RATE, offsetof(struct row, peak)},
	{NUMBER_local_peak_RATE, offsetof(struct row, local_peak)},
	{NUMBER_share_RATE, offsetof(struct row, part)},
};

/* The columns of the numbers in a limiter's rows. */
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
	struct row_columns columns = {policy_number_column(policies, NUMBER_name_TEXT),
		policy_number_column(policies, NUMBER_count_TEXT),
		policy_number_column(policies, NUMBER_parent_TEXT),
		policy_number_column(policies, NUMBER_exceeding_TEXT), {0}};

	for (size_t k = 0; k < NUMBERS; k++)
		columns.of[k] = policy_number_column(policies, numbers[k].number);
	*rows = (struct rows){calloc(policies->n + 1, sizeof(*rows->rows)), 0, NULL};
	for (const struct policy_page *page = policies->first; rows->rows && page;
		page = page->next)
		for (size_t i = 0; i < page->n; i++, rows->n++)
			if (!read_row(&rows->rows[rows->n], page, i, &columns))
				return; /* the row is malformed */
}

void rows_free(struct rows *rows)
{
	free(rows->rows);
	json_decref(rows->index);
	*rows = (struct rows){0};
}

const struct row *rows_find(struct rows *rows, const char *name, size_t guess)
{
	const json_t *found;

	if (guess < rows->n && strcmp(rows->rows[guess].name, name) == 0)
		return &rows->rows[guess];
	if (!rows->index) {
		rows->index = json_object();
		for (size_t i = 0; i < rows->n; i++)
			json_object_set_new(
				rows->index, rows->rows[i].name, json_integer((json_int_t)i));
	}
	found = json_object_get(rows->index, name);
	return found ? &rows->rows[json_integer_value(found)] : NULL;
}

double rate_of(double now, double before, double seconds)
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
