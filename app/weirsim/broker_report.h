/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * What weirsim brokers says of its figures.
 */
#ifndef WEIR_SIM_BROKER_REPORT_H
#define WEIR_SIM_BROKER_REPORT_H

#include <stdio.h>

#include <jansson.h>

#include "broker_figure.h"

void broker_report_text(const struct broker_results *results, FILE *out);
json_t *broker_report_json(const struct broker_results *results);

/* For output_write(): struct broker_results. */
int broker_report_plot(const void *results, FILE *out);

void broker_table_text(const struct broker_table *table, FILE *out);
json_t *broker_table_json(const struct broker_table *table);

/* For output_write(): struct broker_table. */
int broker_table_plot(const void *table, FILE *out);

/* Points at which the order is not the paper's. */
unsigned broker_out_of_order(const struct broker_results *results);

#endif
