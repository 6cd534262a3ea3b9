/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "show_shape.h"

#include <rte_cycles.h>

#include "box.h"
#include "delays.h"
#include "police/shaped.h"
#include "show_json.h"

#define MICRO     1e6
#define NS_PER_US 1e3

static double quantile_us(const struct delay_sum *sum, double share)
{
	uint64_t hz = rte_get_tsc_hz();

	return (double)delay_quantile(sum, share, delay_unit(hz)) * MICRO / (double)hz;
}

/* Null as long as nothing has left. */
static json_t *delay_json(const struct delay_sum *sum)
{
	if (delay_count(sum) == 0)
		return json_null();
	return json_pack("{s:f, s:f, s:f, s:f, s:f}", "p50", quantile_us(sum, 0.5), "p95",
		quantile_us(sum, 0.95), "p99", quantile_us(sum, 0.99), "p99_9",
		quantile_us(sum, 0.999), "max", quantile_us(sum, 1));
}

/* What is counted of one policy over all workers. */
static uint64_t over_workers(const struct box *box, uint32_t slot, size_t offset)
{
	uint64_t sum = 0;

	for (unsigned w = 0; w < box->config->n_workers; w++) {
		const struct policy_state *state = &box->workers[w].policies[slot];
		const char *shape = (const char *)state->other->shape;

		sum += counter_read((const uint64_t *)(const void *)(shape + offset));
	}
	return sum;
}

static json_t *drops_json(const struct box *box, uint32_t slot)
{
	static const enum drop_reason reasons[SHAPED_DROPS] = {
		[SHAPED_FULL] = DROP_QUEUE_FULL,
		[SHAPED_CROWDED] = DROP_CROWDED,
		[SHAPED_CODEL] = DROP_CODEL,
		[SHAPED_LATE] = DROP_LATE,
	};
	json_t *json = json_object();

	for (unsigned i = 0; i < SHAPED_DROPS; i++)
		json_object_set_new(json, drop_reason_name(reasons[i]),
			integer(over_workers(
				box, slot, offsetof(struct policy_shape, dropped[i]))));
	return json;
}

/* Of nothing nobody knows whether it would have been met. */
static json_t *slo_json(const struct policy *policy, const struct delay_sum *sum)
{
	double target = (double)policy->slo_p99_ns / NS_PER_US, p99;

	if (policy->slo_p99_ns == 0)
		return json_null();
	if (delay_count(sum) == 0)
		return json_pack("{s:n, s:f, s:n}", "p99_us", "target_us", target, "met");
	p99 = quantile_us(sum, 0.99);
	return json_pack(
		"{s:f, s:f, s:b}", "p99_us", p99, "target_us", target, "met", p99 <= target);
}

void show_shape(json_t *json, const struct box *box, unsigned i)
{
	const struct policy *policy = &box->policies[i];
	uint32_t slot = box->slots.of[i];
	struct waiting waiting = box_waiting(box, slot);
	struct delay_sum sum;
	json_t *shape;

	if (!policy_is_shaped(policy)) {
		json_object_set_new(json, "shape", json_null());
		json_object_set_new(json, "slo", json_null());
		return;
	}
	delays_sum(box, slot, &sum);
	shape = json_pack("{s:o, s:o, s:o, s:o, s:o, s:o}", "waiting_packets",
		integer(waiting.packets), "waited_packets",
		integer(over_workers(box, slot, offsetof(struct policy_shape, waited))),
		"left_packets", integer(delay_count(&sum)), "delay_us", delay_json(&sum), "marked",
		integer(over_workers(box, slot, offsetof(struct policy_shape, marked))), "dropped",
		drops_json(box, slot));
	if (policy->count != COUNT_PACKETS)
		show_units(shape, policy, "waiting", waiting.units);
	json_object_set_new(json, "shape", shape);
	json_object_set_new(json, "slo", slo_json(policy, &sum));
}

/* Those of a sum that packets are in: its edges, and how many. */
static json_t *bins_json(const struct delay_sum *sum)
{
	double hz = (double)rte_get_tsc_hz();
	unsigned unit = delay_unit(rte_get_tsc_hz());
	json_t *json = json_array();
	uint64_t from = 0;

	for (unsigned i = 0; i < DELAY_BINS; i++) {
		uint64_t to = delay_bin_end(i, unit) + 1;

		if (sum->bins[i])
			json_array_append_new(
				json, json_pack("[f, f, o]", (double)from * MICRO / hz,
					      (double)to * MICRO / hz, integer(sum->bins[i])));
		from = to;
	}
	return json;
}

json_t *show_delays(const char *params, void *context)
{
	const struct box *box = context;
	unsigned i = params ? show_find(box, params) : box->n_policies;
	struct delay_sum sum;

	if (i == box->n_policies || !policy_is_shaped(&box->policies[i]))
		return NULL;
	delays_sum(box, box->slots.of[i], &sum);
	return json_pack(
		"{s:o, s:o}", "packets", integer(delay_count(&sum)), "bins_us", bins_json(&sum));
}

json_t *show_waiting(const struct worker *worker)
{
	const struct shaper_counts *counts = shaper_counts(worker->shaper);
	uint64_t hz = rte_get_tsc_hz();
	struct delay_sum late = {0};
	uint64_t ticks;

	delay_fold(&late, &counts->lateness);
	ticks = delay_quantile(&late, 0.99, counts->lateness_unit);
	return json_pack("{s:o, s:o, s:f}", "packets", integer(counter_read32(&counts->packets)),
		"room", integer(counts->most), "lateness_p99_us",
		(double)ticks * MICRO / (double)hz);
}
