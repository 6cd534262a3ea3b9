/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Copies: limiters with a hard limit, a quota or both, and a second machine with the name of one.
 * The copy has the newest store, an earlier one, an empty one, or lost its store. Both start and
 * stop, messages to the name reach the one or the other, and messages are lost. At each tick:
 *
 *   - the local limits are together within the limit;
 *   - all units that were used in a period are within the total of the quota.
 *
 * In the end the copy is gone, the limit is in use again, and the last unit is spent.
 *
 * Cases without evidence are left out: a copy starts while all neighbours are up, and messages
 * reach it until its record is confirmed or denied. An older store can use units again that the
 * previous machine used just before it stopped, or after another machine had taken its place.
 * Neighbours have no report of them.
 */
#include <stdlib.h>
#include <string.h>

#include "base/math.h"
#include "base/prng.h"
#include "copies_world.h"
#include "torture_run.h"

#define HEAL    4 /* 1 / the last part of a run, without faults */
#define KEPT    64
#define MOST    5000 /* units of a limiter */
#define LIMIT   (COPIES_LIMIT / 8.0)
#define PASSES  90                  /* percent of the limit that the group uses in the end */
#define REST    (5 * COPIES_SECOND) /* the last ticks */
#define REPORTS (4 * COPIES_SECOND) /* the newest count of a spender is received within them */

struct copies_run {
	struct copies_world w;
	struct torture_result *result;
	unsigned tick, end, calm;         /* ticks */
	unsigned turn, event;             /* ticks of the next ones */
	unsigned greed;                   /* percent of ticks in which a limiter spends */
	unsigned period_ticks;            /* 0: one period */
	unsigned offset[COPIES_MOST + 1]; /* ticks by which a node begins a period late */
	struct copies_store past;         /* an earlier store of limiter 0 */
	unsigned rates, quota;            /* indices of the policies, or COPIES_KINDS */
	uint64_t total, used[KEPT], allowed[KEPT];
	uint64_t recent[REPORTS]; /* units that the name has used, by tick */
	uint64_t unknown[KEPT];   /* units that a machine had used just before it stopped */
	uint64_t ignored[KEPT];   /* units of the machine that neighbours ignore, by period */
	unsigned started;         /* machine of the name that started last */
	const struct copies_node *newest; /* machine of the name that ran last */
	double rest;                      /* largest sum of limits in the last ticks */
	bool away;                        /* a neighbour is down */
};

static bool is_up(const struct copies_run *r, unsigned i)
{
	return r->w.nodes[i].l;
}

static bool has_quota(const struct copies_run *r)
{
	return r->quota < COPIES_KINDS;
}

static struct quota_view view_of(const struct copies_run *r, unsigned i)
{
	const struct limiter *l = r->w.nodes[i].l;

	return budget_view(limiter_budget(l), limiter_budget_index(l, r->quota), r->w.now);
}

/* True if a machine is up and an account of it waits for neighbours to confirm its store. */
static bool node_waits(const struct copies_run *r, unsigned node)
{
	const struct limiter *l = r->w.nodes[node].l;
	bool waits = l && has_quota(r) && view_of(r, node).waits;

	if (l && r->rates < COPIES_KINDS)
		waits |= conserve_view(
			limiter_conserve(l), limiter_conserve_index(l, r->rates), r->w.now)
				 .waits;
	return waits;
}

/* True if a machine of the name waits for its neighbours to confirm its store. */
static bool name_waits(const struct copies_run *r)
{
	return node_waits(r, 0) || node_waits(r, r->w.copy);
}

static unsigned period_of(const struct copies_run *r, unsigned i)
{
	return r->period_ticks == 0     ? 1
	       : r->tick < r->offset[i] ? 1
					: 1 + (r->tick - r->offset[i]) / r->period_ticks;
}

static void stop_name(struct copies_run *r, unsigned i)
{
	for (unsigned t = 0; i == r->started && t < REPORTS; t++) {
		r->unknown[period_of(r, i)] += r->recent[t];
		r->recent[t] = 0;
	}
	copies_stop(&r->w, i);
}

/* Another store of the name can lack units of which neighbours have received no report. */
static void allow_again(struct copies_run *r)
{
	unsigned period = period_of(r, 0);

	for (unsigned t = 0; t < REPORTS; t++)
		r->unknown[period] += r->recent[t];
	memset(r->recent, 0, sizeof(r->recent));
	for (unsigned p = 0; p < KEPT; p++)
		r->allowed[p] += r->unknown[p];
	memset(r->unknown, 0, sizeof(r->unknown));
}

