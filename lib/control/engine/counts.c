/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Counters of workers, by slot: sums for operators, measurements for the limiter's allocation.
 */
#include "engine/counts.h"

#include <string.h>

#include "base/time.h"
#include "police/coloured.h"
#include "police/extended.h"
#include "police/shaped.h"
#include "police/try.h"
#include "policy/kind.h"

static const struct policy_state *counted_state_of(
	const struct engine *engine, uint32_t slot, unsigned worker)
{
	return &engine->workers[worker].states[slot];
}

/* Returns the exceeding packets that passed on a worker or a CPU of the kernel. */
static struct police_over over_of(const struct engine *engine, uint32_t slot, unsigned worker)
{
	const struct policy_state *state = counted_state_of(engine, slot, worker);

	if (worker < engine->n_workers)
		return (struct police_over){police_over_packets(state), police_over_bytes(state)};
	return (struct police_over){
		counter_read(&state->over.packets), counter_read(&state->over.bytes)};
}

static struct police_totals *fold_totals(struct engine *engine, uint32_t slot, unsigned worker)
{
	struct police_totals *totals = engine_totals_of(engine, slot, worker);

	police_fold(totals, counted_state_of(engine, slot, worker));
	return totals;
}

struct waiting engine_waiting(const struct engine *engine, uint32_t slot)
{
	struct waiting waiting = {0};

	for (unsigned w = 0; w < engine->n_workers; w++) {
		const struct policy_state *state = counted_state_of(engine, slot, w);

		if (!police_is_shaped(state) || !state->other)
			continue;
		waiting.packets += counter_read32(&police_shape(state->other)->waiting);
		waiting.units += counter_read32(&police_shape(state->other)->units);
	}
	return waiting;
}

static void add_colours(struct policy_totals *totals, const struct policy_state *state)
{
	if (!police_is_coloured(state))
		return;
	for (unsigned c = 0; c < COLOURS; c++) {
		const struct coloured_count *count = &police_coloured(state->other)->counts[c];

		totals->colours[c].packets += counter_read(&count->packets);
		totals->colours[c].bytes += counter_read(&count->bytes);
	}
	totals->beyond_packets += counter_read(&police_coloured(state->other)->beyond);
}

bool engine_totals(struct engine *engine, uint32_t slot, struct policy_totals *totals)
{
	struct engine_slot *reported = &engine->slots[slot];
	uint64_t packets = 0, bytes = 0;
	struct waiting waiting;
	bool news = false;

	*totals = (struct policy_totals){0};
	for (unsigned w = 0; w < engine_lines_of(engine, slot); w++) {
		const struct policy_state *state = counted_state_of(engine, slot, w);
		uint64_t before = engine_totals_of(engine, slot, w)->packets;
		const struct police_totals *folded = fold_totals(engine, slot, w);
		struct police_over over = over_of(engine, slot, w);

		news |= folded->packets != before;
		packets += folded->packets;
		bytes += counter_read(&state->bytes);
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
		totals->dropped_packets += folded->dropped_packets;
		totals->dropped_bytes += police_dropped_bytes(state);
		totals->over_packets += over.packets;
		totals->over_bytes += over.bytes;
		totals->fallback_packets += police_fallback_packets(state);
		totals->fallback_bytes += police_fallback_bytes(state);
		add_colours(totals, state);
	}
	waiting = engine_waiting(engine, slot);
	police_passed(
		&reported->passed_packets, packets, totals->dropped_packets + waiting.packets);
	police_passed(&reported->passed_bytes, bytes, totals->dropped_bytes + waiting.units);
	totals->passed_packets = reported->passed_packets;
	totals->passed_bytes = reported->passed_bytes;
	return news;
}

static uint32_t trial_slot_of(const struct engine *engine, uint32_t slot)
{
	return trial_slot(slot, engine->slots[slot].trial, engine->n_slots);
}

void engine_trial_totals(struct engine *engine, uint32_t slot, struct policy_totals *totals)
{
	*totals = (struct policy_totals){0};
	if (engine->slots[slot].trial)
		(void)engine_totals(engine, trial_slot_of(engine, slot), totals);
}

struct source_table_stats engine_source_totals(const struct engine *engine, uint32_t slot)
{
	struct source_table_stats totals = {0};

	for (unsigned w = 0; w < engine->n_workers; w++) {
		const struct source_table *table = police_sources(
			counted_state_of(engine, slot, w));
		struct source_table_stats stats;

		if (!table)
			continue;
		source_table_read_stats(table, &stats);
		totals.sources += stats.sources;
		totals.capacity += stats.capacity;
		totals.overflows += stats.overflows;
		totals.displaced += stats.displaced;
		totals.full += stats.full;
		totals.new_sources += stats.new_sources;
	}
	return totals;
}

