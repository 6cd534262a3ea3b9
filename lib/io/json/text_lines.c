/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Into one buffer: a stream would be asked for each word of each policy, which takes longer than
 * all that is written.
 */
#include "json/text_lines.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define FORM       (JSON_COMPACT | JSON_ENCODE_ANY)
#define ROOM_FIRST 4096

struct document_text {
	char *at;
	size_t len, room;
};

/* Has room for so many bytes more, and one that ends them. */
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
	size_t len = strlen(words);

	if (!make_room(text, len))
		return false;
	memcpy(text->at + text->len, words, len);
	text->len += len;
	return true;
}

/* Again, where there was no room for it. */
static bool write_json(struct document_text *text, const json_t *value)
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

static bool write_elements(struct document_text *text, const json_t *array)
{
	const json_t *element;
	bool good = write_words(text, "[");
	size_t i;

	json_array_foreach (array, i, element)
		good = good && write_words(text, i > 0 ? ",\n" : "\n") && write_json(text, element);
	return good && write_words(text, i > 0 ? "\n]" : "]");
}

static bool write_value(struct document_text *text, const json_t *value)
{
	return json_is_array(value) ? write_elements(text, value) : write_json(text, value);
}

static bool write_key(struct document_text *text, const char *key)
{
	json_t *string = json_string(key);
	bool good = string != NULL && write_json(text, string) && write_words(text, ":");

	json_decref(string);
	return good;
}

static bool write_members(struct document_text *text, const json_t *object)
{
	bool good = write_words(text, "{"), first = true;
	const char *key;
	json_t *value;

	json_object_foreach ((json_t *)object, key, value) {
		good = good && write_words(text, first ? "\n" : ",\n") && write_key(text, key) &&
		       write_value(text, value);
		first = false;
	}
	return good && write_words(text, "\n}");
}

char *json_text_lines(const json_t *root, size_t *len)
{
	struct document_text text = {0};
	bool good = make_room(&text, 0) &&
		    (json_is_object(root) ? write_members(&text, root) : write_value(&text, root));

	if (!good) {
		free(text.at);
		return NULL;
	}
	text.at[text.len] = '\0';
	*len = text.len;
	return text.at;
}
