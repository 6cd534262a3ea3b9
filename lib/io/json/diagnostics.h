/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Errors and warnings about documents: as lines for people, or as lines of JSON for programs.
 * Writes the first errors and warnings of a document and counts the rest. One thread each.
 */
#ifndef WEIR_JSON_DIAGNOSTICS_H
#define WEIR_JSON_DIAGNOSTICS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "json/message_row.h"

#define DIAGNOSTICS_MOST 20 /* errors, and warnings, written of one document */

enum diagnostics_form { DIAGNOSTICS_TEXT, DIAGNOSTICS_JSON };

struct diagnostics {
	FILE *out; /* NULL: write nothing, count all */
	enum diagnostics_form form;
	bool errors_only;                  /* count warnings, do not write them */
	bool hides_source;                 /* write no line of a file */
	unsigned errors, warnings;         /* so far, of all documents */
	unsigned old_errors, old_warnings; /* counts before this document */
};

/* A line of the file, and the column of the error. */
struct diagnostic_source {
	const char *text;
	size_t len;
	unsigned column; /* from 1 */
};

/* Leaves out parts that are NULL or 0. */
struct diagnostic {
	bool warning;
	const struct message_row *row;
	const char *arguments; /* separated by MESSAGE_SEPARATOR; NULL: none */
	const char *file;
	unsigned line, column;
	const char *path;  /* `policies[3].limit` */
	const char *place; /* the path for people: `policies[3] "customer-7".limit` */
	const char *policy;
	const char *found, *expected, *remedy;
	const char *text;    /* other facts than found and expected */
	const char *problem; /* for people, in place of found and expected */
	const struct diagnostic_source *source;
};

void diagnostics_init(struct diagnostics *d, FILE *out, enum diagnostics_form form);

/* Returns true if one more would be written, false if it would only be counted. */
bool diagnostics_shows(const struct diagnostics *d, bool warning);

/* Counts one. Returns true if the caller must write it. */
bool diagnostics_count(struct diagnostics *d, bool warning);

/* Returns a diagnostic with these words and without a place. */
struct diagnostic diagnostic_of(const struct message_row *row, const struct message_words *words);

/* The place of a value, in a struct json_place. */
#define DIAGNOSTIC_AT(at)                                                                     \
	(struct diagnostic)                                                                   \
	{                                                                                     \
		.file = (at).file, .line = (at).line, .path = (at).path, .place = (at).words, \
		.policy = (at).policy,                                                        \
	}

/* Writes a message at a place. */
void diagnostics_report(struct diagnostics *d, const struct diagnostic *place,
	const struct message_row *row, const char *format, ...)
	__attribute__((format(printf, 4, 5)));
void diagnostics_vreport(struct diagnostics *d, const struct diagnostic *place,
	const struct message_row *row, const char *format, va_list args)
	__attribute__((format(printf, 4, 0)));

/* `FILE:LINE: PLACE: FOUND: expected WHAT: REMEDY` or `FILE:LINE: PLACE: PROBLEM: REMEDY`, and
 * the source line with a caret below. */
void diagnostic_write(struct diagnostics *d, const struct diagnostic *what);

/* Returns true for a line of a warning: `FILE:LINE: warning: PLACE: …` or `warning: …`. */
bool diagnostics_is_warning(const char *line, size_t len);

/*
 * Moves the lines of errors before those of warnings, in place. Each kind keeps its order, and a
 * source line stays below its message. So the first line of a refusal has its reason. Without
 * memory the order stays.
 */
void diagnostics_errors_first(char *lines);

/* Writes how many more this document has, if any were not written. Begins another document. */
void diagnostics_rest(struct diagnostics *d, const char *file);

#endif
