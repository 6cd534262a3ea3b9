/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * How packets leave a worker: by the transmit queue of their path if the worker owns it, otherwise
 * through a ring to the owner (rx_rings.h).
 */

/* Use C11 acquire and release in rings, instead of barriers for this CPU only. */
#define RTE_USE_C11_MEM_MODEL

#include "tx.h"

#include <rte_ethdev.h>
#include <rte_mbuf.h>
#include <rte_ring.h>

#include "rx_rings.h"
#include "tap.h"
#include "worker_data.h"
#include "tick.h"

uint16_t tx_try_send(struct worker *w, struct path *path, struct rte_mbuf **mbufs, uint16_t n)
{
	uint16_t port = __atomic_load_n(&path->tx_port, __ATOMIC_RELAXED);
	uint16_t sent = rte_eth_tx_burst(port, path->queue, mbufs, n);

	counter_add(&w->counters.tx_packets, sent);
	counter_add(&path->counters.tx_packets, sent);
	if (unlikely(path->rings != NULL))
		rx_rings_move(path->rings, sent);
	return sent;
}

void tx_send(struct worker *w, struct path *path, struct rte_mbuf **mbufs, uint16_t n)
{
	uint16_t sent = n ? tx_try_send(w, path, mbufs, n) : 0;

	if (unlikely(sent < n)) {
		tap_dropped(w, (uint16_t)(path - w->paths), mbufs + sent, n - sent, DROP_TX_FULL,
			tick_now());
		worker_drops(w, path, DROP_TX_FULL, n - sent);
		drop_all(mbufs + sent, n - sent);
	}
}

uint16_t tx_hand_over(struct worker *w, struct path *path, struct rte_ring *ring,
	struct rte_mbuf **mbufs, uint16_t n)
{
	uint16_t taken = (uint16_t)rte_ring_sp_enqueue_burst(ring, (void *const *)mbufs, n, NULL);

	if (unlikely(taken < n)) {
		worker_drops(w, path, DROP_RING_FULL, n - taken);
		drop_all(mbufs + taken, n - taken);
	}
	return n - taken;
}

void tx_pass_on(struct worker *w, struct path *path, struct rte_mbuf **mbufs, uint16_t n)
{
	if (likely(rx_rings_owned(path->rings, w->index)))
		tx_send(w, path, mbufs, n);
	else
		tx_hand_over(w, path, path->rings->back[w->index], mbufs, n);
}

static uint16_t try_give_back(
	struct worker *w, struct rx_rings *rings, struct rte_mbuf **mbufs, uint16_t n)
{
	struct rte_ring *back = rings->back[w->index];

	/*
	 * Before the packets, so that the owner sees both. A mark after packets not taken is
	 * harmless.
	 */
	__atomic_store_n(&rings->patient[w->index], back->prod.tail + n, __ATOMIC_RELEASE);
	return (uint16_t)rte_ring_sp_enqueue_burst(back, (void *const *)mbufs, n, NULL);
}

uint16_t tx_try_pass_on(struct worker *w, struct path *path, struct rte_mbuf **mbufs, uint16_t n)
{
	if (!rx_rings_owned(path->rings, w->index))
		return try_give_back(w, path->rings, mbufs, n);
	return tx_try_send(w, path, mbufs, n);
}
