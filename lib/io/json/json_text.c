/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "json/json_text.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_ROOM  16384
#define NUMBER_ROOM 64
#define ESCAPE_MOST 6  /* bytes of a character */
#define SORTED_HERE 32 /* members that are sorted without asking for memory */

struct text_writer {
	char *at;
	size_t len, room;
	enum json_text_form form;
	unsigned depth;    /* of the value that is written: 0 is the root */
	bool failed;       /* without memory */
	json_text_fn take; /* what is there when it is full; NULL: it grows */
	void *context;
};

struct text_member {
	const char *key;
	const json_t *value;
};

static void make_room(struct text_writer *text, size_t len)
{
	size_t room;
	char *grown;

	if (text->take != NULL) {
		text->take(text->context, text->at, text->len);
		text->len = 0;
		if (len <= text->room)
			return;
	}
	room = 2 * (text->len + len);
	grown = realloc(text->at, room);
	text->failed |= grown == NULL;
	if (grown == NULL)
		return;
	text->at = grown;
	text->room = room;
}

/* Room for so many bytes, behind what is there. NULL: no memory. */
static inline char *room_for(struct text_writer *text, size_t len)
{
	if (text->room - text->len < len)
		make_room(text, len);
	return text->failed ? NULL : text->at + text->len;
}

static inline void add_char(struct text_writer *text, char c)
{
	char *to = room_for(text, 1);

	if (to != NULL)
		*to = c;
	text->len += to != NULL;
}

static void add_word(struct text_writer *text, const char *word)
{
	for (; *word != '\0'; word++)
		add_char(text, *word);
}

/* Returns the end of what it has written, six bytes at most. */
static char *escape_char(char *to, unsigned char c)
{
	static const char letters[][2] = {{'"', '"'}, {'\\', '\\'}, {'\b', 'b'}, {'\f', 'f'},
		{'\n', 'n'}, {'\r', 'r'}, {'\t', 't'}};
	static const char digits[] = "0123456789ABCDEF";

	*to++ = '\\';
	for (unsigned i = 0; i < sizeof(letters) / sizeof(letters[0]); i++) {
		if (c != (unsigned char)letters[i][0])
			continue;
		*to++ = letters[i][1];
		return to;
	}
	memcpy(to, "u00", 3);
	to[3] = digits[c >> 4];
	to[4] = digits[c & 15];
	return to + 5;
}

static void add_string(struct text_writer *text, const char *string, size_t len)
{
	char *start = room_for(text, ESCAPE_MOST * len + 2), *to = start;

	if (start == NULL)
		return;
	*to++ = '"';
	for (size_t i = 0; i < len; i++) {
		unsigned char c = (unsigned char)string[i];

		if (c >= ' ' && c != '"' && c != '\\')
			*to++ = (char)c;
		else
			to = escape_char(to, c);
	}
	*to++ = '"';
	text->len += (size_t)(to - start);
}

static void add_value(struct text_writer *text, const json_t *value);

/* Between two values, before the first and behind the last. */
static void add_line_end(struct text_writer *text, const json_t *container)
{
	if (text->form == JSON_TEXT_LINES &&
		(text->depth == 1 || (text->depth == 2 && json_is_array(container))))
		add_char(text, '\n');
}

static void add_member(struct text_writer *text, const struct text_member *member)
{
	add_string(text, member->key, strlen(member->key));
	add_char(text, ':');
	add_value(text, member->value);
}

static int compare_members(const void *a, const void *b)
{
	return strcmp(((const struct text_member *)a)->key, ((const struct text_member *)b)->key);
}

/* Objects have few members as a rule: each is put in its place among them. */
static void sort_members(struct text_member *members, size_t n)
{
	if (n > SORTED_HERE) {
		qsort(members, n, sizeof(*members), compare_members);
		return;
	}
	for (size_t i = 1; i < n; i++) {
		struct text_member member = members[i];
		size_t at = i;

		for (; at > 0 && compare_members(&members[at - 1], &member) > 0; at--)
			members[at] = members[at - 1];
		members[at] = member;
	}
}

