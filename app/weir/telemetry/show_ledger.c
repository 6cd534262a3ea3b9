/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Answers about the ledger of hard limits, and its alarms.
 */
#include "show.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "clock.h"
#include "etcd_share.h"
#include "instance.h"
#include "ledger_store.h"
#include "ledger_watch.h"
#include "commit.h"
#include "losses.h"
#include "senders.h"

/* Records of the ledger whose policies are gone: their names, and forgetting them. */

#define NAMES_MOST 64

#define ALL_UNUSED "--all-unused"

static bool add_name(void *context, const struct limiter_unused *unused)
{
	json_t *rows = context;

	if (json_array_size(rows) < NAMES_MOST)
		json_array_append_new(
			rows, json_pack("{s:s, s:s, s:b}", "name", unused->name, "kind",
				      unused->kind == LIMITER_UNITS ? "quota" : "hard limit",
				      "in_use", unused->in_use));
	return false;
}

json_t *show_ledger_forget(const char *params, void *context)
{
	struct instance *inst = context;
	bool all = params && strcmp(params, ALL_UNUSED) == 0;
	struct ledger_forgotten forgotten;

	if (!params || !*params)
		return json_pack("{s:[s]}", "refused", "expected a name, or " ALL_UNUSED);
	forgotten = ledger_forget(inst, all ? NULL : params, telemetry_asker(inst->telemetry));
	if (!all && forgotten.n == 0)
		return json_pack("{s:[s]}", "refused",
			forgotten.in_use
				? "a neighbour still has a policy of this name: remove it there "
				  "first"
				: "no unused record has this name, or it is being saved: see "
				  "weirctl ledger");
	return json_pack("{s:i, s:i, s:i}", "forgotten", (int)forgotten.n, "in_use",
		(int)forgotten.in_use, "unused_records", (int)forgotten.unused);
}

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
		edge.in_use, "spare", edge.spare, "silent_ms",
		age_ms(ledger->known, ledger->received_ns, of->now), "granted",
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

#define NUMBER(member) SHOW_FIELD(conserve_counters, NUMBER, member)
static const struct show_field sent_fields[] = {
	NUMBER(messages_sent), NUMBER(messages_received), NUMBER(statements_sent), {0}};
static const struct show_field received_fields[] = {
	NUMBER(unknown), NUMBER(malformed), NUMBER(grants), NUMBER(adoptions), {0}};
#undef NUMBER

