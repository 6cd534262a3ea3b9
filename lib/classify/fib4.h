/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Longest prefix match of IPv4 by rte_fib's DIR-24-8, filled once and never changed: two loads at
 * most, the first of them fetched ahead. Private to this folder.
 */
#ifndef WEIR_CLASSIFY_FIB4_H
#define WEIR_CLASSIFY_FIB4_H

#include <stdint.h>

#include <rte_fib.h>

#include "classify/lpm.h"

#define FIB4_BURST_MAX 64

/*
 * Prefixes of 1 to 32 bits, at least one, sorted by address and then by length; what none of them
 * holds is `otherwise`. Returns 0 or -ENOMEM. Any thread of control, also one that is none of
 * EAL's: EAL's lock of its lists is held while the table is filled with `otherwise`, and lookups
 * know no lock. rte_fib_free() takes it back, when no worker looks into it any more.
 *
 * rte_fib looks for room from the first group of 256 slots on, so the time grows with the square
 * of the groups: a fraction of a second for 100,000 prefixes, but some 8 s for a million.
 */
int fib4_create(const struct lpm_prefix *prefixes, uint32_t n, uint32_t otherwise, int socket,
	struct rte_fib **out);

/*
 * The answers for n addresses, at most FIB4_BURST_MAX, in host order; returns all their bits
 * together (to read them back so soon, many at a time, would stall). Worker lcores.
 */
uint32_t fib4_lookup(struct rte_fib *fib, const uint32_t *addr, unsigned n, uint32_t *answers);

#endif
