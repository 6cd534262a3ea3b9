/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "import/csv.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define BYTE_ORDER_MARK "\xef\xbb\xbf"

int csv_init(struct csv *csv, const char *text, size_t len)
{
	size_t mark = strlen(BYTE_ORDER_MARK);

	*csv = (struct csv){.line = 1};
	if (len >= mark && memcmp(text, BYTE_ORDER_MARK, mark) == 0) {
		text += mark;
		len -= mark;
	}
	if (len > 0 && memchr(text, '\0', len) != NULL)
		return -EILSEQ;
	csv->text = malloc(len + 1);
	if (csv->text == NULL)
		return -ENOMEM;
	if (len > 0)
		memcpy(csv->text, text, len);
	csv->text[len] = '\0';
	csv->at = csv->text;
	csv->end = csv->text + len;
	return 0;
}

void csv_free(struct csv *csv)
{
	free(csv->text);
	*csv = (struct csv){0};
}

static void skip_line(struct csv *csv)
{
	csv->at += strcspn(csv->at, "\n");
	if (csv->at < csv->end) {
		csv->at++;
		csv->line++;
	}
}

static size_t line_end(const char *at)
{
	return at[0] == '\n' ? 1 : at[0] == '\r' && at[1] == '\n' ? 2 : 0;
}

static void skip_what_is_no_record(struct csv *csv)
{
	while (*csv->at == '#' || line_end(csv->at) > 0)
		skip_line(csv);
}

/* Up to the quote that ends it; what is doubled is one. NULL: nothing ends it. */
static char *unquote_field(struct csv *csv, char **to)
{
	char *from = csv->at + 1;

	*to = csv->at;
	while (*from != '\0' && !(from[0] == '"' && from[1] != '"')) {
		csv->line += *from == '\n';
		from += *from == '"';
		*(*to)++ = *from++;
	}
	return *from == '\0' ? NULL : from + 1;
}

/* Behind a field: a comma, or the end of the record, or something else. */
static bool end_field(struct csv *csv, char *behind, char *to, bool *last)
{
	size_t ends = line_end(behind);

	*last = *behind != ',';
	if (*last && *behind != '\0' && ends == 0)
		return false;
	csv->line += ends > 0;
	csv->at = *last ? behind + ends : behind + 1;
	*to = '\0';
	return true;
}

static const char *read_quoted(struct csv *csv, bool *last)
{
	char *to, *behind = unquote_field(csv, &to);

	if (behind == NULL) {
		csv->at = csv->end;
		return "nothing closes this quote";
	}
	if (end_field(csv, behind, to, last))
		return NULL;
	csv->at = behind;
	skip_line(csv);
	return "a closing quote has more than a comma behind it: expected quotes within quotes to "
	       "be doubled";
}

static const char *read_bare(struct csv *csv, bool *last)
{
	char *behind = csv->at;

	while (*behind != '\0' && *behind != ',' && line_end(behind) == 0) {
		if (*behind == '"') {
			skip_line(csv);
			return "a quote within a field: expected the whole field in quotes";
		}
		behind++;
	}
	end_field(csv, behind, behind, last);
	return NULL;
}

int csv_next(struct csv *csv, struct csv_row *row, const char **why)
{
	bool last = false;

	*why = NULL;
	skip_what_is_no_record(csv);
	row->line = csv->line;
	row->n = 0;
	if (csv->at == csv->end)
		return 0;
	while (!last) {
		if (row->n == CSV_FIELDS_MOST) {
			skip_line(csv);
			*why = "too many columns: expected at most 64";
			return -EINVAL;
		}
		row->field[row->n++] = csv->at;
		*why = *csv->at == '"' ? read_quoted(csv, &last) : read_bare(csv, &last);
		if (*why != NULL)
			return -EINVAL;
	}
	return 1;
}
