/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Quotas of units that the limiters of a roster spend together and never exceed.
 */
#include "budget/budget.h"

#include <errno.h>
#include <stdlib.h>

#include "base/math.h"
#include "budget/budget_private.h"

/*
 * The edges over which units can move. Up to MESH_MOST limiters, all are neighbours. In a larger
 * roster each has enough for the tree to find short edges and ways around dead limiters.
 */
#define MESH_MOST     16
#define SPARSE_DEGREE 8
#define SPARSE_SPARES 2

#define DEGREE_LEAST 2

static int budget_create_parts(
	struct budget *b, const struct budget_params *params, uint64_t now_ns)
{
	bool mesh = params->n <= MESH_MOST;
	struct book_params book = {
		.ops = &unit_ops,
		.overlay =
			{
				.shape = OVERLAY_RANDOM,
				.ids = params->ids,
				.n = params->n,
				.degree = mesh ? params->n - 1 : SPARSE_DEGREE,
				.spares = mesh ? 0 : SPARSE_SPARES,
			},
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
		.timeout_ns = params->timeout_ns,
	};
	int ret = book_open(&b->book, &book);

	if (ret)
		return ret;
	b->links = calloc((size_t)b->book.n_edges + 1, sizeof(*b->links));
	b->feasible = calloc(params->n, sizeof(*b->feasible));
	b->words = calloc((size_t)b->book.n_edges + 1, sizeof(*b->words));
	if (!b->links || !b->feasible || !b->words)
		return -ENOMEM;
	timekeeper_begin(&b->keeper, b->book.n_edges, now_ns, now_ns + params->timeout_ns);
	tree_begin(b, now_ns);
	ret = book_fill(&b->book, &book, now_ns);
	for (unsigned i = 0; ret == 0 && i < b->book.n; i++)
		unit_wake(b, unit_at(b, i));
	return ret;
}

int budget_create(const struct budget_params *params, uint64_t now_ns, struct budget **out)
{
	struct budget *b = calloc(1, sizeof(*b));
	int ret;

	if (!b)
		return -ENOMEM;
	b->params = *params;
	if (params->degree == 0)
		b->params.degree = BUDGET_DEGREE;
	if (b->params.degree < DEGREE_LEAST)
		b->params.degree = DEGREE_LEAST;
	prng_seed(&b->prng, params->seed);
	TAILQ_INIT(&b->ready);
	ret = budget_create_parts(b, params, now_ns);
	if (ret) {
		budget_destroy(b);
		return ret;
	}
	/* The borrowed arrays are the caller's. */
	b->params.ids = NULL;
	b->params.policies = NULL;
	b->params.records = NULL;
	*out = b;
	return 0;
}

void budget_destroy(struct budget *b)
{
	if (!b)
		return;
	book_close(&b->book);
	free(b->links);
	free(b->feasible);
	free(b->words);
	free(b);
}

int budget_update(
	struct budget *b, const struct budget_policy *policies, unsigned n, uint64_t now_ns)
{
	struct unit_account *a;
	int ret = book_update(&b->book, policies, n, now_ns);

	if (ret)
		return ret;
	TAILQ_FOREACH(a, &b->ready, next_ready)
	a->ready = false;
	TAILQ_INIT(&b->ready);
	for (unsigned i = 0; i < b->book.n; i++) {
		a = unit_at(b, i);
		if (a->book.gone) {
			quota_forgo(a->quota);
			unit_resend_terms(b, a, now_ns);
		}
		unit_wake(b, a);
	}
	for (unsigned i = 0; i < n; i++)
		unit_set(b, unit_at(b, i), &policies[i], now_ns);
	return 0;
}

struct book *budget_book(struct budget *b)
{
	return &b->book;
}

int budget_spend(struct budget *b, unsigned policy, uint64_t units, uint64_t now_ns)
{
	struct unit_account *a = unit_at(b, policy);
	int ret = quota_spend(a->quota, units, now_ns);

	unit_tick(b, a, now_ns);
	return ret;
}

int budget_prefetch(struct budget *b, unsigned policy, uint64_t units, uint64_t now_ns)
{
	struct unit_account *a = unit_at(b, policy);
	int ret = quota_prefetch(a->quota, units, now_ns);

	unit_tick(b, a, now_ns);
	return ret;
}

void budget_refund(struct budget *b, unsigned policy, uint64_t units)
{
	quota_refund(unit_at(b, policy)->quota, units);
	unit_wake(b, unit_at(b, policy));
}

void budget_forgo(struct budget *b, unsigned policy)
{
	quota_forgo(unit_at(b, policy)->quota);
}

