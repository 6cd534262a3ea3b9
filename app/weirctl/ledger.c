/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The commands "ledger", "quota", "tree" and "etcd": limits and budgets that are never exceeded.
 */
#include "command.h"

#include <errno.h>
#include <stdint.h>

#include "field.h"

/* The document of all policies: what the server says of the whole, and of each. */
static int gather_all(struct source *source, const char *command, json_t **document)
{
	json_t *whole, *policies = NULL;
	int ret = source_get(source, command, &whole);

	*document = NULL;
	if (ret == 0)
		ret = source_each(source, command, SIZE_MAX, &policies);
	if (ret) {
		json_decref(policies);
		json_decref(whole);
		return ret;
	}
	json_object_set_new(whole, "each", policies);
	*document = whole;
	return 0;
}

static int print_list(const json_t *rows, const struct field *fields, unsigned n, struct view *view)
{
	return json_array_size(rows) ? fields_list(rows, fields, n, view) : 0;
}

int ledger_gather(struct source *source, const struct request *request, json_t **document)
{
	if (request->word)
		return source_list(source, "/weir/ledger", request->word, "edges", document);
	return gather_all(source, "/weir/ledger", document);
}

static int print_whole(const json_t *document, struct view *view)
{
	static const struct field whole[] = {
		{"state", "state", KIND_TEXT},
		{"identity", "identity", KIND_TEXT},
		{"of other ledgers", "neighbours_of_other_ledgers", KIND_COUNT},
		{"messages of those", "messages_of_other_ledgers", KIND_COUNT},
		{"invalid statements", "invalid_statements", KIND_COUNT},
		{"store", "store", KIND_TEXT},
		{"error", "error", KIND_TEXT},
		{"epoch", "epoch", KIND_COUNT},
		{"began without memory", "began_without_memory", KIND_TEXT},
		{"recovering now", "recovering_policies", KIND_COUNT},
		{"saved", "rounds", KIND_COUNT},
		{"not saved", "failures", KIND_COUNT},
		{"took, last", "last_round_ms", KIND_MS},
		{"at most", "longest_round_ms", KIND_MS},
		{"lease", "lease_ms", KIND_MS},
		{"messages sent", "messages_sent", KIND_COUNT},
		{"messages heard", "messages_heard", KIND_COUNT},
		{"malformed", "malformed", KIND_COUNT},
		{"grants", "grants", KIND_COUNT},
		{"adoptions", "adoptions", KIND_COUNT},
	};
	static const struct field each[] = {
		{"POLICY", "name", KIND_TEXT},
		{"LIMIT", "limit", KIND_RATE},
		{"SHARE", "share", KIND_RATE | OPTIONAL(2)},
		{"BALANCE", "balance", KIND_RATE},
		{"USABLE", "usable", KIND_RATE},
		{"IN FLIGHT", "in_flight", KIND_RATE | OPTIONAL(3)},
		{"PROMISED", "promised", KIND_RATE | OPTIONAL(1)},
		{"INHERITED", "inherited", KIND_RATE | OPTIONAL(4)},
		{"RECOVERING", "recovering", KIND_TEXT},
	};
	int ret = fields_detail(document, FIELDS(whole), view);

	return ret ? ret : print_list(json_object_get(document, "each"), FIELDS(each), view);
}

static int print_ledger(const json_t *document, struct view *view)
{
	static const struct field one[] = {
		{"policy", "name", KIND_TEXT},
		{"limit", "limit", KIND_RATE},
		{"share", "share", KIND_RATE},
		{"balance", "balance", KIND_RATE},
		{"usable", "usable", KIND_RATE},
		{"for", "usable_for_ms", KIND_MS},
		{"may be given", "free", KIND_RATE},
		{"in flight", "in_flight", KIND_RATE},
		{"promised", "promised", KIND_RATE},
		{"inherited", "inherited", KIND_RATE},
		{"recovering", "recovering", KIND_TEXT},
	};
	static const struct field edges[] = {
		{"NEIGHBOUR", "peer", KIND_TEXT},
		{"ALIVE", "alive", KIND_TEXT},
		{"IN USE", "in_use", KIND_TEXT},
		{"SPARE", "spare", KIND_TEXT | OPTIONAL(3)},
		{"HEARD", "heard_ms_ago", KIND_MS},
		{"IN FLIGHT", "in_flight", KIND_RATE | OPTIONAL(1)},
		{"PROMISED", "promised", KIND_RATE},
		{"INHERITED", "inherited", KIND_RATE | OPTIONAL(2)},
	};
	int ret = fields_detail(document, FIELDS(one), view);

	return ret ? ret : print_list(json_object_get(document, "edges"), FIELDS(edges), view);
}

int ledger_print(const json_t *document, struct view *view)
{
	return json_object_get(document, "edges") ? print_ledger(document, view)
						  : print_whole(document, view);
}