static void start(struct copies_run *r, unsigned i)
{
	struct copies_world *w = &r->w;

	if (has_quota(r))
		w->policies[r->quota].period = period_of(r, i);
	if (i == 0 || i == w->copy) {
		if (r->newest != &w->nodes[i] || r->started != i)
			allow_again(r);
		r->recent[r->tick % REPORTS] +=
			r->unknown[period_of(r, i)]; /* its record has them */
		memset(r->unknown, 0, sizeof(r->unknown));
		r->started = i;
	}
	copies_start(w, i);
	w->to_copy = i == w->copy || (w->to_copy && i != 0);
	r->result->restarts++;
	r->result->memory_losses += w->nodes[i].store.lost;
}

static void start_copy(struct copies_run *r)
{
	struct copies_store *store = &r->w.nodes[r->w.copy].store;

	const struct copies_node *newest = r->newest;

	r->newest = NULL; /* another store is another machine */
	switch (prng_below(&r->w.prng, 6)) {
	case 0:
		memset(store, 0, sizeof(*store));
		break;
	case 1:
		*store = (struct copies_store){.lost = true};
		break;
	case 2:
		*store = r->past;
		r->result->old_stores++;
		break;
	case 3:
		r->newest = newest; /* its own store */
		break;
	default:
		*store = r->w.nodes[0].store;
	}
	start(r, r->w.copy);
	r->result->copies++;
}

/* Stops or starts another limiter, while one machine of the name runs and has its record. */
static void restart_neighbour(struct copies_run *r)
{
	unsigned i = 1 + prng_below(&r->w.prng, r->w.n - 1);

	if (is_up(r, r->w.copy) || !is_up(r, 0) || name_waits(r))
		return;
	if (is_up(r, i) && !r->away)
		copies_stop(&r->w, i);
	else if (!is_up(r, i))
		start(r, i);
	else
		return;
	r->away = !is_up(r, i);
}

static void cause_trouble(struct copies_run *r)
{
	struct copies_world *w = &r->w;
	bool copy = is_up(r, w->copy);

	switch (prng_below(&w->prng, 6)) {
	case 0:
	case 1:
		if (!copy && !r->away && !name_waits(r))
			start_copy(r);
		break;
	case 2:
		if (copy) {
			stop_name(r, w->copy);
			w->to_copy = false;
		}
		break;
	case 3:
		if (!is_up(r, 0) && !r->away && !name_waits(r)) {
			start(r, 0);
		} else if (is_up(r, 0) && !r->away && (!copy || copies_closed(w, w->copy))) {
			stop_name(r, 0);
			w->to_copy = copy;
		}
		break;
	case 4:
		restart_neighbour(r);
		break;
	default:
		w->loaded = prng_below(&w->prng, w->n + 1);
	}
	if (prng_percent(&w->prng, 30))
		r->past = w->nodes[0].store;
}

/* The copy is gone, and its original restarts: neighbours accept no previous start again. */
static void end_trouble(struct copies_run *r)
{
	struct copies_world *w = &r->w;

	w->loss = 0;
	if (is_up(r, w->copy))
		stop_name(r, w->copy);
	if (is_up(r, 0))
		stop_name(r, 0);
	w->to_copy = false;
	w->loaded = 0;
	for (unsigned i = 0; i < w->n; i++)
		if (!is_up(r, i))
			start(r, i);
}

/* A machine whose store was confirmed lacks the units of the one that neighbours ignore. */
static void allow_ignored(struct copies_run *r)
{
	const struct limiter *l = r->w.nodes[r->started].l;
	bool opens = l && !node_waits(r, r->started) && !limiter_closure(l, r->w.now).closed;

	for (unsigned p = 0; opens && p < KEPT; p++) {
		r->allowed[p] += r->ignored[p];
		r->ignored[p] = 0;
	}
}

static void turn_messages(struct copies_run *r)
{
	struct copies_world *w = &r->w;

	if (r->tick < r->turn || !is_up(r, w->copy) || !is_up(r, 0) || name_waits(r))
		return;
	w->to_copy = !w->to_copy;
	r->turn = r->tick + 1 + prng_below(&w->prng, 3 * COPIES_SECOND);
}

static void note_used(struct copies_run *r, unsigned i, uint64_t period, uint64_t units)
{
	if (i == 0 || i == r->w.copy)
		*(i == r->started ? &r->recent[r->tick % REPORTS] : &r->ignored[period]) += units;
	r->used[period] += units;
	if (r->used[period] > r->total + r->allowed[period])
		torture_complain(r->result, "period %llu: used %llu of %llu",
			(unsigned long long)period, (unsigned long long)r->used[period],
			(unsigned long long)r->total);
}