uint64_t engine_measure_counters(
	struct engine *engine, uint32_t slot, unsigned worker, struct limiter_sample *sample)
{
	const struct policy_state *state = counted_state_of(engine, slot, worker);
	uint64_t arrived = counter_read(&state->bytes);
	struct policy_totals totals = {
		.dropped_packets = fold_totals(engine, slot, worker)->dropped_packets,
		.over_packets = over_of(engine, slot, worker).packets,
	};

	add_colours(&totals, state);
	sample->arrived_bytes += arrived;
	/* Packets that are marked, only counted or made to wait exceed the limit, too. */
	sample->dropped_packets += policy_totals_evidence(&totals) + shaped_waited(state);
	return arrived;
}

/* Reads the counters and samples of a worker, and updates its share of the demand. */
static void measure_worker(struct engine *engine, uint32_t slot, unsigned w, double interval_s,
	struct limiter_sample *sample)
{
	struct flow_sample *const *samples = engine->workers[w].samples;
	struct share *shares = engine->slots[slot].shares;
	uint64_t arrived = engine_measure_counters(engine, slot, w, sample);

	if (shares && w < engine->n_workers)
		share_look(&shares[w], arrived, interval_s, shares_keep(interval_s));
	for (unsigned i = 0; i < FLOW_SLOTS; i++)
		engine->flows[w * FLOW_SLOTS + i] = samples[slot] ? flow_slot_read(samples[slot], i)
								  : 0;
}

/*
 * Updates the distribution of the trial's demand, and folds its 32-bit counters. Returns true if
 * the trial is divided over workers.
 */
static bool measure_trial(struct engine *engine, uint32_t slot, double interval_s)
{
	uint32_t mine = trial_slot_of(engine, slot);
	struct share *shares = engine->slots[mine].shares;
	struct limiter_sample ignored = {0};

	for (unsigned w = 0; w < engine->n_workers; w++) {
		uint64_t arrived = engine_measure_counters(engine, mine, w, &ignored);

		if (shares)
			share_look(&shares[w], arrived, interval_s, shares_keep(interval_s));
	}
	return shares != NULL;
}

static uint64_t packets_of(const struct engine *engine, uint32_t slot)
{
	uint64_t packets = 0;

	for (unsigned w = 0; w < engine_lines_of(engine, slot); w++)
		packets += engine_totals_of(engine, slot, w)->packets;
	return packets;
}

bool engine_measure(struct engine *engine, uint32_t slot, const struct policy *policy,
	uint64_t now_ns, struct limiter_sample *sample)
{
	struct engine_slot *mine = &engine->slots[slot];
	double interval_s = (double)(now_ns - mine->measured_ns) / SECOND_NS;
	uint8_t shift = mine->sampling.shift;
	uint64_t packets;
	bool divides;

	/*
	 * The present queue is the least that has waited at some time since the last measurement.
	 */
	*sample = (struct limiter_sample){
		.slots = engine->flows, .backlog = engine_waiting(engine, slot).units};
	for (unsigned w = 0; w < engine_lines_of(engine, slot); w++)
		measure_worker(engine, slot, w, interval_s, sample);
	for (unsigned w = engine_lines_of(engine, slot); w < engine_lines(engine); w++)
		memset(&engine->flows[w * FLOW_SLOTS], 0, FLOW_SLOTS * sizeof(*engine->flows));
	/*
	 * Since the last measurement, because engine_totals() might have folded counters in
	 * between.
	 */
	packets = packets_of(engine, slot) - mine->packets;
	mine->packets += packets;
	if (policy_samples_flows(policy))
		sampling_adapt(&mine->sampling, &engine->budget, packets, interval_s);
	mine->measured_ns = now_ns;
	divides = mine->trial && measure_trial(engine, slot, interval_s);
	return divides || mine->shares || mine->sampling.shift != shift;
}

void engine_wake(
	const struct engine *engine, struct limiter *limiter, const uint32_t *slots, unsigned n)
{
	for (unsigned w = 0; w < engine_lines(engine); w++) {
		const struct policy_state *states = engine->workers[w].states;

		for (unsigned i = 0; i < n; i++) {
			uint32_t slot = slots[i], seen;

			if (w >= engine->n_workers && !engine->slots[slot].kernel)
				continue;
			seen = (uint32_t)engine_totals_of(engine, slot, w)->packets;

			if (counter_read32(&states[slot].packets) != seen)
				limiter_wake(limiter, i);
		}
	}
}

void engine_share_begin(
	struct engine *engine, const struct policy *policies, unsigned n, uint64_t now_ns)
{
	unsigned sampled = 0;

	for (unsigned i = 0; i < n; i++)
		sampled += policy_samples_flows(&policies[i]);
	sampling_budget_init(&engine->budget, engine_lines(engine), sampled);
	engine->budget_ns = now_ns;
}

void engine_share_samples(struct engine *engine, uint64_t now_ns)
{
	if (now_ns - engine->budget_ns < SECOND_NS && !sampling_budget_spent(&engine->budget))
		return;
	sampling_budget_adapt(&engine->budget, (double)(now_ns - engine->budget_ns) / SECOND_NS);
	engine->budget_ns = now_ns;
}
