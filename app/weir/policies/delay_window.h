/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * What packets have waited recently: the last 10 and the last 60 seconds of a struct delay_sum that
 * grows as long as its policy lives. Now and then the sum is marked, and a window is what has come
 * since the youngest mark that is as old as it is long: up to half of that more, and longer where
 * nobody has looked for long. Who began later has all since then.
 *
 * 4.9 kB, which only those have who have an objective to hold it against. Pure; control.
 */
#ifndef WEIR_APP_DELAY_WINDOW_H
#define WEIR_APP_DELAY_WINDOW_H

#include <stdbool.h>
#include <stdint.h>

#include "shape/delay.h"

enum delay_window_window { DELAY_WINDOW_10S, DELAY_WINDOW_60S, DELAY_WINDOW_WINDOWS };

#define DELAY_WINDOW_MARKS 3 /* two halves of a window, and what it is longer */

struct delay_window {
	struct delay_window_marks {
		unsigned newest;
		uint64_t ns[DELAY_WINDOW_MARKS];
		uint32_t bins[DELAY_WINDOW_MARKS]
			     [DELAY_BINS]; /* the sum's, but for what is above */
	} windows[DELAY_WINDOW_WINDOWS];
};

/* Begins with what has been counted before, which is in no window. */
void delay_window_init(
	struct delay_window *delay_window, const struct delay_sum *total, uint64_t now_ns);

/* Whether delay_window_mark() is due; to be asked at least every few seconds. */
bool delay_window_is_due(const struct delay_window *delay_window, uint64_t now_ns);
void delay_window_mark(
	struct delay_window *delay_window, const struct delay_sum *total, uint64_t now_ns);

/* What of the total is in a window; returns the nanoseconds that it has. */
uint64_t delay_window_sum(const struct delay_window *delay_window, enum delay_window_window window,
	const struct delay_sum *total, uint64_t now_ns, struct delay_sum *sum);

#endif
