/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * How packets leave a worker: by the transmit queue of their path if the worker owns it, otherwise
 * through a ring to the owner (rx_rings.h). The worker's own thread calls these functions.
 */
#ifndef WEIR_APP_TX_H
#define WEIR_APP_TX_H

#include <stdint.h>

#include <rte_branch_prediction.h>
#include <rte_mbuf.h>
#include <rte_mempool.h>

/* Frees dropped packets. */

/* Returns 0 if a buffer is a whole packet, is not shared, and is from this pool. */
static inline uint64_t drop_differs(const struct rte_mbuf *m, const struct rte_mempool *pool)
{
	const uint64_t borrowed = m->ol_flags & (RTE_MBUF_F_INDIRECT | RTE_MBUF_F_EXTERNAL);
	const uint64_t shared = rte_mbuf_refcnt_read(m) ^ 1u;
	const uint64_t more = m->nb_segs ^ 1u;

	return borrowed | shared | more | ((uintptr_t)m->pool ^ (uintptr_t)pool);
}

/*
 * Frees n packets, at least one. rte_pktmbuf_free_bulk() checks each packet for further segments,
 * in its second line, which has not been read so far. Mostly the first lines show that no packet
 * has any. Then all return to their pool in one call. The worker's own thread.
 */
static inline void drop_all(struct rte_mbuf **mbufs, unsigned n)
{
	struct rte_mempool *pool = mbufs[0]->pool;
	uint64_t differs = 0;

	for (size_t i = 0; i < n; i++)
		differs |= drop_differs(mbufs[i], pool);
	if (likely(differs == 0))
		rte_mempool_put_bulk(pool, (void *const *)mbufs, n);
	else
		rte_pktmbuf_free_bulk(mbufs, n);
}

struct path;
struct rte_mbuf;
struct rte_ring;
struct worker;

/*
 * Transmit n packets on a queue that the worker owns. tx_send() drops and counts packets that the
 * device does not take; n can be 0. tx_try_send() needs at least one packet. It returns how many
 * have left, in their order; the caller keeps the others.
 */
void tx_send(struct worker *worker, struct path *path, struct rte_mbuf **mbufs, uint16_t n);
uint16_t tx_try_send(struct worker *worker, struct path *path, struct rte_mbuf **mbufs, uint16_t n);

/*
 * Puts packets of a path into a ring to another worker. Returns the number that the ring did not
 * take; they are dropped and counted.
 */
uint16_t tx_hand_over(struct worker *worker, struct path *path, struct rte_ring *ring,
	struct rte_mbuf **mbufs, uint16_t n);

/*
 * Send decided packets by a path, through its owner if that is another worker. Packets that find no
 * room with tx_pass_on() are dropped and counted. Use tx_try_pass_on() for flushed packets
 * (shape_steps.h), which the owner transmits as the device takes them. It returns how many have
 * left, in their order.
 */
void tx_pass_on(struct worker *worker, struct path *path, struct rte_mbuf **mbufs, uint16_t n);
uint16_t tx_try_pass_on(
	struct worker *worker, struct path *path, struct rte_mbuf **mbufs, uint16_t n);

#endif
