/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Flows to all workers where a device has fewer queues than there are workers. The worker that owns
 * a receive queue spreads what it gets by the hash of the flow, over rings of one producer and one
 * consumer; each worker decides its part, and gives what passes back to the owner, who transmits.
 *
 *     queue ─▶ owner ─┬───── own part: decides ─────┬─▶ transmit queue
 *                     └─▶ ring ─▶ worker ─▶ ring ───┘
 *
 * A flow always has the same worker, and all is first in, first out: so its packets keep their
 * order. A ring that is full drops under a reason of its own; nobody waits for anybody. Of placed
 * policies control says which source has which worker (usher.h).
 */
#ifndef WEIR_APP_DISTRIBUTE_H
#define WEIR_APP_DISTRIBUTE_H

#include <stdbool.h>
#include <stdint.h>

#include <rte_common.h>

#include "policy/config.h"

struct path;
struct rte_mbuf;
struct rte_ring;
struct usher;
struct worker;

/* As many as a device's own queue has descriptors. */
#define LANE_PACKETS 1024

/* Between the owner of one queue and the others, in one direction of a wire. */
struct lanes {
	unsigned owner, n_workers;
	struct rte_ring *out[CONFIG_WORKERS_MAX];  /* producer: the owner; the worker's part */
	struct rte_ring *back[CONFIG_WORKERS_MAX]; /* consumer: the owner; what passed */
	/*
	 * Up to where in `back` what lies there left its queue outside of its time: that waits for
	 * room in the transmit queue, which it comes faster than. Written by each worker.
	 */
	uint32_t patient[CONFIG_WORKERS_MAX];
	struct usher *usher; /* where sources are given to workers one by one; or NULL */
	/* The owner's, of whom others read them: lanes_looks(), lanes_moved(). */
	uint32_t looks __rte_cache_aligned;
	uint32_t moved;
	uint32_t first; /* whose ring was looked at first the last time: the owner alone knows */
};

/*
 * How often the owner has looked at what came back: whether he runs at all. Who sees a look sees
 * the room that it made, and what has moved by then. Any worker.
 */
static inline uint32_t lanes_looks(const struct lanes *lanes)
{
	return __atomic_load_n(&lanes->looks, __ATOMIC_ACQUIRE);
}

/* Packets, of any worker, that the wire has taken from the owner: modulo 2^32. Any worker. */
static inline uint32_t lanes_moved(const struct lanes *lanes)
{
	return __atomic_load_n(&lanes->moved, __ATOMIC_RELAXED);
}

/* So many more. The owner. */
static inline void lanes_move(struct lanes *lanes, uint32_t n)
{
	__atomic_store_n(&lanes->moved, lanes->moved + n, __ATOMIC_RELAXED);
}

/* Mbufs that the lanes of a queue pair may hold, for the size of its port's pool. */
unsigned lanes_mbufs(unsigned n_workers);

/* Control, before the workers start. NULL when out of memory. */
struct lanes *lanes_create(unsigned owner, unsigned n_workers);

/*
 * Control, likewise: sources of policies in up to n_slots slots may be given to workers, of all of
 * which these are the first. Returns 0 or -ENOMEM.
 */
int lanes_seat(struct lanes *lanes, struct worker *workers, unsigned n_slots);

/* Control, after the workers have stopped, and before the ports do: frees what is still inside. */
void lanes_destroy(struct lanes *lanes);

/*
 * A burst of a path with lanes, for the worker to decide: of the owner, its own part of what the
 * queue had, with what the others gave back sent on; of another, what the ring has. Every packet
 * comes with the hash of its flow. *busy is set if anything moved. The path's worker.
 */
uint16_t distribute_receive(
	struct worker *worker, const struct path *path, struct rte_mbuf **mbufs, bool *busy);

/*
 * Gives packets that pass to the owner of the path's queue, who is another worker; drops and counts
 * what the ring does not take. The path's worker.
 */
void distribute_give_back(
	struct worker *worker, const struct path *path, struct rte_mbuf **mbufs, uint16_t n);

/*
 * The same of packets that leave outside of their time; what the ring does not take is left to the
 * caller: returns how many it did. The owner sends them on as the device takes them.
 */
uint16_t distribute_try_back(
	struct worker *worker, const struct path *path, struct rte_mbuf **mbufs, uint16_t n);

/*
 * Sends on, of a path with lanes, what the others have given back, with another of them first each
 * time; returns whether there was anything that could be. Its owner.
 */
bool distribute_collect(struct worker *worker, const struct path *path);

/* Drops and counts what lies there still, as the device takes no more. Its owner. */
void distribute_drop(struct worker *worker, const struct path *path);

/* Whether anything lies there still. Its owner. */
bool distribute_waits(const struct path *path);

/* The worker of a packet's flow. The owner. */
uint8_t distribute_target(const struct path *path, struct rte_mbuf *m);

/*
 * Sends, of a path with lanes, what its owner has kept back, when the others have come to their
 * end; of a conserved limit that is dropped, as nobody has charged it. The owner.
 */
void distribute_end(struct worker *worker, const struct path *path);

/* Whether the worker sends by itself what passes. */
static inline bool lanes_owned(const struct lanes *lanes, unsigned worker)
{
	return !lanes || lanes->owner == worker;
}

#endif
