/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "show.h"

#include <math.h>
#include <stdio.h>

#include "clock.h"
#include "instance.h"
#include "policy/kind.h"
#include "policy/units.h"
#include "policy/value.h"
#include "timed.h"
#include "totals.h"
#include "trials.h"

#define MORE_MATCHES 7 /* that are listed; weirctl match finds all of them */

json_t *show_policies(const char *params, void *context)
{
	return show_names("policies", params, context, NULL);
}

/* Packets, and what the policy counts if that is something else. */
static json_t *packets_units(const struct policy *policy, uint64_t packets, uint64_t units)
{
	json_t *json = json_pack("{s:o}", "packets", json_uint(packets));

	if (policy->count != COUNT_PACKETS)
		json_object_set_new(json, show_counting(policy->count), json_uint(units));
	return json;
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

/* What makes a source, as configured; null when the policy has one meter for all. */
static json_t *per_json(const struct policy *policy)
{
	if (!policy->per_v4 && !policy->per_v6)
		return json_null();
	if (policy->per_v4 == 32 && policy->per_v6 == 128)
		return json_string("src");
	return json_sprintf("src/%d", policy->per_v4 < 32 ? policy->per_v4 : policy->per_v6);
}

/* Null of a budget, whose kind of guarantee is its own. */
static json_t *guarantee_json(const struct policy *policy)
{
	if (policy->allocator->counts_units)
		return json_null();
	return json_string(policy_is_conserved(policy) ? "conserved" : "soft");
}

/* Beside a total there need not be one. */
static double limit_or_none(const struct policy *policy, double rate)
{
	return policy->allocator->counts_units && policy->limit_bps == 0 ? NAN : rate;
}

/* A policy of several has the first as "match", how many there are, and some of the others. */
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

static void add_configured(json_t *json, const struct config *config, const struct policy *policy)
{
	json_object_set_new(json, "name", json_string(policy->name));
	add_matches(json, config, policy);
	json_object_set_new(json, "allocator", json_string(policy->allocator->name));
	json_object_set_new(json, "guarantee", guarantee_json(policy));
	json_object_set_new(json, "meter", json_string(meter_name(policy->meter)));
	json_object_set_new(json, "count", json_string(show_counting(policy->count)));
	json_object_set_new(json, "per", per_json(policy));
	json_object_set_new(json, "action", json_string(show_action(policy->action)));
	json_object_set_new(json, "mark", show_mark(policy->action, policy->mark));
	json_object_set_new(json, "accounting", json_string(accounting_name(policy->accounting)));
	json_object_set_new(json, "interval_ms", json_real((double)policy->interval_ns / MS_NS));
	json_object_set_new(json, "limit", show_limit(policy));
	show_rate(json, policy, "limit", limit_or_none(policy, policy_rate(policy)));
	show_units(json, policy, "burst", policy->burst_bytes);
}

/* Null unless it is below another: its place beside others there, and what it may have now. */
static json_t *parent_json(const struct instance *inst, unsigned i)
{
	const struct policy *policy = &inst->policies[i];
	struct limiter_view view;
	json_t *json;

	if (!policy_has_parent(policy))
		return json_null();
	limiter_view(inst->limiter, i, &view);
	json = json_pack("{s:s, s:i}", "name", inst->policies[policy->parent].name, "weight",
		(int)policy->weight);
	show_rate(json, policy, "guaranteed", policy_guaranteed(policy));
	show_rate(json, policy, "share", policy_has_part(inst->policies, i) ? view.share : NAN);
	return json;
}

/* `heard`: else nobody is told of what neither allocators nor parents ask for. */
static void add_view(
	json_t *json, const struct policy *policy, const struct limiter_view *view, bool heard)
{
	show_rate(json, policy, "effective_limit", limit_or_none(policy, view->effective_limit));
	show_rate(json, policy, "local_limit", limit_or_none(policy, view->local_limit));
	show_units(json, policy, "local_burst", view->local_burst);
	show_rate(json, policy, "demand", view->demand);
	json_object_set_new(json, "weight", json_real(view->weight));
	show_rate(json, policy, "global_demand", heard ? view->global_demand : NAN);
	json_object_set_new(
		json, "global_weight", heard ? json_real(view->global_weight) : json_null());
	json_object_set_new(json, "peers_lost", heard ? json_uint(view->lost) : json_null());
	json_object_set_new(json, "regime", json_string(allocate_regime_name(view->regime)));
	json_object_set_new(json, "flows_sampled", json_uint(view->flows));
	show_rate(json, policy, "flow_rate", view->flow_rate);
}

static void add_verdicts(
	json_t *json, struct instance *inst, unsigned i, const struct limiter_view *view)
{
	const struct policy *policy = &inst->policies[i];
	struct policy_totals totals = instance_policy_totals(inst, inst->slots.of[i]);

	json_object_set_new(
		json, "passed", packets_units(policy, totals.passed_packets, totals.passed_bytes));
	json_object_set_new(json, "dropped",
		packets_units(policy, totals.dropped_packets, totals.dropped_bytes));
	if (policy->allocator->counts_units)
		json_object_set_new(json, "fallback",
			packets_units(policy, totals.fallback_packets, totals.fallback_bytes));
	json_object_set_new(
		json, "over", packets_units(policy, totals.over_packets, totals.over_bytes));
	json_object_set_new(json, "colours", show_colours(policy, view, &totals));
}

/* Null when the policy has one meter for all. */
static json_t *sources_json(const struct instance *inst, unsigned policy)
{
	struct source_table_stats stats = engine_source_totals(
		&inst->engine, inst->slots.of[policy]);

	if (stats.capacity == 0)
		return json_null();
	return json_pack("{s:o, s:o, s:o, s:o, s:o}", "busy", json_uint(stats.sources), "capacity",
		json_uint(stats.capacity), "new", json_uint(stats.new_sources), "overflows",
		json_uint(stats.overflows), "displaced", json_uint(stats.displaced));
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

/* Null unless classes share the limit. */
static json_t *classes_json(const struct instance *inst, unsigned policy)
{
	const struct classes_config *classes = &inst->policies[policy].classes;
	uint64_t backlogged = 0;

	if (inst->policies[policy].meter != METER_PHANTOM)
		return json_null();
	for (unsigned w = 0; w < inst->config->n_workers; w++)
		backlogged += police_backlogged(&inst->workers[w].policies[inst->slots.of[policy]]);
	return json_pack("{s:s, s:o, s:o, s:o}", "by",
		classes->by == CLASSES_BY_DSCP ? "dscp" : "flow", "n", json_uint(classes->n),
		"weights", weights_json(classes), "backlogged", json_uint(backlogged));
}

/* Null unless another limit is tried. The burst is what counts, which of a shaped one waits too. */
static json_t *trial_json(struct instance *inst, unsigned policy)
{
	struct trial_now now;
	json_t *json;

	if (!trials_look(inst, policy, &now))
		return json_null();
	json = json_pack("{s:o, s:s, s:f}", "limit", show_limit(&now.policy), "meter",
		meter_name(now.policy.meter), "age_s", now.age_s);
	show_rate(json, &now.policy, "limit", policy_rate(&now.policy));
	show_rate(json, &now.policy, "local_limit", now.local_limit);
	show_units(json, &now.policy, "burst", now.policy.burst_bytes);
	show_units(json, &now.policy, "local_burst", now.local_burst);
	json_object_set_new(json, "window_ms", json_real((double)now.policy.window_ns / MS_NS));
	json_object_set_new(json, "would_pass",
		packets_units(&now.policy, now.totals.passed_packets, now.totals.passed_bytes));
	json_object_set_new(json, "would_drop",
		packets_units(&now.policy, now.totals.dropped_packets, now.totals.dropped_bytes));
	return json;
}

/* Null without loans, or if the policy does not take part. */
static json_t *loans_json(const struct instance *inst, unsigned policy)
{
	struct loan_totals loans = limiter_loans(inst->limiter, policy);

	if (!policy_lends(&inst->policies[policy], inst->config->gossip.loans))
		return json_null();
	return json_pack("{s:o, s:o}", "lent_bytes", json_uint(loans.lent), "borrowed_bytes",
		json_uint(loans.borrowed));
}

/* Returns null for a hard limit or a quota, and if the estimator has no reports. */
static json_t *overshoot_json(const struct instance *inst, unsigned i)
{
	struct limiter_overshoot over = limiter_overshoot(inst->limiter, i);
	const struct policy now = show_policy_now(inst, i);
	json_t *json;

	if (!over.known)
		return json_null();
	json = json_pack("{s:f, s:f, s:o}", "bound_ratio", over.bound / policy_rate(&now), "age_ms",
		(double)(control_now() - over.at_ns) / MS_NS, "peers_unheard",
		json_uint(over.unheard));
	show_rate(json, &now, "bound", over.bound);
	show_rate(json, &now, "estimate", over.estimate);
	show_rate(json, &now, "unheard", over.unheard_most);
	return json;
}

/* How long a limit is exceeded before that is an alarm. */
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

json_t *show_policy(const char *params, void *context)
{
	struct instance *inst = context;
	unsigned i = show_find(inst, params);
	const struct policy *policy = &inst->policies[i];
	struct limiter_view view;
	struct policy now;
	json_t *json;

	if (i == inst->n_policies)
		return NULL;
	limiter_view(inst->limiter, i, &view);
	now = show_policy_now(inst, i);
	json = json_object();
	add_configured(json, inst->config, &now);
	show_timed(json, inst, i);
	json_object_set_new(json, "parent", parent_json(inst, i));
	json_object_set_new(json, "children", json_uint(policy->children));
	add_view(json, policy, &view, policy_is_told_of(inst->policies, i));
	add_verdicts(json, inst, i, &view);
	json_object_set_new(json, "overshoot", overshoot_json(inst, i));
	json_object_set_new(json, "loans", loans_json(inst, i));
	json_object_set_new(json, "sources", sources_json(inst, i));
	show_shape(json, inst, i);
	json_object_set_new(json, "classes", classes_json(inst, i));
	json_object_set_new(json, "trial", trial_json(inst, i));
	return json;
}
