/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Local limits whose sum never exceeds the limit.
 */
#include "conserve/conserve.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/bitmap.h"
#include "base/math.h"
#include "conserve/conserve_private.h"

/* A degree that leaves a group of hundreds a few steps apart. */
#define SPARSE_DEGREE 6

static int conserve_create_links(struct conserve *c, uint64_t now_ns)
{
	unsigned n = c->book.n_edges;

	c->links = calloc((size_t)n + 1, sizeof(*c->links));
	c->amounts = calloc((size_t)n + 1, sizeof(*c->amounts));
	c->neighbours = calloc((size_t)n + 1, sizeof(*c->neighbours));
	c->dead = calloc(bitmap_words(c->params.overlay.n), sizeof(*c->dead));
	if (!c->links || !c->amounts || !c->neighbours || !c->dead)
		return -ENOMEM;
	for (unsigned b = 0; b < DIGEST_BUCKETS; b++)
		TAILQ_INIT(&c->buckets[b]);
	for (unsigned e = 0; e < n; e++)
		rate_begin_link(c, e, now_ns);
	return 0;
}

/* Makes new accounts due, after a start or an update. */
static void announce_accounts(struct conserve *c)
{
	for (unsigned i = 0; i < c->book.n; i++) {
		struct rate_account *a = rate_at(c, i);

		book_changed(&c->book, &a->book);
		for (unsigned e = 0; e < c->book.n_edges; e++)
			if (a->edges[e].sent_ns == 0)
				rate_due(c, a, e);
	}
}

static int conserve_create_parts(
	struct conserve *c, const struct conserve_params *params, uint64_t now_ns)
{
	struct book_params book = {
		.ops = &rate_ops,
		.overlay = params->overlay,
		.members = params->members,
		.n_members = params->n_members,
		.self = params->self,
		.policies = params->policies,
		.n_policies = params->n_policies,
		.records = params->records,
		.n_records = params->n_records,
		.recovering = params->recovering,
		.epoch = params->epoch,
		.identity = params->identity,
		.word = params->word,
		.proof_ns = params->proof_ns,
		.timeout_ns = params->lease_ns,
	};
	unsigned n = params->members ? params->n_members : params->overlay.n;
	int ret;

	if (book.overlay.degree == 0)
		book.overlay.degree = n <= CONSERVE_MESH ? n - 1 : SPARSE_DEGREE;
	ret = book_open(&c->book, &book);
	if (ret)
		return ret;
	c->params.overlay.ids = c->book.overlay->ids;
	c->params.overlay.n = c->book.overlay->n;
	c->params.self = c->book.position;
	ret = conserve_create_links(c, now_ns);
	if (ret == 0)
		ret = book_fill(&c->book, &book, now_ns);
	if (ret)
		return ret;
	/* With joiners, all are neighbours. */
	c->mesh = c->book.position == c->book.overlay->n ||
		  c->book.overlay->degree[c->book.position] == c->book.overlay->n - 1;
	announce_accounts(c);
	return 0;
}

int conserve_create(const struct conserve_params *params, uint64_t now_ns, struct conserve **out)
{
	struct conserve *c;
	int ret;

	if (params->promise > 100)
		return -EINVAL;
	c = calloc(1, sizeof(*c));
	if (!c)
		return -ENOMEM;
	c->params = *params;
	c->complete = !params->incomplete;
	TAILQ_INIT(&c->news);
	TAILQ_INIT(&c->moving);
	ret = conserve_create_parts(c, params, now_ns);
	if (ret) {
		conserve_destroy(c);
		return ret;
	}
	/* Borrowed data belongs to the caller. */
	c->params.overlay.pairs = NULL;
	c->params.members = NULL;
	c->params.policies = NULL;
	c->params.records = NULL;
	*out = c;
	return 0;
}

void conserve_destroy(struct conserve *c)
{
	if (!c)
		return;
	book_close(&c->book);
	free(c->links);
	free(c->amounts);
	free(c->neighbours);
	free(c->dead);
	free(c);
}

int conserve_update(
	struct conserve *c, const struct conserve_policy *policies, unsigned n, uint64_t now_ns)
{
	int ret = book_update(&c->book, policies, n, now_ns);

	if (ret)
		return ret;
	for (unsigned i = 0; i < n; i++) {
		struct rate_account *a = rate_at(c, i);
		uint64_t limit = a->policy.limit;

		(void)rate_set(c, a, &policies[i]); /* the limit fits */
		if (a->policy.limit != limit)
			rate_due_to_all(c, a); /* they wait for it */
	}
	announce_accounts(c);
	return 0;
}

int conserve_regroup(struct conserve *c, const struct book_member *members, unsigned n,
	unsigned self, uint64_t now_ns)
{
	return book_regroup(&c->book, members, n, self, now_ns);
}

bool conserve_holds_nothing(const struct conserve *c)
{
	for (unsigned i = 0; i < c->book.n; i++)
		if (!ledger_recovering(rate_at(c, i)->ledger))
			return false;
	return true;
}

void conserve_set_complete(struct conserve *c, bool complete)
{
	if (c->complete == complete)
		return;
	c->complete = complete;
	for (unsigned i = 0; i < c->book.n; i++)
		if (ledger_set_complete(rate_at(c, i)->ledger, complete))
			rate_recovered(c, rate_at(c, i));
}

/* Joiners are neighbours of all. */
static bool find_joiners_in_use(struct conserve *c)
{
	bool changed = false;

	for (unsigned e = c->book.n_first; e < c->book.n_edges; e++) {
		struct rate_link *link = &c->links[e];

		changed |= link->in_use != c->book.links[e].alive;
		link->messages = 0;
		link->in_use = c->book.links[e].alive;
		c->degree += link->in_use;
	}
	return changed;
}

