/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * A round: units are needed, here or by a neighbour that requests them. It ends when there are
 * enough, or when all that might have any have answered or are given up; then the available units
 * are divided. ("A tree-based protocol for enforcing quotas in clouds", section IV: aggregation and
 * distribution.)
 *
 * In a tree no limiter waits for one that waits for it, except two neighbours whose requests cross.
 * One of them takes the other's for the answer that there is nothing (see round_claim()).
 * So all rounds end. Timeouts are for limiters that are dead, and for trees that are none for a
 * while.
 */
#include <errno.h>

#include "base/math.h"
#include "quota/quota.h"
#include "quota/quota_private.h"

/*
 * Units divided by weight, exactly: equations 5 and 6 of "A tree-based protocol for enforcing
 * quotas in clouds" in whole numbers.
 */

static uint64_t weight_of(uint64_t weight)
{
	return weight < QUOTA_WEIGHT_MOST ? weight : QUOTA_WEIGHT_MOST;
}

void quota_divide(uint64_t pool, const uint64_t *weights, unsigned n, uint64_t *parts)
{
	uint64_t sum = 0, before = 0, given = 0;

	for (unsigned i = 0; i < n; i++)
		sum += weight_of(weights[i]);
	for (unsigned i = 0; i < n; i++) {
		uint64_t upto;

		/* Each ends where the exact ones would end together: nothing is left over. */
		before += weight_of(weights[i]);
		upto = sum ? (uint64_t)((unsigned __int128)pool * before / sum) : 0;
		if (i + 1 == n)
			upto = pool;
		parts[i] = upto - given;
		given = upto;
	}
}

/* Thetas until a request is repeated, and until an answer is not waited for any more. */
#define THETAS_REPEAT  2
#define THETAS_GIVE_UP 6

/*
 * The wait for a neighbour that only sends that it is alive is renewed so often, twice as long each
 * time. In a tree it answers some time; in a loop, which a tree that changes can be for a while, it
 * waits for us.
 */
#define PATIENCE 10

/*
 * Most doublings of the time between requests without success. The longest wait of a slow group for
 * a neighbour that is back is BACKOFF_MOST_NS, or the time of an answer.
 */
#define BACKOFF_MOST    6
#define BACKOFF_MOST_NS UINT64_C(2000000000)

/* Rounds without success after which missing reports do not matter. */
#define REFUSALS 8

/* Thetas to wait for traffic that does not come again: longer than any backoff. */
#define THETAS_WAITING 128

/* Thresholds at which the total no longer counts as low. */
#define LOW_END 4

/* Rounds of one's own that follow within so many thetas fetch too little: twice as much then. */
#define THETAS_SOON 16
#define REACH_LEAST 2
#define REACH_MOST  64

static uint64_t excess_over(uint64_t a, uint64_t b)
{
	return a > b ? a - b : 0;
}

static uint64_t backoff_ns(struct quota_node *q, uint64_t first_ns, unsigned failures)
{
	uint64_t ns = first_ns << min_u64(failures, BACKOFF_MOST);

	ns = min_u64(ns, max_u64(first_ns, BACKOFF_MOST_NS));
	/* Jitter, so that waiting limiters do not all go on together. */
	return (uint64_t)((double)ns * (0.5 + prng_unit(&q->prng)));
}

/* Returns the units that stay here when neighbours are given the units that they need. */
static uint64_t units_to_keep(const struct quota_node *q, uint64_t now_ns)
{
	uint64_t threshold = q->low ? 0 : hint_threshold(q, now_ns);

	if (q->own)
		return hint_target(q, now_ns);
	return q->waiting > threshold ? q->waiting : threshold;
}

struct wants round_wants(const struct quota_node *q, uint64_t now_ns)
{
	int64_t balance = ledger_balance(q->ledger);
	uint64_t free = ledger_free(q->ledger), debt = balance < 0 ? (uint64_t)-balance : 0;
	uint64_t had = quota_stock(q) - free; /* for us only: it is spent, as others see it */
	struct wants w = {.need = excess_over(units_to_keep(q, now_ns), had),
		.urgent = excess_over(q->waiting, had)};

