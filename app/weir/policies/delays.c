/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "delays.h"

#include <errno.h>
#include <stdlib.h>

#include <rte_common.h>

#include "base/time.h"
#include "box.h"

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

int delays_start(struct box *box)
{
	box->lateness = calloc(box->config->n_workers, sizeof(*box->lateness));
	return box->lateness ? 0 : -ENOMEM;
}

void delays_stop(struct box *box)
{
	free(box->lateness);
	box->lateness = NULL;
}

int delays_prepare(struct box *box, const struct policy *policy, uint32_t slot)
{
	struct split *split = &box->splits[slot];

	if (!policy_is_shaped(policy))
		return 0;
	split->delays = calloc(box->config->n_workers, sizeof(*split->delays));
	if (split->delays && policy->slo_p99_ns)
		split->lately = calloc(1, sizeof(*split->lately));
	return split->delays && (split->lately || !policy->slo_p99_ns) ? 0 : -ENOMEM;
}

int delays_prepare_move(struct box *box, uint32_t from, uint32_t slot)
{
	const struct split *split = &box->splits[from];

	if (!split->delays && !split->earlier)
		return 0;
	box->splits[slot].earlier = calloc(1, sizeof(*split->earlier));
	return box->splits[slot].earlier ? 0 : -ENOMEM;
}

void delays_remove(struct box *box, uint32_t slot)
{
	struct split *split = &box->splits[slot];

	free(split->delays);
	free(split->lately);
	free(split->earlier);
	split->delays = NULL;
	split->lately = NULL;
	split->earlier = NULL;
}

static void fold(struct box *box, uint32_t slot)
{
	struct delay_sum *sums = box->splits[slot].delays;

	for (unsigned w = 0; sums && w < box->config->n_workers; w++)
		delay_fold(&sums[w], &box->workers[w].policies[slot].other->shape->delay);
}

static void add_worker(struct delays_totals *totals, const struct policy_shape *shape)
{
	totals->waited += counter_read(&shape->waited);
	totals->marked += counter_read(&shape->marked);
	for (unsigned i = 0; i < SHAPED_DROPS; i++)
		totals->dropped[i] += counter_read(&shape->dropped[i]);
}

/* What was counted in the slot itself; nothing where no packets wait. */
static void add_slot(struct box *box, uint32_t slot, struct delays_totals *totals)
{
	const struct delay_sum *sums = box->splits[slot].delays;

	fold(box, slot);
	for (unsigned w = 0; sums && w < box->config->n_workers; w++) {
		delay_merge(&totals->delay, &sums[w]);
		add_worker(totals, box->workers[w].policies[slot].other->shape);
	}
}

void delays_totals(struct box *box, uint32_t slot, struct delays_totals *totals)
{
	const struct delays_totals *earlier = box->splits[slot].earlier;
	uint32_t also = box->carried[slot].also;

	*totals = earlier ? *earlier : (struct delays_totals){0};
	add_slot(box, slot, totals);
	if (also != SLOT_NONE)
		add_slot(box, also, totals);
}

uint64_t delays_waited_before(const struct box *box, uint32_t slot)
{
	const struct delays_totals *earlier = box->splits[slot].earlier;

	return earlier ? earlier->waited : 0;
}

void delays_move(struct box *box, uint32_t from, uint32_t to)
{
	if (box->splits[from].earlier)
		*box->splits[to].earlier = *box->splits[from].earlier;
}

void delays_moved(struct box *box, uint32_t from, uint32_t to)
{
	if (box->splits[to].earlier)
		add_slot(box, from, box->splits[to].earlier);
}

void delays_begin(struct box *box, uint32_t slot, uint64_t now_ns)
{
	struct lately *lately = box->splits[slot].lately;
	uint32_t also = box->carried[slot].also;
	struct delays_totals totals;

	if (!lately)
		return;
	if (also != SLOT_NONE && box->splits[also].lately) { /* the totals go on, and so do they */
		*lately = *box->splits[also].lately;
		return;
	}
	delays_totals(box, slot, &totals);
	lately_init(lately, &totals.delay, now_ns);
}

static uint32_t next_slot(const struct box *box, unsigned *at)
{
	if (*at >= box->n_policies)
		*at = 0;
	return box->slots.of[(*at)++];
}

/* False if there was nothing to do. */
static bool mark(struct box *box, uint32_t slot, uint64_t now_ns)
{
	struct lately *lately = box->splits[slot].lately;
	struct delays_totals totals;

	if (!lately || !lately_is_due(lately, now_ns))
		return false;
	delays_totals(box, slot, &totals);
	lately_mark(lately, &totals.delay, now_ns);
	return true;
}

static void mark_some(struct box *box, uint64_t now_ns)
{
	uint64_t elapsed = RTE_MIN(now_ns - box->lately_ns, SWEEP_NS);
	uint64_t n = box->n_policies * elapsed / SWEEP_NS;

	if (n == 0)
		return;
	box->lately_ns = now_ns;
	for (unsigned marks = 0; n > 0 && marks < MARKS; n--)
		marks += mark(box, next_slot(box, &box->lately_at), now_ns);
}

void delays_look(struct box *box, uint64_t now_ns)
{
	unsigned n = RTE_MIN(box->n_policies, (unsigned)LOOKS);

	for (unsigned i = 0; i < n; i++)
		fold(box, next_slot(box, &box->delays_at));
	mark_some(box, now_ns);
	for (unsigned w = 0; w < box->config->n_workers; w++)
		delays_lateness(box, w);
}

const struct delay_sum *delays_lateness(struct box *box, unsigned worker)
{
	delay_fold(&box->lateness[worker], &shaper_counts(box->workers[worker].shaper)->lateness);
	return &box->lateness[worker];
}
