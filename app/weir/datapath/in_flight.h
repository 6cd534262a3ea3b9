/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * A received burst whose headers are being fetched from memory while the worker decides the burst
 * before it. Nothing else has been done with its packets. To policies, limits and threads that wait
 * for a worker's turn, they are still in the device's queue.
 *
 * Only a burst of at least half its size stays in flight. More packets are then likely to follow,
 * and the next poll of any queue finishes it. A smaller burst has emptied the queue, so it is
 * decided immediately. The worker's own thread.
 */
#ifndef WEIR_APP_IN_FLIGHT_H
#define WEIR_APP_IN_FLIGHT_H

#include <stdbool.h>
#include <stdint.h>

#include <rte_common.h>
#include <rte_mbuf.h>
#include <rte_prefetch.h>

#include "worker_data.h"

/* Least packets of a burst that stays in flight. */
#define IN_FLIGHT_LEAST (BURST / 2)

/* Packets and the places of their headers, which in_flight_fetch_headers() fills in. */
struct in_flight_burst {
	struct rte_mbuf *mbufs[BURST];
	const uint8_t *data[BURST]; /* first byte of each frame */
	uint32_t len[BURST];        /* bytes there */
	uint32_t segments;          /* OR of the frames' numbers of segments */
};

struct in_flight {
	struct in_flight_burst bursts[2]; /* the burst in flight, and room for the next */
	struct path *path;                /* path of the burst in flight */
	uint16_t n;                       /* packets in flight; 0: none */
	uint16_t least; /* least packets in flight: IN_FLIGHT_LEAST, except in benchmarks */
	uint8_t at;     /* index in bursts[] of the burst in flight */
} __rte_cache_aligned;

/*
 * A burst that was received while another is being decided. It is fetched in four parts, each
 * before a stage of the other burst: its mbufs in two halves, then their headers in two halves. A
 * CPU can fetch only a limited number of lines at a time, and can do fewer page-table walks. With
 * more than that it stalls. Half a burst is less, and has arrived when the next part begins.
 */
struct in_flight_next {
	struct in_flight_burst *burst;
	uint16_t n; /* 0: there is none */
};

/* Returns the room for the next burst. */
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

/* Begins to fetch the mbufs that in_flight_fetch_headers() reads. */
static inline void in_flight_fetch(const struct in_flight_next *next, enum in_flight_half which)
{
	const struct in_flight_part part = in_flight_part(next, which);

#pragma GCC unroll 4
	for (size_t i = part.first; i < part.end; i++)
		rte_prefetch0(next->burst->mbufs[i]);
}

/* Begins to fetch the headers of packets, and notes their places. */
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

/*
 * Puts the n packets of in_flight_room() in flight; their headers are being fetched. No other burst
 * may be in flight.
 */
static inline void in_flight_put(struct in_flight *flight, struct path *path, uint16_t n)
{
	flight->at = !flight->at;
	flight->path = path;
	flight->n = n;
}

#endif
