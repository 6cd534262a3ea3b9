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

/*
 * What was received while another burst is to be worked on comes from memory in four parts, each
 * before a stage of that one's: its mbufs by halves, and then their headers. A CPU has only so many
 * lines on their way at a time, and fewer walks of page tables: with more than these it waits, and
 * works on nothing. Half a burst is less, and has come when the next part is asked for.
 */
struct in_flight_next {
	struct rte_mbuf *const *mbufs;
	uint16_t n; /* 0: there is none */
};

enum in_flight_half { IN_FLIGHT_FIRST, IN_FLIGHT_SECOND };

static inline struct in_flight_next in_flight_half(
	const struct in_flight_next *next, enum in_flight_half which)
{
	const uint16_t first = next->n / 2;

	if (which == IN_FLIGHT_FIRST)
		return (struct in_flight_next){next->mbufs, first};
	return (struct in_flight_next){next->mbufs + first, (uint16_t)(next->n - first)};
}

/* Begins to fetch what in_flight_fetch_headers() reads. */
static inline void in_flight_fetch(const struct in_flight_next *next, enum in_flight_half which)
{
	const struct in_flight_next half = in_flight_half(next, which);

#pragma GCC unroll 4
	for (size_t i = 0; i < half.n; i++)
		rte_prefetch0(half.mbufs[i]);
}

/* Begins to fetch the headers of packets. */
static inline void in_flight_fetch_headers(
	const struct in_flight_next *next, enum in_flight_half which)
{
	const struct in_flight_next half = in_flight_half(next, which);

#pragma GCC unroll 4
	for (size_t i = 0; i < half.n; i++)
		rte_prefetch0(rte_pktmbuf_mtod(half.mbufs[i], const uint8_t *));
}

/* The n packets in its room wait from now on; nobody else does. */
static inline void in_flight_put(struct in_flight *flight, struct path *path, uint16_t n)
{
	flight->at = !flight->at;
	flight->path = path;
	flight->n = n;
}

#endif
