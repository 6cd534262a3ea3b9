/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Messages about any document: see json/message_row.h. `weir --messages` prints them.
 */
#ifndef WEIR_JSON_JSON_MESSAGES_H
#define WEIR_JSON_JSON_MESSAGES_H

#include <inttypes.h>

#include "json/message_row.h"

#define JSON_MESSAGES(X)                                                                          \
	/* Values. */                                                                             \
	X(WRONG_VALUE, EXPECTED, "%s", "%s")                                                      \
	X(OUT_OF_RANGE, EXPECTED, "%s")                                                           \
	X(NOTE_TYPE, EXPECTED, "a text, or an array of texts")                                    \
	X(SCHEMA_TYPE, EXPECTED, "the path or the URL of a schema")                               \
	X(NOT_OBJECT, EXPECTED, "an object")                                                      \
	X(INTEGER_RANGE, EXPECTED, "a whole number from %" PRId64 " to %" PRId64)                 \
	X(NOT_MULTIPLE, EXPECTED, "a whole number of %s")                                         \
	X(WRONG_CHOICE, EXPECTED, "%s", "%s")                                                     \
	X(WORD_RENAMED, WARNING, "renamed to \"%s\"; the former word is valid until version 1.0") \
	X(NUMBER_RANGE, EXPECTED, "a number from %g to %s%g")                                     \
	X(TEXT_LENGTH, EXPECTED, "%s of 1 to %zu printable characters")                           \
	X(NOT_BOOL, EXPECTED, "true or false")                                                    \
	X(LIST_TOO_LONG, EXPECTED, "at most %u", "", "%zu in all")                                \
	X(UNKNOWN_KEY, EXPECTED, "%s", "%s", "unknown key")                                       \
	X(DUPLICATE_KEY, EXPECTED, "it once", "line %u has it too", "duplicate key")              \
	/* Documents. */                                                                          \
	X(EMPTY_DOCUMENT, EXPECTED, "a JSON object", "", "empty")                                 \
	X(NOT_JSON, EXPECTED, "", "%s", "%s")                                                     \
	X(FILE_IS_DIRECTORY, EXPECTED, "", "name a file in it", "%s")                             \
	X(FILE_NOT_REGULAR, EXPECTED, "", "name a regular file, or - for standard input",         \
		"no regular file")                                                                \
	X(FILE_MISSING, EXPECTED, "", "is the path right?", "%s")                                 \
	X(FILE_DENIED, EXPECTED, "", "may this user read it?", "%s")                              \
	X(FILE_TOO_LARGE, EXPECTED, "at most 256 MiB", "", "%s")                                  \
	X(FILE_UNREADABLE, EXPECTED, "", "", "%s")                                                \
	X(NO_MEMORY, ERROR, "%s")                                                                 \
	X(MORE_ERRORS, ERROR, "and %u more error%s, %u in all")                                   \
	X(MORE_WARNINGS, WARNING, "and %u more warning%s, %u in all")                             \
	/* Other files that a document names. */                                                  \
	X(INCLUDE_PATH, EXPECTED, "the path of a file or of a directory", "", "%s")               \
	X(INCLUDE_MISSING, EXPECTED, "a file or a directory", "%s", "%s")                         \
	X(INCLUDE_NOT_REGULAR, EXPECTED, "a regular file or a directory", "", "%s")               \
	X(INCLUDE_NOT_ARRAY, EXPECTED, "an array", "", "%s")                                      \
	X(INCLUDE_NOT_OBJECT, EXPECTED, "an object", "", "%s")                                    \
	X(INCLUDE_TWICE, EXPECTED, "each file once", "it is read already", "%s")                  \
	X(INCLUDE_TOO_DEEP, EXPECTED, "files no more than %d deep", "", "%s")                     \
	X(INCLUDE_TOO_MANY, EXPECTED, "at most %d files", "", "%s")                               \
	X(INCLUDE_TOO_LARGE, EXPECTED, "at most %u MiB in all files", "", "%s")                   \
	X(KEY_IN_TWO_FILES, EXPECTED, "it in one of the files", "%s", "a second one")             \
	X(DIRECTORY_UNREADABLE, EXPECTED, "a directory to read", "%s", "%s")                      \
	X(DIRECTORY_EMPTY, WARNING, "no file in it is called *.json, so nothing is included", "", \
		"%s")                                                                             \
	X(ENTRY_MISSING, EXPECTED, "a file", "%s", "%s")                                          \
	X(ENTRY_NOT_REGULAR, EXPECTED, "a regular file", "", "%s")                                \
	X(LIST_PATH, EXPECTED, "the path of a file of %s")                                        \
	X(LIST_TOO_LARGE, EXPECTED, "at most %u MiB of %s, and %u in all files", "", "%s")        \
	X(LIST_NOT_REGULAR, EXPECTED, "a file of %s", "it is no regular file", "%s")              \
	X(LIST_UNREADABLE, EXPECTED, "a file of %s", "%s", "%s")                                  \
	X(LINE_NOT_TEXT, EXPECTED, "printable ASCII", "", "bytes that are no text")               \
	X(LIST_EMPTY, EXPECTED, "at least one of the %s", "", "empty")

JSON_MESSAGES(MESSAGE_DECLARE)

extern const struct message_row *const json_messages[]; /* NULL ends them */

#endif
