/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The commands "policies" and "policy".
 */
#include "command.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "ask/member.h"
#include "field.h"
#include "look.h"

struct policy_row {
	json_t *policy; /* borrowed */
	double by;
};

/* The sort key "rate": in bit/s, or in units per second for policies that do not count bytes. */
static double policy_demand(const json_t *policy)
{
	return field_number(policy, "demand_bps") + field_number(policy, "demand_per_s");
}

static double policy_drops(const json_t *policy)
{
	return field_number(policy, "dropped.packets");
}

typedef double (*measure)(const json_t *policy);

static measure measure_of(const char *sort)
{
	return strcmp(sort, "rate") == 0    ? policy_demand
	       : strcmp(sort, "drops") == 0 ? policy_drops
					    : NULL;
}

bool policies_sort_known(const char *sort)
{
	return measure_of(sort) != NULL;
}

static const char *name_of(const json_t *policy)
{
	const char *name = json_string_value(json_object_get(policy, "name"));

	return name ? name : "";
}

/* Orders by measure, largest first, then by name. */
static int compare_policy_rows(const void *a, const void *b)
{
	const struct policy_row *left = a, *right = b;

	if (left->by != right->by)
		return left->by < right->by ? 1 : -1;
	return strcmp(name_of(left->policy), name_of(right->policy));
}

static int sort_policies(json_t **policies, measure by)
{
	size_t n = json_array_size(*policies), i;
	struct policy_row *rows = calloc(n + 1, sizeof(*rows));
	json_t *sorted = json_array(), *policy;

	if (!rows || !sorted) {
		free(rows);
		json_decref(sorted);
		return -ENOMEM;
	}
	json_array_foreach (*policies, i, policy)
		rows[i] = (struct policy_row){policy, by(policy)};
	qsort(rows, n, sizeof(*rows), compare_policy_rows);
	for (i = 0; i < n; i++)
		json_array_append(sorted, rows[i].policy);
	free(rows);
	json_decref(*policies);
	*policies = sorted;
	return 0;
}

bool policies_count(const char *word, size_t *n)
{
	char *end;

	*n = SIZE_MAX;
	if (!word)
		return true;
	errno = 0;
	*n = strtoul(word, &end, 10);
	return *word >= '0' && *word <= '9' && !*end && !errno && *n > 0;
}

bool policies_words_check(const struct request *request)
{
	size_t n;

	if (!policies_count(request->word, &n))
		fprintf(stderr, "weirctl: %s: expected a number of policies\n", request->word);
	else if (request->sort && !policies_sort_known(request->sort))
		fprintf(stderr, "weirctl: %s: expected rate or drops\n", request->sort);
	else
		return true;
	return false;
}

static void truncate_array(json_t *array, size_t n)
{
	while (json_array_size(array) > n)
		json_array_remove(array, json_array_size(array) - 1);
}

/* Copies a rate under the name that /weir/policy uses; null if the policy has no such rate. */
static void put_rate(json_t *policy, const json_t *row, const char *name, bool bytes)
{
	char column[64], key[64];
	const json_t *value;

	snprintf(column, sizeof(column), "%s_per_s", name);
	snprintf(key, sizeof(key), "%s_%s", name, bytes ? "bps" : "per_s");
	value = json_object_get(row, column);
	json_object_set_new(policy, key,
		json_is_number(value) ? json_real(json_number_value(value) * (bytes ? 8 : 1))
				      : json_null());
}

static void put_rate_if(json_t *policy, const json_t *row, const char *name, bool bytes)
{
	char column[64];

	snprintf(column, sizeof(column), "%s_per_s", name);
	if (json_is_number(json_object_get(row, column)))
		put_rate(policy, row, name, bytes);
}

static void put_counts(json_t *policy, const json_t *row, const char *name, const char *units)
{
	char packets[64], counted[64];
	json_t *object = json_object();

	snprintf(packets, sizeof(packets), "%s_packets", name);
	snprintf(counted, sizeof(counted), "%s_units", name);
	json_object_set(object, "packets", json_object_get(row, packets));
	if (strcmp(units, "packets") != 0)
		json_object_set(object, units, json_object_get(row, counted));
	json_object_set_new(policy, name, object);
}

