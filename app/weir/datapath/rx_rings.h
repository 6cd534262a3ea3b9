/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The rings between the owner of a receive queue and the workers that share it, the owner's
 * progress, and the worker of each flow. See distribute.h for their use.
 */
#ifndef WEIR_APP_RX_RINGS_H
#define WEIR_APP_RX_RINGS_H

#include <stdbool.h>
#include <stdint.h>

#include <rte_common.h>
#include <rte_mbuf.h>

#include "packet/parse.h"
#include "policy/config.h"
#include "source/source_hash.h"

struct rte_ring;
struct steering;

/* Packets of a ring: as many as a device's queue has descriptors. */
#define RX_RING_PACKETS 1024

/* State shared by the owner of one queue and the other workers, for one direction of a wire. */
struct rx_rings {
	unsigned owner, n_workers;
	struct source_key key;                     /* no sender can choose a flow's worker */
	struct rte_ring *out[CONFIG_WORKERS_MAX];  /* producer: the owner; packets to decide */
	struct rte_ring *back[CONFIG_WORKERS_MAX]; /* consumer: the owner; packets that passed */
	/*
	 * End of the flushed packets in `back`, an index of the ring. They left a shaped queue
	 * before they were due, faster than the wire takes them, so they wait for room in the
	 * transmit queue. Written by each worker.
	 */
	uint32_t patient[CONFIG_WORKERS_MAX];
	struct steering *steering; /* if sources are placed on workers one by one; or NULL */
	/* Written by the owner; other workers call rx_rings_looks() and rx_rings_moved(). */
	uint32_t looks __rte_cache_aligned;
	uint32_t moved;
	/* Only the owner uses these. */
	uint32_t first;         /* worker whose ring was emptied first the last time */
	uint64_t stopped;       /* tick at which the wire took no packet, or 0 */
	uint32_t stopped_moved; /* `moved` at that tick */
};

/*
 * Returns how often the owner has emptied the rings of returned packets, which shows that it runs.
 * A worker that sees a new count also sees the room that was made and the packets that had moved.
 * Any worker.
 */
static inline uint32_t rx_rings_looks(const struct rx_rings *rings)
{
	return __atomic_load_n(&rings->looks, __ATOMIC_ACQUIRE);
}

/* Returns the packets of all workers that the wire has taken, modulo 2^32. Any worker. */
static inline uint32_t rx_rings_moved(const struct rx_rings *rings)
{
	return __atomic_load_n(&rings->moved, __ATOMIC_RELAXED);
}

/* Adds n packets that the wire has taken. The owner. */
static inline void rx_rings_move(struct rx_rings *rings, uint32_t n)
{
	__atomic_store_n(&rings->moved, rings->moved + n, __ATOMIC_RELAXED);
}

/* Returns true if the worker itself transmits the packets that pass. */
static inline bool rx_rings_owned(const struct rx_rings *rings, unsigned worker)
{
	return !rings || rings->owner == worker;
}

/* 2^32 over the golden ratio: a device can have chosen the queue by the hash's low bits. */
#define RX_RINGS_MIX UINT32_C(0x9e3779b1)

/*
 * Returns the hash of a packet's flow: the device's, or one that is computed once and kept with the
 * packet. For a packet that is not IP no flow is defined; its hash has no key, so senders can
 * choose it.
 */
static inline uint32_t rx_rings_flow_hash(
	const struct rx_rings *rings, struct rte_mbuf *m, bool rx_hash)
{
	struct packet packet;
	const uint8_t *data;

	if (rx_hash && m->ol_flags & RTE_MBUF_F_RX_RSS_HASH)
		return m->hash.rss;
	data = rte_pktmbuf_mtod(m, const uint8_t *);
	packet_parse(data, m->data_len, &packet);
	m->hash.rss = packet.family == PACKET_OTHER ? packet_flow_hash(&packet, data)
						    : packet_keyed_hash(&rings->key, &packet, data);
	m->ol_flags |= RTE_MBUF_F_RX_RSS_HASH;
	return m->hash.rss;
}

/* Returns the worker of a packet's flow. The owner. */
static inline uint8_t rx_rings_worker_of(
	const struct rx_rings *rings, struct rte_mbuf *m, bool rx_hash)
{
	uint32_t mixed = rx_rings_flow_hash(rings, m, rx_hash) * RX_RINGS_MIX;

	return (uint8_t)((uint64_t)mixed * rings->n_workers >> 32);
}

#endif
