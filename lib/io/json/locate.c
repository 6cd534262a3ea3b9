/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "json/locate.h"

#include <errno.h>
#include <string.h>

#include "json/scan.h"

#define DEPTH_MAX 2048 /* JSON_PARSER_MAX_DEPTH of jansson */

static bool is_plain(const char *text, const struct json_token *string)
{
	return string->closed &&
	       memchr(text + string->begin, '\\', string->end - string->begin) == NULL;
}

/* Returns the text of a string, a new reference, or NULL. */
static json_t *decode_string(const char *text, const struct json_token *string)
{
	size_t len = string->end - string->begin;

	return is_plain(text, string)
		       ? json_stringn_nocheck(text + string->begin + 1, len - 2)
		       : json_loadb(text + string->begin, len, JSON_DECODE_ANY, NULL);
}

static bool is_key(const char *text, const struct json_token *token, const char *key)
{
	size_t len = strlen(key);
	json_t *string;
	bool same;

	if (token->kind != TOKEN_STRING)
		return false;
	if (is_plain(text, token))
		return token->end - token->begin == len + 2 &&
		       memcmp(text + token->begin + 1, key, len) == 0;
	string = decode_string(text, token);
	same = string != NULL && strcmp(json_string_value(string), key) == 0;
	json_decref(string);
	return same;
}

/* Replaces a container by its value at the step. Returns false if there is none. */
static bool find_step(const char *text, size_t len, const struct json_path *step, bool first,
	struct json_token *token)
{
	struct json_scan scan = {.text = text, .len = len, .at = token->end, .depth = 1};
	bool is_object = step->key != NULL, found = false;
	struct json_token key, value;

	if (token->kind != TOKEN_OPEN || text[token->begin] != (is_object ? '{' : '['))
		return false;
	for (size_t i = 0; json_scan_member(&scan, 1, &key, &value); i++) {
		if (is_object ? !is_key(text, &key, step->key) : i != step->index)
			continue;
		*token = value;
		found = true;
		if (first || !is_object)
			break;
	}
	return found;
}

/* Returns the value at a path, or the innermost container on the way to it. */
static struct json_token find_value(
	const char *text, size_t len, const struct json_path *path, bool first, bool *exact)
{
	struct json_scan scan = {.text = text, .len = len};
	struct json_token token;

	*exact = true;
	if (path == NULL) {
		json_scan_next(&scan, &token);
		return token;
	}
	token = find_value(text, len, path->parent, first, exact);
	*exact = *exact && find_step(text, len, path, first, &token);
	return token;
}

size_t json_locate(const char *text, const struct json_path *path, bool *exact)
{
	bool is_it;
	size_t offset = find_value(text, strlen(text), path, false, &is_it).begin;

	if (exact != NULL)
		*exact = is_it;
	return offset;
}

size_t json_locate_first(const char *text, const struct json_path *path)
{
	bool exact;

	return find_value(text, strlen(text), path, true, &exact).begin;
}

struct duplicates {
	struct json_scan scan;
	json_duplicate_fn found;
	void *context;
};

/* Searches a container whose content has this depth, and those in it. Returns 0 or -ENOMEM. */
static int search_container(struct duplicates *d, const struct json_path *parent, size_t depth)
{
	json_t *keys = json_object();
	struct json_path step = {.parent = parent};
	int rc = keys != NULL ? 0 : -ENOMEM;
	struct json_token key, value;

	for (; rc == 0 && json_scan_member(&d->scan, depth, &key, &value); step.index++) {
		json_t *name = NULL;

		if (key.kind != TOKEN_END) {
			name = decode_string(d->scan.text, &key);
			step.key = json_string_value(name);
			if (json_object_get(keys, step.key) != NULL)
				d->found(&step, d->context);
			else if (json_object_set(keys, step.key, name) < 0)
				rc = -ENOMEM;
		}
		if (rc == 0 && value.kind == TOKEN_OPEN && depth < DEPTH_MAX)
			rc = search_container(d, &step, depth + 1);
		json_decref(name);
	}
	json_decref(keys);
	return rc;
}

int json_find_duplicates(const char *text, size_t len, json_duplicate_fn found, void *context)
{
	struct duplicates d = {
		.scan = {.text = text, .len = len}, .found = found, .context = context};
	struct json_token root;

	json_scan_next(&d.scan, &root);
	return root.kind == TOKEN_OPEN ? search_container(&d, NULL, root.depth + 1) : 0;
}

struct json_line json_line_at(const char *text, size_t len, size_t offset)
{
	struct json_line line = {.line = 1, .text = text};
	const char *at = text, *end;

	if (offset > len)
		offset = len;
	while ((at = memchr(at, '\n', offset - (size_t)(at - text))) != NULL) {
		line.line++;
		line.text = ++at;
	}
	line.column = (unsigned)(text + offset - line.text) + 1;
	end = memchr(line.text, '\n', len - (size_t)(line.text - text));
	line.len = (size_t)((end != NULL ? end : text + len) - line.text);
	if (line.len > 0 && line.text[line.len - 1] == '\r')
		line.len--;
	return line;
}
