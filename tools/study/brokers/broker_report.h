/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Output of the results of weir-study brokers.
 */
#ifndef WEIR_SIM_BROKER_REPORT_H
#define WEIR_SIM_BROKER_REPORT_H

#include <stdio.h>

#include <jansson.h>

#include "broker_figure.h"

/* Print functions for output_result(): struct broker_results. */
void broker_report_text(const void *results, FILE *out);
json_t *broker_report_json(const void *results);

/* Writes a struct broker_table. */
void broker_table_text(const void *table, FILE *out);
json_t *broker_table_json(const void *table);

/* Returns the number of points whose ranking differs from the paper's. */
unsigned broker_out_of_order(const struct broker_results *results);

/* Writes tables of a document, in Markdown. */
void broker_report_markdown(const void *results, FILE *out);
void broker_table_markdown(const void *table, FILE *out);

#endif
