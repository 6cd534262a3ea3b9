/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * State that a policy consists of, in addition to its limit.
 */
#include "parts.h"

#include "instance.h"

/* Takes a step of each part that has it. */
#define EACH(inst, step, ...)                                                              \
	do {                                                                               \
		for (const struct policy_part *const *part = (inst)->parts; *part; part++) \
			if ((*part)->step)                                                 \
				(*part)->step(__VA_ARGS__);                                \
	} while (0)

/* Takes a step that can fail, up to the first part that fails. */
#define EACH_UNTIL(ret, inst, step, ...)                                                         \
	do {                                                                                     \
		for (const struct policy_part *const *part = (inst)->parts; *part && (ret) == 0; \
			part++)                                                                  \
			if ((*part)->step)                                                       \
				(ret) = (*part)->step(__VA_ARGS__);                              \
	} while (0)

void parts_plan(struct instance *inst, const uint32_t *slots, const bool *stays, unsigned n)
{
	EACH(inst, plan, inst, slots, stays, n);
}

int parts_prepare(struct instance *inst, const struct policy *policy, uint32_t slot, uint64_t hz)
{
	int ret = 0;

	EACH_UNTIL(ret, inst, prepare, inst, policy, slot, hz);
	return ret;
}

int parts_prepare_move(struct instance *inst, uint32_t from, uint32_t to)
{
	int ret = 0;

	EACH_UNTIL(ret, inst, prepare_move, inst, from, to);
	return ret;
}

int parts_prepare_change(
	struct instance *inst, const struct policy *policy, uint32_t slot, uint64_t hz)
{
	int ret = 0;

	EACH_UNTIL(ret, inst, prepare_change, inst, policy, slot, hz);
	return ret;
}

void parts_give_up(struct instance *inst, uint32_t slot)
{
	EACH(inst, give_up, inst, slot);
}

void parts_before_update(struct instance *inst, const unsigned *known, unsigned n)
{
	EACH(inst, before_update, inst, known, n);
}

void parts_move(struct instance *inst, uint32_t from, uint32_t to)
{
	EACH(inst, move, inst, from, to);
}

void parts_begin(struct instance *inst, unsigned policy)
{
	EACH(inst, begin, inst, policy);
}

void parts_join(const struct instance *inst, uint32_t slot, struct limit_profile *profile)
{
	EACH(inst, join, inst, slot, profile);
}

void parts_change(struct instance *inst, unsigned policy)
{
	EACH(inst, change, inst, policy);
}

void parts_changed(struct instance *inst, uint32_t slot)
{
	EACH(inst, changed, inst, slot);
}

void parts_leave(struct instance *inst, uint32_t slot)
{
	EACH(inst, leave, inst, slot);
}

bool parts_are_done(const struct instance *inst, uint32_t slot)
{
	for (const struct policy_part *const *part = inst->parts; *part; part++)
		if ((*part)->is_done && !(*part)->is_done(inst, slot))
			return false;
	return true;
}

void parts_moved(struct instance *inst, uint32_t from, uint32_t to)
{
	EACH(inst, moved, inst, from, to);
}

void parts_remove(struct instance *inst, uint32_t slot)
{
	EACH(inst, remove, inst, slot);
}
