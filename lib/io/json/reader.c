/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Opens and closes a document, and forms the messages about it.
 */
#include "json/read.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "json/document.h"
#include "json/json_place.h"
#include "json/locate.h"
#include "json/seen.h"

static char *print_words(const char *format, va_list args)
{
	char *text;

	return vasprintf(&text, format, args) >= 0 ? text : NULL;
}

/*
 * Writes a message with the place of a path. The words for people are those of `shown`: the path
 * itself, or its parent if the message names the key.
 */
static void diagnose_at(struct reader *reader, const struct json_path *path,
	const struct json_path *shown, struct diagnostic *what)
{
	struct json_place place = json_place_of(reader, path);
	struct json_place other = {};

	/* A place costs a search of the text, so it is looked up once if one serves both. */
	if (shown != path)
		other = json_place_of(reader, shown);
	what->file = place.file;
	what->line = place.line;
	what->path = place.path;
	what->place = shown != path ? other.words : place.words;
	what->policy = place.policy;
	diagnostic_write(reader->diagnostics, what);
	json_place_free(&place);
	json_place_free(&other);
}

bool reader_skips(struct reader *reader, bool warning)
{
	if (diagnostics_shows(reader->diagnostics, warning))
		return false;
	diagnostics_count(reader->diagnostics, warning);
	reader->errors += !warning;
	return true;
}

/* Counts an error. Returns true if the caller must write it. */
static bool count_error(struct reader *reader)
{
	reader->errors++;
	return diagnostics_count(reader->diagnostics, false);
}

static void diagnose_expected(struct reader *reader, const struct json_path *path,
	const char *remedy, const char *format, va_list args)
{
	char *found, *expected;

	if (!count_error(reader))
		return;
	found = json_found_text(json_path_find(reader->root, path));
	expected = print_words(format, args);
	diagnose_at(reader, path, path,
		&(struct diagnostic){.found = found, .expected = expected, .remedy = remedy});
	free(found);
	free(expected);
}

void reader_expected(struct reader *reader, const struct json_path *path, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	diagnose_expected(reader, path, NULL, format, args);
	va_end(args);
}

void reader_advise(struct reader *reader, const struct json_path *path, const char *remedy,
	const char *format, ...)
{
	va_list args;

	va_start(args, format);
	diagnose_expected(reader, path, remedy, format, args);
	va_end(args);
}

void reader_refuse(struct reader *reader, const struct json_path *path, const char *found,
	const char *expected, const char *remedy)
{
	if (count_error(reader))
		diagnose_at(reader, path, path,
			&(struct diagnostic){
				.found = found, .expected = expected, .remedy = remedy});
}

void reader_error(struct reader *reader, const struct json_path *path, const char *format, ...)
{
	va_list args;
	char *text;

	if (!count_error(reader))
		return;
	va_start(args, format);
	text = print_words(format, args);
	va_end(args);
	diagnose_at(reader, path, path, &(struct diagnostic){.text = text});
	free(text);
}

void reader_warn(struct reader *reader, const struct json_path *path, const char *format, ...)
{
	const json_t *value = json_path_find(reader->root, path);
	char *found = NULL, *text;
	va_list args;

	if (!diagnostics_count(reader->diagnostics, true))
		return;
	if (!json_is_object(value))
		found = json_found_text(value);
	va_start(args, format);
	text = print_words(format, args);
	va_end(args);
	diagnose_at(reader, path, path,
		&(struct diagnostic){.warning = true, .found = found, .text = text});
	free(found);
	free(text);
}

void reader_requires(struct reader *reader, const struct json_path *path, const char *format, ...)
{
	char *found, *need, *problem;
	va_list args;

	if (!count_error(reader))
		return;
	found = json_found_text(json_path_find(reader->root, path));
	va_start(args, format);
	need = print_words(format, args);
	va_end(args);
	if (need == NULL || asprintf(&problem, "\"%s\" requires %s", path->key, need) < 0)
		problem = NULL;
	diagnose_at(reader, path, path->parent,
		&(struct diagnostic){.found = found, .expected = need, .problem = problem});
	free(found);
	free(need);
	free(problem);
}

/* Returns `"KEY"`, or `"KEY": VALUE` if the value is one word. For free(); NULL without memory. */
static char *key_words(const char *key, const json_t *value, const char *found)
{
	bool is_word = value != NULL && !json_is_object(value) && !json_is_array(value);
	char *text;

	if (asprintf(&text, "\"%s\"%s%s", key, is_word ? ": " : "", is_word ? found : "") < 0)
		return NULL;
	return text;
}

