/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Answers about quotas, in the group and in etcd, and alarms for spent ones.
 */
#include "show.h"

#include <math.h>
#include <string.h>
#include <time.h>

#include <rte_common.h>

#include "event.h"
#include "instance.h"
#include "etcd_share.h"
#include "base/time.h"
#include "policy/period.h"
#include "credits.h"
#include "policy_now.h"

/* Rates of lib/control/quota are in thousandths of a unit. */
#define PER_UNIT 1000.0

static const char *const period_names[] = {
	[PERIOD_NONE] = "none",
	[PERIOD_FIXED] = "fixed",
	[PERIOD_MONTH] = "month",
};

static void add_period(const struct instance *inst, json_t *json, const struct policy *policy,
	const struct quota_view *view)
{
	int64_t ends = period_ends(policy, view->period);
	int64_t now = limiter_wall_s(inst->limiter, control_now());
	/* A prepaid amount, or the time is unknown. */
	const bool endless = ends == PERIOD_NEVER || view->undated || now == TIME_UNKNOWN;

	json_object_set_new(json, "period", json_string(period_names[policy->period]));
	json_object_set_new(json, "period_s",
		policy->period == PERIOD_FIXED ? json_uint(policy->period_ns / SECOND_NS)
					       : json_null());
	json_object_set_new(
		json, "period_number", view->undated ? json_null() : json_uint(view->period));
	json_object_set_new(json, "period_ends_in_s",
		endless ? json_null() : json_integer(ends > now ? ends - now : 0));
}

/* Adds the other numbers of the group, and the rest in etcd of a quota that is drawn from there. */
static void show_group_quota(
	const struct policy_now *now, json_t *json, const struct quota_view *view)
{
	const struct policy *policy = &now->inst->policies[now->index];
	const struct limiter *limiter = now->inst->limiter;
	double rate = view->group.known ? (double)view->group.pace / PER_UNIT : NAN;
	struct budget_share_view share = {0};

	if (!policy->drawn)
		show_units(json, policy, "total_in_force",
			budget_total(limiter_budget(limiter),
				limiter_budget_index(limiter, now->index)));
	if (etcd_share_budget_of(now->inst, now->index, &share) && share.known)
		show_units(json, policy, "undrawn", share.left);
	show_rate(json, policy, "global_rate", rate);
	json_object_set_new(json, "exhausted_in_s",
		rate > 0 && now->total.known ? json_real((double)now->total.left / rate)
					     : json_null());
	json_object_set_new(json, "low", json_boolean(view->low));
}

#define FIELD(kind, member) SHOW_FIELD(quota_view, kind, member)
static const struct show_field own_fields[] = {SHOW_FIELD_AS("held", quota_view, UNITS, balance),
	FIELD(UNITS, spent), FIELD(UNITS, prepaid), FIELD(THOUSANDS, rate), FIELD(UNITS, threshold),
	FIELD(FLAG, asking), FIELD(FLAG, waiting), FIELD(NUMBER, rounds),
	FIELD(NUMBER, short_rounds), FIELD(NUMBER, messages), FIELD(NUMBER, invalid),
	SHOW_FIELD_AS("reallocation_ms", quota_view, MS, theta_ns), {0}};
#undef FIELD

static json_t *quota_policy_json(struct instance *inst, const char *name)
{
	const struct budget *budget = limiter_budget(inst->limiter);
	unsigned i = show_find(inst, name), index;
	const struct policy *policy;
	struct quota_view view;
	struct policy_now now;
	json_t *json;

	if (!budget || i == inst->n_policies)
		return NULL;
	index = limiter_budget_index(inst->limiter, i);
	if (index == LIMITER_ADDED)
		return NULL;
	policy = &inst->policies[i];
	view = budget_view(budget, index, control_now());
	json = json_object();
	json_object_set_new(json, "name", json_string(policy->name));
	add_period(inst, json, policy, &view);
	policy_now_look(&now, inst, i);
	policy_now_json(json, &now, "quota");
	show_group_quota(&now, json, &view);
	show_fields(json, own_fields, &view, policy);
	show_units(json, policy, "credit", credits_held(inst, inst->slots.of[i]));
	show_units(json, policy, "in_flight", budget_in_flight(budget, index));
	return json;
}

