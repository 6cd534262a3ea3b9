/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Proposal of weirsim plan.
 */
#ifndef WEIR_SIM_PLAN_REPORT_H
#define WEIR_SIM_PLAN_REPORT_H

#include <stdio.h>

#include <jansson.h>

#include "place/predict.h"
#include "plan_scenario.h"

struct plan {
	const struct plan_scenario *scenario;
	struct placement placement;
	struct place_delay delays[PLACE_BROKERS]; /* predicted */
	bool met; /* prediction keeps the objective, and all sources have a place */
};

/* For output_result(); `plan` is a struct plan. */
void plan_report_text(const void *plan, FILE *out);
json_t *plan_report_json(const void *plan);

#endif
