/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Distributes flows to all workers if a device has fewer queues than there are workers. The worker
 * that owns a receive queue distributes its packets by the hash of their flow, through rings with
 * one producer and one consumer. Each worker decides its part and returns the passing packets to
 * the owner, which transmits them.
 *
 *     queue ─▶ owner ─┬───── own part: decides ─────┬─▶ transmit queue
 *                     └─▶ ring ─▶ worker ─▶ ring ───┘
 *
 * A flow always has the same worker, and all rings are first in, first out, so its packets keep
 * their order. A full ring drops packets, with a reason of its own; no worker waits for another.
 * For placed policies, control assigns sources to workers (steering.h).
 */
#ifndef WEIR_APP_DISTRIBUTE_H
#define WEIR_APP_DISTRIBUTE_H

#include <stdbool.h>
#include <stdint.h>

struct rx_rings;
struct path;
struct rte_mbuf;
struct worker;

/* Returns the number of mbufs that the rings of a queue pair can hold, to size its port's pool. */
unsigned rx_rings_mbufs(unsigned n_workers);

/*
 * Creates the rings of a queue, or returns NULL if out of memory. Queues with the same secret give
 * a flow the same hash; keep it secret. Control, before the workers start.
 */
struct rx_rings *rx_rings_create(unsigned owner, unsigned n_workers, uint64_t secret);

/*
 * Allows control to place sources of policies in up to n_slots slots. `workers` is the array of all
 * workers. Returns 0 or -ENOMEM. Control, before the workers start.
 */
int rx_rings_open(struct rx_rings *rings, struct worker *workers, unsigned n_slots);

/*
 * Frees the rings and their packets. Control, after the workers have stopped, before the ports do.
 */
void rx_rings_destroy(struct rx_rings *rings);

/*
 * Receives a burst of a path with rings, for the worker to decide. The owner gets its part of the
 * queue's burst, and transmits the packets that the others have returned. Another worker gets the
 * packets in its ring. Every packet has the hash of its flow. Sets *busy if any packet moved. The
 * path's worker.
 */
uint16_t distribute_receive(
	struct worker *worker, struct path *path, struct rte_mbuf **mbufs, bool *busy);

/*
 * Transmits the packets that other workers have returned, on all queues that this worker owns. It
 * begins with a different worker each time. Returns true if any packet moved. The owner.
 */
bool distribute_collect(struct worker *worker);

/* Drops and counts the returned packets, because the device takes no more. The owner. */
void distribute_drop(struct worker *worker, struct path *path);

/* Returns true if there are still returned packets. The owner. */
bool distribute_waits(const struct path *path);

/*
 * Ends a path with rings, after the other workers have ended: transmits the packets that the owner
 * has kept back. Packets of a hard limit are dropped, because no worker has charged them. The
 * owner.
 */
void distribute_end(struct worker *worker, struct path *path);

#endif
