/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * A wire whose ends are up and down together ("link": "follow"). When one end has lost its link for
 * a while, Weir takes the other one down, so that its neighbour notices. It comes back up when the
 * link has been back for a while. Weir takes down at most one end, so the two never wait for each
 * other. Pure: control passes the links and the time.
 */
#ifndef WEIR_APP_LINK_FOLLOW_H
#define WEIR_APP_LINK_FOLLOW_H

#include <stdbool.h>
#include <stdint.h>

#include "base/time.h"

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

#endif