int quota_gather(struct source *source, const struct request *request, json_t **document)
{
	if (request->word)
		return source_get_of(source, "/weir/quota", request->word, document);
	return gather_all(source, "/weir/quota", document);
}

static int print_budgets(const json_t *document, struct view *view)
{
	static const struct field whole[] = {
		{"budgets", "budgets", KIND_COUNT},
		{"messages sent", "messages_sent", KIND_COUNT},
		{"messages heard", "messages_heard", KIND_COUNT},
		{"malformed", "malformed", KIND_COUNT},
		{"clock", "clock", KIND_TEXT},
		{"wall clock off", "clock_apart_ms", KIND_MS},
	};
	static const struct field each[] = {
		{"POLICY", "name", KIND_TEXT},
		{"TOTAL", "total", KIND_UNITS},
		{"LEFT", "remaining", KIND_UNITS},
		{"HELD HERE", "held", KIND_UNITS | OPTIONAL(2)},
		{"PAID HERE", "spent", KIND_UNITS | OPTIONAL(3)},
		{"RATE", "global_rate", KIND_RATE | OPTIONAL(1)},
		{"LASTS", "exhausted_in_s", KIND_SECONDS},
		{"LOW", "low", KIND_TEXT},
	};
	int ret = fields_detail(document, FIELDS(whole), view);

	return ret ? ret : print_list(json_object_get(document, "each"), FIELDS(each), view);
}

static int print_budget(const json_t *document, struct view *view)
{
	static const struct field fields[] = {
		{"policy", "name", KIND_TEXT},
		{"total", "total", KIND_UNITS},
		{"of it in force", "total_in_force", KIND_UNITS},
		{"period", "period", KIND_TEXT},
		{"of", "period_s", KIND_SECONDS},
		{"number of the period", "period_number", KIND_COUNT},
		{"ends in", "period_ends_in_s", KIND_SECONDS},
		{"left, of the group", "remaining", KIND_UNITS},
		{"of it in etcd", "undrawn", KIND_UNITS},
		{"rate, of the group", "global_rate", KIND_RATE},
		{"lasts", "exhausted_in_s", KIND_SECONDS},
		{"held here", "held", KIND_UNITS},
		{"paid for here", "spent", KIND_UNITS},
		{"of it as credit", "credit", KIND_UNITS},
		{"rate here", "rate", KIND_RATE},
		{"asks for more below", "threshold", KIND_UNITS},
		{"in flight", "in_flight", KIND_UNITS},
		{"runs low", "low", KIND_TEXT},
		{"asking others", "asking", KIND_TEXT},
		{"traffic waits", "waiting", KIND_TEXT},
		{"requests", "rounds", KIND_COUNT},
		{"answered with less", "short_rounds", KIND_COUNT},
		{"messages", "messages", KIND_COUNT},
	};

	return fields_detail(document, FIELDS(fields), view);
}

int quota_print(const json_t *document, struct view *view)
{
	return json_object_get(document, "each") ? print_budgets(document, view)
						 : print_budget(document, view);
}

int tree_print(const json_t *document, struct view *view)
{
	static const struct field whole[] = {
		{"root", "root", KIND_TEXT},
		{"this is it", "is_root", KIND_TEXT},
		{"changes", "relinked", KIND_COUNT},
	};
	static const struct field each[] = {
		{"NEIGHBOUR", "peer", KIND_TEXT},
		{"ALIVE", "alive", KIND_TEXT},
		{"LINKED", "linked", KIND_TEXT},
		{"PARENT", "parent", KIND_TEXT},
		{"ROUND TRIP", "round_trip_ms", KIND_MS},
	};
	int ret = fields_detail(document, FIELDS(whole), view);

	return ret ? ret : print_list(json_object_get(document, "neighbours"), FIELDS(each), view);
}

int etcd_print(const json_t *document, struct view *view)
{
	static const struct field whole[] = {
		{"state", "state", KIND_TEXT},
		{"endpoints", "endpoints", KIND_TEXT},
		{"user", "user", KIND_TEXT},
		{"logged in", "logged_in", KIND_TEXT},
		{"prefix", "prefix", KIND_TEXT},
		{"error", "error", KIND_TEXT},
	};
	static const struct field each[] = {
		{"POLICY", "policy", KIND_TEXT},
		{"BUDGET", "name", KIND_TEXT},
		{"TOTAL", "total", KIND_UNITS | OPTIONAL(1)},
		{"UNDRAWN", "left", KIND_UNITS},
		{"DRAWN HERE", "drawn", KIND_UNITS | OPTIONAL(2)},
		{"AS OF", "as_of_ms_ago", KIND_MS | OPTIONAL(3)},
		{"ERROR", "error", KIND_TEXT},
	};
	int ret = fields_detail(document, FIELDS(whole), view);

	return ret ? ret : print_list(json_object_get(document, "budgets"), FIELDS(each), view);
}
