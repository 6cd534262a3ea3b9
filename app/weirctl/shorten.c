/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "shorten.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define DOTS "..."

char *value_text(const json_t *value)
{
	return json_is_string(value) ? strdup(json_string_value(value))
				     : json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY);
}

size_t first_difference(const char *a, const char *b)
{
	size_t n = 0;

	while (a[n] && a[n] == b[n])
		n++;
	return n;
}

/* Returns true for a byte in the middle of a character. */
static bool continues_character(char byte)
{
	return ((unsigned char)byte & 0xc0) == 0x80;
}

char *shorten(const char *text, size_t at, size_t room)
{
	size_t len = strlen(text), body, start = 0, end;
	char *out;

	room = room > SHORTEN_LEAST ? room : SHORTEN_LEAST;
	body = room - strlen(DOTS);
	at = at < len ? at : len;
	if (len <= room)
		return strdup(text);
	if (at + room / 4 >= body) { /* the beginning has no room for it */
		start = at - room / 4;
		if (len - start < body)
			start = len - body;
		body -= len - start > body ? strlen(DOTS) : 0;
	}
	end = start + body;
	while (start > 0 && start < at && continues_character(text[start]))
		start++;
	while (end > at && end < len && continues_character(text[end]))
		end--;
	if (asprintf(&out, "%s%.*s%s", start > 0 ? DOTS : "", (int)(end - start), text + start,
		    end < len ? DOTS : "") < 0)
		return NULL;
	return out;
}
