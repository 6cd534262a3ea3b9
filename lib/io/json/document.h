/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Private to this room: one JSON file as text and as what the parser made of it.
 */
#ifndef WEIR_JSON_DOCUMENT_H
#define WEIR_JSON_DOCUMENT_H

#include <stddef.h>

#include <jansson.h>
#include <sys/stat.h>

#include "json/diagnostics.h"

struct slip;

struct document {
	char *name; /* as messages have it */
	char *text; /* blanks for comments; a NUL after it. NULL: it never was one */
	size_t len;
	json_t *root;
	struct stat state;   /* of the file when it was read; zeros: of none */
	unsigned depth;      /* files from the first */
	size_t first, count; /* of the elements of the joined list that are its own */
};

/*
 * Reads a file; `path` "-" is standard input. Or takes a copy of a text. 0, or a negative errno that
 * is reported to d; then there is nothing to free.
 */
int document_load(struct document *document, const char *path, struct diagnostics *d);
int document_copy(struct document *document, const char *text, size_t len, const char *name,
	struct diagnostics *d);

/* Or takes what has been parsed already, of which everything is in line 1. 0 or -ENOMEM. */
int document_of(struct document *document, const json_t *root, const char *name);

/*
 * In steps, for whoever parses it otherwise: its bytes as they are (0 or a negative errno); blanks
 * for its comments, and whether it is a text (0 or -EINVAL, reported); what is wrong at a place of
 * it; and its end, with `rc` reported unless that is -EINVAL, which it returns.
 */
int document_read(struct document *document, const char *path);
int document_blank(struct document *document, struct diagnostics *d);
void document_report_slip(
	const struct document *document, const struct slip *slip, struct diagnostics *d);
int document_fail(struct document *document, const char *path, int rc, struct diagnostics *d);

void document_free(struct document *document);

#endif
