/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Writes into one buffer, because a stream would need a call for each word of each policy, which
 * takes longer than the rest. Containers, and strings without escapes, are written here, not by
 * Jansson. It would search for cycles and print the address of each object for that, which takes
 * longer than the rest. Documents read from a text have no cycles.
 */
#include "json/text_lines.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define FORM       (JSON_COMPACT | JSON_ENCODE_ANY)
#define ROOM_FIRST 4096

/* Layout of an object or an array: its content is on separate lines, or on the same line. */
enum layout { IN_LINES, IN_ONE };

struct document_text {
	char *at;
	size_t len, room;
};

/* Makes room for `bytes` more bytes, and a terminator. */
static bool make_room(struct document_text *text, size_t bytes)
{
	size_t room = text->room ? text->room : ROOM_FIRST;
	char *at;

	while (room - text->len <= bytes)
		room *= 2;
	if (room == text->room)
		return true;
	at = realloc(text->at, room);
	if (at == NULL)
		return false;
	text->at = at;
	text->room = room;
	return true;
}

static bool write_words(struct document_text *text, const char *words)
{
	const size_t len = strlen(words);

	if (!make_room(text, len))
		return false;
	memcpy(text->at + text->len, words, len);
	text->len += len;
	return true;
}

/* Writes a scalar, and tries again after making room. */
static bool write_scalar(struct document_text *text, const json_t *value)
{
	size_t room, len;

	do {
		room = text->room - text->len;
		len = json_dumpb(value, text->at + text->len, room, FORM);
		if (len == 0 || !make_room(text, len))
			return false;
	} while (len > room);
	text->len += len;
	return true;
}

/* Returns true if the string needs no escapes in JSON. */
static bool stands_as_it_is(const char *string, size_t len)
{
	bool stands = true;

	for (size_t i = 0; i < len; i++)
		stands &= (unsigned char)string[i] >= ' ' && string[i] != '"' && string[i] != '\\';
	return stands;
}

static bool write_plain(struct document_text *text, const char *string, size_t len)
{
	char *at;

	if (!make_room(text, len + 2))
		return false;
	at = text->at + text->len;
	at[0] = at[len + 1] = '"';
	memcpy(at + 1, string, len);
	text->len += len + 2;
	return true;
}

static bool write_string(struct document_text *text, const json_t *value)
{
	const char *string = json_string_value(value);
	size_t len = json_string_length(value);

	return stands_as_it_is(string, len) ? write_plain(text, string, len)
					    : write_scalar(text, value);
}

static bool write_key(struct document_text *text, const char *key)
{
	json_t *string;
	bool good;

	if (stands_as_it_is(key, strlen(key)))
		return write_plain(text, key, strlen(key)) && write_words(text, ":");
	string = json_string(key);
	good = string != NULL && write_scalar(text, string) && write_words(text, ":");
	json_decref(string);
	return good;
}

static bool write_value(struct document_text *text, const json_t *value, enum layout layout);

static bool write_elements(struct document_text *text, const json_t *array, enum layout layout)
{
	const char *before = layout == IN_LINES ? "\n" : "";
	const json_t *element;
	bool good = write_words(text, "[");
	size_t i;

	json_array_foreach (array, i, element)
		good = good && (i == 0 || write_words(text, ",")) && write_words(text, before) &&
		       write_value(text, element, IN_ONE);
	return good && (i == 0 || write_words(text, before)) && write_words(text, "]");
}

/* Writes an object. In lines, its arrays are in lines, too. */
static bool write_members(struct document_text *text, const json_t *object, enum layout layout)
{
	const char *before = layout == IN_LINES ? "\n" : "";
	bool good = write_words(text, "{"), first = true;
	const char *key;
	json_t *value;

	json_object_foreach ((json_t *)object, key, value) {
		good = good && (first || write_words(text, ",")) && write_words(text, before) &&
		       write_key(text, key) &&
		       write_value(text, value, json_is_array(value) ? layout : IN_ONE);
		first = false;
	}
	return good && write_words(text, before) && write_words(text, "}");
}

static bool write_value(struct document_text *text, const json_t *value, enum layout layout)
{
	switch (json_typeof(value)) {
	case JSON_OBJECT:
		return write_members(text, value, layout);
	case JSON_ARRAY:
		return write_elements(text, value, layout);
	case JSON_STRING:
		return write_string(text, value);
	default:
		return write_scalar(text, value);
	}
}

static char *text_of(const json_t *root, enum layout layout, size_t *len)
{
	struct document_text text = {0};

	if (!make_room(&text, 0) || !write_value(&text, root, layout)) {
		free(text.at);
		return NULL;
	}
	text.at[text.len] = '\0';
	*len = text.len;
	return text.at;
}

char *json_text_lines(const json_t *root, size_t *len)
{
	return text_of(root, IN_LINES, len);
}

char *json_text_line(const json_t *root, size_t *len)
{
	return text_of(root, IN_ONE, len);
}
