/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Who counts. A peer counts only while both hold: we hear it, and it confirms that it hears us. So
 * a path that is cut in one direction alone makes both sides give up the other's part, and the sum
 * of what they use stays within the limit.
 *
 * A peer is known by its epoch, random at each of its starts. A new epoch is believed when a
 * datagram of it echoes our own epoch and a recent tick of ours: nobody but a holder of the key who
 * has lately heard us can make one, so datagrams recorded earlier (from an earlier start of either
 * side) never pass, and neither clocks nor disks are needed for it.
 */
#ifndef WEIR_GOSSIP_MEMBERSHIP_H
#define WEIR_GOSSIP_MEMBERSHIP_H

#include <stdbool.h>
#include <stdint.h>

#define REPLAY_WINDOW 64 /* datagrams that may arrive out of order */

struct peer {
	uint32_t id; /* FNV-1a of its name */
	bool known;  /* `epoch` is believed */
	bool alive;  /* counts, as of the last membership_expire() */
	uint64_t epoch;
	uint32_t tick;         /* newest tick of that epoch that has reached us */
	uint64_t heard_ns;     /* when the tick last advanced */
	uint64_t confirmed_ns; /* when our newest tick that it confirmed was sent */
	bool confirmed;
	uint64_t counter;       /* highest counter received directly */
	uint64_t window;        /* bit i: counter - i was received */
	uint64_t retired_epoch; /* the one believed before; never believed again */
	uint64_t claimed_epoch; /* said, not yet proven; 0 none */
	uint32_t claimed_tick;
	uint64_t restarts; /* epochs believed after the first */
};

/* a is newer than b. */
static inline bool serial_newer(uint32_t a, uint32_t b)
{
	return (int32_t)(a - b) > 0;
}

/* Takes note of a counter of the believed epoch; false when it is a replay or too old to tell. */
bool peer_counter_fresh(struct peer *peer, uint64_t counter);

/* Begins to believe an epoch. */
void peer_believe(struct peer *peer, uint64_t epoch, uint32_t tick, uint64_t now_ns);

/* The tick of a believed epoch has reached us, directly or through others. */
void peer_heard(struct peer *peer, uint32_t tick, uint64_t now_ns);

/* It has confirmed what we sent at that time. */
void peer_confirmed(struct peer *peer, uint64_t sent_ns);

/* Decides again whether the peer counts; true when that changed. */
bool peer_expire(struct peer *peer, uint64_t now_ns, uint64_t timeout_ns);

#endif
