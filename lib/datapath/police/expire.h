/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The rest of a policy's limit on a worker when the lease has ended (base/expiry.h). The worker
 * applies it by itself, as of the tick of the end, so that its bucket's earlier earnings were at
 * the limit that held then. The worker's next limit replaces this one. Not per packet.
 */
#ifndef WEIR_POLICE_EXPIRE_H
#define WEIR_POLICE_EXPIRE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/expiry.h"
#include "meter/shared_bucket.h"
#include "police/policy_state.h"

/*
 * Leaves a policy the part of its own bucket that does not end, from tick `from` on. If it borrows,
 * use police_borrow_ended(); if its packets wait, shaped_expire(). The state's one writer.
 */
void police_expire(struct policy_state *state, uint8_t ending, uint64_t from);

struct shaper;

/*
 * Calls police_expire() or shaped_expire() for the kind of the policy. Returns false and does
 * nothing if the policy borrows from a bucket that workers share (`shared`): police_borrow_ended()
 * is for those. The state's one writer, whose shaper it is.
 */
bool police_end_limit(struct policy_state *state, struct shaper *shaper, bool shared,
	uint8_t ending, uint64_t from);

/*
 * The smallest burst that limits flows and does not stop them, as in lib/control: a soft limit
 * leaves no less of a burst. A hard limit leaves the unreserved share.
 */
#define POLICE_LEAST_BYTES   UINT64_C(9084)
#define POLICE_LEAST_PACKETS UINT64_C(6)

/* Returns that many units of a bucket, for a policy that borrows. Any thread. */
uint64_t police_burst_least(const struct policy_state *state);

/* How a limit has ended: since which tick, by which part, and the least units of its bucket. */
struct police_end {
	uint64_t from, least;
	uint8_t ending;
};

/*
 * police_borrow() of a policy whose limit has ended except for the rest: by a clock that is slower
 * since then, from a bucket that is as much shallower. Others can draw from it by the whole limit
 * meanwhile, for any time: the slower worker takes no more than its part of it. The state's one
 * writer.
 */
bool police_borrow_ended(struct policy_state *state, struct shared_bucket *shared, uint64_t cost,
	uint64_t now, const struct police_end *end);

#endif
