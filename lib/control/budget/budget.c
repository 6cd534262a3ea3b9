/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "budget/budget.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "budget/private.h"

/*
 * The edges over which units may move. Up to so many limiters all are neighbours; of more each has
 * enough for the tree to find short ones and ways around the dead.
 */
#define MESH_MOST     16
#define SPARSE_DEGREE 8
#define SPARSE_SPARES 2

#define DEGREE_LEAST 2

#define HASH_BASIS UINT64_C(0xcbf29ce484222325)
#define HASH_PRIME UINT64_C(0x100000001b3)

/* A record is of no use where edges lead elsewhere. */
static uint64_t fingerprint(const struct budget *b)
{
	const struct overlay_edge *edges = overlay_edges(b->overlay, b->position);
	uint64_t hash = (HASH_BASIS ^ b->overlay->ids[b->position]) * HASH_PRIME;

	for (unsigned e = 0; e < b->n_edges; e++)
		hash = (hash ^ b->overlay->ids[edges[e].peer]) * HASH_PRIME;
	return hash;
}

static int create_overlay(struct budget *b)
{
	struct overlay_params params = {
		.shape = OVERLAY_RANDOM,
		.ids = b->params.ids,
		.n = b->params.n,
		.degree = SPARSE_DEGREE,
		.spares = SPARSE_SPARES,
	};
	int ret;

	if (params.n <= MESH_MOST) {
		params.degree = params.n - 1;
		params.spares = 0;
	}
	ret = overlay_create(&params, &b->overlay);
	if (ret)
		return ret;
	b->position = overlay_position(b->overlay, params.ids[b->params.self]);
	b->n_edges = b->overlay->n_edges[b->position];
	b->fingerprint = fingerprint(b);
	return 0;
}

static int create_links(struct budget *b)
{
	unsigned n = b->params.n;

	b->links = calloc((size_t)b->n_edges + 1, sizeof(*b->links));
	b->edge_of = calloc(n, sizeof(*b->edge_of));
	b->index_of = calloc(n, sizeof(*b->index_of));
	b->feasible = calloc(n, sizeof(*b->feasible));
	if (!b->links || !b->edge_of || !b->index_of || !b->feasible)
		return -ENOMEM;
	for (unsigned i = 0; i < n; i++) {
		unsigned position = overlay_position(b->overlay, b->params.ids[i]);
		unsigned e = overlay_edge_to(b->overlay, b->position, position);

		b->index_of[position] = i;
		b->edge_of[i] = e;
		if (e < b->n_edges)
			b->links[e].peer = i;
	}
	return 0;
}

static int compare(const void *a, const void *b)
{
	uint32_t x = ((const struct budget_record *)a)->id;
	uint32_t y = ((const struct budget_record *)b)->id;

	return (x > y) - (x < y);
}

/* A copy, by id. */
static struct budget_record *sorted_records(const struct budget_params *params)
{
	size_t size = sizeof(struct budget_record);
	struct budget_record *sorted = calloc((size_t)params->n_records + 1, size);

	if (sorted && params->n_records > 0) {
		memcpy(sorted, params->records, params->n_records * size);
		qsort(sorted, params->n_records, size, compare);
	}
	return sorted;
}

static const struct budget_record *find_record(
	const struct budget_record *sorted, unsigned n, uint32_t id)
{
	struct budget_record key = {.id = id};

	return bsearch(&key, sorted, n, sizeof(*sorted), compare);
}

static void sort_pots(struct budget *b)
{
	for (unsigned i = 0; i < b->n; i++)
		b->by_id[i] = b->pots[i];
	pots_sort(b->by_id, b->n);
}

/* Of policies that are gone there are records only. */
static int fill_gone(struct budget *b, const struct budget_params *params, uint64_t now_ns)
{
	int ret = 0;

	for (unsigned i = 0; ret == 0 && i < params->n_records; i++) {
		if (pots_find(b->by_id, b->n_policies, params->records[i].id))
			continue;
		ret = pot_create_gone(b, &params->records[i], now_ns, &b->pots[b->n]);
		b->n += ret == 0;
	}
	return ret;
}

static int fill_pots(struct budget *b, const struct budget_params *params, uint64_t now_ns)
{
	struct budget_record *records = sorted_records(params);
	int ret = records ? 0 : -ENOMEM;

	for (; ret == 0 && b->n < params->n_policies; b->n += ret == 0) {
		const struct budget_policy *policy = &params->policies[b->n];

		ret = pot_create(b, policy, find_record(records, params->n_records, policy->id),
			params->blank, now_ns, &b->pots[b->n]);
	}
	b->n_policies = b->n;
	sort_pots(b);
	if (ret == 0)
		ret = fill_gone(b, params, now_ns);
	sort_pots(b);
	free(records);
	return ret;
}

static int create_pots(struct budget *b, const struct budget_params *params, uint64_t now_ns)
{
	size_t room = (size_t)params->n_policies + params->n_records + 1;
	int ret = queue_init(&b->unsettled, params->n_policies + params->n_records);

	b->pots = calloc(room, sizeof(struct pot *));
	b->by_id = calloc(room, sizeof(struct pot *));
	b->stirred = calloc(room, sizeof(struct pot *));
	if (ret || !b->pots || !b->by_id || !b->stirred)
		return -ENOMEM;
	ret = fill_pots(b, params, now_ns);
	for (unsigned i = 1; ret == 0 && i < b->n; i++)
		if (b->by_id[i]->policy.id == b->by_id[i - 1]->policy.id)
			ret = -EINVAL;
	for (unsigned i = 0; ret == 0 && i < b->n; i++)
		pot_speaks(b, b->pots[i]);
	return ret;
}