/* Converts a row of /weir/policy_stats to the members that /weir/policy has for them. */
static json_t *policy_of_row(const json_t *row)
{
	static const char *const same[] = {
		"name", "count", "allocator", "limit_by", "limit_until", "peers_lost", "parent"};
	static const char *const rates[] = {"limit", "local_limit", "demand", "global_demand"};
	static const char *const some_have[] = {"share", "peak", "local_peak"};
	static const char *const counts[] = {"passed", "dropped", "over"};
	const char *units = json_string_value(json_object_get(row, "count"));
	json_t *policy = json_object();

	if (!units)
		units = "packets";
	for (size_t i = 0; i < sizeof(same) / sizeof(*same); i++)
		json_object_set(policy, same[i], json_object_get(row, same[i]));
	if (json_is_null(json_object_get(row, "limit_by")))
		json_object_set_new(policy, "limit_by", json_string("configuration"));
	for (size_t i = 0; i < sizeof(rates) / sizeof(*rates); i++)
		put_rate(policy, row, rates[i], strcmp(units, "bytes") == 0);
	for (size_t i = 0; i < sizeof(some_have) / sizeof(*some_have); i++)
		put_rate_if(policy, row, some_have[i], strcmp(units, "bytes") == 0);
	for (size_t i = 0; i < sizeof(counts) / sizeof(*counts); i++)
		put_counts(policy, row, counts[i], units);
	return policy;
}

/* Requests pages of a hundred policies until there are enough. */
int policies_gather(struct source *source, const struct request *request, json_t **document)
{
	json_t *look = NULL, *row;
	const char *name;
	size_t n;
	int ret;

	*document = NULL;
	if (!policies_count(request->word, &n))
		return -EINVAL;
	ret = look_at_first_policies(source, request->sort ? SIZE_MAX : n, &look);
	if (ret == 0) {
		*document = json_array();
		json_object_foreach (look, name, row)
			json_array_append_new(*document, policy_of_row(row));
	}
	json_decref(look);
	if (ret == 0 && request->sort)
		ret = sort_policies(document, measure_of(request->sort));
	truncate_array(*document, n);
	return ret;
}

static const char *by_of(const json_t *policy)
{
	const char *by = json_string_value(json_object_get(policy, "limit_by"));

	return by ? by : "configuration"; /* older servers have no other */
}

/* Condition of a column: a policy in the list has a limit by time, a parent, or colours. */
enum shown_if { ALWAYS, TIMED, BELOW, COLOURED };

static bool policy_shows(const json_t *policy, enum shown_if what)
{
	if (what == BELOW)
		return json_is_string(json_object_get(policy, "parent"));
	if (what == COLOURED)
		return json_is_number(json_object_get(policy, "peak_bps")) ||
		       json_is_number(json_object_get(policy, "peak_per_s"));
	return json_is_string(json_object_get(policy, "limit_until")) ||
	       strcmp(by_of(policy), "configuration") != 0;
}

static bool any_shows(const json_t *policies, enum shown_if what)
{
	const json_t *policy;
	size_t i;

	json_array_foreach (policies, i, policy)
		if (policy_shows(policy, what))
			return true;
	return what == ALWAYS;
}

/* Prints the columns whose condition holds for at least one policy. */
int policies_print(const json_t *document, struct view *view)
{
	static const struct {
		struct field field;
		enum shown_if shown_if;
	} columns[] = {
		{{"POLICY", "name", KIND_TEXT}, ALWAYS},
		{{"PARENT", "parent", KIND_TEXT | OPTIONAL(1)}, BELOW},
		{{"LIMIT", "limit", KIND_RATE}, ALWAYS},
		{{"LIMIT SOURCE", "limit_by", KIND_TEXT | OPTIONAL(1)}, TIMED},
		{{"UNTIL", "limit_until", KIND_TEXT | OPTIONAL(1)}, TIMED},
		{{"MAY HAVE", "share", KIND_RATE | OPTIONAL(1)}, BELOW},
		{{"PEAK", "peak", KIND_RATE | OPTIONAL(1)}, COLOURED},
		{{"HERE", "local_limit", KIND_RATE}, ALWAYS},
		{{"PEAK HERE", "local_peak", KIND_RATE | OPTIONAL(1)}, COLOURED},
		{{"DEMAND", "demand", KIND_RATE}, ALWAYS},
		{{"GROUP DEMAND", "global_demand", KIND_RATE | OPTIONAL(2)}, ALWAYS},
		{{"PASSED", "passed.packets", KIND_COUNT | OPTIONAL(3)}, ALWAYS},
		{{"DROPPED", "dropped.packets", KIND_COUNT}, ALWAYS},
		{{"OVER", "over.packets", KIND_COUNT | OPTIONAL(4)}, ALWAYS},
		{{"PEERS LOST", "peers_lost", KIND_COUNT | OPTIONAL(4)}, ALWAYS},
		{{"ALLOCATOR", "allocator", KIND_TEXT | OPTIONAL(5)}, ALWAYS},
	};
	struct field fields[sizeof(columns) / sizeof(*columns)];
	unsigned n = 0;

	for (size_t i = 0; i < sizeof(columns) / sizeof(*columns); i++)
		if (any_shows(document, columns[i].shown_if))
			fields[n++] = columns[i].field;
	return fields_list(document, fields, n, view);
}

