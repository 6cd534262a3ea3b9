/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Opens and closes a document, and forms the messages about it.
 */
#include "json/read.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "json/document.h"
#include "json/json_place.h"
#include "json/locate.h"
#include "json/seen.h"

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

/* Returns `"KEY"`, or `"KEY": VALUE` if the value is one word. For free(); NULL without memory. */
static char *key_words(const char *key, const json_t *value, const char *found)
{
	bool is_word = value != NULL && !json_is_object(value) && !json_is_array(value);
	char *text;

	if (asprintf(&text, "\"%s\"%s%s", key, is_word ? ": " : "", is_word ? found : "") < 0)
		return NULL;
	return text;
}

/* Returns the words for people about a key and another one. For free(); NULL without memory. */
static char *relation_problem(
	enum message_form form, const char *key, const json_t *value, const struct diagnostic *what)
{
	char *excluded, *problem;

	if (what->found == NULL || what->text == NULL)
		return NULL;
	if (form == MESSAGE_REQUIRES)
		return asprintf(&problem, "\"%s\" requires %s", key, what->text) < 0 ? NULL
										     : problem;
	excluded = key_words(key, value, what->found);
	if (excluded == NULL ||
		asprintf(&problem, "%s cannot be combined with %s", excluded, what->text) < 0)
		problem = NULL;
	free(excluded);
	return problem;
}

void reader_report(struct reader *reader, const struct json_path *path,
	const struct message_row *row, const char *format, ...)
{
	const json_t *value = json_path_find(reader->root, path);
	bool relates = row->form == MESSAGE_REQUIRES || row->form == MESSAGE_EXCLUDES;
	struct message_words words;
	struct diagnostic what;
	char *found = NULL, *problem = NULL;
	va_list args;

	reader->errors += row->form != MESSAGE_WARNING;
	if (!diagnostics_count(reader->diagnostics, row->form == MESSAGE_WARNING))
		return;
	va_start(args, format);
	words = message_words_of(format, args, reader->diagnostics->form == DIAGNOSTICS_JSON);
	va_end(args);
	if (words.found == NULL && row->form != MESSAGE_ERROR &&
		!(row->form == MESSAGE_WARNING && json_is_object(value)))
		words.found = found = json_found_text(value);
	what = diagnostic_of(row, &words);
	if (relates)
		what.problem = problem = relation_problem(row->form, path->key, value, &what);
	if (relates)
		what.text = NULL;
	diagnose_at(reader, path, relates ? path->parent : path, &what);
	free(found);
	free(problem);
	message_words_free(&words);
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

	reader->errors++;
	if (!diagnostics_count(reader->diagnostics, false))
		return;
	place = json_place_in(document, path);
	diagnostics_report(reader->diagnostics, &DIAGNOSTIC_AT(place), MESSAGE(DUPLICATE_KEY),
		json_place_first_line(document, path));
	json_place_free(&place);
}

void reader_check_duplicates(struct reader *reader)
{
	const struct document *document = &reader->documents[reader->n_documents - 1];

	if (document->duplicates &&
		json_find_duplicates(document->text, document->len, report_duplicate, reader) < 0)
		reader->no_memory = true;
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

int reader_open_text(struct reader *reader, const char *text, size_t len, const char *name,
	struct diagnostics *diagnostics)
{
	struct document first;

	*reader = (struct reader){.diagnostics = diagnostics};
	return begin_reader(reader, &first, document_copy(&first, text, len, name, diagnostics));
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
		rc = -ENOMEM;
		if (diagnostics_count(reader->diagnostics, false))
			diagnostics_report(reader->diagnostics,
				&(struct diagnostic){.file = reader->documents[0].name},
				MESSAGE(NO_MEMORY), strerror(ENOMEM));
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
