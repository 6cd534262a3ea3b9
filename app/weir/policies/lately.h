/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * What packets have waited lately: the last 10 and the last 60 seconds of a struct delay_sum that
 * grows as long as its policy lives. Now and then the sum is marked, and a window is what has come
 * since the youngest mark that is as old as it is long: up to half of that more, and longer where
 * nobody has looked for long. Who began later has all since then.
 *
 * 4.9 kB, which only those have who have an objective to hold it against. Pure; control.
 */
#ifndef WEIR_APP_LATELY_H
#define WEIR_APP_LATELY_H

#include <stdbool.h>
#include <stdint.h>

#include "shape/delay.h"

enum lately_window { LATELY_10S, LATELY_60S, LATELY_WINDOWS };

#define LATELY_MARKS 3 /* two halves of a window, and what it is longer */

struct lately {
	struct lately_marks {
		unsigned newest;
		uint64_t ns[LATELY_MARKS];
		uint32_t bins[LATELY_MARKS][DELAY_BINS]; /* the sum's, but for what is above */
	} windows[LATELY_WINDOWS];
};

/* Begins with what has been counted before, which is in no window. */
void lately_init(struct lately *lately, const struct delay_sum *total, uint64_t now_ns);

/* Whether lately_mark() is due; to be asked at least every few seconds. */
bool lately_is_due(const struct lately *lately, uint64_t now_ns);
void lately_mark(struct lately *lately, const struct delay_sum *total, uint64_t now_ns);

/* What of the total is in a window; returns the nanoseconds that it has. */
uint64_t lately_sum(const struct lately *lately, enum lately_window window,
	const struct delay_sum *total, uint64_t now_ns, struct delay_sum *sum);

#endif
