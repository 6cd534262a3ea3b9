/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * A growing text, in the formats of monitoring.
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

/* All zero at the start. The caller frees the bytes. */
struct text {
	char *bytes;
	size_t length, room;
	bool failed; /* no memory: the text is incomplete */
};

void text_add(struct text *text, const char *bytes, size_t n);
void text_print(struct text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Shortens the text to this length. */
void text_cut(struct text *text, size_t length);

/* Adds the value of a label, without quotes. */
void text_label(struct text *text, const char *value);

/* Returns a document for the page, with control characters as text. For free(); or NULL. */
char *text_json(const json_t *data);

/* Adds the text after HELP and a metric's name. */
void text_help(struct text *text, const char *help, enum text_format format);

/*
 * Adds a sample's value: a number, a boolean as 0 or 1, or the length of a list. Returns false for
 * other types and adds nothing.
 */
bool text_value(struct text *text, const json_t *value, double scale);

#endif
