/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Bursts with packets of a few plain policies: each policy is charged all of its packets at one go.
 * Private to this room; the worker's own thread.
 */
#ifndef WEIR_APP_POLICER_GROUPS_H
#define WEIR_APP_POLICER_GROUPS_H

#include "policer.h"

/* The most policies of a burst that are charged one after the other. */
#define POLICER_GROUPS 4

/* Packets of a burst that policer_groups_pay() counts. A smaller burst gains too little. */
#define POLICER_GROUPS_LOOK 8

/*
 * Charges, samples and counts packets, a bit each, of plain policies or without a policy. The
 * result is that of one by one, in their order. Sets *drops to the packets to drop, a bit each.
 * Returns false, and has done nothing, if there are more than POLICER_GROUPS policies, if a policy
 * has a trial, or if limits have ended.
 */
bool policer_groups_charge(struct worker *worker, struct rx_burst *burst, uint64_t packets,
	uint64_t now, uint64_t *drops);

/*
 * Returns true if policer_groups_charge() is worth a call: the first packets are of few policies. A
 * bit of 64 for a policy suffices, because two policies with the same bit only cost that call.
 */
static inline bool policer_groups_pay(const struct rx_burst *burst)
{
	uint64_t seen = 0;

	for (unsigned i = 0; i < POLICER_GROUPS_LOOK; i++)
		seen |= UINT64_C(1) << burst->frames.policy[i] % 64;
	return burst->n >= POLICER_GROUPS_LOOK && __builtin_popcountll(seen) <= POLICER_GROUPS;
}

#endif
