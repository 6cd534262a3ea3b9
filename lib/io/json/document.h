/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Private to this room: one JSON file as text and as the parser's tree.
 */
#ifndef WEIR_JSON_DOCUMENT_H
#define WEIR_JSON_DOCUMENT_H

#include <stdbool.h>
#include <stddef.h>

#include <jansson.h>
#include <sys/stat.h>

#include "json/diagnostics.h"

struct slip;

struct document {
	char *name; /* in messages */
	char *text; /* comments are blank; a NUL after it. NULL: there is only a tree */
	size_t len; /* bytes of text */
	json_t *root;
	bool duplicates;     /* an object has a key twice; root has the last value */
	struct stat state;   /* file state when it was read; zeros: there is no file */
	unsigned depth;      /* files from the first */
	size_t first, count; /* the part of the joined list that this file holds */
};

/*
 * Reads a file (`path` "-" is standard input), or copies a text. Returns 0, or a negative errno
 * that is reported to d; then there is nothing to free.
 */
int document_load(struct document *document, const char *path, struct diagnostics *d);
int document_copy(struct document *document, const char *text, size_t len, const char *name,
	struct diagnostics *d);

/*
 * Takes a tree without its text. Messages about it have no line, and name a policy in place of its
 * index. Returns 0 or -ENOMEM.
 */
int document_of(struct document *document, const json_t *root, const char *name);

/*
 * The steps of document_load(), for another parser. First document_read() reads the bytes: 0 or a
 * negative errno; -EMEDIUMTYPE: a named pipe or a device, for which it waits only if `waits`. Then
 * document_blank() blanks the comments and rejects bytes that are no text: 0 or -EINVAL, reported.
 * A mistake at an offset goes to document_report_slip(). After an error
 * document_fail() frees the document, reports `rc` unless it is -EINVAL, and returns it.
 */
int document_read(struct document *document, const char *path, bool waits);
int document_blank(struct document *document, struct diagnostics *d);
void document_report_slip(
	const struct document *document, const struct slip *slip, struct diagnostics *d);
int document_fail(struct document *document, const char *path, int rc, struct diagnostics *d);

void document_free(struct document *document);

#endif
