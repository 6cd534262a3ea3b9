/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "json/values.h"

#include <errno.h>
#include <string.h>

#include "json/document.h"
#include "json/scan.h"
#include "json/slips.h"

#define BLANKS " \t\r\n"

static int report_value(const struct document *document, size_t at, const json_error_t *error,
	struct diagnostics *d)
{
	struct slip slip = {0};

	if (json_error_code(error) == json_error_duplicate_key)
		slip = (struct slip){.offset = (size_t)error->position, .found = "duplicate key"};
	else
		slip_explain(document->text + at, document->len - at, error, &slip);
	slip.offset += at;
	document_report_slip(document, &slip, d);
	return -EINVAL;
}

/* Lines of values, counted from one to the next. */
struct line_count {
	json_t *lines; /* NULL: not wanted */
	const char *text;
	size_t at;
	json_int_t line;
};

/*
 * Adds the line of the value at an offset, which is after the previous ones. Returns 0 or -ENOMEM.
 */
static int add_line(struct line_count *count, size_t at)
{
	if (count->lines == NULL)
		return 0;
	for (; count->at < at; count->at++)
		count->line += count->text[count->at] == '\n';
	return json_array_append_new(count->lines, json_integer(count->line)) < 0 ? -ENOMEM : 0;
}

/* Replaces the lines: each element of the array at an offset gets one. Returns 0 or -ENOMEM. */
static int add_element_lines(struct line_count *count, const struct document *document, size_t at)
{
	struct json_scan scan = {
		.text = document->text, .len = document->len, .at = at + 1, .depth = 1};
	struct json_token key, value;
	int rc = json_array_clear(count->lines) < 0 ? -ENOMEM : 0;

	count->at = 0;
	count->line = 1;
	while (rc == 0 && json_scan_member(&scan, 1, &key, &value))
		rc = add_line(count, value.begin);
	return rc;
}

static int parse_values(
	const struct document *document, struct diagnostics *d, json_t *values, json_t *lines)
{
	const char *text = document->text;
	size_t first = strspn(text, BLANKS), at = first;
	struct line_count count = {.lines = lines, .text = text, .line = 1};

	while (at < document->len) {
		json_error_t error;
		json_t *value;

		errno = 0;
		value = json_loadb(text + at, document->len - at,
			JSON_REJECT_DUPLICATES | JSON_DISABLE_EOF_CHECK, &error);
		if (value == NULL &&
			errno == ENOMEM) /* the parser reports wrong text in this case */
			return -ENOMEM;
		if (value == NULL)
			return report_value(document, at, &error, d);
		if (json_array_append_new(values, value) < 0 || add_line(&count, at) < 0)
			return -ENOMEM;
		at += (size_t)error.position;
		at += strspn(text + at, BLANKS);
	}
	if (lines != NULL && json_array_size(values) == 1 && text[first] == '[')
		return add_element_lines(&count, document, first);
	return 0;
}

int json_values_load(const char *path, struct diagnostics *diagnostics, json_t **values)
{
	return json_values_load_lines(path, diagnostics, values, NULL);
}

int json_values_load_lines(
	const char *path, struct diagnostics *diagnostics, json_t **values, json_t **lines)
{
	const char *name = strcmp(path, "-") == 0 ? "<stdin>" : path;
	struct document document = {.name = strdup(name)};
	int rc = document.name != NULL ? document_read(&document, path, true) : -ENOMEM;

	*values = json_array();
	if (lines != NULL)
		*lines = json_array();
	if (rc == 0)
		rc = document_blank(&document, diagnostics);
	if (rc == 0 && (*values == NULL || (lines != NULL && *lines == NULL)))
		rc = -ENOMEM;
	if (rc == 0)
		rc = parse_values(&document, diagnostics, *values, lines != NULL ? *lines : NULL);
	if (rc == 0) {
		document_free(&document);
		return 0;
	}
	json_decref(*values);
	*values = NULL;
	if (lines != NULL) {
		json_decref(*lines);
		*lines = NULL;
	}
	return document_fail(&document, name, rc, diagnostics);
}
