/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "delays.h"

#include <errno.h>
#include <stdlib.h>

#include <rte_common.h>
#include <rte_memory.h>

#include "base/time.h"
#include "box.h"
#include "pages.h"
#include "policy/kind.h"

/*
 * Policies that are looked at in a tick, of 50 ms or so: 100,000 take 78 s, in which a bin gets no
 * more than 2^32 of the packets that a worker can do.
 */
#define LOOKS 64

/*
 * Those that have an objective are all looked at in so long, though only a glance each; and of
 * these, so many are marked in a tick, at some microseconds each.
 */
#define SWEEP_NS SECOND_NS
#define MARKS    1024

static struct slot_delays *of_slot(const struct box *box, uint32_t slot)
{
	return &box->delays->slots[slot];
}

static int delays_prepare(struct box *box, const struct policy *policy, uint32_t slot, uint64_t hz)
{
	struct slot_delays *delays = of_slot(box, slot);

	(void)hz;
	if (!policy_is_shaped(policy))
		return 0;
	delays->sums = calloc(box->config->n_workers, sizeof(*delays->sums));
	if (delays->sums && policy->slo_p99_ns)
		delays->lately = calloc(1, sizeof(*delays->lately));
	return delays->sums && (delays->lately || !policy->slo_p99_ns) ? 0 : -ENOMEM;
}

static int delays_prepare_move(struct box *box, uint32_t from, uint32_t to)
{
	const struct slot_delays *former = of_slot(box, from);
	struct slot_delays *delays = of_slot(box, to);

	if (!former->sums && !former->earlier)
		return 0;
	delays->earlier = calloc(1, sizeof(*delays->earlier));
	return delays->earlier ? 0 : -ENOMEM;
}

static void delays_remove(struct box *box, uint32_t slot)
{
	struct slot_delays *delays = of_slot(box, slot);

	free(delays->sums);
	free(delays->lately);
	free(delays->earlier);
	*delays = (struct slot_delays){0};
}

int delays_start(struct box *box)
{
	size_t slots = box->slots.capacity;
	struct delays *delays = calloc(1, sizeof(*delays));

	box->delays = delays;
	if (!delays)
		return -ENOMEM;
	delays->slots = pages_alloc(slots * sizeof(*delays->slots), 0, SOCKET_ID_ANY);
	delays->lateness = calloc(box->config->n_workers, sizeof(*delays->lateness));
	if (delays->slots && delays->lateness)
		return 0;
	delays_stop(box);
	return -ENOMEM;
}

void delays_stop(struct box *box)
{
	struct delays *delays = box->delays;

	for (uint32_t i = 0; delays->slots && i < box->slots.capacity; i++)
		delays_remove(box, i);
	pages_free(delays->slots, box->slots.capacity * sizeof(*delays->slots));
	free(delays->lateness);
	free(delays);
	box->delays = NULL;
}

static void fold_delays(struct box *box, uint32_t slot)
{
	struct delay_sum *sums = of_slot(box, slot)->sums;

	for (unsigned w = 0; sums && w < box->config->n_workers; w++)
		delay_fold(&sums[w], &worker_shape(&box->workers[w], slot)->delay);
}

static void add_worker(struct delays_totals *totals, const struct policy_shape *shape)
{
	totals->waited += counter_read(&shape->waited);
	totals->marked += counter_read(&shape->marked);
	for (unsigned i = 0; i < DROP_SHAPE_REASONS; i++)
		totals->dropped[i] += counter_read(&shape->dropped[i]);
}

/* What was counted in the slot itself; nothing where no packets wait. */
static void add_slot(struct box *box, uint32_t slot, struct delays_totals *totals)
{
	const struct delay_sum *sums = of_slot(box, slot)->sums;

	fold_delays(box, slot);
	for (unsigned w = 0; sums && w < box->config->n_workers; w++) {
		delay_merge(&totals->delay, &sums[w]);
		add_worker(totals, worker_shape(&box->workers[w], slot));
	}
}

void delays_totals(struct box *box, uint32_t slot, struct delays_totals *totals)
{
	const struct delays_totals *earlier = of_slot(box, slot)->earlier;
	uint32_t also = box->carried[slot].also;

	*totals = earlier ? *earlier : (struct delays_totals){0};
	add_slot(box, slot, totals);
	if (also != SLOT_NONE)
		add_slot(box, also, totals);
}

uint64_t delays_waited_before(const struct box *box, uint32_t slot)
{
	const struct delays_totals *earlier = of_slot(box, slot)->earlier;

	return earlier ? earlier->waited : 0;
}

const struct lately *delays_window(const struct box *box, uint32_t slot)
{
	return of_slot(box, slot)->lately;
}

/* One that has moved is still counted in its former slot, until delays_moved(). */
static void delays_move(struct box *box, uint32_t from, uint32_t to)
{
	if (of_slot(box, from)->earlier)
		*of_slot(box, to)->earlier = *of_slot(box, from)->earlier;
}

static void delays_moved(struct box *box, uint32_t from, uint32_t to)
{
	if (of_slot(box, to)->earlier)
		add_slot(box, from, of_slot(box, to)->earlier);
}

static void delays_begin(struct box *box, unsigned policy)
{
	uint32_t slot = box->slots.of[policy], also = box->carried[slot].also;
	struct lately *lately = of_slot(box, slot)->lately;
	struct delays_totals totals;

	if (!lately)
		return;
	if (also != SLOT_NONE && of_slot(box, also)->lately) { /* the totals go on, as they do */
		*lately = *of_slot(box, also)->lately;
		return;
	}
	delays_totals(box, slot, &totals);
	lately_init(lately, &totals.delay, control_now());
}

const struct policy_part delays_part = {
	.prepare = delays_prepare,
	.prepare_move = delays_prepare_move,
	.move = delays_move,
	.begin = delays_begin,
	.moved = delays_moved,
	.remove = delays_remove,
};

static uint32_t next_slot(const struct box *box, unsigned *at)
{
	if (*at >= box->n_policies)
		*at = 0;
	return box->slots.of[(*at)++];
}

/* False if there was nothing to do. */
static bool mark_delay_window(struct box *box, uint32_t slot, uint64_t now_ns)
{
	struct lately *lately = of_slot(box, slot)->lately;
	struct delays_totals totals;

	if (!lately || !lately_is_due(lately, now_ns))
		return false;
	delays_totals(box, slot, &totals);
	lately_mark(lately, &totals.delay, now_ns);
	return true;
}

static void mark_some(struct box *box, uint64_t now_ns)
{
	uint64_t elapsed = RTE_MIN(now_ns - box->delays->marked_ns, SWEEP_NS);
	uint64_t n = box->n_policies * elapsed / SWEEP_NS;

	if (n == 0)
		return;
	box->delays->marked_ns = now_ns;
	for (unsigned marks = 0; n > 0 && marks < MARKS; n--)
		marks += mark_delay_window(box, next_slot(box, &box->delays->next_mark), now_ns);
}

void delays_look(struct box *box, uint64_t now_ns)
{
	unsigned n = RTE_MIN(box->n_policies, (unsigned)LOOKS);

	for (unsigned i = 0; i < n; i++)
		fold_delays(box, next_slot(box, &box->delays->next_fold));
	mark_some(box, now_ns);
	for (unsigned w = 0; w < box->config->n_workers; w++)
		delays_lateness(box, w);
}

const struct delay_sum *delays_lateness(struct box *box, unsigned worker)
{
	delay_fold(&box->delays->lateness[worker],
		&shaper_counts(box->workers[worker].shaper)->lateness);
	return &box->delays->lateness[worker];
}
