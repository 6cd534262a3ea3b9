/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Decides which amounts are given, to which neighbour, and promised.
 */
#include <math.h>
#include <string.h>

#include "base/math.h"
#include "conserve/conserve_private.h"

/* More than any balance, and exact as a double. */
#define MOST 0x1p61

/* The headroom, which is not promised, is so many steps' worth. */
#define HEADROOM_STEPS 8

/* A request is passed on for this part of it, less one unit, but at least for one. */
#define RELAYED 0.875

/* A promise is changed when it is this part of the balance away from its intended amount. */
#define PROMISE_SLACK 16

/* Returns the target; without an indicator at least the floor. */
static double account_target(const struct rate_account *a)
{
	if (a->book.gone)
		return 0;
	return a->policy.indicator ? a->measure.demand : fmax(a->measure.demand, (double)a->floor);
}

static uint64_t whole_amount(double amount)
{
	return amount >= 1 ? (uint64_t)fmin(amount, MOST) : 0;
}

static struct gdrl_self account_gdrl_self(const struct conserve *c, const struct rate_account *a)
{
	struct gdrl_self self = {
		.indicator = a->policy.indicator ? a->policy.indicator : &gdrl_spare,
		.measure = a->measure,
		.degree = c->degree,
		.eta = a->policy.eta,
		.held = rate_held(a),
		.free = rate_held(a), /* a promise can be taken back; see rate_promise() */
		.floor = a->book.gone ? 0 : a->floor,
	};

	self.measure.capacity = (double)ledger_balance(a->ledger);
	self.measure.demand = account_target(a);
	self.measure.least = fmin(self.measure.packet, fmax((double)a->floor, 1));
	if (a->book.gone)
		self.measure.dropped = 0;
	return self;
}

/* With a target, q is the missing amount, so that each can see all deficits and surpluses. */
struct gdrl_statement rate_state(const struct conserve *c, const struct rate_account *a)
{
	struct gdrl_self self = account_gdrl_self(c, a);

	return gdrl_state(&self);
}

/*
 * Grants at most the free amount. A promised one is given later, when the backup neighbour has
 * confirmed that it is promised no more.
 */
static void rate_grant(struct conserve *c, struct rate_account *a, unsigned edge, uint64_t amount)
{
	uint64_t free = ledger_free(a->ledger);

	if (amount > free && amount - free > a->headroom)
		a->headroom = amount - free;
	amount = min_u64(amount, free);
	if (amount == 0 || ledger_grant(a->ledger, edge, amount))
		return;
	a->edges[edge].neighbour.fresh = false;
	a->edges[edge].asked = fmax(a->edges[edge].asked - (double)amount, 0);
	c->counters.grants++;
	rate_has_news(c, a);
}

/* Returns the amount that can be given: no limiter gives below its floor. */
static uint64_t above_floor(const struct rate_account *a)
{
	uint64_t held = rate_held(a), floor = a->book.gone ? 0 : a->floor;

	return held > floor ? held - floor : 0;
}

/*
 * Returns our part of a neighbour's request. If all are neighbours, that is in proportion to the
 * balance of each: all together have the missing amount beyond the limit, so their parts of it are
 * enough. Otherwise the neighbour has divided it already.
 */
static uint64_t asked_part(const struct conserve *c, const struct rate_account *a, double asked)
{
	double held = (double)rate_held(a), limit = (double)a->limit;
	double part = c->mesh && held < limit ? asked * (held / limit) : asked;

	return whole_amount(ceil(part));
}

/* Returns a debt, or the amount up to the floor if not even a first packet passes; 0: no need. */
static uint64_t rate_needs(const struct rate_account *a)
{
	int64_t balance = ledger_balance(a->ledger), floor = a->book.gone ? 0 : (int64_t)a->floor;

	if (balance >= floor / 2)
		return 0;
	return (uint64_t)(balance < 0 ? -balance : floor - balance);
}

