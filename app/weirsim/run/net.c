/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "net.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "world/link_queue.h"
#include "node.h"

/* Tails of wide-area delays: finite mean and variance, and now and then ten times the mean. */
#define PARETO_ALPHA 2.5

struct net {
	struct network network;
	const uint32_t *side;   /* NULL: one network */
	struct link_queue *out; /* n_limiters: a sender's own bottleneck */
	struct net_totals totals;
};

struct flight {
	unsigned to, from;
	size_t len;
	uint8_t buf[];
};

int net_create(struct sim *sim)
{
	struct net *net = calloc(1, sizeof(*net));

	sim->net = net;
	if (!net)
		return -ENOMEM;
	net->network = sim->scenario->network;
	net->out = calloc(sim->scenario->n_limiters, sizeof(*net->out));
	return net->out ? 0 : -ENOMEM;
}

void net_partition(struct sim *sim, const uint32_t *side)
{
	sim->net->side = side;
}

void net_change(struct sim *sim, const struct network *network)
{
	sim->net->network = *network;
}

struct net_totals net_totals(const struct sim *sim)
{
	return sim->net->totals;
}

/* Box and Muller's, one of the two. */
static double normal(struct prng *prng)
{
	double u = 1 - prng_unit(prng), v = prng_unit(prng);

	return sqrt(-2 * log(u)) * cos(2 * M_PI * v);
}

uint64_t net_delay(const struct network *n, struct prng *prng)
{
	double delay = (double)n->delay_ns, spread = (double)n->spread_ns;

	switch (n->kind) {
	case DELAY_CONSTANT:
		return n->delay_ns;
	case DELAY_UNIFORM:
		delay += spread * prng_unit(prng);
		break;
	case DELAY_NORMAL:
		delay += spread * normal(prng);
		break;
	case DELAY_EXPONENTIAL:
		delay -= spread * log(1 - prng_unit(prng));
		break;
	case DELAY_PARETO:
		/* Its mean is alpha / (alpha - 1) of its least; what is above that has the mean. */
		delay += spread * (PARETO_ALPHA - 1) *
			 (pow(1 - prng_unit(prng), -1 / PARETO_ALPHA) - 1);
		break;
	}
	return delay > 0 ? (uint64_t)delay : 0;
}

static void land(struct sim *sim, void *object, uint64_t argument)
{
	struct flight *flight = object;
	const uint32_t *side = sim->net->side;

	(void)argument;
	/* What was under way when the network parted does not arrive. */
	if (side && side[flight->from] != side[flight->to])
		sim->net->totals.lost++;
	else if (!node_receive(sim, &sim->nodes[flight->to], flight->buf, flight->len))
		sim->net->totals.lost++;
	free(flight);
}

void net_free(struct sim *sim)
{
	/* What is still under way belongs to its event. */
	for (size_t i = 0; i < sim->events.n; i++)
		if (sim->events.heap[i].fn == land)
			free(sim->events.heap[i].object);
	if (sim->net)
		free(sim->net->out);
	free(sim->net);
}

/* When a datagram has left its sender, or LINK_QUEUE_FULL. */
static uint64_t depart(struct sim *sim, unsigned from, size_t bytes)
{
	struct net *net = sim->net;

	if (net->network.rate_bps == 0)
		return sim->now_ns;
	return link_queue_pass(&net->out[from], sim->now_ns, bytes, net->network.rate_bps,
		net->network.queue_bytes);
}

static void fly(
	struct sim *sim, unsigned from, unsigned to, uint64_t at, const uint8_t *buf, size_t len)
{
	struct prng *prng = &sim->prng[STREAM_NETWORK];
	const struct network *network = &sim->net->network;
	struct flight *flight = malloc(sizeof(*flight) + len);

	if (!flight) {
		sim->error = -ENOMEM;
		return;
	}
	flight->from = from;
	flight->to = to;
	flight->len = len;
	memcpy(flight->buf, buf, len);
	at += net_delay(network, prng);
	if (network->reorder > 0 && prng_unit(prng) < network->reorder)
		at += network->reorder_ns;
	sim_at(sim, at, land, flight, 0);
}

void net_send(struct sim *sim, unsigned from, unsigned to, const uint8_t *buf, size_t len)
{
	struct prng *prng = &sim->prng[STREAM_NETWORK];
	struct net *net = sim->net;
	uint64_t at = depart(sim, from, len + UDP_OVERHEAD);

	net->totals.datagrams++;
	net->totals.bytes += len + UDP_OVERHEAD;
	if (at == LINK_QUEUE_FULL || (net->side && net->side[from] != net->side[to]) ||
		(net->network.loss > 0 && prng_unit(prng) < net->network.loss)) {
		net->totals.lost++;
		return;
	}
	fly(sim, from, to, at, buf, len);
	if (net->network.duplicate > 0 && prng_unit(prng) < net->network.duplicate)
		fly(sim, from, to, at, buf, len);
}
