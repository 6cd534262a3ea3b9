/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Decides by a peer's echoes if news that was sent to the peer can have arrived.
 *
 * News is sent twice, in two consecutive ticks. A peer that receives our ticks from no other
 * limiter echoes each of them, unless its answer is lost or later than the next one. So news is
 * followed until an echo of its tick or a later one arrives. If the echoes omit two consecutive
 * ticks before that, both copies can be lost, and the news is sent again. If only the answers were
 * lost, this costs some unnecessary records; silence would cost the peer seconds. Two losses are
 * not detected: that of a single datagram of several in one tick, and that of a second copy that
 * had to wait because its turn was full. Such news waits for its refresh.
 *
 * The followed news has two parts: one waits for its echo, and one gathers news sent meanwhile, and
 * waits next. So memory does not depend on the delay of the path. One thread.
 */
#ifndef WEIR_GOSSIP_ECHO_H
#define WEIR_GOSSIP_ECHO_H

#include <stdbool.h>
#include <stdint.h>

#include "group/membership.h"

#define ECHO_TELLINGS 2

/* Ticks are ours. */
struct echo {
	uint32_t newest; /* newest echoed tick */
	uint32_t left;   /* last tick of a gap of ECHO_TELLINGS or more ticks without an echo */
	uint32_t gathered_from, waits_from, waits_to;
	bool any, any_left;     /* newest and left are set */
	bool gathered, waiting; /* there is news in these parts */
};

/* Result for the waiting part: it still waits, it has arrived, or it can be lost. */
enum echo_verdict { ECHO_WAIT, ECHO_HEARD, ECHO_UNHEARD };

/* Gathers news that is sent in this tick. */
static inline void echo_gather(struct echo *echo, uint32_t tick)
{
	if (!echo->gathered)
		echo->gathered_from = tick;
	echo->gathered = true;
}

/* Takes the echo of a tick. After ECHO_HEARD and ECHO_UNHEARD nothing waits any more. */
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

/* Moves news gathered up to this tick to the waiting part, if that is empty. True: moved. */
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
