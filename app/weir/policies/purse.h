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
 * Control.
 */
#ifndef WEIR_APP_PURSE_H
#define WEIR_APP_PURSE_H

#include <stdbool.h>
#include <stdint.h>

#include "parts.h"

struct box;
struct purse_account;
struct quota_view;

/* What the brain knows of a policy with a total; else false. */
bool box_budget(const struct box *box, unsigned policy, struct quota_view *view);

struct purses {
	struct purse_account **slots; /* of the policy in a slot that has a total, else NULL */
	struct purse_account *first;  /* of those that have begun, in no order */
	uint64_t next_ns;             /* when they are looked at next */
};

/* The purse of a policy with a total, all of them in `purses` of struct box. */
extern const struct policy_part purse_part;

/* The module of start-up: 0 or -ENOMEM, and then nothing is left. Its stop gives all back first. */
int purses_start(struct box *box);
void purses_stop(struct box *box);

/* Workers have stopped: all that they and the purses hold is given back to the ledger. */
void purses_give_back(struct box *box);

/* When purses_look() is due; UINT64_MAX: never. */
uint64_t purses_next(const struct box *box);

/*
 * If it is due: begins periods that are due by the wall clock, sees what was taken, and fills.
 * True if there may be something to send, or to tell the workers.
 */
bool purses_look(struct box *box, uint64_t now_ns);

/* Letters have come, or a disk is done: asks again for what could not be had at once. */
void purses_retry(struct box *box);

/* For operators: units that lie in the purse of the policy in a slot. */
uint64_t purses_held(const struct box *box, uint32_t slot);

#endif
