/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Frees dropped packets.
 */
#ifndef WEIR_APP_DROP_H
#define WEIR_APP_DROP_H

#include <stdint.h>

#include <rte_branch_prediction.h>
#include <rte_mbuf.h>
#include <rte_mempool.h>

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

#endif
