/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Slots of policies over many reloads: one tenant at a time, kept while it lives, and nobody's
 * while somebody may still be at it.
 */
#include "check.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/prng.h"
#include "slots.h"

static uint32_t *plan_test_slots(const struct slots *slots, const unsigned *keeps, unsigned n)
{
	uint32_t *of = malloc((n + 1) * sizeof(*of));

	assert_int_equal(slots_plan(slots, keeps, n, of), 0);
	return of;
}

static void test_first(void **state)
{
	struct slots slots;

	(void)state;
	assert_int_equal(slots_init(&slots, 3, 5), 0);
	for (uint32_t i = 0; i < 3; i++) {
		assert_int_equal(slots.of[i], i);
		assert_int_equal(slots.tenant[i], i);
	}
	assert_int_equal(slots.tenant[3], SLOT_FREE);
	assert_int_equal(slots.tenant[4], SLOT_FREE);
	slots_free(&slots);
}

/*
 * A policy that stays keeps its slot wherever it stands; a slot that is left is not given away
 * before its time.
 */
static void test_left(void **state)
{
	const unsigned one_stays[] = {SLOT_ANEW, 2, SLOT_ANEW}, all_anew[] = {SLOT_ANEW, SLOT_ANEW};
	uint32_t none[2];
	struct slots slots;

	(void)state;
	assert_int_equal(slots_init(&slots, 3, 5), 0);
	slots_commit(&slots, plan_test_slots(&slots, one_stays, 3), 3);
	assert_int_equal(slots.of[0], 3);
	assert_int_equal(slots.of[1], 2);
	assert_int_equal(slots.of[2], 4);
	assert_int_equal(slots.tenant[2], 1);
	assert_int_equal(slots.tenant[0], SLOT_LEFT);
	assert_int_equal(slots.tenant[1], SLOT_LEFT);
	assert_int_equal(slots_plan(&slots, all_anew, 1, none), -ENOSPC);
	slots_release(&slots, 1);
	assert_int_equal(slots_plan(&slots, all_anew, 2, none), -ENOSPC);
	slots_commit(&slots, plan_test_slots(&slots, all_anew, 1), 1);
	assert_int_equal(slots.of[0], 1);
	slots_free(&slots);
}

/* A plan is only a plan. */
static void test_plan_changes_nothing(void **state)
{
	const unsigned anew[] = {SLOT_ANEW, 0};
	struct slots slots;

	(void)state;
	assert_int_equal(slots_init(&slots, 1, 2), 0);
	for (int i = 0; i < 3; i++) {
		uint32_t *of = plan_test_slots(&slots, anew, 2);

		assert_int_equal(of[0], 1);
		assert_int_equal(of[1], 0);
		free(of);
	}
	assert_int_equal(slots.n, 1);
	assert_int_equal(slots.tenant[1], SLOT_FREE);
	slots_free(&slots);
}

#define CAPACITY 64

/* Names, by slot, as those see it who are at it. */
struct world {
	struct slots slots;
	struct prng prng;
	unsigned names[CAPACITY]; /* of each policy, by index */
	unsigned at[CAPACITY];    /* of the tenant, by slot; 0: none */
	unsigned n, next;
};

static void check_slots(const struct world *w)
{
	unsigned used = 0;

	for (uint32_t slot = 0; slot < CAPACITY; slot++) {
		uint32_t tenant = w->slots.tenant[slot];

		assert_true((tenant == SLOT_FREE) == (w->at[slot] == 0));
		if (tenant == SLOT_FREE || tenant == SLOT_LEFT)
			continue;
		used++;
		assert_int_equal(w->slots.of[tenant], slot);
		assert_int_equal(w->names[tenant], w->at[slot]);
	}
	assert_int_equal(used, w->slots.n);
}

static void release_some(struct world *w)
{
	for (uint32_t slot = 0; slot < CAPACITY; slot++)
		if (w->slots.tenant[slot] == SLOT_LEFT && prng_below(&w->prng, 2)) {
			slots_release(&w->slots, slot);
			w->at[slot] = 0;
		}
}

/* Some stay, some come, in any order. */
static unsigned choose_kept(struct world *w, unsigned *keeps)
{
	unsigned n = 0;

	for (unsigned i = 0; i < w->n; i++)
		if (prng_below(&w->prng, 4))
			keeps[n++] = i;
	for (unsigned come = prng_below(&w->prng, 8); come > 0 && n < CAPACITY; come--)
		keeps[n++] = SLOT_ANEW;
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

	if (slots_plan(&w->slots, keeps, n, of)) {
		assert_int_equal(w->slots.n, before);
		free(of);
		return;
	}
	for (unsigned i = 0; i < n; i++) {
		if (keeps[i] == SLOT_ANEW) {
			assert_int_equal(w->at[of[i]], 0); /* nobody is there */
			w->at[of[i]] = ++w->next;
		} else {
			assert_int_equal(w->at[of[i]], w->names[keeps[i]]);
		}
		names[i] = w->at[of[i]];
	}
	slots_commit(&w->slots, of, n);
	memcpy(w->names, names, sizeof(names[0]) * n);
	w->n = n;
}

static void test_many_reloads(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 20; seed++) {
		struct world w = {.n = 10, .next = 10};

		prng_seed(&w.prng, seed);
		assert_int_equal(slots_init(&w.slots, w.n, CAPACITY), 0);
		for (unsigned i = 0; i < w.n; i++)
			w.names[i] = w.at[i] = i + 1;
		for (unsigned i = 0; i < 500; i++) {
			reload_slots(&w);
			check_slots(&w);
			release_some(&w);
			check_slots(&w);
		}
		if (w.next < 500)
			fail_msg("seed %u: only %u policies ever", (unsigned)seed, w.next);
		slots_free(&w.slots);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_first),
		cmocka_unit_test(test_left),
		cmocka_unit_test(test_plan_changes_nothing),
		cmocka_unit_test(test_many_reloads),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
