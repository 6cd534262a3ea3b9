/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "sim.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "flow.h"
#include "net.h"
#include "node.h"
#include "record.h"

#define PROGRESS_STEPS 200

void sim_at(struct sim *sim, uint64_t at_ns, event_fn fn, void *object, uint64_t argument)
{
	if (at_ns < sim->now_ns)
		at_ns = sim->now_ns;
	if (events_add(&sim->events, at_ns, fn, object, argument))
		sim->error = -ENOMEM;
}

void sim_after(struct sim *sim, uint64_t delay_ns, event_fn fn, void *object, uint64_t argument)
{
	sim_at(sim, sim->now_ns + delay_ns, fn, object, argument);
}

void sim_problem(struct sim *sim, const char *format, ...)
{
	va_list args;
	int n;

	if (sim->problem[0])
		return;
	n = snprintf(sim->problem, sizeof(sim->problem), "at %.6f s: ", (double)sim->now_ns / 1e9);
	va_start(args, format);
	vsnprintf(sim->problem + n, sizeof(sim->problem) - (size_t)n, format, args);
	va_end(args);
}

static void end_bin(struct sim *sim, void *object, uint64_t argument)
{
	(void)object;
	(void)argument;
	record_end_bin(sim);
	sim_after(sim, sim->scenario->interval_ns, end_bin, NULL, 0);
}

static void happen(struct sim *sim, void *object, uint64_t argument)
{
	const struct fault *fault = object;
	struct node *node = &sim->nodes[fault->limiter];

	(void)argument;
	switch (fault->kind) {
	case FAULT_PARTITION:
		net_partition(sim, fault->side);
		break;
	case FAULT_HEAL:
		net_partition(sim, NULL);
		break;
	case FAULT_NETWORK:
		net_change(sim, &fault->network);
		break;
	case FAULT_CRASH:
		node_crash(sim, node);
		break;
	case FAULT_RESTART:
		node_crash(sim, node);
		sim->error = node_start(sim, node, 0);
		break;
	case FAULT_PAUSE:
		node_pause(sim, node, fault->for_ns);
		break;
	}
}

static int build(struct sim *sim)
{
	int ret = record_create(sim);

	if (ret == 0)
		ret = net_create(sim);
	if (ret == 0)
		ret = nodes_create(sim);
	if (ret == 0)
		ret = flows_create(sim);
	for (unsigned i = 0; i < sim->scenario->n_faults; i++)
		sim_at(sim, sim->scenario->faults[i].at_ns, happen, &sim->scenario->faults[i], 0);
	sim_at(sim, sim->scenario->interval_ns, end_bin, NULL, 0);
	return ret ? ret : sim->error;
}

int sim_run(struct sim *sim, const struct scenario *scenario, uint64_t seed, sim_progress progress,
	void *context)
{
	uint64_t end = scenario->duration_ns, step = end / PROGRESS_STEPS + 1;
	struct event event;
	int ret;

	*sim = (struct sim){.scenario = scenario, .seed = seed};
	for (unsigned i = 0; i < STREAMS; i++)
		prng_seed(&sim->prng[i], seed * STREAMS + i);
	ret = build(sim);
	for (uint64_t until = step; ret == 0; until += step) {
		while (sim->error == 0 &&
			events_take(&sim->events, until < end ? until : end, &event)) {
			sim->now_ns = event.at_ns;
			sim->events_done++;
			event.fn(sim, event.object, event.argument);
		}
		ret = sim->error;
		if (progress)
			progress(context, until < end ? (double)until / (double)end : 1);
		if (until >= end)
			break;
	}
	sim->now_ns = end;
	return ret;
}

void sim_free(struct sim *sim)
{
	flows_free(sim);
	nodes_free(sim);
	net_free(sim);
	record_free(sim);
	events_free(&sim->events);
}