/* Prints the limiter's time and the limits that depend on it. */
int limits_print(const json_t *document, struct view *view)
{
	static const struct field head[] = {
		{"time", "time", KIND_TEXT},
		{"by schedule", "by_schedule", KIND_COUNT},
		{"overrides", "by_override", KIND_COUNT},
	};
	static const struct field fields[] = {
		{"POLICY", "name", KIND_TEXT},
		{"LIMIT", "limit", KIND_TEXT},
		{"LIMIT SOURCE", "limit_by", KIND_TEXT},
		{"UNTIL", "limit_until", KIND_TEXT},
		{"CONFIGURED", "configured_limit", KIND_TEXT | OPTIONAL(1)},
	};
	int ret = fields_detail(document, FIELDS(head), view);

	return ret ? ret : fields_list(json_object_get(document, "limits"), FIELDS(fields), view);
}

static const struct field fields_of_policy[] = {
	{"policy", "name", KIND_TEXT},
	{"match", "match", KIND_TEXT},
	{"matches", "matches", KIND_COUNT},
	{"allocator", "allocator", KIND_TEXT},
	{"guarantee", "guarantee", KIND_TEXT},
	{"meter", "meter", KIND_TEXT},
	{"counts", "count", KIND_TEXT},
	{"accounting", "accounting", KIND_TEXT},
	{"limit per", "per", KIND_TEXT},
	{"action", "action", KIND_TEXT},
	{"mark", "mark", KIND_TEXT},
	{"update interval", "interval_ms", KIND_MS},
	{"limit", "limit", KIND_RATE},
	{"limit source", "limit_by", KIND_TEXT},
	{"limit valid until", "limit_until", KIND_TEXT},
	{"configured limit", "configured_limit", KIND_TEXT},
	{"burst", "burst", KIND_UNITS},
	{"parent", "parent.name", KIND_TEXT},
	{"weight in parent", "parent.weight", KIND_COUNT},
	{"guaranteed", "parent.guaranteed", KIND_RATE},
	{"share of parent", "parent.share", KIND_RATE},
	{"children", "children", KIND_COUNT | NONZERO},
	{"peers lost", "peers_lost", KIND_COUNT | NONZERO},
	{"limit without lost peers", "effective_limit", KIND_RATE},
	{"limit here", "local_limit", KIND_RATE},
	{"burst here", "local_burst", KIND_UNITS},
	{"group enforces at most", "overshoot.bound", KIND_RATE},
	{"group enforces about", "overshoot.estimate", KIND_RATE},
	{"peers unheard", "overshoot.peers_unheard", KIND_COUNT | NONZERO},
	{"they enforce at most", "overshoot.unheard", KIND_RATE | NONZERO},
	{"demand here", "demand", KIND_RATE},
	{"demand of group", "global_demand", KIND_RATE},
	{"weight here", "weight", KIND_REAL},
	{"weight of group", "global_weight", KIND_REAL},
	{"regime", "regime", KIND_TEXT},
	{"flows sampled", "flows_sampled", KIND_COUNT | NONZERO},
	{"per-flow rate", "flow_rate", KIND_RATE},
	{"passed", "passed.packets", KIND_PACKET_COUNT},
	{"passed bytes", "passed.bytes", KIND_BYTES},
	{"passed flows", "passed.flows", KIND_COUNT},
	{"passed over limit", "over.packets", KIND_PACKET_COUNT | NONZERO},
	{"passed without quota", "fallback.packets", KIND_PACKET_COUNT | NONZERO},
	{"dropped", "dropped.packets", KIND_PACKET_COUNT},
	{"dropped bytes", "dropped.bytes", KIND_BYTES | NONZERO},
	{"dropped flows", "dropped.flows", KIND_COUNT | NONZERO},
	{"peak", "colours.peak.limit", KIND_RATE},
	{"peak burst", "colours.peak.burst", KIND_UNITS},
	{"peak here", "colours.peak.local_limit", KIND_RATE},
	{"excess", "colours.excess.limit", KIND_RATE},
	{"excess burst", "colours.excess.burst", KIND_UNITS},
	{"excess here", "colours.excess.local_limit", KIND_RATE},
	{"colour-aware", "colours.aware", KIND_TEXT},
	{"green action", "colours.green.action", KIND_TEXT},
	{"green", "colours.green.packets", KIND_PACKET_COUNT | NONZERO},
	{"green bytes", "colours.green.bytes", KIND_BYTES | NONZERO},
	{"yellow action", "colours.yellow.action", KIND_TEXT},
	{"yellow", "colours.yellow.packets", KIND_PACKET_COUNT | NONZERO},
	{"yellow bytes", "colours.yellow.bytes", KIND_BYTES | NONZERO},
	{"red action", "colours.red.action", KIND_TEXT},
	{"red", "colours.red.packets", KIND_PACKET_COUNT | NONZERO},
	{"red bytes", "colours.red.bytes", KIND_BYTES | NONZERO},
	{"lent to peers", "loans.lent_bytes", KIND_BYTES},
	{"borrowed", "loans.borrowed_bytes", KIND_BYTES},
	{"active sources", "sources.busy", KIND_COUNT},
	{"source table size", "sources.capacity", KIND_COUNT},
	{"source table full", "sources.overflows", KIND_PACKET_COUNT | NONZERO},
	{"sources evicted", "sources.displaced", KIND_COUNT | NONZERO},
	{"classes by", "classes.by", KIND_TEXT},
	{"effective weight", "classes.backlogged", KIND_COUNT},
	/* Rows of a shaper. */
	{"waiting", "shape.waiting_packets", KIND_PACKET_COUNT},
	{"waiting bytes", "shape.waiting_bytes", KIND_BYTES | NONZERO},
	{"delay p50", "shape.delay_us.p50", KIND_US},
	{"delay p95", "shape.delay_us.p95", KIND_US},
	{"delay p99", "shape.delay_us.p99", KIND_US},
	{"delay p99.9", "shape.delay_us.p99_9", KIND_US},
	{"target p99", "slo.target_us", KIND_US},
	{"p99, last minute", "slo.p99_us", KIND_US},
	{"p99, last 10 s", "slo.p99_10s_us", KIND_US},
	{"target met", "slo.met", KIND_TEXT},
	{"marked by CoDel", "shape.marked", KIND_PACKET_COUNT | NONZERO},
	{"dropped: queue full", "shape.dropped.queue_full", KIND_PACKET_COUNT | NONZERO},
	{"dropped: pool full", "shape.dropped.pool_full", KIND_PACKET_COUNT | NONZERO},
	{"dropped: CoDel", "shape.dropped.codel", KIND_PACKET_COUNT | NONZERO},
	{"dropped: delay exceeded", "shape.dropped.delay_exceeded", KIND_PACKET_COUNT | NONZERO},
	{"dropped: queue stopped", "shape.dropped.stopped", KIND_PACKET_COUNT | NONZERO},
	/* Rows of a trial, a second limit that drops nothing. */
	{"trial: limit", "trial.limit", KIND_RATE},
	{"trial: limit here", "trial.local_limit", KIND_RATE},
	{"trial: burst", "trial.burst", KIND_UNITS},
	{"trial: meter", "trial.meter", KIND_TEXT},
	{"trial: running for", "trial.age_s", KIND_SECONDS},
	{"trial: would pass", "trial.would_pass.packets", KIND_PACKET_COUNT},
	{"trial: would drop", "trial.would_drop.packets", KIND_PACKET_COUNT},
	{"trial: drop bytes", "trial.would_drop.bytes", KIND_BYTES | NONZERO},
};

int policy_print(const json_t *document, struct view *view)
{
	return fields_detail(document, FIELDS(fields_of_policy), view);
}
