/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The clock of a simulated limiter, which has an offset from the simulation's and drifts.
 */
#ifndef WEIRSIM_NODE_CLOCK_H
#define WEIRSIM_NODE_CLOCK_H

#include <stdint.h>

#include "base/time.h"
#include "node.h"

/* Returns the time of the node's clock at now_ns of the simulation. */
static inline uint64_t node_clock(const struct sim *sim, const struct node *node, uint64_t now_ns)
{
	const struct limiter_config *config = &sim->scenario->limiters[node->index];
	int64_t drift = (int64_t)(config->drift_ppm * 1e-6 * (double)now_ns);

	return CLOCK_START + now_ns + (uint64_t)((int64_t)config->offset_ns + drift);
}

/* Time of the simulation at which the node's clock shows clock_ns, or slightly later. */
static inline uint64_t node_time(const struct sim *sim, const struct node *node, uint64_t clock_ns)
{
	const struct limiter_config *config = &sim->scenario->limiters[node->index];
	int64_t since = (int64_t)(clock_ns - CLOCK_START) - (int64_t)config->offset_ns;
	uint64_t at;

	if (since <= 0)
		return 0;
	at = (uint64_t)((double)since / (1 + config->drift_ppm * 1e-6)) + 1;
	/* Rounding errors add up to a nanosecond at most. */
	while (node_clock(sim, node, at) < clock_ns)
		at++;
	return at;
}

/* Returns the node's wall clock at now_ns: Unix time, which is 0 at the start of a run. */
static inline uint64_t node_wall_ns(const struct sim *sim, const struct node *node, uint64_t now_ns)
{
	return node_clock(sim, node, now_ns) - CLOCK_START;
}

static inline int64_t node_wall_s(const struct sim *sim, const struct node *node, uint64_t now_ns)
{
	return (int64_t)(node_wall_ns(sim, node, now_ns) / SECOND_NS);
}

#endif
