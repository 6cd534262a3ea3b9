/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "text.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "json/printable.h"

#define ROOM_FIRST  4096
#define NUMBER_TEXT 48

static bool make_room(struct text *text, size_t n)
{
	size_t room = text->room ? text->room : ROOM_FIRST;
	char *bytes;

	if (text->failed || text->room - text->length > n)
		return !text->failed;
	while (room - text->length <= n)
		room *= 2;
	bytes = realloc(text->bytes, room);
	if (!bytes) {
		text->failed = true;
		return false;
	}
	text->bytes = bytes;
	text->room = room;
	return true;
}

void text_add(struct text *text, const char *bytes, size_t n)
{
	if (!make_room(text, n))
		return;
	memcpy(text->bytes + text->length, bytes, n);
	text->length += n;
	text->bytes[text->length] = '\0';
}

void text_print(struct text *text, const char *format, ...)
{
	va_list args, again;
	int n;

	va_start(args, format);
	va_copy(again, args);
	n = vsnprintf(NULL, 0, format, args);
	if (n >= 0 && make_room(text, (size_t)n + 1)) {
		vsnprintf(text->bytes + text->length, (size_t)n + 1, format, again);
		text->length += (size_t)n;
	}
	va_end(again);
	va_end(args);
}

void text_cut(struct text *text, size_t length)
{
	text->length = length;
	if (text->bytes)
		text->bytes[length] = '\0';
}

static void add_escaped(struct text *text, const char *words, bool quotes)
{
	for (size_t n; *words; words += n) {
		n = strcspn(words, quotes ? "\\\n\"" : "\\\n");
		text_add(text, words, n);
		if (!words[n])
			continue;
		text_add(text, words[n] == '\n' ? "\\n" : words[n] == '"' ? "\\\"" : "\\\\", 2);
		n++;
	}
}

void text_label(struct text *text, const char *value)
{
	const char *end = value;
	char *words;

	while (*end >= ' ' && *end <= '~' && *end != '"' && *end != '\\')
		end++;
	if (*end == '\0') { /* nothing to escape, as in most names */
		text_add(text, value, (size_t)(end - value));
		return;
	}
	words = printable_copy(value, "\\u");

	text->failed |= words == NULL;
	add_escaped(text, words ? words : "", true);
	free(words);
}

void text_help(struct text *text, const char *help, enum text_format format)
{
	add_escaped(text, help, format == TEXT_OPENMETRICS);
}

bool text_value(struct text *text, const json_t *value, double scale)
{
	char number[NUMBER_TEXT];
	int n;

	if (json_is_array(value))
		n = snprintf(number, sizeof(number), "%zu", json_array_size(value));
	else if (json_is_boolean(value))
		n = snprintf(number, sizeof(number), "%d", json_is_true(value));
	else if (json_is_integer(value) && scale == 1)
		n = snprintf(number, sizeof(number), "%lld", (long long)json_integer_value(value));
	else if (json_is_number(value))
		n = snprintf(number, sizeof(number), "%.15g", json_number_value(value) * scale);
	else
		return false;
	text_add(text, number, (size_t)n);
	return true;
}

char *text_json(const json_t *data)
{
	char *words = json_dumps(data, JSON_COMPACT | JSON_ENCODE_ANY);
	char *copy = words ? printable_copy(words, "\\\\u") : NULL;

	free(words);
	return copy;
}
