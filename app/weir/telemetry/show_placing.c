/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "show_placing.h"

#include "base/time.h"

#include "box.h"
#include "placing.h"
#include "show_json.h"

#define MICRO 1e6

static json_t *worker_json(const struct placing *placing, const struct policy *policy, unsigned w)
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
		json_array_append_new(json, worker_json(placing, policy, w));
	return json;
}

static json_t *policy_json(const struct box *box, unsigned i)
{
	const struct policy *policy = &box->policies[i];
	const struct placing *placing = placing_of(box, box->slots.of[i]);
	const struct fitting *fitting = &placing->fitting;
	struct placing_counts counts = placing_counts(placing);

	return json_pack("{s:s, s:s, s:f, s:i, s:o, s:o, s:o, s:o, s:i, s:i, s:i, s:o, s:o}",
		"name", policy->name, "state", fitting_state_name(fitting->state), "target_us",
		(double)policy->slo_p99_ns / US_NS, "used", fitting->used, "rounds",
		integer(fitting->rounds), "trials", integer(fitting->trials), "changes",
		integer(fitting->changes), "moved", integer(counts.moved), "away", counts.away,
		"kept_back", counts.kept, "owners", placing->n_lanes, "called_off",
		integer(counts.called_off), "workers", workers_json(placing, policy));
}

static bool is_placed(const struct box *box, unsigned i)
{
	return placing_of(box, box->slots.of[i]) != NULL;
}

/* The n-th of those that are placed; or n_policies. */
static unsigned nth(const struct box *box, unsigned n)
{
	unsigned i = 0;

	for (; i < box->n_policies; i++)
		if (is_placed(box, i) && n-- == 0)
			break;
	return i;
}

static json_t *list(const struct box *box, unsigned start)
{
	json_t *names = json_array();
	unsigned total = 0;

	for (unsigned i = 0; i < box->n_policies; i++)
		total += is_placed(box, i);
	for (unsigned i = nth(box, start), n = 0; i < box->n_policies && n < TELEMETRY_PAGE; i++)
		if (is_placed(box, i)) {
			json_array_append_new(names, json_string(box->policies[i].name));
			n++;
		}
	return show_page("placements", names, start, total);
}

/* Null of a policy that is not placed. */
static json_t *show_placement(const char *params, void *context)
{
	const struct box *box = context;
	unsigned start, i;

	if (show_page_start(params, &start))
		return list(box, start);
	i = show_find(box, params);
	return i < box->n_policies && is_placed(box, i) ? policy_json(box, i) : NULL;
}

const struct telemetry_command show_placing_commands[] = {
	{"/weir/placement",
		"Workers that a policy's sources are given to. Parameter: its name, or first index "
		"of a page of names",
		show_placement},
	{0},
};