	w.asking = q->own ? hint_rate(q, now_ns) : 0;
	for (uint32_t i = 0; i < q->params.n_edges; i++) {
		const struct quota_edge *e = &q->edges[i];

		if (e->claim != CLAIM_OPEN)
			continue;
		w.need = min_u64(w.need + e->need, LEDGER_MOST);
		w.urgent = min_u64(w.urgent + e->urgent, LEDGER_MOST);
		w.asking = min_u64(w.asking + e->asking, LEDGER_MOST);
	}
	w.need = excess_over(min_u64(w.need + debt, LEDGER_MOST), free);
	w.urgent = excess_over(min_u64(w.urgent + debt, LEDGER_MOST), free);
	return w;
}

static struct quota_edge *likeliest_donor(struct quota_node *q, uint64_t now_ns)
{
	struct quota_edge *best = NULL;

	for (uint32_t i = 0; i < q->params.n_edges; i++) {
		struct quota_edge *e = &q->edges[i];
		const bool may_ask = e->linked && !e->asked && e->claim != CLAIM_NEW &&
				     e->claim != CLAIM_OPEN && !hint_dry(q, e, now_ns) &&
				     (int64_t)(now_ns - e->silent_ns) >= 0;

		if (may_ask && (!best || hint_behind(e, now_ns) > hint_behind(best, now_ns)))
			best = e;
	}
	return best;
}

/*
 * Requests units: first from those neighbours that probably have enough together, then from all
 * others.
 */
static bool ask_more(struct quota_node *q, const struct wants *w, uint64_t now_ns)
{
	uint64_t thought = 0;
	bool any = false;

	while (q->wide || thought < w->need || !any) {
		struct quota_edge *e = likeliest_donor(q, now_ns);

		if (!e)
			break;
		thought += hint_behind(e, now_ns);
		e->asked = true;
		e->answered = e->resent = false;
		e->patience = PATIENCE;
		e->asked_ns = now_ns;
		e->due |= w->urgent > 0 ? QUOTA_COLLECT : QUOTA_REQUEST;
		any = true;
	}
	q->wide = true;
	return any;
}

/* Neighbours that gave the full amount can have more. */
static bool ask_again(struct quota_node *q, const struct wants *w, uint64_t now_ns)
{
	if (!q->grown)
		return false;
	q->grown = false;
	q->round++; /* or it would be taken for a request that was answered */
	for (uint32_t i = 0; i < q->params.n_edges; i++)
		q->edges[i].asked = false;
	return ask_more(q, w, now_ns);
}

static bool is_pending(const struct quota_node *q)
{
	for (uint32_t i = 0; i < q->params.n_edges; i++)
		if (q->edges[i].asked && !q->edges[i].answered)
			return true;
	return false;
}

/*
 * Returns true if there are reports of all units except those behind one edge (n_edges: of all). If
 * not, a shortage need not mean that the total is used up.
 */
static bool is_whole(const struct quota_node *q, uint32_t except, uint64_t now_ns)
{
	for (uint32_t i = 0; i < q->params.n_edges; i++) {
		const struct quota_edge *e = &q->edges[i];
		bool silent = (int64_t)(now_ns - e->silent_ns) < 0;

		if (i != except && e->linked && (e->vague || silent))
			return false;
	}
	return true;
}

static void give_units(struct quota_node *q, uint32_t edge, uint64_t units)
{
	struct quota_edge *e = &q->edges[edge];

	if (units == 0 || ledger_grant(q->ledger, edge, units))
		return;
	e->held = min_u64(e->held + units, LEDGER_MOST);
	e->uncommitted = q->params.durable;
	e->due |= e->claim == CLAIM_ANSWERED ? QUOTA_DISTRIBUTE : QUOTA_REPORT;
	e->need = excess_over(e->need, units);
	e->urgent = excess_over(e->urgent, units);
	if (e->need == 0)
		e->claim = CLAIM_NONE;
}

/* Gives of the pool to those in `state`, and keeps the rest: all by rate, as in equation 6. */
static void give_by_rate(
	struct quota_node *q, enum claim state, uint64_t pool, bool needs, uint64_t now_ns)
{
	uint32_t n = q->params.n_edges;

	for (uint32_t i = 0; i < n; i++) {
		const struct quota_edge *e = &q->edges[i];

		bool counts = e->claim == state && (state == CLAIM_OPEN || e->urgent > 0);

		q->weights[i] = counts ? e->asking : 0;
	}
	q->weights[n] = hint_rate(q, now_ns);
	quota_divide(pool, q->weights, n + 1, q->parts);
	for (uint32_t i = 0; i < n; i++) {
		const struct quota_edge *e = &q->edges[i];

		if (e->claim == state)
			give_units(q, i, q->parts[i] + (needs ? e->need : 0));
	}
}

