/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * An event's fields, and what becomes of them in its text; and how often one may be written. Pure;
 * any thread.
 */
#ifndef WEIR_APP_EVENT_TEXT_H
#define WEIR_APP_EVENT_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

/* Bytes of a text with its end; what is longer is cut off. */
#define EVENT_TEXT 2048

enum event_kind { EVENT_WORD, EVENT_COUNT, EVENT_REAL };

struct event_field {
	const char *name; /* NULL: the end of a list */
	enum event_kind kind;
	const char *word; /* from wherever: what is not printable becomes a question mark */
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

/* What the fields make of a template; a name that they do not have stays as it is. */
void event_fill(char text[EVENT_TEXT], const char *template, const struct event_field *fields);

/* A new reference; NULL without memory. */
json_t *event_value(const struct event_field *field);

/* Lines of a row, or of a trouble and its end, in the window that began then. */
struct event_window {
	uint64_t began_ns;
	uint32_t lines, held;
};

#define EVENT_WINDOW_NS UINT64_C(10000000000)

/* Whether what was held back in a window that is over has yet to be said. */
bool event_window_due(const struct event_window *window, uint64_t now_ns);

/*
 * Whether one more may be written; else it is held back, and counted. What a window that is over
 * has held back is said before, and the window begun anew: held = lines = 0. most: 0, all may be.
 */
bool event_window_admit(struct event_window *window, unsigned most, uint64_t now_ns);

#endif
