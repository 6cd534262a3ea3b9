/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The network of all simulations, in virtual time.
 */
#include "world/simnet.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The tail of wide-area delays: finite mean and variance, occasionally ten times the mean. */
#define PARETO_ALPHA 2.5

struct datagram_under_way {
	struct simnet *net;
	unsigned from, to;
	size_t len;
	uint8_t bytes[];
};

/* The Box-Muller transform; uses one of its two values. */
static double normal_deviate(struct prng *prng)
{
	double u = 1 - prng_unit(prng), v = prng_unit(prng);

	return sqrt(-2 * log(u)) * cos(2 * M_PI * v);
}

uint64_t network_delay(const struct network *n, struct prng *prng)
{
	double delay = (double)n->delay_ns, spread = (double)n->spread_ns;

	switch (n->kind) {
	case DELAY_CONSTANT:
		return n->delay_ns;
	case DELAY_UNIFORM:
		delay += spread * prng_unit(prng);
		break;
	case DELAY_NORMAL:
		delay += spread * normal_deviate(prng);
		break;
	case DELAY_EXPONENTIAL:
		delay -= spread * log(1 - prng_unit(prng));
		break;
	case DELAY_PARETO:
		/*
		 * The mean is alpha / (alpha - 1) times the least value; `spread` is the mean of
		 * the part above it.
		 */
		delay += spread * (PARETO_ALPHA - 1) *
			 (pow(1 - prng_unit(prng), -1 / PARETO_ALPHA) - 1);
		break;
	}
	return delay > 0 ? (uint64_t)delay : 0;
}

bool simnet_joins(const struct simnet *net, unsigned a, unsigned b)
{
	return !net->side || net->side[a] == net->side[b];
}

static void count_lost(struct simnet *net, size_t len)
{
	net->totals.lost++;
	net->totals.lost_bytes += len + UDP_OVERHEAD;
}

/* Delivers a datagram, unless a partition has separated the nodes in the meantime. */
static void simnet_arrive(void *world, void *object, uint64_t argument)
{
	struct datagram_under_way *d = object;

	(void)argument;
	if (!simnet_joins(d->net, d->from, d->to) ||
		!d->net->receive(world, d->from, d->to, d->bytes, d->len))
		count_lost(d->net, d->len);
	free(d);
}

void simnet_carry(struct simnet *net, unsigned from, unsigned to, uint64_t at_ns, const void *bytes,
	size_t len)
{
	struct datagram_under_way *d = malloc(sizeof(*d) + len);

	if (!d) {
		net->events->error = -ENOMEM;
		return;
	}
	*d = (struct datagram_under_way){net, from, to, len};
	memcpy(d->bytes, bytes, len);
	if (events_at(net->events, at_ns, simnet_arrive, d, 0))
		free(d);
}

static uint64_t arrival_time(const struct network *link, struct prng *prng, uint64_t at)
{
	at += network_delay(link, prng);
	if (link->reorder > 0 && prng_unit(prng) < link->reorder)
		at += link->reorder_ns;
	return at;
}

const struct network *network_between(const struct network *network, unsigned a, unsigned b)
{
	for (unsigned i = network->n_pairs; i-- > 0;) {
		const uint32_t *sets = network->pairs[i].sets;

		if ((sets[a] & 1 && sets[b] & 2) || (sets[a] & 2 && sets[b] & 1))
			return &network->pairs[i].link;
	}
	return network;
}

void simnet_send(struct simnet *net, const struct network *network, struct prng *prng,
	unsigned from, unsigned to, const uint8_t *bytes, size_t len)
{
	const struct network *link = network_between(network, from, to);
	const uint64_t now_ns = net->events->now_ns;
	/* The time at which the datagram has left its sender, or LINK_QUEUE_FULL. */
	const uint64_t at = network->rate_bps == 0
				    ? now_ns
				    : link_queue_pass(&net->out[from], now_ns, len + UDP_OVERHEAD,
					      network->rate_bps, network->queue_bytes);

	net->totals.datagrams++;
	net->totals.bytes += len + UDP_OVERHEAD;
	if (at == LINK_QUEUE_FULL || !simnet_joins(net, from, to) ||
		(link->loss > 0 && prng_unit(prng) < link->loss)) {
		count_lost(net, len);
		return;
	}
	simnet_carry(net, from, to, arrival_time(link, prng, at), bytes, len);
	if (link->duplicate > 0 && prng_unit(prng) < link->duplicate)
		simnet_carry(net, from, to, arrival_time(link, prng, at), bytes, len);
}

void simnet_free(struct simnet *net)
{
	for (size_t i = 0; net->events && i < net->events->n; i++)
		if (net->events->heap[i].fn == simnet_arrive)
			free(net->events->heap[i].object);
	free(net->out);
}
