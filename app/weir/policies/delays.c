/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Outcomes and delays of shaped packets of each policy since it began.
 */
#include "delays.h"

#include <errno.h>
#include <stdlib.h>

#include <rte_common.h>
#include <rte_memory.h>

#include "base/time.h"
#include "instance.h"
#include "pages.h"
#include "policy/kind.h"

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

uint64_t delay_window_sum(const struct delay_window *delay_window, enum delay_window_window window,
	const struct delay_sum *total, uint64_t now_ns, struct delay_sum *sum)
{
	const struct delay_window_marks *marks = &delay_window->windows[window];
	unsigned from = marks->newest;

	/* From the newest mark that is old enough, otherwise from the oldest. */
	for (unsigned n = 1; n < DELAY_WINDOW_MARKS && now_ns - marks->ns[from] < lengths[window];
		n++)
		from = (from + DELAY_WINDOW_MARKS - 1) % DELAY_WINDOW_MARKS;
	/* 32 bits are enough for counts below 2^32. */
	for (unsigned b = 0; b < DELAY_BINS; b++)
		sum->bins[b] = (uint32_t)((uint32_t)total->bins[b] - marks->bins[from][b]);
	return now_ns - marks->ns[from];
}

/*
 * Policies that are read in a tick of about 50 ms: 100,000 take 78 s. In that time a worker cannot
 * count more than 2^32 packets in a bin.
 */
#define LOOKS 64

/*
 * Time in which all policies with an objective are checked, and the largest number that is marked
 * in a tick. A check is quick; a mark takes some microseconds.
 */
#define SWEEP_NS SECOND_NS
#define MARKS    1024

static struct slot_delays *of_slot(const struct instance *inst, uint32_t slot)
{
	return &inst->delays->slots[slot];
}

static int delays_prepare(
	struct instance *inst, const struct policy *policy, uint32_t slot, uint64_t hz)
{
	struct slot_delays *delays = of_slot(inst, slot);

	(void)hz;
	if (!policy_is_shaped(policy))
		return 0;
	delays->sums = calloc(inst->config->n_workers, sizeof(*delays->sums));
	if (delays->sums && policy->slo_p99_ns)
		delays->delay_window = calloc(1, sizeof(*delays->delay_window));
	return delays->sums && (delays->delay_window || !policy->slo_p99_ns) ? 0 : -ENOMEM;
}

static int delays_prepare_move(struct instance *inst, uint32_t from, uint32_t to)
{
	const struct slot_delays *previous = of_slot(inst, from);
	struct slot_delays *delays = of_slot(inst, to);

	if (!previous->sums && !previous->earlier)
		return 0;
	delays->earlier = calloc(1, sizeof(*delays->earlier));
	return delays->earlier ? 0 : -ENOMEM;
}

static void delays_remove(struct instance *inst, uint32_t slot)
{
	struct slot_delays *delays = of_slot(inst, slot);

	free(delays->sums);
	free(delays->delay_window);
	free(delays->earlier);
	*delays = (struct slot_delays){0};
}

int delays_start(struct instance *inst)
{
	size_t slots = inst->slots.capacity;
	struct delays *delays = calloc(1, sizeof(*delays));

	inst->delays = delays;
	if (!delays)
		return -ENOMEM;
	delays->slots = pages_alloc(slots * sizeof(*delays->slots), 0, SOCKET_ID_ANY);
	delays->lateness = calloc(inst->config->n_workers, sizeof(*delays->lateness));
	if (delays->slots && delays->lateness)
		return 0;
	delays_stop(inst);
	return -ENOMEM;
}

void delays_stop(struct instance *inst)
{
	struct delays *delays = inst->delays;

	for (uint32_t i = 0; delays->slots && i < inst->slots.capacity; i++)
		delays_remove(inst, i);
	pages_free(delays->slots, inst->slots.capacity * sizeof(*delays->slots));
	free(delays->lateness);
	free(delays);
	inst->delays = NULL;
}

static void fold_delays(struct instance *inst, uint32_t slot)
{
	struct delay_sum *sums = of_slot(inst, slot)->sums;

	for (unsigned w = 0; sums && w < inst->config->n_workers; w++)
		delay_fold(&sums[w], &worker_shape(&inst->workers[w], slot)->delay);
}