#define NUMBER(member) SHOW_FIELD(budget_counters, NUMBER, member)
static const struct show_field counters_fields[] = {NUMBER(messages_sent),
	NUMBER(messages_received), NUMBER(parts_sent), NUMBER(parts_received), NUMBER(unknown),
	NUMBER(differing), NUMBER(malformed), {0}};
#undef NUMBER

void alarm_wall_clock(const struct instance *inst, json_t *alarms)
{
	static const char *const texts[TIME_REASONS] = {
		[TIME_BEFORE] = "is earlier than the records of the ledger, and no period starts",
		[TIME_STEPPED] = "was stepped, and periods and times of day go on by the clock "
				 "since boot",
		[TIME_FOLLOWS] = "is not that of most peers, by which periods go",
		[TIME_OUTVOTED] = "is not that of most peers, and periods go by it nevertheless",
	};
	const struct timekeeper *keeper = limiter_timekeeper(inst->limiter);

	if (texts[keeper->reason])
		json_array_append_new(
			alarms, json_sprintf("the wall clock %s: %+.0f s", texts[keeper->reason],
					(double)keeper->apart_ns / SECOND_NS));
}

static json_t *whole_quota_json(const struct instance *inst)
{
	const struct budget *budget = limiter_budget(inst->limiter);
	uint64_t now = control_now(), time_ns;
	const struct timekeeper *keeper;
	json_t *json = json_object();
	unsigned n = 0;
	bool known;

	for (unsigned i = 0; i < inst->n_policies; i++)
		n += limiter_budget_index(inst->limiter, i) != LIMITER_ADDED;
	json_object_set_new(json, "quotas", json_uint(n));
	if (!budget)
		return json;
	show_fields(json, counters_fields, budget_counters(budget), NULL);
	/* The clock that ends periods: see budget/timekeeper.h. */
	keeper = budget_timekeeper(budget);
	known = timekeeper_time(keeper, now, &time_ns);
	json_object_set_new(json, "clock", json_string(time_reason_name(keeper->reason)));
	json_object_set_new(json, "clock_ms", json_real((double)(now - keeper->since_ns) / MS_NS));
	json_object_set_new(json, "clock_time",
		known ? json_integer((json_int_t)(time_ns / SECOND_NS)) : json_null());
	json_object_set_new(json, "clock_apart_ms", json_real((double)keeper->apart_ns / MS_NS));
	json_object_set_new(json, "clock_synchronised", json_boolean(keeper->sure));
	json_object_set_new(json, "clock_steps", json_uint(keeper->steps));
	json_object_set_new(json, "clock_followed", json_uint(keeper->followed));
	return json;
}

json_t *show_quota(const char *params, void *context)
{
	return params ? quota_policy_json(context, params) : whole_quota_json(context);
}

static const char *peer_name(const struct instance *inst, unsigned peer)
{
	const struct gossip_config *gossip = &inst->config->gossip;

	return peer < gossip->n_roster ? gossip->roster[peer].name : NULL;
}

static json_t *neighbour_json(const void *context, unsigned i)
{
	const struct instance *inst = context;
	struct budget_peer peer = budget_peer(limiter_budget(inst->limiter), i);

	return json_pack("{s:s, s:b, s:b, s:b, s:o}", "peer", peer_name(inst, peer.peer), "alive",
		peer.alive, "linked", peer.linked, "parent", peer.parent, "round_trip_ms",
		peer.round_trip_ns ? json_real((double)peer.round_trip_ns / MS_NS) : json_null());
}

/* NULL without quotas: there is no tree. */
json_t *show_tree(const char *params, void *context)
{
	const struct instance *inst = context;
	const struct budget *budget = limiter_budget(inst->limiter);
	const char *root;
	json_t *json;

	if (!budget)
		return NULL;
	json = show_page(
		"neighbours", params, budget_peers(budget), TELEMETRY_PAGE, neighbour_json, inst);
	json_object_set_new(json, "is_root", json_boolean(budget_is_root(budget)));
	root = peer_name(inst, budget_root(budget));
	json_object_set_new(json, "root", root ? json_string(root) : json_null());
	json_object_set_new(json, "relinked", json_uint(budget_counters(budget)->relinked));
	return json;
}

/* --- etcd ------------------------------------------------------------------------------------- */

static const char *const state_names[] = {
	[DRAW_CONNECTING] = "connecting",
	[DRAW_CONNECTED] = "connected",
	[DRAW_AWAY] = "away",
	[DRAW_FENCED] = "fenced",
};

