/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Counters of all policies at one time, from pages of /weir/policy_stats, and the rates between two
 * such looks. The time between them is by the limiter's clock.
 */
#ifndef WEIR_WEIRCTL_POLICIES_H
#define WEIR_WEIRCTL_POLICIES_H

#include "ask/source.h"

/*
 * Returns an object of each policy's columns by its name, in their order, from the first pages with
 * at least `most` policies. Returns 0, or an error of source.h and NULL.
 */
int look_at_policies(struct source *source, size_t most, json_t **look);

/* Returns an array of the rates of policies that are in both looks, in the format of "rates". */
json_t *look_rates(const json_t *before, const json_t *now);

#endif
