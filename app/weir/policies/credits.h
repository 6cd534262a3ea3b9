/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Quotas (allocator quota) on this limiter. Each policy with a quota has a credit from which its
 * workers take units, and an account by which control fills it (engine/credit_account.h). Control
 * reviews all of them in turn.
 *
 * A credit belongs to a policy, and is found by its slot. A policy that moves to another slot takes
 * its credit along, because workers might use both slots for a moment. Memory is freed with the
 * slot, when no thread uses it any more.
 *
 * Unused units are returned when a policy leaves, and at the stop. They are also returned when it
 * has had no packets for a while, and other limiters have taken all remaining units. Units that
 * workers hold of a policy that leaves are not returned: at most a quantum each, a 65536th of the
 * quota for all together.
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

/* Reads the limiter's view of a policy's quota; returns false without one. */
bool instance_budget(const struct instance *inst, unsigned policy, struct quota_view *view);

struct credits {
	struct slot_credit **slots; /* by slot; NULL: its policy has no quota */
	struct slot_credit *first;  /* credits that have begun, in no order */
	uint64_t next_ns;           /* time of the next review */
	unsigned watched;           /* telemetry: policy that it reviews next, and */
	uint64_t watched_ns;        /* time of its last review */
};

/* Credit of a policy with a quota, in `credits` of struct instance. */
extern const struct policy_part credit_part;

/* Start-up module. Returns 0 or -ENOMEM, with nothing left. The stop first returns all units. */
int credits_start(struct instance *inst);
void credits_stop(struct instance *inst);

/* Returns all units of workers and credits to the ledger. Called after the workers have stopped. */
void credits_give_back(struct instance *inst);

/* Returns the time at which credits_look() is due; UINT64_MAX: never. */
uint64_t credits_next(const struct instance *inst);

/*
 * If due: reads the wall clock, begins periods that are due by it (budget/timekeeper.h), reads the
 * units that workers took, and refills the credits. Returns true if there might be something to
 * send, or to publish to the workers.
 */
bool credits_look(struct instance *inst, uint64_t now_ns);

/* Requests units again that were unavailable. Called after messages, or a record on disk. */
void credits_retry(struct instance *inst);

/* Returns the level that telemetry last reported for the policy in a slot; NULL: no quota. */
uint8_t *credits_published(const struct instance *inst, uint32_t slot);

/* Returns the units in the credit of the policy in a slot. For operators. */
uint64_t credits_held(const struct instance *inst, uint32_t slot);

#endif
