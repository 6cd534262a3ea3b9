/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Drops plain packets and one odd packet at any position. All buffers return to their pool in the
 * initial state, and buffers that others hold stay valid.
 */
#include "check.h"

#include <rte_eal.h>

#include "tx.h"

#define BUFFERS 127
#define MANY    32

enum odd {
	NONE,
	CHAIN,      /* two segments */
	CLONE,      /* shares bytes with another owner's packet */
	HELD,       /* another owner has a reference */
	OTHER_POOL, /* than the rest */
	ODD
};

static struct rte_mempool *pools[2];

/* Makes a packet of this kind. Sets `held` to another owner's reference, or NULL. */
static struct rte_mbuf *make_odd_packet(enum odd odd, struct rte_mbuf **held)
{
	struct rte_mbuf *m = rte_pktmbuf_alloc(pools[odd == OTHER_POOL]), *clone;

	assert_non_null(m);
	switch (odd) {
	case CHAIN:
		assert_int_equal(rte_pktmbuf_chain(m, rte_pktmbuf_alloc(pools[0])), 0);
		break;
	case CLONE:
		*held = m;
		clone = rte_pktmbuf_clone(m, pools[0]);
		assert_non_null(clone);
		return clone;
	case HELD:
		*held = m;
		rte_mbuf_refcnt_update(m, 1);
		break;
	default:
		break;
	}
	return m;
}

/* All buffers in a pool are as rte_mbuf_raw_alloc() needs them. */
static void check_pool(struct rte_mempool *pool)
{
	struct rte_mbuf *mbufs[BUFFERS];

	assert_int_equal(rte_mempool_avail_count(pool), BUFFERS);
	assert_int_equal(rte_mempool_get_bulk(pool, (void **)mbufs, BUFFERS), 0);
	for (unsigned i = 0; i < BUFFERS; i++) {
		assert_int_equal(rte_mbuf_refcnt_read(mbufs[i]), 1);
		assert_int_equal(mbufs[i]->nb_segs, 1);
		assert_null(mbufs[i]->next);
		assert_true(RTE_MBUF_DIRECT(mbufs[i]));
		for (unsigned k = 0; k < i; k++)
			assert_ptr_not_equal(mbufs[i], mbufs[k]);
	}
	rte_mempool_put_bulk(pool, (void **)mbufs, BUFFERS);
}

static void check_burst(enum odd odd, unsigned at, unsigned n)
{
	struct rte_mbuf *mbufs[MANY] = {0}, *held = NULL;

	for (unsigned i = 0; i < n; i++)
		mbufs[i] = make_odd_packet(i == at ? odd : NONE, &held);
	drop_all(mbufs, n);
	if (held != NULL) {
		assert_int_equal(rte_mbuf_refcnt_read(held), 1);
		rte_pktmbuf_free(held);
	}
	check_pool(pools[0]);
	check_pool(pools[1]);
}

TEST(test_every_place)
{
	static const unsigned sizes[] = {1, 2, 31, MANY};

	for (enum odd odd = NONE; odd < ODD; odd++)
		for (unsigned s = 0; s < RTE_DIM(sizes); s++)
			for (unsigned at = 0; at < sizes[s]; at++)
				check_burst(odd, at, sizes[s]);
}

static int start_eal(void **state)
{
	char *args[] = {(char[]){"test_drop"}, (char[]){"--no-huge"}, (char[]){"--no-shconf"},
		(char[]){"-m"}, (char[]){"64"}, (char[]){"--no-pci"}, (char[]){"--no-telemetry"},
		(char[]){"--log-level=1"}, (char[]){"-l"}, (char[]){"0"}};

	if (rte_eal_init(RTE_DIM(args), args) < 0)
		return -1;
	pools[0] = rte_pktmbuf_pool_create("most", BUFFERS, 0, 0, 256, SOCKET_ID_ANY);
	pools[1] = rte_pktmbuf_pool_create("other", BUFFERS, 32, 0, 256, SOCKET_ID_ANY);
	return pools[0] != NULL && pools[1] != NULL ? 0 : -1;
}

static int stop_eal(void **state)
{
	rte_mempool_free(pools[0]);
	rte_mempool_free(pools[1]);
	return rte_eal_cleanup();
}

TEST_GROUP(start_eal, stop_eal)
