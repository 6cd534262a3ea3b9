/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "conserve/conserve.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/bitmap.h"
#include "conserve/private.h"

/* A degree that leaves a group of hundreds a few steps apart. */
#define SPARSE_DEGREE 6

#define HASH_BASIS UINT64_C(0xcbf29ce484222325)
#define HASH_PRIME UINT64_C(0x100000001b3)

uint64_t conserve_share(const struct overlay_params *roster, unsigned self, uint64_t limit)
{
	unsigned before = 0;

	for (unsigned i = 0; i < roster->n; i++)
		before += roster->ids[i] < roster->ids[self];
	return limit / roster->n + (before < limit % roster->n);
}

/* A record is of no use where edges lead elsewhere. */
static uint64_t fingerprint(const struct conserve *c)
{
	const struct overlay_edge *edges = overlay_edges(c->overlay, c->position);
	uint64_t hash = (HASH_BASIS ^ c->overlay->ids[c->position]) * HASH_PRIME;

	for (unsigned e = 0; e < c->n_edges; e++)
		hash = (hash ^ c->overlay->ids[edges[e].peer]) * HASH_PRIME;
	return hash;
}

static int create_links(struct conserve *c, uint64_t now_ns)
{
	const struct overlay_params *roster = &c->params.overlay;
	unsigned n = roster->n;

	c->links = calloc(c->n_edges + 1, sizeof(*c->links));
	c->amounts = calloc(c->n_edges + 1, sizeof(*c->amounts));
	c->neighbours = calloc(c->n_edges + 1, sizeof(*c->neighbours));
	c->edge_of = calloc(n, sizeof(*c->edge_of));
	c->dead = calloc(bitmap_words(n), sizeof(*c->dead));
	if (!c->links || !c->amounts || !c->neighbours || !c->edge_of || !c->dead)
		return -ENOMEM;
	for (unsigned i = 0; i < n; i++) {
		unsigned e = overlay_edge_to(
			c->overlay, c->position, overlay_position(c->overlay, roster->ids[i]));

		c->edge_of[i] = e;
		if (e < c->n_edges)
			c->links[e] = (struct link){.peer = i, .heard_ns = now_ns, .alive = true};
	}
	return 0;
}

static int create_overlay(struct conserve *c, uint64_t now_ns)
{
	struct overlay_params params = c->params.overlay;
	int ret;

	if (params.degree == 0)
		params.degree = params.n <= CONSERVE_MESH ? params.n - 1 : SPARSE_DEGREE;
	ret = overlay_create(&params, &c->overlay);
	if (ret)
		return ret;
	c->position = overlay_position(c->overlay, params.ids[c->params.self]);
	c->n_edges = c->overlay->n_edges[c->position];
	c->mesh = c->overlay->degree[c->position] == params.n - 1;
	c->fingerprint = fingerprint(c);
	return create_links(c, now_ns);
}

static int compare(const void *a, const void *b)
{
	uint32_t x = ((const struct conserve_record *)a)->id;
	uint32_t y = ((const struct conserve_record *)b)->id;

	return (x > y) - (x < y);
}

/* A copy, by id. */
static struct conserve_record *sorted_records(const struct conserve_params *params)
{
	size_t size = sizeof(struct conserve_record);
	struct conserve_record *sorted = calloc((size_t)params->n_records + 1, size);

	if (sorted && params->n_records > 0) {
		memcpy(sorted, params->records, params->n_records * size);
		qsort(sorted, params->n_records, size, compare);
	}
	return sorted;
}

static const struct conserve_record *find_record(
	const struct conserve_record *sorted, unsigned n, uint32_t id)
{
	struct conserve_record key = {.id = id};

	return bsearch(&key, sorted, n, sizeof(*sorted), compare);
}

static void sort_accounts(struct conserve *c)
{
	for (unsigned i = 0; i < c->n; i++)
		c->by_id[i] = c->accounts[i];
	accounts_sort(c->by_id, c->n);
}

/* Of policies that are gone there are records only. */
static int create_gone(struct conserve *c, const struct conserve_record *record, uint64_t now_ns)
{
	struct conserve_policy policy = {.id = record->id};
	int ret = account_create(c, &policy, record, false, now_ns, &c->accounts[c->n]);

	if (ret)
		return ret;
	c->accounts[c->n++]->gone = true;
	return 0;
}

static int create_queues(struct conserve *c, unsigned n)
{
	int ret = queue_init(&c->unsettled, n);

	if (ret == 0)
		ret = queue_init(&c->news, n);
	for (unsigned e = 0; ret == 0 && e < c->n_edges; e++)
		ret = queue_init(&c->links[e].due, n);
	return ret;
}

static int fill_accounts(struct conserve *c, const struct conserve_params *params, uint64_t now_ns)
{
	struct conserve_record *records = sorted_records(params);
	int ret = records ? 0 : -ENOMEM;

	for (; ret == 0 && c->n < params->n_policies; c->n += ret == 0) {
		const struct conserve_policy *policy = &params->policies[c->n];

		ret = account_create(c, policy, find_record(records, params->n_records, policy->id),
			params->blank, now_ns, &c->accounts[c->n]);
	}
	c->n_policies = c->n;
	sort_accounts(c);
	for (unsigned i = 0; ret == 0 && i < params->n_records; i++)
		if (!accounts_find(c->by_id, c->n_policies, params->records[i].id))
			ret = create_gone(c, &params->records[i], now_ns);
	sort_accounts(c);
	free(records);
	return ret;
}

