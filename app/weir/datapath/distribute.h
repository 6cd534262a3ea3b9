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
 * policies control says which source has which worker (steering.h).
 */
#ifndef WEIR_APP_DISTRIBUTE_H
#define WEIR_APP_DISTRIBUTE_H

#include <stdbool.h>
#include <stdint.h>

struct rx_rings;
struct path;
struct rte_mbuf;
struct worker;

/* Mbufs that the rings of a queue pair may hold, for the size of its port's pool. */
unsigned rx_rings_mbufs(unsigned n_workers);

/*
 * Control, before the workers start. NULL when out of memory. What has one secret gives a flow one
 * hash; nobody else is to know it.
 */
struct rx_rings *rx_rings_create(unsigned owner, unsigned n_workers, uint64_t secret);

/*
 * Control, likewise: sources of policies in up to n_slots slots may be given to workers, of all of
 * which these are the first. Returns 0 or -ENOMEM.
 */
int rx_rings_open(struct rx_rings *rings, struct worker *workers, unsigned n_slots);

/* Control, after the workers have stopped, and before the ports do: frees what is still inside. */
void rx_rings_destroy(struct rx_rings *rings);

/*
 * A burst of a path with rings, for the worker to decide: of the owner, its own part of what the
 * queue had, with what the others gave back sent on; of another, what the ring has. Every packet
 * comes with the hash of its flow. *busy is set if anything moved. The path's worker.
 */
uint16_t distribute_receive(
	struct worker *worker, struct path *path, struct rte_mbuf **mbufs, bool *busy);

/*
 * Sends on, of the queues that are the worker's own, what the others have given back, with another
 * of them first each time; returns whether there was anything that could be. Their owner.
 */
bool distribute_collect(struct worker *worker);

/* Drops and counts what lies there still, as the device takes no more. Its owner. */
void distribute_drop(struct worker *worker, struct path *path);

/* Whether anything lies there still. Its owner. */
bool distribute_waits(const struct path *path);

/*
 * Sends, of a path with rings, what its owner has kept back, when the others have come to their
 * end; of a conserved limit that is dropped, as nobody has charged it. The owner.
 */
void distribute_end(struct worker *worker, struct path *path);

#endif
