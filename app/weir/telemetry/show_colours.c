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

void show_colours(json_t *json, const struct policy *policy)
{
	struct policy second = policy_with_terms(policy, &policy->colours.second);
	json_t *colours = json_object_get(json, "colours");
	bool spills = meter_can(policy->meter, METER_SPILLS);

	if (!policy_is_coloured(policy))
		return;
	for (unsigned c = 0; c < COLOURS; c++) {
		const struct colour_action *action = &policy->colours.actions[c];

		json_object_set_new(json_object_get(colours, colour_name(c)), "mark",
			show_mark(action->action, action->mark));
	}
	json_object_set_new(
		json_object_get(colours, meter_can(policy->meter, METER_PEAK) ? "peak" : "excess"),
		"limit", spills ? json_null() : show_limit(&second));
}
