/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * A classified burst → which of its packets pass. The worker's own thread.
 */
#ifndef WEIR_APP_DECIDE_H
#define WEIR_APP_DECIDE_H

#include <stdbool.h>
#include <stdint.h>

#include <rte_mbuf.h>

#include "classify/frames.h"
#include "police/sourced.h"
#include "worker_data.h"

/*
 * Headers that may have to be gathered from a chain of segments: as many as nearly all have, and as
 * many as IPv6 extension headers are followed for.
 */
#define GATHER      128
#define GATHER_MOST 2048

/* A packet that was sampled; its flow is counted when nobody waits for it any more. */
struct sampled {
	struct flow_sample *sample;
	uint64_t bytes; /* as it stands for others too */
	uint32_t hash;  /* of its flow */
};

/* A burst on its way through the stages. */
struct rx_burst {
	struct rte_mbuf **mbufs; /* BURST of them at most */
	uint16_t n;
	const uint32_t *len; /* of the whole frame: what is in frames, or whole[] */
	struct frames frames;
	bool rx_hash;        /* mbufs may have a flow's hash */
	bool unmatched;      /* some packets have no policy */
	uint16_t unmarkable; /* of those that do not pass */
	uint16_t unpaid;     /* likewise: by policies with a total */
	uint16_t refused;    /* likewise: as too many wait already */
	uint16_t n_refused;  /* likewise: as it is not known what they are, or whose */
	uint16_t n_held;     /* that neither pass nor are dropped, as they wait; */
	uint64_t held;       /* and which, a bit each */
	uint16_t path;       /* of the worker's, by which they came */
	uint16_t n_sampled;
	struct sampled sampled[BURST];
	struct sourced sourced;
	uint32_t whole[BURST];                /* where a frame has several segments */
	uint8_t gathered[BURST][GATHER_MOST]; /* mostly nobody touches it */
};

static inline bool burst_has_hash(const struct rx_burst *burst, unsigned i)
{
	return burst->rx_hash && burst->mbufs[i]->ol_flags & RTE_MBUF_F_RX_RSS_HASH;
}

/* All that is to be known of a packet, its flow's hash from the device if that tells it. */
static inline struct packet *burst_packet(struct rx_burst *burst, unsigned i)
{
	struct packet *packet = frames_packet(&burst->frames, i);

	if (burst_has_hash(burst, i))
		packet->flow_hash = burst->mbufs[i]->hash.rss;
	return packet;
}

/*
 * Charges the n packets of a burst, which arrived at tick `now`, and counts them. Leaves those that
 * pass at the front of burst->mbufs, in order, and returns how many; the others go to `dropped`,
 * but for burst->n_held that wait, and are the shaper's.
 * decide_samples() is due when the packets are on their way.
 */
uint16_t decide(struct worker *worker, struct rx_burst *burst, uint16_t n, uint64_t now,
	struct rte_mbuf **dropped);

/*
 * What the one packet in burst->mbufs is judged: it passes, or does not and is counted, or waits
 * (burst->n_held). It is nobody's, and nothing is sent, freed or sampled. Returns why a frame is
 * dropped before its policy is asked, or DROP_REASONS. For whoever tries a packet on a copy of a
 * worker; else the worker's own thread.
 */
enum drop_reason worker_judge(struct worker *worker, const struct path *path,
	struct rx_burst *burst, uint64_t now, bool *pass);

/* Adds those of the burst that were sampled to their policies' samples. */
static inline void decide_samples(const struct rx_burst *burst)
{
	for (unsigned i = 0; i < burst->n_sampled; i++) {
		const struct sampled *sampled = &burst->sampled[i];

		flow_sample_add(sampled->sample, sampled->hash, sampled->bytes);
	}
}

#endif
