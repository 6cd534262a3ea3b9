/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The links of the ports, and the clocks of devices that stamp packets, both checked regularly.
 * Ends of wires that follow each other are taken down and brought up by a separate
 * thread, because drivers and the kernel take time for it. Control.
 */
#ifndef WEIR_APP_LINKS_H
#define WEIR_APP_LINKS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/time.h"
#include "offload/offload.h"
#include "policy/config.h"

/*
 * A wire whose ends are up and down together ("link": "follow"). When one end has lost its link for
 * a while, Weir takes the other one down, so that its neighbour notices. It comes back up when the
 * link has been back for a while. Weir takes down at most one end, so the two never wait for each
 * other. Pure: control passes the links and the time.
 */

#define LINK_FOLLOW_DOWN_NS  (SECOND_NS / 2)  /* after this time without it a link is lost */
#define LINK_FOLLOW_UP_NS    (2 * SECOND_NS)  /* after this time with it a link is back */
#define LINK_FOLLOW_GRACE_NS (10 * SECOND_NS) /* time for a link that was brought up */

/* Wait before an end that is up against our will is taken down again; it doubles each time. */
#define LINK_FOLLOW_AGAIN_NS      SECOND_NS
#define LINK_FOLLOW_AGAIN_MOST_NS (64 * SECOND_NS)

enum link_end { LINK_END_A, LINK_END_B, LINK_END_NONE };

enum link_act { LINK_LEAVE, LINK_TAKE_DOWN, LINK_BRING_UP };

struct link_follow {
	enum link_end down;  /* end that we have taken down */
	enum link_end lost;  /* end whose link seems lost */
	bool returns;        /* the link of the end that is not `down` seems to be back */
	uint64_t since_ns;   /* when `lost` or `returns` changed */
	enum link_end fresh; /* end that was brought up, and has not been up since */
	bool starting;       /* both ends were, because the wire has just begun */
	uint64_t fresh_ns;   /* time of that */
	uint64_t again_ns;   /* until then the end `down` is left alone if it is up */
	uint64_t wait_ns;    /* length of that wait */
};

void link_follow_begin(struct link_follow *follow, uint64_t now_ns);

/* Returns the action that is due, on *end; it counts as done. up[] is by enum link_end. */
enum link_act link_follow_turn(
	struct link_follow *follow, const bool up[2], uint64_t now_ns, enum link_end *end);

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
