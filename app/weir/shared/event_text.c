/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "event_text.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define WORD_BYTES 1500 /* bytes of one word, so that the rest of the line has room */

/* Replaces unprintable characters, which could forge a line or control a terminal. */
static void write_printable(char *at, size_t size, const char *word)
{
	size_t n = 0;

	for (; word && *word && n + 1 < size; word++)
		at[n++] = (unsigned char)*word >= ' ' && (unsigned char)*word < 0x7f ? *word : '?';
	at[n] = '\0';
}

static const struct event_field *find_field(
	const struct event_field *fields, const char *name, size_t len)
{
	for (; fields->name; fields++)
		if (strlen(fields->name) == len && strncmp(fields->name, name, len) == 0)
			return fields;
	return NULL;
}

/* `format` is the part after the colon, "2" or "+2", or "". */
static void write_field(char *at, size_t size, const struct event_field *field, const char *format)
{
	bool sign = *format == '+';
	int decimals = format[sign] >= '0' && format[sign] <= '9' ? format[sign] - '0' : 0;

	if (field->kind == EVENT_WORD)
		write_printable(at, size < WORD_BYTES ? size : WORD_BYTES, field->word);
	else if (field->kind == EVENT_COUNT)
		snprintf(at, size, "%" PRIu64, field->count);
	else
		snprintf(at, size, sign ? "%+.*f" : "%.*f", decimals, field->real);
}

void event_fill(char text[EVENT_TEXT], const char *template, const struct event_field *fields)
{
	size_t n = 0;

	while (*template && n + 1 < EVENT_TEXT) {
		size_t len = strcspn(template + 1, ":}");
		const struct event_field *field = *template == '{'
							  ? find_field(fields, template + 1, len)
							  : NULL;

		if (!field) {
			text[n++] = *template ++;
			continue;
		}
		template += 1 + len;
		write_field(text + n, EVENT_TEXT - n, field, template + (*template == ':'));
		n += strlen(text + n);
		template += strcspn(template, "}");
		template += *template == '}';
	}
	text[n] = '\0';
}

json_t *event_value(const struct event_field *field)
{
	char word[EVENT_TEXT];

	if (field->kind == EVENT_COUNT)
		return json_integer((json_int_t)field->count);
	if (field->kind == EVENT_REAL)
		return json_real(field->real);
	write_printable(word, WORD_BYTES, field->word);
	return json_string(word);
}

bool event_window_due(const struct event_window *window, uint64_t now_ns)
{
	return window->held > 0 && now_ns - window->began_ns >= EVENT_WINDOW_NS;
}

bool event_window_admit(struct event_window *window, unsigned most, uint64_t now_ns)
{
	if (most == 0)
		return true;
	if (window->lines == 0 || now_ns - window->began_ns >= EVENT_WINDOW_NS)
		*window = (struct event_window){.began_ns = now_ns};
	if (window->lines < most) {
		window->lines++;
		return true;
	}
	window->held++;
	return false;
}
