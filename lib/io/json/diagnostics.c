/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "json/diagnostics.h"

#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "json/json_messages.h"

/* Columns of a source line in a message. Characters that are not printable become "?". */
#define SOURCE_MAX 72

void diagnostics_init(struct diagnostics *d, FILE *out, enum diagnostics_form form)
{
	*d = (struct diagnostics){.out = out, .form = form};
}

bool diagnostics_shows(const struct diagnostics *d, bool warning)
{
	unsigned n = warning ? d->warnings - d->old_warnings : d->errors - d->old_errors;

	return d->out && n < DIAGNOSTICS_MOST && !(warning && d->errors_only);
}

bool diagnostics_count(struct diagnostics *d, bool warning)
{
	bool shown = diagnostics_shows(d, warning);

	d->warnings += warning;
	d->errors += !warning;
	return shown;
}

static void print_part(FILE *out, const char *before, const char *part)
{
	if (part)
		fprintf(out, "%s%s", before, part);
}

static void print_diagnostic(FILE *out, const struct diagnostic *f)
{
	fputs(f->file, out);
	if (f->line > 0)
		fprintf(out, ":%u", f->line);
	if (f->column > 0)
		fprintf(out, ":%u", f->column);
	if (f->warning)
		fputs(": warning", out);
	print_part(out, ": ", f->place);
	print_part(out, ": ", f->problem);
	print_part(out, ": ", f->problem ? NULL : f->found);
	print_part(out, ": ", f->text);
	print_part(out, ": expected ", f->problem ? NULL : f->expected);
	print_part(out, ": ", f->remedy);
}

/* Prints the part of a long line around the column. */
static void print_source(FILE *out, unsigned line, const struct diagnostic_source *source)
{
	size_t at = source->column - 1;
	size_t start = at < SOURCE_MAX - 8 ? 0 : at - (SOURCE_MAX - 8);
	size_t end = source->len - start < SOURCE_MAX ? source->len : start + SOURCE_MAX;
	int width = fprintf(out, "%6u | ", line);

	for (size_t i = start; i < end; i++) {
		char c = source->text[i] == '\t' ? ' ' : source->text[i];

		fputc(c >= ' ' && c <= '~' ? c : '?', out);
	}
	fprintf(out, "\n%*s", width, "| ");
	fprintf(out, "%*s\n", (int)(at - start) + 1, "^");
}

/* Returns the line for people, for free(); NULL without memory. */
static char *diagnostic_message(const struct diagnostic *f)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		return NULL;
	print_diagnostic(out, f);
	fclose(out);
	return text;
}

static void set_text(json_t *object, const char *key, const char *text)
{
	if (text)
		json_object_set_new(object, key, json_string(text));
}

static void set_number(json_t *object, const char *key, unsigned number)
{
	if (number > 0)
		json_object_set_new(object, key, json_integer(number));
}

static void set_arguments(json_t *object, const char *arguments)
{
	json_t *list = arguments ? json_array() : NULL;

	for (const char *at = arguments; list && at; at = strchr(at, *MESSAGE_SEPARATOR)) {
		at += *at == *MESSAGE_SEPARATOR;
		json_array_append_new(list, json_stringn(at, strcspn(at, MESSAGE_SEPARATOR)));
	}
	if (list)
		json_object_set_new(object, "arguments", list);
}

static void write_json(FILE *out, const struct diagnostic *f)
{
	json_t *object = json_object();
	char *message = diagnostic_message(f), id[MESSAGE_ID_MAX];

	set_text(object, "severity", f->warning ? "warning" : "error");
	set_text(object, "id", f->row ? message_id(f->row, id) : NULL);
	set_text(object, "file", f->file);
	set_number(object, "line", f->line);
	set_number(object, "column", f->column);
	set_text(object, "path", f->path);
	set_text(object, "policy", f->policy);
	set_text(object, "found", f->found);
	set_text(object, "expected", f->expected);
	set_text(object, "remedy", f->remedy);
	set_arguments(object, f->arguments);
	set_text(object, "message", message);
	json_dumpf(object, out, JSON_COMPACT | JSON_ENSURE_ASCII);
	fputc('\n', out);
	json_decref(object);
	free(message);
}

