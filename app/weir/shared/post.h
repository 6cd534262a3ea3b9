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
#ifndef WEIR_APP_POST_H
#define WEIR_APP_POST_H

#include <stdbool.h>
#include <stdint.h>

#include "police/policy_state.h"

struct rte_ring;

/* Limits that lie in a ring at most: 256 kB, and what a worker takes in when it wakes. */
#define POST_MAX 4095

struct post {
	struct rte_ring *ring;
	uint64_t *told; /* control: of each policy, a hash of what was last sent */
	unsigned n_policies;
};

/* Control, before the workers start. Returns 0 or -ENOMEM; post_free() is due in either case. */
int post_init(struct post *post, unsigned n_policies);

/* Control, after the workers have stopped. */
void post_free(struct post *post);

/* Control: this is what the worker begins with, as it has been put into its line. */
void post_begin(struct post *post, const struct limit_profile *profile);

/*
 * Control: tells the worker, if that is news to it. False if the ring is full: nothing has been
 * said, and what was said before still holds.
 */
bool post_send(struct post *post, const struct limit_profile *profile);

/*
 * Control: what stands for all that has been sent so far; and whether the worker has taken all of
 * that, and begun to act on it: it has acted by its next quiescent state.
 */
uint32_t post_mark(const struct post *post);
bool post_taken(const struct post *post, uint32_t mark);

/* The worker: takes the oldest ones, at most n, in their order; returns how many. */
unsigned post_take(const struct post *post, struct limit_profile *profiles, unsigned n);

#endif
