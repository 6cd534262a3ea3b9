/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Measurements of policies for the limiter at every tick: bytes that arrived on all workers, and
 * how they are distributed over workers.
 */
#include "measure.h"

#include "instance.h"
#include "clock.h"
#include "delays.h"

/*
 * Adds the counts that a moved policy had in its previous slot. While workers might still use that
 * slot, the packets are counted on arrival. Passed and dropped packets do not include waiting
 * packets, and the sum would decrease.
 */
static void measure_carried_over(
	struct instance *inst, uint32_t slot, struct limiter_sample *sample)
{
	const struct carried_over *carried_over = &inst->carried_over[slot];
	const struct policy_totals *before = &carried_over->before;

	sample->arrived_bytes += before->passed_bytes + before->dropped_bytes;
	sample->dropped_packets += policy_totals_evidence(before) +
				   delays_waited_before(inst, slot);
	if (carried_over->also == SLOT_NONE)
		return;
	for (unsigned w = 0; w < engine_lines_of(&inst->engine, carried_over->also); w++)
		engine_measure_counters(&inst->engine, carried_over->also, w, sample);
}

void measure_policy(void *context, unsigned policy, struct limiter_sample *sample)
{
	struct instance *inst = context;
	uint32_t slot = inst->slots.of[policy];

	if (engine_measure(&inst->engine, slot, &inst->policies[policy], control_now(), sample))
		dirty_mark(&inst->dirty, slot);
	measure_carried_over(inst, slot, sample);
}
