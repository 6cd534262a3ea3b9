/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * What a peer's echoes say of the news that it was sent: whether it can have heard any of it.
 *
 * News goes out twice, in two ticks on end. Of a peer that hears of us from nobody else, each tick
 * that it hears is echoed, unless its answer is lost, or late behind the next. So news is followed
 * until an echo of its time or later arrives. If the echoes before leave out two ticks on end, both
 * tellings may be lost, and it is told again: in vain if it was the answers that were lost, which
 * costs some records, where to keep silent would cost the peer seconds. Two losses are
 * not seen: that of a single datagram of a tick's many, and that of a second telling that had to
 * wait behind more than a turn holds. Such news waits for its refresh.
 *
 * What is followed is in two parts: one that waits for its echo, and one that gathers what is sent
 * meanwhile, and waits next. So memory does not depend on the way's length. One thread.
 */
#ifndef WEIR_GOSSIP_ECHO_H
#define WEIR_GOSSIP_ECHO_H

#include <stdbool.h>
#include <stdint.h>

#include "group/membership.h"

#define ECHO_TELLINGS 2

/* Ticks are ours. */
struct echo {
	uint32_t newest; /* that was echoed */
	uint32_t left;   /* the last of those left out, ECHO_TELLINGS or more on end */
	uint32_t gathered_from, waits_from, waits_to;
	bool any, any_left;     /* whether newest and left are anything */
	bool gathered, waiting; /* whether there is news in these parts */
};

/* What is to become of the part that waits. */
enum echo_verdict { ECHO_WAIT, ECHO_HEARD, ECHO_UNHEARD };

/* News is sent in this tick: it is gathered. */
static inline void echo_gather(struct echo *echo, uint32_t tick)
{
	if (!echo->gathered)
		echo->gathered_from = tick;
	echo->gathered = true;
}

/* An echo arrives. With ECHO_HEARD and ECHO_UNHEARD nothing waits any more. */
static inline enum echo_verdict echo_take(struct echo *echo, uint32_t tick)
{
	if (echo->any && !serial_newer(tick, echo->newest))
		return ECHO_WAIT;
	if (echo->any && tick - echo->newest > ECHO_TELLINGS) {
		echo->left = tick - 1;
		echo->any_left = true;
	}
	echo->newest = tick;
	echo->any = true;
	if (!echo->waiting || serial_newer(echo->waits_to, tick))
		return ECHO_WAIT;
	echo->waiting = false;
	return echo->any_left && !serial_newer(echo->waits_from, echo->left) ? ECHO_UNHEARD
									     : ECHO_HEARD;
}

/* Whether what was gathered, up to this tick, is to wait now; it does then. */
static inline bool echo_advance(struct echo *echo, uint32_t tick)
{
	if (echo->waiting || !echo->gathered)
		return false;
	echo->waits_from = echo->gathered_from;
	echo->waits_to = tick;
	echo->waiting = true;
	echo->gathered = false;
	return true;
}

#endif
