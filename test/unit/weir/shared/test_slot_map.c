/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Slots of policies over many reloads: one policy in each, the same as long as it exists, and none
 * while a worker can still use the slot.
 */
#include "check.h"
#include "scope.h"

#include <malloc.h>

#include "base/prng.h"
#include "slot_map.h"

static uint32_t *plan_test_slots(const struct slot_map *slots, const unsigned *keeps, unsigned n)
{
	uint32_t *of = malloc((n + 1) * sizeof(*of));

	assert_int_equal(slot_map_plan(slots, keeps, n, of), 0);
	return of;
}

TEST(test_first)
{
	struct slot_map slots;

	assert_int_equal(slot_map_init(&slots, 3, 5), 0);
	for (uint32_t i = 0; i < 3; i++) {
		assert_int_equal(slots.of[i], i);
		assert_int_equal(slots.policy[i], i);
	}
	assert_int_equal(slots.policy[3], SLOT_FREE);
	assert_int_equal(slots.policy[4], SLOT_FREE);
	slot_map_free(&slots);
	assert_null(slots.of);
	assert_null(slots.policy);
	assert_int_equal(slots.n, 0);
	assert_int_equal(slots.capacity, 0);
}

/* Without earlier policies, the first one gets the first slot. */
TEST(test_first_of_all)
{
	const unsigned unassigned[] = {SLOT_UNASSIGNED, SLOT_UNASSIGNED, SLOT_UNASSIGNED};
	ENDED_BY(slot_map_free) struct slot_map slots;
	uint32_t of[3];

	assert_int_equal(slot_map_init(&slots, 0, 2), 0);
	assert_int_equal(slots.policy[0], SLOT_FREE);
	assert_int_equal(slot_map_plan(&slots, unassigned, 2, of), 0);
	assert_int_equal(of[0], 0);
	assert_int_equal(of[1], 1);
	assert_int_equal(slot_map_plan(&slots, unassigned, 3, of), -ENOSPC);
}

/*
 * A policy that stays keeps its slot, wherever it is in the file. A slot that was left is not
 * reused too early.
 */
TEST(test_left)
{
	const unsigned one_stays[] = {SLOT_UNASSIGNED, 2, SLOT_UNASSIGNED},
		       all_unassigned[] = {SLOT_UNASSIGNED, SLOT_UNASSIGNED};
	uint32_t none[2];
	ENDED_BY(slot_map_free) struct slot_map slots;

	assert_int_equal(slot_map_init(&slots, 3, 5), 0);
	slot_map_commit(&slots, plan_test_slots(&slots, one_stays, 3), 3);
	assert_int_equal(slots.of[0], 3);
	assert_int_equal(slots.of[1], 2);
	assert_int_equal(slots.of[2], 4);
	assert_int_equal(slots.policy[2], 1);
	assert_int_equal(slots.policy[0], SLOT_LEFT);
	assert_int_equal(slots.policy[1], SLOT_LEFT);
	assert_int_equal(slot_map_plan(&slots, all_unassigned, 1, none), -ENOSPC);
	slot_map_release(&slots, 1);
	assert_int_equal(slot_map_plan(&slots, all_unassigned, 2, none), -ENOSPC);
	slot_map_commit(&slots, plan_test_slots(&slots, all_unassigned, 1), 1);
	assert_int_equal(slots.of[0], 1);
}

/* A plan changes nothing. */
TEST(test_plan_changes_nothing)
{
	const unsigned unassigned[] = {SLOT_UNASSIGNED, 0};
	ENDED_BY(slot_map_free) struct slot_map slots;

	assert_int_equal(slot_map_init(&slots, 1, 2), 0);
	for (int i = 0; i < 3; i++) {
		uint32_t *of = plan_test_slots(&slots, unassigned, 2);

		assert_int_equal(of[0], 1);
		assert_int_equal(of[1], 0);
		free(of);
	}
	assert_int_equal(slots.n, 1);
	assert_int_equal(slots.policy[1], SLOT_FREE);
}

#define CAPACITY 64

/* Unique numbers of policies, as a user of a slot sees them. */
struct world {
	struct slot_map slots;
	struct prng prng;
	unsigned names[CAPACITY]; /* number of each policy, by index */
	unsigned at[CAPACITY];    /* number of the policy, by slot; 0: none */
	unsigned n, next;
};

static void check_slots(const struct world *w)
{
	unsigned used = 0;

	for (uint32_t slot = 0; slot < CAPACITY; slot++) {
		uint32_t policy = w->slots.policy[slot];

		assert_true((policy == SLOT_FREE) == (w->at[slot] == 0));
		if (policy == SLOT_FREE || policy == SLOT_LEFT)
			continue;
		used++;
		assert_int_equal(w->slots.of[policy], slot);
		assert_int_equal(w->names[policy], w->at[slot]);
	}
	assert_int_equal(used, w->slots.n);
}

static void shape_out_some(struct world *w)
{
	for (uint32_t slot = 0; slot < CAPACITY; slot++)
		if (w->slots.policy[slot] == SLOT_LEFT && prng_below(&w->prng, 2)) {
			slot_map_release(&w->slots, slot);
			w->at[slot] = 0;
		}
}

/* Chooses policies that stay and new ones, in any order. */
static unsigned choose_kept(struct world *w, unsigned *keeps)
{
	unsigned n = 0;

	for (unsigned i = 0; i < w->n; i++)
		if (prng_below(&w->prng, 4))
			keeps[n++] = i;
	for (unsigned come = prng_below(&w->prng, 8); come > 0 && n < CAPACITY; come--)
		keeps[n++] = SLOT_UNASSIGNED;
	for (unsigned i = n; i > 1; i--) {
		unsigned j = prng_below(&w->prng, i), keep = keeps[i - 1];

		keeps[i - 1] = keeps[j];
		keeps[j] = keep;
	}
	return n;
}

static void reload_slots(struct world *w)
{
	unsigned keeps[CAPACITY], names[CAPACITY], n = choose_kept(w, keeps), before = w->slots.n;
	uint32_t *of = malloc((n + 1) * sizeof(*of));

	if (slot_map_plan(&w->slots, keeps, n, of)) {
		assert_int_equal(w->slots.n, before);
		free(of);
		return;
	}
	for (unsigned i = 0; i < n; i++) {
		if (keeps[i] == SLOT_UNASSIGNED) {
			assert_int_equal(w->at[of[i]], 0); /* the slot is unused */
			w->at[of[i]] = ++w->next;
		} else {
			assert_int_equal(w->at[of[i]], w->names[keeps[i]]);
		}
		names[i] = w->at[of[i]];
	}
	slot_map_commit(&w->slots, of, n);
	memcpy(w->names, names, sizeof(names[0]) * n);
	w->n = n;
}

TEST(test_many_reloads)
{
	for (uint64_t seed = 1; seed <= 20; seed++) {
		struct world w = {.n = 10, .next = 10};

		prng_seed(&w.prng, seed);
		assert_int_equal(slot_map_init(&w.slots, w.n, CAPACITY), 0);
		for (unsigned i = 0; i < w.n; i++)
			w.names[i] = w.at[i] = i + 1;
		for (unsigned i = 0; i < 500; i++) {
			reload_slots(&w);
			check_slots(&w);
			shape_out_some(&w);
			check_slots(&w);
		}
		if (w.next < 500)
			fail_msg("seed %u: only %u policies ever", (unsigned)seed, w.next);
		slot_map_free(&w.slots);
	}
}

int main(void)
{
	mallopt(M_PERTURB, 0xa5); /* fresh memory is never zero */
	return run_all_tests();
}
