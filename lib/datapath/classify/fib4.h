/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Longest prefix match of IPv4 for a set of prefixes that never changes. Prefixes divide the
 * address space into ranges with one answer each. The first 16 bits of an address select one of
 * 65536 entries. If one range fills that block, the entry is the answer. Otherwise it leads to the
 * block's ranges, at most nine, which are searched by one vector comparison (after DXR: Zec, Rizzo,
 * Mikuc, CCR 2012). If there are more, it leads to a table of 256 such entries, by the next 8 bits.
 * Most lookups take two cache lines, the second of which is the block's own; none takes more than
 * four. If the whole address space has only a few ranges, for example with seven prefixes or fewer,
 * there are no blocks. All ranges are then compared in turn with a burst's addresses in parallel,
 * which takes a fifth of a cycle per address and range.
 *
 * Why not rte_fib's DIR-24-8: its table has 64 MB. Each prefix in it has a cache line and a 4 kB
 * page of its own, for a hundred prefixes or a hundred thousand. If the CPU or its hypervisor has
 * no larger pages, a packet waits for the page table. The figures are cycles per address, for
 * bursts of 32 and prefixes of /24 to /32 all over the address space. They are the tenth percentile
 * of 401 rounds in turn (test/bench/classify.c, a Zen 4 guest). Ours include the parse of the
 * frame:
 *
 *  prefixes                       10,000   100,000
 *  rte_fib bulk, 4 bytes              18        29
 *  here                                7        19
 *  memory here, kB                   580     4,500
 *
 * Private to this folder.
 */
#ifndef WEIR_CLASSIFY_FIB4_H
#define WEIR_CLASSIFY_FIB4_H

#include <stdint.h>

#include "classify/lpm.h"

#define FIB4_BURST_MAX 64

struct fib4;

/*
 * Creates a table. Prefixes have 1 to 32 bits, and are sorted by address and then by length.
 * Addresses outside all prefixes get `otherwise`. Returns 0 or -ENOMEM. Control (EAL's memory).
 */
int fib4_create(const struct lpm_prefix *prefixes, uint32_t n, uint32_t otherwise, int socket,
	struct fib4 **out);

/* To be called when no worker uses the table any more. Control. */
void fib4_destroy(struct fib4 *fib);

/*
 * Sets the answers for n addresses in host order, at most FIB4_BURST_MAX. Returns a word whose
 * highest bit is set if that of any answer is. Reading the answers back this soon, many at a time,
 * would stall. lines: NULL, or CLASSIFY_LINE bytes per answer. If given, usually prefetches the
 * line of each answer whose highest bit is clear as soon as it is found: a CPU cannot fetch all of
 * them at one time. Worker lcores.
 */
uint32_t fib4_lookup(const struct fib4 *fib, const uint32_t *addr, unsigned n, const void *lines,
	uint32_t *answers);

#endif
