/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * What all policies have counted at one time, by pages of /weir/policy_stats, and the rates between
 * two such looks. The time between is the limiter's own.
 */
#ifndef WEIR_WEIRCTL_LOOK_H
#define WEIR_WEIRCTL_LOOK_H

#include "ask/source.h"

/*
 * An object of each policy's columns by its name, in their order: of the first pages that have
 * `most` of them at least. 0, or what source.h says.
 */
int look_at_first_policies(struct source *source, size_t most, json_t **look);
int look_at_policies(struct source *source, json_t **look); /* all */

/* An array of the rates of those policies that are there at both looks, as "rates" has them. */
json_t *look_rates(const json_t *before, const json_t *now);

#endif
