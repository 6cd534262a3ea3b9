/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Steps of the parts of a policy, in order and up to the first failure; and the lists by slot that
 * workers get of all policies.
 */
#include "check.h"

#include "attach.h"
#include "instance.h"
#include "parts.h"
#include "slot_map.h"

#define N 5

/* Steps taken, one decimal digit per part. */
static unsigned taken;
static int first_says, last_says;
static bool first_done, last_done;

static int prepare_first(
	struct instance *inst, const struct policy *policy, uint32_t slot, uint64_t hz)
{
	assert_true(inst != NULL && policy != NULL && slot == 7 && hz == 1000);
	taken = 10 * taken + 1;
	return first_says;
}

static int prepare_last(
	struct instance *inst, const struct policy *policy, uint32_t slot, uint64_t hz)
{
	assert_true(inst != NULL && policy != NULL && slot == 7 && hz == 1000);
	taken = 10 * taken + 3;
	return last_says;
}

static int prepare_move_first(struct instance *inst, uint32_t from, uint32_t to)
{
	assert_true(inst != NULL && from == 7 && to == 8);
	taken = 10 * taken + 1;
	return first_says;
}

static int prepare_move_last(struct instance *inst, uint32_t from, uint32_t to)
{
	assert_true(inst != NULL && from == 7 && to == 8);
	taken = 10 * taken + 3;
	return last_says;
}

static bool is_first_done(const struct instance *inst, uint32_t slot)
{
	assert_int_equal(slot, 7);
	return first_done;
}

static bool is_last_done(const struct instance *inst, uint32_t slot)
{
	assert_int_equal(slot, 7);
	return last_done;
}

static const struct policy_part first = {
	.prepare = prepare_first,
	.prepare_move = prepare_move_first,
	.prepare_change = prepare_first,
	.is_done = is_first_done,
};
static const struct policy_part idle = {.prepare = NULL};
static const struct policy_part last = {
	.prepare = prepare_last,
	.prepare_move = prepare_move_last,
	.prepare_change = prepare_last,
	.is_done = is_last_done,
};
static const struct policy_part *const parts[] = {&first, &idle, &last, NULL};
static struct instance inst = {.parts = parts};

/* A step that can fail runs for each part that has it, and stops at the first failure. */
TEST(test_steps_that_fail)
{
	static const struct {
		int first, last, ret;
		unsigned taken;
	} rows[] = {
		{0, 0, 0, 13},
		{-ENOMEM, 0, -ENOMEM, 1},
		{0, -EINVAL, -EINVAL, 13},
		{-ENOMEM, -EINVAL, -ENOMEM, 1},
	};
	const struct policy policy = {.name = "p"};

	for (size_t i = 0; i < COUNT(rows); i++) {
		first_says = rows[i].first;
		last_says = rows[i].last;
		taken = 0;
		assert_int_equal(parts_prepare(&inst, &policy, 7, 1000), rows[i].ret);
		assert_int_equal(taken, rows[i].taken);
		taken = 0;
		assert_int_equal(parts_prepare_change(&inst, &policy, 7, 1000), rows[i].ret);
		assert_int_equal(taken, rows[i].taken);
		taken = 0;
		assert_int_equal(parts_prepare_move(&inst, 7, 8), rows[i].ret);
		assert_int_equal(taken, rows[i].taken);
	}
}

/* A slot is done when all its parts are. */
TEST(test_done)
{
	for (unsigned i = 0; i < 4; i++) {
		first_done = i & 1;
		last_done = i & 2;
		assert_int_equal(parts_are_done(&inst, 7), i == 3);
	}
}

static const uint32_t slots[N] = {4, 0, 6, 3, 2};

/* Slots with a meter per source come first, then slots of hard limits. */
TEST(test_slots_per_source)
{
	const struct policy policies[N] = {
		{.per_v4 = 32},
		{.guarantee = GUARANTEE_HARD},
		{.per_v6 = 64},
		{.guarantee = GUARANTEE_SOFT},
		{.guarantee = GUARANTEE_HARD},
	};
	static const unsigned want[] = {4, 6, 0, 2};
	unsigned n_sourced, n_hard, *listed;

	listed = slots_per_source(policies, slots, N, &n_sourced, &n_hard);
	assert_non_null(listed);
	assert_int_equal(n_sourced, 2);
	assert_int_equal(n_hard, 2);
	assert_memory_equal(listed, want, sizeof(want));
	free(listed);
	listed = slots_per_source(policies + 3, slots + 3, 1, &n_sourced, &n_hard);
	assert_non_null(listed); /* an empty list, not a failed allocation */
	assert_int_equal(n_sourced + n_hard, 0);
	free(listed);
}

/* Parents by slot, and SLOT_NONE for unused slots. Without parents there is no table. */
TEST(test_slots_of_parents)
{
	struct policy policies[N] = {{.above = 0}};
	uint32_t *parents = NULL;

	policies[0].parent = 1;
	policies[2].parent = 1;
	policies[4].parent = 2;
	assert_int_equal(slots_of_parents(policies, slots, N, 8, &parents), 0);
	assert_null(parents);
	policies[2].above = 1;
	policies[4].above = 2;
	assert_int_equal(slots_of_parents(policies, slots, N, 8, &parents), 0);
	assert_non_null(parents);
	for (unsigned slot = 0; slot < 8; slot++)
		assert_int_equal(parents[slot], slot == 6 ? 0 : slot == 2 ? 6 : SLOT_NONE);
	free(parents);
}
