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

#include "field.h"

/* The last ones of a policy's fields. */
#define SHAPE_FIELDS 16

struct policy_row {
	json_t *policy; /* borrowed */
	double by;
};

/* What is sorted by: of a rate the part that is told, in units that may not be bits. */
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

/* The most first; by name where it is the same. */
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

static void truncate_array(json_t *array, size_t n)
{
	while (json_array_size(array) > n)
		json_array_remove(array, json_array_size(array) - 1);
}

int policies_gather(struct source *source, const struct request *request, json_t **document)
{
	size_t n;
	int ret;

	*document = NULL;
	if (!policies_count(request->word, &n))
		return -EINVAL;
	ret = source_each(source, "/weir/policy", request->sort ? SIZE_MAX : n, document);
	if (ret == 0 && request->sort)
		ret = sort_policies(document, measure_of(request->sort));
	truncate_array(*document, n);
	return ret;
}

int policies_print(const json_t *document, FILE *out)
{
	static const struct field fields[] = {
		{"POLICY", "name", KIND_TEXT},
		{"LIMIT", "limit", KIND_RATE},
		{"HERE", "local_limit", KIND_RATE},
		{"DEMAND", "demand", KIND_RATE},
		{"OF THE GROUP", "global_demand", KIND_RATE},
		{"PASSED", "passed.packets", KIND_COUNT},
		{"DROPPED", "dropped.packets", KIND_COUNT},
		{"OVER", "over.packets", KIND_COUNT},
		{"LOST", "peers_lost", KIND_COUNT},
		{"ALLOCATOR", "allocator", KIND_TEXT},
	};

	return fields_list(document, FIELDS(fields), out);
}

int policy_print(const json_t *document, FILE *out)
{
	static const struct field fields[] = {
		{"policy", "name", KIND_TEXT},
		{"match", "match", KIND_TEXT},
		{"allocator", "allocator", KIND_TEXT},
		{"guarantee", "guarantee", KIND_TEXT},
		{"meter", "meter", KIND_TEXT},
		{"counts", "count", KIND_TEXT},
		{"accounting", "accounting", KIND_TEXT},
		{"per", "per", KIND_TEXT},
		{"action", "action", KIND_TEXT},
		{"mark", "mark", KIND_TEXT},
		{"interval", "interval_ms", KIND_MS},
		{"limit", "limit", KIND_RATE},
		{"burst", "burst", KIND_UNITS},
		{"peers lost", "peers_lost", KIND_COUNT},
		{"limit without them", "effective_limit", KIND_RATE},
		{"limit here", "local_limit", KIND_RATE},
		{"burst here", "local_burst", KIND_UNITS},
		{"demand here", "demand", KIND_RATE},
		{"demand of all", "global_demand", KIND_RATE},
		{"weight here", "weight", KIND_REAL},
		{"weight of all", "global_weight", KIND_REAL},
		{"regime", "regime", KIND_TEXT},
		{"flows sampled", "flows_sampled", KIND_COUNT},
		{"rate of a flow", "flow_rate", KIND_RATE},
		{"passed", "passed.packets", KIND_COUNT},
		{"passed bytes", "passed.bytes", KIND_COUNT},
		{"dropped", "dropped.packets", KIND_COUNT},
		{"dropped bytes", "dropped.bytes", KIND_COUNT},
		{"passed over limit", "over.packets", KIND_COUNT},
		{"sources busy", "sources.busy", KIND_COUNT},
		{"room for sources", "sources.capacity", KIND_COUNT},
		{"without a place", "sources.overflows", KIND_COUNT},
		{"classes by", "classes.by", KIND_TEXT},
		{"weight at work", "classes.backlogged", KIND_COUNT},
		/* Fields of policies whose packets wait. */
		{"waiting", "shape.waiting_packets", KIND_COUNT},
		{"waiting bytes", "shape.waiting_bytes", KIND_COUNT},
		{"waited, half", "shape.delay_us.p50", KIND_US},
		{"waited, 95 %", "shape.delay_us.p95", KIND_US},
		{"waited, 99 %", "shape.delay_us.p99", KIND_US},
		{"waited, 99.9 %", "shape.delay_us.p99_9", KIND_US},
		{"wanted of 99 %", "slo.target_us", KIND_US},
		{"99 %, last minute", "slo.p99_us", KIND_US},
		{"99 %, last 10 s", "slo.p99_10s_us", KIND_US},
		{"as wanted", "slo.met", KIND_TEXT},
		{"marked by CoDel", "shape.marked", KIND_COUNT},
		{"queue was full", "shape.dropped.queue_full", KIND_COUNT},
		{"box was full", "shape.dropped.pool_full", KIND_COUNT},
		{"dropped by CoDel", "shape.dropped.codel", KIND_COUNT},
		{"waited too long", "shape.dropped.delay_exceeded", KIND_COUNT},
		{"stopped before", "shape.dropped.stopped", KIND_COUNT},
	};
	static const unsigned n = sizeof(fields) / sizeof(*fields);

	return fields_detail(
		document, fields, field_at(document, "shape") ? n : n - SHAPE_FIELDS, out);
}