/*
 * Finds the dead neighbours, and so the edges in use. Returns true if a neighbour died or is back.
 */
static bool find_edges_in_use(struct conserve *c, uint64_t now_ns)
{
	const struct overlay_edge *edges = overlay_edges(c->book.overlay, c->book.position);
	bool changed = false;

	book_find_silent(&c->book, now_ns);
	for (unsigned e = 0; e < c->book.n_first; e++) {
		changed |= bitmap_has(c->dead, edges[e].peer) == c->book.links[e].alive;
		if (c->book.links[e].alive)
			bitmap_clear(c->dead, edges[e].peer);
		else
			bitmap_set(c->dead, edges[e].peer);
	}
	c->degree = 0;
	for (unsigned e = 0; e < c->book.n_first; e++) {
		struct rate_link *link = &c->links[e];

		link->messages = 0;
		link->in_use = overlay_in_use(c->book.overlay, c->book.position, e, c->dead);
		c->degree += link->in_use && c->book.links[e].alive;
	}
	return find_joiners_in_use(c) || changed;
}

void conserve_tick(struct conserve *c, uint64_t now_ns)
{
	bool changed = find_edges_in_use(c, now_ns);
	struct rate_account *a, *next;

	for (unsigned i = 0; changed && i < c->book.n; i++)
		rate_stir(c, rate_at(c, i));
	c->promises = conserve_leases_last(c);
	digest_tick(c);
	for (a = TAILQ_FIRST(&c->moving); a; a = next) {
		bool moves = rate_waits(c, a, now_ns) || rate_move(c, a, now_ns);

		next = TAILQ_NEXT(a, next_moving);
		book_changed(&c->book, &a->book);
		moves |= rate_look(c, a, now_ns);
		if (moves)
			continue;
		TAILQ_REMOVE(&c->moving, a, next_moving);
		a->moving = false;
	}
}

struct book *conserve_book(struct conserve *c)
{
	return &c->book;
}

void conserve_target(struct conserve *c, unsigned policy, double target)
{
	struct rate_account *a = rate_at(c, policy);

	if (a->measure.demand == target)
		return;
	a->measure.demand = target;
	rate_stir(c, a);
}

void conserve_measure(struct conserve *c, unsigned policy, const struct gdrl_measure *measure)
{
	struct rate_account *a = rate_at(c, policy);

	if (memcmp(&a->measure, measure, sizeof(*measure)) == 0)
		return;
	a->measure = *measure;
	rate_stir(c, a);
}

uint64_t conserve_limit(
	const struct conserve *c, unsigned policy, uint64_t now_ns, uint64_t *until_ns)
{
	const struct rate_account *a = rate_at(c, policy);
	uint64_t usable = ledger_usable(a->ledger, now_ns, until_ns);

	if (a->waits)
		return 0;
	/* No part is larger than the whole, with any statements of neighbours. */
	return a->limit == 0 ? usable : min_u64(usable, a->limit);
}

uint64_t conserve_burst(const struct conserve *c, unsigned policy, uint64_t burst, uint64_t usable)
{
	const struct rate_account *a = rate_at(c, policy);
	uint64_t limit = a->policy.limit; /* others may divide by a raised one already */

	if (a->policy.burst > 0)
		burst = min_u64(burst, a->burst);

	if (limit == 0 || usable >= limit)
		return usable > 0 ? burst : 0;
	return (uint64_t)((unsigned __int128)burst * usable / limit);
}

unsigned conserve_policies(const struct conserve *c)
{
	return c->book.n_policies;
}

unsigned conserve_owner(const struct conserve *c, unsigned policy)
{
	return rate_at(c, policy)->policy.owner;
}

unsigned conserve_edges(const struct conserve *c)
{
	return c->book.n_edges;
}

struct conserve_view conserve_view(const struct conserve *c, unsigned policy, uint64_t now_ns)
{
	const struct rate_account *a = rate_at(c, policy);
	struct conserve_view view = {
		.share = rate_share(c, a->limit),
		.limit = a->limit,
		.balance = ledger_balance(a->ledger),
		.free = ledger_free(a->ledger),
		.target = a->policy.indicator ? rate_state(c, a).q : a->measure.demand,
		.recovering = ledger_recovering(a->ledger),
	};

	view.usable = conserve_limit(c, policy, now_ns, &view.until_ns);
	view.waits = a->waits;
	for (unsigned e = 0; e < c->book.n_edges; e++) {
		struct ledger_view edge = ledger_view(a->ledger, e);

		view.in_flight += edge.in_flight;
		view.promised += edge.locked - edge.granted;
		view.inherited += edge.inherited;
	}
	return view;
}

struct conserve_edge_view conserve_edge(
	const struct conserve *c, unsigned policy, unsigned edge, uint64_t now_ns)
{
	return (struct conserve_edge_view){
		.peer = c->book.links[edge].peer,
		.spare = edge < c->book.n_first &&
			 overlay_edges(c->book.overlay, c->book.position)[edge].spare,
		.in_use = c->links[edge].in_use,
		.alive = book_alive(&c->book, edge, now_ns),
		.differs = rate_at(c, policy)->edges[edge].differs,
		.ledger = ledger_view(rate_at(c, policy)->ledger, edge),
	};
}

bool conserve_recovering(const struct conserve *c, unsigned policy)
{
	return ledger_recovering(rate_at(c, policy)->ledger);
}

const struct conserve_counters *conserve_counters(const struct conserve *c)
{
	return &c->counters;
}
