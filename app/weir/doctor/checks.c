/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The common part of a doctor's checks: writes findings as lines of text or JSON, and reads facts
 * about the machine.
 */
#include "checks.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <unistd.h>

#include <jansson.h>

static const char *const verdict_words[DOCTOR_VERDICTS] = {
	[DOCTOR_OK] = "ok",
	[DOCTOR_NA] = "n/a",
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

/* Writes the object and frees it. */
static void write_object(FILE *out, json_t *object)
{
	json_dumpf(object, out, JSON_COMPACT | JSON_ENSURE_ASCII);
	fputc('\n', out);
	json_decref(object);
}

/* Text from the kernel or EAL can be other than UTF-8; then the member is left out. */
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
	struct finding whole = *finding;

	if (!whole.remedy && whole.verdict >= DOCTOR_WARN)
		whole.remedy = doctor->usual_remedy;
	doctor->found = true;
	doctor->n[whole.verdict]++;
	if (doctor->json)
		write_finding_json(doctor, &whole);
	else if (doctor->brief)
		write_complaint(doctor, &whole);
	else if (whole.verdict != DOCTOR_NA)
		write_finding(doctor, &whole);
	doctor->words_at = 0;
}

void doctor_add_fact(struct doctor *doctor, const char *format, ...)
{
	size_t at = strlen(doctor->facts);
	va_list ap;
	int len;

	if (at > 0)
		at += (size_t)snprintf(doctor->facts + at, sizeof(doctor->facts) - at, "; ");
	if (at >= sizeof(doctor->facts))
		return;
	va_start(ap, format);
	len = vsnprintf(doctor->facts + at, sizeof(doctor->facts) - at, format, ap);
	va_end(ap);
	if (len < 0)
		doctor->facts[at] = '\0';
}

void doctor_skip(struct doctor *doctor, const char *reason)
{
	doctor->not_applicable = reason;
}

void doctor_begin_check(struct doctor *doctor, const char *name, const char *usual_remedy)
{
	doctor->check = name;
	doctor->usual_remedy = usual_remedy;
	doctor->found = false;
	doctor->not_applicable = NULL;
	doctor->facts[0] = '\0';
	doctor->words_at = 0;
}

void doctor_end_check(struct doctor *doctor)
{
	if (doctor->found)
		return;
	if (doctor->facts[0])
		doctor_find(doctor, &(struct finding){.found = doctor->facts});
	else
		doctor_find(doctor, &(struct finding){.verdict = DOCTOR_NA,
					    .found = doctor->not_applicable ? doctor->not_applicable
									    : "nothing to check"});
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
		fprintf(doctor->out, "%s: %s: %u failure%s, %u warning%s, %u unseen%s\n",
			doctor->file, fail ? "not fit" : "fit", fail, doctor_plural(fail), warn,
			doctor_plural(warn), unseen,
			unseen && geteuid() ? " (root sees more)" : "");
}

/* Splits the place from the line: the text before the first ": ", if it has no blank. */
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

/* --- machine ---------------------------------------------------------------------------------- */

/* "" of one that is too long, which is no file either. */
static void machine_path(char path[MACHINE_PATH], const char *root, const char *format, va_list ap)
{
	int at = snprintf(path, MACHINE_PATH, "%s", root);
	int len = at < MACHINE_PATH ? vsnprintf(path + at, (size_t)(MACHINE_PATH - at), format, ap)
				    : -1;

	if (len < 0 || at + len >= MACHINE_PATH)
		path[0] = '\0';
}

static bool first_line(const char *path, char *line, size_t size)
{
	FILE *file = fopen(path, "re");
	bool got = file && fgets(line, (int)size, file);

	if (file)
		fclose(file);
	if (got)
		line[strcspn(line, "\n")] = '\0';
	return got;
}

bool machine_line(const char *root, char *line, size_t size, const char *format, ...)
{
	char path[MACHINE_PATH];
	va_list ap;

	va_start(ap, format);
	machine_path(path, root, format, ap);
	va_end(ap);
	return first_line(path, line, size);
}

long machine_number(const char *root, long otherwise, const char *format, ...)
{
	char path[MACHINE_PATH], line[32], *end;
	va_list ap;
	long number;

	va_start(ap, format);
	machine_path(path, root, format, ap);
	va_end(ap);
	if (!first_line(path, line, sizeof(line)))
		return otherwise;
	number = strtol(line, &end, 10);
	return end == line ? otherwise : number;
}

bool machine_has(const char *root, const char *format, ...)
{
	char path[MACHINE_PATH];
	va_list ap;

	va_start(ap, format);
	machine_path(path, root, format, ap);
	va_end(ap);
	return access(path, F_OK) == 0;
}

bool machine_link(const char *root, char *name, size_t size, const char *format, ...)
{
	char path[MACHINE_PATH], target[MACHINE_PATH];
	const char *slash;
	va_list ap;
	ssize_t len;

	va_start(ap, format);
	machine_path(path, root, format, ap);
	va_end(ap);
	len = readlink(path, target, sizeof(target) - 1);
	if (len <= 0)
		return false;
	target[len] = '\0';
	slash = strrchr(target, '/');
	snprintf(name, size, "%s", slash ? slash + 1 : target);
	return true;
}

bool machine_row(const char *root, const char *file, const char *row, char *value, size_t size)
{
	char path[MACHINE_PATH], line[256];
	size_t len = strlen(row);
	bool found = false;
	FILE *in;

	snprintf(path, sizeof(path), "%s%s", root, file);
	in = fopen(path, "re");
	while (in && !found && fgets(line, sizeof(line), in)) {
		found = strncmp(line, row, len) == 0 && line[len] == ':';
		if (found)
			snprintf(value, size, "%s", line + len + 1);
	}
	if (in)
		fclose(in);
	return found;
}

uint64_t machine_kilobytes(const char *root, const char *file, const char *row)
{
	char value[64];

	return machine_row(root, file, row, value, sizeof(value)) ? strtoull(value, NULL, 10) * 1024
								  : 0;
}

bool cpu_list_has(const char *list, unsigned cpu)
{
	while (*list) {
		char *end;
		unsigned long first = strtoul(list, &end, 10), last = first;

		if (end == list)
			return false;
		if (*end == '-')
			last = strtoul(end + 1, &end, 10);
		if (cpu >= first && cpu <= last)
			return true;
		list = *end == ',' ? end + 1 : "";
	}
	return false;
}
