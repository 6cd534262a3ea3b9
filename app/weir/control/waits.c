/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Workers that wait at the sockets of their ports while no packets come (rx_wait.h).
 */
#include "waits.h"

#include <errno.h>
#include <stdlib.h>

#include <rte_common.h>

#include "base/time.h"
#include "instance.h"
#include "port.h"
#include "rx_wait.h"
#include "worker.h"

/* The watch of workers (watch.h) takes a worker for stalled after a few such times. */
#define LONGEST_NS (25 * MS_NS)

/* A part of "fail_after": the programs of a wire see that the loop of a worker still runs. */
#define FAIL_AFTER_PART 4

/*
 * Time after which a worker ends its loop at least once, in ns. 0 on a wire with "distribute": its
 * workers receive packets from each other, which wakes none of them.
 */
static uint64_t longest_wait(const struct config *config)
{
	uint64_t longest = LONGEST_NS;

	for (unsigned i = 0; i < config->n_wires; i++) {
		const struct wire *wire = &config->wires[i];

		if (wire->distribute)
			return 0;
		if (wire_has_programs(config, wire))
			longest = RTE_MIN(longest, wire->fail_after_ns / FAIL_AFTER_PART);
	}
	return longest;
}

static int socket_of(const struct instance *inst, const struct path *path)
{
	const struct wire *wire = &inst->config->wires[path->wire];
	unsigned port = path->direction == DIRECTION_A_TO_B ? wire->a : wire->b;

	return port_socket(&inst->ports[port], path->queue);
}

/* Leaves a worker as it is, and so it pauses, if one of its paths has no socket. */
static int open_wait(struct instance *inst, struct worker *worker, uint64_t longest_ns)
{
	int *sockets = calloc(worker->n_paths + 1, sizeof(*sockets)), ret = 0;
	unsigned n = 0;

	if (!sockets)
		return -ENOMEM;
	while (n < worker->n_paths && (sockets[n] = socket_of(inst, &worker->paths[n])) >= 0)
		n++;
	if (n == worker->n_paths)
		ret = rx_wait_create(sockets, n, longest_ns, &worker->wait);
	free(sockets);
	return ret;
}

int waits_start(struct instance *inst)
{
	uint64_t longest_ns = longest_wait(inst->config);
	int ret = 0;

	if (inst->config->idle == IDLE_POLL || longest_ns == 0)
		return 0;
	for (unsigned i = 0; ret == 0 && i < inst->config->n_workers; i++)
		ret = open_wait(inst, &inst->workers[i], longest_ns);
	if (ret)
		waits_stop(inst);
	return ret;
}

void waits_stop(struct instance *inst)
{
	for (unsigned i = 0; i < inst->config->n_workers; i++) {
		rx_wait_destroy(inst->workers[i].wait);
		inst->workers[i].wait = NULL;
	}
}

void waits_wake(struct instance *inst)
{
	for (unsigned i = 0; i < inst->config->n_workers; i++)
		worker_wake(&inst->workers[i]);
}
