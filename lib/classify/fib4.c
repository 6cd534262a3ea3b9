/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "classify/fib4.h"

#include <endian.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#define FIRST_BITS 24
#define HOP_MASK   (UINT32_MAX >> 1) /* rte_fib keeps the other bit of four bytes for itself */
#define NAME_SIZE  16                /* rte_fib, its pool and its ring have room for 21 */

static uint32_t address(const struct lpm_prefix *prefix)
{
	uint32_t addr;

	memcpy(&addr, prefix->addr, sizeof(addr));
	return be32toh(addr);
}

/* Of 256 addresses, for prefixes of more than 24 bits. Sorted, those of a group stand together. */
static uint32_t count_groups(const struct lpm_prefix *prefixes, uint32_t n)
{
	uint32_t groups = 0, last = 0;

	for (uint32_t i = 0; i < n; i++) {
		const uint32_t first = address(&prefixes[i]) >> 8;

		if (prefixes[i].length <= FIRST_BITS || (groups > 0 && first == last))
			continue;
		last = first;
		groups++;
	}
	return groups;
}

/* An enclosing prefix first, so that each addition only overwrites what it covers. */
static int add_all(struct rte_fib *fib, const struct lpm_prefix *prefixes, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		const uint32_t hop = prefixes[i].answer & HOP_MASK;
		const int rc = rte_fib_add(fib, address(&prefixes[i]), prefixes[i].length, hop);

		if (rc < 0)
			return rc;
	}
	return 0;
}

/* Under a name of its own, since a table lives beside its successor. */
static struct rte_fib *make(struct rte_fib_conf *conf, int socket)
{
	static atomic_uint made;
	char name[NAME_SIZE];

	snprintf(name, sizeof(name), "weir_%u", atomic_fetch_add(&made, 1));
	return rte_fib_create(name, socket, conf);
}

int fib4_create(const struct lpm_prefix *prefixes, uint32_t n, uint32_t otherwise, int socket,
	struct rte_fib **out)
{
	struct rte_fib_conf conf = {
		.type = RTE_FIB_DIR24_8,
		.default_nh = otherwise & HOP_MASK,
		.max_routes = (int)n,
		/* One to spare, as a prefix that ends where its group does is refused without. */
		.dir24_8 = {.nh_sz = RTE_FIB_DIR24_8_4B, .num_tbl8 = count_groups(prefixes, n) + 1},
	};
	struct rte_fib *fib = make(&conf, socket);

	if (fib != NULL && add_all(fib, prefixes, n) == 0) {
		*out = fib;
		return 0;
	}
	/* The name is new, and there is room for every prefix: only memory can be missing. */
	rte_fib_free(fib);
	return -ENOMEM;
}

/* From 31 bits back to 32, of which the upper two are alike. */
static inline uint32_t answer_of(uint64_t hop)
{
	return (uint32_t)((int32_t)((uint32_t)hop << 1) >> 1);
}

uint32_t fib4_lookup(struct rte_fib *fib, const uint32_t *addr, unsigned n, uint32_t *answers)
{
	uint64_t hops[FIB4_BURST_MAX];
	uint32_t all = 0;

	rte_fib_lookup_bulk(fib, (uint32_t *)addr, hops, (int)n); /* only reads the addresses */
	for (unsigned i = 0; i < n; i++) {
		answers[i] = answer_of(hops[i]);
		all |= answers[i];
	}
	return all;
}
