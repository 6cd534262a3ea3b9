/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "show.h"

#include "base/time.h"
#include "instance.h"
#include "delays.h"
#include "policy/kind.h"
#include "totals.h"
#include "tick.h"

#define MICRO 1e6

static double quantile_us(const struct delay_sum *sum, double share)
{
	uint64_t hz = tick_hz();

	return (double)delay_quantile(sum, share, delay_unit(hz)) * MICRO / (double)hz;
}

/* Null as long as nothing has left. */
static json_t *show_delay_sum(const struct delay_sum *sum)
{
	if (delay_count(sum) == 0)
		return json_null();
	return json_pack("{s:f, s:f, s:f, s:f, s:f}", "p50", quantile_us(sum, 0.5), "p95",
		quantile_us(sum, 0.95), "p99", quantile_us(sum, 0.99), "p99_9",
		quantile_us(sum, 0.999), "max", quantile_us(sum, 1));
}

static json_t *drops_json(const struct delays_totals *totals)
{
	json_t *json = json_object();

	for (unsigned i = 0; i < DROP_SHAPE_REASONS; i++)
		json_object_set_new(json, drop_reason_name(DROP_SHAPE_FIRST + i),
			json_uint(totals->dropped[i]));
	return json;
}

/* Where nothing waited there is no percentile. */
static json_t *p99_json(const struct delay_sum *sum)
{
	return delay_count(sum) ? json_real(quantile_us(sum, 0.99)) : json_null();
}

static json_t *met_json(const struct policy *policy, const struct delay_sum *sum)
{
	double target = (double)policy->slo_p99_ns / US_NS;

	return delay_count(sum) ? json_boolean(quantile_us(sum, 0.99) <= target) : json_null();
}

/* By the last minute: what was an hour ago says nothing, and of 10 s one burst may be a tenth. */
static json_t *slo_json(const struct policy *policy, const struct delay_window *delay_window,
	const struct delay_sum *total)
{
	struct delay_sum minute, moment;
	uint64_t now = control_now();

	if (policy->slo_p99_ns == 0)
		return json_null();
	delay_window_sum(delay_window, DELAY_WINDOW_60S, total, now, &minute);
	delay_window_sum(delay_window, DELAY_WINDOW_10S, total, now, &moment);
	return json_pack("{s:f, s:o, s:o, s:o, s:o}", "target_us",
		(double)policy->slo_p99_ns / US_NS, "met", met_json(policy, &minute), "p99_us",
		p99_json(&minute), "p99_10s_us", p99_json(&moment), "p99_total_us",
		p99_json(total));
}

void show_shape(json_t *json, struct instance *inst, unsigned i)
{
	const struct policy *policy = &inst->policies[i];
	uint32_t slot = inst->slots.of[i];
	struct waiting waiting = engine_waiting(&inst->engine, slot);
	struct delays_totals totals;
	json_t *shape;

	if (!policy_is_shaped(policy)) {
		json_object_set_new(json, "shape", json_null());
		json_object_set_new(json, "slo", json_null());
		return;
	}
	delays_totals(inst, slot, &totals);
	shape = json_pack("{s:o, s:o, s:o, s:o, s:o, s:o}", "waiting_packets",
		json_uint(waiting.packets), "waited_packets", json_uint(totals.waited),
		"left_packets", json_uint(delay_count(&totals.delay)), "delay_us",
		show_delay_sum(&totals.delay), "marked", json_uint(totals.marked), "dropped",
		drops_json(&totals));
	if (policy->count != COUNT_PACKETS)
		show_units(shape, policy, "waiting", waiting.units);
	json_object_set_new(json, "shape", shape);
	json_object_set_new(
		json, "slo", slo_json(policy, delays_window(inst, slot), &totals.delay));
}

/* Those of a sum that packets are in: its edges, and how many. */
static json_t *bins_json(const struct delay_sum *sum)
{
	double hz = (double)tick_hz();
	unsigned unit = delay_unit(tick_hz());
	json_t *json = json_array();
	uint64_t from = 0;

	for (unsigned i = 0; i < DELAY_BINS; i++) {
		uint64_t to = delay_bin_end(i, unit) + 1;

		if (sum->bins[i])
			json_array_append_new(
				json, json_pack("[f, f, o]", (double)from * MICRO / hz,
					      (double)to * MICRO / hz, json_uint(sum->bins[i])));
		from = to;
	}
	return json;
}

/*
 * How many of a policy's packets have waited how long: in bins, which add up over limiters and
 * subtract over time, as quantiles do not.
 */
json_t *show_delays(const char *params, void *context)
{
	struct instance *inst = context;
	unsigned i = show_find(inst, params);
	struct delays_totals totals;

	if (i == inst->n_policies || !policy_is_shaped(&inst->policies[i]))
		return NULL;
	delays_totals(inst, inst->slots.of[i], &totals);
	return json_pack("{s:o, s:o}", "packets", json_uint(delay_count(&totals.delay)), "bins_us",
		bins_json(&totals.delay));
}

json_t *show_waiting(struct instance *inst, unsigned worker)
{
	const struct shaper_counts *counts = shaper_counts(inst->workers[worker].shaper);
	const struct delay_sum *late = delays_lateness(inst, worker);

	return json_pack("{s:o, s:o, s:f, s:f}", "packets",
		json_uint(counter_read32(&counts->packets)), "room", json_uint(counts->most),
		"lateness_p99_us", quantile_us(late, 0.99), "lateness_max_us",
		quantile_us(late, 1));
}
