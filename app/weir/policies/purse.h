/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Policies with a total (allocator quota) on this box: each has a purse that its workers take from,
 * which control fills with units that the brain has spent in the ledger (limiter_spend()), and an
 * account of it. So a packet never waits for the ledger, and what a crash can lose is what lay in
 * the purse and the workers' hands.
 *
 * A purse belongs to a policy, and is found by its slot. One that moves to another slot takes its
 * purse along, as workers may be at both for a moment. Memory goes with the slot, when nobody looks
 * at it any more.
 *
 * What nobody has used is given back: when a policy leaves, when it has had no packets for a while
 * and others have taken all else, and at the stop. Not what workers hold of a policy that leaves:
 * at most a quantum each, a 65536th of the total for all together.
 *
 * Control, but for purses_prepare() and purses_remove(), which are as tenant_prepare() is.
 */
#ifndef WEIR_APP_PURSE_H
#define WEIR_APP_PURSE_H

#include <stdbool.h>
#include <stdint.h>

struct box;
struct limit_profile;
struct policy;
struct quota_view;

/* Of a policy with a total, what the brain knows of it; else false. */
bool box_budget(const struct box *box, unsigned policy, struct quota_view *view);

/* An empty purse for a free slot, if the policy is of this kind. 0 or -ENOMEM. */
int purses_prepare(struct box *box, const struct policy *policy, uint32_t slot);

/* The slot's purse, if any. */
void purses_remove(struct box *box, uint32_t slot);

/* The policy in a slot begins; of what has a purse already, nothing. */
void purses_begin(struct box *box, uint32_t slot);

/* Makes a worker's profile of the policy in a slot one of its purse; without one, nothing. */
void purses_join(const struct box *box, uint32_t slot, struct limit_profile *profile);

/* A policy moves to a slot that is prepared for it. */
void purses_move(struct box *box, uint32_t from, uint32_t to);

/* Workers are at its former slot no more: what they held there is given back. */
void purses_moved(struct box *box, uint32_t from, uint32_t to);

/*
 * Before limiter_update(), with what it is told (n policies, of each its index so far): what is in
 * the purses of those that leave is given back. Should the update fail they are filled again.
 */
void purses_leave(struct box *box, const unsigned *known, unsigned n);

/* When purses_look() is due; UINT64_MAX: never. */
uint64_t purses_next(const struct box *box);

/*
 * If it is due: begins periods that are due by the wall clock, sees what was taken, and fills.
 * True if there may be something to send, or to tell the workers.
 */
bool purses_look(struct box *box, uint64_t now_ns);

/* Letters have come, or a disk is done: asks again for what could not be had at once. */
void purses_retry(struct box *box);

/* Workers have stopped: all that they and the purses hold is given back. */
void purses_stop(struct box *box);

/* For operators: units that lie in the purse of the policy in a slot. */
uint64_t purses_held(const struct box *box, uint32_t slot);

#endif
