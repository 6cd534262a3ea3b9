/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Counts of policies and workers (engine/counts.h), for operators and for the limiter.
 */
#include "totals.h"

#include <string.h>

#include <rte_ring.h>

#include "base/counter.h"
#include "clock.h"
#include "delays.h"
#include "instance.h"
#include "rx_rings.h"

void policy_totals_add(struct policy_totals *totals, const struct policy_totals *more)
{
	totals->passed_packets += more->passed_packets;
	totals->passed_bytes += more->passed_bytes;
	totals->dropped_packets += more->dropped_packets;
	totals->dropped_bytes += more->dropped_bytes;
	totals->over_packets += more->over_packets;
	totals->over_bytes += more->over_bytes;
	totals->fallback_packets += more->fallback_packets;
	totals->fallback_bytes += more->fallback_bytes;
	for (unsigned c = 0; c < COLOURS; c++) {
		totals->colours[c].packets += more->colours[c].packets;
		totals->colours[c].bytes += more->colours[c].bytes;
	}
	totals->beyond_packets += more->beyond_packets;
}

/*
 * Reading the counts hides new packets from control's check for active policies: so it wakes the
 * policy.
 */
struct policy_totals instance_slot_totals(struct instance *inst, uint32_t slot)
{
	uint32_t policy = inst->slots.policy[slot];
	struct policy_totals totals;

	if (engine_totals(&inst->engine, slot, &totals) && policy != SLOT_FREE &&
		policy != SLOT_LEFT)
		limiter_wake(inst->limiter, policy);
	return totals;
}

struct policy_totals instance_policy_totals(struct instance *inst, uint32_t slot)
{
	const struct carried_over *carried_over = &inst->carried_over[slot];
	struct policy_totals totals = instance_slot_totals(inst, slot);

	policy_totals_add(&totals, &carried_over->before);
	if (carried_over->also != SLOT_NONE) {
		struct policy_totals also = instance_slot_totals(inst, carried_over->also);

		policy_totals_add(&totals, &also);
	}
	return totals;
}

struct worker_counters instance_worker_totals(const struct instance *inst)
{
	struct worker_counters totals = {0};

	for (unsigned i = 0; i < inst->config->n_workers; i++) {
		const struct worker_counters *c = &inst->workers[i].counters;

		totals.rx_packets += counter_read(&c->rx_packets);
		totals.tx_packets += counter_read(&c->tx_packets);
		totals.unmatched_packets += counter_read(&c->unmatched_packets);
		for (unsigned r = 0; r < DROP_REASONS; r++)
			totals.dropped[r] += counter_read(&c->dropped[r]);
		for (unsigned r = 0; r < UNPARSED_REASONS; r++)
			totals.unparsed[r] += counter_read(&c->unparsed[r]);
	}
	return totals;
}

/* --- balance of packets ----------------------------------------------------------------------- */

/*
 * A packet moves from `received` to the queues of shaped policies, to the rings between workers,
 * and to its end. Reading in this order can count a packet twice but never skip one, so received
 * minus the rest is a lower bound of the missing packets. The opposite order gives one of the
 * surplus.
 */

/* The burst in work, one from the rings, one from shaped policies, and one spare. */
#define BURSTS_IN_WORK 4

struct stages {
	uint64_t received, shaped, rings, ended, transmitted;
	uint64_t dropped[DROP_REASONS];
};

static void read_received(
	const struct worker *worker, const struct path *path, struct stages *stages)
{
	(void)worker;
	stages->received += counter_read(&path->counters.rx_packets);
}

static void read_shaped(const struct worker *worker, const struct path *path, struct stages *stages)
{
	(void)worker;
	stages->shaped += counter_read(&path->counters.waiting);
}

static void read_rings(const struct worker *worker, const struct path *path, struct stages *stages)
{
	const struct rx_rings *rings = path->rings;

	for (unsigned t = 0; rings && rings->owner == worker->index && t < rings->n_workers; t++)
		if (rings->back[t])
			stages->rings += rte_ring_count(rings->back[t]);
}

static void read_ended(const struct worker *worker, const struct path *path, struct stages *stages)
{
	uint64_t transmitted = counter_read(&path->counters.tx_packets);

	(void)worker;
	stages->transmitted += transmitted;
	stages->ended += transmitted;
	for (unsigned r = 0; r < DROP_REASONS; r++) {
		uint64_t dropped = counter_read(&path->counters.dropped[r]);

		stages->dropped[r] += dropped;
		stages->ended += dropped;
	}
}

typedef void stage_reader(
	const struct worker *worker, const struct path *path, struct stages *stages);

static stage_reader *const along[] = {read_received, read_shaped, read_rings, read_ended};

static void read_stage(
	const struct instance *inst, unsigned wire, stage_reader *read, struct stages *stages)
{
	for (unsigned w = 0; w < inst->config->n_workers; w++) {
		const struct worker *worker = &inst->workers[w];

		for (unsigned p = 0; p < worker->n_paths; p++)
			if (wire == PACKET_BALANCE_ALL || worker->paths[p].wire == wire)
				read(worker, &worker->paths[p], stages);
	}
}

static struct stages read_stages(const struct instance *inst, unsigned wire, bool backwards)
{
	const unsigned n = sizeof(along) / sizeof(*along);
	struct stages stages = {0};

	for (unsigned s = 0; s < n; s++)
		read_stage(inst, wire, along[backwards ? n - 1 - s : s], &stages);
	return stages;
}

static uint64_t subtract_to_zero(uint64_t a, uint64_t b)
{
	return a > b ? a - b : 0;
}

struct packet_balance packet_balance(const struct instance *inst, unsigned wire)
{
	struct stages first = read_stages(inst, wire, false), last = read_stages(inst, wire, true);
	struct packet_balance balance = {
		.received = first.received,
		.transmitted = first.transmitted,
		.dropped = first.ended - first.transmitted,
		.waiting = first.shaped + first.rings,
		.missing = subtract_to_zero(
			first.received, first.ended + first.shaped + first.rings),
		.surplus = subtract_to_zero(last.ended + last.shaped + last.rings, last.received),
		.in_work = (uint64_t)inst->config->n_workers * BURSTS_IN_WORK * BURST,
	};

	memcpy(balance.reasons, first.dropped, sizeof(balance.reasons));
	return balance;
}

/* --- measurements ----------------------------------------------------------------------------- */

/*
 * Measurements of policies for the limiter at every tick: bytes that arrived on all workers, and
 * how they are distributed over workers.
 */

void measure_policy(void *context, unsigned policy, struct limiter_sample *sample)
{
	struct instance *inst = context;
	uint32_t slot = inst->slots.of[policy];
	const struct carried_over *carried_over = &inst->carried_over[slot];
	const struct policy_totals *before = &carried_over->before;

	if (engine_measure(&inst->engine, slot, &inst->policies[policy], control_now(), sample))
		dirty_mark(&inst->dirty, slot);
	/*
	 * Adds the counts that a moved policy had in its previous slot. While workers might still
	 * use that slot, the packets are counted on arrival. Passed and dropped packets do not
	 * include waiting packets, and the sum would decrease.
	 */
	sample->arrived_bytes += before->passed_bytes + before->dropped_bytes;
	sample->dropped_packets += policy_totals_evidence(before) +
				   delays_waited_before(inst, slot);
	if (carried_over->also == SLOT_NONE)
		return;
	for (unsigned w = 0; w < engine_lines_of(&inst->engine, carried_over->also); w++)
		engine_measure_counters(&inst->engine, carried_over->also, w, sample);
}
