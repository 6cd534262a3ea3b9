/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Policies with a total (allocator quota) on this box: each has a credit that its workers take
 * from, and an account by which control fills it (engine/credit_account.h), looking at all of them
 * in turn.
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
struct quota_view;
struct slot_credit;

/* What the brain knows of a policy with a total; else false. */
bool instance_budget(const struct instance *inst, unsigned policy, struct quota_view *view);

struct credits {
	struct slot_credit **slots; /* of the policy in a slot that has a total, else NULL */
	struct slot_credit *first;  /* of those that have begun, in no order */
	uint64_t next_ns;           /* when they are looked at next */
	unsigned watched;           /* telemetry's: the policy whose turn it is, and */
	uint64_t watched_ns;        /* when it last looked */
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
 * If it is due: looks at the wall clock, begins periods that are due by the time that this makes it
 * (budget/timekeeper.h), sees what was taken, and fills. True if there may
 * be something to send, or to tell the workers.
 */
bool credits_look(struct instance *inst, uint64_t now_ns);

/* Messages have come, or a disk is done: asks again for what could not be had at once. */
void credits_retry(struct instance *inst);

/* What an operator was last told of the policy in a slot: telemetry's; NULL: it has no total. */
uint8_t *credits_told(const struct instance *inst, uint32_t slot);

/* For operators: units that lie in the credit of the policy in a slot. */
uint64_t credits_held(const struct instance *inst, uint32_t slot);

#endif
