/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * One limiter's gossip, and the table of functions of an estimator (a way to learn the global
 * sums).
 */
#include "gossip/estimator.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void estimator_accept(
	struct gossip *g, unsigned index, uint64_t epoch, uint32_t tick, uint64_t now_ns)
{
	struct peer *peer;

	g->estimator->forget(g, index);
	peer = g->estimator->find(g, index);
	peer_accept(peer, epoch, tick, now_ns);
	peer->replaced_tick = g->tick;
}

bool estimator_plausible(const struct gossip *g, unsigned limiters, float demand, float weight)
{
	double most = limiters * g->demand_max;

	return g->demand_max == 0 || (fabsf(demand) <= most && fabsf(weight) <= most);
}

void estimator_implausible(struct gossip *g, unsigned sender)
{
	struct peer *peer = g->estimator->find(g, sender);

	g->counters.implausible++;
	if (peer)
		peer->implausible++;
}

bool estimator_rate_valid(float value)
{
	return isfinite(value) && value >= 0;
}

void *regroup_rows(const struct gossip *g, const struct regroup *map, const void *rows, unsigned n,
	size_t size)
{
	size_t width = map->roster->n;
	char *moved = calloc(n * width + 1, size);

	for (size_t i = 0; moved && i < n * width; i++) {
		unsigned from = map->from[i % width];

		if (from != GOSSIP_ADDED)
			memcpy(moved + i * size,
				(const char *)rows + (i / width * g->roster->n + from) * size,
				size);
	}
	return moved;
}

void *remap_rows(const struct remap *map, const void *rows, size_t size)
{
	char *moved = calloc((size_t)map->n + 1, size);

	for (unsigned i = 0; moved && i < map->n; i++)
		if (map->from[i] != GOSSIP_ADDED)
			memcpy(moved + i * size, (const char *)rows + map->from[i] * size, size);
	return moved;
}
