/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "show_ledger.h"

#include <stdio.h>
#include <string.h>

#include "box.h"
#include "ledger_store.h"
#include "settle.h"
#include "show_json.h"

/* Edges in one page: each takes some 300 bytes of a reply. */
#define EDGES_PAGE 32

/* "POLICY" or "POLICY,START". */
struct wanted {
	char name[CONFIG_NAME_MAX];
	unsigned start;
};

static bool parse(const char *params, struct wanted *wanted)
{
	size_t len = strcspn(params, ",");

	if (len >= sizeof(wanted->name))
		return false;
	snprintf(wanted->name, sizeof(wanted->name), "%.*s", (int)len, params);
	return show_page_start(params[len] ? params + len + 1 : NULL, &wanted->start);
}

static json_t *edge_json(const struct box *box, const struct policy *policy,
	const struct conserve_edge_view *edge, uint64_t now)
{
	const struct ledger_view *ledger = &edge->ledger;
	double time = policy_limit_s(policy);
	json_t *json = json_pack("{s:s, s:b, s:b, s:b, s:o}", "peer",
		box->config->gossip.roster[edge->peer].name, "alive", edge->alive, "in_use",
		edge->in_use, "spare", edge->spare, "heard_ms_ago",
		age_ms(ledger->known, ledger->heard_ns, now));

	json_object_set_new(json, "granted", integer(ledger->granted));
	json_object_set_new(json, "received", integer(ledger->received));
	show_rate(json, policy, "in_flight", (double)ledger->in_flight / time);
	show_rate(json, policy, "promised", (double)(ledger->locked - ledger->granted) / time);
	show_rate(json, policy, "adopted", (double)ledger->adopted / time);
	return json;
}

/* For how long that is usable: null where it is for ever. */
static json_t *until_json(uint64_t until, uint64_t now)
{
	return until == UINT64_MAX ? json_null() : integer(until > now ? (until - now) / MS_NS : 0);
}

static void add_view(
	json_t *json, const struct policy *policy, const struct conserve_view *view, uint64_t now)
{
	/* Its units are those in the time that the limit is of. */
	double time = policy_limit_s(policy);

	json_object_set_new(json, "name", json_string(policy->name));
	show_rate(json, policy, "limit", policy_rate(policy));
	show_rate(json, policy, "share", (double)view->share / time);
	show_rate(json, policy, "balance", (double)view->balance / time);
	show_rate(json, policy, "usable", (double)view->usable / time);
	json_object_set_new(json, "usable_for_ms", until_json(view->until_ns, now));
	show_rate(json, policy, "free", (double)view->free / time);
	show_rate(json, policy, "in_flight", (double)view->in_flight / time);
	show_rate(json, policy, "promised", (double)view->promised / time);
	show_rate(json, policy, "adopted", (double)view->adopted / time);
	/* An indicator's value is of a unit of its own. */
	if (policy->indicator)
		json_object_set_new(json, "indicator", json_real(view->target));
	else
		show_rate(json, policy, "target", view->target / time);
	json_object_set_new(json, "blank", json_boolean(view->blank));
}

/*
 * The part of a burst that has an account of its own; a whole number of units, but for the target.
 */
static json_t *burst_json(const struct policy *policy, struct conserve_view view, uint64_t now)
{
	json_t *json = json_object();

	show_units(json, policy, "limit", policy->burst_bytes);
	show_units(json, policy, "share", view.share);
	show_units(json, policy, "usable", view.usable);
	json_object_set_new(json, "usable_for_ms", until_json(view.until_ns, now));
	show_units(json, policy, "free", view.free);
	show_units(json, policy, "in_flight", view.in_flight);
	show_units(json, policy, "promised", view.promised);
	show_units(json, policy, "adopted", view.adopted);
	show_units(json, policy, "target", view.target > 0 ? (uint64_t)view.target : 0);
	json_object_set_new(json, "blank", json_boolean(view.blank));
	return json;
}