int budget_period(struct budget *b, unsigned policy, uint64_t period, uint64_t now_ns)
{
	return unit_period(b, unit_at(b, policy), period, now_ns);
}

/* Lists the times of living neighbours, advanced by our own clock. Returns their number. */
static unsigned list_words(const struct budget *b, uint64_t now_ns)
{
	unsigned n = 0;

	for (unsigned e = 0; e < b->book.n_edges; e++) {
		struct time_word word = b->links[e].received.time;

		if (word.grade == TIME_NOTHING || !book_alive(&b->book, e, now_ns))
			continue;
		word.time_ns += now_ns - b->book.links[e].received_ns;
		b->words[n++] = word;
	}
	return n;
}

bool budget_clock(struct budget *b, uint64_t wall_ns, bool synchronised, uint64_t now_ns)
{
	const struct time_reading reading = {
		.wall_ns = wall_ns, .boot_ns = now_ns, .synchronised = synchronised};
	bool first = !b->keeper.read;
	bool changed = timekeeper_look(&b->keeper, &reading, b->words, list_words(b, now_ns));

	if (first)
		tree_hurry(b);
	return changed;
}

void budget_remembers(struct budget *b, uint64_t wall_ns)
{
	timekeeper_remembers(&b->keeper, wall_ns);
}

const struct timekeeper *budget_timekeeper(const struct budget *b)
{
	return &b->keeper;
}

void budget_ask(struct budget *b, unsigned policy, unsigned peer)
{
	struct unit_account *a = unit_at(b, policy);
	unsigned edge = book_edge(&b->book, peer);

	if (edge == b->book.n_edges || a->edges[edge].asked || a->edges[edge].differs)
		return;
	a->edges[edge].asked = true;
	a->ask_ns = 0;
	unit_wake(b, a);
}

void budget_lose(struct budget *b, enum book_closure closure, uint64_t now_ns)
{
	book_closes(&b->book, closure);
	for (unsigned i = 0; i < b->book.n; i++)
		unit_lose(b, unit_at(b, i), now_ns);
}

uint64_t budget_total(const struct budget *b, unsigned policy)
{
	return unit_at(b, policy)->total;
}

int budget_set_share(struct budget *b, unsigned policy, uint64_t share, uint64_t now_ns)
{
	int ret = unit_set_drawn(b, unit_at(b, policy), share, now_ns);

	if (ret == 0)
		unit_tick(b, unit_at(b, policy), now_ns);
	return ret;
}

uint64_t budget_tick(struct budget *b, uint64_t now_ns)
{
	if (now_ns < b->next_ns)
		return b->next_ns;
	b->next_ns = tree_tick(b, now_ns);
	for (unsigned i = 0; i < b->book.n; i++) {
		struct unit_account *a = unit_at(b, i);

		if (now_ns >= a->next_ns)
			unit_tick(b, a, now_ns);
		else if (a->next_ns < b->next_ns)
			b->next_ns = a->next_ns;
	}
	return b->next_ns;
}

struct quota_view budget_view(const struct budget *b, unsigned policy, uint64_t now_ns)
{
	const struct unit_account *a = unit_at(b, policy);
	struct quota_view view = quota_view(a->quota, now_ns);
	uint64_t used = view.spent - view.prepaid;
	uint64_t most = a->total > used ? a->total - used : 0;

	/* A report can be of another tree, or another total. A drawn policy has no total. */
	if (!a->policy.drawn) {
		view.remaining = min_u64(view.remaining, most);
		view.group.remaining = min_u64(view.group.remaining, most);
	}
	return view;
}

uint64_t budget_in_flight(const struct budget *b, unsigned policy)
{
	uint64_t sum = 0;

	for (unsigned e = 0; e < b->book.n_edges; e++)
		sum += quota_edge(unit_at(b, policy)->quota, e).in_flight;
	return sum;
}

unsigned budget_peers(const struct budget *b)
{
	return b->book.n_edges;
}

struct budget_peer budget_peer(const struct budget *b, unsigned i)
{
	const struct tree_link *link = &b->links[i];

	return (struct budget_peer){
		.peer = b->book.links[i].peer,
		.linked = link->linked,
		.parent = i == b->parent,
		.alive = b->book.links[i].alive,
		.round_trip_ns = link->round_trip_ns,
	};
}

bool budget_is_root(const struct budget *b)
{
	return b->route.root == b->book.position;
}

unsigned budget_root(const struct budget *b)
{
	return b->book.index_of[b->route.root];
}

const struct budget_counters *budget_counters(const struct budget *b)
{
	return &b->counters;
}
