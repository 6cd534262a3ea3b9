/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * A packet of a policy that has a trial (policy/trial.h). The line of the trial counts the effect
 * of the other limit on it, like the policy's own line, and the verdict is ignored. It is tried
 * before it is charged and marked, with any result.
 */
#ifndef WEIR_POLICE_TRY_H
#define WEIR_POLICE_TRY_H

#include <stddef.h>
#include <stdint.h>

#include "police/borrow.h"
#include "police/charge.h"

/*
 * Lines after those of n policies: so many for the trials of each, because one that begins needs
 * its own while workers can still be at the one before.
 */
#define TRIAL_LINES 2

/* The place of a line of a policy's trials, 1 to TRIAL_LINES; with 0 it is the policy's own. */
static inline uint32_t trial_slot(uint32_t slot, unsigned trial, uint32_t n)
{
	return slot + trial * n;
}

/* Lines that n policies have in all. */
static inline size_t trial_lines(size_t n)
{
	return n * (1 + TRIAL_LINES);
}

/*
 * Tries a packet that arrived at `now`. `trial` is that line of the worker; `shared` the bucket of
 * the trial that all workers share, or NULL if there is one worker. The lines' one writer.
 */
static inline void police_try(struct policy_state *trial, struct shared_bucket *shared,
	const struct packet *packet, const uint8_t *data, uint32_t frame_len, uint64_t now)
{
	uint32_t cost = police_cost(trial, packet, data, frame_len, now);

	if (shared && police_is_simple(trial))
		police_borrow(trial, shared, cost, now);
	else if (shared && police_borrows(trial))
		police_borrow_other(trial, shared, cost, now);
	(void)police_charge(trial, packet, data, cost, now);
}

/* police_try() of the bytes that a trial that police_is_simple() charges for it. */
static inline void police_try_bytes(
	struct policy_state *trial, struct shared_bucket *shared, uint32_t bytes, uint64_t now)
{
	if (shared)
		police_borrow(trial, shared, bytes, now);
	(void)police_over(trial, bytes, now);
}

#endif
