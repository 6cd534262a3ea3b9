/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Limits that control sends to one worker: a ring of changed limits, and a hash of the last one
 * sent for each policy, so that no limit is sent twice. If the worker sleeps or is busy, the ring
 * can be full. Control keeps the other changes and later sends their values of that time.
 *
 * One producer, control; one consumer, the worker. Neither waits.
 */
#ifndef WEIR_APP_LIMIT_RING_H
#define WEIR_APP_LIMIT_RING_H

#include <stdbool.h>
#include <stdint.h>

#include "police/policy_state.h"

struct rte_ring;

/* Most limits in a ring: 256 kB, and the most that a worker takes when it wakes. */
#define LIMIT_RING_MAX 4095

struct limit_ring {
	struct rte_ring *ring;
	uint64_t *sent; /* control's: a hash of the last limit sent, by policy */
	unsigned n_policies;
};

/* Control, before the workers start. Returns 0 or -ENOMEM; call limit_ring_free() in both cases. */
int limit_ring_init(struct limit_ring *limit_ring, unsigned n_policies);

/* Control, after the workers have stopped. */
void limit_ring_free(struct limit_ring *limit_ring);

/* Notes the limit that the worker begins with, which is already in its line. Control. */
void limit_ring_begin(struct limit_ring *limit_ring, const struct limit_profile *profile);

/*
 * Sends a limit, unless the last one was the same. Returns false if the ring is full: nothing was
 * sent, and the worker keeps the last one. Control.
 */
bool limit_ring_send(struct limit_ring *limit_ring, const struct limit_profile *profile);

/*
 * limit_ring_mark() returns the end of all limits sent so far. limit_ring_taken() returns true if
 * the worker has taken all of them; it applies them by its next quiescent state. Control.
 */
uint32_t limit_ring_mark(const struct limit_ring *limit_ring);
bool limit_ring_taken(const struct limit_ring *limit_ring, uint32_t mark);

/* Returns true if the worker has taken all that has been sent. Control or the worker. */
bool limit_ring_is_taken(const struct limit_ring *limit_ring);

/* Makes the policy's next limit be sent even if it has not changed. Control. */
void limit_ring_forget(struct limit_ring *limit_ring, uint32_t policy);

/* Takes the oldest limits, at most n, in their order. Returns their number. The worker. */
unsigned limit_ring_take(
	const struct limit_ring *limit_ring, struct limit_profile *profiles, unsigned n);

#endif
