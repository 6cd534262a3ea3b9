/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Plain policies, eight packets at a time: police_over() by vectors of 512 bits. It is the same
 * arithmetic on the same lines, so that a caller can change from one to the other with every
 * packet.
 */
#ifndef WEIR_POLICE_EIGHTS_H
#define WEIR_POLICE_EIGHTS_H

#include <stdbool.h>
#include <stdint.h>

#include "police/policy_state.h"

#define POLICE_EIGHT 8
#define POLICE_NONE  UINT32_MAX /* number of no policy */

/* Packets in their order, the first of them at the pointers. */
struct police_eights {
	struct policy_state *lines; /* the line of each policy, by number */
	const uint32_t *policies;   /* number of each packet's policy */
	const uint32_t *len;        /* bytes of each frame, */
	const uint16_t *uncharged;  /* bytes of each frame that are not of layer 3 */
	uint64_t which;             /* packets to charge, a bit each; their policies are plain */
	uint32_t repeated;          /* eights, a bit each: from police_find_repeated() */
	bool lends; /* a packet without tokens is left, because it may borrow them */
};

/*
 * Charges those of n packets that are to be charged, which arrived at `now`, and counts them. It
 * begins with packet `from`, the first of an eight, and ends after the first eight of which it
 * leaves packets to the caller, or after the last whole eight. It leaves a packet, and does not
 * change its line, in four cases. An earlier packet of the eight has the same policy;
 * police_is_slow(); the packet can borrow tokens; the line was last charged 2^32 ticks ago or more.
 * Sets a bit in *over for each packet that does not conform, and in *left for each packet that it
 * leaves. Returns the number to go on from after those have been charged, in their order. The
 * states' one writer, on a CPU that police_has_eights().
 */
unsigned police_charge_eights(const struct police_eights *packets, unsigned from, unsigned n,
	uint64_t now, uint64_t *over, uint64_t *left);

/*
 * Returns the eights of n packets (at most 64) in which a policy is repeated, a bit each. Such a
 * packet is charged alone, by stores of 8 bytes, and the next eight with its line has to wait for
 * them. On a CPU that police_has_eights().
 */
uint32_t police_find_repeated(const uint32_t *policies, unsigned n);

/* Returns true if this CPU can do that, and does not slow down for it. Any thread. */
bool police_has_eights(void);

#endif
