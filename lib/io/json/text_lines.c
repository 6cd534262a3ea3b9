/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "json/text_lines.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#define FORM (JSON_COMPACT | JSON_ENCODE_ANY)

static bool write_elements(const json_t *array, FILE *out)
{
	const json_t *element;
	bool good = true;
	size_t i;

	fputc('[', out);
	json_array_foreach (array, i, element) {
		fputs(i > 0 ? ",\n" : "\n", out);
		good = good && json_dumpf(element, out, FORM) == 0;
	}
	fputs(i > 0 ? "\n]" : "]", out);
	return good;
}

static bool write_value(const json_t *value, FILE *out)
{
	return json_is_array(value) ? write_elements(value, out)
				    : json_dumpf(value, out, FORM) == 0;
}

static bool write_key(const char *key, FILE *out)
{
	json_t *text = json_string(key);
	bool good = text != NULL && json_dumpf(text, out, FORM) == 0;

	json_decref(text);
	fputc(':', out);
	return good;
}

static bool write_members(const json_t *object, FILE *out)
{
	bool good = true, first = true;
	const char *key;
	json_t *value;

	fputc('{', out);
	json_object_foreach ((json_t *)object, key, value) {
		fputs(first ? "\n" : ",\n", out);
		first = false;
		good = good && write_key(key, out) && write_value(value, out);
	}
	fputs("\n}", out);
	return good;
}

char *json_text_lines(const json_t *root, size_t *len)
{
	char *text = NULL;
	FILE *out = open_memstream(&text, len);
	bool good;

	if (out == NULL)
		return NULL;
	good = json_is_object(root) ? write_members(root, out) : write_value(root, out);
	if (fclose(out) == 0 && good)
		return text;
	free(text);
	return NULL;
}
