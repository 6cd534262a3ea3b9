/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Shared by runs of rates and of units.
 */
#ifndef WEIR_TORTURE_RUN_H
#define WEIR_TORTURE_RUN_H

#include "torture.h"
#include "world/events.h"

/* Records a violation, if it is the first. */
__attribute__((format(printf, 2, 3))) void torture_complain(
	struct torture_result *result, const char *format, ...);

/*
 * Returns the limiter that ends for good, and when: before the end of faults. TORTURE_LIMITERS:
 * none. Both are drawn from a separate generator, so that all is as without until then.
 */
unsigned torture_victim(const struct torture_case *c, uint64_t calm_ns, uint64_t *when_ns);

/*
 * Records a failed call that must not fail. Out of memory is an error, all other codes a violation.
 */
void torture_failed(struct torture_result *result, const char *call, int ret);

/* Runs all events up to the end or the first violation, and checks after each. */
void torture_play(struct events *events, uint64_t end, void *world, void (*check)(void *world),
	struct torture_result *result);

#endif