static void add_counters(json_t *json, const struct conserve_counters *counters)
{
	const uint64_t *verdicts = counters->verdicts;

	show_fields(json, sent_fields, counters, NULL);
	json_object_set_new(json, "statements_received",
		json_pack("{s:o, s:o, s:o, s:o}", "news", json_uint(verdicts[LEDGER_NEWS]), "heard",
			json_uint(verdicts[LEDGER_HEARD]), "old", json_uint(verdicts[LEDGER_OLD]),
			"invalid", json_uint(verdicts[LEDGER_INVALID])));
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

static json_t *whole_ledger_json(const struct instance *inst)
{
	const struct conserve *conserve = limiter_conserve(inst->limiter);
	struct commit_view commit = {0};
	unsigned recovering = commit_count_recovering(inst, control_now());
	json_t *json = json_object(), *unused = json_array();
	uint64_t expired = 0; /* limits that ended: control or a worker stalled for a lease */
	bool kept = commit_view(inst, &commit);

	json_object_set_new(json, "state", json_string(state_of(inst, &commit, kept, recovering)));
	json_object_set_new(json, "recovering_policies", json_uint(recovering));
	if (kept) {
		show_fields(json, store_fields, &commit, NULL);
		json_object_set_new(json, "error",
			commit.error ? json_string(ledger_store_reason(commit.error))
				     : json_null());
		show_fields(json, rounds_fields, &commit, NULL);
		add_disputes(json, inst);
	}
	json_object_set_new(json, "lease_ms", json_uint(inst->config->ledger.lease_ns / MS_NS));
	for (unsigned w = 0; w < inst->config->n_workers; w++)
		expired += counter_read(&inst->workers[w].counters.expired);
	json_object_set_new(json, "expired", json_uint(expired));
	json_object_set_new(json, "control_late", json_uint(inst->renewal.late));
	/* The records of the ledger whose policies are gone. */
	(void)limiter_forget(inst->limiter, add_name, unused);
	json_object_set_new(json, "unused_records", json_uint(limiter_unused(inst->limiter)));
	json_object_set_new(json, "unused", unused);
	if (conserve)
		add_counters(json, conserve_counters(conserve));
	return json;
}

json_t *show_ledger(const char *params, void *context)
{
	return params ? ledger_policy_json(context, params) : whole_ledger_json(context);
}

/* --- alarms ----------------------------------------------------------------------------------- */

/*
 * Alarms about the ledger, its store and the etcd of quotas. Each is a row in show_health.c, and a
 * word in the tables of doc/operate (test/unit/check_alarms.py).
 */

void alarm_ledger_failing(const struct instance *inst, json_t *alarms)
{
	struct commit_view commit;

	if (commit_view(inst, &commit) && commit.error && commit.error != -ESTALE)
		json_array_append_new(alarms,
			json_sprintf("the ledger in %s cannot be saved: %s; this limiter grants "
				     "nothing until it is",
				commit.directory, ledger_store_reason(commit.error)));
}

void alarm_ledger_exchanged(const struct instance *inst, json_t *alarms)
{
	struct commit_view commit;

	if (commit_view(inst, &commit) && commit.error == -ESTALE)
		json_array_append_new(
			alarms, json_sprintf("the ledger in %s is closed: %s", commit.directory,
					ledger_store_reason(commit.error)));
}

void alarm_ledger_recovering(const struct instance *inst, json_t *alarms)
{
	unsigned n = commit_count_recovering(inst, control_now());

	if (n > 0)
		json_array_append_new(
			alarms, json_sprintf("the ledger is recovering: %u %s nothing until every "
					     "neighbour has reported",
					n,
					n == 1 ? "hard limit or quota passes"
					       : "hard limits and quotas pass"));
}

void alarm_ledger_sentinel(const struct instance *inst, json_t *alarms)
{
	struct commit_view commit;

	if (commit_view(inst, &commit) && commit.sentinel_error)
		json_array_append_new(alarms,
			json_sprintf("%s.sentinel cannot be used: %s; a restored store would go "
				     "unnoticed",
				commit.directory, strerror(-commit.sentinel_error)));
}

void alarm_ledger_other(const struct instance *inst, json_t *alarms)
{
	struct limiter_neighbour neighbour;

	for (unsigned i = 0; i < inst->config->gossip.n_roster; i++)
		if (limiter_neighbour(inst->limiter, i, &neighbour) && neighbour.foreign)
			json_array_append_new(alarms,
				json_sprintf("%s uses another ledger: nothing moves between it and "
					     "this limiter",
					inst->config->gossip.roster[i].name));
}

void alarm_ledger_invalid(const struct instance *inst, json_t *alarms)
{
	for (unsigned i = 0; i < inst->config->gossip.n_roster; i++)
		if (commit_disputes(inst, i))
			json_array_append_new(alarms,
				json_sprintf("%s sends impossible statements: its store or ours "
					     "was restored or copied, or memory is broken",
					inst->config->gossip.roster[i].name));
}

void alarm_ledger_older(const struct instance *inst, json_t *alarms)
{
	struct limiter_closure closure = limiter_closure(inst->limiter, control_now());

	if (closure.closed && closure.reason == BOOK_OLDER_STORE)
		json_array_append_new(alarms,
			json_sprintf("the ledger in %s is older than the records of the "
				     "neighbours: it was restored or copied, and hard limits and "
				     "quotas pass nothing until they have reported",
				inst->config->ledger.store));
}

void alarm_name_twice(const struct instance *inst, json_t *alarms)
{
	struct limiter_closure closure = limiter_closure(inst->limiter, control_now());
	const struct gossip_config *gossip = &inst->config->gossip;
	struct limiter_neighbour neighbour;
	char addresses[SENDERS_TEXT];
	uint64_t now = control_now();

	if (closure.held || (closure.closed && closure.reason == BOOK_NAME_TWICE))
		json_array_append_new(alarms,
			json_sprintf("another limiter is named %s: hard limits and quotas pass "
				     "nothing here until one of the two stops",
				gossip->roster[gossip->self].name));
	for (unsigned i = 0; i < gossip->n_roster; i++) {
		bool twice = limiter_neighbour(inst->limiter, i, &neighbour) && neighbour.twice;

		if (!twice && !(inst->senders && senders_two(inst->senders, i, now)))
			continue;
		json_array_append_new(
			alarms, json_sprintf("two limiters are named %s, and send from %s: %s",
					gossip->roster[i].name,
					senders_write(inst->senders, i, now, addresses),
					twice ? "nothing moves between them and this limiter"
					      : "find and stop one of them"));
	}
}

void alarm_datagrams_refused(const struct instance *inst, json_t *alarms)
{
	char verdicts[LOSSES_VERDICTS];

	if (losses_refused(inst, verdicts))
		json_array_append_new(
			alarms, json_sprintf("datagrams of gossip are rejected: %s", verdicts));
}

static const char *const etcd_problems[] = {
	[DRAW_AWAY] = "does not answer: quotas last as long as the units that are drawn",
	[DRAW_FENCED] = "has fenced this limiter: another process draws under its name",
};

static void alarm_etcd(const struct instance *inst, json_t *alarms, enum etcd_share_state state)
{
	struct etcd_share_view view;

	if (etcd_share_view(inst, &view) && view.state == state)
		json_array_append_new(alarms, json_sprintf("etcd %s%s%s", etcd_problems[state],
						      *view.why ? ": " : "", view.why));
}

void alarm_etcd_away(const struct instance *inst, json_t *alarms)
{
	alarm_etcd(inst, alarms, DRAW_AWAY);
}

void alarm_etcd_fenced(const struct instance *inst, json_t *alarms)
{
	alarm_etcd(inst, alarms, DRAW_FENCED);
}

void alarm_etcd_refused(const struct instance *inst, json_t *alarms)
{
	for (unsigned i = 0; i < etcd_share_budgets(inst); i++) {
		struct budget_share_view view = etcd_share_budget(inst, i);

		if (view.error)
			json_array_append_new(
				alarms, json_sprintf("etcd: quota %s: %s: nothing is drawn of it",
						view.name, strerror(-view.error)));
	}
}
