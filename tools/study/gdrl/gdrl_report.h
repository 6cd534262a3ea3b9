/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Results of GDRL's evaluation, as text and as JSON.
 */
#ifndef WEIR_SIM_GDRL_REPORT_H
#define WEIR_SIM_GDRL_REPORT_H

#include <stdio.h>

#include <jansson.h>

#include "gdrl_run.h"

/* The table: its head, a run's row when it is done, and effects of changing demands. */
void gdrl_report_head(FILE *out);
void gdrl_report_row(const struct gdrl_run *run, FILE *out);
void gdrl_report_changes(const struct gdrl_run *run, FILE *out);

/*
 * Writes a table of a document: a row for n runs of one case with different seeds. The index is the
 * least of the seeds. Slots are the least, the median and the most, of which "never" sorts last.
 */
void gdrl_markdown_head(FILE *out);
void gdrl_markdown_row(const struct gdrl_run *runs, unsigned n, FILE *out);

/* Returns a new reference. */
json_t *gdrl_report_json(const struct gdrl_run *run);

#endif
