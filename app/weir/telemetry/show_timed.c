/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Limits that hold for a time: the limit in force, its reason, and its end.
 */
#include "show.h"

#include <math.h>

#include "base/time.h"
#include "clock.h"
#include "instance.h"
#include "policy/schedule.h"
#include "timed.h"

static const char *const by_names[] = {
	[TIMED_PLAIN] = "configuration",
	[TIMED_SCHEDULE] = "schedule",
	[TIMED_OVERRIDE] = "override",
};

struct policy show_policy_now(const struct instance *inst, unsigned policy)
{
	struct timed_view view = timed_of(inst, policy);
	struct policy now = inst->policies[policy];

	now.limit_bps = view.terms.limit_bps;
	now.limit_s = view.terms.limit_s;
	now.burst_bytes = view.terms.burst_bytes;
	return now;
}

const char *timed_name(enum timed_by by)
{
	return by_names[by];
}

const char *timed_until(const struct timed_view *view, char text[ZONE_TEXT_MAX])
{
	if (!view->known || view->until == ZONE_NEVER)
		return NULL;
	return zone_format(view->zone, view->until, text);
}

void show_timed(json_t *json, const struct instance *inst, unsigned policy)
{
	struct timed_view view = timed_of(inst, policy);
	char text[ZONE_TEXT_MAX];
	const char *until = timed_until(&view, text);

	json_object_set_new(json, "limit_by", json_string(by_names[view.by]));
	json_object_set_new(json, "limit_until", until ? json_string(until) : json_null());
	if (view.by == TIMED_OVERRIDE)
		json_object_set_new(json, "limit_uid", json_uint(view.uid));
	json_object_set_new(json, "configured_limit", show_limit(&inst->policies[policy]));
}

static json_t *timed_json(const void *context, unsigned index)
{
	const struct instance *inst = context;
	unsigned policy = timed_policy(inst, index);
	struct policy now = show_policy_now(inst, policy);
	json_t *json = json_pack("{s:s, s:o}", "name", now.name, "limit", show_limit(&now));

	show_units(json, &now, "burst", now.burst_bytes);
	show_timed(json, inst, policy);
	return json;
}

/* Returns the time that times of day are compared with; null while it is unknown. */
static json_t *accepted_time(const struct instance *inst)
{
	int64_t wall_s = limiter_wall_s(inst->limiter, control_now());
	char text[ZONE_TEXT_MAX];

	return wall_s == TIME_UNKNOWN ? json_null() : json_string(zone_format(NULL, wall_s, text));
}

json_t *show_limits(const char *params, void *context)
{
	const struct instance *inst = context;
	struct timed_request request;
	json_t *json = show_page(
		"limits", params, timed_count(inst), TELEMETRY_PAGE, timed_json, inst);

	if (!json)
		return NULL;
	json_object_set_new(json, "by_schedule", json_uint(timed_count_by(inst, TIMED_SCHEDULE)));
	json_object_set_new(json, "by_override", json_uint(timed_count_by(inst, TIMED_OVERRIDE)));
	request = timed_last_request(inst);
	json_object_set_new(json, "saving", json_boolean(request.saving));
	json_object_set_new(
		json, "error", request.error[0] ? json_string(request.error) : json_null());
	json_object_set_new(json, "time", accepted_time(inst));
	return json;
}
