/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "measure.h"

#include <errno.h>
#include <stdlib.h>

#include "base/time.h"
#include "box.h"
#include "clock.h"
#include "delays.h"
#include "engine/profile.h"
#include "police/shaped.h"
#include "totals.h"

struct measurement {
	uint64_t *flows; /* n_workers × FLOW_SLOTS: one policy's samples, being measured */
	struct sampling_budget budget;
	uint64_t budget_ns; /* when its round began */
};

static unsigned count_sampled(const struct box *box)
{
	unsigned n = 0;

	for (unsigned i = 0; i < box->n_policies; i++)
		n += box->policies[i].allocator->samples_flows;
	return n;
}

int measure_start(struct box *box)
{
	unsigned n = box->config->n_workers;
	struct measurement *measurement = calloc(1, sizeof(*measurement));

	if (!measurement)
		return -ENOMEM;
	measurement->flows = calloc((size_t)n * FLOW_SLOTS, sizeof(*measurement->flows));
	if (!measurement->flows) {
		free(measurement);
		return -ENOMEM;
	}
	sampling_budget_init(&measurement->budget, n, count_sampled(box));
	measurement->budget_ns = control_now();
	box->measurement = measurement;
	return 0;
}

void measure_stop(struct box *box)
{
	free(box->measurement->flows);
	free(box->measurement);
	box->measurement = NULL;
}

/* What one worker has counted in a slot is added to what all have; returns the bytes. */
static uint64_t measure_counters(
	struct box *box, uint32_t slot, unsigned w, struct limiter_sample *sample)
{
	const struct policy_state *state = &box->workers[w].policies[slot];
	uint64_t arrived = counter_read(&state->bytes);

	sample->arrived_bytes += arrived;
	/* What is marked, only counted, or made to wait is too much all the same. */
	sample->dropped_packets += box_fold(box, slot, w)->dropped_packets +
				   police_over_packets(state) + shaped_waited(state);
	return arrived;
}

/* The same of a policy's own slot; and how its demand lies over the workers. */
static void measure_worker(struct box *box, uint32_t slot, unsigned w, double interval_s,
	struct limiter_sample *sample)
{
	const struct flow_sample *flows = box->workers[w].samples[slot];
	struct split *split = &box->splits[slot];
	uint64_t arrived = measure_counters(box, slot, w, sample);

	if (split->shares)
		share_look(&split->shares[w], arrived, interval_s, shares_keep(interval_s));
	for (unsigned i = 0; i < FLOW_SLOTS; i++)
		box->measurement->flows[w * FLOW_SLOTS + i] = flows ? flow_slot_read(flows, i) : 0;
}

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
		measure_counters(box, carried->also, w, sample);
}

static uint64_t packets_of(const struct box *box, uint32_t slot)
{
	uint64_t packets = 0;

	for (unsigned w = 0; w < box->config->n_workers; w++)
		packets += box_totals(box, slot, w)->packets;
	return packets;
}

void measure_policy(void *context, unsigned policy, struct limiter_sample *sample)
{
	struct box *box = context;
	uint32_t slot = box->slots.of[policy];
	struct split *split = &box->splits[slot];
	uint64_t now = control_now(), packets;
	double interval_s = (double)(now - split->measured_ns) / SECOND_NS;
	struct sampling sampling = split->sampling;

	/* What waits now is the least that has waited at some time since the last measurement. */
	*sample = (struct limiter_sample){
		.slots = box->measurement->flows, .backlog = box_waiting(box, slot).units};
	for (unsigned w = 0; w < box->config->n_workers; w++)
		measure_worker(box, slot, w, interval_s, sample);
	measure_carried(box, slot, sample);
	/* Since the last measurement: somebody may have looked in between. */
	packets = packets_of(box, slot) - split->packets;
	split->packets += packets;
	if (box->policies[policy].allocator->samples_flows)
		sampling_adapt(&split->sampling, &box->measurement->budget, packets, interval_s);
	split->measured_ns = now;
	/* What the limiter does not know of, and so cannot say that it has changed. */
	if (split->shares || split->sampling.shift != sampling.shift)
		dirty_mark(&box->dirty, slot);
}

void measure_share_samples(struct box *box, uint64_t now_ns)
{
	if (now_ns - box->measurement->budget_ns < SECOND_NS &&
		!sampling_budget_spent(&box->measurement->budget))
		return;
	sampling_budget_adapt(&box->measurement->budget,
		(double)(now_ns - box->measurement->budget_ns) / SECOND_NS);
	box->measurement->budget_ns = now_ns;
}

void measure_wake(struct box *box)
{
	for (unsigned w = 0; w < box->config->n_workers; w++) {
		const struct policy_state *states = box->workers[w].policies;

		for (unsigned i = 0; i < box->n_policies; i++) {
			uint32_t slot = box->slots.of[i];
			uint32_t seen = (uint32_t)box_totals(box, slot, w)->packets;

			if (counter_read32(&states[slot].packets) != seen)
				limiter_wake(box->limiter, i);
		}
	}
}
