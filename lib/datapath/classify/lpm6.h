/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Longest prefix match of IPv6 for a set of prefixes that never changes: a binary search over the
 * lengths that occur, each step one look into a hash table (Waldvogel, Varghese, Turner, Plattner:
 * Scalable High Speed IP Routing Lookups, SIGCOMM 1997). A prefix leaves a marker at each length
 * where the search has to turn towards it, and a marker knows the best prefix so far, so nothing is
 * ever tried again.
 *
 * Why not DPDK's rte_fib6: its trie takes one dependent load for 24 bits and one for every 8 more,
 * each from a line of its own, and its tables grow with them. In cycles a packet, for 10,000
 * prefixes, without huge pages (bench_classify 41 "v6 /"):
 *
 *                                   /48    /64   /128   ten lengths
 *	rte_fib6, the lookup alone     20    154   1242           400
 *	all of classification here     30     31     31           157
 *
 * Here one length takes one step, 3 take two, 7 three, and all of 128 eight. A burst makes each
 * step together, so that what it waits for in one step is fetched at once, and the number of steps
 * is the same whatever addresses come: they cannot be chosen to be slow.
 */
#ifndef WEIR_CLASSIFY_LPM6_H
#define WEIR_CLASSIFY_LPM6_H

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>

#include "classify/lpm.h"

#define LPM6_BURST_MAX 64
#define LPM6_STEPS_MAX 8 /* of a binary search among 128 lengths */
#define LPM6_SLOTS     3 /* of a bucket */

/*
 * Buckets behind one that has not room for all, at most: a length with a longer chain gets more
 * buckets. For the lookup it makes no difference; who reads the table with less patience can rely
 * on it as far as the operator's prefixes were not chosen to collide.
 */
#define LPM6_FURTHER_MAX 2

/* An address as it lies in a packet. */
struct lpm6_addr {
	uint64_t word[2];
};

/* A node of the search tree over lengths; node 1 is the root, 2i and 2i + 1 are below i. */
struct lpm6_node {
	struct lpm6_addr mask;
	uint32_t first;     /* bucket of this length's table */
	uint32_t n_buckets; /* 0: no length here, and the bucket matches nothing */
	uint64_t length;
};

/* One cache line. A slot that is not used repeats one that is, or what is looked for elsewhere. */
struct lpm6_bucket {
	struct lpm6_addr addr[LPM6_SLOTS];
	uint32_t answer[LPM6_SLOTS];
	uint32_t further; /* the bucket of more that belong here, or 0 */
};
static_assert(sizeof(struct lpm6_bucket) == 64, "a bucket is a cache line");

struct lpm6 {
	struct lpm6_node nodes[1 << LPM6_STEPS_MAX];
	unsigned n_steps;
	uint32_t n_buckets; /* of all lengths, and then those that are behind another */
	uint32_t otherwise;
	struct lpm6_bucket buckets[] __attribute__((aligned(64)));
};

/*
 * Prefixes of 1 to 128 bits, sorted by address and then by length; what none of them holds is
 * `otherwise`. Returns 0 or -ENOMEM. Control (EAL's memory).
 */
int lpm6_create(const struct lpm_prefix *prefixes, uint32_t n, uint32_t otherwise, int socket,
	struct lpm6 **out);
void lpm6_destroy(struct lpm6 *lpm);

/*
 * The answers for n addresses, at most LPM6_BURST_MAX; returns all their bits together. Worker
 * lcores.
 */
uint32_t lpm6_lookup(
	const struct lpm6 *lpm, const struct lpm6_addr *addr, unsigned n, uint32_t *answers);

#endif