/*
 * Returns the number of neighbours that divide that. Neighbours with a request of their own will
 * not pay: to count them would leave a part of the debt for the next time, and again of that.
 */
static unsigned rate_payers(const struct conserve *c, const struct rate_account *a)
{
	unsigned payers = 0;

	if (c->mesh)
		return 1;
	for (unsigned e = 0; e < c->book.n_edges; e++)
		payers += c->links[e].in_use && c->book.links[e].alive && a->edges[e].asked < 1;
	return payers > 0 ? payers : 1;
}

struct rate_ask rate_asks(const struct conserve *c, const struct rate_account *a, unsigned edge)
{
	unsigned payers = rate_payers(c, a);
	/* No limiter is further away; a request over a longer way went in a circle. */
	const unsigned most_hops = min_u32(c->params.overlay.n - 1, RATE_HOPS);
	struct rate_ask most = {.amount = (rate_needs(a) + payers - 1) / payers};

	if (c->mesh || ledger_balance(a->ledger) < 0 || above_floor(a) > 0)
		return most;
	for (unsigned e = 0; e < c->book.n_edges; e++) {
		const struct rate_edge *other = &a->edges[e];
		uint64_t relayed;

		if (e == edge || !c->book.links[e].alive || other->asked < 1 ||
			other->asked_hops >= most_hops)
			continue;
		relayed = max_u64(whole_amount(ceil(other->asked * RELAYED)), 2) - 1;
		if (relayed > most.amount ||
			(relayed == most.amount && other->asked_hops + 1u < most.hops))
			most = (struct rate_ask){relayed, other->asked_hops + 1};
	}
	return most;
}

/* Pays requests first, then neighbours whose promise was taken while they were gone. */
static void rate_pay(struct conserve *c, struct rate_account *a)
{
	for (unsigned e = 0; e < c->book.n_edges; e++) {
		const struct rate_edge *edge = &a->edges[e];

		if (edge->apart || (edge->differs && !edge->in_debt))
			continue;
		if (c->book.links[e].alive && edge->neighbour.fresh && edge->asked > 0)
			rate_grant(c, a, e,
				min_u64(asked_part(c, a, edge->asked),
					edge->in_debt ? rate_held(a) : above_floor(a)));
	}
	for (unsigned e = 0; e < c->book.n_edges; e++) {
		uint64_t inherited = ledger_view(a->ledger, e).inherited;

		if (inherited > 0 && c->book.links[e].alive && a->edges[e].neighbour.fresh &&
			!a->edges[e].differs)
			rate_grant(c, a, e, min_u64(inherited, above_floor(a)));
	}
}

static bool is_usable(const struct gdrl_neighbour *neighbour)
{
	return neighbour->in_use && neighbour->fresh && neighbour->in_flight == 0;
}

/* Plans our part of all deficits, by the sum of all surpluses. Returns the sum of the amounts. */
static uint64_t plan_mesh(struct conserve *c, const struct rate_account *a)
{
	double own = (double)ledger_balance(a->ledger) - account_target(a);
	double missing = 0, over = own;
	uint64_t sum = 0;

	for (unsigned e = 0; e < c->book.n_edges; e++) {
		const struct gdrl_neighbour *other = &c->neighbours[e];

		if (is_usable(other) && other->reported.q > 0)
			missing += other->reported.q;
		else if (other->in_use && other->reported.q < 0)
			over -= other->reported.q;
	}
	memset(c->amounts, 0, c->book.n_edges * sizeof(*c->amounts));
	for (unsigned e = 0; e < c->book.n_edges && own > 0 && missing > 0; e++) {
		const struct gdrl_neighbour *other = &c->neighbours[e];

		if (is_usable(other) && other->reported.q > 0)
			c->amounts[e] = whole_amount(
				own * (other->reported.q / fmax(missing, over)));
		sum += c->amounts[e];
	}
	return sum;
}