static void spend(struct copies_run *r, unsigned i)
{
	struct copies_world *w = &r->w;
	struct limiter *l = w->nodes[i].l;
	bool thirsty = r->tick > r->end - (r->end - r->calm) / 2;
	uint64_t units = 1 + prng_below(&w->prng, prng_percent(&w->prng, 90) ? 40 : 1000), period;
	struct quota_view view;

	period = period_of(r, i);
	if (period > view_of(r, i).period)
		(void)limiter_period(l, r->quota, period, w->now);
	view = view_of(r, i);
	if (thirsty)
		units = max_u64(view.prepaid + (uint64_t)(view.balance > 0 ? view.balance : 0), 1);
	else if (r->tick > r->calm || !prng_percent(&w->prng, r->greed))
		return;
	if (limiter_spend(l, r->quota, units, w->now) == 0)
		note_used(r, i, view.period, units);
}

static void check_limits(struct copies_run *r)
{
	double sum = copies_sum(&r->w);

	r->result->checks++;
	if (r->tick + REST > r->end && sum > r->rest)
		r->rest = sum;
	if (sum > LIMIT)
		torture_complain(r->result, "tick %u: %.0f of %.0f B/s", r->tick, sum, LIMIT);
}

static void step(struct copies_run *r)
{
	struct copies_world *w = &r->w;

	r->recent[r->tick % REPORTS] = 0;
	if (r->tick == r->calm)
		end_trouble(r);
	if (r->tick < r->calm && r->tick >= r->event) {
		cause_trouble(r);
		r->event = r->tick + 1 + prng_below(&w->prng, 8 * COPIES_SECOND);
	}
	turn_messages(r);
	allow_ignored(r);
	for (unsigned i = 0; has_quota(r) && i <= w->n; i++)
		if (is_up(r, i))
			spend(r, i);
	copies_step(w);
	if (is_up(r, 0) != is_up(r, w->copy))
		r->newest = &w->nodes[is_up(r, 0) ? 0 : w->copy];
	if (r->rates < COPIES_KINDS)
		check_limits(r);
}

static void check_end(struct copies_run *r)
{
	int64_t left = 0;

	if (r->rates < COPIES_KINDS && r->rest * 100 < LIMIT * PASSES)
		torture_complain(r->result, "%.0f of %.0f B/s in the end", r->rest, LIMIT);
	for (unsigned i = 0; has_quota(r) && i < r->w.n; i++) {
		struct quota_view view = view_of(r, i);

		left += view.balance + (int64_t)view.prepaid;
	}
	if (left <= 0)
		return;
	r->result->lost = (uint64_t)left;
	torture_complain(r->result, "%lld units that nobody got", (long long)left);
}

static void begin(struct copies_run *r, const struct torture_case *c)
{
	struct limiter_policy policies[COPIES_KINDS];
	unsigned n, n_policies = 0, kinds;
	struct prng prng;

	prng_seed(&prng, c->seed ^ 0xc0b1e5);
	n = 3 + prng_below(&prng, COPIES_MOST - 2);
	kinds = prng_below(&prng, 3);
	r->end = c->minutes * 60 * COPIES_SECOND;
	r->calm = r->end - r->end / HEAL;
	r->rates = r->quota = COPIES_KINDS;
	r->greed = prng_percent(&prng, 50) ? 5 : 60;
	r->total = n * (1 + prng_below(&prng, MOST));
	r->period_ticks = prng_percent(&prng, 50) ? (20 + prng_below(&prng, 60)) * COPIES_SECOND
						  : 0;
	if (kinds != 1) {
		policies[r->rates = n_policies++] = copies_rates();
	}
	if (kinds != 0) {
		policies[r->quota = n_policies++] = (struct limiter_policy){.id = 2,
			.allocator = allocator_find("quota"),
			.limit_bps = 0,
			.burst_bytes = 100000,
			.interval_ns = COPIES_TICK,
			.keep_per_second = 0.1,
			.total = r->total,
			.period = 1,
			.chunk = 64};
	}
	for (unsigned i = 0; i <= n; i++)
		r->offset[i] = prng_below(&prng, COPIES_SECOND);
	copies_begin(&r->w, c->seed, n, policies, n_policies);
	r->w.loss = prng_percent(&prng, 60) ? prng_below(&prng, 20) : 0;
	r->past = r->w.nodes[0].store;
	r->event = 6 * COPIES_SECOND;
	r->newest = &r->w.nodes[0];
}

void torture_copies(const struct torture_case *c, struct torture_result *result)
{
	struct copies_run *r = calloc(1, sizeof(*r));

	*result = (struct torture_result){.error = !r};
	if (!r)
		return;
	r->result = result;
	begin(r, c);
	for (; r->tick < r->end && !result->violated; r->tick++)
		step(r);
	if (!result->violated)
		check_end(r);
	copies_end(&r->w);
	free(r);
}
