/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "links.h"

#include <errno.h>
#include <stdlib.h>

#include <rte_cycles.h>

#include "base/time.h"
#include "box.h"
#include "log.h"

#define PERIOD_NS (SECOND_NS / 4)

int links_start(struct box *box)
{
	box->links = calloc(1, sizeof(*box->links));
	return box->links ? 0 : -ENOMEM;
}

void links_stop(struct box *box)
{
	free(box->links);
	box->links = NULL;
}

/* How the devices' clocks run that packets are stamped by. */
static void watch_clocks(struct box *box)
{
	for (unsigned i = 0; i < box->config->n_ports; i++) {
		uint64_t before = rte_rdtsc(), nic;

		if (box->ports[i].timestamps && port_clock(&box->ports[i], &nic) == 0)
			nic_clock_read(&box->nic_clocks[i], nic, before, rte_rdtsc());
	}
}

static void watch_links(struct box *box)
{
	for (unsigned i = 0; i < box->config->n_ports; i++) {
		struct link_state *state = &box->links->ports[i];
		bool up;

		if (port_link(&box->ports[i], &up, &state->speed_mbps))
			continue;
		if (state->known && state->up == up)
			continue;
		state->changes += state->known;
		state->known = true;
		state->up = up;
		log_info("port %s: link %s", box->config->ports[i].name, up ? "up" : "down");
	}
}

bool links_run(struct box *box, uint64_t now_ns)
{
	if (now_ns - box->links->seen_ns < PERIOD_NS)
		return false;
	watch_links(box);
	watch_clocks(box);
	box->links->seen_ns = now_ns;
	return false;
}
