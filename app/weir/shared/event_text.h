/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The fields of an event, its text, and the rate at which it may be written. Pure; any thread.
 */
#ifndef WEIR_APP_EVENT_TEXT_H
#define WEIR_APP_EVENT_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

/* Bytes of a text with its NUL; a longer one is cut off. */
#define EVENT_TEXT 2048

enum event_kind { EVENT_WORD, EVENT_COUNT, EVENT_REAL };

struct event_field {
	const char *name; /* NULL: the end of a list */
	enum event_kind kind;
	const char *word; /* from any source: unprintable characters become question marks */
	uint64_t count;
	double real;
};

static inline struct event_field event_word(const char *name, const char *word)
{
	return (struct event_field){.name = name, .kind = EVENT_WORD, .word = word};
}

static inline struct event_field event_count(const char *name, uint64_t count)
{
	return (struct event_field){.name = name, .kind = EVENT_COUNT, .count = count};
}

static inline struct event_field event_real(const char *name, double real)
{
	return (struct event_field){.name = name, .kind = EVENT_REAL, .real = real};
}

/* Fills the fields into a template. Names without a field stay as they are. */
void event_fill(char text[EVENT_TEXT], const char *template, const struct event_field *fields);

/* Returns a field's value: a new reference, or NULL if out of memory. */
json_t *event_value(const struct event_field *field);

/* Lines of a row, or of a trouble and its end, in the window that began at began_ns. */
struct event_window {
	uint64_t began_ns;
	uint32_t lines, held;
};

#define EVENT_WINDOW_NS UINT64_C(10000000000)

/* Returns true if the window has ended and its suppressed lines have not been reported. */
bool event_window_due(const struct event_window *window, uint64_t now_ns);

/*
 * Returns true if one more line may be written. Otherwise it is suppressed and counted. If the
 * window has ended, this begins a new one, with held = lines = 0: report its suppressed lines
 * first. most: 0 means no bound.
 */
bool event_window_admit(struct event_window *window, unsigned most, uint64_t now_ns);

#endif
