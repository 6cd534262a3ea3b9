/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Counts of policies and workers, for operators (engine/counts.h). Control.
 */
#ifndef WEIR_APP_TOTALS_H
#define WEIR_APP_TOTALS_H

#include "instance.h"

/* Returns the counts of the slot itself. If they have changed, wakes an idle policy in the slot. */
struct policy_totals instance_slot_totals(struct instance *inst, uint32_t slot);

/* Returns the counts of the slot's policy, in this slot and before. */
struct policy_totals instance_policy_totals(struct instance *inst, uint32_t slot);

struct worker_counters instance_worker_totals(const struct instance *inst);

void policy_totals_add(struct policy_totals *totals, const struct policy_totals *more);

#endif
