/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Longest prefix match of IPv4 for a set of prefixes that never changes: DIR-24-8. The first 24
 * bits index one array, whose slot holds the answer or a group of 256 more slots for the last 8.
 * Two loads at most, of which all of a burst's are under way at once, and no branch that depends on
 * an address.
 *
 * Why not rte_lpm or rte_fib: those are made to be changed one prefix at a time. This one is filled
 * in a single sweep over sorted prefixes (test/bench/classify.c measures all three).
 */
#ifndef WEIR_CLASSIFY_LPM4_H
#define WEIR_CLASSIFY_LPM4_H

#include <stdint.h>

#include "classify/lpm.h"

struct lpm4;

/*
 * Prefixes of 1 to 32 bits, sorted by address and then by length; what none of them holds is
 * `otherwise`. Returns 0 or -ENOMEM. Control (EAL's memory).
 */
int lpm4_create(const struct lpm_prefix *prefixes, uint32_t n, uint32_t otherwise, int socket,
	struct lpm4 **out);
void lpm4_destroy(struct lpm4 *lpm);

/*
 * The answers for n addresses in host order; returns all their bits together (to read them back
 * so soon, many at a time, would stall). Worker lcores.
 */
uint32_t lpm4_lookup(const struct lpm4 *lpm, const uint32_t *addr, unsigned n, uint32_t *answers);

#endif
