/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "policy/confirm.h"

#include "check.h"

enum what { CHANGE, ACCEPT, DUE, UNDO, LEFT, MAY };

/* A step at a time, its result, and the state after it. */
struct step {
	enum what what;
	uint64_t now, number, within;
	int64_t want;
	uint64_t running, good;
	bool waits;
};

static const struct step steps[] = {
	{MAY, 0, 0, 60, -ENOENT, 0, 0, false},
	{MAY, 0, 0, 0, 0, 0, 0, false},
	{CHANGE, 5, 1, 0, 0, 1, 1, false},
	{ACCEPT, 6, 0, 0, -ENOENT, 1, 1, false},
	{DUE, 1000, 0, 0, false, 1, 1, false},
	{MAY, 7, 0, 60, 0, 1, 1, false},
	{CHANGE, 10, 2, 60, 0, 2, 1, true},
	{MAY, 11, 0, 0, -EBUSY, 2, 1, true},
	{MAY, 11, 0, 60, -EBUSY, 2, 1, true},
	{DUE, 69, 0, 0, false, 2, 1, true},
	{LEFT, 69, 0, 0, 1, 2, 1, true},
	{DUE, 70, 0, 0, true, 2, 1, true},
	{LEFT, 80, 0, 0, 0, 2, 1, true},
	{UNDO, 80, 0, 0, 0, 1, 1, false},
	{DUE, 90, 0, 0, false, 1, 1, false},
	{CHANGE, 100, 3, 60, 0, 3, 1, true},
	{ACCEPT, 159, 0, 0, 0, 3, 3, false},
	{DUE, 170, 0, 0, false, 3, 3, false},
	{ACCEPT, 171, 0, 0, -ENOENT, 3, 3, false},
	{LEFT, 171, 0, 0, 0, 3, 3, false},
};

static int64_t do_step(struct confirm *confirm, const struct step *step)
{
	switch (step->what) {
	case CHANGE:
		confirm_change(confirm, step->number, step->now, step->within);
		return 0;
	case ACCEPT:
		return confirm_accept(confirm);
	case DUE:
		return confirm_due(confirm, step->now);
	case LEFT:
		return (int64_t)confirm_left_ns(confirm, step->now);
	case MAY:
		return confirm_may_change(confirm, step->within);
	default:
		confirm_undone(confirm);
		return 0;
	}
}

TEST(each_step)
{
	struct confirm confirm = {0};

	for (size_t i = 0; i < COUNT(steps); i++) {
		int64_t got = do_step(&confirm, &steps[i]);

		if (got != steps[i].want || confirm.running != steps[i].running ||
			confirm.good != steps[i].good || confirm_waits(&confirm) != steps[i].waits)
			fail_msg("step %zu: %lld, %llu runs, %llu is good", i, (long long)got,
				(unsigned long long)confirm.running,
				(unsigned long long)confirm.good);
	}
}
