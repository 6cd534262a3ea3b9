/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "copies_world.h"

#include <stdlib.h>
#include <string.h>

#define MS     UINT64_C(1000000)
#define BUFFER 1400

struct limiter_policy copies_rates(void)
{
	return (struct limiter_policy){.id = 1,
		.allocator = allocator_find("fps"),
		.limit_bps = COPIES_LIMIT,
		.burst_bytes = 100000,
		.interval_ns = COPIES_TICK,
		.keep_per_second = 0.1,
		.guarantee = LIMITER_HARD};
}

void copies_start(struct copies_world *w, unsigned i)
{
	struct copies_node *node = &w->nodes[i];
	struct copies_store *store = &node->store;
	struct limiter_record records[COPIES_KINDS];
	struct limiter_params params = {.gossip = {.roster = w->roster,
						.self = i == w->copy ? 0 : i,
						.epoch = prng_next(&w->prng) | 1,
						.seed = prng_next(&w->prng),
						.branching = 2,
						.timeout_ns = 500 * MS,
						.datagram_max = BUFFER,
						.estimator = GOSSIP_STATE},
		.policies = w->policies,
		.n_policies = w->n_policies,
		.n_workers = 1,
		.ledger = {.overlay = {.shape = OVERLAY_RANDOM},
			.records = records,
			.recovering = store->lost,
			.durable = true,
			.epoch = ++store->starts,
			.identity = {.low = !store->lost},
			.word = (uint32_t)prng_next(&w->prng) | 1,
			.proof_ns = 500 * MS,
			.lease_ns = 2000 * MS,
			.drift_ppm = 100,
			.promise = 50,
			.timeout_ns = 400 * MS}};

	for (unsigned k = 1; k <= COPIES_KINDS; k++)
		if (store->records[k].len > 0)
			records[params.ledger.n_records++] = (struct limiter_record){
				(enum limiter_record_kind)k, store->records[k].id,
				store->records[k].at, store->records[k].len};
	if (limiter_create(&params, w->now, &node->l))
		abort();
	node->arrived = 0;
}

void copies_stop(struct copies_world *w, unsigned i)
{
	limiter_destroy(w->nodes[i].l);
	w->nodes[i].l = NULL;
}

static void measure(void *context, unsigned policy, struct limiter_sample *sample)
{
	struct copies_world *w = context;

	(void)policy;
	*sample = (struct limiter_sample){
		.arrived_bytes = w->nodes[w->turn].arrived, .slots = w->slots};
}

static int keep(
	void *context, enum limiter_record_kind kind, uint64_t id, const void *bytes, size_t len)
{
	struct copies_record *record = &((struct copies_store *)context)->records[kind];

	if (len > sizeof(record->at))
		abort();
	if (len > 0)
		memcpy(record->at, bytes, len);
	record->id = id;
	record->len = len;
	return 0;
}

static void save(struct copies_world *w, struct copies_node *node)
{
	if (!limiter_uncommitted(node->l) || limiter_save(node->l, keep, &node->store))
		return;
	limiter_committed(node->l, w->now);
	node->store.lost = false;
}

static void send_all(struct copies_world *w, unsigned i)
{
	uint8_t buf[BUFFER];
	unsigned to;
	size_t len;

	while ((len = limiter_send(w->nodes[i].l, buf, &to)) > 0) {
		if (to == 0 && (i == 0 || i == w->copy))
			continue;
		if (to == 0 && w->to_copy)
			to = w->copy;
		if (w->nodes[to].l && (w->loss == 0 || !prng_percent(&w->prng, w->loss)))
			limiter_receive(w->nodes[to].l, w->now, buf, len);
	}
}

void copies_step(struct copies_world *w)
{
	w->now += COPIES_TICK;
	for (unsigned i = 0; i <= w->n; i++) {
		if (!w->nodes[i].l)
			continue;
		w->turn = i;
		w->nodes[i].arrived += i == w->loaded ? COPIES_LIMIT / 8 / COPIES_SECOND : 0;
		limiter_tick(w->nodes[i].l, w->now, measure, w);
	}
	for (unsigned k = 0; k < 2; k++)
		for (unsigned i = 0; i <= w->n; i++) {
			if (!w->nodes[i].l)
				continue;
			save(w, &w->nodes[i]);
			send_all(w, i);
		}
}

double copies_limit(const struct copies_world *w, unsigned i)
{
	struct limiter_view view = {0};

	if (w->nodes[i].l)
		limiter_view(w->nodes[i].l, 0, &view);
	return view.local_limit;
}

double copies_sum(const struct copies_world *w)
{
	double sum = 0;

	for (unsigned i = 0; i <= w->n; i++)
		sum += copies_limit(w, i);
	return sum;
}

bool copies_closed(const struct copies_world *w, unsigned i)
{
	struct limiter_closure closure = limiter_closure(w->nodes[i].l, w->now);

	return closure.closed && closure.reason != BOOK_OPEN;
}

bool copies_reported(const struct copies_world *w, unsigned i)
{
	struct limiter_neighbour neighbour;

	return limiter_neighbour(w->nodes[i].l, 0, &neighbour) && neighbour.twice;
}

void copies_begin(struct copies_world *w, uint64_t seed, unsigned n,
	const struct limiter_policy *policies, unsigned n_policies)
{
	static const uint32_t ids[COPIES_MOST] = {11, 7, 13, 5, 17};

	memset(w, 0, sizeof(*w));
	prng_seed(&w->prng, seed);
	w->n = w->copy = n;
	w->n_policies = n_policies;
	memcpy(w->policies, policies, n_policies * sizeof(*policies));
	if (roster_create(ids, n, &w->roster))
		abort();
	w->now = 1000 * COPIES_TICK;
	for (unsigned i = 0; i < n; i++)
		copies_start(w, i);
}

void copies_end(struct copies_world *w)
{
	for (unsigned i = 0; i <= w->n; i++)
		limiter_destroy(w->nodes[i].l);
	roster_destroy(w->roster);
}
