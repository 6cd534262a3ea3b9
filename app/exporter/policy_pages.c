/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "policy_pages.h"

#include <errno.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Room for the values of a page, from offset 1 on: offset 0 is null. */
#define VALUES_MOST (UINT16_MAX + 1)

/* Writes the text of a value that is not null. Returns its bytes with the end, or 0. */
static size_t put_value(char *to, size_t room, const json_t *value)
{
	int n = -1;

	if (json_is_string(value))
		n = snprintf(to, room, "\"%s", json_string_value(value));
	else if (json_is_integer(value))
		n = snprintf(to, room, "%lld", (long long)json_integer_value(value));
	else if (json_is_real(value))
		n = snprintf(to, room, "%.17g", json_real_value(value));
	return n < 0 || (size_t)n >= room ? 0 : (size_t)n + 1;
}

/* Adds a row. Returns false if it is malformed or its values have no room. */
static bool add_row(struct policy_pages *pages, struct policy_page *page, char *values,
	size_t *used, const json_t *row)
{
	uint16_t *at = &page->at[page->n * page->columns];
	const json_t *value;
	size_t i;

	if (!json_is_array(row) || json_array_size(row) > page->columns)
		return false;
	memset(at, 0, page->columns * sizeof(*at));
	json_array_foreach (row, i, value) {
		size_t n = 0;

		if (json_is_null(value))
			continue;
		n = put_value(values + *used, VALUES_MOST - *used, value);
		if (n == 0)
			return false;
		at[i] = (uint16_t)*used;
		pages->has |= UINT64_C(1) << i % 64;
		*used += n;
	}
	page->n++;
	return true;
}

static int add_rows(struct policy_pages *pages, struct policy_page *page, char *values,
	size_t *used, const json_t *rows)
{
	size_t most = page->n;

	page->n = 0;
	while (page->n < most)
		if (!add_row(pages, page, values, used, json_array_get(rows, page->n)))
			return -EBADMSG;
	return 0;
}

int policy_pages_add(struct policy_pages *pages, const json_t *reply, size_t most)
{
	const json_t *rows = json_object_get(reply, "policies"), *at_ms;
	json_t *columns = json_object_get(reply, "columns");
	size_t n = json_array_size(rows), width = json_array_size(columns), used = 1;
	struct policy_page *page, *fitted;
	char *values;

	if (!json_is_array(rows) || !json_is_array(columns))
		return -EBADMSG;
	n = n < most ? n : most;
	page = malloc(sizeof(*page) + n * width * sizeof(*page->at) + VALUES_MOST);
	if (!page)
		return -ENOMEM;
	at_ms = json_object_get(reply, "at_ms");
	*page = (struct policy_page){.columns = width,
		.n = n,
		.at_ms = json_is_number(at_ms) ? json_number_value(at_ms) : NAN};
	values = (char *)&page->at[n * width];
	if (add_rows(pages, page, values, &used, rows)) {
		free(page);
		return -EBADMSG;
	}
	fitted = realloc(page, (size_t)(values - (char *)page) + used);
	page = fitted ? fitted : page;
	if (!pages->columns)
		pages->columns = json_incref(columns);
	if (pages->last)
		pages->last->next = page;
	else
		pages->first = page;
	pages->last = page;
	pages->n += page->n;
	return 0;
}

void policy_pages_free(struct policy_pages *pages)
{
	struct policy_page *next;

	for (struct policy_page *page = pages->first; page; page = next) {
		next = page->next;
		free(page);
	}
	json_decref(pages->columns);
	*pages = (struct policy_pages){0};
}

size_t policy_column(const struct policy_pages *pages, const char *name)
{
	const json_t *column;
	size_t i;

	json_array_foreach (pages->columns, i, column)
		if (json_is_string(column) && strcmp(json_string_value(column), name) == 0)
			return i;
	return SIZE_MAX;
}

size_t policy_number_column(const struct policy_pages *pages, enum policy_number_id number)
{
	char name[NUMBER_NAME_MAX];

	return policy_column(pages, number_column(&policy_numbers[number], name));
}

const char *policy_value(const struct policy_page *page, size_t row, size_t column)
{
	size_t at = column < page->columns ? page->at[row * page->columns + column] : 0;

	return at ? (const char *)&page->at[page->n * page->columns] + at : NULL;
}

const char *policy_text(const struct policy_page *page, size_t row, size_t column)
{
	const char *value = policy_value(page, row, column);

	return value && *value == '"' ? value + 1 : NULL;
}

double policy_number(const struct policy_page *page, size_t row, size_t column)
{
	const char *value = policy_value(page, row, column);

	return value && *value != '"' ? strtod(value, NULL) : NAN;
}

/* --- policies as numbers --------------------------------------------------------------------- */

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
