/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The commands "ledger", "quota", "tree" and "etcd": hard limits and quotas.
 */
#include "command.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "field.h"

/* Gathers the reply about the whole, with the replies about the single policies in "each". */
static int gather_all(struct source *source, const char *command, json_t **document)
{
	json_t *whole, *policies = NULL;
	int ret = source_get(source, command, &whole);

	*document = NULL;
	if (ret == 0)
		ret = source_each(source, "/weir/policies", "policies", command, &policies);
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
	return json_array_size(rows) ? fields_list(rows, fields, n, view) : view_error(view);
}

static bool request_forgets(const struct request *request)
{
	return request->all_unused || request->n_words > 1;
}

bool ledger_words_check(const struct request *request)
{
	bool forget = request->n_words > 0 && strcmp(request->words[0], "forget") == 0;

	if (!request_forgets(request) ||
		(forget && request->n_words == (request->all_unused ? 1U : 2U)))
		return true;
	fputs("weirctl: ledger: expected nothing, a policy, \"forget NAME\" or "
	      "\"forget --all-unused\"\n",
		stderr);
	return false;
}

bool ledger_refused(const json_t *document, FILE *err)
{
	return override_refused(document, err);
}

int ledger_gather(struct source *source, const struct request *request, json_t **document)
{
	if (request_forgets(request))
		return source_get_of(source, "/weir/ledger_forget",
			request->all_unused ? "--all-unused" : request->words[1], document);
	if (request->word)
		return source_list(source, "/weir/ledger", request->word, "edges", document);
	return gather_all(source, "/weir/ledger", document);
}

static int print_whole(const json_t *document, struct view *view)
{
	static const struct field whole[] = {
		{"state", "state", KIND_TEXT},
		{"identity", "identity", KIND_TEXT},
		{"foreign ledgers", "neighbours_of_other_ledgers", KIND_COUNT | NONZERO},
		{"messages of foreign ledgers", "messages_of_other_ledgers", KIND_COUNT | NONZERO},
		{"invalid statements", "invalid_statements", KIND_COUNT | NONZERO},
		{"statements of colliding names", "colliding_statements", KIND_COUNT | NONZERO},
		{"unused records", "unused_records", KIND_COUNT | NONZERO},
		{"store", "store", KIND_TEXT},
		{"error", "error", KIND_TEXT},
		{"start number", "epoch", KIND_COUNT},
		{"started with empty state", "began_without_memory", KIND_TEXT},
		{"policies recovering", "recovering_policies", KIND_COUNT | NONZERO},
		{"commits", "rounds", KIND_COUNT},
		{"failed commits", "failures", KIND_COUNT | NONZERO},
		{"last commit", "last_round_ms", KIND_MS},
		{"longest commit", "longest_round_ms", KIND_MS},
		{"lease", "lease_ms", KIND_MS},
		{"expired leases", "expired", KIND_COUNT | NONZERO},
		{"messages sent", "messages_sent", KIND_COUNT},
		{"messages received", "messages_received", KIND_COUNT},
		{"malformed messages", "malformed", KIND_COUNT | NONZERO},
		{"grants", "grants", KIND_COUNT | NONZERO},
		{"adoptions", "adoptions", KIND_COUNT | NONZERO},
	};
	static const struct field each[] = {
		{"POLICY", "name", KIND_TEXT},
		{"LIMIT", "limit", KIND_RATE},
		{"SHARE", "share", KIND_RATE | OPTIONAL(2)},
		{"BALANCE", "balance", KIND_RATE},
		{"USABLE", "usable", KIND_RATE},
		{"IN FLIGHT", "in_flight", KIND_RATE | OPTIONAL(3)},
		{"RESERVED", "promised", KIND_RATE | OPTIONAL(1)},
		{"INHERITED", "inherited", KIND_RATE | OPTIONAL(4)},
		{"RECOVERING", "recovering", KIND_TEXT},
	};
	static const struct field unused[] = {
		{"UNUSED RECORD", "name", KIND_TEXT},
		{"KIND", "kind", KIND_TEXT},
		{"USED BY A NEIGHBOUR", "in_use", KIND_TEXT},
	};

	fields_detail(document, FIELDS(whole), view);
	print_list(json_object_get(document, "each"), FIELDS(each), view);
	return print_list(json_object_get(document, "unused"), FIELDS(unused), view);
}

static int print_forgotten(const json_t *document, struct view *view)
{
	static const struct field fields[] = {
		{"records forgotten", "forgotten", KIND_COUNT},
		{"used by a neighbour", "in_use", KIND_COUNT | NONZERO},
		{"unused records left", "unused_records", KIND_COUNT},
	};

	return fields_detail(document, FIELDS(fields), view);
}

static int print_ledger(const json_t *document, struct view *view)
{
	static const struct field one[] = {
		{"policy", "name", KIND_TEXT},
		{"limit", "limit", KIND_RATE},
		{"share", "share", KIND_RATE},
		{"balance", "balance", KIND_RATE},
		{"usable", "usable", KIND_RATE},
		{"usable for", "usable_for_ms", KIND_MS},
		{"free to give", "free", KIND_RATE},
		{"in flight", "in_flight", KIND_RATE},
		{"reserved", "promised", KIND_RATE},
		{"inherited", "inherited", KIND_RATE},
		{"recovering", "recovering", KIND_TEXT},
	};
	static const struct field edges[] = {
		{"NEIGHBOUR", "peer", KIND_TEXT},
		{"ALIVE", "alive", KIND_TEXT},
		{"IN USE", "in_use", KIND_TEXT},
		{"SPARE", "spare", KIND_TEXT | OPTIONAL(3)},
		{"LAST RECEIVED", "silent_ms", KIND_MS},
		{"IN FLIGHT", "in_flight", KIND_RATE | OPTIONAL(1)},
		{"RESERVED", "promised", KIND_RATE},
		{"INHERITED", "inherited", KIND_RATE | OPTIONAL(2)},
	};

	fields_detail(document, FIELDS(one), view);
	return print_list(json_object_get(document, "edges"), FIELDS(edges), view);
}

