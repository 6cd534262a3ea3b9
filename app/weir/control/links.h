/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The ports' links, and how the clocks of devices run that say when packets came in: looked at now
 * and then. Ends of wires that follow each other (link_follow.h) are taken down and brought up by a
 * thread of its own, as drivers and the kernel take their time over it. Control.
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
	bool taken_down; /* by us, as the other end of its wire is down */
};

/* One port's link on its way up or down. */
struct link_switch {
	const struct port *port;
	bool up;
	int ret;
};

struct links {
	struct link_state ports[CONFIG_PORTS_MAX];
	uint64_t seen_ns; /* when they were looked at */
	bool follows;     /* some wire does: what is below is there */
	struct link_follow wires[CONFIG_WIRES_MAX];
	struct offload thread;
	struct offload_job job;
	struct link_switch under_way; /* the thread's, while it has a port */
};

/*
 * The module of start-up, after the ports': links of wires that follow are brought up, also where a
 * Weir that crashed has left them down. 0 or a negative errno.
 */
int links_start(struct instance *inst);

/* Brings up what was taken down. */
void links_stop(struct instance *inst);

/* See port_when_gone(). */
const char *links_when_gone(const struct instance *inst, unsigned port);

/* What becomes readable when a link has been switched, or -1. */
int links_fd(const struct instance *inst);

/* When to look again; UINT64_MAX where nothing follows, as others' turns are enough. */
uint64_t links_next(const struct instance *inst);

/* Looks, if that is due. Never leaves news to tell. */
bool links_run(struct instance *inst, uint64_t now_ns);

#endif
