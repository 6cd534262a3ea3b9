/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * A burst of packets while it goes through the stages of a worker. The worker's own thread.
 */
#ifndef WEIR_APP_RX_BURST_H
#define WEIR_APP_RX_BURST_H

#include <stdbool.h>
#include <stdint.h>

#include <rte_mbuf.h>

#include "classify/frames.h"
#include "flow/flow_sample.h"
#include "police/sourced.h"
#include "worker_data.h"

/*
 * Bytes of headers that are gathered from a chain of segments: enough for nearly all packets, and
 * enough for the longest chain of IPv6 extension headers that is parsed.
 */
#define GATHER      128
#define GATHER_MOST 2048

/* A sampled packet. Its flow is counted after the burst is transmitted. */
struct sampled {
	struct flow_sample *sample;
	uint64_t bytes; /* including packets that it stands for */
	uint32_t hash;  /* hash of its flow */
};

/* A burst on its way through the stages. */
struct rx_burst {
	struct rte_mbuf **mbufs; /* at most BURST */
	uint16_t n;
	const uint32_t *len; /* bytes of the whole frames: frames.len or whole[] */
	struct frames frames;
	bool rx_hash;   /* mbufs can have a flow's hash */
	bool unmatched; /* some packets have no policy */
	/* Packets that do not pass, except for a limit: */
	uint16_t unmarkable; /* they cannot be marked */
	uint16_t unpaid;     /* their quota is spent */
	uint16_t refused;    /* their queue is full */
	uint16_t n_refused;  /* not parsed, or no policy matches */
	uint16_t n_held;     /* packets that wait: not passed, not dropped */
	uint64_t held;       /* a bit for each of these */
	uint16_t path;       /* index of the worker's path */
	uint16_t n_sampled;
	struct sampled sampled[BURST];
	struct sourced sourced;
	uint32_t whole[BURST];                /* frames with several segments */
	uint8_t gathered[BURST][GATHER_MOST]; /* rarely used */
};

static inline bool burst_has_hash(const struct rx_burst *burst, unsigned i)
{
	return burst->rx_hash && burst->mbufs[i]->ol_flags & RTE_MBUF_F_RX_RSS_HASH;
}

/* Returns the parsed packet, with the flow's hash of the device if there is one. */
static inline struct packet *burst_packet(struct rx_burst *burst, unsigned i)
{
	struct packet *packet = frames_packet(&burst->frames, i);

	if (burst_has_hash(burst, i))
		packet->flow_hash = burst->mbufs[i]->hash.rss;
	return packet;
}

#endif
