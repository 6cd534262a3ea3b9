/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The links of the ports, and the clocks of devices that stamp packets, both checked regularly.
 * Ends of wires that follow each other (link_follow.h) are taken down and brought up by a separate
 * thread, because drivers and the kernel take time for it. Control.
 */
#ifndef WEIR_APP_LINKS_H
#define WEIR_APP_LINKS_H

#include <stdbool.h>
#include <stdint.h>

#include "link_follow.h"
#include "offload/offload.h"
#include "policy/config.h"

struct instance;
struct port;

struct link_state {
	bool known, up;
	bool gone; /* its device was removed: until it is opened again, or a restart */
	uint32_t speed_mbps;
	uint64_t changes;
	bool taken_down; /* by us, because the other end of its wire is down */
};

/* One port's link on its way up or down. */
struct link_switch {
	const struct port *port;
	bool up;
	int ret;
};

struct links {
	struct link_state ports[CONFIG_PORTS_MAX];
	uint64_t seen_ns; /* time of the last look */
	bool follows;     /* a wire does; the members below are used */
	struct link_follow wires[CONFIG_WIRES_MAX];
	struct offload thread;
	struct offload_job job;
	struct link_switch under_way; /* used by the thread while it has a port */
};

/*
 * Start-up module, after the ports'. Brings up links of wires that follow, including those that a
 * crashed Weir left down. Returns 0 or a negative errno.
 */
int links_start(struct instance *inst);

/* Brings up the links that were taken down. */
void links_stop(struct instance *inst);

/* See port_when_gone(). */
const char *links_when_gone(const struct instance *inst, unsigned port);

/* Returns the descriptor that becomes readable when a link has been switched, or -1. */
int links_fd(const struct instance *inst);

/* Returns when to look again; UINT64_MAX if no wire follows: turns of other tasks suffice. */
uint64_t links_next(const struct instance *inst);

/* Looks, if that is due. Returns false. */
bool links_run(struct instance *inst, uint64_t now_ns);

#endif
