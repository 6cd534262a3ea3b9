/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Delays of recent packets: the last 10 and the last 60 seconds of a struct delay_sum, which grows
 * as long as its policy lives. The sum is marked regularly. A window has the packets since the
 * newest mark that is at least as old as the window is long. So it is up to half longer, and more
 * if nothing was marked for long. A window that began later has all packets since its begin.
 *
 * A window takes 4.9 kB, so only policies with an objective have one. Pure; control.
 */
#ifndef WEIR_APP_DELAY_WINDOW_H
#define WEIR_APP_DELAY_WINDOW_H

#include <stdbool.h>
#include <stdint.h>

#include "shape/delay.h"

enum delay_window_window { DELAY_WINDOW_10S, DELAY_WINDOW_60S, DELAY_WINDOW_WINDOWS };

#define DELAY_WINDOW_MARKS 3 /* two halves of a window, and the excess */

struct delay_window {
	struct delay_window_marks {
		unsigned newest;
		uint64_t ns[DELAY_WINDOW_MARKS];
		uint32_t bins[DELAY_WINDOW_MARKS][DELAY_BINS]; /* low 32 bits of the sum's bins */
	} windows[DELAY_WINDOW_WINDOWS];
};

/* Begins with the present total, which is in no window. */
void delay_window_init(
	struct delay_window *delay_window, const struct delay_sum *total, uint64_t now_ns);

/* Returns true if delay_window_mark() is due. Poll at least every few seconds. */
bool delay_window_is_due(const struct delay_window *delay_window, uint64_t now_ns);
void delay_window_mark(
	struct delay_window *delay_window, const struct delay_sum *total, uint64_t now_ns);

/* Writes the part of the total that is in a window; returns its length in nanoseconds. */
uint64_t delay_window_sum(const struct delay_window *delay_window, enum delay_window_window window,
	const struct delay_sum *total, uint64_t now_ns, struct delay_sum *sum);

#endif
