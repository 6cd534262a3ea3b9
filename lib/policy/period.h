/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Periods of a quota by the wall clock, in UTC, and the name of its budget. Seconds are Unix time.
 * A time before 1970 means an unset clock, and counts as 1970. Pure; any thread.
 */
#ifndef WEIR_POLICY_PERIOD_H
#define WEIR_POLICY_PERIOD_H

#include <stddef.h>
#include <stdint.h>

#include "policy/policy.h"

#define PERIOD_NEVER INT64_MAX

/*
 * Returns the number of the current period. It is never 0, and larger than that of any earlier
 * period of the same policy. Always 1 for a prepaid quota. For months it counts from year 0.
 */
uint64_t period_number(const struct policy *policy, int64_t unix_s);

/*
 * Return the time when a period begins, and when the next one does (PERIOD_NEVER for a prepaid
 * quota).
 */
int64_t period_begins(const struct policy *policy, uint64_t number);
int64_t period_ends(const struct policy *policy, uint64_t number);

/*
 * Writes the name of a budget for people and for text records: "customer-7", "customer-7:month",
 * "customer-7:86400s". buf has at least BUDGET_NAME_MAX bytes. Returns buf.
 */
#define BUDGET_NAME_MAX (CONFIG_NAME_MAX + 12)
char *budget_name(const struct policy *policy, char *buf, size_t size);

#endif