/* Returns the edge that needs least of those whose traffic waits; n_edges: us. */
static uint32_t most_modest(const struct quota_node *q, uint64_t own)
{
	uint32_t n = q->params.n_edges, best = n;
	uint64_t least_need = own ? own : UINT64_MAX;

	for (uint32_t i = 0; i < n; i++) {
		const struct quota_edge *e = &q->edges[i];

		if (e->claim == CLAIM_OPEN && e->urgent > 0 && e->urgent < least_need) {
			least_need = e->urgent;
			best = i;
		}
	}
	return best;
}

/*
 * Divides too few units for all whose traffic waits. Half of the units for a packet are of no use:
 * the most modest get all that they need, and then one gets the rest.
 */
static void give_to_few(struct quota_node *q, uint64_t pool, uint64_t own)
{
	for (uint32_t i = 0; i <= q->params.n_edges; i++) {
		uint32_t k = most_modest(q, own);
		uint64_t units;

		if (k == q->params.n_edges && own == 0)
			return;
		units = k == q->params.n_edges ? own : q->edges[k].urgent;
		units = min_u64(units, pool);
		pool -= units;
		if (k == q->params.n_edges)
			own = 0;
		else if (units == 0)
			return;
		else
			give_units(q, k, units);
	}
}

/* Divides enough units: each limiter gets its need, and its part by rate of the rest. */
static void divide_plenty(struct quota_node *q, uint64_t now_ns)
{
	uint64_t needs = units_to_keep(q, now_ns), had = quota_stock(q) - ledger_free(q->ledger);

	needs = excess_over(needs, had);
	for (uint32_t i = 0; i < q->params.n_edges; i++)
		if (q->edges[i].claim == CLAIM_OPEN)
			needs = min_u64(needs + q->edges[i].need, LEDGER_MOST);
	give_by_rate(q, CLAIM_OPEN, excess_over(ledger_free(q->ledger), needs), true, now_ns);
}

/* Divides too few units. If traffic waits, nothing is kept for traffic that is to come. */
static void divide_short(struct quota_node *q, uint64_t now_ns)
{
	uint64_t free = ledger_free(q->ledger), urgent = 0, own, kept;

	own = excess_over(q->waiting, quota_stock(q) - free);
	for (uint32_t i = 0; i < q->params.n_edges; i++)
		if (q->edges[i].claim == CLAIM_OPEN)
			urgent = min_u64(urgent + q->edges[i].urgent, LEDGER_MOST);
	kept = urgent || q->low ? own : units_to_keep(q, now_ns);
	if (urgent + own > free) {
		give_to_few(q, free, own);
		return;
	}
	for (uint32_t i = 0; i < q->params.n_edges; i++)
		if (q->edges[i].claim == CLAIM_OPEN)
			q->edges[i].need = q->edges[i].urgent;
	give_by_rate(q, CLAIM_OPEN, excess_over(free, kept + urgent), true, now_ns);
}

/*
 * Returns true if some neighbour that has answered can get units yet. A silent neighbour is not
 * waited for.
 */
static bool is_busy(const struct quota_node *q)
{
	for (uint32_t i = 0; i < q->params.n_edges; i++)
		if (q->edges[i].linked && q->edges[i].vague)
			return true;
	return false;
}

static void learn_theta(struct quota_node *q, bool whole, uint64_t now_ns)
{
	uint64_t took = now_ns - q->started_ns;
	uint64_t soon = THETAS_SOON * q->theta_ns;

	/* The time of waiting for a dead neighbour is no measure of the others. */
	if (took > 0 && whole)
		q->theta_ns = (3 * q->theta_ns + took) / 4;
	if (took > 0) {
		q->fetches++;
		q->fetches_ns += took;
	}
	if (now_ns - q->ended_ns < soon && q->reach < REACH_MOST)
		q->reach *= 2;
	else if (now_ns - q->ended_ns > 2 * soon && q->reach > REACH_LEAST)
		q->reach /= 2;
	q->ended_ns = now_ns;
}

