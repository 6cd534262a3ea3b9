/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The contenders of `weir-study quota`, compared with each other and with the paper's figures.
 */
#ifndef WEIR_SIM_QUOTA_REPORT_H
#define WEIR_SIM_QUOTA_REPORT_H

#include <stdio.h>

#include <jansson.h>

#include "quota_case.h"

enum quota_contender {
	QUOTA_CENTRAL,
	QUOTA_POLL, /* one after the other */
	QUOTA_POLL_AT_ONCE,
	QUOTA_TREE,
	QUOTA_CONTENDERS,
};

/* Means over the seeds of one workload and number of nodes. */
struct quota_row {
	unsigned n, requests, seeds;
	enum quota_workload workload;
	struct quota_score {
		double reduction;              /* % less hops than centralised */
		double reduction_flat;         /* % less messages than centralised */
		double fewer;                  /* % less hops than polling one after the other */
		double squares, fewer_squares; /* distances of both from their means */
		double last; /* % of the hops that occur with a tenth of the total left */
		double hops, reallocations;
		double response_ms,
			stalled_ms; /* mean of a reallocation, NaN without any; that of a request */
		double used,
			used_least; /* % of the total before the first refusal; least of a seed */
		double tenths[QUOTA_TENTHS];
		bool exceeded;
	} of[QUOTA_CONTENDERS];
};

/* Adds the results of one seed, of all contenders. */
void quota_row_add(struct quota_row *row, const struct quota_case *c,
	const struct quota_result results[QUOTA_CONTENDERS]);

void quota_report_text(const struct quota_row *rows, unsigned n, FILE *out);

/* Returns a new reference, or NULL. */
json_t *quota_report_json(const struct quota_row *rows, unsigned n);

/* Writes two tables of a document, in Markdown: the cost, and the time. */
void quota_report_markdown(const struct quota_row *rows, unsigned n, FILE *out);

/* The paper's figures for a row: its figure 2, table II and figure 5, and its abstract. */
struct quota_published {
	unsigned n;
	enum quota_workload workload;
	double reduction, reduction_polling, fewer;
	double response_ms, response_polling_ms; /* 0: not in the paper */
};

/* Returns NULL if the paper has none. */
const struct quota_published *quota_published(const struct quota_row *row);

/* Returns the standard deviation over the seeds. */
double quota_deviation(double squares, unsigned seeds);

extern const char *const quota_workloads[QUOTA_WORKLOADS];

#endif
