/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * What is left of a policy's limit on a worker when the lease has ended (base/expiry.h): the worker
 * carries it out by itself, as of the tick of the end, so that what its bucket earned before was at
 * the limit that held then. The next limit that it is told replaces this one. Not per packet.
 */
#ifndef WEIR_POLICE_EXPIRE_H
#define WEIR_POLICE_EXPIRE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/expiry.h"
#include "meter/shared_bucket.h"
#include "police/policy_state.h"

/*
 * Leaves a policy what does not end of its own bucket, from tick `from` on. For those that borrow
 * there is police_borrow_ended(), for those whose packets wait shaped_expire(). The state's one
 * writer.
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
 * The smallest burst that limits flows and does not stop them, as the brain has it: a limit that
 * may be exceeded leaves no less of a burst. One that never is leaves what is promised to nobody.
 */
#define POLICE_LEAST_BYTES   UINT64_C(9084)
#define POLICE_LEAST_PACKETS UINT64_C(6)

/* So many units of a bucket; of a policy that borrows. Any thread. */
uint64_t police_burst_least(const struct policy_state *state);

/* How a limit has ended: since a tick, in what, and of a bucket of how many units, at least. */
struct police_end {
	uint64_t from, least;
	uint8_t ending;
};

/*
 * police_borrow() of a policy whose limit has ended but for what is left: by a clock that goes
 * slower since then, from a bucket that is as much shallower. Others may draw from it by the whole
 * limit meanwhile, for however long: who is slower takes no more than his part of it. The state's
 * one writer.
 */
bool police_borrow_ended(struct policy_state *state, struct shared_bucket *shared, uint64_t cost,
	uint64_t now, const struct police_end *end);

#endif
