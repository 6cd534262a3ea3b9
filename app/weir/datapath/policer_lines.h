/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Packets of a burst that are charged to one line each, in one step. Private to this room; the
 * worker's own thread.
 */
#ifndef WEIR_APP_POLICER_LINES_H
#define WEIR_APP_POLICER_LINES_H

#include "policer.h"

/* The policy's state and the costs of each packet. */
struct policer_lines {
	struct policy_state *states[BURST];         /* plain; `none` if it is not charged */
	uint32_t costs[ACCOUNTING_WIRE + 1][BURST]; /* police_bytes() by each accounting */
	/*
	 * A plain state that is never empty: charging packets without a policy to it saves a
	 * branch.
	 */
	struct policy_state none;
};

/*
 * Fills in `lines` and begins to fetch the policies' lines. `matched`: bit mask of the packets to
 * charge; they have plain policies.
 */
void policer_lines_find(struct policer_lines *lines, struct worker *worker,
	const struct rx_burst *burst, uint64_t matched, uint64_t now);

/* Charges, samples and counts them. Returns those of the burst that do not pass, as a bit mask. */
uint64_t policer_lines_charge(
	struct policer_lines *lines, struct worker *worker, struct rx_burst *burst, uint64_t now);

/*
 * Charges, samples and counts packets like policer_lines_charge(), eight at a time. Sets *drops to
 * the packets that do not pass, as a bit mask. Returns false, and has done nothing, if the CPU
 * cannot, if limits have ended, or if it is slower because more than one eight repeats a policy.
 */
bool policer_lines_charge_eights(struct worker *worker, struct rx_burst *burst, uint64_t matched,
	uint64_t now, uint64_t *drops);

#endif
