/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "show.h"

#include "base/time.h"
#include "instance.h"
#include "placing.h"

#define MICRO 1e6

static json_t *show_placed_worker(
	const struct placing *placing, const struct policy *policy, unsigned w)
{
	const struct rebalance_worker *seen = &placing->seen.workers[w];
	unsigned buckets = 0;
	json_t *json;

	for (unsigned i = 0; i < RETA_SIZE; i++)
		buckets += reta_target_of(&placing->reta_target, i) == w;
	json = json_pack("{s:i, s:i, s:f, s:f, s:f}", "worker", w, "buckets", buckets, "p99_us",
		seen->p99 * MICRO, "added_us", seen->added * MICRO, "handing", seen->handing);
	show_rate(json, policy, "rate", placing->rates[w]);
	show_rate(json, policy, "others", seen->others);
	return json;
}

static json_t *workers_json(const struct placing *placing, const struct policy *policy)
{
	json_t *json = json_array();

	for (unsigned w = 0; w < placing->n_workers; w++)
		json_array_append_new(json, show_placed_worker(placing, policy, w));
	return json;
}

static json_t *placed_policy_json(const struct instance *inst, unsigned i)
{
	const struct policy *policy = &inst->policies[i];
	const struct placing *placing = placing_of(inst, inst->slots.of[i]);
	const struct rebalance *rebalance = &placing->rebalance;
	struct placing_counts counts = placing_counts(placing);

	return json_pack("{s:s, s:s, s:f, s:i, s:o, s:o, s:o, s:o, s:i, s:i, s:i, s:o, s:o}",
		"name", policy->name, "state", rebalance_state_name(rebalance->state), "target_us",
		(double)policy->slo_p99_ns / US_NS, "used", rebalance->used, "rounds",
		json_uint(rebalance->rounds), "trials", json_uint(rebalance->trials), "changes",
		json_uint(rebalance->changes), "moved", json_uint(counts.moved), "away",
		counts.away, "kept_back", counts.kept, "owners", placing->n_rx_rings, "called_off",
		json_uint(counts.called_off), "workers", workers_json(placing, policy));
}

static bool is_placed(const struct instance *inst, unsigned i)
{
	return placing_of(inst, inst->slots.of[i]) != NULL;
}

/* Null of a policy that is not placed. */
json_t *show_placement(const char *params, void *context)
{
	const struct instance *inst = context;
	json_t *page = show_names("placements", params, inst, is_placed);
	unsigned i;

	if (page)
		return page;
	i = show_find(inst, params);
	return i < inst->n_policies && is_placed(inst, i) ? placed_policy_json(inst, i) : NULL;
}