static uint64_t plan_gifts(struct conserve *c, const struct rate_account *a)
{
	struct gdrl_self self = account_gdrl_self(c, a);

	/* Collects the last values of each neighbour, and if it can be given anything. */
	for (unsigned e = 0; e < c->book.n_edges; e++) {
		struct gdrl_neighbour *neighbour = &c->neighbours[e];

		*neighbour = a->edges[e].neighbour;
		neighbour->in_use = c->links[e].in_use && c->book.links[e].alive &&
				    !a->edges[e].differs;
		neighbour->in_flight = ledger_view(a->ledger, e).in_flight;
	}
	if (c->mesh && !a->policy.indicator)
		return plan_mesh(c, a);
	return gdrl_step(&self, c->neighbours, c->book.n_edges, c->amounts);
}

/*
 * Returns the amount that can be given without a request. An amount that a neighbour has requested
 * and not received waits for it, until it has confirmed the grants before. The amount can have come
 * here on its behalf, and would go back to its source.
 */
static uint64_t rate_spare(const struct conserve *c, const struct rate_account *a)
{
	uint64_t free = min_u64(ledger_free(a->ledger), above_floor(a)), waits;
	double asked = 0;

	for (unsigned e = 0; !c->mesh && e < c->book.n_edges; e++)
		if (c->book.links[e].alive && !a->edges[e].differs)
			asked += a->edges[e].asked;
	waits = whole_amount(asked);
	return free > waits ? free - waits : 0;
}

/* Gives the planned amounts; promised parts only later, when the backup has confirmed. */
static void rate_give(struct conserve *c, struct rate_account *a)
{
	uint64_t sum = plan_gifts(c, a), free = rate_spare(c, a);

	for (unsigned e = 0; e < c->book.n_edges; e++) {
		uint64_t amount = c->amounts[e];

		if (amount < a->grain)
			continue;
		if (sum > free)
			amount = (uint64_t)((unsigned __int128)amount * free / sum);
		rate_grant(c, a, e, amount);
	}
	if (sum > free && sum - free > a->headroom)
		a->headroom = sum - free;
}

/* Adjusts the promise. It does not rise while the backup is silent and could not use it. */
static void rate_promise(struct conserve *c, struct rate_account *a)
{
	uint64_t above = above_floor(a), now, want, apart;
	struct ledger_view view;

	if (c->params.promise == 0 || c->book.n_edges == 0)
		return;
	view = ledger_view(a->ledger, OVERLAY_FRIEND);
	now = view.promised - view.granted;
	want = c->promises && above > a->headroom ? above - a->headroom : 0;
	want = (uint64_t)((unsigned __int128)want * c->params.promise / 100);
	apart = want > now ? want - now : now - want;
	if (apart <= rate_held(a) / PROMISE_SLACK && (want > now || a->headroom == 0))
		return;
	if (want < now ||
		(c->book.links[OVERLAY_FRIEND].alive && !a->edges[OVERLAY_FRIEND].differs)) {
		(void)ledger_promise(a->ledger, want);
		rate_has_news(c, a);
	}
}

static void rate_inherit(struct conserve *c, struct rate_account *a, uint64_t now_ns)
{
	for (unsigned e = 0; e < c->book.n_edges; e++) {
		if (ledger_inherit(a->ledger, e, now_ns) == 0)
			continue;
		rate_due(c, a, e);
		rate_has_news(c, a);
		c->counters.adoptions++;
	}
}

bool rate_move(struct conserve *c, struct rate_account *a, uint64_t now_ns)
{
	bool waits;

	if (ledger_recovering(a->ledger))
		return true;
	a->headroom -= a->headroom / HEADROOM_STEPS;
	rate_inherit(c, a, now_ns);
	rate_pay(c, a);
	rate_give(c, a);
	rate_promise(c, a);
	/* Time alone can let it act later. */
	waits = a->headroom >= HEADROOM_STEPS;
	for (unsigned e = 0; e < c->book.n_edges; e++)
		waits |= rate_is_unconfirmed(a, e) ||
			 (!c->book.links[e].alive && ledger_was_promised(a->ledger, e));
	return waits;
}
