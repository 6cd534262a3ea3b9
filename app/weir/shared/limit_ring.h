/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Limits on their way from control to one worker: a ring of those that changed, and what the worker
 * was last told of each policy, so that it is not told again. A worker that does not look, as it
 * sleeps or is busy, finds the ring full of what it needs to know and no more than that; control
 * keeps what did not fit and tells it later, as it is by then.
 *
 * One producer, control; one consumer, the worker. Nobody waits.
 */
#ifndef WEIR_APP_LIMIT_RING_H
#define WEIR_APP_LIMIT_RING_H

#include <stdbool.h>
#include <stdint.h>

#include "police/policy_state.h"

struct rte_ring;

/* Limits that lie in a ring at most: 256 kB, and what a worker takes in when it wakes. */
#define LIMIT_RING_MAX 4095

struct limit_ring {
	struct rte_ring *ring;
	uint64_t *told; /* control: of each policy, a hash of what was last sent */
	unsigned n_policies;
};

/*
 * Control, before the workers start. Returns 0 or -ENOMEM; limit_ring_free() is due in either case.
 */
int limit_ring_init(struct limit_ring *limit_ring, unsigned n_policies);

/* Control, after the workers have stopped. */
void limit_ring_free(struct limit_ring *limit_ring);

/* Control: this is what the worker begins with, as it has been put into its line. */
void limit_ring_begin(struct limit_ring *limit_ring, const struct limit_profile *profile);

/*
 * Control: tells the worker, if that is news to it. False if the ring is full: nothing has been
 * said, and what was said before still holds.
 */
bool limit_ring_send(struct limit_ring *limit_ring, const struct limit_profile *profile);

/*
 * Control: what stands for all that has been sent so far; and whether the worker has taken all of
 * that, and begun to act on it: it has acted by its next quiescent state.
 */
uint32_t limit_ring_mark(const struct limit_ring *limit_ring);
bool limit_ring_taken(const struct limit_ring *limit_ring, uint32_t mark);

/* Returns true if the worker has taken all that has been sent. Control or the worker. */
bool limit_ring_is_taken(const struct limit_ring *limit_ring);

/* Control: the worker is told of a policy again, though nothing has changed. */
void limit_ring_forget(struct limit_ring *limit_ring, uint32_t policy);

/* The worker: takes the oldest ones, at most n, in their order; returns how many. */
unsigned limit_ring_take(
	const struct limit_ring *limit_ring, struct limit_profile *profiles, unsigned n);

#endif
