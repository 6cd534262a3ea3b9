/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "policy_pages.h"

#include <errno.h>
#include <math.h>
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
