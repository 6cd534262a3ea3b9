/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "findings.h"

#include <stdarg.h>
#include <string.h>

#include <unistd.h>

#include <jansson.h>

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

/* Takes over the object. */
static void write_object(FILE *out, json_t *object)
{
	json_dumpf(object, out, JSON_COMPACT | JSON_ENSURE_ASCII);
	fputc('\n', out);
	json_decref(object);
}

/* Text of a kernel's file, or of EAL, need not be UTF-8: then it is not said. */
static void put_text(json_t *object, const char *key, const char *text)
{
	if (text)
		json_object_set_new(object, key, json_string(text));
}

static void write_finding_json(const struct doctor *doctor, const struct finding *finding)
{
	json_t *object = json_object();

	put_text(object, "verdict", verdict_words[finding->verdict]);
	put_text(object, "check", doctor->check);
	put_text(object, "file", doctor->file);
	put_text(object, "path", finding->place);
	put_text(object, "found", finding->found);
	put_text(object, "expected", finding->expected);
	put_text(object, "remedy", finding->remedy);
	write_object(doctor->out, object);
}

static void write_finding(const struct doctor *doctor, const struct finding *finding)
{
	FILE *out = doctor->out;

	fprintf(out, "%-6s  %-10s  ", verdict_words[finding->verdict], doctor->check);
	if (finding->place)
		fprintf(out, "%s: ", finding->place);
	fputs(finding->found, out);
	if (finding->expected)
		fprintf(out, ": expected %s", finding->expected);
	fputc('\n', out);
	if (finding->remedy)
		fprintf(out, "%20s%s\n", "remedy: ", finding->remedy);
}

static void write_complaint(const struct doctor *doctor, const struct finding *finding)
{
	FILE *out = doctor->out;

	fputs("weir: ", out);
	if (finding->place)
		fprintf(out, "%s: ", finding->place);
	fputs(finding->found, out);
	if (finding->expected)
		fprintf(out, ": expected %s", finding->expected);
	if (finding->remedy)
		fprintf(out, "; remedy: %s", finding->remedy);
	fputc('\n', out);
}

void doctor_find(struct doctor *doctor, const struct finding *finding)
{
	doctor->said = true;
	doctor->n[finding->verdict]++;
	if (doctor->json)
		write_finding_json(doctor, finding);
	else if (doctor->brief)
		write_complaint(doctor, finding);
	else
		write_finding(doctor, finding);
	doctor->words_at = 0;
}

void doctor_sum_up(const struct doctor *doctor)
{
	unsigned fail = doctor->n[DOCTOR_FAIL], warn = doctor->n[DOCTOR_WARN];
	unsigned unseen = doctor->n[DOCTOR_UNSEEN];

	if (doctor->json)
		write_object(doctor->out,
			json_pack("{s:s, s:b, s:i, s:i, s:i}", "file", doctor->file, "fit", !fail,
				"fail", (int)fail, "warn", (int)warn, "unseen", (int)unseen));
	else
		fprintf(doctor->out, "%s: %s: %u will fail, %u warning%s, %u not seen%s\n",
			doctor->file, fail ? "not fit" : "fit", fail, warn, doctor_plural(warn),
			unseen, unseen && geteuid() ? " (root sees more)" : "");
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
