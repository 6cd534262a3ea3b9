/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "gossip_world.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/hash.h"

#define IP_UDP 28 /* bytes of IPv4 and UDP headers */

static const uint8_t key[DATAGRAM_KEY] = "the key of a group under test";

static void *or_abort(void *memory)
{
	if (!memory)
		abort();
	return memory;
}

static void name_all(struct world *w, unsigned n, unsigned n_policies)
{
	uint32_t *ids = or_abort(calloc(n, sizeof(*ids)));
	char name[32];

	for (unsigned i = 0; i < n; i++) {
		snprintf(name, sizeof(name), "limiter-%u", i);
		ids[i] = name_hash(name);
	}
	if (roster_create(ids, n, &w->roster))
		abort();
	free(ids);
	w->policies = or_abort(calloc(n_policies + 1, sizeof(*w->policies)));
	for (unsigned i = 0; i < n_policies; i++) {
		snprintf(name, sizeof(name), "policy-%u", i);
		w->policies[i] = name_hash(name);
	}
}

enum gossip_verdict world_deliver(
	struct world *w, unsigned from, unsigned to, uint8_t *buf, size_t len)
{
	enum gossip_verdict verdict = gossip_receive(w->nodes[to].gossip, w->now_ns, buf, len);

	if (w->sees_taken)
		w->sees_taken(w, from, to, buf, verdict);
	return verdict;
}

static bool receive_gossip(void *world, unsigned from, unsigned to, uint8_t *buf, size_t len)
{
	struct world *w = world;

	if (!w->nodes[to].gossip || w->nodes[from].side != w->nodes[to].side)
		return false;
	if (w->now_ns < w->nodes[to].pauses_ns)
		simnet_carry(&w->net, from, to, w->nodes[to].pauses_ns, buf, len);
	else
		world_deliver(w, from, to, buf, len);
	return true;
}

static struct keyring *world_keyring(const struct world *w, unsigned i)
{
	const struct roster *roster = w->nodes[i].roster;
	struct keyring_params params = {.roster = roster,
		.self = roster_find(roster, w->roster->ids[i]),
		.n_keys = 1,
		.keys = &key};
	struct keyring *ring = NULL;

	if (w->params.sealed && keyring_create(&params, &ring))
		abort();
	return ring;
}

void world_create(struct world *w, const struct world_params *params)
{
	*w = (struct world){.params = *params, .now_ns = 5000 * MS, .events.newest_first = true};
	w->net = (struct simnet){.events = &w->events, .receive = receive_gossip};
	prng_seed(&w->prng, params->seed);
	name_all(w, params->n, params->n_policies);
	w->nodes = or_abort(calloc(params->n, sizeof(*w->nodes)));
	w->weights = or_abort(
		calloc((size_t)params->n * params->n_policies + 1, sizeof(*w->weights)));
	for (unsigned i = 0; i < params->n; i++) {
		w->nodes[i].roster = w->roster;
		world_start(w, i);
	}
}

void world_destroy(struct world *w)
{
	for (unsigned i = 0; i < w->params.n; i++)
		world_crash(w, i);
	simnet_free(&w->net);
	events_free(&w->events);
	roster_destroy(w->roster);
	free(w->policies);
	free(w->nodes);
	free(w->weights);
}

void world_start(struct world *w, unsigned i)
{
	const struct world_params *p = &w->params;
	struct world_node *node = &w->nodes[i];
	struct gossip_params params = {
		.roster = node->roster,
		.self = roster_find(node->roster, w->roster->ids[i]),
		.n_policies = p->n_policies,
		.policies = w->policies,
		.keyring = node->keyring = world_keyring(w, i),
		.epoch = 1 + i + (uint64_t)p->n * node->starts++,
		.seed = prng_next(&w->prng),
		.branching = p->branching,
		.tick_ns = p->tick_ns,
		.timeout_ns = p->timeout_ns,
		.datagram_max = 1200,
		.estimator = p->study ? GOSSIP_STUDY : p->estimator,
		.demand_max = p->demand_max,
		.study = p->study,
	};

	if (gossip_create(&params, w->now_ns, &node->gossip))
		abort();
	node->next_ns = w->now_ns + WORLD_STEP +
			prng_below(&w->prng, (uint32_t)(p->tick_ns / WORLD_STEP)) * WORLD_STEP;
}

