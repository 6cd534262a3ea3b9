/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The penalty as a table and as JSON.
 */
#ifndef WEIR_SIM_PENALTY_REPORT_H
#define WEIR_SIM_PENALTY_REPORT_H

#include <jansson.h>
#include <stdio.h>

#include "penalty_run.h"

/* Runs of one kind of arrivals. */
struct penalty_kind {
	struct penalty_case c;
	unsigned n; /* rows, of 1 part and more */
	struct penalty_row rows[PENALTY_PARTS];
};

struct penalty_kinds {
	const struct penalty_kind *kinds;
	unsigned n;
};

void penalty_report_text(const struct penalty_kind *kind, FILE *out);

/* Writes a table of a document. */
void penalty_report_markdown(const struct penalty_kind *kind, FILE *out);

/* Returns a new reference. */
json_t *penalty_report_json(const struct penalty_kind *kind);

#endif
