/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * How packets leave a worker: out of the transmit queue of their path if that is his own, and else
 * through a ring to the worker who owns it (rx_rings.h). The worker's own thread calls all of
 * these.
 */
#ifndef WEIR_APP_TX_H
#define WEIR_APP_TX_H

#include <stdint.h>

struct path;
struct rte_mbuf;
struct rte_ring;
struct worker;

/*
 * Sends n packets, or none, out of a queue that the worker owns. What the device does not take is
 * dropped and counted by the first; the second, which wants at least one, leaves that to the
 * caller: it returns how many, from the first, have gone.
 */
void tx_send(struct worker *worker, struct path *path, struct rte_mbuf **mbufs, uint16_t n);
uint16_t tx_try_send(struct worker *worker, struct path *path, struct rte_mbuf **mbufs, uint16_t n);

/*
 * Puts packets of a path into a ring to another worker; returns how many were dropped and counted,
 * as it took no more.
 */
uint16_t tx_hand_over(struct worker *worker, struct path *path, struct rte_ring *ring,
	struct rte_mbuf **mbufs, uint16_t n);

/*
 * Packets that are decided leave by a path, whoever owns its queue. What finds no room is dropped
 * and counted by the first; the second is for packets that leave outside of their time, and
 * returns how many, from the first, have gone. The owner sends those on as the device takes them.
 */
void tx_pass_on(struct worker *worker, struct path *path, struct rte_mbuf **mbufs, uint16_t n);
uint16_t tx_try_pass_on(
	struct worker *worker, struct path *path, struct rte_mbuf **mbufs, uint16_t n);

#endif
