/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * What lies between the owner of a receive queue and the workers that he shares it with: rings, how
 * far the owner has come with them, and which worker a flow has. distribute.h says how it is used.
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

/* As many as a device's own queue has descriptors. */
#define RX_RING_PACKETS 1024

/* Between the owner of one queue and the others, in one direction of a wire. */
struct rx_rings {
	unsigned owner, n_workers;
	struct source_key key;                    /* of flows' hashes: nobody can aim at a worker */
	struct rte_ring *out[CONFIG_WORKERS_MAX]; /* producer: the owner; the worker's part */
	struct rte_ring *back[CONFIG_WORKERS_MAX]; /* consumer: the owner; what passed */
	/*
	 * Up to where in `back` what lies there left its queue outside of its time: that waits for
	 * room in the transmit queue, which it comes faster than. Written by each worker.
	 */
	uint32_t patient[CONFIG_WORKERS_MAX];
	struct steering *steering; /* where sources are given to workers one by one; or NULL */
	/* The owner's, of whom others read them: rx_rings_looks(), rx_rings_moved(). */
	uint32_t looks __rte_cache_aligned;
	uint32_t moved;
	/* The owner's alone. */
	uint32_t first;         /* whose ring was looked at first the last time */
	uint64_t stopped;       /* the tick at which the wire took no packet, or 0 */
	uint32_t stopped_moved; /* `moved` at that tick */
};

/*
 * How often the owner has looked at what came back: whether he runs at all. Who sees a look sees
 * the room that it made, and what has moved by then. Any worker.
 */
static inline uint32_t rx_rings_looks(const struct rx_rings *rings)
{
	return __atomic_load_n(&rings->looks, __ATOMIC_ACQUIRE);
}

/* Packets, of any worker, that the wire has taken from the owner: modulo 2^32. Any worker. */
static inline uint32_t rx_rings_moved(const struct rx_rings *rings)
{
	return __atomic_load_n(&rings->moved, __ATOMIC_RELAXED);
}

/* So many more. The owner. */
static inline void rx_rings_move(struct rx_rings *rings, uint32_t n)
{
	__atomic_store_n(&rings->moved, rings->moved + n, __ATOMIC_RELAXED);
}

/* Whether the worker sends by itself what passes. */
static inline bool rx_rings_owned(const struct rx_rings *rings, unsigned worker)
{
	return !rings || rings->owner == worker;
}

/* 2^32 over the golden ratio: a device may have chosen the queue by the hash's low bits. */
#define RX_RINGS_MIX UINT32_C(0x9e3779b1)

/*
 * The flow's hash: the device's if it tells one, or computed here once and kept with the packet. Of
 * what is no IP a sender may choose the hash: nobody knows what a flow of that would be.
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

/* The worker of a packet's flow. The owner. */
static inline uint8_t rx_rings_worker_of(
	const struct rx_rings *rings, struct rte_mbuf *m, bool rx_hash)
{
	uint32_t mixed = rx_rings_flow_hash(rings, m, rx_hash) * RX_RINGS_MIX;

	return (uint8_t)((uint64_t)mixed * rings->n_workers >> 32);
}

#endif
