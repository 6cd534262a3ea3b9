/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "parts.h"

#include "box.h"

/* Takes a step of each part that has it. */
#define EACH(box, step, ...)                                                              \
	do {                                                                              \
		for (const struct policy_part *const *part = (box)->parts; *part; part++) \
			if ((*part)->step)                                                \
				(*part)->step(__VA_ARGS__);                               \
	} while (0)

/* Takes a step that may fail: the first part that does ends it. */
#define EACH_UNTIL(ret, box, step, ...)                                                         \
	do {                                                                                    \
		for (const struct policy_part *const *part = (box)->parts; *part && (ret) == 0; \
			part++)                                                                 \
			if ((*part)->step)                                                      \
				(ret) = (*part)->step(__VA_ARGS__);                             \
	} while (0)

void parts_plan(struct box *box, const uint32_t *slots, const bool *stays, unsigned n)
{
	EACH(box, plan, box, slots, stays, n);
}

int parts_prepare(struct box *box, const struct policy *policy, uint32_t slot, uint64_t hz)
{
	int ret = 0;

	EACH_UNTIL(ret, box, prepare, box, policy, slot, hz);
	return ret;
}

int parts_prepare_move(struct box *box, uint32_t from, uint32_t to)
{
	int ret = 0;

	EACH_UNTIL(ret, box, prepare_move, box, from, to);
	return ret;
}

int parts_prepare_change(struct box *box, const struct policy *policy)
{
	int ret = 0;

	EACH_UNTIL(ret, box, prepare_change, box, policy);
	return ret;
}

void parts_before_update(struct box *box, const unsigned *known, unsigned n)
{
	EACH(box, before_update, box, known, n);
}

void parts_move(struct box *box, uint32_t from, uint32_t to)
{
	EACH(box, move, box, from, to);
}

void parts_begin(struct box *box, unsigned policy)
{
	EACH(box, begin, box, policy);
}

void parts_join(const struct box *box, uint32_t slot, struct limit_profile *profile)
{
	EACH(box, join, box, slot, profile);
}

void parts_change(struct box *box, unsigned policy)
{
	EACH(box, change, box, policy);
}

void parts_leave(struct box *box, uint32_t slot)
{
	EACH(box, leave, box, slot);
}

bool parts_are_done(const struct box *box, uint32_t slot)
{
	for (const struct policy_part *const *part = box->parts; *part; part++)
		if ((*part)->is_done && !(*part)->is_done(box, slot))
			return false;
	return true;
}

void parts_moved(struct box *box, uint32_t from, uint32_t to)
{
	EACH(box, moved, box, from, to);
}

void parts_remove(struct box *box, uint32_t slot)
{
	EACH(box, remove, box, slot);
}