/* Sets when to request again after too few units; after crossed requests that is soon. */
static void end_own(struct quota_node *q, bool enough, bool whole, uint64_t now_ns)
{
	learn_theta(q, whole, now_ns);
	if (quota_missing(q) == 0) {
		q->failures = 0;
		q->refused = false;
		q->retry_ns = now_ns + (enough ? 0 : q->theta_ns);
		return;
	}
	q->refused = !is_busy(q) || q->failures >= REFUSALS;
	q->retry_ns = now_ns + backoff_ns(q, q->theta_ns, q->failures);
	if (q->failures < REFUSALS)
		q->failures++;
}

/* Returns true if thresholds are more than our part of the remaining units. */
static bool is_low(const struct quota_node *q, uint64_t now_ns)
{
	return hint_part(q, now_ns) <
	       LOW_END * min_u64(hint_threshold(q, now_ns), LEDGER_MOST / LOW_END);
}

static void end_quota_round(struct quota_node *q, bool enough, uint64_t now_ns)
{
	bool own = q->own, whole = is_whole(q, q->params.n_edges, now_ns);

	q->short_rounds += !enough;
	if (!enough && (whole || is_low(q, now_ns)))
		q->low = true;
	if (enough)
		divide_plenty(q, now_ns);
	else
		divide_short(q, now_ns);
	/* Answers all requests, and keeps the unmet ones in mind. */
	for (uint32_t i = 0; i < q->params.n_edges; i++) {
		struct quota_edge *e = &q->edges[i];

		if (e->claim == CLAIM_OPEN || e->due & QUOTA_REPORT)
			e->partial = !is_whole(q, i, now_ns);
		if (e->claim != CLAIM_OPEN)
			continue;
		e->due |= QUOTA_REPORT;
		e->claim = CLAIM_ANSWERED;
	}
	q->active = q->own = false;
	if (own)
		end_own(q, enough, whole, now_ns);
}

/* Goes on with a round. Returns true if it has ended. */
static bool advance_round(struct quota_node *q, uint64_t now_ns)
{
	struct wants w = round_wants(q, now_ns);

	if (w.need == 0) {
		end_quota_round(q, true, now_ns);
		return true;
	}
	if (is_pending(q) || ask_more(q, &w, now_ns) || ask_again(q, &w, now_ns))
		return false;
	end_quota_round(q, false, now_ns);
	return true;
}

static bool has_claims(const struct quota_node *q)
{
	for (uint32_t i = 0; i < q->params.n_edges; i++)
		if (q->edges[i].claim == CLAIM_NEW)
			return true;
	return false;
}

/* Returns true if we need units ourselves, and it is time for a request. */
static bool is_needy(struct quota_node *q, uint64_t now_ns)
{
	uint64_t threshold = hint_threshold(q, now_ns), stock = quota_stock(q);

	if (stock > LOW_END * min_u64(threshold, LEDGER_MOST / LOW_END))
		q->low = false;
	if ((int64_t)(now_ns - q->retry_ns) < 0)
		return false;
	return quota_missing(q) > 0 || (!q->low && stock < threshold);
}

static void start_round(struct quota_node *q, bool own, uint64_t now_ns)
{
	q->active = true;
	q->own = own;
	q->wide = q->grown = false;
	q->round++;
	q->rounds++;
	q->started_ns = now_ns;
	for (uint32_t i = 0; i < q->params.n_edges; i++) {
		struct quota_edge *e = &q->edges[i];

		e->asked = e->answered = e->vague = false;
		if (e->claim == CLAIM_NEW)
			e->claim = CLAIM_OPEN;
		/* The neighbour can have units that we miss, and we units that it misses. */
		e->vague = e->claim == CLAIM_OPEN && e->held > 0;
	}
}

/* Gives late units to neighbours that got too few, and whose traffic waits: their part by rate. */
static void give_late(struct quota_node *q, uint64_t now_ns)
{
	uint64_t target = hint_target(q, now_ns);

	for (uint32_t i = 0; i < q->params.n_edges; i++) {
		const struct quota_edge *e = &q->edges[i];

		if (e->claim != CLAIM_ANSWERED || e->urgent == 0)
			continue;
		give_by_rate(q, CLAIM_ANSWERED, excess_over(ledger_free(q->ledger), target), false,
			now_ns);
		return;
	}
}

