/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "lately.h"

#include "base/time.h"

static const uint64_t lengths[LATELY_WINDOWS] = {
	[LATELY_10S] = 10 * SECOND_NS,
	[LATELY_60S] = 60 * SECOND_NS,
};

static void set_window_mark(
	struct lately_marks *marks, unsigned i, const struct delay_sum *total, uint64_t now_ns)
{
	marks->ns[i] = now_ns;
	for (unsigned b = 0; b < DELAY_BINS; b++)
		marks->bins[i][b] = (uint32_t)total->bins[b];
}

void lately_init(struct lately *lately, const struct delay_sum *total, uint64_t now_ns)
{
	for (unsigned w = 0; w < LATELY_WINDOWS; w++) {
		lately->windows[w].newest = 0;
		for (unsigned i = 0; i < LATELY_MARKS; i++)
			set_window_mark(&lately->windows[w], i, total, now_ns);
	}
}

static bool window_mark_due(const struct lately *lately, unsigned window, uint64_t now_ns)
{
	const struct lately_marks *marks = &lately->windows[window];

	return now_ns - marks->ns[marks->newest] >= lengths[window] / (LATELY_MARKS - 1);
}

bool lately_is_due(const struct lately *lately, uint64_t now_ns)
{
	return window_mark_due(lately, LATELY_10S, now_ns) ||
	       window_mark_due(lately, LATELY_60S, now_ns);
}

void lately_mark(struct lately *lately, const struct delay_sum *total, uint64_t now_ns)
{
	for (unsigned w = 0; w < LATELY_WINDOWS; w++) {
		struct lately_marks *marks = &lately->windows[w];

		if (!window_mark_due(lately, w, now_ns))
			continue;
		marks->newest = (marks->newest + 1) % LATELY_MARKS;
		set_window_mark(marks, marks->newest, total, now_ns);
	}
}

/* The youngest mark that is old enough, or else the oldest. */
static unsigned begin_of(const struct lately_marks *marks, uint64_t length, uint64_t now_ns)
{
	unsigned i = marks->newest;

	for (unsigned n = 1; n < LATELY_MARKS && now_ns - marks->ns[i] < length; n++)
		i = (i + LATELY_MARKS - 1) % LATELY_MARKS;
	return i;
}

uint64_t lately_sum(const struct lately *lately, enum lately_window window,
	const struct delay_sum *total, uint64_t now_ns, struct delay_sum *sum)
{
	const struct lately_marks *marks = &lately->windows[window];
	unsigned from = begin_of(marks, lengths[window], now_ns);

	/* For what was less than 2^32 ago, 32 bits are enough. */
	for (unsigned b = 0; b < DELAY_BINS; b++)
		sum->bins[b] = (uint32_t)((uint32_t)total->bins[b] - marks->bins[from][b]);
	return now_ns - marks->ns[from];
}
