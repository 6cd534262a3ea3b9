/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "json/values.h"

#include <errno.h>
#include <string.h>

#include "json/document.h"
#include "json/slips.h"

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

static int parse_values(const struct document *document, struct diagnostics *d, json_t *values)
{
	const char *text = document->text;
	size_t at = strspn(text, " \t\r\n");

	while (at < document->len) {
		json_error_t error;
		json_t *value;

		errno = 0;
		value = json_loadb(text + at, document->len - at,
			JSON_REJECT_DUPLICATES | JSON_DISABLE_EOF_CHECK, &error);
		if (value == NULL && errno == ENOMEM) /* the parser says that the text is wrong */
			return -ENOMEM;
		if (value == NULL)
			return report_value(document, at, &error, d);
		if (json_array_append_new(values, value) < 0)
			return -ENOMEM;
		at += (size_t)error.position;
		at += strspn(text + at, " \t\r\n");
	}
	return 0;
}

int json_values_load(const char *path, struct diagnostics *diagnostics, json_t **values)
{
	const char *name = strcmp(path, "-") == 0 ? "<stdin>" : path;
	struct document document = {.name = strdup(name)};
	int rc = document.name != NULL ? document_read(&document, path) : -ENOMEM;

	*values = json_array();
	if (rc == 0)
		rc = document_blank(&document, diagnostics);
	if (rc == 0)
		rc = *values != NULL ? parse_values(&document, diagnostics, *values) : -ENOMEM;
	if (rc == 0) {
		document_free(&document);
		return 0;
	}
	json_decref(*values);
	*values = NULL;
	return document_fail(&document, name, rc, diagnostics);
}