static int create_accounts(
	struct conserve *c, const struct conserve_params *params, uint64_t now_ns)
{
	size_t room = (size_t)params->n_policies + params->n_records + 1;
	int ret = create_queues(c, params->n_policies + params->n_records);

	c->accounts = calloc(room, sizeof(struct account *));
	c->by_id = calloc(room, sizeof(struct account *));
	if (ret || !c->accounts || !c->by_id)
		return -ENOMEM;
	ret = fill_accounts(c, params, now_ns);
	for (unsigned i = 1; ret == 0 && i < c->n; i++)
		if (c->by_id[i]->policy.id == c->by_id[i - 1]->policy.id)
			ret = -EINVAL;
	if (ret == 0)
		accounts_begin(c);
	return ret;
}

static bool params_valid(const struct conserve_params *params)
{
	return params->overlay.n > 0 && params->self < params->overlay.n && params->lease_ns > 0 &&
	       params->epoch > 0 && params->epoch >> (62 - EPOCH_BITS) == 0 &&
	       params->promise <= 100;
}

int conserve_create(const struct conserve_params *params, uint64_t now_ns, struct conserve **out)
{
	struct conserve *c;
	int ret;

	if (!params_valid(params))
		return -EINVAL;
	c = calloc(1, sizeof(*c));
	if (!c)
		return -ENOMEM;
	c->params = *params;
	c->next_epoch = params->epoch << EPOCH_BITS;
	ret = create_overlay(c, now_ns);
	if (ret == 0)
		ret = create_accounts(c, params, now_ns);
	/* What was borrowed is the caller's. */
	c->params.overlay.ids = c->overlay ? c->overlay->ids : NULL;
	c->params.self = c->position;
	c->params.overlay.pairs = NULL;
	c->params.policies = NULL;
	c->params.records = NULL;
	if (ret) {
		conserve_destroy(c);
		return ret;
	}
	*out = c;
	return 0;
}

void conserve_destroy(struct conserve *c)
{
	if (!c)
		return;
	for (unsigned i = 0; c->accounts && i < c->n; i++)
		account_destroy(c->accounts[i]);
	queue_free(&c->unsettled);
	queue_free(&c->news);
	for (unsigned e = 0; c->links && e < c->n_edges; e++)
		queue_free(&c->links[e].due);
	free(c->accounts);
	free(c->by_id);
	free(c->links);
	free(c->amounts);
	free(c->neighbours);
	free(c->edge_of);
	free(c->dead);
	free(c->record);
	overlay_destroy(c->overlay);
	free(c);
}

void conserve_target(struct conserve *c, unsigned policy, double target)
{
	c->accounts[policy]->measure.demand = target;
}

void conserve_measure(struct conserve *c, unsigned policy, const struct gdrl_measure *measure)
{
	c->accounts[policy]->measure = *measure;
}

uint64_t conserve_limit(
	const struct conserve *c, unsigned policy, uint64_t now_ns, uint64_t *until_ns)
{
	return ledger_usable(c->accounts[policy]->ledger, now_ns, until_ns);
}

uint64_t conserve_burst(const struct conserve *c, unsigned policy, uint64_t burst, uint64_t usable)
{
	uint64_t limit = c->accounts[policy]->policy.limit;

	if (limit == 0 || usable >= limit)
		return usable > 0 ? burst : 0;
	return (uint64_t)((unsigned __int128)burst * usable / limit);
}

unsigned conserve_edges(const struct conserve *c)
{
	return c->n_edges;
}

struct conserve_view conserve_view(const struct conserve *c, unsigned policy, uint64_t now_ns)
{
	const struct account *a = c->accounts[policy];
	struct conserve_view view = {
		.share = conserve_share(&c->params.overlay, c->params.self, a->policy.limit),
		.balance = ledger_balance(a->ledger),
		.free = ledger_free(a->ledger),
		.target = a->policy.indicator ? account_state(c, a).q : a->measure.demand,
		.blank = ledger_blank(a->ledger),
	};

	view.usable = ledger_usable(a->ledger, now_ns, &view.until_ns);
	for (unsigned e = 0; e < c->n_edges; e++) {
		struct ledger_view edge = ledger_view(a->ledger, e);

		view.in_flight += edge.in_flight;
		view.promised += edge.locked - edge.granted;
		view.adopted += edge.adopted;
	}
	return view;
}

struct conserve_edge_view conserve_edge(
	const struct conserve *c, unsigned policy, unsigned edge, uint64_t now_ns)
{
	const struct link *link = &c->links[edge];

	return (struct conserve_edge_view){
		.peer = link->peer,
		.spare = overlay_edges(c->overlay, c->position)[edge].spare,
		.in_use = link->in_use,
		.alive = now_ns - link->heard_ns < c->params.lease_ns,
		.ledger = ledger_view(c->accounts[policy]->ledger, edge),
	};
}

const struct conserve_counters *conserve_counters(const struct conserve *c)
{
	return &c->counters;
}
