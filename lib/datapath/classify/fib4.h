/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Longest prefix match of IPv4 for a set of prefixes that never changes. Prefixes divide the
 * address space into ranges with one answer each. The first 16 bits of an address choose one of
 * 65536 entries, which is the answer where one range fills that block. Else it leads to the block's
 * ranges, nine at most, which are searched by one comparison (after DXR: Zec, Rizzo, Mikuc, CCR
 * 2012); or, where there are more, to a table by the next 8 bits, whose entries are the same again.
 * Mostly it takes two lines, the second of which the policies of a block have to themselves, and
 * never more than four. Where all addresses have but a few ranges, as of seven prefixes or less,
 * those are compared with one after the other and there are no blocks: a burst's addresses side by
 * side take a fifth of a cycle each for a range.
 *
 * Why not rte_fib's DIR-24-8: its table has 64 MB, and each prefix of it a line and a 4 kB page of
 * its own, be there a hundred or a hundred thousand. Where the CPU, or a hypervisor below it, knows
 * no larger pages, a packet waits for the page table. In cycles an address, bursts of 32, prefixes
 * of /24 to /32 all over the address space, the tenth percentile of 401 rounds in turn
 * (test/bench/classify.c, a Zen 4 guest); here with the parse of the frame that it is in:
 *
 *	prefixes                       10,000   100,000
 *	rte_fib bulk, 4 bytes              18        29
 *	here                                7        19
 *	memory here, kB                   580     4,500
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
 * Prefixes of 1 to 32 bits, sorted by address and then by length; what none of them holds is
 * `otherwise`. Returns 0 or -ENOMEM. Control (EAL's memory).
 */
int fib4_create(const struct lpm_prefix *prefixes, uint32_t n, uint32_t otherwise, int socket,
	struct fib4 **out);

/* When no worker looks into it any more. Control. */
void fib4_destroy(struct fib4 *fib);

/*
 * The answers for n addresses, at most FIB4_BURST_MAX, in host order. Returns a word whose highest
 * bit is set if that of any answer is: to read them back so soon, many at a time, would stall. Of
 * `lines`, CLASSIFY_LINE bytes an answer, or NULL, mostly that of each answer whose highest bit is
 * not set is fetched once it is found: all at one go they are more than a CPU fetches at a time.
 * Worker lcores.
 */
uint32_t fib4_lookup(const struct fib4 *fib, const uint32_t *addr, unsigned n, const void *lines,
	uint32_t *answers);

#endif
