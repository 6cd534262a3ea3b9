/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * A wire whose ends are up and down together ("link": "follow"): when one end has lost its link for
 * a while the other is taken down, so that whoever is there learns of it, and comes back up when
 * the link has been back for a while. One end at most is down by us, so the two never wait for each
 * other. Pure: control tells the links and the time.
 */
#ifndef WEIR_APP_LINK_FOLLOW_H
#define WEIR_APP_LINK_FOLLOW_H

#include <stdbool.h>
#include <stdint.h>

#include "base/time.h"

#define LINK_FOLLOW_DOWN_NS  (SECOND_NS / 2)  /* a link is lost when it has been for so long */
#define LINK_FOLLOW_UP_NS    (2 * SECOND_NS)  /* and back */
#define LINK_FOLLOW_GRACE_NS (10 * SECOND_NS) /* how long one that was brought up may take */

/* When one that was taken down is taken down again if it is up: twice as late each time. */
#define LINK_FOLLOW_AGAIN_NS      SECOND_NS
#define LINK_FOLLOW_AGAIN_MOST_NS (64 * SECOND_NS)

enum link_end { LINK_END_A, LINK_END_B, LINK_END_NONE };

enum link_act { LINK_LEAVE, LINK_TAKE_DOWN, LINK_BRING_UP };

struct link_follow {
	enum link_end down;  /* taken down by us */
	enum link_end lost;  /* whose link seems lost */
	bool returns;        /* the link of the end that is not `down` seems to be back */
	uint64_t since_ns;   /* of either */
	enum link_end fresh; /* brought up, and not seen up since; ... */
	bool starting;       /* or all are, as the wire has just begun */
	uint64_t fresh_ns;   /* when */
	uint64_t again_ns;   /* until when the end that is `down` is left alone if it is up, */
	uint64_t wait_ns;    /* which was so long a wait */
};

void link_follow_begin(struct link_follow *follow, uint64_t now_ns);

/* What is to be done now, at *end, which counts as done. up[] by enum link_end. */
enum link_act link_follow_turn(
	struct link_follow *follow, const bool up[2], uint64_t now_ns, enum link_end *end);

#endif