void world_regroup(struct world *w, unsigned i, const struct roster *roster)
{
	struct world_node *node = &w->nodes[i];
	struct keyring *before = node->keyring;

	node->roster = roster;
	node->keyring = world_keyring(w, i);
	if (gossip_regroup(node->gossip, roster, roster_find(roster, w->roster->ids[i]),
		    node->keyring, w->now_ns))
		abort();
	keyring_destroy(before);
}

void world_crash(struct world *w, unsigned i)
{
	gossip_destroy(w->nodes[i].gossip);
	keyring_destroy(w->nodes[i].keyring);
	w->nodes[i].gossip = NULL;
	w->nodes[i].keyring = NULL;
}

void world_set(struct world *w, unsigned i, unsigned policy, double weight)
{
	w->weights[(size_t)i * w->params.n_policies + policy] = weight;
	gossip_set(w->nodes[i].gossip, policy, 1000 * weight, weight);
}

void world_pause(struct world *w, unsigned i, uint64_t ns)
{
	struct world_node *node = &w->nodes[i];

	node->pauses_ns = w->now_ns + ns;
	while (node->next_ns < node->pauses_ns)
		node->next_ns += w->params.tick_ns;
}

static bool datagram_arrives(struct world *w, unsigned from, unsigned to)
{
	if (w->nodes[from].side != w->nodes[to].side || (w->cut && w->cut(w, from, to)))
		return false;
	return prng_unit(&w->prng) >= w->params.loss;
}

static void fly_gossip_datagram(
	struct world *w, unsigned from, unsigned to, const uint8_t *buf, size_t len)
{
	unsigned copies = 1 + (prng_unit(&w->prng) < w->params.repeat);

	w->sent++;
	w->sent_bytes += len + IP_UDP;
	if (w->sees_sent)
		w->sees_sent(w, from, to, buf, len);
	if (!datagram_arrives(w, from, to))
		return;
	while (copies-- > 0) {
		double late = prng_unit(&w->prng) * (double)w->params.jitter_ns;
		uint64_t steps = (w->params.delay_ns + (uint64_t)late) / WORLD_STEP + 1;

		simnet_carry(&w->net, from, to, w->now_ns + steps * WORLD_STEP, buf, len);
	}
}

void world_run(struct world *w, uint64_t ns)
{
	uint8_t buf[DATAGRAM_MAX];
	unsigned to;
	size_t len;

	for (uint64_t end = w->now_ns + ns; w->now_ns < end;) {
		w->now_ns += WORLD_STEP;
		events_run(&w->events, w->now_ns, w);
		if (w->events.error)
			abort();
		for (unsigned i = 0; i < w->params.n; i++) {
			struct world_node *node = &w->nodes[i];

			if (!node->gossip || w->now_ns < node->next_ns)
				continue;
			node->next_ns += w->params.tick_ns;
			for (unsigned p = 0; w->params.enforces && p < w->params.n_policies; p++)
				gossip_enforce(node->gossip, p,
					w->weights[(size_t)i * w->params.n_policies + p]);
			gossip_tick(node->gossip, w->now_ns);
			while ((len = gossip_send(node->gossip, buf, &to)) > 0)
				fly_gossip_datagram(w, i,
					roster_find(w->roster, node->roster->ids[to]), buf, len);
		}
	}
}

unsigned world_at(const struct world *w, unsigned position)
{
	return w->roster->sorted[position].index;
}

double world_truth(const struct world *w, unsigned i, unsigned policy, unsigned *peers)
{
	double sum = 0;

	*peers = 0;
	for (unsigned k = 0; k < w->params.n; k++) {
		if (k == i || !w->nodes[k].gossip || w->nodes[k].side != w->nodes[i].side)
			continue;
		sum += w->weights[(size_t)k * w->params.n_policies + policy];
		(*peers)++;
	}
	return sum;
}
