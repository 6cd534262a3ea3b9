/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "links.h"

#include <errno.h>
#include <stdlib.h>

#include <rte_cycles.h>

#include "base/time.h"
#include "instance.h"
#include "log.h"

#define PERIOD_NS (SECOND_NS / 4)

int links_start(struct instance *inst)
{
	inst->links = calloc(1, sizeof(*inst->links));
	return inst->links ? 0 : -ENOMEM;
}

void links_stop(struct instance *inst)
{
	free(inst->links);
	inst->links = NULL;
}

/* How the devices' clocks run that packets are stamped by. */
static void watch_clocks(struct instance *inst)
{
	for (unsigned i = 0; i < inst->config->n_ports; i++) {
		uint64_t before = rte_rdtsc(), nic;

		if (inst->ports[i].timestamps && port_clock(&inst->ports[i], &nic) == 0)
			nic_clock_read(&inst->nic_clocks[i], nic, before, rte_rdtsc());
	}
}

static void watch_links(struct instance *inst)
{
	for (unsigned i = 0; i < inst->config->n_ports; i++) {
		struct link_state *state = &inst->links->ports[i];
		bool up;

		if (port_link(&inst->ports[i], &up, &state->speed_mbps))
			continue;
		if (state->known && state->up == up)
			continue;
		state->changes += state->known;
		state->known = true;
		state->up = up;
		log_info("port %s: link %s", inst->config->ports[i].name, up ? "up" : "down");
	}
}

bool links_run(struct instance *inst, uint64_t now_ns)
{
	if (now_ns - inst->links->seen_ns < PERIOD_NS)
		return false;
	watch_links(inst);
	watch_clocks(inst);
	inst->links->seen_ns = now_ns;
	return false;
}
