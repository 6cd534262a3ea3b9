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

#include "worker_data.h"

/* Packets of a burst behind which there are likely more. */
#define IN_FLIGHT_LEAST (BURST / 2)

/* Packets, and where their headers are: in_flight_fetch_headers() fills in the latter. */
struct in_flight_burst {
	struct rte_mbuf *mbufs[BURST];
	const uint8_t *data[BURST]; /* first byte of each frame */
	uint32_t len[BURST];        /* bytes there */
	uint32_t segments;          /* all bits of the frames' numbers of segments */
};

struct in_flight {
	struct in_flight_burst bursts[2]; /* the burst that waits, and room for the next */
	struct path *path;                /* by which it came */
	uint16_t n;                       /* packets that wait; 0: none do */
	uint16_t least; /* packets that may wait: IN_FLIGHT_LEAST, unless a benchmark sets it */
	uint8_t at;     /* which of bursts[] waits */
} __rte_cache_aligned;

/*
 * What was received while another burst is to be worked on comes from memory in four parts, each
 * before a stage of that one's: its mbufs by halves, and then their headers. A CPU has only so many
 * lines on their way at a time, and fewer walks of page tables: with more than these it waits, and
 * works on nothing. Half a burst is less, and has come when the next part is asked for.
 */
struct in_flight_next {
	struct in_flight_burst *burst;
	uint16_t n; /* 0: there is none */
};

/* Where the next burst is received. */
static inline struct in_flight_next in_flight_room(struct in_flight *flight)
{
	struct in_flight_burst *burst = &flight->bursts[!flight->at];

	burst->segments = 0;
	return (struct in_flight_next){.burst = burst};
}

enum in_flight_half { IN_FLIGHT_FIRST, IN_FLIGHT_SECOND };

/* The packets of one half, from `first` up to `end`. */
struct in_flight_part {
	uint16_t first, end;
};

static inline struct in_flight_part in_flight_part(
	const struct in_flight_next *next, enum in_flight_half which)
{
	const uint16_t half = next->n / 2;

	if (which == IN_FLIGHT_FIRST)
		return (struct in_flight_part){0, half};
	return (struct in_flight_part){half, next->n};
}

/* Begins to fetch what in_flight_fetch_headers() reads. */
static inline void in_flight_fetch(const struct in_flight_next *next, enum in_flight_half which)
{
	const struct in_flight_part part = in_flight_part(next, which);

#pragma GCC unroll 4
	for (size_t i = part.first; i < part.end; i++)
		rte_prefetch0(next->burst->mbufs[i]);
}

/* Begins to fetch the headers of packets, and notes where they are. */
static inline void in_flight_fetch_headers(
	const struct in_flight_next *next, enum in_flight_half which)
{
	const struct in_flight_part part = in_flight_part(next, which);
	struct in_flight_burst *burst = next->burst;
	uint32_t segments = 0;

	if (next->n == 0)
		return;
#pragma GCC unroll 4
	for (size_t i = part.first; i < part.end; i++) {
		const struct rte_mbuf *m = burst->mbufs[i];
		const uint8_t *data = rte_pktmbuf_mtod(m, const uint8_t *);

		rte_prefetch0(data);
		burst->data[i] = data;
		burst->len[i] = m->data_len;
		segments |= m->nb_segs;
	}
	burst->segments |= segments;
}

/* The n packets in its room, whose headers are being fetched, wait from now on; no others do. */
static inline void in_flight_put(struct in_flight *flight, struct path *path, uint16_t n)
{
	flight->at = !flight->at;
	flight->path = path;
	flight->n = n;
}

#endif
