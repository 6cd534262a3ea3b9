/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Receives a burst of a path, and gathers the headers of its frames. The worker's own thread.
 */
#ifndef WEIR_APP_RX_H
#define WEIR_APP_RX_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include <rte_branch_prediction.h>
#include <rte_common.h>
#include <rte_ethdev.h>

#include "drop/drop_reason.h"
#include "in_flight.h"
#include "police/sample.h"
#include "rx_burst.h"
#include "worker_data.h"

/* One burst in 2^TIMED_LOG2 is timed. */
#define TIMED_LOG2 4

/* Returns true if a burst is timed. A Weyl sequence, so that alternating paths are all timed. */
static inline bool rx_is_timed(uint64_t burst)
{
	return (uint32_t)burst * POLICE_WEYL <= UINT32_MAX >> TIMED_LOG2;
}

/* Receives from a queue that several workers share; the owner's time is counted. */
uint16_t rx_receive_shared(
	struct worker *worker, struct path *path, struct rte_mbuf **mbufs, bool *busy);

/* Returns the number of packets received, at most BURST. Sets *busy if any packet moved. */
static inline uint16_t rx_receive(
	struct worker *worker, struct path *path, struct rte_mbuf **mbufs, bool *busy)
{
	if (unlikely(path->rings != NULL))
		return rx_receive_shared(worker, path, mbufs, busy);
	return rte_eth_rx_burst(path_rx(path), path->queue, mbufs, BURST);
}

/* Notes the places of the frames of burst->mbufs. */
void rx_gather(struct rx_burst *burst, uint16_t n);

/* Gathers the headers of frames with several segments if the first one is too short for them. */
void rx_gather_chains(struct rx_burst *burst, uint16_t n);

/*
 * rx_gather() from the notes of in_flight_fetch_headers(). Copies all of them, because a few wide
 * stores cost less than to count the packets.
 */
static inline void rx_gather_noted(
	struct rx_burst *burst, const struct in_flight_burst *noted, uint16_t n)
{
	memcpy(burst->frames.data, noted->data, sizeof(noted->data));
	memcpy(burst->frames.len, noted->len, sizeof(noted->len));
	burst->len = burst->frames.len;
	if (unlikely(noted->segments != 1))
		rx_gather_chains(burst, n);
}

/* --- altered frames --------------------------------------------------------------------------- */

/*
 * Frames that a device has merged or cut, and frames that are too long for the ports of the wire.
 * The worker's own thread.
 */

/* Returns the reason to drop a gathered frame for any policy, or DROP_REASONS. */
enum drop_reason altered_frame(const struct path *path, const struct rx_burst *burst, uint16_t i);

/* Drops and counts these frames. Gathers the others again and returns their number. */
uint16_t altered_drop(struct worker *worker, struct path *path, struct rx_burst *burst, uint16_t n);

static inline uint32_t altered_frame_max(const struct path *path)
{
	return __atomic_load_n(&path->frame_max, __ATOMIC_RELAXED);
}

/*
 * Returns false if a gathered burst has no such frame for sure. The compiler finds the longest
 * frame with vectors; a comparison for each frame would be a branch.
 */
static inline bool altered_is_possible(
	const struct path *path, const struct rx_burst *burst, uint16_t n)
{
	uint32_t longest = 0;

	if (path->cuts)
		return true;
	for (uint16_t i = 0; i < n; i++)
		longest = RTE_MAX(longest, burst->len[i]);
	return longest > altered_frame_max(path);
}

#endif