void reader_excludes(struct reader *reader, const struct json_path *path, const char *remedy,
	const char *format, ...)
{
	const json_t *value = json_path_find(reader->root, path);
	char *found, *key, *other, *problem;
	va_list args;

	if (!count_error(reader))
		return;
	found = json_found_text(value);
	key = found != NULL ? key_words(path->key, value, found) : NULL;
	va_start(args, format);
	other = print_words(format, args);
	va_end(args);
	if (key == NULL || other == NULL ||
		asprintf(&problem, "%s cannot be combined with %s", key, other) < 0)
		problem = NULL;
	diagnose_at(reader, path, path->parent,
		&(struct diagnostic){.found = found, .problem = problem, .remedy = remedy});
	free(found);
	free(key);
	free(other);
	free(problem);
}

char *reader_place(const struct reader *reader, const struct json_path *path)
{
	struct json_place place = json_place_of(reader, path);
	const char *words = place.words != NULL ? place.words : "the document";
	char *text;
	int n = place.line > 0 ? asprintf(&text, "%s (%s:%u)", words, place.file, place.line)
			       : asprintf(&text, "%s", words);

	if (n < 0)
		text = NULL;
	json_place_free(&place);
	return text;
}

/* Reports a duplicate key of the newest document. */
static void report_duplicate(const struct json_path *path, void *context)
{
	struct reader *reader = context;
	const struct document *document = &reader->documents[reader->n_documents - 1];
	struct json_place place;
	char remedy[64];

	if (!count_error(reader))
		return;
	place = json_place_in(document, path);
	snprintf(remedy, sizeof(remedy), "line %u has it too",
		json_place_first_line(document, path));
	diagnostic_write(reader->diagnostics, &(struct diagnostic){.file = place.file,
						      .line = place.line,
						      .path = place.path,
						      .place = place.words,
						      .policy = place.policy,
						      .found = "duplicate key",
						      .expected = "it once",
						      .remedy = remedy});
	json_place_free(&place);
}

void reader_check_duplicates(struct reader *reader)
{
	const struct document *document = &reader->documents[reader->n_documents - 1];

	if (document->duplicates &&
		json_find_duplicates(document->text, document->len, report_duplicate, reader) < 0)
		reader->no_memory = true;
}

static void report_no_memory(const struct reader *reader)
{
	if (diagnostics_count(reader->diagnostics, false))
		diagnostic_write(
			reader->diagnostics, &(struct diagnostic){.file = reader->documents[0].name,
						     .text = strerror(ENOMEM)});
}

static int begin_reader(struct reader *reader, struct document *first, int rc)
{
	if (rc < 0)
		return rc;
	reader->documents = malloc(sizeof(*first));
	if (reader->documents == NULL) {
		document_free(first);
		return -ENOMEM;
	}
	reader->documents[0] = *first;
	reader->n_documents = 1;
	reader->root = json_incref(first->root);
	if (first->state.st_mode != 0)
		reader->no_memory |= seen_note(&reader->seen, first->name, &first->state) < 0;
	reader_check_duplicates(reader);
	return 0;
}

int reader_open(struct reader *reader, const char *path, struct diagnostics *diagnostics)
{
	struct document first;

	*reader = (struct reader){.diagnostics = diagnostics};
	return begin_reader(reader, &first, document_load(&first, path, diagnostics));
}

int reader_load(struct reader *reader, const char *path, FILE *err)
{
	struct document first;

	*reader = (struct reader){.diagnostics = &reader->own};
	diagnostics_init(&reader->own, err, DIAGNOSTICS_TEXT);
	return begin_reader(reader, &first, document_load(&first, path, &reader->own));
}

int reader_parse(struct reader *reader, const char *text, size_t len, const char *name, FILE *err)
{
	struct document first;

	*reader = (struct reader){.diagnostics = &reader->own};
	diagnostics_init(&reader->own, err, DIAGNOSTICS_TEXT);
	return begin_reader(reader, &first, document_copy(&first, text, len, name, &reader->own));
}

int reader_take(struct reader *reader, const json_t *root, const char *name, FILE *err)
{
	struct document first;

	*reader = (struct reader){.diagnostics = &reader->own};
	diagnostics_init(&reader->own, err, DIAGNOSTICS_TEXT);
	return begin_reader(reader, &first, document_of(&first, root, name));
}

bool reader_failed(const struct reader *reader)
{
	return reader->no_memory || reader->errors > 0;
}

int reader_finish(struct reader *reader)
{
	int rc = reader->errors > 0 ? -EINVAL : 0;

	if (reader->no_memory) {
		report_no_memory(reader);
		rc = -ENOMEM;
	}
	diagnostics_rest(reader->diagnostics, reader->documents[0].name);
	line_lists_free(reader);
	seen_free(reader->seen);
	json_decref(reader->root);
	for (unsigned i = 0; i < reader->n_documents; i++)
		document_free(&reader->documents[i]);
	free(reader->documents);
	return rc;
}
