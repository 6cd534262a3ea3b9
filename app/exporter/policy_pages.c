/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "policy_pages.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define COMMAND "/weir/policy_stats"
#define ROWS    "\"policies\":["

int policy_answer_read(const char *text, json_t **head, const char **rows)
{
	const char *found = strstr(text, ROWS);
	size_t n = found ? (size_t)(found - text) + strlen(ROWS) : 0;
	char *copy = strndup(text, n + strlen("]}}"));
	json_t *answer;
	int ret = 0;

	*head = NULL;
	if (!copy)
		return -ENOMEM;
	if (found)
		memcpy(copy + n, "]}}", strlen(copy + n));
	answer = json_loads(found ? copy : text, JSON_REJECT_DUPLICATES, NULL);
	free(copy);
	*rows = text + n;
	*head = json_incref(json_object_get(answer, COMMAND));
	json_decref(answer);
	if (json_is_null(*head))
		ret = -ENOENT;
	else if (!found || !json_is_array(json_object_get(*head, "columns")))
		ret = -EBADMSG;
	if (ret) {
		json_decref(*head);
		*head = NULL;
	}
	return ret;
}

/* Returns bytes up to the closing quote of a string, or 0; *plain: without escapes. */
static size_t string_length(const char *text, bool *plain)
{
	size_t n = 1;

	for (*plain = true; text[n] != '"'; n++) {
		*plain &= text[n] >= ' ' && text[n] <= '~' && text[n] != '\\';
		if (!text[n] || (text[n] == '\\' && !text[++n]))
			return 0;
	}
	return n;
}

/* Copies a value that is not null. Returns the end of its text, or NULL. */
static const char *copy_value(char *to, const char *text)
{
	bool plain = true, quoted = *text == '"';
	size_t n = quoted ? string_length(text, &plain) : strspn(text, "-+.0123456789eE");
	json_t *string = plain ? NULL : json_loadb(text, n + 1, JSON_DECODE_ANY, NULL);

	if (n == 0 || (!plain && !string))
		return NULL;
	memcpy(to, text, n);
	to[n] = '\0';
	if (string) /* is no longer than its escapes */
		memcpy(to + 1, json_string_value(string), json_string_length(string) + 1);
	json_decref(string);
	return text + n + quoted;
}

/* Reads a row from after its bracket; *used bytes of the values are taken. Its end, or NULL. */
static const char *read_row(struct policy_pages *pages, struct policy_page *page, char *values,
	size_t *used, const char *text)
{
	uint16_t *at = &page->at[page->n * page->columns];

	memset(at, 0, page->columns * sizeof(*at));
	for (size_t i = 0; *text != ']'; i++) {
		bool null = strncmp(text, "null", 4) == 0;

		if (i == page->columns || *used > UINT16_MAX)
			return NULL;
		if (!null) {
			at[i] = (uint16_t)*used;
			pages->has |= UINT64_C(1) << i % 64;
		}
		text = null ? text + 4 : copy_value(values + *used, text);
		if (!text || (*text != ',' && *text != ']'))
			return NULL;
		text += *text == ',';
		*used += null ? 0 : strlen(values + *used) + 1;
	}
	page->n++;
	return text + 1;
}

static bool read_rows(struct policy_pages *pages, struct policy_page *page, char *values,
	size_t *used, const char *text, size_t most)
{
	while (*text == '[' && page->n < most) {
		text = read_row(pages, page, values, used, text + 1);
		if (!text || (*text != ',' && *text != ']'))
			return false;
		text += *text == ',';
	}
	return *text == ']' || page->n == most;
}

/* Returns a page with room for all rows: their offsets, and their values at *values. */
static struct policy_page *new_page(const json_t *head, const char *rows, char **values)
{
	const json_t *at_ms = json_object_get(head, "at_ms");
	size_t columns = json_array_size(json_object_get(head, "columns")), n = 0;
	struct policy_page *page;

	for (const char *at = rows; (at = strchr(at, '[')); at++)
		n += columns;
	page = malloc(sizeof(*page) + n * sizeof(*page->at) + strlen(rows) + 2);
	if (!page)
		return NULL;
	*page = (struct policy_page){.columns = columns,
		.at_ms = json_is_number(at_ms) ? json_number_value(at_ms) : NAN};
	*values = (char *)&page->at[n];
	return page;
}

int policy_pages_add(struct policy_pages *pages, const json_t *head, const char *rows, size_t most)
{
	size_t used = 1; /* offset 0 is null */
	char *values;
	struct policy_page *page = new_page(head, rows, &values), *fitted;
	uint16_t *end;

	if (!page)
		return -ENOMEM;
	if (!read_rows(pages, page, values, &used, rows, most)) {
		free(page);
		return -EBADMSG;
	}
	end = &page->at[page->n * page->columns];
	memmove(end, values, used);
	fitted = realloc(page, (size_t)((char *)end - (char *)page) + used);
	page = fitted ? fitted : page;
	if (!pages->columns)
		pages->columns = json_incref(json_object_get(head, "columns"));
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
