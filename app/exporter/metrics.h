/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Every metric there is, as a row: what it is called and what of a limiter's answers it shows.
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
	METRIC_INFO,    /* its samples end in _info, and are 1; the value is a label */
};

/* What has a sample. */
enum metric_of {
	METRIC_OF_LIMITER, /* itself */
	METRIC_OF_MEMBERS, /* each member of an object: the label is its name */
	METRIC_OF_EACH,    /* each member of a list: the label is its "name", or else its place */
	METRIC_OF_POLICY,  /* each policy: the value is a column */
};

struct metric {
	const char *name; /* with its unit, which is base, and without _total and _info */
	enum metric_type type;
	enum metric_of of;
	const char *at;    /* where it lies in a limiter's document (gather.h): "ports" */
	const char *value; /* what of each member, or which column; NULL: itself */
	const char *label; /* beside the limiter's; NULL: none */
	const char *count; /* only of policies that count these; NULL: all */
	double scale;      /* 0: none; not of policies */
	const char *help;
};

/* Whether its value, a word, is a label beside the one there is, of that name. */
static inline bool metric_is_told(const struct metric *metric)
{
	return metric->type == METRIC_INFO && metric->value != NULL;
}

/* A row without a name ends them. */
extern const struct metric metrics[];

/* What is known of a limiter now, see gather.h. */
struct metrics_of {
	const char *limiter;
	const json_t *document;
	struct policy_pages policies;
};

/* A place in the text of all metrics of n limiters, which have to stay. */
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
 * Adds the next part, at most of one page of policies. All samples of a metric follow each other,
 * so each metric visits all pages. Returns false at the end, without a change.
 */
bool metrics_next(struct metrics_cursor *cursor, struct text *text);

#endif
