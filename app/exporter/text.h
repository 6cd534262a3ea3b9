/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * A text that grows, in the formats that monitoring reads.
 */
#ifndef WEIR_EXPORTER_TEXT_H
#define WEIR_EXPORTER_TEXT_H

#include <stdbool.h>
#include <stddef.h>

#include <jansson.h>

enum text_format {
	TEXT_PROMETHEUS,  /* text/plain; version=0.0.4 */
	TEXT_OPENMETRICS, /* application/openmetrics-text; version=1.0.0 */
};

/* Begins as all zero; its bytes are for free(). */
struct text {
	char *bytes;
	size_t length, room;
	bool failed; /* there was no memory: what is there is not whole */
};

void text_add(struct text *text, const char *bytes, size_t n);
void text_print(struct text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Takes back what was added since it was so long. */
void text_cut(struct text *text, size_t length);

/* What stands between the quotes of a label's value. */
void text_label(struct text *text, const char *value);

/* Returns a document for the page, with control characters as text. For free(); or NULL. */
char *text_json(const json_t *data);

/* What stands behind HELP and a metric's name. */
void text_help(struct text *text, const char *help, enum text_format format);

/*
 * A sample's value: a number, a truth as 0 or 1, how many members a list has. False, and nothing
 * is added, for all else.
 */
bool text_value(struct text *text, const json_t *value, double scale);

#endif
