/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Limiters that are made to have certain policies below a prefix, and no other there: soon after
 * that has changed, and every second, whatever has become of a limiter meanwhile. Each has a thread
 * of its own, so that one that hangs holds up no other.
 *
 * What happens is said on standard error. All here is for one thread, which has blocked the signals
 * that it does not want the others to have.
 */
#ifndef WEIR_WEIRCTL_KEEP_BOXES_H
#define WEIR_WEIRCTL_KEEP_BOXES_H

#include <stdbool.h>

#include <jansson.h>

#include "ask_boxes.h"

struct keeper;

/* Milliseconds of the monotonic clock. Any thread. */
long long keeper_clock_ms(void);

struct keep_wanted {
	json_t *policies;   /* an array; all of the prefix */
	json_t *told;       /* whose rules of before go: import/flowspec_former.h; or NULL */
	long long grace_ms; /* keeper_clock_ms() from when on all of them go */
};

/* NULL: there is no memory or no thread, which is said. `boxes` and `prefix` outlive it. */
struct keeper *keeper_start(struct boxes *boxes, const char *prefix);

/* They are to have these from now on. What is wanted stays the caller's. */
void keeper_want(struct keeper *keeper, const struct keep_wanted *wanted);

/*
 * They are to have these at the end, or just what they have if it is NULL; each is tried a few
 * times, and then given up, which is said. Whether all have them.
 */
bool keeper_end(struct keeper *keeper, const struct keep_wanted *last);

#endif
