/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Plain policies, eight packets at a time: what police_over() does, by vectors of 512 bits. It is
 * the same arithmetic on the same lines, so that whoever charges may change from one to the other
 * with every packet.
 */
#ifndef WEIR_POLICE_EIGHTS_H
#define WEIR_POLICE_EIGHTS_H

#include <stdbool.h>
#include <stdint.h>

#include "police/policy_state.h"

#define POLICE_EIGHT 8

/* Packets in their order, the first of them at the pointers. */
struct police_eights {
	struct policy_state *const *states; /* of their policies, whose lines are best on the way */
	const uint32_t *policies;           /* a number for each, by which equal ones are known */
	const uint32_t *costs[ACCOUNTING_WIRE + 1]; /* what they cost by each accounting */
	uint32_t none;     /* number of no policy: its state is one that nobody reads afterwards */
	bool lends;        /* a packet for which there are no tokens is left: they may be lent */
	uint32_t repeated; /* eights, a bit each: from police_find_repeated() */
};

/*
 * Charges n packets that arrived at `now`, and counts them, from number `from` on, which begins an
 * eight: up to the first eight of which some are left to the caller, or as many as are whole
 * eights. Those that are left are untouched: before them are others of their policy, or more is due
 * than to charge them (police_is_slow()), or they are lent to, or were looked at last a second ago.
 * Sets a bit in *over for each that does not conform, and one in *left for each that is left.
 * Returns the number to go on from, once those have been charged, in their order. The states' one
 * writer, on a CPU that police_has_eights().
 */
unsigned police_charge_eights(const struct police_eights *packets, unsigned from, unsigned n,
	uint64_t now, uint64_t *over, uint64_t *left);

/*
 * Returns the eights of n packets (at most 64) in which a policy is repeated, a bit each. Such a
 * packet is charged alone, by stores of 8 bytes, and the next eight with its line has to wait for
 * them. On a CPU that police_has_eights().
 */
uint32_t police_find_repeated(const struct police_eights *packets, unsigned n);

/* Whether this CPU can, and does not slow down for it. Any thread. */
bool police_has_eights(void);

#endif
