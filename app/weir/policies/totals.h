/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * What policies and workers have counted, as operators are told of it (engine/counts.h). Control.
 */
#ifndef WEIR_APP_TOTALS_H
#define WEIR_APP_TOTALS_H

#include "instance.h"

/* What was counted in the slot itself. If that is news, a policy that idles in it wakes. */
struct policy_totals instance_slot_totals(struct instance *inst, uint32_t slot);

/* What its policy has counted, there and before. */
struct policy_totals instance_policy_totals(struct instance *inst, uint32_t slot);

struct worker_counters instance_worker_totals(const struct instance *inst);

void policy_totals_add(struct policy_totals *totals, const struct policy_totals *more);

#endif
