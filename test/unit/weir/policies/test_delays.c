/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Delays of packets by policy: counted beyond the 32 bits of the workers, over all slots that a
 * policy has had, and compared with its objective once a second.
 */
#include "instance_world.h"
#include "scope.h"

#include "base/time.h"
#include "clock.h"
#include "delays.h"
#include "policy_txn.h"
#include "worker_data.h"

#define N 10
#define WAITS_IN(name, vlan, more)                                               \
	"{'name': '" name "', 'match': {'vlan': " vlan "}, 'limit': '8Mbit/s', " \
	"'action': 'shape'" more "}"
#define WAITS(name, more) WAITS_IN(name, "7", more)
#define OBJECTIVE         ", 'slo': {'p99': '5ms'}"
#define DROPS             "{'name': 'drops', 'match': {'vlan': 8}, 'limit': '8Mbit/s'}"

/* n shaped policies, each with its own VLAN. */
static void open_many(struct instance_world *w, unsigned n, const char *more)
{
	ENDED_BY(free_at) char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	assert_non_null(out);
	for (unsigned i = 1; i <= n; i++)
		fprintf(out, "%s" WAITS_IN("w%u", "%u", "%s"), i > 1 ? ", " : "", i, i, more);
	fclose(out);
	instance_world_open(w, text);
}

static uint32_t slot_of(const struct instance_world *w, unsigned policy)
{
	return w->inst.slots.of[policy];
}

static struct policy_shape *shape_of(struct instance_world *w, unsigned worker, unsigned policy)
{
	return worker_shape(&w->inst.workers[worker], slot_of(w, policy));
}

static struct delays_totals totals_of(struct instance_world *w, unsigned policy)
{
	struct delays_totals totals;

	delays_totals(&w->inst, slot_of(w, policy), &totals);
	return totals;
}

/* Counters of workers are added. A 32-bit bin that wraps continues in the total. */
TEST(test_totals)
{
	struct delays_totals totals;
	WORLD(w, WAITS("waits", "") ", " DROPS);

	for (unsigned i = 0; i < INSTANCE_WORKERS; i++) {
		struct policy_shape *shape = shape_of(w, i, 0);

		shape->waited = 10 + i;
		shape->marked = 20 + i;
		for (unsigned r = 0; r < DROP_SHAPE_REASONS; r++)
			shape->dropped[r] = 100 * r + i;
		shape->delay.bins[3 + i] = UINT32_MAX;
	}
	delays_look(&w->inst, control_now());
	shape_of(w, 0, 0)->delay.bins[3] += 6; /* beyond 2^32 */
	totals = totals_of(w, 0);
	assert_int_equal(totals.waited, 21);
	assert_int_equal(totals.marked, 41);
	for (unsigned r = 0; r < DROP_SHAPE_REASONS; r++)
		assert_int_equal(totals.dropped[r], 200 * r + 1);
	assert_int_equal(totals.delay.bins[3], UINT32_MAX + UINT64_C(6));
	assert_int_equal(totals.delay.bins[4], UINT32_MAX);
	assert_int_equal(delay_count(&totals.delay), 2 * (uint64_t)UINT32_MAX + 6);
	totals = totals_of(w, 1); /* policy without a queue */
	assert_int_equal(totals.waited, 0);
	assert_int_equal(delay_count(&totals.delay), 0);
	assert_null(delays_window(&w->inst, slot_of(w, 0)));
}

/* A tick checks some policies in turn, and so reaches all of them after some ticks. */
TEST(test_looked_at)
{
	enum { MANY = 150, LOOKS = 64 };
	ENDED_BY(instance_world_close) struct instance_world w;

	open_many(&w, MANY, "");
	for (unsigned i = 0; i < MANY; i++)
		shape_of(&w, 0, i)->delay.bins[0] = 1;
	for (unsigned tick = 1; tick <= 3; tick++) {
		unsigned folded = 0;

		delays_look(&w.inst, control_now());
		for (unsigned i = 0; i < MANY; i++)
			folded += w.inst.delays->slots[slot_of(&w, i)].sums[0].bins[0] == 1;
		assert_int_equal(folded, tick * LOOKS < MANY ? tick * LOOKS : MANY);
	}
}