void diagnostic_write(struct diagnostics *d, const struct diagnostic *what)
{
	if (d->form == DIAGNOSTICS_JSON) {
		write_json(d->out, what);
		return;
	}
	print_diagnostic(d->out, what);
	fputc('\n', d->out);
	if (what->source && !d->hides_source)
		print_source(d->out, what->line, what->source);
}

struct diagnostic diagnostic_of(const struct message_row *row, const struct message_words *words)
{
	bool expected = row->form == MESSAGE_EXPECTED || row->form == MESSAGE_REQUIRES;

	return (struct diagnostic){
		.warning = row->form == MESSAGE_WARNING,
		.row = row,
		.arguments = words->arguments,
		.found = words->found,
		.expected = expected ? words->text : NULL,
		.text = row->form == MESSAGE_EXPECTED ? NULL : words->text,
		.remedy = words->remedy,
	};
}

void diagnostics_vreport(struct diagnostics *d, const struct diagnostic *place,
	const struct message_row *row, const char *format, va_list args)
{
	struct message_words words = message_words_of(format, args, d->form == DIAGNOSTICS_JSON);
	struct diagnostic what = diagnostic_of(row, &words);

	what.file = place->file;
	what.line = place->line;
	what.column = place->column;
	what.path = place->path;
	what.place = place->place;
	what.policy = place->policy;
	what.source = place->source;
	diagnostic_write(d, &what);
	message_words_free(&words);
}

void diagnostics_report(struct diagnostics *d, const struct diagnostic *place,
	const struct message_row *row, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	diagnostics_vreport(d, place, row, format, args);
	va_end(args);
}

static void write_rest(struct diagnostics *d, const char *file, bool warning, unsigned n)
{
	const struct diagnostic place = {.file = file};
	unsigned more = n - DIAGNOSTICS_MOST;

	if (!d->out || n <= DIAGNOSTICS_MOST || (warning && d->errors_only))
		return;
	if (warning)
		diagnostics_report(
			d, &place, MESSAGE(MORE_WARNINGS), more, more == 1 ? "" : "s", n);
	else
		diagnostics_report(d, &place, MESSAGE(MORE_ERRORS), more, more == 1 ? "" : "s", n);
}

void diagnostics_rest(struct diagnostics *d, const char *file)
{
	write_rest(d, file, false, d->errors - d->old_errors);
	write_rest(d, file, true, d->warnings - d->old_warnings);
	d->old_errors = d->errors;
	d->old_warnings = d->warnings;
}

#define WARNING "warning: "

bool diagnostics_is_warning(const char *line, size_t len)
{
	const char *quote = memchr(line, '"', len); /* the words of a value do not count */
	size_t words = quote ? (size_t)(quote - line) : len;
	const char *found = memmem(line, words, ": " WARNING, strlen(": " WARNING));

	return found || (words >= strlen(WARNING) && strncmp(line, WARNING, strlen(WARNING)) == 0);
}

/* Returns the length of the first message with its newline, and the source lines below it. */
static size_t message_length(const char *lines)
{
	size_t len = 0;

	do {
		len += strcspn(lines + len, "\n");
		len += lines[len] == '\n';
	} while (lines[len] == ' ');
	return len;
}

void diagnostics_errors_first(char *lines)
{
	char *copy = strdup(lines), *out = lines;

	for (unsigned warnings = 0; copy && warnings < 2; warnings++)
		for (const char *at = copy; *at;) {
			size_t len = message_length(at);

			if (diagnostics_is_warning(at, strcspn(at, "\n")) == (warnings == 1)) {
				memcpy(out, at, len);
				out += len;
			}
			at += len;
		}
	free(copy);
}
