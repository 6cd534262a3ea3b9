/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "json/json_path.h"

#include <float.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define FOUND_MAX 64 /* characters of a value or key that a message shows */

#define WORD_CHARS "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-"

/* Escapes to ASCII, so that a hostile file cannot send control sequences to a terminal or a log. */
static void print_scalar(const json_t *value, FILE *out)
{
	char *text = json_dumps(
		value, JSON_ENCODE_ANY | JSON_ENSURE_ASCII | JSON_REAL_PRECISION(DBL_DIG));
	size_t len = text != NULL ? strlen(text) : 0;

	if (text == NULL)
		fputs("(out of memory)", out);
	for (size_t i = 0; i < len && i < FOUND_MAX; i++) {
		if (text[i] == 0x7f) /* DEL, which Jansson does not escape */
			fputs("\\u007F", out);
		else
			fputc(text[i], out);
	}
	if (len > FOUND_MAX)
		fputs(json_is_string(value) ? "...\"" : "...", out);
	free(text);
}

void json_print_found(const json_t *value, FILE *out)
{
	if (value == NULL)
		fputs("missing", out);
	else if (json_is_object(value))
		fputs(json_object_size(value) > 0 ? "an object" : "an empty object", out);
	else if (json_is_array(value))
		fputs(json_array_size(value) > 0 ? "an array" : "an empty array", out);
	else
		print_scalar(value, out);
}

char *json_found_text(const json_t *value)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	if (out == NULL)
		return NULL;
	json_print_found(value, out);
	fclose(out);
	return text;
}

static void print_key(const struct json_path *path, FILE *out)
{
	const size_t len = strlen(path->key);
	json_t *key;

	if (len > 0 && len <= FOUND_MAX && strspn(path->key, WORD_CHARS) == len) {
		fprintf(out, "%s%s", path->parent != NULL ? "." : "", path->key);
		return;
	}
	key = json_string(path->key);
	fputc('[', out);
	json_print_found(key, out);
	fputc(']', out);
	json_decref(key);
}

void json_path_print_step(const struct json_path *path, FILE *out)
{
	if (path->key != NULL)
		print_key(path, out);
	else
		fprintf(out, "[%zu]", path->index);
}

void json_path_print(const struct json_path *path, FILE *out)
{
	if (path == NULL)
		return;
	json_path_print(path->parent, out);
	json_path_print_step(path, out);
}

json_t *json_path_find(json_t *root, const struct json_path *path)
{
	json_t *parent;

	if (path == NULL)
		return root;
	parent = json_path_find(root, path->parent);
	if (path->key != NULL)
		return json_object_get(parent, path->key);
	return json_array_get(parent, path->index);
}

/* Returns the length of the key at the start of a text, the longest member. Keys can have dots. */
static size_t key_length(json_t *object, const char *text)
{
	size_t longest = strcspn(text, ".[");
	const char *key;
	json_t *member;

	json_object_foreach (object, key, member) {
		size_t n = strlen(key);

		if (n > longest && strncmp(text, key, n) == 0 && strchr(".[", text[n]))
			longest = n;
	}
	return longest;
}

const struct json_path *json_path_named(json_t *root, const char *text, struct json_named *named)
{
	const struct json_path *above = NULL;
	char *at = named->text, *end;
	char separator = '.';

	snprintf(named->text, sizeof(named->text), "%s", text);
	for (unsigned n = 0; *at && n < JSON_NAMED_STEPS; n++) {
		struct json_path *step = &named->steps[n];

		*step = (struct json_path){.parent = above};
		if (separator == '[') {
			step->index = strtoul(at, &end, 10);
			end += *end == ']';
		} else {
			step->key = at;
			end = at + key_length(json_path_find(root, above), at);
		}
		separator = *end;
		if (separator)
			*end++ = '\0';
		at = end;
		above = step;
	}
	return above;
}
