/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "show.h"

#include <stdio.h>
#include <string.h>

#include "instance.h"
#include "ledger_store.h"
#include "ledger_watch.h"
#include "commit.h"

/* Edges in one page: each takes some 300 bytes of a reply. */
#define EDGES_PAGE 32

/* The edges of a policy, and its index in the ledger. */
struct edges {
	const struct instance *inst;
	const struct policy *policy;
	unsigned index;
	uint64_t now;
};

static json_t *edge_json(const void *context, unsigned i)
{
	const struct edges *of = context;
	struct conserve_edge_view edge = conserve_edge(
		limiter_conserve(of->inst->limiter), of->index, i, of->now);
	const struct ledger_view *ledger = &edge.ledger;
	double time = policy_limit_s(of->policy);
	json_t *json = json_pack("{s:s, s:b, s:b, s:b, s:o, s:o, s:o}", "peer",
		of->inst->config->gossip.roster[edge.peer].name, "alive", edge.alive, "in_use",
		edge.in_use, "spare", edge.spare, "heard_ms_ago",
		age_ms(ledger->known, ledger->heard_ns, of->now), "granted",
		json_uint(ledger->granted), "received", json_uint(ledger->received));

	show_rate(json, of->policy, "in_flight", (double)ledger->in_flight / time);
	show_rate(json, of->policy, "promised", (double)(ledger->locked - ledger->granted) / time);
	show_rate(json, of->policy, "inherited", (double)ledger->inherited / time);
	return json;
}

/* Returns the milliseconds until the usable amount falls; null if it does not. */
static json_t *until_json(uint64_t until, uint64_t now)
{
	return until == UINT64_MAX ? json_null()
				   : json_uint(until > now ? (until - now) / MS_NS : 0);
}

#define FIELD(kind, member) SHOW_FIELD(conserve_view, kind, member)
/* Units of a limit are those in its time; units of a burst are whole ones. */
static const struct show_field limit_held_fields[] = {
	FIELD(PART, share), FIELD(PART, balance), FIELD(PART, usable), {0}};
static const struct show_field limit_moved_fields[] = {FIELD(PART, free), FIELD(PART, in_flight),
	FIELD(PART, promised), FIELD(PART, inherited), {0}};
static const struct show_field burst_held_fields[] = {
	FIELD(UNITS, share), FIELD(UNITS, usable), {0}};
static const struct show_field burst_moved_fields[] = {FIELD(UNITS, free), FIELD(UNITS, in_flight),
	FIELD(UNITS, promised), FIELD(UNITS, inherited), {0}};
#undef FIELD

static void show_ledger_view(
	json_t *json, const struct policy *policy, struct conserve_view view, uint64_t now)
{
	json_object_set_new(json, "name", json_string(policy->name));
	show_rate(json, policy, "limit", policy_rate(policy));
	show_fields(json, limit_held_fields, &view, policy);
	json_object_set_new(json, "usable_for_ms", until_json(view.until_ns, now));
	show_fields(json, limit_moved_fields, &view, policy);
	/* The value of an indicator has its own unit. */
	if (policy->indicator)
		json_object_set_new(json, "indicator", json_real(view.target));
	else
		show_rate(json, policy, "target", view.target / policy_limit_s(policy));
	json_object_set_new(json, "recovering", json_boolean(view.recovering));
}

/*
 * Returns the part of a burst that has a separate account, in whole units; the target is rounded.
 */
static json_t *burst_json(const struct policy *policy, struct conserve_view view, uint64_t now)
{
	json_t *json = json_object();

	show_units(json, policy, "limit", policy->burst_bytes);
	show_fields(json, burst_held_fields, &view, policy);
	json_object_set_new(json, "usable_for_ms", until_json(view.until_ns, now));
	show_fields(json, burst_moved_fields, &view, policy);
	show_units(json, policy, "target", view.target > 0 ? (uint64_t)view.target : 0);
	json_object_set_new(json, "recovering", json_boolean(view.recovering));
	return json;
}

/* params: "POLICY" or "POLICY,START". */
static json_t *ledger_policy_json(const struct instance *inst, const char *params)
{
	const struct conserve *conserve = limiter_conserve(inst->limiter);
	size_t len = strcspn(params, ",");
	struct edges of = {.inst = inst, .now = control_now()};
	struct policy policy;
	char name[CONFIG_NAME_MAX];
	unsigned i, burst;
	json_t *json;

	snprintf(name, sizeof(name), "%.*s", (int)len, params);
	i = show_find(inst, name);
	if (!conserve || len >= sizeof(name) || i == inst->n_policies)
		return NULL;
	policy = show_policy_now(inst, i);
	of.policy = &policy;
	of.index = limiter_conserve_index(inst->limiter, i);
	if (of.index == LIMITER_ADDED)
		return NULL;
	json = show_page("edges", params[len] ? params + len + 1 : NULL, conserve_edges(conserve),
		EDGES_PAGE, edge_json, &of);
	show_ledger_view(json, of.policy, conserve_view(conserve, of.index, of.now), of.now);
	burst = limiter_conserve_burst_index(inst->limiter, i);
	json_object_set_new(json, "burst",
		burst == LIMITER_ADDED
			? json_null()
			: burst_json(of.policy, conserve_view(conserve, burst, of.now), of.now));
	return json;
}

