/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Counts of policies and workers (engine/counts.h), for operators and for the limiter. Control.
 */
#ifndef WEIR_APP_TOTALS_H
#define WEIR_APP_TOTALS_H

#include "instance.h"

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "drop/drop_reason.h"

/* Returns the counts of the slot itself. If they have changed, wakes an idle policy in the slot. */
struct policy_totals instance_slot_totals(struct instance *inst, uint32_t slot);

/* Returns the counts of the slot's policy, in this slot and before. */
struct policy_totals instance_policy_totals(struct instance *inst, uint32_t slot);

struct worker_counters instance_worker_totals(const struct instance *inst);

void policy_totals_add(struct policy_totals *totals, const struct policy_totals *more);

/* --- balance of packets ----------------------------------------------------------------------- */

/*
 * The balance of packets: received = transmitted + dropped + waiting. Workers count without locks,
 * so the counters can be read in the middle of a burst. `missing` and `surplus` are lower bounds:
 * neither is above `in_work` unless a packet is in no counter, or in two of them.
 */

struct instance;

struct packet_balance {
	uint64_t received; /* by the worker that decides the packet */
	uint64_t transmitted, dropped;
	uint64_t reasons[DROP_REASONS]; /* parts of `dropped` */
	uint64_t waiting;               /* in queues of shaped policies, and between workers */
	uint64_t missing, surplus;      /* received without an end; ended without being received */
	uint64_t in_work;               /* largest number that running workers can hold */
};

/* Packets of a wire, by its index, or of all wires, since the start. Control. */
#define PACKET_BALANCE_ALL UINT_MAX
struct packet_balance packet_balance(const struct instance *inst, unsigned wire);

/* Returns true if counters and packets cannot agree. */
static inline bool packet_balance_fails(const struct packet_balance *balance)
{
	return balance->missing > balance->in_work || balance->surplus > balance->in_work;
}

/* --- measurements ----------------------------------------------------------------------------- */

/*
 * Measurements of policies for the limiter at every tick: bytes that arrived on all workers, and
 * how they are distributed over workers. Control.
 */

struct instance;
struct limiter_sample;

/*
 * Measures a policy (limiter_measure); the context is the instance. Also reads how the policy's
 * demand is distributed over the workers, and marks the policy if that has changed.
 */
void measure_policy(void *context, unsigned policy, struct limiter_sample *sample);

#endif
