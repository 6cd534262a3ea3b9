/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Messages about documents. Each is a row of one of the tables in *_messages.h:
 *
 *	X(ID, form, text, remedy, found)
 *
 * Programs depend on an ID, so its meaning never changes; in JSON it has small letters. The parts
 * are formats of printf. A call gives their arguments in the same order. The last parts can be
 * missing, and a part that is empty after formatting is omitted. Without `found`, a message shows
 * the value of the document. The forms in lines for people:
 *
 *	EXPECTED  PLACE: FOUND: expected TEXT: REMEDY
 *	REQUIRES  OBJECT: "KEY" requires TEXT
 *	EXCLUDES  OBJECT: "KEY": VALUE cannot be combined with TEXT: REMEDY
 *	WARNING   warning: PLACE: FOUND: TEXT: REMEDY
 *	ERROR     PLACE: TEXT
 *
 * REQUIRES is for a key that has no effect without another one, and EXCLUDES for two keys that
 * exclude each other. All except WARNING are errors.
 */
#ifndef WEIR_JSON_MESSAGE_ROW_H
#define WEIR_JSON_MESSAGE_ROW_H

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>

enum message_form {
	MESSAGE_EXPECTED,
	MESSAGE_REQUIRES,
	MESSAGE_EXCLUDES,
	MESSAGE_WARNING,
	MESSAGE_ERROR,
};

struct message_row {
	const char *id; /* in capital letters */
	enum message_form form;
	const char *format; /* its parts, separated */
};

#define MESSAGE_SEPARATOR "\036" /* between parts, and between arguments */

#define MESSAGE_JOIN(text, remedy, found, ...) text MESSAGE_SEPARATOR remedy MESSAGE_SEPARATOR found

/*
 * For tables: declare, define and list all rows. The format is an array so that the compiler checks
 * the arguments of a call.
 */
#define MESSAGE_DECLARE(id, form, ...)                \
	extern const struct message_row message_##id; \
	static const char MESSAGE_FORMAT_##id[]       \
		__attribute__((__unused__)) = MESSAGE_JOIN(__VA_ARGS__, "", "", );
#define MESSAGE_DEFINE(id, form, ...) \
	const struct message_row message_##id = {#id, MESSAGE_##form, MESSAGE_FORMAT_##id};
#define MESSAGE_LISTED(id, ...) &message_##id,

/* The two parameters of a call for a row and its format. */
#define MESSAGE(id) &message_##id, MESSAGE_FORMAT_##id

/* An argument that can be missing. */
static inline const char *message_part(const char *text)
{
	return text ? text : "";
}

/* A message with its arguments. Empty parts are NULL, and without memory all are. */
struct message_words {
	const char *text, *remedy, *found;
	char *arguments; /* separated by MESSAGE_SEPARATOR; NULL: none */
	char *parts;     /* memory of the parts */
};

/* Without `arguments`, that field stays NULL. */
struct message_words message_words_of(const char *format, va_list args, bool arguments);
void message_words_free(struct message_words *words);

#define MESSAGE_ID_MAX 64

/* Writes the ID in small letters to buf and returns it. */
const char *message_id(const struct message_row *row, char buf[MESSAGE_ID_MAX]);

/* Prints the rows, which NULL ends, as lines of a table in Markdown. */
void message_rows_print(const struct message_row *const *rows, FILE *out);

#endif