/* Adds the counts of the slot itself; nothing if no packets wait there. */
static void add_slot(struct instance *inst, uint32_t slot, struct delays_totals *totals)
{
	const struct delay_sum *sums = of_slot(inst, slot)->sums;

	fold_delays(inst, slot);
	for (unsigned w = 0; sums && w < inst->config->n_workers; w++) {
		const struct policy_shape *shape = worker_shape(&inst->workers[w], slot);

		delay_merge(&totals->delay, &sums[w]);
		totals->waited += counter_read(&shape->waited);
		totals->marked += counter_read(&shape->marked);
		for (unsigned i = 0; i < DROP_SHAPE_REASONS; i++)
			totals->dropped[i] += counter_read(&shape->dropped[i]);
	}
}

void delays_totals(struct instance *inst, uint32_t slot, struct delays_totals *totals)
{
	const struct delays_totals *earlier = of_slot(inst, slot)->earlier;
	uint32_t also = inst->carried_over[slot].also;

	*totals = earlier ? *earlier : (struct delays_totals){0};
	add_slot(inst, slot, totals);
	if (also != SLOT_NONE)
		add_slot(inst, also, totals);
}

uint64_t delays_waited_before(const struct instance *inst, uint32_t slot)
{
	const struct delays_totals *earlier = of_slot(inst, slot)->earlier;

	return earlier ? earlier->waited : 0;
}

const struct delay_window *delays_window(const struct instance *inst, uint32_t slot)
{
	return of_slot(inst, slot)->delay_window;
}

/* Packets of a moved policy also count in its previous slot until delays_moved(). */
static void delays_move(struct instance *inst, uint32_t from, uint32_t to)
{
	if (of_slot(inst, from)->earlier)
		*of_slot(inst, to)->earlier = *of_slot(inst, from)->earlier;
}

static void delays_moved(struct instance *inst, uint32_t from, uint32_t to)
{
	if (of_slot(inst, to)->earlier)
		add_slot(inst, from, of_slot(inst, to)->earlier);
}

static void delays_begin(struct instance *inst, unsigned policy)
{
	uint32_t slot = inst->slots.of[policy], also = inst->carried_over[slot].also;
	struct delay_window *delay_window = of_slot(inst, slot)->delay_window;
	struct delays_totals totals;

	if (!delay_window)
		return;
	if (also != SLOT_NONE && of_slot(inst, also)->delay_window) { /* the totals continue, too */
		*delay_window = *of_slot(inst, also)->delay_window;
		return;
	}
	delays_totals(inst, slot, &totals);
	delay_window_init(delay_window, &totals.delay, control_now());
}

const struct policy_part delays_part = {
	.prepare = delays_prepare,
	.prepare_move = delays_prepare_move,
	.move = delays_move,
	.begin = delays_begin,
	.moved = delays_moved,
	.remove = delays_remove,
};

static uint32_t next_slot(const struct instance *inst, unsigned *at)
{
	if (*at >= inst->n_policies)
		*at = 0;
	return inst->slots.of[(*at)++];
}

/* Returns false if no mark was due. */
static bool mark_delay_window(struct instance *inst, uint32_t slot, uint64_t now_ns)
{
	struct delay_window *delay_window = of_slot(inst, slot)->delay_window;
	struct delays_totals totals;

	if (!delay_window || !delay_window_is_due(delay_window, now_ns))
		return false;
	delays_totals(inst, slot, &totals);
	delay_window_mark(delay_window, &totals.delay, now_ns);
	return true;
}

static void mark_some(struct instance *inst, uint64_t now_ns)
{
	uint64_t elapsed = RTE_MIN(now_ns - inst->delays->marked_ns, SWEEP_NS);
	uint64_t n = inst->n_policies * elapsed / SWEEP_NS;

	if (n == 0)
		return;
	inst->delays->marked_ns = now_ns;
	for (unsigned marks = 0; n > 0 && marks < MARKS; n--)
		marks += mark_delay_window(inst, next_slot(inst, &inst->delays->next_mark), now_ns);
}

void delays_look(struct instance *inst, uint64_t now_ns)
{
	unsigned n = RTE_MIN(inst->n_policies, (unsigned)LOOKS);

	for (unsigned i = 0; i < n; i++)
		fold_delays(inst, next_slot(inst, &inst->delays->next_fold));
	mark_some(inst, now_ns);
	for (unsigned w = 0; w < inst->config->n_workers; w++)
		delays_lateness(inst, w);
}

const struct delay_sum *delays_lateness(struct instance *inst, unsigned worker)
{
	delay_fold(&inst->delays->lateness[worker],
		&shaper_counts(inst->workers[worker].shaper)->lateness);
	return &inst->delays->lateness[worker];
}
