/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * One run: the scenario's world at one instant of virtual time.
 */
#include "sim.h"

#include <errno.h>
#include <stdlib.h>

#include "node.h"
#include "path.h"
#include "record.h"

#define PROGRESS_STEPS 200

/* Records the local limits at the end of an interval. */
static void end_bin(void *world, void *object, uint64_t argument)
{
	struct sim *sim = world;
	struct limiter_view view;

	(void)object;
	(void)argument;
	for (unsigned p = 0; p < sim->scenario->group.n_policies; p++)
		for (unsigned i = 0; i < sim->scenario->n_limiters; i++) {
			node_view(&sim->nodes[i], p, &view);
			record_limit(sim, p, i, view.local_limit);
		}
	record_end_bin(sim);
	events_after(&sim->events, sim->scenario->interval_ns, end_bin, NULL, 0);
}

/* argument: number of limiters that have the new limit already. */
static void inject_fault(void *world, void *object, uint64_t argument)
{
	struct sim *sim = world;
	struct fault *fault = object;
	struct node *node = &sim->nodes[fault->limiter];

	switch (fault->kind) {
	case FAULT_PARTITION:
		sim->net.side = fault->side;
		break;
	case FAULT_HEAL:
		sim->net.side = NULL;
		break;
	case FAULT_NETWORK:
		sim->network = &fault->network;
		break;
	case FAULT_CRASH:
		path_lose(sim, node);
		node_crash(sim, node);
		break;
	case FAULT_RESTART:
		path_lose(sim, node);
		node_crash(sim, node);
		sim->events.error = node_start(sim, node, 0);
		break;
	case FAULT_PAUSE:
		node_pause(sim, node, fault->for_ns);
		break;
	case FAULT_LIMIT:
		node_change_limit(
			sim, &sim->nodes[fault->limiters[argument]], fault->policy, &fault->terms);
		if (++argument < fault->n_limiters)
			events_after(&sim->events, fault->every_ns, inject_fault, fault, argument);
		break;
	}
}

static int net_create(struct sim *sim)
{
	sim->network = &sim->scenario->network;
	sim->net.events = &sim->events;
	sim->net.receive = node_receive;
	sim->net.out = calloc(sim->scenario->n_limiters, sizeof(*sim->net.out));
	return sim->net.out ? 0 : -ENOMEM;
}

static int build_sim(struct sim *sim)
{
	int ret = record_create(sim);

	if (ret == 0)
		ret = spent_create(sim);
	if (ret == 0)
		ret = net_create(sim);
	if (ret == 0)
		ret = nodes_create(sim);
	if (ret == 0)
		ret = flows_create(sim);
	for (unsigned i = 0; i < sim->scenario->n_faults; i++)
		events_at(&sim->events, sim->scenario->faults[i].at_ns, inject_fault,
			&sim->scenario->faults[i], 0);
	events_at(&sim->events, sim->scenario->interval_ns, end_bin, NULL, 0);
	return ret ? ret : sim->events.error;
}

int sim_run(struct sim *sim, const struct scenario *scenario, uint64_t seed, sim_progress progress,
	void *context)
{
	uint64_t end = scenario->duration_ns, step = end / PROGRESS_STEPS + 1;
	int ret;

	*sim = (struct sim){.scenario = scenario, .seed = seed, .released = path_release};
	for (unsigned i = 0; i < STREAMS; i++)
		prng_seed(&sim->prng[i], seed * STREAMS + i);
	ret = build_sim(sim);
	for (uint64_t until = step; ret == 0; until += step) {
		events_run(&sim->events, until < end ? until : end, sim);
		ret = sim->events.error;
		if (progress)
			progress(context, until < end ? (double)until / (double)end : 1);
		if (until >= end)
			break;
	}
	sim->events.now_ns = end;
	return ret;
}

void sim_free(struct sim *sim)
{
	flows_free(sim);
	nodes_free(sim);
	simnet_free(&sim->net);
	spent_free(sim);
	record_free(sim);
	events_free(&sim->events);
}
