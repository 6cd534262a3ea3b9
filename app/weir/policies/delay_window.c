/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "delay_window.h"

#include "base/time.h"

static const uint64_t lengths[DELAY_WINDOW_WINDOWS] = {
	[DELAY_WINDOW_10S] = 10 * SECOND_NS,
	[DELAY_WINDOW_60S] = 60 * SECOND_NS,
};

static void set_window_mark(struct delay_window_marks *marks, unsigned i,
	const struct delay_sum *total, uint64_t now_ns)
{
	marks->ns[i] = now_ns;
	for (unsigned b = 0; b < DELAY_BINS; b++)
		marks->bins[i][b] = (uint32_t)total->bins[b];
}

void delay_window_init(
	struct delay_window *delay_window, const struct delay_sum *total, uint64_t now_ns)
{
	for (unsigned w = 0; w < DELAY_WINDOW_WINDOWS; w++) {
		delay_window->windows[w].newest = 0;
		for (unsigned i = 0; i < DELAY_WINDOW_MARKS; i++)
			set_window_mark(&delay_window->windows[w], i, total, now_ns);
	}
}

static bool window_mark_due(
	const struct delay_window *delay_window, unsigned window, uint64_t now_ns)
{
	const struct delay_window_marks *marks = &delay_window->windows[window];

	return now_ns - marks->ns[marks->newest] >= lengths[window] / (DELAY_WINDOW_MARKS - 1);
}

bool delay_window_is_due(const struct delay_window *delay_window, uint64_t now_ns)
{
	return window_mark_due(delay_window, DELAY_WINDOW_10S, now_ns) ||
	       window_mark_due(delay_window, DELAY_WINDOW_60S, now_ns);
}

void delay_window_mark(
	struct delay_window *delay_window, const struct delay_sum *total, uint64_t now_ns)
{
	for (unsigned w = 0; w < DELAY_WINDOW_WINDOWS; w++) {
		struct delay_window_marks *marks = &delay_window->windows[w];

		if (!window_mark_due(delay_window, w, now_ns))
			continue;
		marks->newest = (marks->newest + 1) % DELAY_WINDOW_MARKS;
		set_window_mark(marks, marks->newest, total, now_ns);
	}
}

/* Returns the newest mark that is old enough, otherwise the oldest. */
static unsigned begin_of(const struct delay_window_marks *marks, uint64_t length, uint64_t now_ns)
{
	unsigned i = marks->newest;

	for (unsigned n = 1; n < DELAY_WINDOW_MARKS && now_ns - marks->ns[i] < length; n++)
		i = (i + DELAY_WINDOW_MARKS - 1) % DELAY_WINDOW_MARKS;
	return i;
}

uint64_t delay_window_sum(const struct delay_window *delay_window, enum delay_window_window window,
	const struct delay_sum *total, uint64_t now_ns, struct delay_sum *sum)
{
	const struct delay_window_marks *marks = &delay_window->windows[window];
	unsigned from = begin_of(marks, lengths[window], now_ns);

	/* 32 bits are enough for counts below 2^32. */
	for (unsigned b = 0; b < DELAY_BINS; b++)
		sum->bins[b] = (uint32_t)((uint32_t)total->bins[b] - marks->bins[from][b]);
	return now_ns - marks->ns[from];
}
