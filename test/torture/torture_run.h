/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * What runs of rates and of units share.
 */
#ifndef WEIR_TORTURE_RUN_H
#define WEIR_TORTURE_RUN_H

#include "torture.h"
#include "world/events.h"

/* Notes what is wrong, the first time. */
__attribute__((format(printf, 2, 3))) void torture_complain(
	struct torture_result *result, const char *format, ...);

/*
 * The limiter that ends for good, and when: before all is well again. TORTURE_LIMITERS: none. They
 * are not drawn of the world's numbers: until then all happens as it does without.
 */
unsigned torture_victim(const struct torture_case *c, uint64_t calm_ns, uint64_t *when_ns);

/* A call has failed that must not fail: out of memory is an error, all else is a violation. */
void torture_failed(struct torture_result *result, const char *call, int ret);

/* Lets all events happen up to the end or to the first that is wrong, and checks after each. */
void torture_play(struct events *events, uint64_t end, void *world, void (*check)(void *world),
	struct torture_result *result);

#endif