/* Returns the number of policies whose windows of 10 s have this many marks. */
static unsigned marked(const struct instance_world *w, unsigned times)
{
	unsigned n = 0;

	for (unsigned i = 0; i < N; i++) {
		const struct delay_window *window = delays_window(&w->inst, slot_of(w, i));

		n += window->windows[DELAY_WINDOW_10S].newest == times % DELAY_WINDOW_MARKS;
	}
	return n;
}

/*
 * Each policy with an objective is checked once a second. A call checks those that have become due.
 */
TEST(test_marked)
{
	static const struct {
		uint64_t after_ns; /* since the last check */
		unsigned marked;   /* policies with a first mark by then */
	} rows[] = {
		{SECOND_NS / 10 - 1, 0},
		{1, 1}, /* earlier remainders add up */
		{SECOND_NS / 5, 3},
		{SECOND_NS / 10 * 6, 9},
		{SECOND_NS / 10, 10},
	};
	struct instance_world w;
	uint64_t now;

	open_many(&w, N, OBJECTIVE);
	now = delays_window(&w.inst, slot_of(&w, N - 1))->windows[DELAY_WINDOW_10S].ns[0];
	delays_look(&w.inst, now); /* too early for all: a mark is due in 5 s */
	assert_int_equal(marked(&w, 0), N);
	now += 6 * SECOND_NS;
	w.inst.delays->marked_ns = now;
	for (size_t i = 0; i < COUNT(rows); i++) {
		now += rows[i].after_ns;
		delays_look(&w.inst, now);
		assert_int_equal(marked(&w, 1), rows[i].marked);
	}
	delays_look(&w.inst, now + 100 * SECOND_NS); /* all of them, and none twice */
	assert_int_equal(marked(&w, 2), N);
	instance_world_close(&w);
}

/* A policy that moves to another slot keeps its counts. */
TEST(test_moved)
{
	struct delays_totals totals;
	struct policy_txn *x;
	uint32_t previous;
	WORLD(w, WAITS("waits", OBJECTIVE));

	previous = slot_of(w, 0);
	shape_of(w, 1, 0)->waited = 7;
	shape_of(w, 1, 0)->delay.bins[5] = 3;
	assert_int_equal(delays_waited_before(&w->inst, previous), 0);
	for (unsigned times = 1; times <= 2; times++) { /* the second move carries earlier counts */
		x = instance_world_commit(
			w, times == 1 ? WAITS("waits", OBJECTIVE ", 'accounting': 'wire'")
				      : WAITS("waits", OBJECTIVE));
		assert_int_not_equal(slot_of(w, 0), previous);
		assert_int_equal(totals_of(w, 0).waited, 7 * times); /* workers use both */
		assert_memory_equal(delays_window(&w->inst, slot_of(w, 0)),
			delays_window(&w->inst, previous), sizeof(struct delay_window));
		instance_world_finish(w, x);
		previous = slot_of(w, 0);
		assert_int_equal(delays_waited_before(&w->inst, previous), 7 * times);
		shape_of(w, 1, 0)->waited = 7;
		shape_of(w, 1, 0)->delay.bins[5] = 3;
		totals = totals_of(w, 0);
		assert_int_equal(totals.waited, 7 * (times + 1));
		assert_int_equal(totals.delay.bins[5], 3 * (times + 1));
		assert_non_null(delays_window(&w->inst, previous));
	}
	instance_world_reload(w, DROPS);
	instance_world_reload(w, DROPS ", " WAITS("waits", "")); /* a new policy of the same name */
	assert_int_equal(totals_of(w, 1).waited, 0);
	assert_int_equal(delays_waited_before(&w->inst, slot_of(w, 1)), 0);
}

/* Delays from before the objective existed do not count against it. */
TEST(test_new_objective)
{
	const struct delay_window *window;
	WORLD(w, WAITS("waits", ""));

	assert_null(delays_window(&w->inst, slot_of(w, 0)));
	shape_of(w, 0, 0)->delay.bins[5] = 2;
	shape_of(w, 1, 0)->delay.bins[5] = 1;
	instance_world_reload(w, WAITS("waits", OBJECTIVE));
	window = delays_window(&w->inst, slot_of(w, 0));
	assert_non_null(window);
	for (unsigned i = 0; i < DELAY_WINDOW_WINDOWS; i++) {
		const struct delay_window_marks *marks = &window->windows[i];

		for (unsigned b = 0; b < DELAY_BINS; b++)
			assert_int_equal(marks->bins[marks->newest][b], b == 5 ? 3 : 0);
	}
}

TEST_GROUP(instance_world_start, instance_world_stop)
