/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Packets of a burst that are charged to one line each, all at one go. Private to this room; the
 * worker's own thread.
 */
#ifndef WEIR_APP_JUDGE_LINES_H
#define WEIR_APP_JUDGE_LINES_H

#include "judge.h"

/* Where each packet's policy is, and what the packet costs. */
struct judge_lines {
	struct policy_state *states[BURST];         /* plain; or, if it is not charged, `none` */
	uint32_t costs[ACCOUNTING_WIRE + 1][BURST]; /* police_bytes() by each accounting */
	/* Plain, never empty and never full: who has no policy needs no question. */
	struct policy_state none;
};

/*
 * Begins to fetch the lines of packets' policies, and notes their places and the costs of the
 * packets. `matched`: the packets to charge, a bit each; they have plain policies.
 */
void judge_lines_find(struct judge_lines *lines, struct worker *worker,
	const struct rx_burst *burst, uint64_t matched, uint64_t now);

/* Charges, samples and counts them; which of all do not pass, a bit each. */
uint64_t judge_lines_charge(
	struct judge_lines *lines, struct worker *worker, struct rx_burst *burst, uint64_t now);

/*
 * Charges, samples and counts packets like judge_lines_charge(), eight at a time. Sets *drops to
 * those that do not pass, a bit each. Returns false, and has done nothing, if the CPU cannot, if
 * it does not pay because more than one eight repeats a policy, or if limits have ended.
 */
bool judge_lines_charge_eights(struct worker *worker, struct rx_burst *burst, uint64_t matched,
	uint64_t now, uint64_t *drops);

#endif
