/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * A burst that has been received, and nothing more, while its headers are on their way from memory:
 * the worker decides the one before meanwhile. Nothing has been asked of its packets, so that to
 * policies, limits and whoever waits for a worker's turn they are still in the device's queue.
 *
 * Only a burst that is half full at least is left waiting: behind it there are likely more packets,
 * and the next look at any queue finishes it. What comes in less is all that there was, and is
 * decided at once. The worker's own thread.
 */
#ifndef WEIR_APP_IN_FLIGHT_H
#define WEIR_APP_IN_FLIGHT_H

#include <stdbool.h>
#include <stdint.h>

#include <rte_common.h>
#include <rte_mbuf.h>
#include <rte_prefetch.h>

#include "worker.h"

/* Packets of a burst behind which there are likely more. */
#define IN_FLIGHT_LEAST (BURST / 2)

struct in_flight {
	struct rte_mbuf *mbufs[2][BURST]; /* of the burst that waits, and for the next */
	struct path *path;                /* by which it came */
	uint16_t n;                       /* packets that wait; 0: nobody does */
	uint16_t least; /* that are left waiting: IN_FLIGHT_LEAST, but for who measures */
	uint8_t at;     /* where in mbufs[] */
} __rte_cache_aligned;

/* Where the next burst is received. */
static inline struct rte_mbuf **in_flight_room(struct in_flight *flight)
{
	return flight->mbufs[!flight->at];
}

/* Begins to fetch what in_flight_fetch_headers() reads. */
static inline void in_flight_fetch(struct rte_mbuf *const *mbufs, uint16_t n)
{
#pragma GCC unroll 4
	for (size_t i = 0; i < n; i++)
		rte_prefetch0(mbufs[i]);
}

/* Begins to fetch the headers of packets. */
static inline void in_flight_fetch_headers(struct rte_mbuf *const *mbufs, uint16_t n)
{
#pragma GCC unroll 4
	for (size_t i = 0; i < n; i++)
		rte_prefetch0(rte_pktmbuf_mtod(mbufs[i], const uint8_t *));
}

/* The n packets in its room wait from now on; nobody else does. */
static inline void in_flight_put(struct in_flight *flight, struct path *path, uint16_t n)
{
	flight->at = !flight->at;
	flight->path = path;
	flight->n = n;
}

#endif
