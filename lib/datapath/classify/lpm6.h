/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Longest prefix match of IPv6 for a set of prefixes that never changes: a binary search over the
 * lengths in use. Each step is one hash table lookup (Waldvogel, Varghese, Turner, Plattner:
 * Scalable High Speed IP Routing Lookups, SIGCOMM 1997). A prefix leaves a marker at each length
 * where the search must turn towards it. A marker has the answer of the best prefix so far, so no
 * step is repeated.
 *
 * Why not DPDK's rte_fib6: its trie takes one dependent load for 24 bits and one for every 8 more,
 * each from its own cache line, and its tables grow with them. In cycles per packet, for 10,000
 * prefixes, without huge pages (bench_classify 41 "v6 /"):
 *
 *                                 /48    /64   /128   ten lengths
 *  rte_fib6, the lookup alone     20    154   1242           400
 *  all of classification here     30     31     31           157
 *
 * Here one length takes one step, 3 take two, 7 three, and all of 128 eight. All packets of a burst
 * make each step together, so their memory is fetched in parallel. The number of steps does not
 * depend on the addresses, so an attacker cannot slow the search down.
 */
#ifndef WEIR_CLASSIFY_LPM6_H
#define WEIR_CLASSIFY_LPM6_H

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>

#include "classify/lpm.h"

#define LPM6_BURST_MAX 64
#define LPM6_STEPS_MAX 8 /* steps of a binary search among 128 lengths */
#define LPM6_SLOTS     3 /* slots of a bucket */

/*
 * Most overflow buckets of a bucket. A length with a longer chain gets more buckets. The lookup
 * does not depend on this limit. A reader with a bounded search can rely on it, unless the
 * operator's prefixes were chosen to collide.
 */
#define LPM6_FURTHER_MAX 2

/* An address in network byte order. */
struct lpm6_addr {
	uint64_t word[2];
};

/* A node of the search tree over lengths; node 1 is the root, 2i and 2i + 1 are its children. */
struct lpm6_node {
	struct lpm6_addr mask;
	uint32_t first;     /* first bucket of this length's table */
	uint32_t n_buckets; /* 0: no length here; the bucket matches nothing */
	uint64_t length;
};

/* One cache line. An unused slot is a copy of a used one, or has a key of another bucket. */
struct lpm6_bucket {
	struct lpm6_addr addr[LPM6_SLOTS];
	uint32_t answer[LPM6_SLOTS];
	uint32_t further; /* index of its overflow bucket; 0: none */
};
static_assert(sizeof(struct lpm6_bucket) == 64, "a bucket is a cache line");

struct lpm6 {
	struct lpm6_node nodes[1 << LPM6_STEPS_MAX];
	unsigned n_steps;
	uint32_t n_buckets; /* buckets of all lengths, then overflow buckets */
	uint32_t otherwise;
	struct lpm6_bucket buckets[] __attribute__((aligned(64)));
};

/*
 * Creates a table. Prefixes have 1 to 128 bits, and are sorted by address and then by length.
 * Addresses outside all prefixes get `otherwise`. Returns 0 or -ENOMEM. Control (EAL's memory).
 */
int lpm6_create(const struct lpm_prefix *prefixes, uint32_t n, uint32_t otherwise, int socket,
	struct lpm6 **out);
void lpm6_destroy(struct lpm6 *lpm);

/*
 * Sets the answers for n addresses, at most LPM6_BURST_MAX. Returns the bitwise OR of the answers.
 * Worker lcores.
 */
uint32_t lpm6_lookup(
	const struct lpm6 *lpm, const struct lpm6_addr *addr, unsigned n, uint32_t *answers);

#endif