#define UNITS(member) SHOW_FIELD(budget_share_view, UNITS, member)
static const struct show_field amounts_fields[] = {UNITS(total), UNITS(drawn), UNITS(left), {0}};
#undef UNITS

/* Amounts are missing until etcd has reported them. */
static json_t *budget_json(const void *context, unsigned budget)
{
	const struct instance *inst = context;
	struct budget_share_view view = etcd_share_budget(inst, budget);
	const struct policy *policy = &inst->policies[view.policy];
	json_t *json = json_pack("{s:s, s:s, s:o}", "policy", policy->name, "name", view.name,
		"period_number", json_uint(view.period));

	if (view.known)
		show_fields(json, amounts_fields, &view, policy);
	json_object_set_new(json, "as_of_ms_ago", age_ms(view.known, view.as_of_ns, control_now()));
	json_object_set_new(json, "asked", json_boolean(view.asked));
	json_object_set_new(
		json, "error", view.error ? json_string(strerror(-view.error)) : json_null());
	return json;
}

/* Returns NULL if no etcd is configured. */
json_t *show_etcd(const char *params, void *context)
{
	const struct instance *inst = context;
	const struct ledger_config *ledger = &inst->config->ledger;
	struct etcd_share_view etcd_share;
	json_t *json, *endpoints;

	if (!etcd_share_view(inst, &etcd_share))
		return NULL;
	endpoints = json_array();
	for (unsigned i = 0; i < ledger->n_etcd; i++)
		json_array_append_new(endpoints, json_string(ledger->etcd[i]));
	json = show_page(
		"quotas", params, etcd_share_budgets(inst), TELEMETRY_PAGE, budget_json, inst);
	json_object_set_new(json, "state", json_string(state_names[etcd_share.state]));
	json_object_set_new(json, "endpoints", endpoints);
	json_object_set_new(
		json, "user", *ledger->etcd_user ? json_string(ledger->etcd_user) : json_null());
	json_object_set_new(json, "logged_in", json_boolean(etcd_share.logged_in));
	json_object_set_new(json, "prefix", json_string(ledger->etcd_prefix));
	json_object_set_new(
		json, "error", *etcd_share.why ? json_string(etcd_share.why) : json_null());
	return json;
}

/* --- events ----------------------------------------------------------------------------------- */

/* Reports when a quota nears its end, when it is spent, and when it has units again. */

/* Time between looks; most policies, and most policies with a quota, in one look. */
#define LOOK_NS     (SECOND_NS / 4)
#define LOOKED_MOST 4096
#define TOTALS_MOST 256

#define PACKET_BYTES 1518 /* Returns true if the policy has a quota. */
static bool look_at_total(struct instance *inst, unsigned i)
{
	uint8_t *published = credits_published(inst, inst->slots.of[i]);
	const struct policy *policy = &inst->policies[i];
	enum total_level level;
	struct show_total of;

	/* An estimate is no event: the reports that follow can correct it. */
	if (!published || !show_total_of(inst, i, &of) || !of.known || of.held)
		return published != NULL;
	level = total_level(
		*published, of.left, of.total, policy->count == COUNT_BYTES ? PACKET_BYTES : 0);
	if (level == *published)
		return true;
	if (level == TOTAL_SPENT_ALL)
		event(TOTAL_SPENT, event_word("policy", policy->name),
			event_count("total", of.total));
	else if (level == TOTAL_NEAR_END && *published == TOTAL_PLENTY)
		event(TOTAL_NEAR, event_word("policy", policy->name), event_count("left", of.left),
			event_count("total", of.total));
	else
		event(TOTAL_BACK, event_word("policy", policy->name), event_count("left", of.left),
			event_count("total", of.total));
	*published = (uint8_t)level;
	return true;
}

uint64_t watch_totals_next(const struct instance *inst)
{
	return inst->credits->first ? inst->credits->watched_ns + LOOK_NS : UINT64_MAX;
}

bool watch_totals(struct instance *inst, uint64_t now_ns)
{
	unsigned n = RTE_MIN(inst->n_policies, (unsigned)LOOKED_MOST), totals = 0;

	if (now_ns < watch_totals_next(inst))
		return false;
	inst->credits->watched_ns = now_ns;
	for (unsigned k = 0; k < n && totals < TOTALS_MOST; k++) {
		if (inst->credits->watched >= inst->n_policies)
			inst->credits->watched = 0;
		totals += look_at_total(inst, inst->credits->watched++);
	}
	return false;
}