static json_t *statements_json(const uint64_t *verdicts)
{
	return json_pack("{s:o, s:o, s:o, s:o}", "news", json_uint(verdicts[LEDGER_NEWS]), "heard",
		json_uint(verdicts[LEDGER_HEARD]), "old", json_uint(verdicts[LEDGER_OLD]),
		"invalid", json_uint(verdicts[LEDGER_INVALID]));
}

#define NUMBER(member) SHOW_FIELD(conserve_counters, NUMBER, member)
static const struct show_field sent_fields[] = {
	NUMBER(messages_sent), NUMBER(messages_heard), NUMBER(statements_sent), {0}};
static const struct show_field received_fields[] = {
	NUMBER(unknown), NUMBER(malformed), NUMBER(grants), NUMBER(adoptions), {0}};
#undef NUMBER

static void add_counters(json_t *json, const struct conserve_counters *counters)
{
	show_fields(json, sent_fields, counters, NULL);
	json_object_set_new(json, "statements_heard", statements_json(counters->verdicts));
	show_fields(json, received_fields, counters, NULL);
}

/* Returns one word, for the worst state that applies. */
static const char *state_of(const struct instance *inst, const struct commit_view *commit,
	bool kept, unsigned recovering)
{
	if (commit->error)
		return "failing";
	if (ledger_disputes(inst).neighbours > 0)
		return "other_ledger";
	if (recovering > 0)
		return "recovering";
	if (commit->committing || limiter_uncommitted(inst->limiter))
		return "committing";
	return kept || limiter_conserve(inst->limiter) ? "committed" : "none";
}

#define FIELD(kind, member) SHOW_FIELD(commit_view, kind, member)
static const struct show_field store_fields[] = {
	SHOW_FIELD_AS("store", commit_view, TEXT, directory), FIELD(NUMBER, epoch),
	SHOW_FIELD_AS("began_without_memory", commit_view, FLAG, recovering), FIELD(FLAG, saved),
	FIELD(FLAG, enforced), {0}};
static const struct show_field rounds_fields[] = {
	SHOW_FIELD_AS("rounds", commit_view, NUMBER, counters.rounds),
	SHOW_FIELD_AS("failures", commit_view, NUMBER, counters.failures),
	SHOW_FIELD_AS("last_round_ms", commit_view, MS, counters.last_ns),
	SHOW_FIELD_AS("longest_round_ms", commit_view, MS, counters.most_ns), {0}};
#undef FIELD

static void add_finishing(json_t *json, const struct commit_view *commit)
{
	show_fields(json, store_fields, commit, NULL);
	json_object_set_new(json, "error",
		commit->error ? json_string(ledger_store_reason(commit->error)) : json_null());
	show_fields(json, rounds_fields, commit, NULL);
}

/* Adds the rejected messages and statements, and the neighbours of other ledgers. */
static void add_disputes(json_t *json, const struct instance *inst)
{
	struct ledger_disputes disputes = ledger_disputes(inst);

	json_object_set_new(json, "identity", identity_json(limiter_identity(inst->limiter)));
	json_object_set_new(json, "neighbours_of_other_ledgers", json_uint(disputes.neighbours));
	json_object_set_new(
		json, "messages_of_other_ledgers", json_uint(disputes.foreign_messages));
	json_object_set_new(json, "invalid_statements", json_uint(disputes.invalid_statements));
	json_object_set_new(json, "colliding_statements", json_uint(disputes.collided_statements));
}

/* Adds how often limits have ended, because control or a worker stalled for a lease. */
static void add_expired(json_t *json, const struct instance *inst)
{
	uint64_t expired = 0;

	for (unsigned w = 0; w < inst->config->n_workers; w++)
		expired += counter_read(&inst->workers[w].counters.expired);
	json_object_set_new(json, "expired", json_uint(expired));
	json_object_set_new(json, "control_late", json_uint(inst->renewal.late));
}

static json_t *whole_ledger_json(const struct instance *inst)
{
	const struct conserve *conserve = limiter_conserve(inst->limiter);
	struct commit_view commit = {0};
	unsigned recovering = commit_count_recovering(inst, control_now());
	json_t *json = json_object();
	bool kept = commit_view(inst, &commit);

	json_object_set_new(json, "state", json_string(state_of(inst, &commit, kept, recovering)));
	json_object_set_new(json, "recovering_policies", json_uint(recovering));
	if (kept) {
		add_finishing(json, &commit);
		add_disputes(json, inst);
	}
	json_object_set_new(json, "lease_ms", json_uint(inst->config->ledger.lease_ns / MS_NS));
	add_expired(json, inst);
	show_unused(json, inst);
	if (conserve)
		add_counters(json, conserve_counters(conserve));
	return json;
}

json_t *show_ledger(const char *params, void *context)
{
	return params ? ledger_policy_json(context, params) : whole_ledger_json(context);
}
