/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Computes the numbers of the paper from a record: rates over time, shares, fairness. The summary
 * has the keys of tools/demo's JSON, for comparison of a live run with a simulated one.
 */
#ifndef WEIR_SIM_REPORT_H
#define WEIR_SIM_REPORT_H

#include <stdbool.h>
#include <stdio.h>

#include <jansson.h>

#include "sim.h"

/*
 * Returns a new reference, or NULL when out of memory. Covers the time from the warm-up to the end.
 */
json_t *report_summary(const struct sim *sim);

/*
 * Reports violated invariants, and bounds of the scenario that do not hold; returns true if there
 * are none.
 */
bool report_verdict(const struct sim *sim, const json_t *summary, FILE *err);

/* Writes the summary for people. */
void report_text(const struct sim *sim, const json_t *summary, FILE *out);

/* Writes one row an interval, CSV; returns 0 or a negative errno. */
int report_series(const struct sim *sim, FILE *out);

#endif
