/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "show.h"

#include "base/time.h"
#include "box.h"
#include "placing.h"

#define MICRO 1e6

static json_t *show_placed_worker(
	const struct placing *placing, const struct policy *policy, unsigned w)
{
	const struct fitting_worker *seen = &placing->seen.workers[w];
	unsigned buckets = 0;
	json_t *json;

	for (unsigned i = 0; i < SEATS; i++)
		buckets += seat_wanted(&placing->seating, i) == w;
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

static json_t *placed_policy_json(const struct box *box, unsigned i)
{
	const struct policy *policy = &box->policies[i];
	const struct placing *placing = placing_of(box, box->slots.of[i]);
	const struct fitting *fitting = &placing->fitting;
	struct placing_counts counts = placing_counts(placing);

	return json_pack("{s:s, s:s, s:f, s:i, s:o, s:o, s:o, s:o, s:i, s:i, s:i, s:o, s:o}",
		"name", policy->name, "state", fitting_state_name(fitting->state), "target_us",
		(double)policy->slo_p99_ns / US_NS, "used", fitting->used, "rounds",
		json_uint(fitting->rounds), "trials", json_uint(fitting->trials), "changes",
		json_uint(fitting->changes), "moved", json_uint(counts.moved), "away", counts.away,
		"kept_back", counts.kept, "owners", placing->n_lanes, "called_off",
		json_uint(counts.called_off), "workers", workers_json(placing, policy));
}

static bool is_placed(const struct box *box, unsigned i)
{
	return placing_of(box, box->slots.of[i]) != NULL;
}

/* Null of a policy that is not placed. */
json_t *show_placement(const char *params, void *context)
{
	const struct box *box = context;
	json_t *page = show_names("placements", params, box, is_placed);
	unsigned i;

	if (page)
		return page;
	i = show_find(box, params);
	return i < box->n_policies && is_placed(box, i) ? placed_policy_json(box, i) : NULL;
}
