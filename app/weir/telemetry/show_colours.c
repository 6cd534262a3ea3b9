/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "show.h"

#include <math.h>

#include "engine/profile.h"
#include "instance.h"
#include "policy/kind.h"
#include "policy/schedule.h"
#include "totals.h"

const char *show_action(enum action action)
{
	static const char *const names[] = {
		[ACTION_DROP] = "drop",
		[ACTION_MARK] = "mark",
		[ACTION_COUNT] = "count",
		[ACTION_SHAPE] = "shape",
		[ACTION_PASS] = "pass",
	};

	return names[action];
}

json_t *show_mark(enum action action, int mark)
{
	if (action != ACTION_MARK)
		return json_null();
	return mark == MARK_ECN ? json_string("ecn") : json_integer(mark);
}

struct show_peak show_peak_of(const struct policy *policy, const struct limiter_view *view)
{
	const struct policy second = policy_with_terms(policy, &policy->colours.second);
	struct show_peak peak = {NAN, NAN};

	if (!policy_is_coloured(policy))
		return peak;
	peak = (struct show_peak){policy_rate(policy), view->local_limit};
	if (policy->colours.actions[COLOUR_YELLOW].action == ACTION_DROP ||
		meter_can(policy->meter, METER_SPILLS))
		return peak;
	if (meter_can(policy->meter, METER_PEAK))
		return (struct show_peak){fmax(peak.group, policy_rate(&second)),
			fmax(peak.here, limit_second_of(policy, view).rate)};
	return (struct show_peak){
		peak.group + policy_rate(&second), peak.here + limit_second_of(policy, view).rate};
}

enum action show_exceeding(const struct policy *policy)
{
	return policy_is_coloured(policy) ? policy->colours.actions[COLOUR_RED].action
					  : policy->action;
}

static json_t *colour_json(const struct policy *policy, const struct colour_action *action,
	const struct coloured_count *count)
{
	json_t *json = json_pack("{s:s, s:o, s:o}", "action", show_action(action->action), "mark",
		show_mark(action->action, action->mark), "packets", json_uint(count->packets));

	if (policy->count != COUNT_PACKETS)
		json_object_set_new(json, show_counting(policy->count), json_uint(count->bytes));
	return json;
}

/* What is beside the limit: of the group, and here. Null is the limit of what only spills. */
static json_t *second_json(const struct policy *policy, const struct limiter_view *view)
{
	struct limit_second local = limit_second_of(policy, view);
	struct policy second = policy_with_terms(policy, &policy->colours.second);
	bool spills = meter_can(policy->meter, METER_SPILLS);
	json_t *json = json_object();

	json_object_set_new(json, "limit", spills ? json_null() : show_limit(&second));
	show_rate(json, policy, "limit", spills ? NAN : policy_rate(&second));
	show_rate(json, policy, "local_limit", spills ? NAN : local.rate);
	show_units(json, policy, "burst", second.burst_bytes);
	show_units(json, policy, "local_burst", local.burst);
	return json;
}

json_t *show_colours(const struct policy *policy, const struct limiter_view *view,
	const struct policy_totals *totals)
{
	const struct colours_config *colours = &policy->colours;
	json_t *json;

	if (!policy_is_coloured(policy))
		return json_null();
	json = json_pack("{s:b, s:o}", "aware", colours->aware,
		meter_can(policy->meter, METER_PEAK) ? "peak" : "excess",
		second_json(policy, view));
	for (unsigned c = 0; c < COLOURS; c++)
		json_object_set_new(json, colour_name(c),
			colour_json(policy, &colours->actions[c], &totals->colours[c]));
	return json;
}
