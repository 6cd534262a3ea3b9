/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "measure.h"

#include "box.h"
#include "clock.h"
#include "delays.h"

/*
 * What a policy that has moved counted in its former slot is still its own. While workers may be at
 * that one, what has arrived is what they counted as it came: what was passed and dropped lacks
 * what waits, and would run backwards.
 */
static void measure_carried(struct box *box, uint32_t slot, struct limiter_sample *sample)
{
	const struct carried *carried = &box->carried[slot];
	const struct policy_totals *before = &carried->before;

	sample->arrived_bytes += before->passed_bytes + before->dropped_bytes;
	sample->dropped_packets += before->dropped_packets + before->over_packets +
				   delays_waited_before(box, slot);
	for (unsigned w = 0; carried->also != SLOT_NONE && w < box->config->n_workers; w++)
		engine_measure_counters(&box->engine, carried->also, w, sample);
}

void measure_policy(void *context, unsigned policy, struct limiter_sample *sample)
{
	struct box *box = context;
	uint32_t slot = box->slots.of[policy];

	if (engine_measure(&box->engine, slot, &box->policies[policy], control_now(), sample))
		dirty_mark(&box->dirty, slot);
	measure_carried(box, slot, sample);
}