static size_t list_members(const json_t *object, struct text_member *members)
{
	json_t *walked = (json_t *)(uintptr_t)object;
	size_t n = 0;

	for (void *at = json_object_iter(walked); at != NULL;
		at = json_object_iter_next(walked, at))
		members[n++] = (struct text_member){
			json_object_iter_key(at), json_object_iter_value(at)};
	return n;
}

static void add_sorted(struct text_writer *text, const json_t *object)
{
	struct text_member here[SORTED_HERE], *members = here;
	size_t n = json_object_size(object);

	if (n > SORTED_HERE)
		members = calloc(n, sizeof(*members));
	text->failed |= members == NULL;
	if (members == NULL)
		return;
	n = list_members(object, members);
	sort_members(members, n);
	for (size_t i = 0; i < n; i++) {
		if (i > 0)
			add_char(text, ',');
		add_member(text, &members[i]);
	}
	if (members != here)
		free(members);
}

static void add_members(struct text_writer *text, const json_t *object)
{
	json_t *walked = (json_t *)(uintptr_t)object;
	bool first = true;

	for (void *at = json_object_iter(walked); at != NULL;
		at = json_object_iter_next(walked, at)) {
		if (!first)
			add_char(text, ',');
		first = false;
		add_line_end(text, object);
		add_member(text, &(struct text_member){
					 json_object_iter_key(at), json_object_iter_value(at)});
	}
	add_line_end(text, object);
}

static void add_elements(struct text_writer *text, const json_t *array)
{
	const json_t *value;
	size_t i;

	json_array_foreach (array, i, value) {
		if (i > 0)
			add_char(text, ',');
		add_line_end(text, array);
		add_value(text, value);
	}
	add_line_end(text, array);
}

static void add_integer(struct text_writer *text, json_int_t integer)
{
	char number[NUMBER_ROOM];

	snprintf(number, sizeof(number), "%" JSON_INTEGER_FORMAT, integer);
	add_word(text, number);
}

static void add_real(struct text_writer *text, const json_t *value)
{
	char number[NUMBER_ROOM] = "";
	size_t len = json_dumpb(value, number, sizeof(number) - 1, JSON_ENCODE_ANY);

	text->failed |= len == 0 || len >= sizeof(number);
	if (!text->failed)
		add_word(text, number);
}

static void add_container(struct text_writer *text, const json_t *value)
{
	bool object = json_is_object(value);

	add_char(text, object ? '{' : '[');
	text->depth++;
	if (object && text->form == JSON_TEXT_SORTED)
		add_sorted(text, value);
	else if (object)
		add_members(text, value);
	else
		add_elements(text, value);
	text->depth--;
	add_char(text, object ? '}' : ']');
}

static void add_value(struct text_writer *text, const json_t *value)
{
	switch (json_typeof(value)) {
	case JSON_OBJECT:
	case JSON_ARRAY:
		add_container(text, value);
		break;
	case JSON_STRING:
		add_string(text, json_string_value(value), json_string_length(value));
		break;
	case JSON_INTEGER:
		add_integer(text, json_integer_value(value));
		break;
	case JSON_REAL:
		add_real(text, value);
		break;
	case JSON_TRUE:
		add_word(text, "true");
		break;
	case JSON_FALSE:
		add_word(text, "false");
		break;
	case JSON_NULL:
		add_word(text, "null");
	}
}

char *json_text(const json_t *value, enum json_text_form form, size_t *len)
{
	struct text_writer text = {.at = malloc(FIRST_ROOM), .room = FIRST_ROOM, .form = form};

	text.failed = text.at == NULL || value == NULL;
	if (!text.failed)
		add_value(&text, value);
	*len = text.len;
	add_char(&text, '\0');
	if (!text.failed)
		return text.at;
	free(text.at);
	return NULL;
}

int json_text_to(const json_t *value, enum json_text_form form, json_text_fn take, void *context)
{
	struct text_writer text = {.at = malloc(FIRST_ROOM),
		.room = FIRST_ROOM,
		.form = form,
		.take = take,
		.context = context};

	text.failed = text.at == NULL || value == NULL;
	if (!text.failed)
		add_value(&text, value);
	if (!text.failed)
		take(context, text.at, text.len);
	free(text.at);
	return text.failed ? -ENOMEM : 0;
}
