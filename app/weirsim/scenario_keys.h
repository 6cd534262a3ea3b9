/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The key table of a scenario.
 */
#ifndef WEIR_SIM_SCENARIO_KEYS_H
#define WEIR_SIM_SCENARIO_KEYS_H

#include "policy/read.h"
#include "scenario.h"

/* Of a struct scenario. */
extern const struct key scenario_keys[];

/* Defaults. */
void scenario_init(struct scenario *scenario);

/* Numbers of the summary that a scenario may expect something of. */
bool summary_has(const char *name);
const char *summary_names(void);

#endif
