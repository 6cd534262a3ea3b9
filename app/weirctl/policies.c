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

#include "ask/source.h"
#include "field.h"
#include "look.h"
#include "number_field.h"

/*
 * The orders of --sort. "rate": in bit/s, or in units per second for policies that do not count
 * bytes.
 */
static const struct sort_order {
	const char *name;
	struct field_order by;
} orders[] = {
	{"rate", {"demand_bps", "demand_per_s"}},
	{"drops", {"dropped.packets", ""}},
};

/* Returns NULL if there is no order of that name. */
static const struct field_order *find_order(const char *name)
{
	for (size_t i = 0; i < sizeof(orders) / sizeof(*orders); i++)
		if (strcmp(orders[i].name, name) == 0)
			return &orders[i].by;
	return NULL;
}

bool policies_sort_known(const char *sort)
{
	return find_order(sort) != NULL;
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
	ret = look_at_policies(source, request->sort ? SIZE_MAX : n, &look);
	if (ret == 0) {
		*document = json_array();
		json_object_foreach (look, name, row) {
			json_t *policy = numbers_of_row(row);

			if (!json_is_string(json_object_get(policy, "limit_by")))
				json_object_set_new(
					policy, "limit_by", json_string("configuration"));
			json_array_append_new(*document, policy);
		}
	}
	json_decref(look);
	if (ret == 0)
		*document = fields_sort(
			*document, find_order(request->sort ? request->sort : ""), 1, n);
	return ret == 0 && !*document ? -ENOMEM : ret;
}

/* Condition of a column: a policy in the list has a limit by time, a parent, or colours. */
enum shown_if { ALWAYS, TIMED, BELOW, COLOURED };

static bool policy_shows(const json_t *policy, enum shown_if what)
{
	const char *by = json_string_value(json_object_get(policy, "limit_by"));

	if (what == BELOW)
		return json_is_string(json_object_get(policy, "parent"));
	if (what == COLOURED)
		return json_is_number(json_object_get(policy, "peak_bps")) ||
		       json_is_number(json_object_get(policy, "peak_per_s"));
	/* Older servers have only the limits of the configuration. */
	return json_is_string(json_object_get(policy, "limit_until")) ||
	       (by && strcmp(by, "configuration") != 0);
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
		enum policy_number_id number;
		unsigned rank;
		enum shown_if shown_if;
	} columns[] = {
		{NUMBER_name_TEXT, 0, ALWAYS},
		{NUMBER_parent_TEXT, 1, BELOW},
		{NUMBER_limit_RATE, 0, ALWAYS},
		{NUMBER_limit_by_TEXT, 1, TIMED},
		{NUMBER_limit_until_TEXT, 1, TIMED},
		{NUMBER_share_RATE, 1, BELOW},
		{NUMBER_peak_RATE, 1, COLOURED},
		{NUMBER_local_limit_RATE, 0, ALWAYS},
		{NUMBER_local_peak_RATE, 1, COLOURED},
		{NUMBER_demand_RATE, 0, ALWAYS},
		{NUMBER_global_demand_RATE, 2, ALWAYS},
		{NUMBER_passed_PACKETS, 3, ALWAYS},
		{NUMBER_dropped_PACKETS, 0, ALWAYS},
		{NUMBER_over_PACKETS, 4, ALWAYS},
		{NUMBER_peers_lost_COUNT, 4, ALWAYS},
		{NUMBER_allocator_TEXT, 5, ALWAYS},
	};
	struct field fields[sizeof(columns) / sizeof(*columns)];
	unsigned n = 0;

	for (size_t i = 0; i < sizeof(columns) / sizeof(*columns); i++) {
		if (!any_shows(document, columns[i].shown_if))
			continue;
		fields[n] = number_field(columns[i].number);
		fields[n++].kind |= OPTIONAL(columns[i].rank);
	}
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

	fields_detail(document, FIELDS(head), view);
	return fields_list(json_object_get(document, "limits"), FIELDS(fields), view);
}

int policy_print(const json_t *document, struct view *view)
{
	return numbers_detail(document, view);
}
