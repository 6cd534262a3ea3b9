/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The periods of a quota by the wall clock, in UTC, and what its budget is known by. Seconds are
 * Unix time; one before 1970 is a clock that nobody has set, and counts as 1970. Pure; any thread.
 */
#ifndef WEIR_POLICY_PERIOD_H
#define WEIR_POLICY_PERIOD_H

#include <stddef.h>
#include <stdint.h>

#include "policy/policy.h"

#define PERIOD_NEVER INT64_MAX

/*
 * The number of the period that it is: never 0, and larger than that of any earlier period of the
 * same policy. Always 1 of a prepaid amount; of months those since year 0.
 */
uint64_t period_number(const struct policy *policy, int64_t unix_s);

/* When the period of a number begins, and the next one does (PERIOD_NEVER of a prepaid amount). */
int64_t period_begins(const struct policy *policy, uint64_t number);
int64_t period_ends(const struct policy *policy, uint64_t number);

/*
 * The name for people, and for where budgets are known by text: "customer-7", "customer-7:month",
 * "customer-7:86400s". Into buf (at least BUDGET_NAME_MAX); returns buf.
 */
#define BUDGET_NAME_MAX (CONFIG_NAME_MAX + 12)
char *budget_name(const struct policy *policy, char *buf, size_t size);

#endif
