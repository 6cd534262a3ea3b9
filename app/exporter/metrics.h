/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * All metrics, one per row: the name, and the place of the value in a limiter's answers.
 */
#ifndef WEIR_EXPORTER_METRICS_H
#define WEIR_EXPORTER_METRICS_H

#include <stdbool.h>
#include <stddef.h>

#include "policy_pages.h"
#include "text.h"

enum metric_type {
	METRIC_GAUGE,
	METRIC_COUNTER, /* its samples end in _total */
	METRIC_INFO,    /* its samples end in _info and are 1; the value is a label */
};

/* The owner of a sample. */
enum metric_of {
	METRIC_OF_LIMITER, /* the limiter */
	METRIC_OF_MEMBERS, /* each member of an object; label: its name */
	METRIC_OF_EACH,    /* each member of a list; label: its "name" or its index */
	METRIC_OF_POLICY,  /* each policy; the value is a column */
};

struct metric {
	const char *name; /* with its base unit, without _total and _info */
	enum metric_type type;
	enum metric_of of;
	const char *at;    /* path in a limiter's document (boxes.h): "ports" */
	const char *value; /* path in each member, or the column; NULL: itself */
	const char *label; /* in addition to the limiter's; NULL: none */
	const char *count; /* only for policies that count these; NULL: all */
	double scale;      /* 0: none; not for policies */
	const char *help;
};

/* Returns whether its value is a text and becomes another label, with that name. */
static inline bool metric_has_label(const struct metric *metric)
{
	return metric->type == METRIC_INFO && metric->value != NULL;
}

/* Ends with a row without a name. */
extern const struct metric metrics[];

/* The state of a limiter, see boxes.h. */
struct metrics_of {
	const char *limiter;
	const json_t *document;
	struct policy_pages policies;
};

/* Returns the name that the limiter reports, otherwise that of its socket. */
const char *metrics_of_name(const struct metrics_of *of);

/* A position in the text of all metrics of n limiters, which must stay valid. */
struct metrics_cursor {
	enum text_format format;
	const struct metrics_of *of;
	size_t n, limiter;
	const struct metric *metric;
	bool headed, over;
	const struct policy_page *page; /* NULL: no policies */
	size_t name_at, count_at, value_at;
};

void metrics_begin(struct metrics_cursor *cursor, enum text_format format,
	const struct metrics_of *of, size_t n);

/*
 * Adds the next part, at most one page of policies. All samples of a metric must be adjacent, so
 * each metric visits all pages. Returns false at the end, without a change.
 */
bool metrics_next(struct metrics_cursor *cursor, struct text *text);

#endif