static json_t *show_policy(const struct box *box, const struct wanted *wanted)
{
	const struct conserve *conserve = limiter_conserve(box->limiter);
	unsigned i = show_find(box, wanted->name), index;
	uint64_t now = control_now();
	struct conserve_view view;
	json_t *edges, *json;

	if (i == box->n_policies)
		return NULL;
	index = limiter_conserve_index(box->limiter, i);
	if (!conserve || index == LIMITER_ADDED)
		return NULL;
	edges = json_array();
	for (unsigned e = wanted->start;
		e < conserve_edges(conserve) && e - wanted->start < EDGES_PAGE; e++) {
		struct conserve_edge_view edge = conserve_edge(conserve, index, e, now);

		json_array_append_new(edges, edge_json(box, &box->policies[i], &edge, now));
	}
	json = show_page("edges", edges, wanted->start, conserve_edges(conserve));
	view = conserve_view(conserve, index, now);
	add_view(json, &box->policies[i], &view, now);
	index = limiter_conserve_burst_index(box->limiter, i);
	json_object_set_new(json, "burst",
		index == LIMITER_ADDED
			? json_null()
			: burst_json(&box->policies[i], conserve_view(conserve, index, now), now));
	return json;
}

static json_t *statements_json(const uint64_t *verdicts)
{
	return json_pack("{s:o, s:o, s:o, s:o}", "news", integer(verdicts[LEDGER_NEWS]), "heard",
		integer(verdicts[LEDGER_HEARD]), "old", integer(verdicts[LEDGER_OLD]), "invalid",
		integer(verdicts[LEDGER_INVALID]));
}

static void add_counters(json_t *json, const struct conserve *conserve)
{
	const struct conserve_counters *c = conserve_counters(conserve);

	json_object_set_new(json, "letters_sent", integer(c->letters_sent));
	json_object_set_new(json, "letters_heard", integer(c->letters_heard));
	json_object_set_new(json, "statements_sent", integer(c->statements_sent));
	json_object_set_new(json, "statements_heard", statements_json(c->verdicts));
	json_object_set_new(json, "unknown", integer(c->unknown));
	json_object_set_new(json, "malformed", integer(c->malformed));
	json_object_set_new(json, "grants", integer(c->grants));
	json_object_set_new(json, "adoptions", integer(c->adoptions));
}

/* One word for all, the worst that is true. */
static const char *state_of(
	const struct box *box, const struct settle_view *settle, bool kept, unsigned blank)
{
	if (settle->error)
		return "failing";
	if (blank > 0)
		return "blank";
	if (settle->settling || limiter_unsettled(box->limiter))
		return "settling";
	return kept || limiter_conserve(box->limiter) ? "settled" : "none";
}

static void add_settling(json_t *json, const struct settle_view *settle)
{
	const struct settle_counters *c = &settle->counters;

	json_object_set_new(json, "store", json_string(settle->directory));
	json_object_set_new(json, "epoch", integer(settle->epoch));
	json_object_set_new(json, "began_blank", json_boolean(settle->blank));
	json_object_set_new(json, "saved", json_boolean(settle->saved));
	json_object_set_new(json, "obeyed", json_boolean(settle->obeyed));
	json_object_set_new(json, "error",
		settle->error ? json_string(ledger_store_reason(settle->error)) : json_null());
	json_object_set_new(json, "rounds", integer(c->rounds));
	json_object_set_new(json, "failures", integer(c->failures));
	json_object_set_new(json, "last_round_ms", json_real((double)c->last_ns / MS_NS));
	json_object_set_new(json, "longest_round_ms", json_real((double)c->most_ns / MS_NS));
}

static json_t *show_whole(const struct box *box)
{
	const struct conserve *conserve = limiter_conserve(box->limiter);
	struct settle_view settle = {0};
	unsigned blank = settle_count_blank(box, control_now());
	json_t *json = json_object();
	bool kept = settle_view(box, &settle);

	json_object_set_new(json, "state", json_string(state_of(box, &settle, kept, blank)));
	json_object_set_new(json, "blank_policies", integer(blank));
	if (kept)
		add_settling(json, &settle);
	json_object_set_new(json, "lease_ms", integer(box->config->ledger.lease_ns / MS_NS));
	if (conserve)
		add_counters(json, conserve);
	return json;
}

static json_t *show_ledger(const char *params, void *context)
{
	const struct box *box = context;
	struct wanted wanted;

	if (!params)
		return show_whole(box);
	return parse(params, &wanted) ? show_policy(box, &wanted) : NULL;
}

const struct telemetry_command show_ledger_commands[] = {
	{"/weir/ledger",
		"Limits that are never exceeded. Parameters: a policy, first edge of a page",
		show_ledger},
	{0},
};