void round_consider(struct quota_node *q, uint64_t now_ns)
{
	if (ledger_recovering(q->ledger) || q->waits)
		return;
	for (;;) {
		if (!q->active) {
			bool own = is_needy(q, now_ns);

			if (!own && !has_claims(q))
				break;
			start_round(q, own, now_ns);
		}
		if (!advance_round(q, now_ns))
			return;
	}
	give_late(q, now_ns);
	/* Neighbours whose last hint from us was nothing get a message when there are units. */
	for (uint32_t i = 0; i < q->params.n_edges; i++) {
		struct quota_edge *e = &q->edges[i];
		struct quota_message m;

		if (!e->linked || !e->sent_dry)
			continue;
		hint_write(q, i, &m, now_ns);
		if (m.held > 0 || !m.known)
			e->speak = true;
	}
}

void round_claim(
	struct quota_node *q, uint32_t edge, const struct quota_message *m, uint64_t now_ns)
{
	struct quota_edge *e = &q->edges[edge];

	(void)now_ns;
	if (e->claim_round == m->round && e->claim_seen) {
		/* The answer was lost; the grant is in the statement. */
		if (e->claim == CLAIM_NONE || e->claim == CLAIM_ANSWERED)
			e->due |= QUOTA_REPORT;
		else
			e->speak = true; /* shows that we are alive */
		return;
	}
	e->claim_seen = true;
	e->claim_round = m->round;
	e->need = m->need;
	e->urgent = m->urgent;
	e->asking = m->asking;
	e->claim = CLAIM_NEW;
	/* The neighbour gets no request in this round any more. */
	e->vague |= !e->asked && e->held > 0;
	if (!q->active || !e->asked || e->answered)
		return;
	/*
	 * Two requests have crossed. The one with the larger round, or both, no longer waits for
	 * the other, and fetches for both; the other one waits for it. A limiter whose request was
	 * lost repeats it.
	 */
	if (q->round < m->round) {
		e->claim = CLAIM_ANSWERED;
		return;
	}
	e->claim = CLAIM_OPEN;
	q->grown = true;
	e->answered = e->vague = true;
}

void round_answer(
	struct quota_node *q, uint32_t edge, const struct quota_message *m, uint64_t now_ns)
{
	struct quota_edge *e = &q->edges[edge];
	uint64_t took = now_ns - e->asked_ns;

	if (!q->active || m->answer != q->round || !e->asked || e->answered)
		return;
	e->answered = true;
	e->vague = m->partial;
	/* The neighbour gave all units of the request; if more are needed now, it can have more. */
	q->grown |= ledger_view(q->ledger, edge).received - e->asked_received >= e->asked_need;
	/*
	 * Rises immediately and falls slowly: a neighbour with more requests of its own takes
	 * longer.
	 */
	if (took > e->theta_ns)
		e->theta_ns = took;
	else
		e->theta_ns -= (e->theta_ns - took) / 8;
}

void round_alive(struct quota_node *q, struct quota_edge *e, uint64_t now_ns)
{
	if (!q->active || !e->asked || e->answered || !e->resent || e->patience == 0)
		return;
	e->patience--;
	e->resent = false;
	e->asked_ns = now_ns;
	e->theta_ns = min_u64(2 * e->theta_ns, q->params.repeat_ns);
}

uint64_t round_timeouts(struct quota_node *q, uint64_t now_ns)
{
	uint64_t next = UINT64_MAX;

	for (uint32_t i = 0; i < q->params.n_edges; i++) {
		struct quota_edge *e = &q->edges[i];
		uint64_t theta = e->theta_ns > 0 ? e->theta_ns : 1;
		uint64_t repeat = e->asked_ns + THETAS_REPEAT * theta;
		uint64_t give_up_ns = e->asked_ns + THETAS_GIVE_UP * theta;

		if (!q->active || !e->asked || e->answered)
			continue;
		if (now_ns >= repeat && !e->resent) {
			e->resent = true;
			e->due |= QUOTA_REQUEST;
		}
		if (now_ns >= give_up_ns) {
			e->answered = true;
			e->known = false;
			e->silent_ns = now_ns +
				       backoff_ns(q, THETAS_GIVE_UP * e->theta_ns, e->silences);
			e->silences += e->silences < BACKOFF_MOST;
		} else {
			next = min_u64(next, e->resent ? give_up_ns : repeat);
		}
	}
	if (q->waiting && now_ns - q->waiting_ns > THETAS_WAITING * q->theta_ns)
		quota_forgo(q);
	round_consider(q, now_ns);
	if (!q->active && (int64_t)(q->retry_ns - now_ns) > 0)
		next = min_u64(next, q->retry_ns);
	return next;
}
