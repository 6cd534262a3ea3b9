/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The held and prefetched units of a limiter, for the other files of this folder.
 */
#include <math.h>

#include "quota/quota_private.h"
#include "quota/quota.h"

/* The part of the largest at a time that is forgotten with each that is smaller. */
#define TYPICAL_FALL (1.0 / 16)

#define PER_SECOND_MILLI 1e12 /* nanoseconds, and thousandths */

static double age_of(uint64_t from_ns, uint64_t now_ns, uint64_t half_life_ns)
{
	int64_t age = (int64_t)(now_ns - from_ns);

	return age > 0 ? (double)age / (double)half_life_ns : 0;
}

void pace_spend(struct pace *pace, uint64_t units, uint64_t now_ns, uint64_t half_life_ns)
{
	pace->units = pace->units * exp2(-age_of(pace->last_ns, now_ns, half_life_ns)) +
		      (double)units;
	if ((int64_t)(now_ns - pace->last_ns) > 0)
		pace->last_ns = now_ns;
}

void pace_typical(struct pace *pace, uint64_t units)
{
	double fall = ((double)units - pace->typical) * TYPICAL_FALL;

	pace->typical = fall > 0 ? (double)units : pace->typical + fall;
}

uint64_t pace_rate(const struct pace *pace, uint64_t now_ns, uint64_t half_life_ns)
{
	double units = pace->units * exp2(-age_of(pace->last_ns, now_ns, half_life_ns));
	/* The observed part of all time, with the same weights: little of it in the beginning. */
	double seen = 1 - exp2(-age_of(pace->start_ns, now_ns, half_life_ns));
	double span_ns = (double)half_life_ns / M_LN2 * fmax(seen, 1.0 / 64);

	return (uint64_t)fmin(units / span_ns * PER_SECOND_MILLI, 0x1p62);
}

/* The part of the free units that is saved as spent at a time: little is lost with little left. */
#define DRAW_PART 8

uint64_t quota_stock(const struct quota_node *q)
{
	return ledger_free(q->ledger) + q->prepaid + q->drawn + q->committing;
}

uint64_t quota_missing(const struct quota_node *q)
{
	int64_t balance = ledger_balance(q->ledger);
	uint64_t stock = quota_stock(q), debt = balance < 0 ? (uint64_t)-balance : 0;

	return debt + (q->waiting > stock ? q->waiting - stock : 0);
}

void quota_commit_now(struct quota_node *q)
{
	if (q->params.durable || !ledger_uncommitted(q->ledger))
		return;
	if (ledger_save(q->ledger, NULL, NULL) == 0)
		ledger_committed(q->ledger);
}

void quota_forfeit(struct quota_node *q)
{
	if (!q->params.recovering || ledger_recovering(q->ledger))
		return;
	q->params.recovering = q->lost = false;
	ledger_spend(q->ledger, ledger_free(q->ledger));
}

/* Spends of the balance ahead of traffic, so that it can be saved first. */
static void balance_prepay(struct quota_node *q, uint64_t needed)
{
	uint64_t have = q->prepaid + q->drawn + q->committing, free = ledger_free(q->ledger);
	uint64_t ahead = free / DRAW_PART < q->params.chunk ? free / DRAW_PART : q->params.chunk;
	uint64_t want = have < needed ? needed - have : 0;

	if (have < ahead / 2 && want < ahead)
		want = ahead;
	if (want && ledger_spend(q->ledger, want) == 0)
		q->drawn += want;
}

bool quota_use(struct quota_node *q, uint64_t units)
{
	if (!q->params.durable)
		return ledger_spend(q->ledger, units) == 0;
	if (q->prepaid < units) {
		balance_prepay(q, units);
		return false;
	}
	q->prepaid -= units;
	balance_prepay(q, 0);
	return true;
}

bool quota_waits(struct quota_node *q, uint64_t now_ns)
{
	uint64_t patience_ns = SILENT_REPEATS * q->params.repeat_ns;
	bool all = true, speaks = false;

	/* Neighbours that do not answer a recovering start can be the reason to wait. */
	if (ledger_recovering(q->ledger))
		return q->waits;
	for (uint32_t i = 0; q->waits && i < q->params.n_edges; i++) {
		struct ledger_view view = ledger_view(q->ledger, i);
		uint64_t other_ns = q->edges[i].other_ns;

		all &= view.confirmed;
		speaks |= view.denies || (view.known && !view.confirmed &&
						 now_ns - view.received_ns < patience_ns);
		/* A neighbour in another period cannot confirm or deny our record yet. */
		speaks |= other_ns > 0 && now_ns - other_ns < patience_ns;
	}
	if (all || (now_ns >= q->params.proof_until_ns && !speaks))
		q->waits = false;
	return q->waits;
}

void quota_forgo(struct quota_node *q)
{
	q->waiting = 0;
	q->refused = false;
}
