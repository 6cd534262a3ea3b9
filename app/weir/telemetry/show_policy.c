/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "show.h"

#include <math.h>
#include <stdio.h>

#include "clock.h"
#include "instance.h"
#include "policy/units.h"
#include "policy/value.h"
#include "policy_now.h"

#define MORE_MATCHES 7 /* in the list; weirctl match finds all of them */

json_t *show_policies(const char *params, void *context)
{
	return show_names("policies", params, context, NULL);
}

static json_t *proto_json(uint8_t proto)
{
	const char *name = proto_name(proto);

	return name ? json_string(name) : json_integer(proto);
}

static void add_ports(json_t *json, const char *key, const struct port_range *range)
{
	char text[PORTS_TEXT_MAX];

	if (range->first == 0)
		return;
	json_object_set_new(json, key, json_string(port_range_format(range, text, sizeof(text))));
}

json_t *show_match_of(const struct config *config, const struct match *match)
{
	char src[64], dst[64];
	json_t *json = json_pack("{s:s, s:s, s:s}", "src",
		prefix_format(&match->src, src, sizeof(src)), "dst",
		prefix_format(&match->dst, dst, sizeof(dst)), "direction",
		direction_name(match->direction));

	if (match->wire != CONFIG_ANY)
		json_object_set_new(json, "wire", json_string(config->wires[match->wire].name));
	if (match->vlan != CONFIG_ANY)
		json_object_set_new(json, "vlan", json_integer(match->vlan));
	if (match->dscp != CONFIG_ANY)
		json_object_set_new(json, "dscp", json_integer(match->dscp));
	if (match->proto)
		json_object_set_new(json, "proto", proto_json(match->proto));
	add_ports(json, "src-port", &match->src_port);
	add_ports(json, "dst-port", &match->dst_port);
	if (match->last)
		json_object_set_new(json, "default", json_true());
	return json;
}

/* Returns the definition of a source, as configured; null if the policy has one meter for all. */
static json_t *per_json(const struct policy *policy)
{
	if (!policy->per_v4 && !policy->per_v6)
		return json_null();
	if (policy->per_v4 == 32 && policy->per_v6 == 128)
		return json_string("src");
	return json_sprintf("src/%d", policy->per_v4 < 32 ? policy->per_v4 : policy->per_v6);
}

/* Adds the first match. If there are several, also adds their number and some of the others. */
static void add_matches(json_t *json, const struct config *config, const struct policy *policy)
{
	unsigned n = policy_n_matches(policy), i;
	json_t *more;

	json_object_set_new(json, "match", n ? show_match_of(config, &policy->match) : json_null());
	if (n <= 1)
		return;
	json_object_set_new(json, "matches", json_uint(n));
	more = json_array();
	for (i = 1; i < n && i <= MORE_MATCHES; i++)
		json_array_append_new(more, show_match_of(config, policy_match(policy, i)));
	json_object_set_new(json, "more_matches", more);
}

static json_t *weights_json(const struct classes_config *classes)
{
	json_t *json = json_object();

	for (unsigned i = 0; i < PHANTOM_DSCPS; i++) {
		char dscp[8];

		snprintf(dscp, sizeof(dscp), "%u", i);
		if (classes->weights[i] > 1)
			json_object_set_new(json, dscp, json_uint(classes->weights[i]));
	}
	return json;
}

/* Time for which a limit must be exceeded to raise an alarm. */
#define OVERSHOOT_NS (10 * SECOND_NS)

void alarm_overshoots(const struct instance *inst, json_t *alarms)
{
	for (unsigned i = 0; i < inst->n_policies; i++) {
		uint64_t since_ns = limiter_overshoot_since(inst->limiter, i);
		struct limiter_overshoot over;
		struct policy now;

		if (since_ns == 0 || control_now() - since_ns < OVERSHOOT_NS)
			continue;
		over = limiter_overshoot(inst->limiter, i);
		now = show_policy_now(inst, i);
		json_array_append_new(alarms,
			json_sprintf("policy %s: the group may enforce %.2f times its limit",
				now.name, fmax(over.bound, over.estimate) / policy_rate(&now)));
	}
}

void alarm_full_sources(const struct instance *inst, json_t *alarms)
{
	for (unsigned i = 0; i < inst->n_policies; i++)
		if (engine_source_totals(&inst->engine, inst->slots.of[i]).full)
			json_array_append_new(alarms,
				json_sprintf("policy %s: its source table is full: new sources "
					     "share meters, and a flood could refuse them",
					inst->policies[i].name));
}

/* Adds the members that are GIVEN in number_table.h: they are not numbers or words. */
static void add_given(json_t *json, const struct policy_now *now)
{
	const struct policy *policy = now->policy;
	json_t *shape = json_object_get(json, "shape");

	add_matches(json, now->inst->config, policy);
	json_object_set_new(json, "per", per_json(policy));
	json_object_set_new(json, "mark", show_mark(policy->action, policy->mark));
	json_object_set_new(json, "limit", show_limit(policy));
	show_timed(json, now->inst, now->index);
	show_colours(json, policy);
	if (policy->meter == METER_PHANTOM)
		json_object_set_new(json_object_get(json, "classes"), "weights",
			weights_json(&policy->classes));
	if (json_is_object(shape) && !json_object_get(shape, "delay_us"))
		json_object_set_new(shape, "delay_us", json_null());
	if (now->tried)
		json_object_set_new(
			json_object_get(json, "trial"), "limit", show_limit(&now->trial.policy));
}

json_t *show_policy(const char *params, void *context)
{
	struct instance *inst = context;
	unsigned i = show_find(inst, params);
	struct policy_now now;
	json_t *json;

	if (i == inst->n_policies)
		return NULL;
	policy_now_look(&now, inst, i);
	policy_now_look_closer(&now);
	json = json_object();
	policy_now_json(json, &now, "");
	add_given(json, &now);
	return json;
}
