/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Answers about policies: numbers, match, placement and shares; alarms for exceeded limits.
 */
#include "show.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/time.h"
#include "clock.h"
#include "gossip/gossip.h"
#include "instance.h"
#include "limiter/limiter.h"
#include "placing.h"
#include "policy/units.h"
#include "policy/value.h"
#include "policy_now.h"
#include "telemetry/server.h"

#define MORE_MATCHES 7 /* in the list; weirctl match finds all of them */

json_t *show_policies(const char *params, void *context)
{
	return show_names("policies", params, context, NULL);
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
	const char *proto = proto_name(match->proto);
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
		json_object_set_new(
			json, "proto", proto ? json_string(proto) : json_integer(match->proto));
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

json_t *show_policy(const char *params, void *context)
{
	struct instance *inst = context;
	unsigned i = show_find(inst, params);
	const struct policy *policy;
	struct policy_now now;
	json_t *json, *shape;

	if (i == inst->n_policies)
		return NULL;
	policy_now_look(&now, inst, i);
	policy_now_look_closer(&now);
	json = json_object();
	policy_now_json(json, &now, "");
	/* The members that are GIVEN in number_table.h: they are not numbers or words. */
	policy = now.policy;
	add_matches(json, inst->config, policy);
	json_object_set_new(json, "per", per_json(policy));
	json_object_set_new(json, "mark", show_mark(policy->action, policy->mark));
	json_object_set_new(json, "limit", show_limit(policy));
	show_timed(json, inst, i);
	show_colours(json, policy);
	if (policy->meter == METER_PHANTOM)
		json_object_set_new(json_object_get(json, "classes"), "weights",
			weights_json(&policy->classes));
	shape = json_object_get(json, "shape");
	if (json_is_object(shape) && !json_object_get(shape, "delay_us"))
		json_object_set_new(shape, "delay_us", json_null());
	if (now.tried)
		json_object_set_new(
			json_object_get(json, "trial"), "limit", show_limit(&now.trial.policy));
	return json;
}

/* --- /weir/policy_stats ----------------------------------------------------------------------- */

/* The numbers of many policies in one reply: a list of columns, and rows. */

/* Most rows of a reply, so that control's turn stays short. */
#define ROWS_MOST 128

/* Bytes for the command, the brackets, and the page's own members without the rows. */
#define REPLY_FRAME 136

static void put_count(struct json_text *row, bool applies, uint64_t count)
{
	if (applies)
		json_text_integer(row, (int64_t)count);
	else
		json_text_null(row);
}

/*
 * Adds the rows from an index on that fit. Returns the index after the last one. A row is made
 * only once: the one that has no room is taken back.
 */
static unsigned put_rows(struct json_text *rows, struct instance *inst, unsigned start)
{
	unsigned i = start;

	for (; i < inst->n_policies && i - start < ROWS_MOST; i++) {
		char *row = rows->at;
		struct policy_now now;

		policy_now_look(&now, inst, i);
		policy_now_row(rows, &now);
		if (!rows->full)
			continue;
		rows->at = row;
		break;
	}
	return i;
}

static void put_index(struct json_text *text, const char *key, bool has, unsigned index)
{
	json_text_key(text, key);
	put_count(text, has, index);
}

/* In replies of one generation a row belongs to the same policy. at_ms is the time of a reply. */
json_t *show_policy_stats(const char *params, void *context)
{
	struct instance *inst = context;
	char bytes[TELEMETRY_MAX_OUTPUT];
	char *reply = malloc(TELEMETRY_MAX_OUTPUT);
	struct json_text text = json_text_in(reply, TELEMETRY_MAX_OUTPUT), rows;
	unsigned start, end, total = inst->n_policies;

	if (!reply || !show_start(params, &start)) {
		free(reply);
		return NULL;
	}
	json_text_open(&text, '{');
	json_text_key(&text, "generation");
	put_count(&text, true, inst->publisher.current->generation);
	json_text_key(&text, "at_ms");
	json_text_real(&text, (double)control_now() / MS_NS);
	json_text_key(&text, "columns");
	json_text_open(&text, '[');
	policy_now_columns(&text);
	json_text_close(&text, ']');
	rows = json_text_in(bytes, TELEMETRY_MAX_OUTPUT - json_text_bytes(&text) - REPLY_FRAME);
	end = put_rows(&rows, inst, start);
	put_index(&text, "total", true, total);
	put_index(&text, "start", true, start);
	put_index(&text, "next", end < total, end);
	json_text_key(&text, "policies");
	json_text_open(&text, '[');
	json_text_raw(&text, bytes, json_text_bytes(&rows));
	json_text_close(&text, ']');
	json_text_close(&text, '}');
	text.at[-1] = '\0';
	return telemetry_give_text(inst->telemetry, reply);
}

/* --- placement -------------------------------------------------------------------------------- */

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

static json_t *placed_policy_json(const struct instance *inst, unsigned i)
{
	const struct policy *policy = &inst->policies[i];
	const struct placing *placing = placing_of(inst, inst->slots.of[i]);
	const struct rebalance *rebalance = &placing->rebalance;
	struct placing_counts counts = placing_counts(placing);
	json_t *workers = json_array();

	for (unsigned w = 0; w < placing->n_workers; w++)
		json_array_append_new(workers, show_placed_worker(placing, policy, w));
	return json_pack("{s:s, s:s, s:f, s:i, s:o, s:o, s:o, s:o, s:i, s:i, s:i, s:o, s:o}",
		"name", policy->name, "state", rebalance_state_name(rebalance->state), "target_us",
		(double)policy->slo_p99_ns / US_NS, "used", rebalance->used, "rounds",
		json_uint(rebalance->rounds), "trials", json_uint(rebalance->trials), "changes",
		json_uint(rebalance->changes), "moved", json_uint(counts.moved), "away",
		counts.away, "kept_back", counts.kept, "owners", placing->n_rx_rings, "called_off",
		json_uint(counts.called_off), "workers", workers);
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

/* --- shares ----------------------------------------------------------------------------------- */

/* The demand of each limiter for one policy, from the gossip of this limiter. */

/* A policy, by its index. */
struct shares {
	const struct instance *inst;
	unsigned policy;
};

/*
 * Gets the demand and weight of a limiter: measured if it is this one, otherwise from its last
 * report. Returns false if there is none that counts.
 */
static bool share_of(const struct shares *of, unsigned i, double *demand, double *weight)
{
	const struct limiter *limiter = of->inst->limiter;
	struct limiter_view view;
	struct gossip_sum reported;

	if (i == of->inst->config->gossip.self) {
		limiter_view(limiter, of->policy, &view);
		*demand = view.demand;
		*weight = view.weight;
		return true;
	}
	if (!gossip_reported_sum(limiter_gossip(limiter), of->policy, i, &reported))
		return false;
	*demand = reported.demand;
	*weight = reported.weight;
	return true;
}

static json_t *share_json(const void *context, unsigned i)
{
	const struct shares *of = context;
	const struct gossip_config *gossip = &of->inst->config->gossip;
	double demand, weight;
	json_t *json = json_pack(
		"{s:s, s:b}", "name", gossip->roster[i].name, "self", i == gossip->self);

	if (!share_of(of, i, &demand, &weight))
		return json;
	show_rate(json, &of->inst->policies[of->policy], "demand", demand);
	json_object_set_new(json, "weight", json_real(weight));
	return json;
}

/* params: "POLICY" or "POLICY,START". NULL if the policy's allocator does not gossip. */
json_t *show_shares(const char *params, void *context)
{
	struct shares of = {.inst = context};
	size_t len = params ? strcspn(params, ",") : 0;
	char name[CONFIG_NAME_MAX];

	if (!params || len >= sizeof(name))
		return NULL;
	snprintf(name, sizeof(name), "%.*s", (int)len, params);
	of.policy = show_find(of.inst, name);
	if (of.policy == of.inst->n_policies || !of.inst->policies[of.policy].allocator->gossips)
		return NULL;
	return show_page("limiters", params[len] ? params + len + 1 : NULL,
		of.inst->config->gossip.n_roster, TELEMETRY_PAGE, share_json, &of);
}
