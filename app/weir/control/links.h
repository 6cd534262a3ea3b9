/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The ports' links, and how the clocks of devices run that say when packets came in: looked at now
 * and then. Control.
 */
#ifndef WEIR_APP_LINKS_H
#define WEIR_APP_LINKS_H

#include <stdbool.h>
#include <stdint.h>

#include "policy/config.h"

struct instance;

struct link_state {
	bool known, up;
	uint32_t speed_mbps;
	uint64_t changes;
};

struct links {
	struct link_state ports[CONFIG_PORTS_MAX];
	uint64_t seen_ns; /* when they were looked at */
};

/* The module of start-up: 0 or -ENOMEM. */
int links_start(struct instance *inst);
void links_stop(struct instance *inst);

/* Looks, if that is due. Never leaves news to tell. */
bool links_run(struct instance *inst, uint64_t now_ns);

#endif
