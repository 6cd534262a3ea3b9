/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * From a record to the numbers of the paper: rates over time, shares, fairness. The summary has the
 * keys of tools/demo's JSON, so that a live run and a simulated one can be laid side by side.
 */
#ifndef WEIR_SIM_REPORT_H
#define WEIR_SIM_REPORT_H

#include <stdbool.h>
#include <stdio.h>

#include <jansson.h>

#include "sim.h"

/* A new reference, or NULL when out of memory. Of the time from the warm-up to the end. */
json_t *report_summary(const struct sim *sim);

/* Says what a run fails: what should never be, and what the scenario expects; true if nothing. */
bool report_verdict(const struct sim *sim, const json_t *summary, FILE *err);

/* The summary for people. */
void report_text(const struct sim *sim, const json_t *summary, FILE *out);

/* One row an interval, CSV; 0 or a negative errno. */
int report_series(const struct sim *sim, FILE *out);

#endif
