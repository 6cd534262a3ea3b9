/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "findings.h"

#include <stdarg.h>
#include <string.h>

static const char *const verdict_words[DOCTOR_VERDICTS] = {
	[DOCTOR_OK] = "ok",
	[DOCTOR_UNSEEN] = "unseen",
	[DOCTOR_WARN] = "warn",
	[DOCTOR_FAIL] = "FAIL",
};

const char *doctor_words(struct doctor *doctor, const char *format, ...)
{
	char *words = doctor->words + doctor->words_at;
	size_t room = sizeof(doctor->words) - doctor->words_at;
	va_list ap;
	int len;

	va_start(ap, format);
	len = vsnprintf(words, room, format, ap);
	va_end(ap);
	if (len < 0 || (size_t)len >= room)
		return "";
	doctor->words_at += (size_t)len + 1;
	return words;
}

void doctor_find(struct doctor *doctor, const struct finding *finding)
{
	FILE *out = doctor->out;

	doctor->said = true;
	doctor->n[finding->verdict]++;
	fprintf(out, "%-6s  %-10s  ", verdict_words[finding->verdict], doctor->check);
	if (finding->place)
		fprintf(out, "%s: ", finding->place);
	fputs(finding->found, out);
	if (finding->expected)
		fprintf(out, ": expected %s", finding->expected);
	fputc('\n', out);
	if (finding->remedy)
		fprintf(out, "%20s%s\n", "remedy: ", finding->remedy);
	doctor->words_at = 0;
}

/* What stands before the first ": ", if it is a place: without a blank. */
static char *split_place(char **line)
{
	char *colon = strstr(*line, ": "), *place = *line;

	if (!colon || memchr(place, ' ', (size_t)(colon - place)))
		return NULL;
	*colon = '\0';
	*line = colon + 2;
	return place;
}

void doctor_find_lines(
	struct doctor *doctor, enum doctor_verdict verdict, char *text, const char *only)
{
	static const char program[] = "weir: ";
	char *next;

	for (char *line = text; line && *line; line = next) {
		char *end = strchr(line, '\n');

		next = end ? end + 1 : NULL;
		if (end)
			*end = '\0';
		if (only && strncmp(line, only, strlen(only)) != 0)
			continue;
		if (strncmp(line, program, strlen(program)) == 0)
			line += strlen(program);
		if (*line)
			doctor_find(doctor, &(struct finding){.verdict = verdict,
						    .place = split_place(&line),
						    .found = line});
	}
}

const char *doctor_plural(unsigned n)
{
	return n == 1 ? "" : "s";
}