static bool params_valid(const struct budget_params *params)
{
	if (params->n == 0 || params->self >= params->n || params->timeout_ns == 0)
		return false;
	for (unsigned i = 0; i < params->n_policies; i++)
		if (params->policies[i].total > LEDGER_MOST)
			return false;
	return params->epoch > 0 && params->epoch >> (62 - EPOCH_BITS) == 0;
}

static void forget_borrowed(struct budget *b)
{
	b->params.ids = NULL;
	b->params.policies = NULL;
	b->params.records = NULL;
}

int budget_create(const struct budget_params *params, uint64_t now_ns, struct budget **out)
{
	struct budget *b;
	int ret;

	if (!params_valid(params))
		return -EINVAL;
	b = calloc(1, sizeof(*b));
	if (!b)
		return -ENOMEM;
	b->params = *params;
	if (params->degree == 0)
		b->params.degree = BUDGET_DEGREE;
	if (b->params.degree < DEGREE_LEAST)
		b->params.degree = DEGREE_LEAST;
	b->next_epoch = params->epoch << EPOCH_BITS;
	prng_seed(&b->prng, params->seed);
	ret = create_overlay(b);
	if (ret == 0)
		ret = create_links(b);
	if (ret == 0) {
		tree_begin(b, now_ns);
		ret = create_pots(b, params, now_ns);
	}
	forget_borrowed(b);
	if (ret) {
		budget_destroy(b);
		return ret;
	}
	*out = b;
	return 0;
}

void budget_destroy(struct budget *b)
{
	if (!b)
		return;
	for (unsigned i = 0; b->pots && i < b->n; i++)
		pot_destroy(b->pots[i]);
	queue_free(&b->unsettled);
	free(b->pots);
	free(b->by_id);
	free(b->stirred);
	free(b->links);
	free(b->edge_of);
	free(b->index_of);
	free(b->feasible);
	free(b->record);
	overlay_destroy(b->overlay);
	free(b);
}

int budget_spend(struct budget *b, unsigned policy, uint64_t units, uint64_t now_ns)
{
	struct pot *pot = b->pots[policy];
	int ret = quota_spend(pot->quota, units, now_ns);

	pot_stir(b, pot, now_ns);
	return ret;
}

void budget_refund(struct budget *b, unsigned policy, uint64_t units)
{
	quota_refund(b->pots[policy]->quota, units);
	pot_speaks(b, b->pots[policy]);
}

void budget_forgo(struct budget *b, unsigned policy)
{
	quota_forgo(b->pots[policy]->quota);
}

int budget_period(struct budget *b, unsigned policy, uint64_t period, uint64_t now_ns)
{
	return pot_period(b, b->pots[policy], period, now_ns);
}

int budget_set_share(struct budget *b, unsigned policy, uint64_t share, uint64_t now_ns)
{
	int ret = pot_set_drawn(b, b->pots[policy], share, now_ns);

	if (ret == 0)
		pot_stir(b, b->pots[policy], now_ns);
	return ret;
}

uint64_t budget_tick(struct budget *b, uint64_t now_ns)
{
	if (now_ns < b->next_ns)
		return b->next_ns;
	b->next_ns = tree_tick(b, now_ns);
	for (unsigned i = 0; i < b->n; i++) {
		struct pot *pot = b->pots[i];

		if (now_ns >= pot->next_ns)
			pot_stir(b, pot, now_ns);
		else if (pot->next_ns < b->next_ns)
			b->next_ns = pot->next_ns;
	}
	return b->next_ns;
}

struct quota_view budget_view(const struct budget *b, unsigned policy, uint64_t now_ns)
{
	const struct pot *pot = b->pots[policy];
	struct quota_view view = quota_view(pot->quota, now_ns);
	uint64_t used = view.spent - view.pocket;
	uint64_t most = pot->policy.total > used ? pot->policy.total - used : 0;

	/* What was heard may be of another tree, or another total. What is drawn knows none. */
	if (!pot->policy.drawn && view.remaining > most)
		view.remaining = most;
	return view;
}

uint64_t budget_in_flight(const struct budget *b, unsigned policy)
{
	uint64_t sum = 0;

	for (unsigned e = 0; e < b->n_edges; e++)
		sum += quota_edge(b->pots[policy]->quota, e).in_flight;
	return sum;
}

unsigned budget_peers(const struct budget *b)
{
	return b->n_edges;
}

struct budget_peer budget_peer(const struct budget *b, unsigned i)
{
	const struct link *link = &b->links[i];

	return (struct budget_peer){
		.peer = link->peer,
		.linked = link->linked,
		.parent = i == b->parent,
		.alive = link->known,
		.round_trip_ns = link->round_trip_ns,
	};
}

bool budget_is_root(const struct budget *b)
{
	return b->route.root == b->position;
}

unsigned budget_root(const struct budget *b)
{
	return b->index_of[b->route.root];
}

const struct budget_counters *budget_counters(const struct budget *b)
{
	return &b->counters;
}
