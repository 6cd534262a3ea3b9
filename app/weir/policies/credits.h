/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Policies with a total (allocator quota) on this box: each has a credit that its workers take
 * from, which control fills with units that the brain has spent in the ledger (limiter_spend()),
 * and an account of it. So a packet never waits for the ledger, and what a crash can lose is what
 * lay in the credit and the workers' hands.
 *
 * A credit belongs to a policy, and is found by its slot. One that moves to another slot takes its
 * credit along, as workers may be at both for a moment. Memory goes with the slot, when nobody
 * looks at it any more.
 *
 * What nobody has used is given back: when a policy leaves, when it has had no packets for a while
 * and others have taken all else, and at the stop. Not what workers hold of a policy that leaves:
 * at most a quantum each, a 65536th of the total for all together.
 *
 * Control.
 */
#ifndef WEIR_APP_CREDITS_H
#define WEIR_APP_CREDITS_H

#include <stdbool.h>
#include <stdint.h>

#include "parts.h"

struct instance;
struct credit_account;
struct quota_view;

/* What the brain knows of a policy with a total; else false. */
bool instance_budget(const struct instance *inst, unsigned policy, struct quota_view *view);

struct credits {
	struct credit_account **slots; /* of the policy in a slot that has a total, else NULL */
	struct credit_account *first;  /* of those that have begun, in no order */
	uint64_t next_ns;              /* when they are looked at next */
};

/* The credit of a policy with a total, all of them in `credits` of struct instance. */
extern const struct policy_part credit_part;

/* The module of start-up: 0 or -ENOMEM, and then nothing is left. Its stop gives all back first. */
int credits_start(struct instance *inst);
void credits_stop(struct instance *inst);

/* Workers have stopped: all that they and the credits hold is given back to the ledger. */
void credits_give_back(struct instance *inst);

/* When credits_look() is due; UINT64_MAX: never. */
uint64_t credits_next(const struct instance *inst);

/*
 * If it is due: begins periods that are due by the wall clock, sees what was taken, and fills.
 * True if there may be something to send, or to tell the workers.
 */
bool credits_look(struct instance *inst, uint64_t now_ns);

/* Messages have come, or a disk is done: asks again for what could not be had at once. */
void credits_retry(struct instance *inst);

/* For operators: units that lie in the credit of the policy in a slot. */
uint64_t credits_held(const struct instance *inst, uint32_t slot);

#endif
