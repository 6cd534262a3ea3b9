/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "json/message_row.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "json/json_messages.h"

JSON_MESSAGES(MESSAGE_DEFINE)

const struct message_row *const json_messages[] = {JSON_MESSAGES(MESSAGE_LISTED) NULL};

/* Returns the conversions of a format with separators between them, for free(). */
static char *conversions_of(const char *format)
{
	char *made = malloc(2 * strlen(format) + 1), *end = made;

	for (const char *at = format; made != NULL && (at = strchr(at, '%')) != NULL;) {
		size_t len = 1 + strcspn(at + 1, "%cdgsu") + 1;

		if (at[1] != '%') {
			if (end > made)
				*end++ = *MESSAGE_SEPARATOR;
			memcpy(end, at, len);
			end += len;
		}
		at += len;
	}
	if (made != NULL)
		*end = '\0';
	return made;
}

static char *print_arguments(const char *format, va_list args)
{
	char *conversions = conversions_of(format), *text = NULL;

	if (conversions != NULL && *conversions != '\0' && vasprintf(&text, conversions, args) < 0)
		text = NULL;
	free(conversions);
	return text;
}

static const char *next_part(char **parts)
{
	const char *part = strsep(parts, MESSAGE_SEPARATOR);

	return part != NULL && *part != '\0' ? part : NULL;
}

struct message_words message_words_of(const char *format, va_list args, bool arguments)
{
	struct message_words words = {0};
	char *rest;
	va_list copy;

	if (arguments) {
		va_copy(copy, args);
		words.arguments = print_arguments(format, copy);
		va_end(copy);
	}
	if (vasprintf(&words.parts, format, args) < 0)
		words.parts = NULL;
	rest = words.parts;
	words.text = next_part(&rest);
	words.remedy = next_part(&rest);
	words.found = next_part(&rest);
	return words;
}

void message_words_free(struct message_words *words)
{
	free(words->arguments);
	free(words->parts);
}

const char *message_id(const struct message_row *row, char buf[MESSAGE_ID_MAX])
{
	size_t n = 0;

	for (; row->id[n] != '\0' && n + 1 < MESSAGE_ID_MAX; n++)
		buf[n] = (char)tolower(row->id[n]);
	buf[n] = '\0';
	return buf;
}

/* Prints the part of a format, without the separator that ends it. */
static void print_part(const char *before, const char *part, FILE *out)
{
	int len = (int)strcspn(part, MESSAGE_SEPARATOR);

	if (len > 0)
		fprintf(out, "%s%.*s", before, len, part);
}

void message_rows_print(const struct message_row *const *rows, FILE *out)
{
	static const char *const before[] = {
		": expected ", "\"KEY\" requires ", "\"KEY\" cannot be combined with ", ": ", ": "};

	for (; *rows != NULL; rows++) {
		const char *remedy = strchr((*rows)->format, *MESSAGE_SEPARATOR) + 1;
		const char *found = strchr(remedy, *MESSAGE_SEPARATOR) + 1;
		char id[MESSAGE_ID_MAX];

		fprintf(out, "| `%s` | %s | `PLACE", message_id(*rows, id),
			(*rows)->form == MESSAGE_WARNING ? "warning" : "error");
		print_part(": ", found, out);
		if ((*rows)->form == MESSAGE_REQUIRES || (*rows)->form == MESSAGE_EXCLUDES)
			fputs(": ", out);
		print_part(before[(*rows)->form], (*rows)->format, out);
		print_part(": ", remedy, out);
		fputs("` |\n", out);
	}
}
