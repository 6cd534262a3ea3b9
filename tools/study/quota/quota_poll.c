/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The other contenders. Centralised: each request goes to the root. Polling: a node without units
 * requests the held and used amounts of all others, and divides the total again by rate. That is
 * the baseline of "A tree-based protocol for enforcing quotas in clouds", section V.A. It polls one
 * node after the other, like a remote procedure call and as the paper's response times suggest; or
 * all at the same time.
 *
 * Polling is modelled at its best: only one node polls at a time, nothing is lost, and reserves of
 * others are granted when there is nothing else. Rates are ours (quota/pace.h). The rates of
 * equation 4 depend on reallocations, and forget nodes that were not among the last few: then polls
 * cause polls.
 */
#include <errno.h>
#include <stdlib.h>

#include "quota/quota.h"
#include "quota_case.h"

int quota_central(const struct quota_case *c, struct quota_result *result)
{
	struct quota_trace trace;

	*result = (struct quota_result){0};
	quota_trace_start(&trace, c);
	for (;;) {
		unsigned hops;

		quota_trace_next(&trace);
		hops = quota_distance(trace.node, 0);
		for (unsigned i = 0; i < 2 && hops; i++)
			quota_count(result, c, hops, result->units);
		result->stalled_ns += 2.0 * hops * (double)c->hop_ns;
		if (trace.units > c->total - result->units)
			return 0;
		result->units += trace.units;
		result->requests++;
	}
}

#define MILLI_NS 1e12 /* thousandths a second */

struct holder {
	uint64_t units;
	struct pace pace;
};

struct polling {
	const struct quota_case *c;
	struct holder *holders;
	uint64_t *weights, *parts;
	uint64_t ready_ns; /* when the one under way ends */
	double response_ns;
	bool at_once;
};

static uint64_t poll_response_time(const struct polling *p, unsigned node)
{
	uint64_t sum = 0, most = 0;

	for (unsigned i = 0; i < p->c->n; i++) {
		uint64_t there = 2 * quota_distance(node, i) * p->c->hop_ns;

		sum += there;
		most = there > most ? there : most;
	}
	return p->at_once ? most : sum;
}

/* Returns the units that a node keeps, because it spends them while units are fetched. */
static uint64_t units_to_reserve(const struct polling *p, const struct holder *h, uint64_t now_ns)
{
	uint64_t rate = pace_rate(&h->pace, now_ns, QUOTA_MEMORY_NS);
	uint64_t units = (uint64_t)((double)rate * p->response_ns / MILLI_NS);

	return units < h->units ? units : h->units;
}

/* Divides all units again, by rate. Returns true if there is enough for a node's request. */
static bool reallocate_units(struct polling *p, unsigned node, uint64_t wanted, uint64_t now_ns)
{
	uint64_t pool = 0, kept = 0;
	bool all;

	for (unsigned i = 0; i < p->c->n; i++) {
		const struct holder *h = &p->holders[i];

		kept += i == node ? 0 : units_to_reserve(p, h, now_ns);
		pool += h->units;
		p->weights[i] = pace_rate(&h->pace, now_ns, QUOTA_MEMORY_NS);
	}
	if (pool < wanted)
		return false;
	all = pool - kept < 2 * wanted;
	pool -= wanted;
	for (unsigned i = 0; i < p->c->n; i++) {
		uint64_t stays = all || i == node ? 0 : units_to_reserve(p, &p->holders[i], now_ns);

		p->holders[i].units = stays;
		pool -= stays;
	}
	quota_divide(pool, p->weights, p->c->n, p->parts);
	for (unsigned i = 0; i < p->c->n; i++)
		p->holders[i].units += p->parts[i] + (i == node ? wanted : 0);
	return true;
}

/* Counts request, reply and new allocation, to and from each of the others. */
static void count_poll(struct polling *p, struct quota_result *result, unsigned node)
{
	for (unsigned i = 0; i < p->c->n; i++)
		for (unsigned k = 0; k < 3 && i != node; k++)
			quota_count(result, p->c, quota_distance(node, i), result->units);
}

static bool poll_request(
	struct polling *p, const struct quota_trace *t, struct quota_result *result)
{
	struct holder *h = &p->holders[t->node];

	if (t->units > h->units) {
		uint64_t took = poll_response_time(p, t->node), begin = t->at_ns;

		/* Other polls are in progress; this one begins when they are done. */
		if (begin < p->ready_ns)
			begin = p->ready_ns;
		p->ready_ns = begin + took;
		count_poll(p, result, t->node);
		result->reallocations++;
		result->response_ns += (double)took;
		result->stalled_ns += (double)(p->ready_ns - t->at_ns);
		p->response_ns = result->response_ns / (double)result->reallocations;
		if (!reallocate_units(p, t->node, t->units, p->ready_ns))
			return false;
	}
	h->units -= t->units;
	pace_spend(&h->pace, t->units, t->at_ns, QUOTA_MEMORY_NS);
	result->units += t->units;
	result->requests++;
	return true;
}

int quota_poll(const struct quota_case *c, bool at_once, struct quota_result *result)
{
	struct polling p = {.c = c, .at_once = at_once};
	struct quota_trace trace;
	bool room;

	*result = (struct quota_result){0};
	p.holders = calloc(c->n, sizeof(*p.holders));
	p.weights = calloc(c->n, sizeof(*p.weights));
	p.parts = calloc(c->n, sizeof(*p.parts));
	room = p.holders && p.weights && p.parts;
	quota_trace_start(&trace, c);
	for (unsigned i = 0; room && i < c->n; i++)
		p.holders[i].units = c->shares[i];
	while (room) {
		quota_trace_next(&trace);
		if (!poll_request(&p, &trace, result))
			break;
	}
	free(p.parts);
	free(p.weights);
	free(p.holders);
	result->exceeded = result->units > c->total;
	return room ? 0 : -ENOMEM;
}
