/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Writes compact JSON into a buffer of fixed size, byte for byte like telemetry_text().
 */
#include "telemetry/json_text.h"

#include <math.h>
#include <string.h>

#include "telemetry/telemetry_server.h"

/* Bytes of an integer with its sign, and ".0," after it. */
#define NUMBER_MOST 24

/* Reals below this without a fraction are written as integers: they have 15 digits at most. */
#define WHOLE_MOST 1e15

void json_text_raw(struct json_text *text, const char *bytes, size_t n)
{
	if (text->full || (size_t)(text->end - text->at) < n) {
		text->full = true;
		return;
	}
	memcpy(text->at, bytes, n);
	text->at += n;
}

void json_text_open(struct json_text *text, char bracket)
{
	json_text_raw(text, &bracket, 1);
}

void json_text_close(struct json_text *text, char bracket)
{
	const char end[] = {bracket, ','};

	if (!text->full && text->at > text->begin && text->at[-1] == ',')
		text->at--;
	json_text_raw(text, end, sizeof(end));
}

void json_text_key(struct json_text *text, const char *key)
{
	json_text_raw(text, "\"", 1);
	json_text_raw(text, key, strlen(key));
	json_text_raw(text, "\":", 2);
}

void json_text_null(struct json_text *text)
{
	json_text_raw(text, "null,", 5);
}

/* Adds an integer and `n` more bytes. */
static void add_integer(struct json_text *text, int64_t value, const char *more, size_t n)
{
	char number[NUMBER_MOST], *at = number + sizeof(number) - n;
	uint64_t left = value < 0 ? -(uint64_t)value : (uint64_t)value;

	memcpy(at, more, n);
	do {
		*--at = (char)('0' + left % 10);
		left /= 10;
	} while (left);
	if (value < 0)
		*--at = '-';
	json_text_raw(text, at, (size_t)(number + sizeof(number) - at));
}

void json_text_integer(struct json_text *text, int64_t value)
{
	add_integer(text, value, ",", 1);
}

void json_text_real(struct json_text *text, double value)
{
	bool whole = fabs(value) < WHOLE_MOST && value == trunc(value);

	if (whole && !(value == 0 && signbit(value)))
		add_integer(text, (int64_t)value, ".0,", 3);
	else
		json_text_value(text, json_real(value));
}

void json_text_string(struct json_text *text, const char *value)
{
	const char *end = value;

	while (*end >= ' ' && *end <= '~' && *end != '"' && *end != '\\')
		end++;
	if (end == value || *end != '\0') { /* empty, or with characters to escape */
		json_text_value(text, json_string(value));
		return;
	}
	json_text_raw(text, "\"", 1);
	json_text_raw(text, value, (size_t)(end - value));
	json_text_raw(text, "\",", 2);
}

void json_text_value(struct json_text *text, json_t *value)
{
	size_t room = (size_t)(text->end - text->at), n;

	if (!value || json_is_null(value)) {
		json_text_null(text);
		json_decref(value);
		return;
	}
	n = json_dumpb(value, text->at, room, TELEMETRY_TEXT_FLAGS);
	text->full |= n == 0 || n > room;
	if (!text->full)
		text->at += n;
	json_text_raw(text, ",", 1);
	json_decref(value);
}
