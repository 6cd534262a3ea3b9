/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * A drop-tail queue that drains at a rate, in virtual time.
 */
#ifndef WEIR_SIM_LINK_QUEUE_H
#define WEIR_SIM_LINK_QUEUE_H

#include <stdint.h>

#define LINK_QUEUE_FULL UINT64_MAX
#define LINK_QUEUE_BYTE UINT64_C(8000000000) /* nanoseconds × bit/s */

/* Zeroed before use. */
struct link_queue {
	uint64_t busy_until_ns;
	uint64_t left_over; /* nanoseconds × bit/s: remainder, which keeps the rate exact */
};

/*
 * Returns the time at which a packet that arrives at now_ns has left the link, or LINK_QUEUE_FULL
 * if the queue has no room for its bytes. The unsent part of the current packet counts as queued.
 * An idle link accepts any packet. A packet has less than 2 MB; calls come in order of time.
 */
static inline uint64_t link_queue_pass(struct link_queue *queue, uint64_t now_ns, uint64_t bytes,
	uint64_t rate_bps, uint64_t room_bytes)
{
	unsigned __int128 waiting; /* bytes, in the unit of left_over */
	uint64_t work;

	if (queue->busy_until_ns <= now_ns)
		*queue = (struct link_queue){.busy_until_ns = now_ns};
	waiting = (unsigned __int128)(queue->busy_until_ns - now_ns) * rate_bps;
	work = bytes * LINK_QUEUE_BYTE;
	if (waiting && waiting + work > (unsigned __int128)room_bytes * LINK_QUEUE_BYTE)
		return LINK_QUEUE_FULL;
	work += queue->left_over;
	queue->busy_until_ns += work / rate_bps;
	queue->left_over = work % rate_bps;
	return queue->busy_until_ns;
}

#endif
