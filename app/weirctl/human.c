/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "human.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define MINUTE 60
#define HOUR   3600
#define DAY    86400

/* Decimals of a text with three digits; rounding up to 10 or 100 takes one away. */
static int decimals_of(double value)
{
	return value < 9.995 ? 2 : value < 99.95 ? 1 : 0;
}

/* Divides by `step` until the value is below `most`, and writes it with the prefix for that. */
static char *with_prefix(double value, double step, double most, const char *const prefixes[7],
	const char *unit, char *text)
{
	const char *sign = value < 0 ? "-" : "";
	unsigned i = 0;

	value = fabs(value);
	for (; value >= most && i < 6; i++)
		value /= step;
	snprintf(text, HUMAN_MAX, "%s%.*f%s%s%s", sign,
		i == 0 && value == floor(value) ? 0 : decimals_of(value), value,
		i || *unit ? " " : "", prefixes[i], unit);
	return text;
}

char *human_amount(double value, const char *unit, char text[HUMAN_MAX])
{
	static const char *const prefixes[7] = {"", "k", "M", "G", "T", "P", "E"};

	/* From 999.5 on, three digits would read "1000". */
	return with_prefix(value, 1000, 999.5, prefixes, unit, text);
}

char *human_memory(double bytes, char text[HUMAN_MAX])
{
	static const char *const prefixes[7] = {"", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"};

	return with_prefix(bytes, 1024, 1023.5, prefixes, "B", text);
}

/* "3 h 20 min": two units; the smaller one is `part` seconds. */
static char *two_units(
	double seconds, int whole, const char *unit, int part, const char *rest, char *text)
{
	long long n = (long long)(seconds / part);

	snprintf(text, HUMAN_MAX, "%lld %s %lld %s", n * part / whole, unit,
		n * part % whole / part, rest);
	return text;
}

char *human_seconds(double seconds, char text[HUMAN_MAX])
{
	seconds = fmax(seconds, 0);
	if (seconds >= DAY)
		return two_units(fmin(seconds, 1e15), DAY, "d", HOUR, "h", text);
	if (seconds >= HOUR)
		return two_units(seconds, HOUR, "h", MINUTE, "min", text);
	if (seconds >= MINUTE)
		return two_units(seconds, MINUTE, "min", 1, "s", text);
	if (seconds > 0 && seconds < 0.9995e-3)
		snprintf(text, HUMAN_MAX, "%.*f us", decimals_of(seconds * 1e6), seconds * 1e6);
	else if (seconds > 0 && seconds < 0.9995)
		snprintf(text, HUMAN_MAX, "%.*f ms", decimals_of(seconds * 1e3), seconds * 1e3);
	else
		snprintf(text, HUMAN_MAX, seconds > 0 ? "%.*f s" : "0 s", decimals_of(seconds),
			seconds);
	return text;
}

/* --- texts ----------------------------------------------------------------------------------- */

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
