/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Detects queues of a port that are of no use.
 */
#include "queues.h"

#include "base/time.h"
#include "event.h"
#include "instance.h"

#define LOOK_NS SECOND_NS

/*
 * Bits that are set for one queue, of the 64 for flows. If a device spread flows over two queues,
 * the other one would have none with a probability of 2^-23.
 */
#define MANY_FLOWS 24

/* Returns the flow bits of a queue, from all workers: several share a queue. */
static uint64_t flows_of(const struct instance *inst, uint16_t port_id, uint16_t queue)
{
	uint64_t flows = 0;

	for (unsigned w = 0; w < inst->config->n_workers; w++) {
		const struct worker *worker = &inst->workers[w];

		for (unsigned i = 0; i < worker->n_paths; i++) {
			const struct path *path = &worker->paths[i];

			if (path->rx_port == port_id && path->queue == queue)
				flows |= __atomic_load_n(&path->flows, __ATOMIC_RELAXED);
		}
	}
	return flows;
}

static unsigned look_at_queues(const struct instance *inst, unsigned port, bool *many)
{
	unsigned used = 0;

	*many = false;
	for (uint16_t q = 0; q < inst->ports[port].queues; q++) {
		uint64_t flows = flows_of(inst, inst->ports[port].id, q);

		used += flows != 0;
		*many |= __builtin_popcountll(flows) >= MANY_FLOWS;
	}
	return used;
}

unsigned queues_used(const struct instance *inst, unsigned port)
{
	bool many;

	return look_at_queues(inst, port, &many);
}

uint64_t queues_next(const struct instance *inst)
{
	return inst->queues.looked_ns + LOOK_NS;
}

static void watch_queues(struct instance *inst, unsigned port)
{
	unsigned queues = inst->ports[port].queues, used;
	bool many;

	if (queues < 2 || inst->queues.said[port])
		return;
	used = look_at_queues(inst, port, &many);
	if (!many || used == queues)
		return;
	inst->queues.said[port] = true;
	event(QUEUES_UNUSED, event_word("port", inst->config->ports[port].name),
		event_count("used", used), event_count("queues", queues));
}

bool queues_run(struct instance *inst, uint64_t now_ns)
{
	if (now_ns < queues_next(inst))
		return false;
	inst->queues.looked_ns = now_ns;
	for (unsigned i = 0; i < inst->config->n_ports; i++)
		watch_queues(inst, i);
	return false;
}
