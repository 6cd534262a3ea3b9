/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "json/locate.h"

#include <string.h>

#include "json/escape.h"

#define BLANKS " \t\r\n"

/* Each of these takes a place in valid JSON, and returns one behind it. */
static const char *past_blanks(const char *at)
{
	return at + strspn(at, BLANKS);
}

static const char *past_string(const char *at)
{
	for (at++; *at != '"'; at++)
		at += *at == '\\';
	return at + 1;
}

static const char *past_value(const char *at)
{
	size_t depth = 0;

	do {
		if (*at == '"') {
			at = past_string(at);
		} else if (*at == '{' || *at == '[') {
			depth++;
			at++;
		} else if (*at == '}' || *at == ']') {
			depth--;
			at++;
		} else if (depth == 0) {
			return at + strcspn(at, BLANKS ",]}");
		} else {
			at += strcspn(at, "\"{[}]");
		}
	} while (depth > 0);
	return at;
}

/* The member's value; NULL: there is none. */
static const char *find_member(const char *object, const char *key, bool first)
{
	const char *at = past_blanks(object + 1), *found = NULL;

	while (*at == '"' && !(first && found != NULL)) {
		bool same = json_escaped_equals(at, key);

		at = past_blanks(past_string(at));
		at = past_blanks(at + 1); /* the colon */
		if (same)
			found = at;
		at = past_blanks(past_value(at));
		if (*at == ',')
			at = past_blanks(at + 1);
	}
	return found;
}

static const char *find_element(const char *array, size_t index)
{
	const char *at = past_blanks(array + 1);

	for (; *at != ']' && index > 0; index--) {
		at = past_blanks(past_value(at));
		if (*at == ',')
			at = past_blanks(at + 1);
	}
	return *at != ']' ? at : NULL;
}

static const char *find_value(
	const char *text, const struct json_path *path, bool first, bool *exact)
{
	const char *parent, *found = NULL;

	if (path == NULL)
		return past_blanks(text);
	parent = find_value(text, path->parent, first, exact);
	if (*exact && path->key != NULL && *parent == '{')
		found = find_member(parent, path->key, first);
	else if (*exact && path->key == NULL && *parent == '[')
		found = find_element(parent, path->index);
	*exact = found != NULL;
	return found != NULL ? found : parent;
}

size_t json_locate(const char *text, const struct json_path *path, bool *exact)
{
	bool is_it = true;
	size_t offset = (size_t)(find_value(text, path, false, &is_it) - text);

	if (exact != NULL)
		*exact = is_it;
	return offset;
}

size_t json_locate_first(const char *text, const struct json_path *path)
{
	bool exact = true;

	return (size_t)(find_value(text, path, true, &exact) - text);
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