int ledger_print(const json_t *document, struct view *view)
{
	if (json_object_get(document, "forgotten"))
		return print_forgotten(document, view);
	return json_object_get(document, "edges") ? print_ledger(document, view)
						  : print_whole(document, view);
}

int quota_gather(struct source *source, const struct request *request, json_t **document)
{
	if (request->word)
		return source_get_of(source, "/weir/quota", request->word, document);
	return gather_all(source, "/weir/quota", document);
}

static int print_quotas(const json_t *document, struct view *view)
{
	static const struct field whole[] = {
		{"quotas", "quotas", KIND_COUNT},
		{"messages sent", "messages_sent", KIND_COUNT},
		{"messages received", "messages_received", KIND_COUNT},
		{"malformed messages", "malformed", KIND_COUNT | NONZERO},
		{"clock", "clock", KIND_TEXT},
		{"wall clock off by", "clock_apart_ms", KIND_MS},
	};
	static const struct field each[] = {
		{"POLICY", "name", KIND_TEXT},
		{"QUOTA", "total", KIND_UNITS},
		{"REMAINING", "remaining", KIND_UNITS},
		{"HELD HERE", "held", KIND_UNITS | OPTIONAL(4)},
		{"PREFETCHED", "prefetched", KIND_UNITS | OPTIONAL(2)},
		{"USED HERE", "used", KIND_UNITS | OPTIONAL(3)},
		{"GROUP RATE", "global_rate", KIND_RATE | OPTIONAL(1)},
		{"LASTS", "exhausted_in_s", KIND_SECONDS},
		{"LOW", "low", KIND_TEXT},
	};

	fields_detail(document, FIELDS(whole), view);
	return print_list(json_object_get(document, "each"), FIELDS(each), view);
}

static int print_quota(const json_t *document, struct view *view)
{
	static const struct field fields[] = {
		{"policy", "name", KIND_TEXT},
		{"quota", "total", KIND_UNITS},
		{"quota in force", "total_in_force", KIND_UNITS},
		{"period", "period", KIND_TEXT},
		{"period length", "period_s", KIND_SECONDS},
		{"period number", "period_number", KIND_COUNT},
		{"period ends in", "period_ends_in_s", KIND_SECONDS},
		{"quota remaining", "remaining", KIND_UNITS},
		{"left in etcd", "undrawn", KIND_UNITS},
		{"rate of group", "global_rate", KIND_RATE},
		{"lasts", "exhausted_in_s", KIND_SECONDS},
		{"held here", "held", KIND_UNITS},
		{"quota used here", "used", KIND_UNITS},
		{"quota prefetched", "prefetched", KIND_UNITS},
		{"of that leased to workers", "credit", KIND_UNITS},
		{"rate here", "rate", KIND_RATE},
		{"requests more below", "threshold", KIND_UNITS},
		{"in flight", "in_flight", KIND_UNITS},
		{"low", "low", KIND_TEXT},
		{"requesting", "asking", KIND_TEXT},
		{"traffic waits", "waiting", KIND_TEXT},
		{"requests", "rounds", KIND_COUNT | NONZERO},
		{"partly granted", "short_rounds", KIND_COUNT | NONZERO},
		{"messages", "messages", KIND_COUNT | NONZERO},
	};

	return fields_detail(document, FIELDS(fields), view);
}

int quota_print(const json_t *document, struct view *view)
{
	return json_object_get(document, "each") ? print_quotas(document, view)
						 : print_quota(document, view);
}

int tree_print(const json_t *document, struct view *view)
{
	static const struct field whole[] = {
		{"root", "root", KIND_TEXT},
		{"this limiter is the root", "is_root", KIND_TEXT},
		{"edge changes", "relinked", KIND_COUNT},
	};
	static const struct field each[] = {
		{"NEIGHBOUR", "peer", KIND_TEXT},
		{"ALIVE", "alive", KIND_TEXT},
		{"LINKED", "linked", KIND_TEXT},
		{"PARENT", "parent", KIND_TEXT},
		{"ROUND TRIP", "round_trip_ms", KIND_MS},
	};

	fields_detail(document, FIELDS(whole), view);
	return print_list(json_object_get(document, "neighbours"), FIELDS(each), view);
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
		{"KEY", "name", KIND_TEXT},
		{"QUOTA", "total", KIND_UNITS | OPTIONAL(1)},
		{"UNDRAWN", "left", KIND_UNITS},
		{"DRAWN HERE", "drawn", KIND_UNITS | OPTIONAL(2)},
		{"AS OF", "as_of_ms_ago", KIND_MS | OPTIONAL(3)},
		{"ERROR", "error", KIND_TEXT},
	};

	fields_detail(document, FIELDS(whole), view);
	return print_list(json_object_get(document, "quotas"), FIELDS(each), view);
}
